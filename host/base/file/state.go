package file

import (
	"os"
	"path/filepath"
)

// StateFolder is the name of the state directory unless the user names one.
const StateFolder = ".assay"

// FindState returns the state directory of a program whose user names none: the nearest folder .assay
// from a working directory upwards, the way git finds a repository, else the one to be made
// there. It is StateFolder itself in the working directory and an absolute path above it. Above
// the working directory a folder of another user is passed over, because programs are
// started from a state directory.
func FindState(working string) string {
	dir, err := filepath.Abs(working)
	if err != nil || isFolder(filepath.Join(dir, StateFolder)) {
		return StateFolder
	}
	for parent := filepath.Dir(dir); parent != dir; parent = filepath.Dir(dir) {
		dir = parent
		if path := filepath.Join(dir, StateFolder); isFolder(path) && isOwn(path) {
			return path
		}
	}
	return StateFolder
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
