package python_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/lab/python"
)

// signals is one strategy of many: the first kinds are good, then come those that look ahead, and those that
// cannot be read.
const signals = `import numpy as np

from assay import (
    EquityFraction, Param, Percent, Quantity, Signals, SignalStrategy, Supports, TrailingPercent,
    crossed_above, crossed_below,
)


def mean(x, n):
    total = np.cumsum(x)
    out = np.full(x.size, np.nan)
    out[n - 1 :] = (total[n - 1 :] - np.concatenate(([0.0], total[:-n]))) / n
    return out


class Columns(SignalStrategy):
    """Signals of many kinds."""

    kind: str = Param("long")
    seed: int = Param(1)
    candles = "numpy"
    supports = Supports(short=True)

    def warmup(self):
        return 50

    def signals(self, c):
        rand = np.random.default_rng(self.seed)
        fast, slow = int(rand.integers(3, 9)), int(rand.integers(12, 40))
        f, s = mean(c.close, fast), mean(c.close, slow)
        up, down = crossed_above(f, s), crossed_below(f, s)
        if self.kind == "long":
            return Signals(entry=f > s, exit=f < s * 0.999, tag=["a" if r % 2 else "b" for r in range(len(c))])
        if self.kind == "turns":
            return Signals(entry=up, exit=down, entry_short=down, exit_short=up, size=EquityFraction(0.5),
                           stop_loss=TrailingPercent(0.02), take_profit=Percent(np.where(f > s, 0.03, 0.05)))
        if self.kind == "limits":
            return Signals(entry=f > s, exit=c.close < f * 0.99, limit=c.close * 0.997, expire_after=1 + 3 * up,
                           size=Quantity(np.round(100 / c.close, 6)), stop_loss=0.02)
        if self.kind == "moves":
            return Signals(entry=up, exit=down, entry_short=down, exit_short=up, size=EquityFraction(0.5),
                           stop_loss=0.05, take_profit=0.08,
                           move_stop=np.where(up, np.nan, c.low * 0.995), move_target=c.close * 1.02,
                           move_stop_short=c.high * 1.005, move_target_short=c.close * 0.98)
        if self.kind == "moved ahead":
            return Signals(entry=up, exit=down, stop_loss=0.05, move_stop=np.minimum(c.low, c.low.mean()) * 0.99)
        if self.kind == "shifted":
            return Signals(entry=np.append(c.close[1:] > c.close[:-1], False), exit=down)
        if self.kind == "mean":
            return Signals(entry=up & (c.close < c.close.mean()), exit=down)
        if self.kind == "price":
            return Signals(entry=up, exit=down, limit=np.minimum(c.close, c.close.max() * 0.9))
        if self.kind == "short column":
            return Signals(entry=up[5:], exit=down)
        if self.kind == "numbers":
            return Signals(entry=up * 1.0, exit=down)
        if self.kind == "objects":
            return Signals(entry=np.array([None, *up[1:]]), exit=down)
        if self.kind == "holes":
            return Signals(entry=np.ones(len(c), bool), limit=s)
        if self.kind == "nothing":
            return None
        return Signals(entry=c.vwap > 0)
`

// played is a host with a strategy, what it needs beside NumPy, and the bundled candles.
func played(t testing.TB, name, entry, text string, needs ...string) *run.Launcher {
	t.Helper()
	source, out := t.TempDir(), t.TempDir()
	write(t, source, map[string]string{"strategy.py": text,
		"pyproject.toml": "[project]\ndependencies = ['" + strings.Join(append(needs, "numpy"), "', '") + "']\n"})
	if _, _, err := python.Build(t.Context(), python.Options{
		Dir: source, Name: name, Entry: entry, Out: out, Interpreter: interpreter(t),
	}); err != nil {
		t.Fatal(err)
	}
	return hosted(t, out)
}

