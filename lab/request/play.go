package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// job is one run of the plugin: a split, or the search split under stress.
type job struct {
	Replay
	// stressID names the stress, "" without one.
	stressID string
	// keep reports that results are artifacts, not only numbers.
	keep bool
	// logFile is how many bytes of log lines are kept for log.jsonl, 0 for none.
	logFile int
	// seriesFile reports that what the strategy publishes is an artifact.
	seriesFile bool
}

// played is how a job went.
type played struct {
	job     job
	results *artifact.Results
	// input is what the metrics were computed from, for stitching.
	input   metric.Input
	failure *artifact.Failure
	// take is the play itself; scene is where it stood when it failed or was stopped, nil
	// before the first candle.
	take     capsule.Take
	snapshot *run.Snapshot
	// sandbox is the level that the process ran under, "" if there was none.
	sandbox   string
	session   bool // other plays may have run in the process before
	walls     []sandbox.Part
	short     int   // candles of the split used as warm-up
	lead      int64 // candles of warm-up before the split
	published run.Published
	decisions func(io.Writer) error
	close     func() error
}

// Progress is called with how much of the candles of all splits is done, 0 to 1, one call at a
// time.
type Progress func(done, total int64)

// play runs jobs side by side. The results have the order of the jobs; the error is
// the first refusal in that order, an *interruption if ctx has ended. A job whose plugin
// failed has a failure instead.
func (h *Host) play(ctx context.Context, p *Prepared, jobs []job, progress Progress) ([]played, error) {
	return h.perform(ctx, p, jobs, progress, &halt{first: len(jobs)})
}

// playToFailure is play that ends with the first job, in their order, whose plugin
// fails: no later one is in the results.
func (h *Host) playToFailure(ctx context.Context, p *Prepared, jobs []job,
	progress Progress) ([]played, error) {
	stop := &halt{first: len(jobs), on: true}
	results, err := h.perform(ctx, p, jobs, progress, stop)
	if err != nil || stop.first == len(jobs) {
		return results, err
	}
	closeAll(results[stop.first+1:])
	return results[:stop.first+1], nil
}

func (h *Host) perform(ctx context.Context, p *Prepared, jobs []job, progress Progress,
	stop *halt) ([]played, error) {
	spool := filepath.Join(h.StateDir, "tmp", "lab")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return nil, err
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	var total, done int64
	for _, j := range jobs {
		total += int64(j.To - j.From)
	}
	launcher := h.launcher(p, spool, h.Plain)
	results := make([]played, len(jobs))
	var telling sync.Mutex
	errs := SideBySide(h.workers(), len(jobs), func(i int) (err error) {
		own, end := stop.begin(work, i)
		results[i], err = h.playOne(own, launcher, p, jobs[i])
		whole := own.Err() == nil
		if err != nil && whole {
			cancel()
		}
		end(results[i].failure != nil)
		if progress != nil && whole {
			telling.Lock()
			defer telling.Unlock()
			done += int64(jobs[i].To - jobs[i].From)
			progress(done, total)
		}
		return err
	})
	err := FirstCause(errs[:min(stop.first+1, len(jobs))])
	if err == nil {
		return results, nil
	}
	closeAll(results)
	if ctx.Err() != nil {
		return nil, interrupted(results, err)
	}
	return nil, FirstCause(errs)
}

// SideBySide does n pieces of work, so many of them at a time, and returns their errors in order.
func SideBySide(workers, n int, do func(i int) error) []error {
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errs
}

// halt ends the jobs behind the first one that fails. Those before it go on, so that
// what is left does not depend on which was faster.
type halt struct {
	on bool

	mu      sync.Mutex
	first   int // the first job that failed; the number of jobs if none has
	running map[int]context.CancelFunc
}

// begin is the context of a job, and what to call with its outcome.
func (h *halt) begin(ctx context.Context, i int) (context.Context, func(failed bool)) {
	ctx, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running == nil {
		h.running = map[int]context.CancelFunc{}
	}
	h.running[i] = cancel
	if i > h.first {
		cancel()
	}
	return ctx, func(failed bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if failed && h.on && i < h.first {
			h.first = i
			for k, end := range h.running {
				if k > i {
					end()
				}
			}
		}
		delete(h.running, i)
		cancel()
	}
}

