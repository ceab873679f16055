package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
)

// observed is one operation of a history with what was answered. From and to are
// the numbers of changes seen before and after it.
type observed struct {
	op       string
	from, to uint64
	answer   Snapshot
	code     Code
	replaced string // whom a replace names
}

// TestHistories runs random operations from eight goroutines and checks each answer
// against the model: the sequence of published changes must be legal, and every
// answer must be right in some state that held while its operation went on.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom([]string{"start", "start", "start broken", "replace", "replace",
			"replace broken", "stop", "reset", "reset", "end", "crash", "results"})
		plan := rapid.SliceOfN(rapid.SliceOfN(op, 1, 12), 8, 8).Draw(t, "plan")
		for range 20 { // other interleavings of the same plan
			if err := playHistory(plan); err != nil {
				t.Fatal(err)
			}
		}
	})
}

type player struct {
	r  *Runner
	mu sync.Mutex
	// execs are those that have been launched.
	execs []*controlled
	log   []observed
}

func playHistory(plan [][]string) error {
	p := &player{r: New(Options{Recorder: &fakeRecorder{}})}
	changes, cancel := p.r.Subscribe()
	defer cancel()
	var wg sync.WaitGroup
	for _, ops := range plan {
		wg.Go(func() {
			for _, op := range ops {
				p.do(op)
			}
		})
	}
	wg.Wait()
	if err := p.r.Shutdown(context.Background()); err != nil {
		return err
	}
	states := []Snapshot{{Status: "idle"}}
	for last := p.r.Status().Seq; uint64(len(states)) <= last; {
		c := <-changes
		if c.Previous != states[len(states)-1].Status || c.Snapshot.Seq != uint64(len(states)) {
			return fmt.Errorf("change %d is %s>%s after %s", c.Snapshot.Seq, c.Previous, c.Snapshot.Status,
				states[len(states)-1].Status)
		}
		states = append(states, c.Snapshot)
	}
	for _, o := range p.log {
		if !o.fits(states) {
			return fmt.Errorf("%s answered %s %q between %v and %v", o.op, describe(o.answer), o.code,
				states[o.from].Status, states[o.to:])
		}
	}
	return nil
}

func (p *player) do(op string) {
	ctx := context.Background()
	o := observed{op: op, from: p.r.Status().Seq}
	var err error
	switch op {
	case "start":
		o.answer, err = p.r.Start(ctx, backtest(), p.launch)
	case "start broken":
		o.answer, err = p.r.Start(ctx, backtest(), broken)
	case "replace", "replace broken":
		launch := p.launch
		if op == "replace broken" {
			launch = broken
		}
		o.replaced = p.r.Status().RunID
		o.answer, err = p.r.Replace(ctx, o.replaced, backtest(), launch)
	case "stop":
		o.answer, err = p.r.Stop(ctx)
	case "reset":
		o.answer, err = p.r.Reset(ctx)
	case "results":
		var rep Report
		rep, err = p.r.Results()
		o.answer = rep.Snapshot
	case "end", "crash":
		p.endSomething(op)
		return
	}
	var e *Error
	if errors.As(err, &e) {
		o.code = e.Code
	}
	o.to = p.r.Status().Seq
	p.mu.Lock()
	p.log = append(p.log, o)
	p.mu.Unlock()
}

func (p *player) launch(context.Context, string) (Execution, error) {
	e := newControlled()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.execs = append(p.execs, e)
	return e, nil
}

func broken(context.Context, string) (Execution, error) { return nil, errors.New("broken") }

func (p *player) endSomething(op string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.execs) == 0 {
		return
	}
	o := Outcome{}
	if op == "crash" {
		o.Failure = &artifact.Failure{Code: "PLUGIN_CRASHED", Message: "gone"}
	}
	p.execs[len(p.execs)-1].finish(o)
}

// fits says whether the answer was right at some moment of the operation.
func (o *observed) fits(states []Snapshot) bool {
	for i := o.from; i <= o.to; i++ {
		if o.fitsIn(states, i) {
			return true
		}
	}
	return false
}

func (o *observed) fitsIn(states []Snapshot, i uint64) bool {
	s := states[i]
	ended := s.Status == "completed" || s.Status == "failed"
	changedTo := func(status string) bool { return i > o.from && s.Status == status }
	switch o.code {
	case RunAlreadyActive:
		return s.Status != "idle"
	case RunStartFailed: // what was there before is there still
		return s.Status == "idle" && o.op == "start broken" ||
			o.op == "replace broken" && (s.Status == "idle" || ended && s.RunID == o.replaced)
	case RunNotActive:
		return s.Status != "running"
	case RunStillRunning, ResultsNotReady:
		return s.Status == "running"
	case NoRun:
		return s.Status == "idle"
	case "":
	default:
		return false
	}
	switch o.op {
	case "start":
		return changedTo("running") && s.RunID == o.answer.RunID && states[i-1].Status == "idle"
	case "replace":
		before := states[max(i, 1)-1]
		return changedTo("running") && s.RunID == o.answer.RunID &&
			(before.Status == "idle" || before.RunID == o.replaced)
	case "stop":
		return s.RunID == o.answer.RunID &&
			(ended && s.StopReason == "stopped" || o.answer.Status == "running" && s.Status == "running")
	case "reset":
		return s.Status == "idle" &&
			(o.answer.RunID == "" || changedTo("idle") && states[i-1].RunID == o.answer.RunID)
	case "results":
		return ended && s.RunID == o.answer.RunID
	}
	return false
}
