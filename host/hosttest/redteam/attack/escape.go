//go:build linux

package attack

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// escapes are attempts to leave the namespaces and the root.
func escapes() []Attack {
	return []Attack{
		{Name: "new-namespaces", How: "makes a namespace of any kind by unshare",
			Do: func(*Target) (string, error) {
				return oneOf([]string{"user", "mount", "ipc", "uts", "network", "control groups", "time"},
					func(kind string) error {
						return unshareThread(map[string]int{"user": unix.CLONE_NEWUSER,
							"mount": unix.CLONE_NEWNS,
							"ipc":   unix.CLONE_NEWIPC,
							"uts":   unix.CLONE_NEWUTS, "network": unix.CLONE_NEWNET,
							"control groups": unix.CLONE_NEWCGROUP,
							"time":           unix.CLONE_NEWTIME}[kind])
					})
			}},
		{Name: "clone-into-namespaces", How: "starts a process in a user namespace by clone",
			Do: func(*Target) (string, error) {
				return "", child(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0)
			}},
		{Name: "clone3-into-namespaces", How: "starts a process in a user namespace by clone3",
			Do: func(*Target) (string, error) {
				args := [11]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)}
				return "", child(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args))
			}},
		{Name: "clone-beside-its-parent", How: "starts a process as a sibling, a child of its parent",
			Do: func(*Target) (string, error) {
				err := child(unix.SYS_CLONE, unix.CLONE_PARENT|uintptr(unix.SIGCHLD), 0)
				if err == nil && ownNamespace() {
					return "", unix.ESRCH // its parent is the first process of its own namespace
				}
				return "", err
			}},
		{Name: "enter-namespaces", How: "enters the namespaces of its parent, the service or another process",
			Do: func(t *Target) (string, error) {
				return oneOf(t.others(), func(pid int) error {
					return target(pid, func() error {
						fd, err := unix.PidfdOpen(pid, 0)
						if err != nil {
							return err
						}
						defer unix.Close(fd)
						return unix.Setns(fd, unix.CLONE_NEWNET)
					})
				})
			}},
	}
}

// mounts are attempts to change what the root consists of.
func mounts() []Attack {
	return []Attack{
		{Name: "mount", How: "mounts a file system", Do: func(*Target) (string, error) {
			return oneOf([]string{"tmpfs", "proc", "sysfs", "devtmpfs"}, func(kind string) error {
				return unix.Mount(kind, ".", kind, 0, "")
			})
		}},
		{Name: "bind-mount", How: "binds the root into its folder", Do: func(*Target) (string, error) {
			return "", unix.Mount("/", ".", "", unix.MS_BIND|unix.MS_REC, "")
		}},
		{Name: "new-mount-calls",
			How: "asks for a file system by fsopen, for a mount by open_tree, and moves a mount",
			Do: func(*Target) (string, error) {
				fd, opened := unix.Fsopen("tmpfs", 0)
				if opened == nil {
					unix.Close(fd)
					return "fsopen", nil
				}
				fd, opened = unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
				if opened == nil {
					unix.Close(fd)
					return "open_tree", nil
				}
				return "", errors.Join(opened, unix.MoveMount(unix.AT_FDCWD, "/", unix.AT_FDCWD, ".", 0))
			}},
		{Name: "remount-writable", How: "makes its read-only mounts writable",
			Do: func(*Target) (string, error) {
				attributes := [4]uint64{1: unix.MOUNT_ATTR_RDONLY}
				empty, _ := unix.BytePtrFromString("/")
				directory := unix.AT_FDCWD
				err := call(unix.SYS_MOUNT_SETATTR, uintptr(directory), uintptr(unsafe.Pointer(empty)), 0,
					uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes))
				if err == nil {
					return "mount_setattr", nil
				}
				return "", unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "")
			}},
		{Name: "unmount", How: "takes mounts away to see what is below", Do: func(*Target) (string, error) {
			return oneOf([]string{"/redteam", ".", "/dev/shm", "/dev"}, func(path string) error {
				return unix.Unmount(path, unix.MNT_DETACH)
			})
		}},
		{Name: "pivot-root", How: "makes its folder the root",
			Do: func(*Target) (string, error) { return "", unix.PivotRoot(".", ".") }},
		{Name: "chroot", How: "breaks out of the root by a second chroot",
			Do: func(*Target) (string, error) { return "", unix.Chroot(".") }},
		{Name: "make-device", How: "makes a device file of the machine's memory and disk",
			Do: func(*Target) (string, error) {
				for _, path := range []string{"mem", "/dev/shm/mem"} {
					if unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1))) == nil {
						f, err := os.Open(path)
						if err == nil {
							f.Close()
							return path, nil
						}
					}
				}
				return "", unix.Mknod("disk", unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0)))
			}},
		{Name: "inherited-folders", How: "looks for a folder among the descriptors that it was handed",
			Do: func(*Target) (string, error) {
				for fd := range 64 {
					var s unix.Stat_t
					if unix.Fstat(fd, &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFDIR {
						return fmt.Sprintf("descriptor %d", fd), nil
					}
				}
				return "", unix.EBADF
			}},
	}
}

// unshareThread asks in a thread that ends with it.
func unshareThread(flags int) error {
	answer := make(chan error)
	go func() {
		lockThread()
		answer <- unix.Unshare(flags)
	}()
	return <-answer
}

