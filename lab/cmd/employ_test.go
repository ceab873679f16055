package cmd

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestEmploy: as many processors as workers, lazy garbage only where little is kept, all
// of it undone, and nothing where the environment has decided.
func TestEmploy(t *testing.T) {
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	env := map[string]string{}
	a := &App{IO: IO{Getenv: func(name string) string { return env[name] }}}
	procs := runtime.GOMAXPROCS(2) // where the machine has one, too
	defer runtime.GOMAXPROCS(procs)
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, c := range []struct {
		workers, candles int
		name             string
		procs, percent   int
	}{
		{1, 58_419, "", 1, lazyPercent},
		{2, 58_419, "", 2, lazyPercent},
		{9, 58_419, "", 2, lazyPercent},
		{0, lazyCandles / runtime.NumCPU(), "", 2, lazyPercent},
		{0, lazyCandles + 1, "", 2, 100},
		{2, lazyCandles/2 + 1, "", 2, 100},
		{1, 1, "GOMAXPROCS", 2, lazyPercent},
		{1, 1, "GOGC", 1, 100},
		{1, 1, "GOMEMLIMIT", 1, 100},
	} {
		clear(env)
		env[c.name] = "7"
		undo := a.Employ(c.workers, c.candles)
		if got := runtime.GOMAXPROCS(0); got != c.procs || percent() != c.percent {
			t.Errorf("%+v: %d processors, %d percent", c, got, percent())
		}
		if undo(); runtime.GOMAXPROCS(0) != 2 || percent() != 100 {
			t.Errorf("%+v: it is not undone", c)
		}
	}
}
