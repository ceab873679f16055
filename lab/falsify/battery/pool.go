package battery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Part is the candles [From, To) of the base's timeline.
type Part struct{ From, To int }

// Play is one replay that a test needs.
type Play struct {
	// Test is the id of the test, filled in.
	Test string
	// On makes the candles that it is played on; nil: those of the base, untouched.
	On func() (replay.Set, error)
	// Market is changed candles that are there already, nil without.
	Market *request.Prepared
	// Program is one with another number in its sources, nil for that of the base. What is no
	// program is not played.
	Program *project.Variant
	// Elsewhere is the program as of another day and machine, nil for that of the base.
	Elsewhere *project.Elsewhere
	// Part is the window, on the timeline of the base.
	Part Part
	// At moves the window in time, nil: where it is. Open lets it run to the last candle
	// that there is.
	At   func(market.Time) market.Time
	Open bool
	// How is the rest; its window is filled in.
	How request.Replay
	// Done takes the outcome. Calls come one at a time, in no order.
	Done func(*request.Replayed) error
	// Hopeless marks that prices are such that even an honest account can end beyond what
	// the books can hold: a failure leaves no capsule.
	Hopeless bool
	// Failed reports that the plugin did not come to the end.
	Failed bool

	twice bool // a replay of a queue is made here, too
}

// confirmed is how many replays of a queue there are to one that is made here, too.
const confirmed = 20

// RunPlays makes replays side by side, in the order of the list as workers become free, so
// that long ones belong at its beginning. The error is the first in that order.
func (b *Bench) RunPlays(ctx context.Context, list []*Play) error {
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	var telling sync.Mutex
	workers := b.workers
	if b.Queue != nil && b.Played != nil {
		workers = max(workers, b.Queue.Out())
	}
	for range min(workers, len(list)) {
		wg.Go(func() {
			for i := range next {
				r, err := b.playOne(work, list[i], false)
				telling.Lock()
				var refused *request.Error
				switch {
				case err == nil:
					b.sandbox = sandbox.Weaker(b.sandbox, r.Sandbox)
					list[i].Failed = r.Failure != nil
					err = list[i].Done(r)
				case errors.As(err, &refused) && b.Played != nil && !isOfQueue(refused):
					b.noteRefusal(list[i].Test, refused)
					err = nil
				}
				b.countReplay(r)
				telling.Unlock()
				if errs[i] = err; err != nil {
					cancel()
				}
			}
		})
	}
	for i := range list {
		list[i].twice = b.settled && i%confirmed == 0
		next <- i
	}
	close(next)
	wg.Wait()
	return request.FirstCause(errs)
}

// isOfQueue reports whether an error is about the machines of a queue: it says nothing about a strategy.
func isOfQueue(err *request.Error) bool {
	return err.Code == request.CodeTrialLost || err.Code == request.CodeTrialDiverged
}

// noteRefusal notes why a replay of a test is not possible; the first reason by text stays,
// whichever came first.
func (b *Bench) noteRefusal(test string, why *request.Error) {
	if have := b.refused[test]; have == "" || why.Message < have {
		b.refused[test] = why.Message
	}
}