// privileges are attempts to become more than it is.
func privileges() []Attack {
	return []Attack{
		{Name: "become-root", How: "sets its user and group to those of root",
			Do: func(*Target) (string, error) {
				if unix.Getuid() == 0 {
					return "", call(unix.SYS_SETUID, 1) // root inside has one user only
				}
				return "", call(unix.SYS_SETRESUID, 0, 0, 0)
			}},
		{Name: "change-groups", How: "sets its groups", Do: func(*Target) (string, error) {
			group := uint32(0)
			return "", errors.Join(call(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&group))))
		}},
		{Name: "gain-capabilities", How: "takes back capabilities", Fact: "plugin capabilities",
			Do: func(*Target) (string, error) {
				header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
				all := [2]unix.CapUserData{{Effective: 1<<32 - 1, Permitted: 1<<32 - 1,
					Inheritable: 1<<32 - 1},
					{Effective: 0x1ff, Permitted: 0x1ff}}
				return "", unix.Capset(&header, &all[0])
			}},
		{Name: "allow-new-privileges", How: "takes back the promise to gain no privileges",
			Fact: "plugin may gain privileges",
			Do: func(*Target) (string, error) {
				return "", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0,
					0)
			}},
		{Name: "leave-the-filter", How: "runs without a filter of system calls",
			Fact: "plugin filter of system calls",
			Do:   nothing},
		{Name: "be-root-outside", How: "is root for the machine, whatever it is in its namespace",
			Fact: "plugin user",
			Do:   nothing},
		{Name: "share-a-namespace", How: "shares a namespace with the service", Fact: "plugin namespaces",
			Do: nothing},
		{Name: "see-the-environment", How: "finds something of the service in its environment",
			Fact: "plugin environment", Do: nothing},
		{Name: "see-the-environment-inside", How: "reads its environment for the policy, paths and secrets",
			Do: func(*Target) (string, error) {
				var seen []string
				for _, kv := range os.Environ() {
					name, value, _ := strings.Cut(kv, "=")
					if name == "PATH" || name == "HOME" || name == "TZ" || name == "LANG" ||
						strings.Contains(kv,
							"SANDBOX") || strings.Contains(value, "SECRET") {
						seen = append(seen, name)
					}
				}
				if len(seen) == 0 {
					return "", unix.ENOENT
				}
				return strings.Join(seen, " "), nil
			}},
		{Name: "hold-files-of-the-service", How: "keeps a descriptor of a file of the machine",
			Fact: "plugin descriptors", Do: nothing},
	}
}

// nothing returns an attempt that needs no act: the state of the process is looked at.
func nothing(*Target) (string, error) { return "", errors.New("is seen from outside") }

// programs are attempts to run something else, and to go on when the run has ended.
func programs() []Attack {
	return []Attack{
		{Name: "run-a-shell", How: "executes /bin/sh", Do: func(*Target) (string, error) {
			return oneOf([]string{"/bin/sh", "/usr/bin/env", "/bin/busybox"}, func(path string) error {
				_, err := start(path, nil, []string{"sh", "-c", "true"}, false)
				return err
			})
		}},
		{Name: "run-from-memory", How: "executes a program that it wrote to a memfd", Do: runFromMemory},
		{Name: "run-from-its-folder", How: "executes a program that it wrote to its folder or to /dev/shm",
			Do: func(t *Target) (string, error) {
				return oneOf([]string{"./program", "/dev/shm/program"}, func(path string) error {
					if err := os.WriteFile(path, tinyProgram(), 0o700); err != nil {
						return err
					}
					_, err := start(path, nil, []string{t.Mark + "-tiny"}, false)
					return err
				})
			}},
		{Name: "outlive-the-run", How: "starts a process in a session of its own", Fact: "left", Run: true,
			Do: func(t *Target) (string, error) { return stay(t, false) }},
		{Name: "outlive-by-two-forks",
			How: "starts a process whose parent ends at once, in a session of its own", Fact: "left",
			Run: true,
			Do:  func(t *Target) (string, error) { return stay(t, true) }},
		{Name: "outlive-a-probe", How: "starts a process in a session of its own while it is probed",
			Fact: "left",
			Do:   func(t *Target) (string, error) { return stay(t, false) }},
		{Name: "trace-its-children",
			How: "traces a process of its own, which lets a filter of system calls be changed",
			Do: func(*Target) (string, error) {
				return "", child(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, func(pid int) error {
					return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0)
				})
			}},
	}
}

func runFromMemory(t *Target) (string, error) {
	fd, err := unix.MemfdCreate("redteam", 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, tinyProgram()); err != nil {
		return "", err
	}
	// Without /proc a program behind a descriptor is executed by execveat.
	return "", executes(fd, t.Mark+"-tiny")
}

// stay starts this program again as something that only waits.
func stay(t *Target, twice bool) (string, error) {
	role := "wait"
	if twice {
		role = "fork"
	}
	// Where there is no /proc the name of the program is its own, in the root or in the folder.
	last := error(unix.ENOENT)
	for _, path := range append([]string{"/proc/self/exe"}, programFiles()...) {
		pid, err := start(path, []string{"REDTEAM_ROLE=" + role}, []string{t.Mark + "-" + role}, true)
		if err == nil {
			time.Sleep(20 * time.Millisecond)
			return fmt.Sprintf("process %d", pid), nil
		}
		last = err
	}
	// A copy of this process needs no file: it leaves the session and waits.
	if err := forked(); err == nil {
		return "a copy of itself", nil
	}
	return "", last
}
