package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// refused are system calls that no strategy needs: what reaches other processes, what
// makes something that outlives the process or belongs to its user as a whole, and what
// has often had holes. Most of it the namespaces deny as well.
var refused = []string{
	// other processes
	"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise", "process_mrelease", "kcmp",
	"migrate_pages", "move_pages",
	// namespaces and mounts
	"unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "mount_setattr", "move_mount", "open_tree", "fsopen",
	"fsconfig", "fsmount", "fspick", "name_to_handle_at", "open_by_handle_at",
	// memory and messages that outlive a process, or have no size
	"shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl",
	"mq_open", "mq_unlink", "memfd_create", "memfd_secret", "keyctl", "add_key", "request_key",
	// counted for the user as a whole
	"inotify_init", "inotify_init1", "fanotify_init",
	// the kernel itself
	"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "init_module",
	"finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl",
	"quotactl_fd", "syslog", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname",
	"vhangup", "iopl", "ioperm", "modify_ldt", "lookup_dcookie", "nfsservctl", "_sysctl", "uselib", "personality",
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
		Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: newNamespaces}}})
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
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}
