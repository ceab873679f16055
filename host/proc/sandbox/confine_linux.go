package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// What each right belongs to. A right that the kernel does not know cannot be handled.
const (
	readFile = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readTree = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	runFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE

	firstRights = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // all of the first version

	// The plugin makes a temporary file to find a name, removes it and binds its socket there.
	socketRights = readTree | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
)

// restrictFiles puts this thread, and what it starts, under Landlock rules. It returns what
// is missing on this kernel, "" if nothing is; an error means that a rule of the policy
// itself is wrong.
func restrictFiles(p Policy) (missing string, err error) {
	abi := landlockVersion()
	if abi < 1 {
		return "the kernel has no Landlock, or it is not enabled", nil
	}
	attr := handled(abi, p)
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return "create a ruleset: " + errno.Error(), nil
	}
	defer unix.Close(int(ruleset))
	rules := rules{ruleset: int(ruleset), handled: attr.Handled_access_fs}
	if err := rules.addAll(p); err != nil {
		return "", err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return "restrict the process: " + errno.Error(), nil
	}
	return lacking(abi, p), nil
}

// lacking names what a version of Landlock cannot deny that nothing else denies either.
func lacking(abi int, p Policy) string {
	switch {
	case abi < 3 && !p.Rung.Root:
		return fmt.Sprintf("version %d cannot deny truncation", abi)
	case abi < 6 && !p.Rung.Processes:
		return fmt.Sprintf("version %d cannot deny signals", abi)
	case abi < 6 && !p.Rung.Network:
		return fmt.Sprintf("version %d cannot deny abstract sockets", abi)
	}
	return ""
}