// hosted is a host with the strategies of a folder and the bundled candles.
func hosted(t testing.TB, folder string) *run.Launcher {
	t.Helper()
	state := t.TempDir()
	c, err := catalog.Open(t.Context(), catalog.Options{Dir: folder, StateDir: t.TempDir(), Sandbox: sandbox.Auto,
		ProbeTimeout: time.Minute, LaunchTimeout: time.Minute}) // beside other tests
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, s := range c.Strategies() {
		if s.Error != nil {
			t.Fatalf("%+v", s.Error)
		}
	}
	store, err := candle.Open(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return run.NewLauncher(run.Options{Catalog: c, Store: store, SpoolDir: state, Many: true,
		StepLimit: time.Minute, Engine: artifact.Engine{Name: "test"}})
}

// play runs one kind over 2,000 candles.
func play(t *testing.T, l *run.Launcher, kind string, seed int, d run.Drive) (*run.Execution, runner.Outcome) {
	t.Helper()
	p := playing{name: "columns", kind: kind, seed: seed, to: "2020-04-24T08:00:00Z",
		split: run.Split{Drive: d}}
	return p.play(t, l)
}

// playing is a backtest of a strategy of these tests.
type playing struct {
	name, kind string
	seed       int
	free       bool // it has no parameters kind and seed
	to         string
	symbols    []string // BTC/USDT if nil
	timeframe  string   // 1h if empty
	split      run.Split
}

func (p playing) play(t testing.TB, l *run.Launcher) (*run.Execution, runner.Outcome) {
	t.Helper()
	values := map[string]any{}
	if !p.free {
		values["seed"] = p.seed
	}
	if p.kind != "" {
		values["kind"] = p.kind
	}
	params, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	start := "2020-02-01T00:00:00Z"
	if p.symbols == nil {
		p.symbols = []string{"BTC/USDT"}
	}
	x, err := l.LaunchSplit(t.Context(), "run_test", runner.StartRequest{
		Mode: "backtest", StrategyName: p.name, StrategyParams: params, Symbols: p.symbols,
		Timeframe: cmp.Or(p.timeframe, "1h"), InitialCash: "10000", Exchange: "sample", StartDate: &start,
		EndDate:   &p.to,
		Execution: json.RawMessage(`{"allow_short":true}`),
	}, p.split)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x, x.Run(context.Background())
}

// TestSignals: one answer for all steps leads to the books that an answer for each of them leads to; a look
// ahead is found, and what cannot be read is refused with its column and place.
func TestSignals(t *testing.T) {
	ring.Proof(t, "it copies an interpreter and plays 2,000 steps one by one")
	l := played(t, "columns", "strategy:Columns", signals)
	for i, kind := range []string{"long", "turns", "limits", "moves"} {
		x, o := play(t, l, kind, i+1, run.Drive{})
		if o.Failure != nil {
			t.Fatalf("%s: %+v", kind, o.Failure)
		}
		y, o := play(t, l, kind, i+1, run.Drive{Lockstep: true})
		if o.Failure != nil {
			t.Fatalf("%s in lockstep: %+v", kind, o.Failure)
		}
		one, other := x.Results(), y.Results()
		if len(one.Fills) < 20 || x.Digest() != y.Digest() {
			t.Errorf("%s: %d fills, digest %s; in lockstep %d fills, %s", kind, len(one.Fills), x.Digest(),
				len(other.Fills), y.Digest())
		}
		if a, b := fmt.Sprint(one.Warnings), fmt.Sprint(other.Warnings); a != b {
			t.Errorf("%s: %s; in lockstep %s", kind, a, b)
		}
	}
	for kind, column := range map[string]string{"shifted": "entry", "mean": "entry", "price": "limit",
		"moved ahead": "move_stop"} {
		_, o := play(t, l, kind, 4, run.Drive{})
		if f := o.Failure; f == nil || f.Code != run.CodeNotCausal || f.Data["column"] != column ||
			!strings.Contains(f.Message, fmt.Sprintf("%s at step %v (candle closed 20", column, f.Data["step"])) {
			t.Errorf("%s: %+v", kind, f)
		}
		x, o := play(t, l, kind, 4, run.Drive{Unreplayed: true})
		if o.Failure != nil || !strings.Contains(fmt.Sprint(x.Results().Assumptions), run.NoteNotReplayed) {
			t.Errorf("%s, not replayed: %+v, %v", kind, o.Failure, x.Results().Assumptions)
		}
	}
	for kind, want := range map[string]string{
		"short column": `the column entry at strategy.py:\d+ has 2038 values for 2043 candles: .*dropna`,
		"numbers":      `the column entry at strategy.py:\d+ has the type float64, it must be bool; .*fill_value`,
		"objects":      `the column entry at strategy.py:\d+ has the type object, it must be bool; .*fill_value`,
		"holes":        `the column limit at strategy.py:\d+ row 0 \(2020-01-29T22:00:00.000Z\) is no finite number`,
		"nothing":      `signals\(\) returned NoneType: return Signals`,
		"unknown":      `AttributeError: .*vwap.* at strategy.py:\d+ in signals\(\)`,
	} {
		_, o := play(t, l, kind, 5, run.Drive{})
		if o.Failure == nil || o.Failure.Code != "STRATEGY_ERROR" || !matches(want, o.Failure.Message) {
			t.Errorf("%s: %+v", kind, o.Failure)
		}
	}
}
