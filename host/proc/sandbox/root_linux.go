package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// programPath is where the program is in the root of its own.
const programPath = "/program"

// What the small file systems of the root can hold. The root itself has nothing but the
// places where other things are bound.
const (
	rootSize   = "size=256k,nr_inodes=1k,mode=0755"
	socketSize = "size=64k,nr_inodes=16,mode=0700"
	sharedSize = "size=256k,nr_inodes=64,mode=0700"
)

// enterRoot makes a root with the program, the files of the policy and four devices, and
// leaves the host's behind. There is no /proc in it. It is built upon the socket folder,
// which exists, is private and is empty.
func (s *shim) enterRoot() error {
	r := root{dir: s.SocketDir, user: s.User}
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := mount("root", r.dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		rootSize); err != nil {
		return fmt.Errorf("mount a file system for the root: %w", err)
	}
	// Of two places one may lie below the other: the files of the policy come last.
	for _, step := range []func() error{
		func() error { return s.bindSystem(r) },
		func() error { return r.mountTmpfs("/dev/shm", sharedSize) },
		func() error { return r.mountTmpfs(s.SocketDir, socketSize) },
		func() error { return s.bindProgram(r) },
		func() error { return s.bindFiles(r) },
		r.enter,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return os.Chdir(s.SocketDir)
}

// bindProgram binds the program by its path, because a descriptor of the host's cannot be
// bound here, and then makes sure that it is the very file of the descriptor.
func (s *shim) bindProgram(r root) error {
	if s.Measure {
		return nil
	}
	if err := r.bind(s.Program, programPath, 0); err != nil {
		return err
	}
	var bound, verified unix.Stat_t
	if err := errors.Join(unix.Stat(r.dir+programPath, &bound), unix.Fstat(s.Binary, &verified)); err != nil {
		return err
	}
	if bound.Dev != verified.Dev || bound.Ino != verified.Ino {
		return &policyError{fmt.Errorf("%s is not the program that was verified", s.Program)}
	}
	return nil
}

func (s *shim) bindFiles(r root) error {
	for _, path := range s.ReadOnly {
		err := r.bind(path, path, unix.MS_NOEXEC)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return &policyError{fmt.Errorf("allow the candle files: %w", err)}
		}
		if err != nil {
			return err
		}
	}
	for _, path := range s.Folders {
		if err := r.bind(path, path, 0); err != nil {
			return &policyError{fmt.Errorf("allow the folder %s: %w", path, err)}
		}
	}
	if s.Writable != "" {
		return r.bindWritable(s.Writable)
	}
	return nil
}

func (s *shim) bindSystem(r root) error {
	for _, device := range devices {
		if err := r.bind(device, device, unix.MS_NOEXEC); err != nil {
			return err
		}
	}
	places := []string{}
	if s.Libraries {
		places = append(places, libraries...)
	}
	if s.Network {
		places = append(places, networkFiles()...)
	}
	for _, place := range places {
		if err := r.copyPlace(place); err != nil {
			return err
		}
	}
	return nil
}

// devices are those that programs cannot do without: grpcio aborts without the last.
var devices = []string{"/dev/null", "/dev/zero", "/dev/urandom"}

// libraries are the places of a dynamically linked program's libraries. They are fixed: a
// loader named by the program itself could name any folder it would like to read. A
// machine has only some of them; what is missing shows when the program starts.
var libraries = []string{
	"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store", "/gnu/store", "/etc/ld.so.cache",
}

// networkFiles are what a program that uses the network reads: how names are resolved, and
// the certificates of those whom the system trusts.
func networkFiles() []string {
	files := []string{
		"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf",
		"/etc/services",
		"/etc/ssl", "/etc/pki", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
		"/etc/ca-certificates", "/usr/local/share/certs", "/var/lib/ca-certificates",
	}
	for _, name := range CertificateVariables() {
		for _, path := range filepath.SplitList(os.Getenv(name)) {
			if filepath.IsAbs(path) {
				files = append(files, path)
			}
		}
	}
	return files
}

