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