func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// handled has everything this version of Landlock can deny.
func handled(abi int, p Policy) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: firstRights}
	if abi >= 2 {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 && !p.Network {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 5 {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// rules adds what is allowed to a ruleset.
type rules struct {
	ruleset int
	handled uint64
}

func (r rules) addAll(p Policy) error {
	var err error
	switch {
	case p.Measure:
	case p.Rung.Root:
		err = r.allowPath(programPath, readFile|runFile)
	default:
		err = r.allow(p.Binary, readFile|runFile)
	}
	if err != nil {
		return fmt.Errorf("allow the plugin's program: %w", err)
	}
	if err := r.allowPath(p.SocketDir, socketRights); err != nil {
		return fmt.Errorf("allow the socket folder: %w", err)
	}
	for _, path := range p.ReadOnly {
		if err := r.allowPath(path, readFile); err != nil {
			return fmt.Errorf("allow the candle files in %s: %w", path, err)
		}
	}
	for _, path := range p.Folders {
		if err := r.allowPath(path, readTree|runFile); err != nil {
			return fmt.Errorf("allow the folder %s: %w", path, err)
		}
	}
	if p.Writable != "" {
		if err := r.allowPath(p.Writable, socketRights|unix.LANDLOCK_ACCESS_FS_TRUNCATE); err != nil {
			return fmt.Errorf("allow the folder %s: %w", p.Writable, err)
		}
	}
	for _, device := range devices {
		_ = r.allowPath(device, readFile|unix.LANDLOCK_ACCESS_FS_WRITE_FILE)
	}
	if p.Rung.Root {
		_ = r.allowPath("/dev/shm", socketRights|unix.LANDLOCK_ACCESS_FS_TRUNCATE)
	}
	r.allowSystem(p)
	return nil
}

// allowSystem lets a dynamically linked program load and a connector resolve names. A
// machine has only some of these places.
func (r rules) allowSystem(p Policy) {
	if p.Libraries {
		for _, place := range libraries {
			_ = r.allowPath(place, readTree|runFile)
		}
	}
	if p.Network {
		for _, place := range networkFiles() {
			_ = r.allowPath(place, readTree)
		}
	}
}

func (r rules) allowPath(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= readFile | runFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return r.allow(fd, access)
}

func (r rules) allow(fd int, access uint64) error {
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access & r.handled, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.ruleset),
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// refused are system calls that no strategy needs: what reaches other processes, what
// makes something that outlives the process or belongs to its user as a whole, and what
// has often had holes. Most of it the namespaces deny as well.
var refused = []string{
	// other processes
	"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise", "process_mrelease",
	"kcmp", "migrate_pages", "move_pages",
	// namespaces and mounts
	"unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "mount_setattr", "move_mount",
	"open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "name_to_handle_at", "open_by_handle_at",
	// memory and messages that outlive a process, or have no size
	"shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd",
	"msgrcv", "msgctl",
	"mq_open", "mq_unlink", "memfd_create", "memfd_secret", "keyctl", "add_key", "request_key",
	// counted for the user as a whole
	"inotify_init", "inotify_init1", "fanotify_init",
	// the kernel itself
	"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"init_module",
	"finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct",
	"quotactl",
	"quotactl_fd", "syslog", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname",
	"setdomainname",
	"vhangup", "iopl", "ioperm", "modify_ldt", "lookup_dcookie", "nfsservctl", "_sysctl", "uselib",
	"personality",
}

// ownOnly are system calls that may name this process, as 0, and no other; the number is
// that of the argument.
var ownOnly = map[string]uint32{
	"prlimit64": 0, "sched_setaffinity": 0, "sched_setscheduler": 0, "sched_setparam": 0, "sched_setattr": 0,
	"setpriority": 1, "ioprio_set": 1,
}

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// restrictCalls filters the system calls of this thread and of what it starts. Refusals
// are errors, so that a library that tries something finds another way; only a call of
// another architecture, whose numbers mean something else, kills.
func restrictCalls(network bool) error {
	native, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	if err := killForeign(uint32(native.ID)); err != nil {
		return fmt.Errorf("refuse foreign architectures: %w", err)
	}
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Policy: callPolicy(native, network)})
}

func callPolicy(native *arch.Info, network bool) seccomp.Policy {
	errno := func(e unix.Errno) seccomp.Action { return seccomp.ActionErrno | seccomp.Action(e) }
	known := func(name string) bool { _, ok := native.SyscallNames[name]; return ok }
	denied := seccomp.SyscallGroup{Action: errno(unix.EPERM)}
	for _, name := range refused {
		if known(name) {
			denied.Names = append(denied.Names, name)
		}
	}
	differs := func(argument uint32, values ...uint64) seccomp.ArgumentConditions {
		var all seccomp.ArgumentConditions
		for _, v := range values {
			all = append(all, seccomp.Condition{Argument: argument, Operation: seccomp.NotEqual, Value: v})
		}
		return all
	}
	for _, name := range slices.Sorted(maps.Keys(ownOnly)) {
		denied.NamesWithCondtions = append(denied.NamesWithCondtions,
			seccomp.NameWithConditions{Name: name, Conditions: differs(ownOnly[name], 0)})
	}
	denied.NamesWithCondtions = append(denied.NamesWithCondtions, seccomp.NameWithConditions{Name: "clone",
		Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet,
			Value: newNamespaces}}})
	families := []uint64{unix.AF_UNIX}
	if network {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	sockets := seccomp.SyscallGroup{Action: errno(unix.EAFNOSUPPORT)}
	for _, name := range []string{"socket", "socketpair"} {
		sockets.NamesWithCondtions = append(sockets.NamesWithCondtions,
			seccomp.NameWithConditions{Name: name, Conditions: differs(0, families...)})
	}
	groups := []seccomp.SyscallGroup{denied, sockets}
	if known("clone3") { // its flags are in memory, where a filter does not look
		groups = append(groups, seccomp.SyscallGroup{Action: errno(unix.ENOSYS), Names: []string{"clone3"}})
	}
	return seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: groups}
}

