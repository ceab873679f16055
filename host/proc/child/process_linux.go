package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockThread gives the goroutine a thread of its own: the kernel kills the child
// when the thread that started it ends.
func lockThread() (unlock func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

func processAttributes(survives bool) *syscall.SysProcAttr {
	if survives {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// executablePath names the very file that was opened and verified.
func executablePath(*os.File) string { return fmt.Sprintf("/proc/self/fd/%d", binaryFD) }

// awaitExit returns when the process has ended and is not reaped yet.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// childOf is the number of a process's first child, 0 if it has none. It got one of the next
// numbers, so that they are looked at before all others.
func childOf(pid int) int {
	const near = 64
	for n := pid + 1; n < pid+near; n++ {
		if parentOf(n) == pid {
			return n
		}
	}
	processes, _ := os.ReadDir("/proc") // without it there is nobody to be found
	for _, p := range processes {
		if n, err := strconv.Atoi(p.Name()); err == nil && parentOf(n) == pid {
			return n
		}
	}
	return 0
}

// parentOf is the number of a process's parent, 0 if there is no such process.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	after := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // its name may hold anything and stands in parentheses
	fields := strings.Fields(after)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// socketPath is where the host finds a socket of the process's own root. The socket is
// opened first, because the process could have put a link there that leads elsewhere.
func (c *Child) socketPath(address string) (string, error) {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", c.pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("enter the plugin's root: %w", err)
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, strings.TrimPrefix(address, "/"), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return "", fmt.Errorf("find the plugin's socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), address)
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil || s.Mode&unix.S_IFMT != unix.S_IFSOCK {
		_ = file.Close()
		return "", fmt.Errorf("%s is no socket", address)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	closeFiles(c.socket)
	c.socket = file
	return fmt.Sprintf("/proc/self/fd/%d", fd), nil
}

// isOwn says whether a file belongs to the user of this process.
func isOwn(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// Identity is a file as it was at a moment. Any change of what it contains changes it:
// the kernel sets the time of the last change at every write, change of mode or of
// name, and offers no way to set it back.
type Identity struct {
	device, inode uint64
	size          int64
	written       int64 // ns, by the file system's clock
	changed       int64
}

// Changed is when the file or what is known about it was last changed.
func (i Identity) Changed() time.Time { return time.Unix(0, i.changed) }

// Identify looks at an open file; false says that this system cannot tell.
func Identify(f *os.File) (Identity, bool) {
	info, err := f.Stat()
	if err != nil {
		return Identity{}, false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, false
	}
	return Identity{
		device: uint64(s.Dev), inode: s.Ino, size: s.Size, written: s.Mtim.Nano(), changed: s.Ctim.Nano(),
	}, true
}
