//go:build linux

package attack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// files are attempts on files outside by their paths. Each has one of its own in the user's folder.
func files() []Attack {
	one := func(name, how string, do func(path string) error) Attack {
		return Attack{Name: name, How: how, Fact: "home " + name,
			Do: func(t *Target) (string, error) { return "", do(t.File(name)) }}
	}
	return []Attack{
		one("change-mode", "makes a private file readable and writable for all",
			func(p string) error { return os.Chmod(p, 0o777) }),
		one("change-owner", "gives a file to its own group again, which marks it as changed",
			func(p string) error {
				return unix.Lchown(p, -1, unix.Getgid())
			}),
		one("change-times", "sets the times of a file", func(p string) error {
			return os.Chtimes(p,
				time.Unix(1, 0), time.Unix(1, 0))
		}),
		one("set-attribute", "sets an extended attribute of a file", func(p string) error {
			return unix.Setxattr(p, "user.redteam", []byte("x"), 0)
		}),
		one("set-access-list", "sets the access list of a file", func(p string) error {
			return unix.Setxattr(p, "system.posix_acl_access", accessList(), 0)
		}),
		one("truncate", "truncates a file", func(p string) error { return unix.Truncate(p, 0) }),
		one("write", "writes to a file", func(p string) error {
			return os.WriteFile(p, []byte("owned"),
				0o600)
		}),
		one("append", "appends to a file", func(p string) error {
			f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("owned")
			return errors.Join(err, f.Close())
		}),
		one("remove", "removes a file", os.Remove),
		one("rename", "renames a file", func(p string) error { return os.Rename(p, p+".moved") }),
		one("hard-link", "gives a file a second name", func(p string) error { return os.Link(p, p+".link") }),
		one("hard-link-into-its-folder", "gives a file a second name in the socket folder",
			func(p string) error {
				return os.Link(p, "link")
			}),
		one("symbolic-link", "makes a symbolic link beside a file",
			func(p string) error { return os.Symlink("/etc/passwd", p+".link") }),
		one("make-file", "makes a file beside the user's", func(p string) error {
			return os.WriteFile(p+".new", []byte("owned"), 0o600)
		}),
		one("make-folder", "makes a folder beside the user's files",
			func(p string) error { return os.Mkdir(p+".new", 0o700) }),
		one("make-pipe", "makes a named pipe beside the user's files",
			func(p string) error { return unix.Mkfifo(p+".new", 0o600) }),
		one("make-socket", "binds a socket beside the user's files", func(p string) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Bind(fd, &unix.SockaddrUnix{Name: p + ".new"})
		}),
		one("lock", "locks a file of the user", func(p string) error {
			fd, err := unix.Open(p, unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		}),
	}
}

// looks are attempts to learn something of files outside.
func looks() []Attack {
	return []Attack{
		{Name: "read-a-file", How: "reads a private file",
			Do: func(t *Target) (string, error) { return read(t.File("read-a-file")) }},
		{Name: "list-a-folder", How: "lists the user's folder",
			Do: func(t *Target) (string, error) { return list(t.Home) }},
		{Name: "look-at-a-file", How: "asks for size and times of a private file",
			Do: func(t *Target) (string, error) {
				info, err := os.Stat(t.File("read-a-file"))
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("%d bytes", info.Size()), nil
			}},
		{Name: "look-at-a-disk", How: "asks how full the disk of the user's folder is",
			Do: func(t *Target) (string, error) {
				var s unix.Statfs_t
				return "", unix.Statfs(t.Home, &s)
			}},
		{Name: "read-attributes", How: "reads the extended attributes of a private file",
			Do: func(t *Target) (string, error) {
				_, err := unix.Listxattr(t.File("read-a-file"), make([]byte, 256))
				return "", err
			}},
		{Name: "watch-a-folder", How: "watches the user's folder by inotify",
			Do: func(t *Target) (string, error) {
				fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
				if err != nil {
					return "", err
				}
				_, err = unix.InotifyAddWatch(fd, t.Home, unix.IN_ALL_EVENTS)
				return "", err
			}},
		{Name: "watch-a-disk", How: "watches whole disks by fanotify", Do: func(t *Target) (string, error) {
			fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, unix.O_RDONLY)
			if err != nil {
				return "", err
			}
			return "", unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN, unix.AT_FDCWD, t.Home)
		}},
		{Name: "open-by-handle", How: "opens a private file by a handle instead of its name",
			Do: openByHandle},
	}
}