// killForeign loads a filter that kills a process at the first system call of another
// architecture: its calls have other numbers, and the other filter lets them through.
func killForeign(native uint32) error {
	const archOffset = 4 // of the architecture in seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: archOffset},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: native},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// setLimits lowers hard and soft limits, never above what the host has itself.
func (s *shim) setLimits() {
	l := s.Limits
	limits := []struct {
		resource int
		value    uint64
		always   bool
	}{
		{unix.RLIMIT_DATA, l.DataBytes, false},
		{unix.RLIMIT_CPU, l.CPUSeconds, false},
		{unix.RLIMIT_NOFILE, l.OpenFiles, false},
		{unix.RLIMIT_FSIZE, l.FileBytes, false},
		{unix.RLIMIT_CORE, 0, true},
		// What is counted for the user as a whole, and survives in queues.
		{unix.RLIMIT_MSGQUEUE, 0, true},
		{unix.RLIMIT_SIGPENDING, 1024, false},
		{unix.RLIMIT_MEMLOCK, 64 << 10, false},
	}
	var failed error
	for _, x := range limits {
		if x.value != 0 || x.always {
			failed = errors.Join(failed, lower(x.resource, x.value))
		}
	}
	s.part(PartLimits, failed)
	s.part(PartProcesses, s.limitProcesses())
}

// lower sets a limit. Package syscall remembers that NOFILE was set on purpose; otherwise
// it would restore the original on execution.
func lower(resource int, value uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	v := min(value, now.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: v, Max: v})
}

// limitProcesses limits the number of processes and threads where the limit counts those
// of this plugin only: it has a user to itself, or a user namespace on a kernel that
// counts by namespace.
func (s *shim) limitProcesses() error {
	if s.Limits.Processes == 0 {
		return nil
	}
	if s.User == 0 {
		switch {
		case !s.Rung.User:
			return errors.New("without a user namespace it would count all processes of the user")
		case !kernelAtLeast(5, 14):
			return errors.New("before Linux 5.14 it would count all processes of the user")
		}
	}
	return lower(unix.RLIMIT_NPROC, s.Limits.Processes)
}

func kernelAtLeast(major, minor int) bool {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return false
	}
	parts := strings.FieldsFunc(unix.ByteSliceToString(name.Release[:]), func(r rune) bool {
		return r < '0' || r > '9'
	})
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}

// becomeUser gives up root for a user without an account. All threads change.
func (s *shim) becomeUser() error {
	if s.User == 0 {
		if os.Geteuid() == 0 {
			why := "there is no user that it could become"
			if !s.Rung.Root {
				why = "another user could not reach the program in the state folder"
			}
			s.part(PartOwnUser, errors.New(why))
		}
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("leave the groups: %w", err)
	}
	if err := syscall.Setresgid(s.User, s.User, s.User); err != nil {
		return fmt.Errorf("change the group: %w", err)
	}
	if err := syscall.Setresuid(s.User, s.User, s.User); err != nil {
		return fmt.Errorf("change the user: %w", err)
	}
	s.part(PartOwnUser, nil)
	return nil
}

// dropCapabilities takes every capability from all threads of this process, and from this
// thread, which starts the plugin, the right to gain one. Root that has no root of its own
// keeps the right to pass file permissions, which Landlock narrows to the files of the
// policy: the state folder may belong to another user.
func (s *shim) dropCapabilities() error {
	var keep uint32
	if os.Geteuid() == 0 && !s.Rung.Root {
		keep = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		// EINVAL: a kernel without this one. EPERM: it may not, and then it has none to give.
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var left [2]unix.CapUserData
	if err := unix.Capget(&header, &left[0]); err != nil {
		return err
	}
	keep &= left[0].Permitted
	left = [2]unix.CapUserData{{Permitted: keep, Effective: keep}}
	if err := capset(&header, &left); err != nil {
		return err
	}
	return need(keep == 0, "without a root of its own it must pass the permissions of the state folder")
}

// capset sets the capabilities of every thread; where the program was built with cgo, those
// of this thread, which starts the plugin.
func capset(header *unix.CapUserHeader, data *[2]unix.CapUserData) error {
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(data)), 0)
	switch errno {
	case 0:
		return nil
	case unix.ENOTSUP:
		return unix.Capset(header, &data[0])
	}
	return errno
}
