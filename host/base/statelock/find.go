package statelock

import (
	"os"
	"path/filepath"
)

// Folder is the name of a state directory that nobody has named.
const Folder = ".assay"

// Find is the state directory of a program that is told none: the nearest folder .assay
// from a working directory upwards, the way git finds a repository, else the one to be made
// there. It is Folder itself in the working directory and an absolute path above it. Above
// the working directory a folder of another user is passed over, because programs are
// started from a state directory.
func Find(working string) string {
	dir, err := filepath.Abs(working)
	if err != nil || isFolder(filepath.Join(dir, Folder)) {
		return Folder
	}
	for parent := filepath.Dir(dir); parent != dir; parent = filepath.Dir(dir) {
		dir = parent
		if path := filepath.Join(dir, Folder); isFolder(path) && isOwn(path) {
			return path
		}
	}
	return Folder
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
