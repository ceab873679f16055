package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assay-run/assay/host/proc/sandbox"
)

// lockThread gives the goroutine a thread of its own: the kernel kills the child
// when the thread that started it ends.
func lockThread() (unlock func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// useCores lets this thread, and what it starts, run on so many of its processors; 0 is all. The
// answer puts them back. Where the kernel refuses, all stay.
func useCores(n int) (restore func()) {
	var all, some unix.CPUSet
	if n <= 0 || unix.SchedGetaffinity(0, &all) != nil {
		return func() {}
	}
	for cpu := 0; n > 0 && cpu < len(all)*64; cpu++ {
		if all.IsSet(cpu) {
			some.Set(cpu)
			n--
		}
	}
	_ = unix.SchedSetaffinity(0, &some)
	return func() { _ = unix.SchedSetaffinity(0, &all) }
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

// startLow starts a program with low priority, which this thread has from then on, too.
func startLow(cmd *exec.Cmd) error {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowPriority) // it has no more than it is given
	return cmd.Start()
}

// childOf returns the number of a process's first child, 0 if it has none. It got one of the next
// numbers, so that they are looked at before all others.
func childOf(pid int) int {
	const near = 64
	for n := pid + 1; n < pid+near; n++ {
		if parentOf(n) == pid {
			return n
		}
	}
	processes, _ := os.ReadDir("/proc") // without it none can be found
	for _, p := range processes {
		if n, err := strconv.Atoi(p.Name()); err == nil && parentOf(n) == pid {
			return n
		}
	}
	return 0
}

// parentOf returns the number of a process's parent, 0 if there is no such process.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// its name may hold anything and stands in parentheses
	after := string(stat[bytes.LastIndexByte(stat, ')')+1:])
	fields := strings.Fields(after)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// socketPath returns where the host finds a socket of the process's own root. The socket is
// opened first, because the process could have put a link there that leads elsewhere.
func (c *Child) socketPath(address string) (string, error) {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", c.pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC,
		0)
	if err != nil {
		return "", fmt.Errorf("enter the plugin's root: %w", err)
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, strings.TrimPrefix(address, "/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
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
	c.sockets = append(c.sockets, file)
	return fmt.Sprintf("/proc/self/fd/%d", fd), nil
}

// Interrupt has the processes of a plugin that handle SIGQUIT do so, and reports whether there is one. One
// that does not handle it would end.
func (c *Child) Interrupt() (handled bool) {
	list := []string{strconv.Itoa(c.PID())}
	own, errOwn := os.Readlink("/proc/self/ns/pid")
	theirs, errTheirs := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", c.pid))
	if errOwn == nil && errTheirs == nil && own != theirs {
		processes, _ := filepath.Glob("/proc/[1-9]*") // the pattern is good
		list = list[:0]
		for _, process := range processes {
			name := filepath.Base(process)
			namespace, _ := os.Readlink(process + "/ns/pid")
			if namespace == theirs && name != strconv.Itoa(c.pid) { // the shim would hand it on
				list = append(list, name)
			}
		}
	}
	for _, name := range list {
		pid, _ := strconv.Atoi(name)
		if pid > 0 && handlesQuit(pid) && syscall.Kill(pid, syscall.SIGQUIT) == nil {
			handled = true
		}
	}
	return handled
}

// handlesQuit reports whether a process has a handler of SIGQUIT.
func handlesQuit(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may be gone
	for line := range bytes.Lines(text) {
		if mask, found := bytes.CutPrefix(line, []byte("SigCgt:")); found {
			caught, err := strconv.ParseUint(string(bytes.TrimSpace(mask)), 16, 64)
			return err == nil && caught&(1<<(syscall.SIGQUIT-1)) != 0
		}
	}
	return false
}

// identity is a file as it was at a moment. Any change of what it contains changes it:
// the kernel sets the time of the last change at every write, change of mode or of
// name, and offers no way to set it back.
type identity struct {
	device, inode uint64
	size          int64
	written       int64 // ns, by the file system's clock
	changed       int64
}

// changedAt is when the file or what is known about it was last changed.
func (i identity) changedAt() time.Time { return time.Unix(0, i.changed) }

// identify looks at a file; false: this system cannot identify it.
func identify(info fs.FileInfo) (identity, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, false
	}
	return identity{
		device: uint64(s.Dev), inode: s.Ino, size: s.Size, written: s.Mtim.Nano(), changed: s.Ctim.Nano(),
	}, true
}

const (
	memoryTick = 200 * time.Millisecond
	// forgetAfter is after how many ticks the numbers of other processes are looked at anew.
	forgetAfter = 25
)

// memory watches the processes of all plugins that have a PID namespace. The limits that
// the kernel sets to a process count neither shared memory nor its children.
var memory struct {
	sync.Mutex
	children map[string]*watched // by PID namespace
}

// watched is one plugin with its processes.
type watched struct {
	child *Child
	limit uint64 // bytes
}

// watchMemory kills the child when all its processes together take more memory than the
// policy allows, swapped memory included and shared memory counted once.
func watchMemory(c *Child, p *sandbox.Policy) {
	if !p.Rung.Processes || p.Limits.MemoryBytes == 0 {
		return
	}
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", c.pid))
	if err != nil {
		return // it is gone
	}
	memory.Lock()
	defer memory.Unlock()
	if memory.children == nil {
		memory.children = map[string]*watched{}
	}
	memory.children[namespace] = &watched{c, p.Limits.MemoryBytes}
	if len(memory.children) == 1 {
		go keepWatch()
	}
	go func() {
		<-c.done
		memory.Lock()
		defer memory.Unlock()
		delete(memory.children, namespace)
	}()
}

// keepWatch looks at the memory of plugins as long as there are any.
func keepWatch() {
	ticker := time.NewTicker(memoryTick)
	defer ticker.Stop()
	others := map[string]bool{} // processes that are no plugins'
	for ticks := 0; ; ticks++ {
		<-ticker.C
		if ticks%forgetAfter == 0 {
			clear(others)
		}
		memory.Lock()
		if len(memory.children) == 0 {
			memory.children = nil
			memory.Unlock()
			return
		}
		taken := map[*watched][]string{}
		processes, _ := filepath.Glob("/proc/[1-9]*") // the pattern is good
		for _, process := range processes {
			if others[process] {
				continue
			}
			namespace, _ := os.Readlink(process + "/ns/pid") // gone, or not ours
			if w := memory.children[namespace]; w != nil {
				taken[w] = append(taken[w], process)
			} else {
				others[process] = true
			}
		}
		memory.Unlock()
		for w, processes := range taken {
			// which counts what is shared more than once
			if sum(processes, "status", "VmRSS:", "VmSwap:") > w.limit &&
				sum(processes, "smaps_rollup", "Pss:", "SwapPss:") > w.limit {
				w.child.killFor(fmt.Sprintf("it took more than %d MiB of memory", w.limit>>20))
			}
		}
	}
}

// sum adds up fields, in bytes, of a file that each process has.
func sum(processes []string, file string, fields ...string) (total uint64) {
	for _, process := range processes {
		text, err := os.ReadFile(filepath.Join(process, file))
		if err != nil {
			continue // it is gone
		}
		for line := range bytes.Lines(text) {
			words := bytes.Fields(line)
			for _, field := range fields {
				if len(words) == 3 && string(words[0]) == field {
					n, _ := strconv.ParseUint(string(words[1]), 10, 64) // the kernel writes numbers
					total += n << 10
				}
			}
		}
	}
	return total
}
