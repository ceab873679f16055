package proc

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/proc/bundle"
)

// maxProgramBytes keeps a stray disk image from being copied.
const maxProgramBytes = 1 << 30

// programMode lets a process read and execute its program whatever user it became; the
// folder of the copies is closed to everybody else.
const programMode = 0o555

// Program is a program in the store, described by its file.
type Program struct {
	SHA256    string // hex
	Size      int64  // bytes
	GoVersion string // "" if it was not built by Go
	Libraries bool   // it is linked dynamically
	Race      bool   // it was built with the race detector
	Bundle    bool   // it is the manifest of a folder: see package bundle
}

// Store holds the verified copies of programs, named by their hash.
type Store struct {
	dir   string
	known *known
}

// known remembers which copies were hashed, so that many short runs of a large program
// do not hash it again and again. A copy is known by what the system changes at every
// write and lets no program set: see identity.
type known struct {
	mu      sync.Mutex
	copies  map[string]identity // by hash
	bundles map[string]traces   // by hash
}

// traces are the identities of all files of a bundle, hashed, and the newest change of one.
type traces struct {
	sum    [sha256.Size]byte
	newest time.Time
}

// settled is how old the last change of a copy must be when its hashing begins: a
// change within one tick of the file system's clock could not be told from the one
// before.
const settled = 2 * time.Second

func (k *known) has(sum string, f *os.File) bool {
	id, ok := look(f)
	k.mu.Lock()
	defer k.mu.Unlock()
	return ok && k.copies[sum] == id
}

// add remembers a copy that was hashed from began on, if it was the same before and after.
func (k *known) add(sum string, before identity, began time.Time, f *os.File) {
	if after, ok := look(f); ok && after == before && began.Sub(before.changedAt()) > settled {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.copies[sum] = after
	}
}

// look identifies an open file.
func look(f *os.File) (identity, bool) {
	info, err := f.Stat()
	if err != nil {
		return identity{}, false
	}
	return identify(info)
}

// hasBundle reports whether a bundle was checked and none of its files touched since.
func (k *known) hasBundle(sum string, now traces, ok bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, known := k.bundles[sum]
	return ok && known && before == now
}

// addBundle remembers a bundle that was checked from began on, as add does.
func (k *known) addBundle(sum string, before traces, began time.Time, after traces, ok bool) {
	if ok && after == before && began.Sub(before.newest) > settled {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.bundles[sum] = after
	}
}

// traced looks at every file of an installed bundle and at the libraries of the system; false: a
// file is missing, or this system cannot identify it.
func (s Store) traced(m *bundle.Manifest, sum string) (t traces, ok bool) {
	h := sha256.New()
	note := func(path string, info fs.FileInfo) error {
		id, known := identify(info)
		if !known {
			return errors.ErrUnsupported
		}
		if at := id.changedAt(); at.After(t.newest) {
			t.newest = at
		}
		_, err := fmt.Fprintf(h, "%q %v\n", path, id)
		return err
	}
	folders := []string{s.place().Files(sum)}
	for _, l := range m.Layers {
		folders = append(folders, s.place().Layer(l))
	}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return note(path, info)
		})
		if err != nil {
			return t, false
		}
	}
	for _, f := range m.System {
		if info, err := os.Stat(f.Path); err != nil || note(f.Path, info) != nil {
			return t, false
		}
	}
	h.Sum(t.sum[:0])
	return t, true
}

// OpenStore makes the folder of the copies, which is closed to other users.
func OpenStore(dir string) (Store, error) {
	s := Store{dir: dir, known: &known{copies: map[string]identity{}, bundles: map[string]traces{}}}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return s, fmt.Errorf("make the folder for copies of programs: %w", err)
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return s, fmt.Errorf("make the folder for copies of programs private: %w", err)
	}
	return s, nil
}

// Add copies a program into the store unless a good copy is there. With a fault the hash is
// known if the file could be read.
func (s Store) Add(path string) (Program, *Fault) {
	p, err := s.add(path)
	var content *Fault
	switch {
	case err == nil:
		return p, nil
	case errors.As(err, &content):
		return p, content
	}
	return p, Faultf(CodeUnreadable, "%v", err)
}

// addBundle installs the folder of a bundle, and copies its manifest as a program is copied.
func (s Store) addBundle(path string) (Program, error) {
	m, text, err := bundle.Open(path)
	if err != nil {
		return Program{}, bundleFault(err)
	}
	p := Program{SHA256: digest.SHA256Hex(text), Size: int64(len(text)), Libraries: true, Bundle: true}
	began := time.Now()
	before, _ := s.traced(m, p.SHA256)
	if err := m.Install(path, p.SHA256, s.place()); err != nil {
		return p, bundleFault(err)
	}
	if err := m.VerifySystem(); err != nil {
		return p, bundleFault(err)
	}
	after, ok := s.traced(m, p.SHA256)
	s.known.addBundle(p.SHA256, before, began, after, ok)
	_, err = s.write(bytes.NewReader(text))
	return p, err
}

// bundleFault separates what is wrong with a bundle from a file system that fails.
func bundleFault(err error) error {
	if err == nil {
		return nil
	}
	var wrong *bundle.Error
	if errors.As(err, &wrong) {
		return Faultf(CodeBadBundle, "%v", err)
	}
	return err
}

// place is where bundles are executed from.
func (s Store) place() bundle.Place { return bundle.PlaceIn(s.dir) }

