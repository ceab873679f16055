package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// maxProgram keeps a stray disk image from being copied, in bytes.
const maxProgram = 1 << 30

// store holds the verified copies of programs, named by their hash.
type store struct{ dir string }

func openStore(stateDir string) (store, error) {
	s := store{dir: filepath.Join(stateDir, "connectors")}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return s, fmt.Errorf("make the folder for copies of connectors: %w", err)
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return s, fmt.Errorf("make the folder for copies of connectors private: %w", err)
	}
	return s, nil
}

// add copies a program and returns its hash, in hex.
func (s store) add(path string) (sum string, err error) {
	src, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer src.Close()
	var magic [2]byte
	if n, _ := src.ReadAt(magic[:], 0); n == len(magic) && string(magic[:]) == "#!" {
		return "", errors.New("a script is no connector: its hash would not cover the program that runs it")
	}
	tmp, err := os.CreateTemp(s.dir, ".copy-")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name()) // gone already when all went well
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(tmp, h), io.LimitReader(src, maxProgram))
	if err = errors.Join(err, tmp.Chmod(0o500), tmp.Close()); err != nil {
		return "", err
	}
	sum = hex.EncodeToString(h.Sum(nil))
	return sum, os.Rename(tmp.Name(), filepath.Join(s.dir, sum))
}

// open returns the copy after hashing it through the descriptor that it returns.
func (s store) open(sum string) (*os.File, error) {
	f, err := openRegular(filepath.Join(s.dir, sum))
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	if _, err = io.Copy(h, f); err == nil && hex.EncodeToString(h.Sum(nil)) != sum {
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
	case info.Size() > maxProgram:
		err = fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), maxProgram)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
