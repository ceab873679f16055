// Package clocktest has tests set this machine's clock. It imports nothing of this module.
package clocktest

import (
	"testing"
	"time"
	"unsafe"
)

// Set is what time.Now would have given had this machine's clock been set by d before: the same moment of the
// monotonic clock, another time of day.
func Set(t testing.TB, now time.Time, d time.Duration) time.Time {
	t.Helper()
	then := now
	*(*uint64)(unsafe.Pointer(&then)) += uint64(d/time.Second) << 30 // the seconds of its first word
	if then.Sub(now) != 0 || then.UnixMilli()-now.UnixMilli() != d.Milliseconds() {
		t.Fatalf("a time has another form than this test thinks: %s became %s", now, then)
	}
	return then
}
