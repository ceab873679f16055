package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/python"
)

// pythonRule is R as a strategy in Python, once deciding candle by candle, once by columns.
const pythonRule = `from assay import Buy, Close, QuoteAmount, Signals, SignalStrategy, Strategy
from assay import crossed_above, crossed_below
from assay.indicators import SMA


class Steps(Strategy):
    """R candle by candle."""

    def start(self):
        self.fast, self.slow = SMA(10), SMA(30)

    def warmup(self):
        return 30

    def on_candle(self, v):
        self.fast.add(v.close)
        self.slow.add(v.close)
        if v.flat and self.fast.crossed_above(self.slow):
            return Buy(QuoteAmount(100))
        if v.long and self.fast.crossed_below(self.slow):
            return Close()
        return None


class Handed(Strategy):
    """R by columns of the host."""

    def start(self):
        self.fast, self.slow = self.I(SMA, 10), self.I(SMA, 30)

    def warmup(self):
        return 30

    def on_candle(self, v):
        if v.flat and self.fast.crossed_above(self.slow):
            return Buy(QuoteAmount(100))
        if v.long and self.fast.crossed_below(self.slow):
            return Close()
        return None


class Columns(SignalStrategy):
    """R by columns."""

    def warmup(self):
        return 30

    def signals(self, c):
        f, s = self.mean(c.close, 10), self.mean(c.close, 30)
        return Signals(entry=crossed_above(f, s), exit=crossed_below(f, s), size=QuoteAmount(100))

    def mean(self, x, n):
        return x.rolling(n).mean()


class Streamed(Columns):
    """R by columns of the numbers that the other ways decide by."""

    def mean(self, x, n):
        line = SMA(n)

        def add(price):
            line.add(price)
            return line.value if line.ready else float("nan")

        return [add(price) for price in x.tolist()]
`

// pythonRow is one way to play R in Python.
type pythonRow struct {
	name           string
	steps, trades  int
	seconds, start float64 // of the loop, and from the request to it
	host, plugin   float64 // peaks of anonymous memory, MiB
	digest         string
	rolling        bool // its averages are those of pandas
}

// measurePython plays R in Python over so many candles, step by step over the first of them only. What the
// strategies need is in the environment of the interpreter.
func measurePython(size int, interpreter string) ([]pythonRow, error) {
	dir, err := os.MkdirTemp("", "assay-bench-python-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	source, out, state := filepath.Join(dir, "source"), filepath.Join(dir, "out"), filepath.Join(dir, "state")
	if err := errors.Join(os.Mkdir(source, 0o700), os.Mkdir(out, 0o700), os.Mkdir(state, 0o700),
		os.WriteFile(filepath.Join(source, "strategy.py"), []byte(pythonRule), 0o600),
		os.WriteFile(filepath.Join(source, "pyproject.toml"),
			[]byte("[project]\ndependencies = [\"pandas\"]\n"), 0o600)); err != nil {
		return nil, err
	}
	for name, class := range map[string]string{"steps": "Steps", "handed": "Handed", "columns": "Columns",
		"streamed": "Streamed"} {
		if _, _, err := python.Build(ctx, python.Options{Dir: source, Name: name,
			Entry: "strategy:" + class, Out: out, Interpreter: interpreter}); err != nil {
			return nil, err
		}
	}
	b := &bench{dir: state}
	if b.catalog, err = catalog.Open(ctx, catalog.Options{Dir: out, StateDir: state,
		ProbeTimeout: time.Minute, LaunchTimeout: time.Minute}); err != nil {
		return nil, err
	}
	defer b.catalog.Close()
	if b.store, err = candle.Open(ctx, state); err != nil {
		return nil, err
	}
	defer b.store.Close()
	if err := b.prepare(ctx, size); err != nil {
		return nil, err
	}
	var rows []pythonRow
	for _, way := range []struct {
		name, strategy string
		mode           run.Mode
	}{
		{"assay: Python, lockstep", "steps", run.ModeLockstep},
		{"assay: Python, advance", "steps", run.ModeAdvance},
		{"assay: Python, advance with self.I", "handed", run.ModeAdvance},
		{"assay: Python, signals", "columns", run.ModeSignals},
		{"assay: Python, signals of our SMA", "streamed", run.ModeSignals},
	} {
		row, err := b.playPython(ctx, way.strategy, way.mode)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		row.name, row.rolling = way.name, way.strategy == "columns"
		rows = append(rows, row)
	}
	return rows, nil
}

func (b *bench) playPython(ctx context.Context, strategy string, mode run.Mode) (r pythonRow, err error) {
	req := b.request()
	req.StrategyName, req.StrategyParams = strategy, nil
	if mode == run.ModeLockstep && b.out.Candles > maxLockstep {
		end := reference(maxLockstep + 1).Time[maxLockstep].String()
		req.EndDate = &end
	}
	begin := time.Now()
	x, err := run.NewLauncher(b.options(mode)).LaunchSplit(ctx, "svc_python", req,
		run.Split{Drive: run.Drive{Unreplayed: true}})
	if err != nil {
		return r, err
	}
	defer x.Close()
	started, watch := time.Now(), watchProcesses(x.PID())
	o := x.Run(ctx)
	r.seconds, r.start = time.Since(started).Seconds(), started.Sub(begin).Seconds()
	seen := watch()
	r.host, r.plugin = seen.hostMiB, seen.pluginMiB
	if o.Failure != nil {
		return r, fmt.Errorf("%s: %s", o.Failure.Code, o.Failure.Message)
	}
	r.steps, r.trades, r.digest = int(x.Progress().CandlesDone), int(x.Progress().TradeCount), x.Digest()
	return r, nil
}

// printPython plays R in Python and prints its rows beside the books of the same rule in Go.
func printPython(own *figures, row func(peerRow)) error {
	interpreter, err := hosttest.Environment("plugin-sdk/python/requirements.txt")
	if err != nil {
		return err
	}
	rows, err := measurePython(own.Candles, interpreter)
	if err != nil {
		return err
	}
	for _, r := range rows {
		want := own.CoDigest
		if r.steps == own.LockstepSteps {
			want = own.StepDigest
		}
		note := ""
		if r.digest != want && r.rolling {
			// The last bit of a mean of pandas may be another than of ours, and lines that touch then cross
			// elsewhere: of 1.5 M candles first at row 70,531, where the true means differ by 1e-15.
			note = "other books than in Go: " + r.digest[:16]
		}
		row(peerRow{r.name, r.steps, r.seconds, r.trades, r.start, r.plugin, note})
		if r.digest != want && !r.rolling {
			return fmt.Errorf("%s leads to the digest %.16s, the same rule in Go to %.16s", r.name, r.digest,
				want)
		}
	}
	return nil
}
