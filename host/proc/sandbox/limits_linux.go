package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
	parts := strings.FieldsFunc(unix.ByteSliceToString(name.Release[:]), func(r rune) bool { return r < '0' || r > '9' })
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
// policy: the state folder may belong to somebody else.
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
