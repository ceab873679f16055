//go:build linux

package attack

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ipc are attempts to make objects that outlive a process.
func ipc() []Attack {
	return []Attack{
		{Name: "shared-memory-segment", How: "makes a System V shared memory segment",
			Fact: "machine shared memory",
			Do: func(t *Target) (string, error) {
				return "", call(unix.SYS_SHMGET, uintptr(t.Key), 1<<20, unix.IPC_CREAT|0o666)
			}},
		{Name: "semaphore", How: "makes a System V semaphore", Fact: "machine semaphores",
			Do: func(t *Target) (string, error) {
				return "", call(unix.SYS_SEMGET, uintptr(t.Key), 1, unix.IPC_CREAT|0o666)
			}},
		{Name: "message-queue", How: "makes a System V message queue", Fact: "machine message queues",
			Do: func(t *Target) (string, error) {
				return "", call(unix.SYS_MSGGET, uintptr(t.Key), unix.IPC_CREAT|0o666)
			}},
		{Name: "posix-message-queue", How: "makes a POSIX message queue", Fact: "machine posix queue",
			Do: func(t *Target) (string, error) {
				fd, err := OpenQueue(t.Mark, unix.O_CREAT|unix.O_RDWR)
				if err == nil {
					unix.Close(fd)
				}
				return "", err
			}},
		{Name: "posix-shared-memory", How: "leaves a file in /dev/shm", Fact: "machine posix shared memory",
			Do: func(t *Target) (string, error) {
				return "", os.WriteFile("/dev/shm/"+t.Mark, []byte("note"), 0o600)
			}},
		{Name: "temporary-file", How: "leaves a file in a folder that everybody may write to",
			Fact: "machine temporary files",
			Do: func(t *Target) (string, error) {
				return oneOf([]string{"/tmp/", "/var/tmp/", "/run/", "/run/lock/", "/dev/mqueue/"},
					func(folder string) error {
						return os.WriteFile(folder+t.Mark+"-note", []byte("note"), 0o600)
					})
			}},
		{Name: "key-in-a-keyring", How: "leaves a key in the user's keyring", Fact: "machine keys",
			Do: func(t *Target) (string, error) {
				_, err := unix.AddKey("user", t.Mark, []byte("note"), unix.KEY_SPEC_USER_KEYRING)
				return "", err
			}},
		{Name: "learn-the-name-of-the-machine", How: "asks for the name of the machine",
			Do: func(t *Target) (string, error) {
				if name, err := os.Hostname(); err != nil || name != t.Machine {
					return "", fmt.Errorf("the name is %q", name)
				}
				return t.Machine, nil
			}},
		{Name: "name-of-the-machine", How: "changes the name of the machine", Fact: "machine name",
			Do: func(t *Target) (string, error) {
				return "", unix.Sethostname([]byte(t.Mark))
			}},
	}
}

// OpenQueue opens a POSIX message queue.
func OpenQueue(name string, flags int) (int, error) {
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return 0, err
	}
	fd, err := result(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(text)), uintptr(flags), 0o600, 0)
	return int(fd), err
}

// note looks for what a run before has left, and leaves it again.
func note(name, how string, look, leave func(*Target) error) Attack {
	return Attack{Name: name, How: how, Run: true, Do: func(t *Target) (string, error) {
		found := look(t)
		if left := leave(t); found != nil {
			return "", errors.Join(found, left)
		}
		if !t.Second {
			return "", errors.New("there was a note before the first run")
		}
		return "the note of the run before", nil
	}}
}

// notes are attempts to tell something to the next run: each looks for a note, and leaves one.
// It succeeds when it finds one, which only a second run can.
func notes() []Attack {
	exists := func(path func(*Target) string) func(*Target) error {
		return func(t *Target) error { _, err := os.Stat(path(t)); return err }
	}
	write := func(path func(*Target) string) func(*Target) error {
		return func(t *Target) error { return os.WriteFile(path(t), []byte("note"), 0o600) }
	}
	in := func(folder string) func(*Target) string {
		return func(t *Target) string { return filepath.Join(folder, t.Mark+"-next") }
	}
	return []Attack{
		note("note-in-shared-memory", "leaves a note in a System V segment",
			func(t *Target) error { return call(unix.SYS_SHMGET, uintptr(t.Key+1), 4096, 0o666) },
			func(t *Target) error {
				return call(unix.SYS_SHMGET, uintptr(t.Key+1), 4096,
					unix.IPC_CREAT|0o666)
			}),
		note("note-in-a-semaphore", "leaves a note in a System V semaphore",
			func(t *Target) error { return call(unix.SYS_SEMGET, uintptr(t.Key+1), 1, 0o666) },
			func(t *Target) error {
				return call(unix.SYS_SEMGET, uintptr(t.Key+1), 1,
					unix.IPC_CREAT|0o666)
			}),
		note("note-in-a-posix-queue", "leaves a note in a POSIX message queue",
			func(t *Target) error { _, err := OpenQueue(t.Mark+"-next", unix.O_RDWR); return err },
			func(t *Target) error {
				_, err := OpenQueue(t.Mark+"-next",
					unix.O_CREAT|unix.O_RDWR)
				return err
			}),
		note("note-in-dev-shm", "leaves a note in /dev/shm", exists(in("/dev/shm")), write(in("/dev/shm"))),
		note("note-in-tmp", "leaves a note in /tmp", exists(in("/tmp")), write(in("/tmp"))),
		note("note-in-the-root", "leaves a note in the root folder", exists(in("/")), write(in("/"))),
		note("note-in-its-folder", "leaves a note beside its socket", exists(in(".")), write(in("."))),
	}
}

