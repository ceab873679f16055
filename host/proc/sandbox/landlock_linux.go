package sandbox

import (
	"fmt"
	"unsafe"

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

// restrictFiles puts this thread, and what it starts, under Landlock rules. It says what
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

// lacking says what a version of Landlock cannot deny that nothing else denies either.
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
