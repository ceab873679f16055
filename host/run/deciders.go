package run

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Lockstep is the Decider that sends each step and waits for the answer: no candle
// enters the plugin before it has closed.
type Lockstep struct {
	stream    *Stream
	gate      *Gate
	symbols   []market.Symbol
	stepLimit time.Duration
	step      wire.Step
	inputs    func(market.Time) [][]market.InputRow // nil: the strategy reads none
	timer     *time.Timer
}

// NewLockstep answers each step within a limit of time.
func NewLockstep(s *Stream, g *Gate, symbols []market.Symbol, limit time.Duration) *Lockstep {
	n := len(symbols)
	return &Lockstep{
		stream: s, gate: g, symbols: symbols, stepLimit: limit, timer: time.NewTimer(limit),
		step: wire.Step{Candles: make([]market.Candle, n), Closed: make([]bool, n),
			Positions: make([]sdk.Position, n)},
	}
}

// ReadInputs says where the rows of the strategy's inputs come from, in its order: at each step those that
// became known by its close and were not sent yet.
func (l *Lockstep) ReadInputs(until func(market.Time) [][]market.InputRow) { l.inputs = until }

// Decide implements sim.Decider.
func (l *Lockstep) Decide(e *sim.Engine) (intents []market.Intent, err error) {
	message := l.message(e)
	l.gate.Outside(func() { intents, err = l.ask(message, l.step.Index) })
	return intents, err
}

// FromProject is Decide for an account that is no simulator's. It is called without the gate.
func (l *Lockstep) Ask(s *wire.Step) ([]market.Intent, error) {
	if l.inputs != nil {
		s.Inputs = l.inputs(s.CloseTime)
	}
	return l.ask(
		&strategypb.HostMessage{Message: &strategypb.HostMessage_Step{Step: wire.StepToProto(s, l.symbols)}},
		s.Index)
}

func (l *Lockstep) message(e *sim.Engine) *strategypb.HostMessage {
	s := &l.step
	s.Index, s.CloseTime, s.Warmup = e.Step(), e.Time(), e.Warmup()
	s.Cash, s.Equity = e.Cash(), e.Equity()
	s.Fills, s.Orders = e.Fills(), e.Updates()
	if l.inputs != nil {
		s.Inputs = l.inputs(s.CloseTime)
	}
	for i := range l.symbols {
		s.Closed[i] = e.Closed(i)
		if s.Closed[i] {
			s.Candles[i] = *e.Candle(i)
		}
		s.Positions[i].Quantity, s.Positions[i].EntryPrice, s.Positions[i].CandlesHeld = e.Holding(i)
	}
	return &strategypb.HostMessage{
		Message: &strategypb.HostMessage_Step{Step: wire.StepToProto(s, l.symbols)}}
}

func (l *Lockstep) ask(message *strategypb.HostMessage, step int64) ([]market.Intent, error) {
	if err := l.stream.Send(message); err != nil {
		return nil, err
	}
	l.timer.Reset(l.stepLimit)
	m, err := l.stream.Recv(l.timer.C, fmt.Sprintf("step %d was not decided within %s", step, l.stepLimit))
	if err != nil {
		return nil, err
	}
	if err := Answer(m); err != nil {
		return nil, err
	}
	if m.GetDecision() == nil {
		return nil, Failf(CodePluginProtocol, nil, "the plugin sent %T where the decision of step %d was due",
			m.GetMessage(), step)
	}
	if got := m.GetDecision().GetStep(); got != step {
		return nil, Failf(CodePluginProtocol, map[string]any{"step": step},
			"the plugin answered step %d where step %d was due", got, step)
	}
	d, err := wire.DecisionFromProto(m.GetDecision(), l.symbols)
	if err != nil {
		return nil, Failf(CodePluginProtocol, map[string]any{"step": step}, "%w", err)
	}
	return d.Intents, nil
}

// coSimulation is the Decider that reads the plugin's stream of intents. The plugin
// runs the same simulator over the same candles; the host compares ledger digests.
type coSimulation struct {
	stream    *Stream
	gate      *Gate
	symbols   []market.Symbol
	total     int64         // steps of the run
	stepLimit time.Duration // within which the watermark must advance

	batch     wire.Decisions
	next      int      // of batch.Decisions
	trace     int      // of batch.Trace
	watermark int64    // last step decided; -1 before the first batch
	before    [32]byte // the ledger digest of the step before; at first of an engine that has not begun

	// Advanced, if set, is called with every new watermark.
	Advanced func(watermark int64)
}