// notesInNames are notes that need no file.
func notesInNames() []Attack {
	return []Attack{
		note("note-in-a-keyring", "leaves a note in a keyring",
			func(t *Target) error {
				_, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", t.Mark+"-next", 0)
				return err
			},
			func(t *Target) error {
				_, err := unix.AddKey("user", t.Mark+"-next", []byte("note"), unix.KEY_SPEC_USER_KEYRING)
				return err
			}),
		note("note-in-the-name-of-the-machine", "leaves a note in the name of the machine",
			func(t *Target) error {
				if name, _ := os.Hostname(); name != t.Mark {
					return unix.ENOENT
				}
				return nil
			},
			func(t *Target) error { return unix.Sethostname([]byte(t.Mark)) }),
		note("note-in-an-abstract-socket", "leaves a note as an abstract socket of a process that stays",
			func(t *Target) error {
				c, err := net.Dial("unix", "@"+t.Mark+"-next")
				if err == nil {
					c.Close()
				}
				return err
			},
			func(t *Target) error {
				l, err := net.Listen("unix", "@"+t.Mark+"-next")
				if err == nil {
					t.Kept = append(t.Kept, l)
					_, err = stay(t, false)
				}
				return err
			}),
	}
}

// notesInFiles are notes in the files that a plugin is handed.
func notesInFiles() []Attack {
	programTime := time.Unix(1_000_000_007, 0)
	return []Attack{
		note("note-in-its-window",
			"leaves a note in the attributes of the candle file that its run was handed",
			func(t *Target) error {
				_, err := oneOf(t.Window, func(path string) error {
					_, err := unix.Getxattr(path, "user.next",
						make([]byte, 16))
					return err
				})
				return err
			},
			func(t *Target) error {
				_, err := oneOf(t.Window, func(path string) error {
					return unix.Setxattr(path, "user.next",
						[]byte("note"), 0)
				})
				return err
			}),
		note("note-in-the-times-of-its-program", "leaves a note in the times of its own program file",
			func(*Target) error {
				return onProgram(func(path string) error {
					info, err := os.Stat(path)
					if err == nil && !info.ModTime().Equal(programTime) {
						err = unix.ENOENT
					}
					return err
				})
			},
			func(*Target) error {
				return onProgram(func(path string) error {
					return os.Chtimes(path, programTime,
						programTime)
				})
			}),
		note("note-in-the-attributes-of-its-program",
			"leaves a note in an extended attribute of its own program file",
			func(*Target) error {
				return onProgram(func(path string) error {
					b := make([]byte, 16)
					n, err := unix.Getxattr(path, "user.next", b)
					if err == nil && !bytes.Equal(b[:n], []byte("note")) {
						err = unix.ENODATA
					}
					return err
				})
			},
			func(*Target) error {
				return onProgram(func(path string) error {
					return unix.Setxattr(path, "user.next",
						[]byte("note"), 0)
				})
			}),
		note("note-in-the-flags-of-its-program", "leaves a note in the flags of its own program file",
			func(*Target) error { return onProgram(func(path string) error { return flags(path, true) }) },
			func(*Target) error { return onProgram(func(path string) error { return flags(path, false) }) }),
	}
}

// onProgram acts on its own program, wherever that is.
func onProgram(act func(path string) error) error {
	_, err := oneOf(append([]string{"/proc/self/exe"}, programFiles()...), act)
	return err
}

// flags looks for the flag "no dump" of a file, or sets it.
func flags(path string, look bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	const noDump = 0x40
	now, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	switch {
	case err != nil:
		return err
	case look && now&noDump == 0:
		return fmt.Errorf("flags %#x: %w", now, unix.ENOENT)
	case look:
		return nil
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(now|noDump))
}
