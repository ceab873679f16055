package serve

import (
	"runtime"
	runtimedebug "runtime/debug"
	"testing"
)

// TestGarbage: a small heap gets more garbage, a large one and one with a share of its own do not.
func TestGarbage(t *testing.T) {
	percent := func() int {
		now := runtimedebug.SetGCPercent(usualPercent)
		runtimedebug.SetGCPercent(now)
		return now
	}
	defer runtimedebug.SetGCPercent(runtimedebug.SetGCPercent(usualPercent))
	runtime.GC()
	var g garbage
	if g.look(); percent() != usualPercent {
		t.Errorf("before a simulation the share is %d", percent())
	}
	if g.letMore(); percent() != garbagePercent {
		t.Errorf("of a small heap it is %d", percent())
	}
	kept := make([]byte, smallHeap)
	runtime.GC()
	if g.look(); percent() != usualPercent {
		t.Errorf("of a large heap it is %d", percent())
	}
	runtime.KeepAlive(kept)
	if g.letMore(); percent() != usualPercent {
		t.Errorf("in a second simulation it is %d", percent())
	}
	runtimedebug.SetGCPercent(40)
	var own garbage
	if own.letMore(); percent() != 40 {
		t.Errorf("the author's own share is %d now", percent())
	}
	if own.look(); percent() != 40 {
		t.Errorf("the author's own share is %d after a look", percent())
	}
}