// accessList returns one that lets user 1 read.
func accessList() []byte {
	entry := func(tag, permissions uint16, id uint32) []byte {
		return []byte{byte(tag), byte(tag >> 8), byte(permissions), 0, byte(id), byte(id >> 8),
			byte(id >> 16), byte(id >> 24)}
	}
	list := []byte{2, 0, 0, 0}
	const nobody = 1<<32 - 1
	for _, e := range [][]byte{entry(1, 6, nobody), entry(2, 4, 1), entry(4, 0, nobody),
		entry(0x10, 4, nobody),
		entry(0x20, 0, nobody)} {
		list = append(list, e...)
	}
	return list
}

func read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 64)
	n, err := f.Read(b)
	return string(b[:n]), err
}

func list(path string) (string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d entries", len(entries)), nil
}

func openByHandle(t *Target) (string, error) {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, t.File("read-a-file"), 0)
	if err != nil {
		return "", err
	}
	folder, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(folder)
	fd, err := unix.OpenByHandleAt(folder, handle, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	b := make([]byte, 64)
	n, err := unix.Read(fd, b)
	return string(b[:max(n, 0)]), err
}

// paths are attempts on the service's own files, on the plugin's own and on the whole tree.
func paths() []Attack {
	return []Attack{
		{Name: "change-mode-of-the-registry", How: "makes the registry of runs writable for all",
			Fact: "state runs registry.sqlite3 mode", Do: func(t *Target) (string, error) {
				return "", os.Chmod(t.State+"/runs/registry.sqlite3", 0o666)
			}},
		{Name: "read-the-registry", How: "reads the registry of runs", Do: func(t *Target) (string, error) {
			return read(t.State + "/runs/registry.sqlite3")
		}},
		{Name: "read-the-service-log", How: "lists the state folder",
			Do: func(t *Target) (string, error) { return list(t.State) }},
		{Name: "change-mode-of-another-copy", How: "changes the mode of another plugin's copy",
			Fact: "state plugins", Do: func(t *Target) (string, error) {
				return "", os.Chmod(t.State+"/plugins/"+t.Honest, 0o777)
			}},
		{Name: "read-another-copy", How: "reads another plugin's copy", Do: func(t *Target) (string, error) {
			_, err := read(t.State + "/plugins/" + t.Honest)
			return "", err
		}},
		{Name: "plant-a-plugin", How: "puts a file into the strategies folder", Fact: "strategies",
			Do: func(t *Target) (string, error) {
				return "", os.WriteFile(t.Strategies+"/planted", []byte("#!"), 0o755)
			}},
		{Name: "read-all-candles",
			How: "reads candle files of the state folder besides the window of its run",
			Do:  readCandles},
		{Name: "change-mode-of-candles", How: "changes the mode of the candle files", Fact: "state candles",
			Do: func(t *Target) (string, error) {
				return oneOf(candles(t), func(path string) error { return os.Chmod(path, 0o640) })
			}},
		{Name: "change-times-of-candles", How: "leaves a note in the times of the candle files",
			Fact: "state candles",
			Do: func(t *Target) (string, error) {
				return oneOf(candles(t), func(path string) error {
					return os.Chtimes(path, time.Unix(7, 0),
						time.Unix(7, 0))
				})
			}},
		{Name: "read-beyond-its-window",
			How: "looks for a candle file that is larger than the window of its run", Run: true,
			Do: beyondWindow},
		{Name: "change-its-window",
			How: "changes mode, times, attributes, flags and contents of the candle files that its run " +
				"was handed",
			Fact: "state", Run: true, Do: func(t *Target) (string, error) {
				return oneOf(t.Window, changeFile)
			}},
		{Name: "change-its-program",
			How:  "changes mode, times, attributes, flags and contents of its own program file",
			Fact: "state plugins", Do: func(*Target) (string, error) {
				return "", onProgram(changeFile)
			}},
		{Name: "change-every-file-in-reach",
			How: "changes mode, times, attributes and contents of every file that it finds in its root",
			Do:  changeAll},
		{Name: "write-own-descriptors",
			How:  "changes mode, times and attributes of every file that it was handed open",
			Fact: "state", Do: ownDescriptors},
	}
}

