package catalog

import (
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/assay-run/assay/host/catalog/child"
)

// maxProgramBytes keeps a stray disk image from being copied.
const maxProgramBytes = 1 << 30

// binary is a program in the store.
type binary struct {
	sha256    string
	libraries bool // linked dynamically
	program   Program
}

// Program is what a strategy's file says about itself.
type Program struct {
	Size      int64  // bytes
	GoVersion string // "" if it was not built by Go
}

// store holds the verified copies of programs, named by their hash.
type store struct {
	dir   string
	known *known
}

// known remembers which copies were hashed, so that many short runs of a large program
// do not hash it again and again. A copy is known by what the system changes at every
// write and lets nobody set: see child.Identity.
type known struct {
	mu     sync.Mutex
	copies map[string]child.Identity // by hash
}

// settled is how old the last change of a copy must be when its hashing begins: a
// change within one tick of the file system's clock could not be told from the one
// before.
const settled = 2 * time.Second

func (k *known) has(sum string, f *os.File) bool {
	id, ok := child.Identify(f)
	k.mu.Lock()
	defer k.mu.Unlock()
	return ok && k.copies[sum] == id
}

// add remembers a copy that was hashed from began on, if it was the same before and after.
func (k *known) add(sum string, before child.Identity, began time.Time, f *os.File) {
	if after, ok := child.Identify(f); ok && after == before && began.Sub(before.Changed()) > settled {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.copies[sum] = after
	}
}

func openStore(stateDir string) (store, error) {
	s := store{dir: filepath.Join(stateDir, "plugins"), known: &known{copies: map[string]child.Identity{}}}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return s, fmt.Errorf("make the folder for copies of plugins: %w", err)
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return s, fmt.Errorf("make the folder for copies of plugins private: %w", err)
	}
	return s, nil
}

// add copies a program into the store unless a good copy is there.
func (s store) add(path string) (binary, *Fault) {
	b, err := s.copy(path)
	if err != nil {
		return b, faultf(CodeUnreadable, "%v", err)
	}
	f, err := s.open(b.sha256)
	if err != nil {
		return b, faultf(CodeUnreadable, "%v", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		b.program.Size = info.Size()
	}
	if built, err := buildinfo.Read(f); err == nil {
		b.program.GoVersion = built.GoVersion
	}
	var fault *Fault
	b.libraries, fault = inspect(f)
	return b, fault
}

func (s store) copy(path string) (binary, error) {
	src, err := openRegular(path)
	if err != nil {
		return binary{}, err
	}
	defer src.Close()
	sum, err := hashFile(src)
	if err != nil {
		return binary{}, err
	}
	if f, err := s.open(sum); err == nil {
		return binary{sha256: sum}, f.Close()
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return binary{}, err
	}
	// The file may have changed since it was hashed; what counts is what is copied.
	sum, err = s.write(src)
	return binary{sha256: sum}, err
}

// write copies a program under the hash of the bytes that were written. A copy that
// did not reach the disk is found out by its hash, so nothing is synced.
func (s store) write(src io.Reader) (sum string, err error) {
	tmp, err := os.CreateTemp(s.dir, ".copy-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(tmp, h), io.LimitReader(src, maxProgramBytes)); err != nil {
		return "", err
	}
	sum = hex.EncodeToString(h.Sum(nil))
	if err := errors.Join(tmp.Chmod(0o500), tmp.Close()); err != nil {
		return "", err
	}
	return sum, os.Rename(tmp.Name(), s.path(sum))
}

func (s store) path(sum string) string { return filepath.Join(s.dir, sum) }

// has says whether there is a copy, without verifying it.
func (s store) has(sum string) bool {
	_, err := os.Lstat(s.path(sum))
	return err == nil
}

// open returns the copy, after hashing it through the descriptor it returns, unless it
// is the very file that was hashed before and nobody has touched it since.
func (s store) open(sum string) (*os.File, error) {
	f, err := openRegular(s.path(sum))
	if err != nil {
		return nil, err
	}
	if s.known.has(sum, f) {
		return f, nil
	}
	before, _ := child.Identify(f)
	began := time.Now()
	got, err := hashFile(f)
	if err == nil && got == sum {
		s.known.add(sum, before, began, f)
	}
	if err == nil && got != sum {
		err = fmt.Errorf("the copy %s in the state folder was changed: start the program again to renew it", sum)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxProgramBytes:
		err = fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), maxProgramBytes)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func hashFile(f *os.File) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// inspect tells early, and in words, what the kernel would refuse with a number.
func inspect(f *os.File) (libraries bool, fault *Fault) {
	var magic [4]byte
	n, _ := f.ReadAt(magic[:], 0)
	if n >= 2 && string(magic[:2]) == "#!" {
		return false, faultf(CodeNotExecutable, "a script is not a plugin: its hash would not cover the program that runs it")
	}
	if runtime.GOOS != "linux" {
		return true, nil
	}
	if string(magic[:]) != elf.ELFMAG {
		return false, faultf(CodeNotExecutable, "not a program: Linux executes files in ELF format")
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return false, faultf(CodeNotExecutable, "not a whole program: %v", err)
	}
	if want := machine(); want != elf.EM_NONE && e.Machine != want {
		return false, faultf(CodeNotExecutable, "built for %s, this machine is %s", e.Machine, runtime.GOARCH)
	}
	if e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN {
		return false, faultf(CodeNotExecutable, "an ELF file of type %s is not a program", e.Type)
	}
	for _, p := range e.Progs {
		libraries = libraries || p.Type == elf.PT_INTERP
	}
	return libraries, nil
}

func machine() elf.Machine {
	switch runtime.GOARCH {
	case "amd64":
		return elf.EM_X86_64
	case "arm64":
		return elf.EM_AARCH64
	}
	return elf.EM_NONE
}