// interruption reports where the first job was that was under way when ctx ended.
type interruption struct {
	at  *played
	err error
}

func (e *interruption) Error() string { return e.err.Error() }

func (e *interruption) Unwrap() error { return e.err }

func interrupted(results []played, err error) error {
	for i := range results {
		if results[i].snapshot != nil && results[i].failure == nil {
			return &interruption{&results[i], err}
		}
	}
	return err
}

// FirstCause is the first error, in the order of the work, that is not only the others'
// cancellation; that one where there is no other, nil without any.
func FirstCause(errs []error) error {
	var cancelled error
	for _, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled):
			cancelled = err
		default:
			return err
		}
	}
	return cancelled
}

func closeAll(list []played) {
	for i := range list {
		if list[i].close != nil {
			_ = list[i].close() // the error at hand is the one to report
			list[i].close = nil
		}
	}
}

func (h *Host) workers() int {
	if h.Workers > 0 {
		return h.Workers
	}
	return runtime.NumCPU()
}

// playOne plays a job, a trial's in the host's session, a forked replay in one of the host's forks. What does
// not come to its end there is played once more in a process of its own, before the strategy is blamed: the
// plays before may have left it without memory, or in a state of its own making.
func (h *Host) playOne(ctx context.Context, l *run.Launcher, p *Prepared, j job) (played, error) {
	var s *run.Session
	switch {
	case p.Request.Kind == artifact.KindTrial:
		s = h.Session
	case j.Drive.Forked && h.Forks != nil && p.Strategy.Program().Bundle:
		s = h.Forks.Take()
		defer h.Forks.Put(s)
	}
	if s != nil {
		out, err := j.play(ctx, h, l, p, s)
		if err == nil && out.failure == nil || ctx.Err() != nil {
			return out, err
		}
		closeAll([]played{out})
	}
	return j.play(ctx, h, l, p, nil)
}

func (j job) play(ctx context.Context, h *Host, l *run.Launcher, p *Prepared,
	s *run.Session) (played, error) {
	if err := ctx.Err(); err != nil {
		return played{}, context.Cause(ctx)
	}
	take, err := h.take(p, j)
	if err != nil {
		return played{}, err
	}
	asked, err := capsule.Split(take, p.pins)
	if err != nil {
		return played{}, err
	}
	asked.Drive, asked.Series, asked.LogFile = j.Drive, j.Series, j.logFile
	asked.SeriesFile, asked.Session, asked.MoveInputs = j.seriesFile, s, j.MoveInputs
	asked.Drive.Procs = cmp.Or(asked.Drive.Procs, h.Procs)
	asked.Drive.Unreplayed = asked.Drive.Unreplayed || p.Request.Kind == artifact.KindTrial
	x, err := l.LaunchSplit(ctx, p.RunID, capsule.Request(p.request, take), asked)
	switch f := capsule.StartFailure(err); {
	case err != nil && ctx.Err() != nil:
		return played{}, context.Cause(ctx)
	case f != nil:
		return played{job: j, take: take, failure: f}, nil
	case err != nil:
		return played{}, fromBacktest(err)
	}
	outcome := x.Run(ctx)
	out := played{job: j, take: take, sandbox: x.Manifest().Sandbox, walls: x.Manifest().Walls,
		failure: outcome.Failure, short: x.WarmupShort(), session: x.InSession(), lead: x.WindowStep(),
		decisions: x.WriteDecisions, close: x.Close}
	stopped := outcome.Stopped || ctx.Err() != nil
	if stopped || out.failure != nil {
		scene, err := x.Snapshot(capsule.MaxEvents)
		if err != nil {
			return played{}, errors.Join(err, x.Close())
		}
		out.snapshot = &scene
	}
	if stopped {
		return played{job: j, take: take, sandbox: out.sandbox, walls: out.walls, snapshot: out.snapshot},
			errors.Join(context.Canceled, x.Close())
	}
	out.results, out.input = x.Results(), x.Input()
	if j.Series {
		out.published = x.Published()
	}
	if out.results.Metrics == nil && out.failure == nil {
		return played{}, errors.Join(fmt.Errorf("split %s has no metrics", j.ID), x.Close())
	}
	if !j.keep {
		out.decisions, out.close = nil, nil
		return out, x.Close()
	}
	return out, nil
}

