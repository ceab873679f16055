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

// restrictFiles puts this thread, and what it executes, under Landlock rules. It
// names what is missing on this kernel; an error means that a rule of the policy
// itself is wrong.
func restrictFiles(p Policy) (missing string, err error) {
	abi := landlockVersion()
	if abi < 1 {
		return "no_landlock", nil
	}
	attr := handled(abi)
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return "no_landlock", nil
	}
	defer unix.Close(int(ruleset))
	rules := rules{ruleset: int(ruleset), handled: attr.Handled_access_fs}
	if err := rules.addAll(p); err != nil {
		return "", err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return "no_landlock", nil
	}
	if abi < 3 {
		return "no_landlock_truncate", nil
	}
	return "", nil
}

func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// handled has everything this version of Landlock can deny.
func handled(abi int) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: firstRights}
	if abi >= 2 {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 {
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
	if err := r.allow(p.Binary, readFile|runFile); err != nil {
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
	_ = r.allowPath("/dev/null", readFile|unix.LANDLOCK_ACCESS_FS_WRITE_FILE)
	if p.Libraries {
		r.allowLibraries()
	}
	return nil
}

// allowLibraries lets a dynamically linked program load. The places are fixed: a
// loader named by the program itself could name any folder it would like to read.
// A machine has only some of them; what is missing shows when the program starts.
func (r rules) allowLibraries() {
	for _, place := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store", "/gnu/store"} {
		_ = r.allowPath(place, readTree|runFile)
	}
	_ = r.allowPath("/etc/ld.so.cache", readFile)
}

func (r rules) allowPath(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
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
