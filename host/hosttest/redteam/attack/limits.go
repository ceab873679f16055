//go:build linux

package attack

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// limits are attempts on what the kernel grants to processes outside.
func limits() []Attack {
	lower := func(resource int, to uint64) func(*Target) (string, error) {
		return func(t *Target) (string, error) {
			return oneOf([]int{unix.Getppid(), t.Host}, func(pid int) error {
				return lowerLimit(pid, resource,
					to)
			})
		}
	}
	return []Attack{
		{Name: "prlimit-cpu-of-the-service", How: "lowers RLIMIT_CPU of its parent and of the service",
			Fact: "service limit Max cpu time", Do: lower(unix.RLIMIT_CPU, 86_400)},
		{Name: "prlimit-files-of-the-service", How: "lowers RLIMIT_NOFILE of its parent and of the service",
			Fact: "service limit Max open files", Do: lower(unix.RLIMIT_NOFILE, 900)},
		{Name: "prlimit-bystander", How: "lowers every limit of another process of the user",
			Fact: "bystander limit", Do: lowerEverything},
		{Name: "prlimit-read-everybody", How: "reads the limits of every process from 1 to 65535",
			Do: readLimits},
		{Name: "nice-of-the-service", How: "sets the priority of its parent and of the service to 19",
			Fact: "service nice", Do: func(t *Target) (string, error) {
				return oneOf([]int{unix.Getppid(), t.Host}, func(pid int) error {
					return target(pid, func() error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) })
				})
			}},
		{Name: "nice-of-a-bystander",
			How:  "sets the priority of another process of the user, and of its group, to 19",
			Fact: "bystander nice", Do: func(t *Target) (string, error) {
				return "", errors.Join(unix.Setpriority(unix.PRIO_PGRP, t.Bystander, 19),
					unix.Setpriority(unix.PRIO_PROCESS, t.Bystander, 19))
			}},
		{Name: "affinity-of-the-service", How: "pins its parent and the service to one processor",
			Fact: "service processors", Do: func(t *Target) (string, error) {
				return oneOf([]int{unix.Getppid(), t.Host}, pin)
			}},
		{Name: "affinity-of-a-bystander", How: "pins another process of the user to one processor",
			Fact: "bystander processors",
			Do:   func(t *Target) (string, error) { return "", pin(t.Bystander) }},
		{Name: "io-priority-of-a-bystander",
			How:  "moves another process of the user to the idle class of disk access",
			Fact: "bystander disk class", Do: func(t *Target) (string, error) {
				return "", call(unix.SYS_IOPRIO_SET, 1, uintptr(t.Bystander), 3<<13)
			}},
		{Name: "scheduler-of-a-bystander", How: "makes another process of the user a batch process",
			Fact: "bystander scheduler", Do: func(t *Target) (string, error) {
				var priority int32
				return "", call(unix.SYS_SCHED_SETSCHEDULER, uintptr(t.Bystander), unix.SCHED_BATCH,
					uintptr(unsafe.Pointer(&priority)))
			}},
		{Name: "sched-setattr-of-a-bystander",
			How:  "makes another process of the user a batch process by sched_setattr",
			Fact: "bystander scheduler", Do: func(t *Target) (string, error) {
				return "", unix.SchedSetAttr(t.Bystander, &unix.SchedAttr{Size: unix.SizeofSchedAttr,
					Policy: unix.SCHED_BATCH}, 0)
			}},
		{Name: "oom-score-of-a-bystander", How: "offers other processes to the kernel when memory is short",
			Fact: "bystander out-of-memory score", Do: func(t *Target) (string, error) {
				return oneOf(t.others(), func(pid int) error {
					return os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("900"), 0)
				})
			}},
		{Name: "real-time-priority", How: "asks for real-time scheduling for itself",
			Do: func(*Target) (string, error) {
				priority := int32(1)
				err := call(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_RR, uintptr(unsafe.Pointer(&priority)))
				if err == nil {
					priority = 0
					_ = call(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_NORMAL,
						uintptr(unsafe.Pointer(&priority)))
				}
				return "", err
			}},
		{Name: "raise-own-limits", How: "raises its own limits of memory, files, time and processes",
			Do: raiseOwn},
	}
}

// target refuses numbers that the kernel takes for the caller itself.
func target(pid int, do func() error) error {
	if pid <= 0 {
		return unix.ESRCH
	}
	return do()
}

func lowerLimit(pid, resource int, to uint64) error {
	return target(pid, func() error {
		return unix.Prlimit(pid, resource, &unix.Rlimit{Cur: to, Max: to}, nil)
	})
}

// resources of Linux are numbered from 0 to 15.
const resourceCount = 16

func lowerEverything(t *Target) (string, error) {
	done := 0
	var last error
	for resource := range resourceCount {
		var now unix.Rlimit
		if err := unix.Prlimit(t.Bystander, resource, nil, &now); err != nil {
			last = err
			continue
		}
		soft := min(now.Cur, now.Max, 1<<40) - 1
		if now.Cur == 0 {
			soft = 0
		}
		if err := unix.Prlimit(t.Bystander, resource, &unix.Rlimit{Cur: soft, Max: now.Max},
			nil); err != nil {
			last = err
			continue
		}
		done++
	}
	if done == 0 {
		return "", last
	}
	return fmt.Sprintf("%d of %d", done, resourceCount), nil
}

// readLimits counts the processes that it reaches besides itself and, in a namespace of its own,
// the process that began that.
func readLimits(*Target) (string, error) {
	reached := 0
	var limit unix.Rlimit
	for pid := 2; pid < 65_536; pid++ {
		if pid != os.Getpid() && unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &limit) == nil && !ownThread(pid) {
			reached++
		}
	}
	if reached == 0 {
		return "", unix.ESRCH
	}
	return fmt.Sprintf("%d processes", reached), nil
}

// ownThread reports whether a number is one of this process's threads: only those can be signalled by tgkill.
func ownThread(pid int) bool { return unix.Tgkill(os.Getpid(), pid, 0) == nil }

func pin(pid int) error {
	return target(pid, func() error {
		var one unix.CPUSet
		one.Set(0)
		return unix.SchedSetaffinity(pid, &one)
	})
}

func raiseOwn(*Target) (string, error) {
	names := map[string]int{"data": unix.RLIMIT_DATA, "files": unix.RLIMIT_NOFILE,
		"file size": unix.RLIMIT_FSIZE,
		"cpu":       unix.RLIMIT_CPU, "core": unix.RLIMIT_CORE}
	raised := ""
	var last error = unix.EPERM
	for _, name := range []string{"data", "files", "file size", "cpu", "core"} {
		var now unix.Rlimit
		if err := unix.Getrlimit(names[name], &now); err != nil || now.Max == unix.RLIM_INFINITY {
			raised += name + " is unlimited; "
			continue
		}
		err := unix.Prlimit(0, names[name], &unix.Rlimit{Cur: now.Max + 1, Max: now.Max + 1}, nil)
		if err == nil {
			raised += name + "; "
		} else {
			last = err
		}
	}
	if raised != "" {
		return raised, nil
	}
	return "", last
}
