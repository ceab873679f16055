//go:build linux

package attack

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// signals are attempts to reach other processes by signals and handles.
func signals() []Attack {
	return []Attack{
		{Name: "signal-the-service",
			How: "asks whether it may send a signal to its parent and to the service",
			Do: func(t *Target) (string, error) {
				// The service would end; a process that begins a namespace is immune.
				return oneOf([]int{unix.Getppid(), t.Host}, func(pid int) error {
					return target(pid, func() error { return reach(pid, unix.Kill(pid, 0)) })
				})
			}},
		{Name: "signal-a-bystander", How: "sends SIGUSR1 to another process of the user",
			Fact: "bystander signals",
			Do:   func(t *Target) (string, error) { return "", unix.Kill(t.Bystander, unix.SIGUSR1) }},
		{Name: "signal-by-queue", How: "queues SIGUSR1 with a value for another process of the user",
			Fact: "bystander signals", Do: func(t *Target) (string, error) {
				info := [128]byte{}
				*(*int32)(unsafe.Pointer(&info[0])) = int32(unix.SIGUSR1)
				*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
				return "", call(unix.SYS_RT_SIGQUEUEINFO, uintptr(t.Bystander), uintptr(unix.SIGUSR1),
					uintptr(unsafe.Pointer(&info[0])))
			}},
		{Name: "signal-a-thread", How: "sends SIGUSR1 to a thread of another process",
			Fact: "bystander signals",
			Do: func(t *Target) (string, error) {
				return "", unix.Tgkill(t.Bystander, t.Bystander,
					unix.SIGUSR1)
			}},
		{Name: "signal-by-owner-of-a-socket",
			How:  "makes another process the owner of a socket and lets it be told by SIGUSR1",
			Fact: "bystander signals", Do: signalByOwner},
		{Name: "signal-by-handle", How: "opens another process by pidfd_open and signals it",
			Fact: "bystander signals",
			Do: func(t *Target) (string, error) {
				fd, err := unix.PidfdOpen(t.Bystander, 0)
				if err != nil {
					return "", err
				}
				return "", unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
			}},
		{Name: "signal-everybody", How: "asks whether kill(-1) would reach anybody",
			Do: func(*Target) (string, error) {
				if unix.Getppid() == 1 && ownNamespace() {
					return "", unix.ESRCH // all that is there are its own
				}
				return "", unix.Kill(-1, 0)
			}},
		{Name: "signal-numbers", How: "looks for processes that it may signal, from 2 to 65535",
			Do: signalNumbers},
		{Name: "descriptor-of-the-service",
			How: "takes a descriptor out of its parent, the service and another process by pidfd_getfd",
			Do: func(t *Target) (string, error) {
				return oneOf(t.others(), func(pid int) error {
					return target(pid, func() error {
						handle, err := unix.PidfdOpen(pid, 0)
						if err != nil {
							return err
						}
						defer unix.Close(handle)
						fd, err := unix.PidfdGetfd(handle, 1, 0)
						if err == nil {
							unix.Close(fd)
						}
						return err
					})
				})
			}},
	}
}

// reach notes that a first process of the own namespace was all that was reached.
func reach(pid int, err error) error {
	if err == nil && pid == 1 && ownNamespace() {
		return unix.ESRCH
	}
	return err
}

// ownNamespace reports whether the numbers of processes begin anew: the namespace's first process
// is the parent, and this one is among the first.
func ownNamespace() bool { return unix.Getppid() <= 1 && os.Getpid() < 100 }

func signalByOwner(t *Target) (string, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	for _, step := range [][2]int{{unix.F_SETOWN, t.Bystander}, {unix.F_SETSIG, int(unix.SIGUSR1)},
		{unix.F_SETFL, unix.O_ASYNC | unix.O_NONBLOCK}} {
		if _, err := unix.FcntlInt(uintptr(pair[0]), step[0], step[1]); err != nil {
			return "", err
		}
	}
	_, err = unix.Write(pair[1], []byte("x"))
	return "", err
}

func signalNumbers(*Target) (string, error) {
	reached := 0
	for pid := 2; pid < 65_536; pid++ {
		if pid != os.Getpid() && unix.Kill(pid, 0) == nil && !ownThread(pid) {
			reached++
		}
	}
	if reached == 0 {
		return "", unix.ESRCH
	}
	return fmt.Sprintf("%d processes", reached), nil
}

