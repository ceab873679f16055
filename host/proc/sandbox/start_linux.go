package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Isolate sets what the system must do to start the shim on a rung.
func (r Rung) Isolate(a *syscall.SysProcAttr) error {
	if r.Network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if r.Processes {
		a.Cloneflags |= unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	}
	if r.Root {
		a.Cloneflags |= unix.CLONE_NEWNS
	}
	if !r.User {
		return nil
	}
	a.Cloneflags |= unix.CLONE_NEWUSER
	if uid := os.Geteuid(); uid != 0 {
		gid := os.Getegid()
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		// Executing the shim would take all capabilities from a user who is not root.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
		return nil
	}
	var err error
	if a.UidMappings, err = ownIDs("/proc/self/uid_map"); err != nil {
		return err
	}
	a.GidMappings, err = ownIDs("/proc/self/gid_map")
	a.GidMappingsEnableSetgroups = true
	return err
}

// ownIDs maps every user or group that there is here to itself: files may belong to
// anybody, and root in the namespace must pass their permissions to bind them.
func ownIDs(path string) ([]syscall.SysProcIDMap, error) {
	ranges, err := readIDs(path)
	if err != nil {
		return nil, err
	}
	var ids []syscall.SysProcIDMap
	for _, r := range ranges {
		ids = append(ids, syscall.SysProcIDMap{ContainerID: r.first, HostID: r.first, Size: r.size})
	}
	return ids, nil
}

// idRange is a range of users that this process's namespace has.
type idRange struct{ first, size int }

func readIDs(path string) ([]idRange, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var ranges []idRange
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var inside, outside, size int64
		if _, err := fmt.Sscan(lines.Text(), &inside, &outside, &size); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		ranges = append(ranges, idRange{int(inside), int(min(size, math.MaxUint32))})
	}
	if len(ranges) == 0 {
		return nil, errors.Join(fmt.Errorf("%s is empty", path), lines.Err())
	}
	return ranges, lines.Err()
}

// A range of users that no distribution gives to anybody: between those of containers and
// those that are not numbers of users any more.
const (
	firstFree = 0x70000000
	freeUsers = 0x0ffe0000
)

// PickUser draws a user without an account for a plugin of a host that is root; 0 where
// there is none, or the host is not root.
func PickUser() int {
	if os.Geteuid() != 0 {
		return 0
	}
	ranges, err := readIDs("/proc/self/uid_map")
	if err != nil {
		return 0
	}
	for _, r := range ranges {
		if r.first <= firstFree && firstFree+freeUsers <= r.first+r.size {
			return firstFree + rand.IntN(freeUsers)
		}
	}
	// In a container with users of its own: one of the last before the user nobody (65534).
	const few, nobody = 1000, 65534
	for _, r := range ranges {
		if r.first <= nobody-few && nobody <= r.first+r.size {
			return nobody - few + rand.IntN(few)
		}
	}
	return 0
}

// starts are those under way that need this process to be dumpable.
var starts struct {
	sync.Mutex
	running int
	hidden  bool // the process was not dumpable before
}

// Start starts a command. A process that is not dumpable owns nothing under /proc, and neither
// does its child before it executes: unless it is root it could not write the child's user
// mapping. So such a process is dumpable while it starts one, some milliseconds.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil || len(cmd.SysProcAttr.UidMappings) == 0 {
		return cmd.Start()
	}
	starts.Lock()
	if starts.running == 0 {
		is, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if starts.hidden = err == nil && is == 0; starts.hidden {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) // without it the start reports what fails
		}
	}
	starts.running++
	starts.Unlock()
	defer func() {
		starts.Lock()
		defer starts.Unlock()
		if starts.running--; starts.running == 0 && starts.hidden {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // it has no way to fail: 0 is a value it takes
		}
	}()
	return cmd.Start()
}