// openBundle returns a bundle that was installed, after hashing its files, unless they are those
// that were hashed before and have not been touched since.
func (s Store) openBundle(sum string) (*bundle.Manifest, error) {
	f, err := s.OpenCopy(sum)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxProgramBytes))
	if err != nil {
		return nil, err
	}
	m, err := bundle.Parse(text)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	before, ok := s.traced(m, sum)
	if s.known.hasBundle(sum, before, ok) {
		return m, nil
	}
	if err := m.Verify(sum, s.place()); err != nil {
		return nil, err
	}
	after, ok := s.traced(m, sum)
	s.known.addBundle(sum, before, began, after, ok)
	return m, nil
}

// add is Add; of its errors a *Fault is about what is in the file.
func (s Store) add(path string) (Program, error) {
	if folder := filepath.Dir(path); filepath.Base(path) == bundle.ManifestFile && bundle.IsFolder(folder) {
		return s.addBundle(folder)
	}
	if bundle.IsFolder(path) {
		return s.addBundle(path)
	}
	f, sum, err := s.copy(path)
	p := Program{SHA256: sum}
	if err != nil {
		return p, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		p.Size = info.Size()
	}
	var head [1]byte
	if n, _ := f.ReadAt(head[:], 0); bundle.IsManifest(head[:n]) { // of a bundle that is installed
		_, err := s.openBundle(sum)
		p.Libraries, p.Bundle = true, true
		return p, bundleFault(err)
	}
	if built, err := buildinfo.Read(f); err == nil {
		p.GoVersion = built.GoVersion
		p.Race = slices.Contains(built.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	}
	p.Libraries, err = inspect(f)
	return p, err
}

// copy returns the copy of a program, open, and its hash. A copy that is made here was hashed as it
// was written; who starts it hashes it again.
func (s Store) copy(path string) (copied *os.File, sum string, err error) {
	src, err := openRegular(path)
	if err != nil {
		return nil, "", err
	}
	defer src.Close()
	if s.hasSizeOf(src) {
		if sum, err = hashFile(src); err != nil {
			return nil, "", err
		}
		if f, err := s.OpenCopy(sum); err == nil {
			if err := f.Chmod(programMode); err != nil { // one of an older version has another mode
				return nil, sum, errors.Join(err, f.Close())
			}
			return f, sum, nil
		}
		if _, err := src.Seek(0, io.SeekStart); err != nil {
			return nil, "", err
		}
	}
	// The file may have changed since it was hashed; what counts is what is copied.
	if sum, err = s.write(src); err != nil {
		return nil, sum, err
	}
	copied, err = openRegular(s.path(sum))
	return copied, sum, err
}

// hasSizeOf reports whether a file in the store is as long as f: only then it can be a copy of it.
func (s Store) hasSizeOf(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return true
	}
	entries, err := os.ReadDir(s.dir)
	return err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		there, err := e.Info()
		return err == nil && there.Size() == info.Size()
	})
}

// write copies a program under the hash of the bytes that were written. A copy that
// did not reach the disk is found out by its hash, so nothing is synced.
func (s Store) write(src io.Reader) (sum string, err error) {
	tmp, err := file.Create(s.dir)
	if err != nil {
		return "", err
	}
	defer tmp.Discard()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(tmp, h), io.LimitReader(src, maxProgramBytes)); err != nil {
		return "", err
	}
	sum = hex.EncodeToString(h.Sum(nil))
	return sum, tmp.ReplaceUnsynced(s.path(sum), programMode)
}

func (s Store) path(sum string) string { return filepath.Join(s.dir, sum) }

// Has reports whether there is a copy, without verifying it.
func (s Store) Has(sum string) bool {
	_, err := os.Lstat(s.path(sum))
	return err == nil
}

// OpenCopy returns the copy, after hashing it through the descriptor it returns, unless it
// is the very file that was hashed before and has not been touched since.
func (s Store) OpenCopy(sum string) (*os.File, error) {
	f, err := openRegular(s.path(sum))
	if err != nil {
		return nil, err
	}
	if s.known.has(sum, f) {
		return f, nil
	}
	before, _ := look(f)
	began := time.Now()
	got, err := hashFile(f)
	if err == nil && got == sum {
		s.known.add(sum, before, began, f)
	}
	if err == nil && got != sum {
		err = fmt.Errorf("the copy %s in the state folder was changed: start the program again to renew it",
			sum)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ListPrograms lists the executable files and the bundles of a folder in order of their names.
func ListPrograms(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if e.IsDir() && bundle.IsFolder(e.Name()) {
			files = append(files, e.Name())
		}
		if !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().Perm()&0o111 != 0 {
			files = append(files, e.Name())
		}
	}
	return files, nil
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

// inspect finds early, and in words, what the kernel would refuse with a number.
func inspect(f *os.File) (libraries bool, err error) {
	var magic [4]byte
	n, _ := f.ReadAt(magic[:], 0)
	if n >= 2 && string(magic[:2]) == "#!" {
		return false,
			Faultf(CodeNotExecutable,
				"a script is no plugin: its hash would not cover the program that runs it")
	}
	if runtime.GOOS != "linux" {
		return true, nil
	}
	if string(magic[:]) != elf.ELFMAG {
		return false, Faultf(CodeNotExecutable, "not a program: Linux executes files in ELF format")
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return false, Faultf(CodeNotExecutable, "not a whole program: %v", err)
	}
	if want := machine(); want != elf.EM_NONE && e.Machine != want {
		return false, Faultf(CodeNotExecutable, "built for %s, this machine is %s", e.Machine, runtime.GOARCH)
	}
	if e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN {
		return false, Faultf(CodeNotExecutable, "an ELF file of type %s is not a program", e.Type)
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