// ways are attempts to find a way to the machine's files.
func ways() []Attack {
	return []Attack{
		{Name: "list-the-root", How: "looks in the root for folders of the machine",
			Do: func(*Target) (string, error) {
				return oneOf([]string{"/etc", "/home", "/root", "/usr", "/var", "/proc", "/sys", "/boot",
					"/opt", "/run", "/tmp", "/"},
					func(path string) error {
						entries, err := os.ReadDir(path)
						if err == nil && path == "/" && !ofMachine(entries) {
							return unix.ENOENT
						}
						return err
					})
			}},
		{Name: "walk-everything", How: "walks the whole tree for a file named as the user's are", Do: walk},
		{Name: "climb-out", How: "climbs out of its folder by ../..", Do: func(t *Target) (string, error) {
			return read(strings.Repeat("../", 20) + t.File("read-a-file"))
		}},
		{Name: "climb-by-proc-root", How: "reads a private file through /proc/PID/root and /proc/PID/cwd",
			Do: func(t *Target) (string, error) {
				return oneOf([]string{"/proc/1/root", "/proc/self/root", fmt.Sprintf("/proc/%d/root",
					unix.Getppid()),
					fmt.Sprintf("/proc/%d/root", t.Bystander), fmt.Sprintf("/proc/%d/root", t.Host)},
					func(root string) error { _, err := read(root + t.File("read-a-file")); return err })
			}},
		{Name: "environment-of-others", How: "reads the environment of other processes",
			Do: func(t *Target) (string, error) {
				return oneOf(t.others(), func(pid int) error {
					_, err := read(fmt.Sprintf("/proc/%d/environ",
						pid))
					return err
				})
			}},
		{Name: "processes-by-proc", How: "reads /proc/1/status, the mounts and its own descriptors in /proc",
			Do: func(*Target) (string, error) {
				return oneOf([]string{"/proc/1/status", "/proc/self/mountinfo", "/proc/self/status",
					"/proc/net/unix"},
					func(path string) error { _, err := read(path); return err })
			}},
		{Name: "write-core-pattern", How: "lets the kernel run a program at a crash",
			Fact: "machine core pattern",
			Do: func(*Target) (string, error) {
				return "", os.WriteFile("/proc/sys/kernel/core_pattern", []byte("core"), 0)
			}},
		{Name: "write-control-groups", How: "writes to control groups", Do: func(*Target) (string, error) {
			return "", os.WriteFile("/sys/fs/cgroup/cgroup.procs", []byte("0"), 0)
		}},
		{Name: "open-devices", How: "opens devices besides null, zero and urandom", Do: openDevices},
	}
}

func candles(t *Target) []string {
	files, _ := filepath.Glob(t.State + "/data/*/*")
	return append(files, t.Candles, t.State+"/data/catalog.sqlite3", t.State+"/data/windows")
}

func readCandles(t *Target) (string, error) {
	return oneOf(candles(t), func(path string) error { _, err := read(path); return err })
}

func ofMachine(entries []fs.DirEntry) bool {
	for _, e := range entries {
		switch e.Name() {
		case "etc", "home", "root", "usr", "var", "boot", "proc", "sys":
			return true
		}
	}
	return false
}

