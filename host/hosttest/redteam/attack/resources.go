//go:build linux

package attack

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// What a plugin may take at most, as docs/LIMITATIONS.md has it, and somewhat more.
const (
	tooMuchMemory  = 5 << 30
	tooManyTasks   = 2500
	tooMuchFolder  = 1 << 20
	tooManyFiles   = 64
	tooMuchShared  = 128 << 20
	holdForMeasure = 3 * time.Second
)

// resources are attempts to take more of the machine than a plugin has.
func resources() []Attack {
	take := func(flags int) func(*Target) (string, error) {
		return func(*Target) (string, error) {
			const block = 256 << 20
			for taken := 0; taken < tooMuchMemory; taken += block {
				b, err := unix.Mmap(-1, 0, block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|flags)
				if err != nil {
					return "", err
				}
				for i := 0; i < block; i += 4096 {
					b[i] = 1
				}
			}
			time.Sleep(holdForMeasure)
			return fmt.Sprintf("%d MiB", tooMuchMemory>>20), nil
		}
	}
	return []Attack{
		{Name: "private-memory", How: "takes 5 GiB of private memory", Alone: true,
			Do: take(unix.MAP_PRIVATE)},
		{Name: "shared-memory", How: "takes 5 GiB of shared memory", Alone: true, Do: take(unix.MAP_SHARED)},
		{Name: "memory-of-children", How: "takes 5 GiB together with a process of its own", Alone: true,
			Do: memoryOfChildren},
		{Name: "memory-in-files", How: "fills /dev/shm and its folder with 128 MiB", Do: fillShared},
		{Name: "memory-without-names", How: "takes memory by files that have no names", Alone: true,
			Do: nameless},
		{Name: "fill-its-folder", How: "fills the socket folder with 1 MiB in many files",
			Do: func(*Target) (string, error) {
				return fill(".", tooMuchFolder, 64<<10)
			}},
		{Name: "many-files-in-its-folder", How: "makes 64 files in the socket folder",
			Do: func(*Target) (string, error) {
				return fill(".", tooManyFiles, 1)
			}},
		{Name: "file-on-the-disk",
			How:  "leaves a file in the socket folder, which may lie on the machine's disk",
			Fact: "plugin files on disk", Do: func(*Target) (string, error) {
				return "", os.WriteFile("on-disk", []byte("x"), 0o600)
			}},
		{Name: "one-large-file", How: "writes more than 1 MiB to one file",
			Do: func(*Target) (string, error) {
				return "", oneFile("large", 2<<20)
			}},
		{Name: "many-processes", How: "starts 2500 processes", Alone: true,
			Do: func(*Target) (string, error) {
				for i := range tooManyTasks {
					if err := forked(); err != nil {
						return "", fmt.Errorf("after %d: %w", i, err)
					}
				}
				return fmt.Sprintf("%d processes", tooManyTasks), nil
			}},
	}
}

func memoryOfChildren(*Target) (string, error) {
	const half = tooMuchMemory / 2
	b, err := unix.Mmap(-1, 0, half, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return "", err
	}
	for i := 0; i < half; i += 4096 {
		b[i] = 1
	}
	if err := forked(); err != nil { // it keeps its pages when this process writes to them
		return "", err
	}
	for i := 0; i < half; i += 4096 {
		b[i] = 2
	}
	time.Sleep(holdForMeasure)
	return fmt.Sprintf("%d MiB", tooMuchMemory>>20), nil
}

func fillShared(*Target) (string, error) {
	sum := 0
	var last error
	for _, folder := range []string{"/dev/shm", "."} {
		n, err := fillFolder(folder, tooMuchShared, 1<<20)
		sum, last = sum+n, err
	}
	if sum < tooMuchShared {
		return "", fmt.Errorf("after %d bytes: %w", sum, last)
	}
	return fmt.Sprintf("%d bytes", sum), nil
}

func nameless(*Target) (string, error) {
	block := make([]byte, 1<<20)
	for i := range tooMuchMemory / len(block) {
		fd, err := unix.MemfdCreate("redteam", 0)
		if err == nil {
			_, err = unix.Write(fd, block)
		}
		if err != nil {
			return "", fmt.Errorf("after %d MiB: %w", i, err)
		}
	}
	time.Sleep(holdForMeasure)
	return fmt.Sprintf("%d MiB", tooMuchMemory>>20), nil
}

func fill(folder string, bytes, each int) (string, error) {
	n, err := fillFolder(folder, bytes, each)
	if err != nil {
		return "", fmt.Errorf("after %d bytes: %w", n, err)
	}
	return fmt.Sprintf("%d bytes", n), nil
}

func fillFolder(folder string, bytes, each int) (written int, err error) {
	var made []string
	defer func() {
		for _, path := range made {
			_ = os.Remove(path)
		}
	}()
	block := make([]byte, each)
	for i := 0; written < bytes; i++ {
		path := fmt.Sprintf("%s/fill-%d", folder, i)
		if err := os.WriteFile(path, block, 0o600); err != nil {
			return written, errors.Join(err, os.Remove(path))
		}
		made = append(made, path)
		written += each
	}
	return written, nil
}

func oneFile(path string, size int) error {
	defer os.Remove(path)
	return os.WriteFile(path, make([]byte, size), 0o600)
}