// take is a job as a play that can be repeated.
func (h *Host) take(p *Prepared, j job) (capsule.Take, error) {
	t := capsule.Take{
		SplitID: j.ID, StressID: j.stressID, Params: p.request.StrategyParams,
		Seed:         strconv.FormatUint(p.Request.Seed, 10),
		DelayCandles: j.DelayCandles, WorstPrice: j.WorstPrice,
		StepLimitMS: cmp.Or(h.StepLimit, run.DefaultStepLimit).Milliseconds(),
	}
	t.Start, t.End = p.window(j.From, j.To)
	if len(j.Params) > 0 {
		t.Params = j.Params
	}
	if j.Seed != 0 {
		t.Seed = strconv.FormatUint(j.Seed, 10)
	}
	var err error
	t.Execution, err = j.costly(p.request.Execution)
	return t, err
}

// window is the dates of a range of the timeline.
func (p *Prepared) window(from, to int) (start, end *string) {
	start, end = p.timeline.dates(from, to)
	if end == nil {
		end = p.request.EndDate
	}
	return start, end
}

// split is what the artifacts keep of a played one.
func (r *played) split(locked bool) artifact.Split {
	var published artifact.Published
	if r.job.seriesFile {
		published = r.results.Published
	}
	return artifact.Split{
		ID: r.job.ID, Results: r.results, Failed: r.failure != nil, Locked: locked,
		WarmupInside:        min(r.short, r.job.To-r.job.From),
		WarmupOrdersDropped: r.results.WarmupRejections(), Decisions: r.decisions, Log: r.results.LogFile,
		Published: published,
	}
}

// timeline is the distinct close times of all symbols in the window, ascending, each
// with the open time of its candles.
type timeline struct{ opens, closes []market.Time }

// dates is the window [start, end) of a range of the timeline; end is nil at its end.
func (t timeline) dates(from, to int) (start, end *string) {
	s := t.opens[from].String()
	if to == len(t.opens) {
		return &s, nil
	}
	e := t.opens[to].String()
	return &s, &e
}

// data finds the candles of every symbol, pins their files and lays the timeline.
func (h *Host) data(ctx context.Context, p *Prepared) error {
	q := p.Request
	p.pins, p.data, p.timeline, p.coverage = map[market.Symbol]string{}, nil, timeline{}, nil
	tf, err := market.ParseTimeframe(q.Timeframe)
	if err != nil {
		return refuse(CodeLabJSON, "/timeframe", "/timeframe %v", err)
	}
	start, end, err := window(q)
	if err != nil {
		return err
	}
	byClose := map[market.Time]market.Time{}
	for i, text := range q.Symbols {
		symbol, err := market.ParseSymbol(text)
		if err != nil {
			return refuse(CodeLabJSON, fmt.Sprintf("/symbols/%d", i), "/symbols/%d %v", i, err)
		}
		d, err := p.dataset(ctx, q, symbol, tf)
		if err != nil {
			return err
		}
		file, err := p.candles.OpenSeries(d)
		if err != nil {
			return unavailable(symbol, err)
		}
		series := file.Series()
		from, to := 0, series.Len()
		if start != 0 {
			from = series.Search(start)
		}
		if end != 0 {
			to = series.Search(end)
		}
		if from >= to {
			err := refuse(run.CodeDataUnavailable, "/data",
				"there is no %s candle of %s in the window; there are candles from %s to %s",
				tf, symbol, series.Time[0], series.CloseTime(series.Len()-1))
			_ = file.Close() // it was only read
			return err
		}
		if len(q.Symbols) > 1 {
			for i := from; i < to; i++ {
				byClose[series.CloseTime(i)] = series.Time[i]
			}
			p.coverage = append(p.coverage, coverage{symbol, slices.Clone(series.Time[from:to])})
		} else {
			p.timeline = timelineOf(series, from, to)
		}
		p.data = append(p.data, artifact.Dataset{
			Symbol: text, Timeframe: q.Timeframe, SHA256: d.SHA256, Rows: int64(to - from),
			Start: series.Time[from], End: series.CloseTime(to - 1), ID: d.ID,
		})
		p.pins[symbol] = d.SHA256
		if err := file.Close(); err != nil {
			return err
		}
	}
	for _, c := range slices.Sorted(maps.Keys(byClose)) {
		p.timeline.closes = append(p.timeline.closes, c)
		p.timeline.opens = append(p.timeline.opens, byClose[c])
	}
	return p.findInputs(h.Candles.Inputs())
}

