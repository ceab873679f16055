package run

import (
	"fmt"
	"time"

	"github.com/assay-run/assay/host/run/column"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// How many steps a script has: twice as many as the plugin decided of the one before. Runs of many symbols
// have shorter ones: the plugin holds their candles. A script ends early where much happens: a fill or an
// update of an order takes less than 1 KiB.
const (
	minScript    = 32
	maxScript    = 16384
	scriptEvents = 2048
)

// directSteps is how many steps a script may have that is sent without a goroutine of its own: it fits the
// buffer of the connection.
const directSteps = 16

// whilePlayed is how many steps of the next chunk are packed while the plugin plays a script, which takes it
// longer.
const whilePlayed = 128

// playTime is how long a plugin may play a script beside the step that it is at.
const playTime = time.Second

// advance is the Decider that has the plugin play many steps by itself. It tells it what happens to the
// account in them as long as no intent comes, which a copy of the engine finds out.
type advance struct {
	lockstep *Lockstep
	feed     *sim.SeriesFeed // of the run: what it delivers next follows the step that is decided
	chunks   *chunks
	total    int64   // steps of the run
	length   int64   // of the next script
	holds    []int64 // steps after which no candle is sent before they are decided, ascending

	through int64           // last step that is decided; -1 before the first
	intents []market.Intent // of this step
	fault   error           // of this step
}

// Decide implements sim.Decider.
func (a *advance) Decide(e *sim.Engine) ([]market.Intent, error) {
	gate, step := a.lockstep.gate, e.Step()
	gate.Pass()
	if step > a.through {
		a.hold(step)
		script := &strategypb.Script{Steps: []*strategypb.Step{a.stepOf(e)}}
		var ahead *sim.Engine
		if !e.Idle() {
			ahead = e.Clone()
		}
		var err error
		gate.Outside(func() {
			a.foresee(script, ahead, step)
			err = a.ask(script, step)
		})
		if err != nil {
			return nil, err
		}
	}
	if step < a.through {
		return nil, nil
	}
	return a.intents, a.fault
}

// hold ends the candles that the plugin has to decide a step at the next step to hold at.
func (a *advance) hold(step int64) {
	for len(a.holds) > 0 && a.holds[0] < step {
		a.holds = a.holds[1:]
	}
	a.chunks.end = a.total
	if len(a.holds) > 0 {
		a.chunks.end = a.holds[0] + 1
	}
}

// stepOf is the message about a step without its candles, which the plugin has.
func (a *advance) stepOf(e *sim.Engine) *strategypb.Step {
	m := a.lockstep.message(e).GetStep()
	m.Candles = nil
	return m
}

// foresee adds to a script what happens after its first step. Without a copy of the engine nothing does.
func (a *advance) foresee(s *strategypb.Script, ahead *sim.Engine, step int64) {
	n := len(a.lockstep.symbols)
	longest := max(minScript, maxScript/int64(n))
	if ahead == nil {
		s.Last = min(step+longest, a.chunks.end) - 1
		return
	}
	feed := a.feed.Clone()
	b := sim.Batch{Candles: make([]market.Candle, n), Closed: make([]bool, n)}
	end, size := min(step+min(a.length, longest), a.chunks.end), 0
	for s.Last = step; s.Last+1 < end; s.Last++ {
		more, err := feed.Next(&b)
		if err != nil || !more || ahead.Match(&b) != nil || ahead.Bankrupt() {
			return // the engine of the run comes to the same end
		}
		if len(ahead.Fills()) == 0 && len(ahead.Updates()) == 0 {
			continue
		}
		s.Steps = append(s.Steps, a.stepOf(ahead))
		if size += len(ahead.Fills()) + len(ahead.Updates()); size > scriptEvents {
			s.Last++
			return
		}
	}
}

// ask has a script played.
func (a *advance) ask(s *strategypb.Script, first int64) error {
	l := a.lockstep
	message := &strategypb.HostMessage{Message: &strategypb.HostMessage_Script{Script: s}}
	if more := a.chunks.through(s.Last); more != nil || len(s.Steps) > directSteps {
		l.stream.Post(append(more, message)...)
	} else if err := l.stream.Send(message); err != nil {
		return err
	}
	if a.chunks.end == a.total { // no candle is held back
		a.chunks.pack(whilePlayed)
	}
	l.timer.Reset(l.stepLimit + playTime)
	m, err := l.stream.Recv(l.timer.C,
		fmt.Sprintf("of the steps from %d on one was not decided within %s", first, l.stepLimit))
	if err != nil {
		return err
	}
	if step := m.GetFailed().GetStep(); m.GetFailed() != nil && step > first && step <= s.Last {
		a.through, a.intents, a.fault = step, nil, Answer(m)
		return nil
	}
	if err := Answer(m); err != nil {
		return err
	}
	if m.GetAdvanced() == nil {
		return Failf(CodePluginProtocol, nil, "the plugin sent %T where the end of a script was due",
			m.GetMessage())
	}
	step := m.GetAdvanced().GetStep()
	d, err := wire.AdvancedFromProto(m.GetAdvanced(), l.symbols, first, s.Last)
	if err != nil {
		err = Failf(CodePluginProtocol, map[string]any{"step": step}, "%w", err)
		if step < first || step > s.Last {
			return err
		}
	}
	a.through, a.intents, a.fault = step, d.Intents, err
	a.length = max(minScript, 2*(step-first+1))
	return nil
}

// chunks packs the candles of a run, in order, into messages.
type chunks struct {
	feed        sim.Feed
	writer      wire.CandlesWriter
	batch       sim.Batch
	sent, total int64 // steps
	end         int64 // of those that may be sent by now
	packed      int64 // of the next chunk
	known       [][]market.InputRow
	rows        int // of known

	// Beside the candles, in advance.
	columns *column.Columns
	inputs  func(market.Time) [][]market.InputRow // nil: the strategy reads none
}

// maxInputRows ends a chunk that has so many rows of inputs: some 1.5 MiB of them.
const maxInputRows = 1 << 16

// newAdvance makes the Decider of an advance, with the columns that the strategy can use.
func (x *Execution) newAdvance(p *plan, series []*market.Series) (*advance, error) {
	total, feed := x.data.layout.total, sim.NewSeriesFeed(series)
	columns, err := column.New(x.plugin.asked, len(series))
	if err != nil {
		return nil, x.plugin.startFailed(err)
	}
	x.feed.Feed = feed
	chunks := newChunks(sim.NewSeriesFeed(series), len(series), total)
	chunks.columns, chunks.writer.Steps = columns, chunkSteps(len(series), columns.Lines())
	if rows := x.data.inputRows(); rows != nil {
		chunks.inputs = InputReaders(rows)
	}
	return &advance{lockstep: NewLockstep(x.plugin.Stream, x.gate, p.Symbols, x.stepLimit), feed: feed,
		total: total, chunks: chunks, length: minScript, through: -1,
		holds: stepsAt(series, p.split.Drive.Holds)}, nil
}

// stepsAt returns the steps that close at the given times, both ascending.
func stepsAt(series []*market.Series, times []market.Time) (list []int64) {
	if len(times) == 0 {
		return nil
	}
	index := int64(0)
	for b := range steps(series) {
		for len(times) > 0 && times[0] < b.CloseTime {
			times = times[1:]
		}
		if len(times) > 0 && times[0] == b.CloseTime {
			list = append(list, index)
		}
		index++
	}
	return list
}

func newChunks(feed sim.Feed, symbols int, total int64) *chunks {
	return &chunks{
		feed: feed, total: total, end: total, writer: wire.CandlesWriter{Steps: ChunkSteps(symbols)},
		batch: sim.Batch{Candles: make([]market.Candle, symbols), Closed: make([]bool, symbols)},
	}
}

// size is how many steps the next chunk has; 0 after the last.
func (c *chunks) size() int64 { return min(int64(c.writer.Steps), c.end-c.sent) }

// pack adds up to so many steps to the next chunk. False means that the data ended or failed before.
func (c *chunks) pack(steps int64) bool {
	for range min(steps, c.size()-c.packed) {
		if c.rows >= maxInputRows {
			return true
		}
		if more, err := c.feed.Next(&c.batch); err != nil || !more {
			return false
		}
		c.writer.Add(c.batch.CloseTime, c.batch.Candles, c.batch.Closed)
		c.columns.Add(c.batch.Candles, c.batch.Closed)
		c.packed++
		if c.inputs == nil {
			continue
		}
		for i, rows := range c.inputs(c.batch.CloseTime) {
			if i == len(c.known) {
				c.known = append(c.known, nil)
			}
			c.known[i] = append(c.known[i], rows...)
			c.rows += len(rows)
		}
	}
	return true
}

// next packs what a chunk lacks. False means that the data ended or failed before: the host's own engine
// comes to the same end.
func (c *chunks) next() (*strategypb.HostMessage, bool) {
	if !c.pack(c.size()) {
		return nil, false
	}
	c.sent += c.packed
	m := c.writer.Message(c.sent == c.total)
	m.Indicators, m.Inputs = c.columns.Message(), wire.InputsToProto(c.known)
	c.packed, c.known, c.rows = 0, nil, 0
	return &strategypb.HostMessage{Message: &strategypb.HostMessage_Candles{Candles: m}}, true
}

// through packs what is not packed yet up to a step.
func (c *chunks) through(step int64) (list []*strategypb.HostMessage) {
	for c.sent <= step && c.sent < c.end {
		m, ok := c.next()
		if !ok {
			break
		}
		list = append(list, m)
	}
	return list
}
