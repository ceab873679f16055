// Package hosttest has what tests of any package need: it imports nothing of this module, so
// that every package may use it. The kits beside it know what they test.
package hosttest

import (
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// SetClock returns what time.Now would have given had this machine's clock been set by d before: the same
// moment of the monotonic clock, another time of day.
func SetClock(t testing.TB, now time.Time, d time.Duration) time.Time {
	t.Helper()
	then := now
	*(*uint64)(unsafe.Pointer(&then)) += uint64(d/time.Second) << 30 // the seconds of its first word
	if then.Sub(now) != 0 || then.UnixMilli()-now.UnixMilli() != d.Milliseconds() {
		t.Fatalf("a time has another form than this test thinks: %s became %s", now, then)
	}
	return then
}

// RAMDir returns a temporary folder in memory where the system has such a place: what is written
// there is not waited for. It is for tests that commit a lot and do not prove that it survives.
func RAMDir(t testing.TB) string {
	t.Helper()
	const enough = 4 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &fs); err != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < enough {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "assay-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