// timelineOf is the steps of the rows [from, to) of the only symbol, whose candles close in their order.
func timelineOf(series *market.Series, from, to int) timeline {
	t := timeline{opens: slices.Clone(series.Time[from:to]), closes: make([]market.Time, 0, to-from)}
	for i := from; i < to; i++ {
		t.closes = append(t.closes, series.CloseTime(i))
	}
	return t
}

// findInputs finds the inputs that the strategy reads and pins their rows.
func (p *Prepared) findInputs(store *candle.Inputs) error {
	p.inputs = nil
	for _, declared := range p.Strategy.Inputs {
		symbol := candle.InputSymbol(declared.Name)
		in, err := run.FindInput(store, declared.Name,
			strings.TrimPrefix(p.Request.Pins[string(symbol)], "sha256:"))
		if err != nil {
			return Errorf(run.CodeDataUnavailable,
				"the strategy reads the input %s: %w; lab data import --input %[1]s stores it",
				declared.Name, err)
		}
		p.inputs, p.pins[symbol] = append(p.inputs, in.Dataset), in.SHA256
	}
	return nil
}

// ReadsInputs reports whether the strategy reads series beside the candles.
func (p *Prepared) ReadsInputs() bool { return len(p.inputs) > 0 }

// inputPins are the inputs of a request as pins of another one.
func (p *Prepared) inputPins() map[string]string {
	pins := map[string]string{}
	for _, in := range p.inputs {
		pins[in.Symbol] = "sha256:" + in.SHA256
	}
	return pins
}

// dataset is the pinned one or the current one.
func (p *Prepared) dataset(ctx context.Context, q Request, symbol market.Symbol,
	tf market.Timeframe) (candle.Dataset, error) {
	pin, pinned := strings.CutPrefix(q.Pins[string(symbol)], "sha256:")
	if !pinned {
		d, err := p.candles.Lookup(ctx, q.Exchange, symbol, tf)
		if err != nil {
			return d, unavailable(symbol, err)
		}
		return d, nil
	}
	d, err := p.candles.Pinned(ctx, q.Exchange, symbol, tf, pin)
	if err == nil {
		return d, nil
	}
	have := "none"
	if current, e := p.candles.Lookup(ctx, q.Exchange, symbol, tf); e == nil {
		have = "sha256:" + current.SHA256
	}
	e := refuse("DATA_PIN_MISMATCH", "/data/pins/"+digest.PointerStep(string(symbol)),
		"lab.json pins %s of %s to sha256:%s, which is not stored; stored is %s", tf, symbol, pin,
		have).With("stored", have)
	e.Cause = err
	return d, e
}

func unavailable(symbol market.Symbol, err error) error {
	var corrupt *candlefile.CorruptError
	if errors.As(err, &corrupt) {
		return &Error{
			Code: run.CodeDataUnavailable, Cause: err,
			Message: fmt.Sprintf("the candles of %s are corrupt (%s): import them again", symbol,
				corrupt.Reason),
		}
	}
	return Errorf(run.CodeDataUnavailable, "candles of %s: %w; lab data list shows what is stored", symbol,
		err)
}

// window is what the request limits the data to; 0 is open.
func window(q Request) (start, end market.Time, err error) {
	read := func(pointer string, s *string) (market.Time, error) {
		if s == nil {
			return 0, nil
		}
		t, err := market.ParseTime(*s)
		if err != nil {
			return 0, refuse(CodeLabJSON, pointer, "%s %v", pointer, err)
		}
		return t, nil
	}
	if start, err = read("/data/start", q.Start); err != nil {
		return 0, 0, err
	}
	if end, err = read("/data/end", q.End); err != nil {
		return 0, 0, err
	}
	if start != 0 && end != 0 && start >= end {
		return 0, 0, refuse(CodeLabJSON, "/data/end", "/data/end must be after /data/start")
	}
	return start, end, nil
}
