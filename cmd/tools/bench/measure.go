package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

const (
	venue         = "bench"
	maxLockstep   = 100_000
	maxImportRows = 1_000_000
)

// bench is a host with one dataset.
type bench struct {
	dir      string
	catalog  *catalog.Catalog
	store    *candle.Store
	launcher *run.Launcher
	file     candle.Dataset
	out      figures
	profile  string // path of a CPU profile to write, or empty
}

// measure takes every figure of one size.
func measure(n int, strategies, profile string, coOnly bool) (f figures, err error) {
	dir, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, profile: profile}
	ctx := context.Background()
	if b.catalog,
		err = catalog.Open(ctx,
		catalog.Options{Dir: strategies, StateDir: dir, Logger: hclog.NewNullLogger()}); err != nil {
		return f, err
	}
	defer b.catalog.Close()
	if b.store, err = candle.Open(ctx, dir); err != nil {
		return f, err
	}
	defer b.store.Close()
	if err := b.prepare(ctx, n); err != nil {
		return f, err
	}
	steps := []func(context.Context) error{b.coSimulate, b.scan, b.inProcess, b.lockstep, b.importCSV}
	if coOnly {
		steps = steps[:1]
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return f, err
		}
	}
	return b.out, nil
}

// prepare stores the candles and forgets them: from here on they are mapped.
func (b *bench) prepare(ctx context.Context, n int) error {
	d, err := b.store.Put(ctx, candle.PutRequest{Exchange: venue, Series: reference(n)})
	if err != nil {
		return err
	}
	b.file, b.out.Candles = d, n
	b.launcher = run.NewLauncher(b.options(run.ModeCoSimulation))
	debug.FreeOSMemory() // what making the candles took is not the run's
	return nil
}

// reference returns the candles of R.
func reference(n int) *market.Series {
	s := sdktest.Synth(1, n, time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC), time.Minute)
	s.Symbol, s.Timeframe = "SYNTH/USD", market.MustTimeframe("1m")
	return s
}

func (b *bench) options(mode run.Mode) run.Options {
	return run.Options{Catalog: b.catalog, Store: b.store, SpoolDir: b.dir, Mode: mode,
		StepLimit: time.Minute, Engine: artifact.Engine{Name: "bench"}}
}

func (b *bench) request() runner.StartRequest {
	return runner.StartRequest{
		Mode: "backtest", StrategyName: "sma_cross", StrategyParams: json.RawMessage(`{"stake":100}`),
		Symbols:   []string{"SYNTH/USD"},
		Timeframe: "1m", InitialCash: "100000", Exchange: venue, Execution: json.RawMessage(`{}`),
	}
}

// coSimulate runs R as the service does: twice, first for speed and first-candle
// time with memory watched, then whole with metrics and artifacts.
func (b *bench) coSimulate(ctx context.Context) error {
	begin, own := time.Now(), cpuSeconds()
	e, err := b.launcher.Launch(ctx, "svc_bench", b.request())
	if err != nil {
		return err
	}
	x := e.(*run.Execution)
	watch := watchProcesses(x.PID())
	started, loop := time.Now(), cpuSeconds()
	first := make(chan time.Time, 1)
	go awaitCandle(x, first)
	stopProfile, err := b.startProfile()
	if err != nil {
		return err
	}
	if o := x.Run(ctx); o.Failure != nil {
		return fmt.Errorf("%s: %s", o.Failure.Code, o.Failure.Message)
	}
	stopProfile()
	b.out.CoSimulation, b.out.Whole.LoopCPU = time.Since(started).Seconds(), cpuSeconds()-loop
	b.out.FirstCandle = (<-first).Sub(begin).Seconds()
	results := x.Results()
	b.out.Trades, b.out.Final, b.out.CoDigest = len(results.Trades), results.FinalValue, x.Digest()
	seen := watch()
	b.out.HostMiB, b.out.PluginMiB, b.out.Whole.PluginCPU = seen.hostMiB, seen.pluginMiB, seen.pluginCPU
	if err := b.keep(ctx, x, begin); err != nil {
		return err
	}
	b.out.Whole.CPU = cpuSeconds() - own + b.out.Whole.PluginCPU
	return x.Close()
}

