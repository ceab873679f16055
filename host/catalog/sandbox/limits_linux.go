package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// setLimits lowers hard and soft limits, never above what the host has itself.
func setLimits(l Limits) error {
	// Package syscall remembers that NOFILE was set on purpose; otherwise it would
	// restore the original on execution.
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
	}
	for _, x := range limits {
		if x.value == 0 && !x.always {
			continue
		}
		var now syscall.Rlimit
		if err := syscall.Getrlimit(x.resource, &now); err != nil {
			return err
		}
		v := min(x.value, now.Max)
		if err := syscall.Setrlimit(x.resource, &syscall.Rlimit{Cur: v, Max: v}); err != nil {
			return err
		}
	}
	return nil
}

// dropCapabilities leaves a host that runs as root with only the right to pass
// file permissions, which Landlock narrows to the files of the policy: the state
// folder may belong to somebody else.
func dropCapabilities() error {
	if os.Geteuid() != 0 {
		return nil
	}
	const keep = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err != nil && err != unix.EINVAL { // EINVAL: a kernel without this one
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Permitted &= keep
	data[0].Effective = data[0].Permitted
	data[0].Inheritable = 0
	data[1] = unix.CapUserData{}
	return unix.Capset(&header, &data[0])
}

// Isolation has the ways to start a process in a network namespace without
// interfaces, best first. Unix sockets in the file system still work in it.
func Isolation() []func(*syscall.SysProcAttr) {
	plain := func(a *syscall.SysProcAttr) { a.Cloneflags |= unix.CLONE_NEWNET }
	withUser := func(a *syscall.SysProcAttr) {
		a.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNET
		uid, gid := os.Geteuid(), os.Getegid()
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	if os.Geteuid() == 0 {
		return []func(*syscall.SysProcAttr){plain, withUser}
	}
	return []func(*syscall.SysProcAttr){withUser}
}
