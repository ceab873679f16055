package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/backtest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// job is one run of the plugin: a split, or the search split under stress.
type job struct {
	id     string // split, or split and stress
	from   int
	to     int
	params []byte // nil: those of the question
	// stressID names the stress, "" without one.
	stressID string
	stress   stress
	// keep says that results are artifacts, not only numbers.
	keep bool
}

// played is how a job went.
type played struct {
	job     job
	results *result.Results
	// input is what the metrics were computed from, for stitching.
	input     metric.Input
	failure   *result.Failure
	short     int // candles of the split used as warm-up
	decisions func(io.Writer) error
	close     func() error
}

// Progress hears how much of the candles of all splits is done, 0 to 1.
type Progress func(done, total int64)

// play runs jobs side by side. The results have the order of the jobs; the error is
// the first refusal in that order. A job whose plugin failed has a failure instead.
func (h *Host) play(ctx context.Context, p *Prepared, jobs []job, progress Progress) ([]played, error) {
	spool := filepath.Join(h.StateDir, "tmp", "lab")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var total, done atomic.Int64
	for _, j := range jobs {
		total.Add(int64(j.to - j.from))
	}
	launcher := h.launcher(p, spool)
	results, errs := make([]played, len(jobs)), make([]error, len(jobs))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(h.workers(), len(jobs)) {
		wg.Go(func() {
			for i := range next {
				results[i], errs[i] = h.playOne(ctx, launcher, p, jobs[i])
				if errs[i] != nil {
					cancel()
				}
				if progress != nil {
					progress(done.Add(int64(jobs[i].to-jobs[i].from)), total.Load())
				}
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := firstCause(errs); err != nil {
		closeAll(results)
		return nil, err
	}
	return results, nil
}

// firstCause is the first error that is not only the others' cancellation.
func firstCause(errs []error) error {
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

func (h *Host) playOne(ctx context.Context, l *backtest.Launcher, p *Prepared, j job) (played, error) {
	if err := ctx.Err(); err != nil {
		return played{}, context.Cause(ctx)
	}
	req := p.request
	req.StartDate, req.EndDate = p.timeline.dates(j.from, j.to)
	if req.EndDate == nil {
		req.EndDate = p.request.EndDate
	}
	if len(j.params) > 0 {
		req.StrategyParams = j.params
	}
	var err error
	if req.Execution, err = j.stress.execution(req.Execution); err != nil {
		return played{}, err
	}
	x, err := l.LaunchSplit(ctx, p.RunID, req, backtest.Split{
		ID: j.id, Seed: p.Question.Seed, Pins: p.pins, DelayCandles: j.stress.delay, WorstPrice: j.stress.worst,
	})
	if err != nil {
		return played{}, fromBacktest(err)
	}
	outcome := x.Run(ctx)
	if outcome.Stopped || ctx.Err() != nil {
		return played{}, errors.Join(context.Canceled, x.Close())
	}
	out := played{job: j, results: x.Results(), input: x.Input(), failure: outcome.Failure, short: x.WarmupShort(), decisions: x.WriteDecisions, close: x.Close}
	if out.results.Metrics == nil && out.failure == nil {
		return played{}, errors.Join(fmt.Errorf("split %s has no metrics", j.id), x.Close())
	}
	if !j.keep {
		out.decisions, out.close = nil, nil
		return out, x.Close()
	}
	return out, nil
}

// split is what the artifacts keep of a played one.
func (r *played) split(locked bool) artifact.Split {
	return artifact.Split{
		ID: r.job.id, Results: r.results, Failed: r.failure != nil, Locked: locked, WarmupInside: min(r.short, r.job.to-r.job.from),
		WarmupOrdersDropped: warmupOrders(r.results.Orders), Decisions: r.decisions,
	}
}

func warmupOrders(orders []market.Order) int {
	n := 0
	for i := range orders {
		if orders[i].Reason == "warmup" {
			n++
		}
	}
	return n
}