// cpuSeconds returns the CPU time of this process.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func (b *bench) startProfile() (stop func(), err error) {
	if b.profile == "" {
		return func() {}, nil
	}
	f, err := os.Create(b.profile)
	if err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, pprof.StartCPUProfile(f)
}

// awaitCandle notes when the first candles have gone through the books.
func awaitCandle(x *run.Execution, first chan<- time.Time) {
	for x.Progress().CandlesDone == 0 {
		time.Sleep(200 * time.Microsecond)
	}
	first <- time.Now()
}

// keep writes artifacts and rows and takes the time since the request.
func (b *bench) keep(ctx context.Context, x *run.Execution, begin time.Time) error {
	store := artifact.NewStore(filepath.Join(b.dir, "runs"))
	reg, err := registry.Open(ctx, store, nil)
	if err != nil {
		return err
	}
	defer reg.Close()
	archive := &runner.Archive{Store: store, Registry: reg}
	started := runner.Started{RunID: "svc_bench", Request: b.request(), StartTime: begin, Execution: x}
	if err := archive.Begin(ctx, started); err != nil {
		return err
	}
	_, err = archive.Finish(ctx, runner.Ended{
		Started: started, Status: "completed", StopReason: "finished", EndTime: time.Now(),
		Results: x.Results(),
	})
	b.out.Whole.Seconds = time.Since(begin).Seconds()
	return err
}