// root is a root in the making.
type root struct {
	dir  string
	user int // of the folders that the plugin may write to; 0: the own
}

// bind makes a file or folder readable at a place of the root.
func (r root) bind(source, place string, flags uintptr) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	target := r.dir + place
	if err := makePlace(target, info.IsDir()); err != nil {
		return err
	}
	if err := mount(source, target, "", unix.MS_BIND, ""); errors.Is(err, unix.EINVAL) {
		// In a user namespace what is mounted below must come along.
		err = mount(source, target, "", unix.MS_BIND|unix.MS_REC, "")
		if err != nil {
			return fmt.Errorf("bind %s: %w", source, err)
		}
	} else if err != nil {
		return fmt.Errorf("bind %s: %w", source, err)
	}
	if info.Mode()&fs.ModeDevice == 0 {
		flags |= unix.MS_NODEV
	}
	return r.restrict(source, target, flags|unix.MS_RDONLY)
}

// bindWritable is bind for a folder that the plugin may write to.
func (r root) bindWritable(path string) error {
	target := r.dir + path
	if err := makePlace(target, true); err != nil {
		return err
	}
	if err := mount(path, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", path, err)
	}
	return r.restrict(path, target, unix.MS_NODEV|unix.MS_NOEXEC)
}

// restrict takes rights from a mount that was bound. What its source is denied already
// must be denied here too, or the kernel refuses.
func (r root) restrict(source, target string, flags uintptr) error {
	var s unix.Statfs_t
	if err := unix.Statfs(target, &s); err != nil {
		return err
	}
	for st, ms := range map[int64]uintptr{
		unix.ST_NOEXEC: unix.MS_NOEXEC, unix.ST_NODEV: unix.MS_NODEV, unix.ST_RDONLY: unix.MS_RDONLY,
	} {
		if s.Flags&st != 0 {
			flags |= ms
		}
	}
	if err := mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|flags, ""); err != nil {
		return fmt.Errorf("restrict %s: %w", source, err)
	}
	return nil
}

// copyPlace brings a folder or file of the system, or the symbolic link that it is. What
// the machine does not have is left out.
func (r root) copyPlace(place string) error {
	info, err := os.Lstat(place)
	if err != nil {
		return nil //nolint:nilerr // it is not there, or not for this user
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return r.bind(place, place, 0)
	}
	resolved, err := filepath.EvalSymlinks(place)
	if err != nil {
		return nil //nolint:nilerr // a link to nowhere
	}
	if info, err := os.Stat(resolved); err == nil && !info.IsDir() {
		return r.bind(resolved, place, 0)
	}
	if err := makePlace(r.dir+filepath.Dir(place), true); err != nil {
		return err
	}
	link, err := os.Readlink(place)
	if err != nil {
		return err
	}
	return os.Symlink(link, r.dir+place)
}

// mountTmpfs mounts a small file system that belongs to the plugin.
func (r root) mountTmpfs(place, options string) error {
	target := r.dir + place
	if err := makePlace(target, true); err != nil {
		return err
	}
	if r.user != 0 {
		options += fmt.Sprintf(",uid=%d,gid=%d", r.user, r.user)
	}
	if err := mount("tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		options); err != nil {
		return fmt.Errorf("mount a file system at %s: %w", place, err)
	}
	return nil
}

// enter makes the root read-only, moves this process into it and takes the host's away.
func (r root) enter() error {
	const flags = unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV |
		unix.MS_NOEXEC
	if err := mount("", r.dir, "", flags, ""); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	if err := os.Chdir(r.dir); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the host's root: %w", err)
	}
	return os.Chdir("/")
}

// makePlace makes a file or folder to mount upon, with the folders above it.
func makePlace(path string, dir bool) error {
	if dir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	return f.Close()
}

func mount(source, target, kind string, flags uintptr, data string) error {
	for {
		if err := unix.Mount(source, target, kind, flags, data); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
