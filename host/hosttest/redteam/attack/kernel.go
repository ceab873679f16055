//go:build linux

package attack

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel are attempts to reach parts of the kernel in which mistakes were found before. Those that
// would change the machine ask for what changes nothing.
func kernel() []Attack {
	plain := func(name, how string, number uintptr, args ...uintptr) Attack {
		return Attack{Name: name, How: how, Do: func(*Target) (string, error) {
			fd, err := result(number, args...)
			if err == nil && fd > 2 && fd < 1024 {
				unix.Close(int(fd))
			}
			return "", err
		}}
	}
	var ring [120]byte
	var bpf [128]byte
	bpf[0], bpf[4], bpf[8], bpf[12] = 2, 4, 8, 1 // an array of one value
	perf := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK,
		Bits: unix.PerfBitExcludeKernel,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	name, _ := unix.BytePtrFromString("redteam_absent")
	var buffer [4096]byte
	var module [16]byte
	everywhere := ^uintptr(0)
	return []Attack{
		plain("io-uring", "makes a ring of asynchronous calls, which pass filters", unix.SYS_IO_URING_SETUP,
			4, uintptr(unsafe.Pointer(&ring))),
		plain("userfaultfd", "handles page faults itself", unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1),
		plain("bpf", "loads a map of the kernel's virtual machine", unix.SYS_BPF, 0,
			uintptr(unsafe.Pointer(&bpf)), uintptr(len(bpf))),
		plain("perf-events", "counts events of the processor", unix.SYS_PERF_EVENT_OPEN,
			uintptr(unsafe.Pointer(&perf)), 0, everywhere, everywhere, 0),
		plain("keyctl", "uses the kernel's keyrings", unix.SYS_KEYCTL, 0, uintptr(0xfffffffd), 1),
		plain("request-key", "lets the kernel ask for a key by a program of the machine",
			unix.SYS_REQUEST_KEY,
			uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(name)), 0, 0),
		plain("kernel-log", "reads the kernel's log", unix.SYS_SYSLOG, 3, uintptr(unsafe.Pointer(&buffer)),
			uintptr(len(buffer))),
		plain("load-a-module", "loads a module of the kernel", unix.SYS_INIT_MODULE,
			uintptr(unsafe.Pointer(&module)), 1, uintptr(unsafe.Pointer(name))),
	}
}

// machine are attempts to change the machine, or what a process of it may do.
func machine() []Attack {
	name, _ := unix.BytePtrFromString("redteam_absent")
	return []Attack{
		{Name: "remove-a-module", How: "removes a module of the kernel, one that there is not",
			Do: func(*Target) (string, error) {
				err := unix.DeleteModule("redteam_absent", 0)
				if err == unix.ENOENT {
					return "", nil // it would have been removed
				}
				return "", err
			}},
		{Name: "another-kernel", How: "loads another kernel, an empty one",
			Do: func(*Target) (string, error) {
				err := call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0)
				return "", err
			}},
		{Name: "restart-the-machine", How: "switches the keyboard's way to restart the machine off",
			Do: func(*Target) (string, error) {
				return "", unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF)
			}},
		{Name: "set-the-clock", How: "sets the machine's clock to the time that it shows",
			Do: func(*Target) (string, error) {
				var now unix.Timeval
				if err := unix.Gettimeofday(&now); err != nil {
					return "", err
				}
				return "", unix.Settimeofday(&now)
			}},
		{Name: "adjust-the-clock", How: "adjusts the machine's clock by nothing",
			Do: func(*Target) (string, error) {
				_, err := unix.Adjtimex(&unix.Timex{Modes: unix.ADJ_OFFSET})
				return "", err
			}},
		{Name: "swap", How: "takes away swap space that there is not", Do: func(*Target) (string, error) {
			err := call(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(name)))
			if err == unix.ENOENT {
				return "", nil
			}
			return "", err
		}},
		{Name: "accounting", How: "switches the accounting of processes off",
			Do: func(*Target) (string, error) {
				return "", call(unix.SYS_ACCT, 0)
			}},
		{Name: "quota", How: "asks the quotas of a disk to be written", Do: func(*Target) (string, error) {
			return "", call(unix.SYS_QUOTACTL, 0x800001<<8, 0, 0, 0)
		}},
	}
}

// processor are attempts on what memory and processor do for a process.
func processor() []Attack {
	everywhere := ^uintptr(0)
	return []Attack{
		{Name: "foreign-personality", How: "switches the randomisation of addresses off",
			Do: func(*Target) (string, error) {
				before, err := result(unix.SYS_PERSONALITY, 0xffffffff)
				if err != nil {
					return "", err
				}
				if _, err = result(unix.SYS_PERSONALITY, 0x0040000); err != nil {
					return "", err
				}
				_, _ = result(unix.SYS_PERSONALITY, before)
				return fmt.Sprintf("was %#x", before), nil
			}},
		{Name: "lock-memory", How: "locks 64 MiB in memory", Do: func(*Target) (string, error) {
			b, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				return "", err
			}
			defer unix.Munmap(b)
			return "", unix.Mlock(b)
		}},
		{Name: "huge-pages", How: "takes huge pages, which the machine has few of",
			Do: func(*Target) (string, error) {
				b, err := unix.Mmap(-1, 0, 4<<20, unix.PROT_READ|unix.PROT_WRITE,
					unix.MAP_ANON|unix.MAP_SHARED|unix.MAP_HUGETLB)
				if err == nil {
					_ = unix.Munmap(b)
				}
				return "", err
			}},
		{Name: "map-the-first-page", How: "maps the page at address 0, where mistakes of the kernel point to",
			Do: func(*Target) (string, error) {
				return "", call(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_WRITE,
					unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_FIXED, everywhere, 0)
			}},
		{Name: "foreign-calls", How: "makes a system call of 32-bit programs, which filters may not know",
			Alone: true,
			Do:    foreignCall},
	}
}