// scan opens the file, which checks its CRC, and adds up every column.
func (b *bench) scan(context.Context) error {
	best := time.Hour
	for range 5 {
		begin := time.Now()
		f, err := b.store.OpenSeries(b.file)
		if err != nil {
			return err
		}
		s := f.Series()
		// A sum for each column: an addition to one of all would wait for the one before.
		var times int64
		var sums [5]float64
		for i, t := range s.Time {
			times += int64(t)
			sums[0] += s.Open[i]
			sums[1] += s.High[i]
			sums[2] += s.Low[i]
			sums[3] += s.Close[i]
			sums[4] += s.Volume[i]
		}
		best = min(best, time.Since(begin))
		if float64(times)+sums[0]+sums[1]+sums[2]+sums[3]+sums[4] == 0 {
			return fmt.Errorf("the sum of all columns is 0")
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	b.out.Scan = best.Seconds()
	return nil
}

// smaCross is the rule of strategies/sma_cross with a fixed stake; equal digests show it.
type smaCross struct{ fast, slow indicator.SMA }

func (s *smaCross) Warmup() int { return 30 }

func (s *smaCross) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle().Close
	s.fast.Add(c)
	s.slow.Add(c)
	switch {
	case v.Flat() && s.fast.CrossedAbove(&s.slow):
		return sdk.Buy(sdk.QuoteAmount(100)), nil
	case v.Long() && s.fast.CrossedBelow(&s.slow):
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

func newSMACross() sdk.Strategy {
	return &smaCross{fast: indicator.NewSMA(10), slow: indicator.NewSMA(30)}
}

// idle reads each candle and never orders: what is left is the loop.
type idle struct{ last float64 }

func (s *idle) OnCandle(v sdk.View) (sdk.Intents, error) {
	s.last = v.Candle().Close
	return nil, nil
}

func newIdle() sdk.Strategy { return &idle{} }

// inProcess returns the loop without any process around it, the best of three each.
func (b *bench) inProcess(context.Context) error {
	f, err := b.store.OpenSeries(b.file)
	if err != nil {
		return err
	}
	defer f.Close()
	s := f.Series()
	s.Symbol = "SYNTH/USD"
	loop := func(s *market.Series, rule func() sdk.Strategy, options ...sdktest.Option) (
		best float64, digest string, err error) {
		best = 1e9
		options = append(options, sdktest.Cash(100_000))
		for range 3 {
			begin := time.Now()
			r, err := sdktest.Run(s, rule(), options...)
			if err != nil {
				return 0, "", err
			}
			best, digest = min(best, time.Since(begin).Seconds()), fmt.Sprintf("%x", r.Digest)
		}
		return best, digest, nil
	}
	if b.out.InProcess, b.out.Digest, err = loop(s, newSMACross); err != nil {
		return err
	}
	if b.out.Bare, _, err = loop(s, newSMACross, sdktest.Bare()); err != nil {
		return err
	}
	if b.out.Idle, _, err = loop(s, newIdle, sdktest.Bare()); err != nil {
		return err
	}
	_, b.out.StepReference, err = loop(s.Slice(0, min(s.Len(), maxLockstep)), newSMACross, sdktest.Bare())
	return err
}

// lockstep drives the plugin step by step over the first candles.
func (b *bench) lockstep(ctx context.Context) error {
	f, err := b.store.OpenSeries(b.file)
	if err != nil {
		return err
	}
	defer f.Close()
	req := b.request()
	if s := f.Series(); s.Len() > maxLockstep {
		end := s.Time[maxLockstep].String()
		req.EndDate = &end
	}
	asked := time.Now()
	e, err := run.NewLauncher(b.options(run.ModeLockstep)).Launch(ctx, "svc_lockstep", req)
	if err != nil {
		return err
	}
	x := e.(*run.Execution)
	begin, watch := time.Now(), watchProcesses(x.PID())
	o := x.Run(ctx)
	b.out.Stepped.Seconds, b.out.Stepped.Start = time.Since(begin).Seconds(), begin.Sub(asked).Seconds()
	b.out.Stepped.MiB = watch().pluginMiB
	if o.Failure != nil {
		return fmt.Errorf("%s: %s", o.Failure.Code, o.Failure.Message)
	}
	b.out.Stepped.Trades = int(x.Progress().TradeCount)
	b.out.LockstepSteps, b.out.StepDigest = int(x.Progress().CandlesDone), x.Digest()
	return x.Close()
}

// importCSV writes the candles as text and imports them again.
func (b *bench) importCSV(ctx context.Context) error {
	f, err := b.store.OpenSeries(b.file)
	if err != nil {
		return err
	}
	defer f.Close()
	path := filepath.Join(b.dir, "candles.csv")
	rows := min(f.Series().Len(), maxImportRows)
	if err := writeCSV(path, f.Series(), rows); err != nil {
		return err
	}
	input, err := importer.File(path)
	if err != nil {
		return err
	}
	begin := time.Now()
	_, err = b.store.Import(ctx, candle.ImportRequest{
		Files: []importer.Input{input}, Exchange: "csv", Options: importer.Options{Symbol: "SYNTH/USD"},
	})
	b.out.Import, b.out.ImportRows = time.Since(begin).Seconds(), rows
	return err
}

func writeCSV(path string, s *market.Series, rows int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	w.WriteString("time_ms,open,high,low,close,volume\n")
	var line []byte
	for i := range rows {
		line = strconv.AppendInt(line[:0], int64(s.Time[i]), 10)
		for _, v := range [...]float64{s.Open[i], s.High[i], s.Low[i], s.Close[i], s.Volume[i]} {
			line = strconv.AppendFloat(append(line, ','), v, 'f', -1, 64)
		}
		w.Write(append(line, '\n'))
	}
	return w.Flush()
}

// watched is what a run has taken: the peaks of anonymous memory, where mapped files do not count, and the
// CPU time of the plugin.
type watched struct{ hostMiB, pluginMiB, pluginCPU float64 }

// watchProcesses samples this process and a plugin's until the returned function is called.
func watchProcesses(pid int) func() watched {
	stop, done := make(chan struct{}), make(chan watched)
	go func() {
		var w watched
		for {
			w.hostMiB = max(w.hostMiB, anonymousMiB(os.Getpid()))
			w.pluginMiB = max(w.pluginMiB, anonymousMiB(pid))
			w.pluginCPU = max(w.pluginCPU, cpuOf(pid))
			select {
			case <-stop:
				done <- w
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() watched {
		close(stop)
		return <-done
	}
}

// cpuOf returns the CPU seconds of another process, 0 when it is gone: the kernel counts hundredths.
func cpuOf(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	user, _ := strconv.Atoi(string(fields[11]))
	system, _ := strconv.Atoi(string(fields[12]))
	return float64(user+system) / 100
}

func anonymousMiB(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(text, []byte("RssAnon:"))
	if !ok {
		return 0
	}
	fields := bytes.Fields(rest)
	kib, _ := strconv.ParseFloat(string(fields[0]), 64)
	return kib / 1024
}
