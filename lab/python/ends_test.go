package python_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
)

// ending ends its process, or never comes back, at its hundredth candle or where it is made.
const ending = `import os, sys

from assay import Param, Signals, SignalStrategy, Strategy


def end(kind):
    while kind == "loops":
        pass
    if kind == "exits":
        sys.exit()
    if kind == "leaves":
        os._exit(4)


class Ending(Strategy):
    """Ends."""

    kind: str = Param("")
    seed: int = Param(1)

    def start(self):
        if self.seed == 2:
            end(self.kind)

    def on_candle(self, v):
        if v.index == 100:
            end(self.kind)


class Columns(SignalStrategy):
    """Ends where all columns are made."""

    kind: str = Param("")
    seed: int = Param(1)
    candles = "numpy"

    def signals(self, c):
        end(self.kind)
`

// TestEnds: a strategy that ends its process, or that the host waits for no longer, is told by file, line and
// candle in each way to drive it.
func TestEnds(t *testing.T) {
	ring.Proof(t, "it copies an interpreter twice and waits for three time-outs")
	const until = "2020-02-20T00:00:00Z"
	want := map[string]string{
		"exits":  "STRATEGY_ERROR SystemExit at strategy.py:10",
		"leaves": "STRATEGY_ERROR SystemExit: 4 at strategy.py:12",
		"loops":  "still running at strategy.py:",
	}
	l := played(t, "ending", "strategy:Ending", ending)
	l.StepLimit = 3 * time.Second
	for kind, want := range want {
		for _, lockstep := range []bool{false, true} {
			p := playing{name: "ending", kind: kind, seed: 1, to: until,
				split: run.Split{Drive: run.Drive{Lockstep: lockstep}}}
			_, o := p.play(t, l)
			if o.Failure == nil {
				t.Fatalf("%s: no failure", kind)
			}
			got := o.Failure.Code + " " + o.Failure.Message
			if !strings.Contains(got, want) || !strings.Contains(got, ", candle closed at 2020-02-05T05:00:00Z") ||
				fmt.Sprint(o.Failure.Data["step"]) != "100" ||
				!strings.Contains(fmt.Sprint(o.Failure.Data["stack"]), "in on_candle") {
				t.Errorf("%s, lockstep %t: %s %v", kind, lockstep, got, o.Failure.Data)
			}
			if kind == "loops" && (o.Failure.Code != run.CodePluginTimeout ||
				!strings.Contains(strings.Join(o.Failure.LogTail, "\n"), "in on_candle")) {
				t.Errorf("%s %q", o.Failure.Code, o.Failure.LogTail)
			}
		}
	}
	l = played(t, "ending", "strategy:Columns", ending)
	l.StepLimit = 3 * time.Second
	for kind, want := range want {
		_, o := playing{name: "columns", kind: kind, seed: 1, to: until}.play(t, l)
		if got := fmt.Sprintf("%+v", o.Failure); o.Failure == nil || !strings.Contains(
			o.Failure.Code+" "+o.Failure.Message, want) || !strings.Contains(o.Failure.Message, "in signals()") {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