// Decide implements sim.Decider.
func (c *coSimulation) Decide(e *sim.Engine) ([]market.Intent, error) {
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
		return nil, Failf(CodePluginProtocol, map[string]any{"step": step}, "%w", c.batch.Broken)
	}
	if c.next < len(c.batch.Decisions) && c.batch.Decisions[c.next].Step == step {
		c.next++
		return c.batch.Decisions[c.next-1].Intents, nil
	}
	return nil, nil
}

// fetch waits for the next batch. The watermark must advance within the limit,
// however much else the plugin sends.
func (c *coSimulation) fetch() (err error) {
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

func (c *coSimulation) receive(deadline <-chan time.Time) (wire.Decisions, error) {
	m, err := c.stream.Recv(deadline,
		fmt.Sprintf("no step beyond %d was decided within %s", c.watermark, c.stepLimit))
	if err != nil {
		return wire.Decisions{}, err
	}
	if err := Answer(m); err != nil {
		return wire.Decisions{}, err
	}
	if m.GetDecisions() == nil {
		return wire.Decisions{},
			Failf(CodePluginProtocol, nil, "the plugin sent %T where decisions were due", m.GetMessage())
	}
	return wire.DecisionsFromProto(m.GetDecisions(), c.symbols, c.watermark, c.total)
}

// compare checks the books of both sides: at every step where the plugin reports that
// its ledger changed, at every step where the host's did, and at the watermark.
func (c *coSimulation) compare(step int64, at market.Time, digest [32]byte) error {
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
	return Failf(CodePluginDiverged, map[string]any{"step": step, "candle_time": at.String()},
		"the plugin's books differ from the host's at step %d (%s): it was built with another simulator, "+
			"or with fused multiply-add", step, at)
}

// Bankrupt checks the end of a run in which equity was gone: the plugin must have
// come to the same end at the same step.
func (c *coSimulation) Bankrupt(e *sim.Engine) error {
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

// chunkBytes bounds a chunk, so that all that may be on the way at once fit into the
// window of the transport.
const chunkBytes = 3 << 19

// stepBytes and rowBytes are what a step takes in a chunk, and a candle in a step:
// the open time and five prices, and its bit. A value of an indicator takes lineBytes.
const (
	stepBytes = 8
	rowBytes  = 6*8 + 1
	lineBytes = 8 + 1
)

// ChunkSteps returns how many steps a chunk has in a run of this many symbols.
func ChunkSteps(symbols int) int { return chunkSteps(symbols, 0) }

// chunkSteps is ChunkSteps with so many lines of indicators beside the candles.
func chunkSteps(symbols, lines int) int {
	return max(1, min(wire.ChunkSteps, chunkBytes/(stepBytes+rowBytes*symbols+lineBytes*lines)))
}

// Candles hands over the candles of a co-simulation in messages. It is never more
// than wire.ChunksAhead chunks ahead of the plugin's watermark, which bounds the
// memory of a run on both sides.
type Candles struct {
	stream *Stream
	chunks *chunks

	mu        sync.Mutex
	moved     *sync.Cond
	watermark int64 // last step decided; -1 before the first
	over      bool
	done      chan struct{}
}

// SendCandles begins to send a feed of so many steps, which it reads alone until it
// ends. Wait must be called before the data are given back.
func SendCandles(s *Stream, feed sim.Feed, symbols int, total int64) *Candles {
	c := &Candles{stream: s, chunks: newChunks(feed, symbols, total), watermark: -1,
		done: make(chan struct{})}
	c.moved = sync.NewCond(&c.mu)
	go func() {
		defer close(c.done)
		c.send()
	}()
	return c
}

// Advanced notes how far the plugin has come.
func (c *Candles) Advanced(watermark int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watermark = watermark
	c.moved.Signal()
}

// Stop begins no further chunk. One that is being sent may still be on its way. Without c there is
// nothing to stop, nor to wait for.
func (c *Candles) Stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.moved.Signal()
}

// Wait returns when the feed is no longer read. Call Stop and close the stream before.
func (c *Candles) Wait() {
	if c != nil {
		<-c.done
	}
}

// send sends chunk after chunk. Why a message cannot be sent is known to the reader of
// the stream.
func (c *Candles) send() {
	for n := c.chunks.size(); n > 0; n = c.chunks.size() {
		if !c.awaitRoom(c.chunks.sent + n) {
			return
		}
		m, ok := c.chunks.next()
		if !ok || c.stream.Send(m) != nil {
			return
		}
	}
}

// awaitRoom waits until the steps before end may be sent; false means that the run is over.
func (c *Candles) awaitRoom(end int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.over && end-(c.watermark+1) > wire.ChunksAhead*int64(c.chunks.writer.Steps) {
		c.moved.Wait()
	}
	return !c.over
}
