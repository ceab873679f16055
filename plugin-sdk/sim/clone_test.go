package sim_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// cloner clones its engine at one step. One copy plays to the end without a further intent, which must leave
// no trace, another one with those of the world.
type cloner struct {
	script
	t    *rapid.T
	at   int64
	feed *sim.SeriesFeed
	with *sim.Engine
}

func (c *cloner) Decide(e *sim.Engine) ([]market.Intent, error) {
	intents, err := c.script.Decide(e)
	if e.Step() != c.at {
		return intents, err
	}
	without := e.Clone()
	c.run(without, &script{w: &world{}})
	c.with = e.Clone()
	if err := c.with.Accept(intents); err != nil {
		c.t.Fatal(err)
	}
	c.run(c.with, &script{w: c.w, s: c.s})
	return c.script.Decide(e)
}

func (c *cloner) run(e *sim.Engine, d sim.Decider) {
	if err := sim.Run(e, c.feed.Clone(), d); err != nil {
		c.t.Fatal(err)
	}
}

// TestClone: a copy of an engine comes to the same end, and does nothing to the engine that it was made of.
func TestClone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want, whole := w.play(t, plainScale, allSteps, nil)
		e, feed := w.begin(t, plainScale, allSteps, nil)
		c := &cloner{script: script{w: w, s: plainScale}, t: t, feed: feed,
			at: int64(rapid.IntRange(0, len(whole.digests)-1).Draw(t, "cloned at"))}
		if err := sim.Run(e, feed, c); err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string]*sim.Engine{"the original": e, "the copy": c.with} {
			if got.Digest() != want.Digest() || got.Stats() != want.Stats() || got.Mark() != want.Mark() {
				t.Errorf("%s, cloned at step %d, ends with %+v %+v, not %+v %+v", name, c.at, got.Mark(),
					got.Stats(), want.Mark(), want.Stats())
			}
		}
	})
}

// watcher asks for nothing, and fails when something happens.
type watcher struct {
	t    *rapid.T
	from int64
}

func (w *watcher) Decide(e *sim.Engine) ([]market.Intent, error) {
	if len(e.Fills()) > 0 || len(e.Updates()) > 0 || e.Bankrupt() {
		w.t.Errorf("step %d: %+v %+v, though the engine was idle at step %d", e.Step(), e.Fills(), e.Updates(),
			w.from)
	}
	return nil, nil
}

// idler plays on without an intent from each step at which the engine is idle.
type idler struct {
	script
	t    *rapid.T
	feed *sim.SeriesFeed
	held *int // idle engines that hold something
}

func (d *idler) Decide(e *sim.Engine) ([]market.Intent, error) {
	if e.Idle() {
		if e.Mark().Notional > 0 {
			*d.held++
		}
		if err := sim.Run(e.Clone(), d.feed.Clone(), &watcher{d.t, e.Step()}); err != nil {
			d.t.Fatal(err)
		}
	}
	return d.script.Decide(e)
}

// TestIdle: nothing happens to an idle engine until an intent comes, whatever it holds.
func TestIdle(t *testing.T) {
	held := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		e, feed := w.begin(t, plainScale, allSteps, nil)
		if err := sim.Run(e, feed, &idler{script{w: w, s: plainScale}, t, feed, &held}); err != nil {
			t.Fatal(err)
		}
	})
	if held < 20 {
		t.Errorf("only %d idle engines held something", held)
	}
}