// memory are attempts to look into and to change processes outside.
func memory() []Attack {
	traced := func(request int) func(*Target) (string, error) {
		return func(t *Target) (string, error) {
			return oneOf(t.others(), func(pid int) error {
				return target(pid, func() error {
					if pid == 1 && ownNamespace() {
						return unix.EPERM
					}
					return call(unix.SYS_PTRACE, uintptr(request), uintptr(pid), 0, 0)
				})
			})
		}
	}
	return []Attack{
		{Name: "trace-others", How: "becomes the tracer of its parent, the service or another process",
			Fact: "bystander tracer", Do: traced(unix.PTRACE_SEIZE)},
		{Name: "read-memory-of-a-bystander", How: "reads another process by process_vm_readv",
			Do: func(t *Target) (string, error) {
				buffer := make([]byte, 32)
				n, err := unix.ProcessVMReadv(t.Bystander, []unix.Iovec{iovec(buffer)},
					[]unix.RemoteIovec{{Base: uintptr(t.Secret), Len: len(buffer)}}, 0)
				return string(buffer[:max(n, 0)]), err
			}},
		{Name: "write-memory-of-a-bystander", How: "changes another process by process_vm_writev",
			Fact: "bystander memory",
			Do: func(t *Target) (string, error) {
				_, err := unix.ProcessVMWritev(t.Bystander, []unix.Iovec{iovec([]byte("OWNED"))},
					[]unix.RemoteIovec{{Base: uintptr(t.Secret), Len: 5}}, 0)
				return "", err
			}},
		{Name: "memory-by-proc",
			How: "opens /proc/PID/mem of its parent, the service and another process for writing",
			Do: func(t *Target) (string, error) {
				return oneOf(t.others(), func(pid int) error {
					f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
					if err == nil {
						f.Close()
					}
					return err
				})
			}},
	}
}

// kernelCalls are attempts to reach processes outside by calls that take their ids.
func kernelCalls() []Attack {
	return []Attack{
		{Name: "advise-memory-of-a-bystander", How: "pages another process out by process_madvise",
			Do: func(t *Target) (string, error) {
				handle, err := unix.PidfdOpen(t.Bystander, 0)
				if err != nil {
					return "", err
				}
				defer unix.Close(handle)
				remote := unix.RemoteIovec{Base: uintptr(t.Secret) &^ 4095, Len: 4096}
				return "", call(unix.SYS_PROCESS_MADVISE, uintptr(handle), uintptr(unsafe.Pointer(&remote)),
					1, unix.MADV_PAGEOUT, 0)
			}},
		{Name: "move-pages-of-a-bystander", How: "asks where the pages of another process are",
			Do: func(t *Target) (string, error) {
				page, status := uintptr(t.Secret)&^4095, int32(0)
				return "", call(unix.SYS_MOVE_PAGES, uintptr(t.Bystander), 1, uintptr(unsafe.Pointer(&page)),
					0, uintptr(unsafe.Pointer(&status)), 0)
			}},
		{Name: "compare-with-a-bystander", How: "compares its descriptors with another process's by kcmp",
			Do: func(t *Target) (string, error) {
				// KCMP_FILES
				return "", call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(t.Bystander), 2, 0, 0)
			}},
		{Name: "futex-list-of-a-bystander", How: "reads an address of another process by get_robust_list",
			Do: func(t *Target) (string, error) {
				var head, size uintptr
				return "", call(unix.SYS_GET_ROBUST_LIST, uintptr(t.Bystander),
					uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&size)))
			}},
		{Name: "session-of-the-service",
			How: "reads session and group of other processes, and their processor clock",
			Do: func(t *Target) (string, error) {
				_, err := unix.Getsid(t.Bystander)
				var clock unix.Timespec
				id := (^int32(t.Bystander))<<3 | 2 // as the kernel encodes a process's time
				return "", errors.Join(err, call(unix.SYS_CLOCK_GETTIME, uintptr(id),
					uintptr(unsafe.Pointer(&clock))))
			}},
	}
}

func iovec(b []byte) unix.Iovec {
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	return v
}