// playOne makes one replay, with the candles that it needs and no longer. keep keeps a
// capsule if the plugin fails.
func (b *Bench) playOne(ctx context.Context, p *Play, keep bool) (_ *request.Replayed, err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	question, r := b.Prepared, p.How
	r.From, r.To = p.Part.From, p.Part.To
	switch {
	case p.Program != nil || p.Elsewhere != nil:
		m, err := b.buildProgram(ctx, p)
		if m == nil || err != nil {
			return &request.Replayed{}, err
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		question = m.Prepared
	case p.Market != nil:
		question = p.Market
	case p.On != nil:
		set, err := p.On()
		if err != nil {
			return nil, err
		}
		m, err := b.EnterMarket(ctx, set)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		question = m.Prepared
	}
	if question != b.Prepared {
		if r.From, r.To, err = p.window(b.Prepared, question); err != nil {
			return nil, err
		}
	}
	var out *request.Replayed
	if b.Queue != nil && !keep && b.Played != nil && b.mayTravel(p) {
		out, err = b.playOnQueue(ctx, p, question, r)
	} else {
		out, err = b.playHere(ctx, question, r, keep)
	}
	var refused *request.Error
	if errors.As(err, &refused) && refused.Code == request.CodeParams && len(p.How.Params) > 0 {
		return &request.Replayed{}, nil // a point that the strategy does not have
	}
	return out, err
}

// mayTravel reports whether a worker could make a replay: its program is that of the job, and so are the
// rows of inputs.
func (b *Bench) mayTravel(p *Play) bool {
	moved := p.How.MoveInputs != nil && b.Prepared.ReadsInputs()
	return p.Program == nil && p.Elsewhere == nil && !moved
}

// playHere makes a replay in this process, as many side by side as there are workers.
func (b *Bench) playHere(ctx context.Context, question *request.Prepared, r request.Replay,
	keep bool) (out *request.Replayed, err error) {
	b.here <- struct{}{}
	defer func() { <-b.here }()
	host := *b.Host
	host.Forks = &b.forks
	if !keep { // what a play on changed candles comes to is a row, no news
		host.Logger = hclog.NewNullLogger()
	}
	err = host.Replay(ctx, question, []request.Replay{r}, request.ReplayOptions{
		Workers: 1, Plain: true, Capsules: keep,
		Done: func(_ int, r *request.Replayed) error { out = r; return nil },
	})
	return out, err
}

// playOnQueue has a replay made by a worker. One in 20 is made here, too: that finds a broken worker.
func (b *Bench) playOnQueue(ctx context.Context, p *Play, question *request.Prepared,
	r request.Replay) (*request.Replayed, error) {
	out, err := b.Queue.Replay(ctx, question, r)
	if err != nil || !p.twice {
		return out, err
	}
	own, err := b.playHere(ctx, question, r, false)
	if err != nil {
		return nil, err
	}
	same, err := request.SameReplay(out, own)
	if err == nil && !same {
		err = request.Errorf(request.CodeTrialDiverged, "a replay for %s went otherwise on a worker than "+
			"here: the program or a machine is not deterministic", p.Test)
	}
	return out, err
}

// Market is the base's request on other candles, or of another program.
type Market struct {
	Prepared *request.Prepared
	remove   func() error
}

// EnterMarket writes changed candles down to be played on.
func (b *Bench) EnterMarket(ctx context.Context, set replay.Set) (*Market, error) {
	store, err := b.workdir.Put(ctx, set)
	if err != nil {
		return nil, err
	}
	symbols := make([]string, len(set))
	for i := range set {
		symbols[i] = string(set[i].Series.Symbol)
	}
	question, err := b.Host.On(ctx, b.Prepared, store.Store, symbols)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Market{question, store.Close}, nil
}

// Close removes the candles or the program.
func (m *Market) Close() error {
	m.Prepared.Close()
	return m.remove()
}

// buildProgram makes the program of a play; nil where it is none, or none with the base's
// parameters.
func (b *Bench) buildProgram(ctx context.Context, p *Play) (m *Market, err error) {
	folder, err := os.MkdirTemp(b.workdir.Dir(), "program-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(folder) }
	defer func() {
		if m == nil {
			err = errors.Join(err, remove())
		}
	}()
	slug := b.Prepared.Request.Slug
	var program project.Built
	if p.Elsewhere != nil {
		program, err = b.Sources.BuildElsewhere(ctx, *p.Elsewhere, folder, slug)
	} else {
		program, err = b.Sources.Build(ctx, *p.Program, folder, slug)
	}
	var none *project.BuildError
	if errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	question, err := b.Host.Other(ctx, b.Prepared, program, folder)
	var refused *request.Error
	if errors.As(err, &refused) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &Market{question, remove}, nil
}

func (p *Play) window(base, changed *request.Prepared) (from, to int, err error) {
	at := p.At
	if at == nil {
		at = func(t market.Time) market.Time { return t }
	}
	start, last := at(base.OpenAt(p.Part.From)), at(base.CloseAt(p.Part.To-1))
	n := changed.Candles()
	for from < n && changed.OpenAt(from) < start {
		from++
	}
	to = n
	for !p.Open && to > 0 && changed.CloseAt(to-1) > last {
		to--
	}
	if from >= to {
		return 0, 0, fmt.Errorf("the changed candles have none from %s to %s", start, last)
	}
	return from, to, nil
}

// Quick is how replays are driven that are about candles and rules only: one thread is
// enough for the plugin, the others are its neighbours'.
var Quick = run.Drive{Procs: 1, Unreplayed: true, Forked: true}
