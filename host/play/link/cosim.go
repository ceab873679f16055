package link

import (
	"bytes"
	"fmt"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// CoSimulation is the Decider that reads the plugin's stream of intents. The plugin
// runs the same simulator over the same candles; the host compares ledger digests.
type CoSimulation struct {
	stream    *Stream
	gate      *Gate
	symbols   []market.Symbol
	total     int64 // steps of the run
	stepLimit time.Duration

	batch     wire.Decisions
	next      int   // of batch.Decisions
	trace     int   // of batch.Trace
	watermark int64 // last step decided; -1 before the first batch
	before    [32]byte

	// Advanced, if set, hears of every new watermark.
	Advanced func(watermark int64)
}

// NewCoSimulation reads the intents of a run of total steps over symbols. The
// watermark must advance within the limit. start is the ledger digest of an engine
// that has not begun.
func NewCoSimulation(s *Stream, g *Gate, symbols []market.Symbol, total int64, limit time.Duration, start [32]byte) *CoSimulation {
	return &CoSimulation{stream: s, gate: g, symbols: symbols, total: total, stepLimit: limit, watermark: -1, before: start}
}

// Decide implements sim.Decider.
func (c *CoSimulation) Decide(e *sim.Engine) ([]market.Intent, error) {
	c.gate.Pass()
	step := e.Step()
	for step > c.watermark {
		if err := c.fetch(); err != nil {
			return nil, err
		}
	}
	digest := e.Digest()
	if err := c.compare(step, e.Time(), digest); err != nil {
		return nil, err
	}
	if c.batch.Broken != nil && step == c.batch.BrokenStep {
		return nil, Failf("PLUGIN_PROTOCOL_ERROR", map[string]any{"step": step}, "%w", c.batch.Broken)
	}
	if c.next < len(c.batch.Decisions) && c.batch.Decisions[c.next].Step == step {
		c.next++
		return c.batch.Decisions[c.next-1].Intents, nil
	}
	return nil, nil
}

// fetch waits for the next batch. The watermark must advance within the limit,
// however much else the plugin says.
func (c *CoSimulation) fetch() (err error) {
	c.gate.Outside(func() {
		timer := time.NewTimer(c.stepLimit)
		defer timer.Stop()
		c.batch, err = c.receive(timer.C)
	})
	c.next, c.trace = 0, 0
	if err == nil {
		c.watermark = c.batch.Watermark
		if c.Advanced != nil {
			c.Advanced(c.watermark)
		}
	}
	return err
}

func (c *CoSimulation) receive(deadline <-chan time.Time) (wire.Decisions, error) {
	m, err := c.stream.Recv(deadline, fmt.Sprintf("no step beyond %d was decided within %s", c.watermark, c.stepLimit))
	if err != nil {
		return wire.Decisions{}, err
	}
	if err := Answer(m); err != nil {
		return wire.Decisions{}, err
	}
	if m.GetDecisions() == nil {
		return wire.Decisions{}, Failf("PLUGIN_PROTOCOL_ERROR", nil, "the plugin sent %T where decisions were due", m.GetMessage())
	}
	return wire.DecisionsFromProto(m.GetDecisions(), c.symbols, c.watermark, c.total)
}

// compare checks the books of both sides: at every step where the plugin says that
// its ledger changed, at every step where the host's did, and at the watermark.
func (c *CoSimulation) compare(step int64, at market.Time, digest [32]byte) error {
	changed := digest != c.before
	c.before = digest
	if c.trace < len(c.batch.Trace) && c.batch.Trace[c.trace].Step == step {
		theirs := c.batch.Trace[c.trace].Digest
		c.trace++
		if !bytes.Equal(theirs[:], digest[:wire.TraceBytes]) {
			return diverged(step, at)
		}
	} else if changed {
		return diverged(step, at)
	}
	if step == c.watermark && c.batch.Digest != digest {
		return diverged(step, at)
	}
	return nil
}

func diverged(step int64, at market.Time) error {
	return Failf("PLUGIN_DIVERGED", map[string]any{"step": step, "candle_time": at.String()},
		"the plugin's books differ from the host's at step %d (%s): it was built with another simulator, or with fused multiply-add", step, at)
}

// Bankrupt checks the end of a run in which equity was gone: the plugin must have
// come to the same end at the same step.
func (c *CoSimulation) Bankrupt(e *sim.Engine) error {
	step := e.Step()
	for c.watermark < step {
		if err := c.fetch(); err != nil {
			return err
		}
	}
	if c.watermark != step || c.batch.Digest != e.Digest() {
		return diverged(step, e.Time())
	}
	return nil
}
