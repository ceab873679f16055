package serve

import (
	runtimedebug "runtime/debug"
	"runtime/metrics"
)

// The runtime collects from a heap of 4 MB on, which costs the simulation of a small strategy a tenth of
// its time; with garbagePercent it does from 8 MB on. A strategy that keeps more than smallHeap gets the
// runtime's own share, and one that sets a share keeps it.
const (
	garbagePercent = 200
	usualPercent   = 100
	smallHeap      = 8 << 20
)

// garbage is how much of it a process lets come together. The zero value is the runtime's.
type garbage struct {
	known bool // whether a share of its own was set
	more  bool // garbagePercent holds
	live  [1]metrics.Sample
}

// letMore begins to collect less often, once in the life of a process.
func (g *garbage) letMore() {
	if g.known {
		return
	}
	g.known, g.live[0].Name = true, "/gc/heap/live:bytes"
	before := runtimedebug.SetGCPercent(garbagePercent)
	if g.more = before == usualPercent; !g.more {
		runtimedebug.SetGCPercent(before)
	}
}

// look ends it where the last collection has left more than smallHeap.
func (g *garbage) look() {
	if !g.more {
		return
	}
	if metrics.Read(g.live[:]); g.live[0].Value.Uint64() > smallHeap {
		g.more = false
		runtimedebug.SetGCPercent(usualPercent)
	}
}
