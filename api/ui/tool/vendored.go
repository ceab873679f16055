package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// verify compares the files of third_party with SHA256SUMS, in both directions.
func verify(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		return err
	}
	sums, err := parseSums(string(list))
	if err != nil {
		return err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); name == "README.md" || name == "SHA256SUMS" {
			return nil
		}
		want, listed := sums[name]
		delete(sums, name)
		if !listed {
			return fmt.Errorf("third_party/%s is not in SHA256SUMS", name)
		}
		return compare(path, name, want)
	})
	for name := range sums {
		if err == nil {
			err = fmt.Errorf("third_party/%s is in SHA256SUMS and missing", name)
		}
	}
	return err
}

func compare(path, name, want string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
		return fmt.Errorf("third_party/%s is not the file of SHA256SUMS", name)
	}
	return nil
}

// parseSums reads the output of sha256sum.
func parseSums(list string) (map[string]string, error) {
	sums := map[string]string{}
	for line := range strings.Lines(list) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		name = strings.TrimPrefix(name, "./")
		if !ok || len(sum) != 2*sha256.Size || !fs.ValidPath(name) || sums[name] != "" {
			return nil, fmt.Errorf("SHA256SUMS: %q is not a line of sha256sum", line)
		}
		sums[name] = sum
	}
	if len(sums) == 0 {
		return nil, errors.New("SHA256SUMS is empty")
	}
	return sums, nil
}
