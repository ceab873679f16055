package backtest

import (
	"os"
	"runtime/debug"
)

// gcPercent trades a little time for memory: most of what a run keeps are columns
// of numbers, which cost the collector next to nothing to mark.
const gcPercent = 20

// TuneMemory is called once by the main of a program that runs backtests. The
// variable GOGC, if set, wins.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
