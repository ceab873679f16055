//go:build linux || darwin || freebsd

package monitor

import "golang.org/x/sys/unix"

// FreeBytes returns the space that is left in a folder.
func FreeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
