//go:build linux

package attack

import (
	"encoding/binary"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func lockThread() { runtime.LockOSThread() } // and never unlocks: the thread ends with its goroutine

// start starts a program and does not wait for it longer than it takes to begin.
func start(path string, env, args []string, session bool) (int, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	p, err := os.StartProcess(path, args, &os.ProcAttr{Env: env, Files: []*os.File{null, null, null},
		Sys: &syscall.SysProcAttr{Setsid: session}})
	if err != nil {
		return 0, err
	}
	pid := p.Pid
	if !session {
		_, _ = p.Wait()
	}
	return pid, nil
}

// programFiles are where its own program may lie when there is no /proc to tell.
func programFiles() []string {
	var found []string
	for _, folder := range []string{"/", "/bin", "/plugin", "/program"} {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				found = append(found, folder+"/"+e.Name())
			}
		}
	}
	if name, err := os.Executable(); err == nil {
		found = append(found, name)
	}
	return append(found, "/program", os.Args[0])
}

// child makes a process by a system call, lets then see it, and ends it. The process does
// nothing but wait: a copy of a Go program can run no Go code.
func child(number, a, b uintptr, then ...func(pid int) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, err := rawChild(number, a, b)
	if err != nil {
		return err
	}
	for _, f := range then {
		err = f(pid)
	}
	_ = unix.Kill(pid, unix.SIGKILL)
	_, _ = unix.Wait4(pid, nil, unix.WALL, nil)
	return err
}

//go:norace
//go:nosplit
func rawChild(number, a, b uintptr) (int, error) {
	pid, _, errno := syscall.RawSyscall6(number, a, b, 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	if pid == 0 {
		for {
			syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	return int(pid), nil
}

// forked leaves a copy of this process in a session of its own.
func forked() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, err := rawSession()
	return err
}

//go:norace
//go:nosplit
func rawSession() (int, error) {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	if pid == 0 {
		syscall.RawSyscall6(unix.SYS_SETSID, 0, 0, 0, 0, 0, 0)
		for {
			syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	return int(pid), nil
}

// executes reports whether the program behind a descriptor can be executed.
func executes(fd int, name string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	empty, argument := []byte{0}, append([]byte(name), 0)
	argv, envp := [2]*byte{&argument[0]}, [1]*byte{}
	flags := uintptr(unix.AT_EMPTY_PATH)
	pid, err := rawExecute(uintptr(fd), uintptr(unsafe.Pointer(&empty[0])), uintptr(unsafe.Pointer(&argv)),
		uintptr(unsafe.Pointer(&envp)), flags)
	runtime.KeepAlive(argument)
	if err != nil {
		return err
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != nil {
		return err
	}
	if status.Exited() && status.ExitStatus() == tinyExit {
		return nil
	}
	return unix.EACCES
}

//go:norace
//go:nosplit
func rawExecute(fd, path, argv, envp, flags uintptr) (int, error) {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	if pid == 0 {
		syscall.RawSyscall6(unix.SYS_EXECVEAT, fd, path, argv, envp, flags, 0)
		for {
			syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 1, 0, 0, 0, 0, 0)
		}
	}
	return int(pid), nil
}

// tinyExit is the exit code of the tiny program.
const tinyExit = 42

// tinyProgram returns an executable that ends with tinyExit: one segment of a few instructions.
func tinyProgram() []byte {
	code := map[string][]byte{
		"amd64": {0xb8, 231, 0, 0, 0, 0xbf, tinyExit, 0, 0, 0, 0x0f, 0x05},
		// exit_group
		"arm64": {0xc8, 0x0b, 0x80, 0xd2, 0x40 | tinyExit<<5&0xe0, 0x05, 0x80, 0xd2, 0x01, 0, 0, 0xd4},
		// exit_group
	}[runtime.GOARCH]
	machine := map[string]uint16{"amd64": 62, "arm64": 183}[runtime.GOARCH]
	const base, headers = 0x400000, 64 + 56
	var out []byte
	u16 := func(v uint16) { out = binary.LittleEndian.AppendUint16(out, v) }
	u32 := func(v uint32) { out = binary.LittleEndian.AppendUint32(out, v) }
	u64 := func(v uint64) { out = binary.LittleEndian.AppendUint64(out, v) }
	out = append(out, "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	u16(2) // executable
	u16(machine)
	u32(1)
	u64(base + headers)
	u64(64)
	u64(0)
	u32(0)
	u16(64)
	u16(56)
	u16(1)
	u16(0)
	u16(0)
	u16(0)
	u32(1) // loaded
	u32(5) // read and execute
	u64(0)
	u64(base)
	u64(base)
	u64(uint64(headers + len(code)))
	u64(uint64(headers + len(code)))
	u64(0x1000)
	return append(out, code...)
}
