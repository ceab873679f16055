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
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/project/literal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Part is the candles [From, To) of the base's timeline.
type Part struct{ From, To int }

// play is one replay that a test wants.
type play struct {
	test string
	// on makes the candles that it is played on; nil: those of the base, untouched.
	on func() (replay.Set, error)
	// market is changed candles that are there already, nil without.
	market *evaluate.Prepared
	// program is one with another number in its sources, nil for that of the base. What is no
	// program is not played.
	program *literal.Variant
	// part is the window, on the timeline of the base.
	part Part
	// at moves the window in time, nil: where it is. open lets it run to the last candle
	// that there is.
	at   func(market.Time) market.Time
	open bool
	// how is the rest; its window is filled in.
	how evaluate.Replay
	// done takes what is wanted of the outcome. Calls come one at a time, in no order.
	done func(*evaluate.Replayed) error
	// hopeless says that prices are such that even an honest account can end beyond what
	// the books can hold: a failure leaves no capsule.
	hopeless bool
	// failed says that the plugin did not come to the end.
	failed bool
}

// play makes replays side by side, in the order of the list as workers become free, so
// that long ones belong at its beginning. The error is the first in that order.
func (b *bench) play(ctx context.Context, list []*play) error {
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	var telling sync.Mutex
	for range min(b.workers, len(list)) {
		wg.Go(func() {
			for i := range next {
				r, err := b.playOne(work, list[i], false)
				telling.Lock()
				var refused *evaluate.Error
				switch {
				case err == nil:
					b.sandbox = sandbox.Weaker(b.sandbox, r.Sandbox)
					list[i].failed = r.Failure != nil
					err = list[i].done(r)
				case errors.As(err, &refused) && b.base != nil:
					b.refuse(list[i].test, refused)
					err = nil
				}
				b.count(r)
				telling.Unlock()
				if errs[i] = err; err != nil {
					cancel()
				}
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	wg.Wait()
	return evaluate.FirstCause(errs)
}

// refuse notes why a replay of a test is not possible; the first reason by text stays,
// whichever came first.
func (b *bench) refuse(test string, why *evaluate.Error) {
	if have := b.refused[test]; have == "" || why.Message < have {
		b.refused[test] = why.Message
	}
}

// playOne makes one replay, with the candles that it needs and no longer. keep keeps a
// capsule if the plugin fails.
func (b *bench) playOne(ctx context.Context, p *play, keep bool) (_ *evaluate.Replayed, err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	question, r := b.Question, p.how
	r.From, r.To = p.part.From, p.part.To
	switch {
	case p.program != nil:
		v, err := b.build(ctx, *p.program)
		if v == nil || err != nil {
			return &evaluate.Replayed{}, err
		}
		defer func() { err = errors.Join(err, v.close()) }()
		question = v.question
	case p.market != nil:
		question = p.market
	case p.on != nil:
		set, err := p.on()
		if err != nil {
			return nil, err
		}
		m, err := b.enter(ctx, set)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, m.close()) }()
		question = m.question
	}
	if question != b.Question {
		if r.From, r.To, err = p.window(b.Question, question); err != nil {
			return nil, err
		}
	}
	var out *evaluate.Replayed
	host := *b.Host
	if !keep { // what a play on changed candles comes to is a row, no news
		host.Logger = hclog.NewNullLogger()
	}
	err = host.Replay(ctx, question, []evaluate.Replay{r}, evaluate.ReplayOptions{
		Workers: 1, Plain: true, Capsules: keep,
		Done: func(_ int, r *evaluate.Replayed) error { out = r; return nil },
	})
	var refused *evaluate.Error
	if errors.As(err, &refused) && refused.Code == "PARAMS_INVALID" && len(p.how.Params) > 0 {
		return &evaluate.Replayed{}, nil // a point that the strategy does not have
	}
	return out, err
}

// changed is the base's question on other candles.
type changed struct {
	store    *replay.Store
	question *evaluate.Prepared
}

// enter writes changed candles down to be played on.
func (b *bench) enter(ctx context.Context, set replay.Set) (*changed, error) {
	store, err := b.room.Put(ctx, set)
	if err != nil {
		return nil, err
	}
	symbols := make([]string, len(set))
	for i := range set {
		symbols[i] = string(set[i].Series.Symbol)
	}
	question, err := b.Host.On(ctx, b.Question, store.Store, symbols)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &changed{store, question}, nil
}

func (c *changed) close() error {
	c.question.Close()
	return c.store.Close()
}

// built is the base's question asked of another program.
type built struct {
	folder   string
	question *evaluate.Prepared
}

// build makes the program of a variant; nil where it is none, or none with the base's
// parameters.
func (b *bench) build(ctx context.Context, v literal.Variant) (_ *built, err error) {
	out := &built{}
	if out.folder, err = b.room.Folder(); err != nil {
		return nil, err
	}
	defer func() {
		if out.question == nil || err != nil {
			err = errors.Join(err, os.RemoveAll(out.folder))
		}
	}()
	program, err := b.Sources.Build(ctx, v, out.folder, b.Question.Question.Slug)
	var none *project.BuildError
	if errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out.question, err = b.Host.Other(ctx, b.Question, program, out.folder)
	var refused *evaluate.Error
	if errors.As(err, &refused) {
		return nil, nil
	}
	return out, err
}

func (o *built) close() error {
	o.question.Close()
	return os.RemoveAll(o.folder)
}

// window finds the part of the base on other candles.
func (p *play) window(base, changed *evaluate.Prepared) (from, to int, err error) {
	at := p.at
	if at == nil {
		at = func(t market.Time) market.Time { return t }
	}
	start, last := at(base.OpenAt(p.part.From)), at(base.CloseAt(p.part.To-1))
	n := changed.Candles()
	for from < n && changed.OpenAt(from) < start {
		from++
	}
	to = n
	for !p.open && to > 0 && changed.CloseAt(to-1) > last {
		to--
	}
	if from >= to {
		return 0, 0, fmt.Errorf("the changed candles have none from %s to %s", start, last)
	}
	return from, to, nil
}

// quick is how replays are driven that are about candles and rules only: one thread is
// enough for the plugin, the others are its neighbours'.
var quick = run.Drive{Procs: 1}