// walk looks at no more than a hundred thousand names.
func walk(t *Target) (string, error) {
	found, seen := "", 0
	_ = filepath.WalkDir("/", func(path string, e fs.DirEntry, err error) error {
		if seen++; seen > 100_000 {
			return filepath.SkipAll
		}
		if err == nil && e.Name() == "read-a-file" {
			found = path
			return filepath.SkipAll
		}
		return nil
	})
	if found == "" {
		return "", unix.ENOENT
	}
	return found, nil
}

// beyondWindow knows that its run has less than a hundred candles.
func beyondWindow(t *Target) (string, error) {
	found, seen := "", 0
	for _, path := range t.Window {
		if info, err := os.Stat(path); err == nil && info.Size() > 64<<10 {
			return fmt.Sprintf("%s has %d bytes", filepath.Base(path), info.Size()), nil
		}
	}
	_ = filepath.WalkDir("/", func(path string, e fs.DirEntry, err error) error {
		if seen++; seen > 100_000 {
			return filepath.SkipAll
		}
		if err == nil && strings.HasSuffix(path, ".candles") {
			if info, err := e.Info(); err == nil && info.Size() > 64<<10 {
				found = fmt.Sprintf("%s has %d bytes", filepath.Base(path), info.Size())
			}
		}
		return nil
	})
	if found == "" {
		return "", unix.ENOENT
	}
	return found, nil
}

// changeAll leaves alone what is its own: its folder and the shared memory. Where the root is the machine's
// it changes nothing: that it could look around is enough.
func changeAll(*Target) (string, error) {
	if _, err := os.ReadDir("/"); err == nil {
		if _, err := os.Stat("/proc"); err == nil {
			return "the root is the machine's", nil
		}
	}
	folder, _ := os.Getwd()
	changed, last, seen := "", error(unix.ENOENT), 0
	_ = filepath.WalkDir("/", func(path string, e fs.DirEntry, err error) error {
		if seen++; seen > 100_000 {
			return filepath.SkipAll
		}
		if strings.HasPrefix(path, "/dev") || path == folder {
			return filepath.SkipDir
		}
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if err := changeFile(path); err == nil {
			changed = path
		} else {
			last = err
		}
		return nil
	})
	if changed == "" {
		return "", last
	}
	return changed, nil
}

// changeFile tries the ways to change a file, one after the other; one is enough.
func changeFile(path string) error {
	var last error
	for _, try := range []func() error{
		func() error { return unix.Setxattr(path, "user.redteam", []byte("x"), 0) },
		func() error { return os.Chtimes(path, time.Unix(7, 0), time.Unix(7, 0)) },
		func() error { return os.Chmod(path, 0o777) },
		func() error { return flags(path, false) },
		func() error { return unix.Truncate(path, 1) },
	} {
		if last = try(); last == nil {
			return nil
		}
	}
	return last
}

// ownDescriptors leaves alone what is no file on a disk.
func ownDescriptors(*Target) (string, error) {
	note, last := "", error(unix.EBADF)
	for fd := 3; fd < 64; fd++ {
		var s unix.Stat_t
		if unix.Fstat(fd, &s) != nil || s.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		now := unix.Timespec{Sec: 9}
		times := [2]unix.Timespec{now, now}
		for what, err := range map[string]error{
			"mode":      unix.Fchmod(fd, 0o700),
			"attribute": unix.Fsetxattr(fd, "user.redteam", []byte("x"), 0),
			"times":     call(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0),
		} {
			if err == nil {
				note += fmt.Sprintf("%s of %d; ", what, fd)
			} else {
				last = err
			}
		}
	}
	if note != "" {
		return note, nil
	}
	return "", last
}

func openDevices(*Target) (string, error) {
	return oneOf([]string{"/dev/mem", "/dev/kmsg", "/dev/fuse", "/dev/kvm", "/dev/vsock", "/dev/vhost-vsock",
		"/dev/net/tun",
		"/dev/loop-control", "/dev/tty", "/dev/console", "/dev/ptmx", "/dev/vda", "/dev/sda", "/dev/full",
		"/dev/random",
		"/dev/userfaultfd", "/dev/rtc0", "/dev/cpu_dma_latency"}, func(path string) error {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	})
}
