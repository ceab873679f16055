package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/assay-run/assay/host/base/file"
)

// sockets holds the socket folders of this process, so that those of a host that was killed
// can be told from those in use: see [file.Workdir].
var sockets struct {
	sync.Mutex
	*file.Workdir
	root  string
	used  int // folders that are there
	count int // folders that were ever made
}

// socketFolder is the private folder of one process for its socket.
type socketFolder struct {
	dir  string
	once sync.Once
}

// newSocketFolder makes the folder. The first one of a process removes what killed hosts of
// the same user have left. The path of a socket ends at 108 bytes, and go-plugin adds some 45.
func newSocketFolder() (*socketFolder, error) {
	sockets.Lock()
	defer sockets.Unlock()
	if sockets.Workdir == nil {
		if err := makeSocketRoot(); err != nil {
			return nil, err
		}
	}
	sockets.count++
	dir := filepath.Join(sockets.Dir(), strconv.Itoa(sockets.count))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	sockets.used++
	return &socketFolder{dir: dir}, nil
}

func makeSocketRoot() error {
	base := os.TempDir()
	if len(base) > 20 {
		base = "/tmp"
	}
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return err
	}
	// The system's temporary folder is shared: another user's folder of this
	// name is not used.
	root := filepath.Join(base, "as-"+strconv.Itoa(os.Geteuid()))
	if err := ownPrivate(root); err != nil {
		return err
	}
	sockets.root = root
	if sockets.Workdir, err = file.NewWorkdir(root); err != nil {
		return err
	}
	if err := ownPrivate(root); err != nil { // made by another user in between
		_ = sockets.Close()
		sockets.Workdir = nil
		return err
	}
	return nil
}

func ownPrivate(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // it will be made
	case err != nil:
		return err
	case !info.IsDir() || !isOwn(info):
		return fmt.Errorf("%s belongs to another user: remove it, or set TMPDIR to a folder of your own",
			path)
	case info.Mode().Perm()&0o077 != 0:
		return os.Chmod(path, 0o700)
	}
	return nil
}

// remove removes the folder, and with the last one of the process their parent. A second call
// does nothing.
func (f *socketFolder) remove() {
	f.once.Do(func() {
		sockets.Lock()
		defer sockets.Unlock()
		_ = os.RemoveAll(f.dir)
		if sockets.used--; sockets.used == 0 {
			_ = sockets.Close()
			_ = file.RemoveWorkdirs(sockets.root)
			sockets.Workdir = nil
		}
	})
}

// isOwn reports whether a file belongs to the user of this process.
func isOwn(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
