package request

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Replay is one play of a question under other conditions. Nothing of it is stored.
type Replay struct {
	// ID names the split in decision lines. Plays whose decision hashes are compared have
	// the same.
	ID string
	// From and To are candles of the question's timeline, half-open.
	From, To int
	// Params and Execution replace those of the question where they are given.
	Params, Execution json.RawMessage
	// CostTenths multiplies fees and slippage by tenths: 15 is half as much again; 0 and 10
	// are as they are.
	CostTenths int
	// DelayCandles and WorstPrice are stress, see sim.Config.
	DelayCandles int
	WorstPrice   bool
	// Seed replaces that of the question unless it is 0.
	Seed uint64
	// Drive is how the plugin is driven.
	Drive run.Drive
	// Lines keeps the decision lines.
	Lines bool
	// Series keeps every point that the strategy publishes.
	Series bool
}

// Replayed is how a replay went.
type Replayed struct {
	// Failure is why the plugin did not come to the end; the rest is what there was until
	// then, Results nil where nothing was.
	Failure *artifact.Failure
	// Capsule is that of the failure, nil where none was asked for or kept.
	Capsule *capsule.Note
	Results *artifact.Results
	// Input is what the metrics were computed from.
	Input metric.Input
	// Metrics are not cut for samples that are too small.
	Metrics metric.Values
	// Lines are the decision lines, each ended by a newline.
	Lines []byte
	// Published is what the strategy published in the window.
	Published run.Published
	// Sandbox is the level that the process ran under, "" if there was none.
	Sandbox string
	// Lead is how many candles of warm-up lay before the window, Short how many of its own
	// candles served as warm-up.
	Lead  int64
	Short int
}

// ReplayOptions are how replays are made.
type ReplayOptions struct {
	// Workers play side by side; the host's number if 0.
	Workers int
	// Plain leaves out the encryption between host and plugin, as in a search.
	Plain bool
	// Capsules keeps a capsule of each replay whose plugin failed, with those of the
	// question's run.
	Capsules bool
	// Done hears of each replay when it has ended, one at a time and in no order; the index
	// is that of the list. An error ends the others.
	Done func(i int, r *Replayed) error
}

// Candles is how many candles the timeline of a question has.
func (p *Prepared) Candles() int { return len(p.timeline.closes) }

// CloseAt is the close time of a candle of the timeline.
func (p *Prepared) CloseAt(i int) market.Time { return p.timeline.closes[i] }

// OpenAt is the open time of a candle of the timeline.
func (p *Prepared) OpenAt(i int) market.Time { return p.timeline.opens[i] }

// Datasets are the pinned files of the question's symbols, in their order.
func (p *Prepared) Datasets(ctx context.Context) ([]candle.Dataset, error) {
	tf, err := market.ParseTimeframe(p.Question.Timeframe)
	if err != nil {
		return nil, err
	}
	var list []candle.Dataset
	for _, s := range p.Question.Symbols {
		d, err := p.candles.Pinned(ctx, p.Question.Exchange, market.Symbol(s), tf, p.pins[market.Symbol(s)])
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// Store is where the question's candles are.
func (p *Prepared) Store() *candle.Store { return p.candles }

// On is the same question on other candles: those that a store has now of the symbols,
// from the first to the last, however few, and not split. It shares the program with the
// original, which must be closed last, and its capsules go to the original's run.
func (h *Host) On(ctx context.Context, p *Prepared, store *candle.Store, symbols []string) (*Prepared, error) {
	v := &Prepared{Question: p.Question, Strategy: p.Strategy, catalog: p.catalog, borrowed: true, candles: store, whole: true}
	v.Question.Symbols, v.Question.Pins, v.Question.Start, v.Question.End = symbols, nil, nil, nil
	err := v.compose(h, func() error { return h.data(ctx, v) })
	v.RunID = p.RunID
	return v, err
}

// Other is the same question asked of another program on the same candles. What the program
// needs is kept in a folder, which may be removed after Close. Its capsules would go to the
// original's run.
func (h *Host) Other(
	ctx context.Context, p *Prepared, program project.Built, folder string,
) (_ *Prepared, err error) {
	v := &Prepared{Question: p.Question, data: p.data, candles: p.candles, timeline: p.timeline,
		whole: p.whole, pins: p.pins}
	v.Question.Plugin = program
	apart := *h
	apart.StateDir, apart.Reattach = folder, ""
	if v.catalog, err = apart.openPlugin(ctx, v.Question); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			v.Close()
		}
	}()
	if v.Strategy, err = lookUp(v.catalog, v.Question); err != nil {
		return nil, err
	}
	err = v.compose(h, func() error { return nil })
	v.RunID = p.RunID
	return v, err
}

// Replay makes replays side by side. The error is the first in the order of the list
// that is no failure of the plugin.
func (h *Host) Replay(ctx context.Context, p *Prepared, list []Replay, o ReplayOptions) error {
	spool := filepath.Join(h.StateDir, "tmp", "lab")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return err
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	launcher := h.launcher(p, spool, o.Plain)
	var telling sync.Mutex
	return FirstCause(SideBySide(cmp.Or(max(o.Workers, 0), h.workers()), len(list), func(i int) error {
		r, err := h.replayOne(work, launcher, p, list[i], o)
		if err == nil && o.Done != nil {
			telling.Lock()
			defer telling.Unlock()
			err = o.Done(i, r)
		}
		if err != nil {
			cancel()
		}
		return err
	}))
}

func (h *Host) replayOne(ctx context.Context, l *run.Launcher, p *Prepared, r Replay, o ReplayOptions) (*Replayed, error) {
	played, err := h.playOne(ctx, l, p, job{Replay: r, keep: true})
	if err != nil {
		return nil, err
	}
	out := &Replayed{
		Failure: played.failure, Results: played.results, Input: played.input, Lead: played.lead, Short: played.short,
	}
	if out.Results != nil && out.Results.Metrics != nil {
		out.Metrics = out.Results.Metrics.Metrics
	}
	out.Published, out.Sandbox = played.published, played.sandbox
	if out.Failure != nil && o.Capsules {
		out.Capsule = h.capturer().capture(ctx, p, &played)
	}
	if r.Lines && played.decisions != nil {
		var b bytes.Buffer
		err = played.decisions(&b)
		out.Lines = b.Bytes()
	}
	if played.close != nil {
		err = errors.Join(err, played.close())
	}
	return out, err
}

// Describe is what the plugin of a question says about itself.
func (h *Host) Describe(ctx context.Context, q Question) (*catalog.Strategy, error) {
	c, err := h.openPlugin(ctx, q)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return lookUp(c, q)
}

// Decisions plays the first candles, and before them those until every symbol has joined,
// several times, each in a fresh process, and returns the decision hashes. The failure is that of the first run whose plugin
// failed.
func (h *Host) Decisions(ctx context.Context, p *Prepared, candles, times int) ([]string, *artifact.Failure, error) {
	jobs := make([]job, times)
	for i := range jobs {
		jobs[i] = job{Replay: Replay{ID: "full", To: min(p.joined()+candles, len(p.timeline.closes))}}
	}
	played, err := h.play(ctx, p, jobs, nil)
	if err != nil {
		return nil, nil, err
	}
	var hashes []string
	for i := range played {
		if played[i].failure != nil {
			return nil, played[i].failure, nil
		}
		hashes = append(hashes, played[i].results.DecisionHash)
	}
	return hashes, nil, nil
}
