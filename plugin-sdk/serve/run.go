package serve

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// run is one run of the strategy, however it is driven.
type run struct {
	stream  stream
	box     *inbox
	start   wire.Start
	options sim.Options
	inputs  []sdk.Input
	rows    [][]market.InputRow // by input; of a co-simulation
	author  *drive.Author
	notes   *drive.Collector
	process *process // of a co-simulation
}

func newRun(st stream, box *inbox, start wire.Start, options sim.Options, strategy sdk.Strategy,
	kept drive.Kept) *run {
	limits := drive.DefaultLimits()
	if start.AllPoints {
		limits = drive.AllPoints()
	}
	notes := drive.NewCollector(limits, start.LogLevel)
	step, _ := options.QuantityStep.Float64()
	return &run{stream: st, box: box, start: start, options: options, notes: notes,
		author: drive.New(strategy, drive.Setup{
			Symbols: start.Symbols, QuantityStep: step, RootSeed: start.RootSeed, Sink: notes,
			Timeframe: start.Timeframe, Kept: kept, Inputs: start.Inputs,
		})}
}

// noteLines is how many log lines are sent in one message.
const noteLines = 200

// heldPoints is how many points of a backtest in lockstep wait for each other: a message of their own for
// each step would take half as long as the step and its answer.
const heldPoints = 256

// sendNotes sends the log lines and points that have come together.
func (r *run) sendNotes() error {
	if err := r.sendLines(); err != nil {
		return err
	}
	return r.sendPoints()
}

// sendStepNotes is sendNotes before the answer to one step.
func (r *run) sendStepNotes() error {
	if r.start.Purpose == strategypb.Purpose_PURPOSE_BACKTEST && r.notes.Pending() < heldPoints {
		return r.sendLines()
	}
	return r.sendNotes()
}

func (r *run) sendLines() error {
	lines, dropped := r.notes.TakeLines()
	for len(lines) > 0 || dropped > 0 {
		n := min(len(lines), noteLines)
		m := &strategypb.PluginMessage_LogLines{LogLines: wire.LogLinesToProto(lines[:n], dropped)}
		if err := r.stream.Send(&strategypb.PluginMessage{Message: m}); err != nil {
			return err
		}
		lines, dropped = lines[n:], 0
	}
	return nil
}

func (r *run) sendPoints() error {
	for {
		series, dropped := r.notes.TakePoints(wire.MaxMessagePoints)
		if len(series) == 0 && dropped == 0 {
			return nil
		}
		m := &strategypb.PluginMessage_Annotations{Annotations: wire.AnnotationsToProto(series, dropped)}
		if err := r.stream.Send(&strategypb.PluginMessage{Message: m}); err != nil {
			return err
		}
	}
}

// finish stops the strategy and sends what it logs then.
func (r *run) finish() error {
	failed := r.author.Stop()
	if err := r.sendNotes(); err != nil {
		return err
	}
	return sendFailure(r.stream, failed)
}

// fail sends what the strategy said before its fault, and the fault.
func (r *run) fail(err error) error {
	if err := r.sendNotes(); err != nil {
		return err
	}
	return sendFailure(r.stream, err)
}

// lockstep answers step by step until Finish, Stop or the end of the stream.
func (r *run) lockstep() error {
	var step wire.Step
	for next := int64(0); ; next++ {
		m, err := r.box.next()
		switch {
		case errors.Is(err, io.EOF):
			return r.finish()
		case err != nil:
			return err
		case m.GetFinish() != nil, m.GetStop() != nil:
			return r.finish()
		case m.GetStep() == nil:
			return outOfOrder("Step, Finish or Stop", m)
		case m.GetStep().GetIndex() != next:
			return status.Errorf(codes.FailedPrecondition, "step %d is expected now, not step %d", next,
				m.GetStep().GetIndex())
		}
		if err := step.FromProto(m.GetStep(), r.start.Symbols); err != nil {
			return err
		}
		if len(step.Inputs) > len(r.start.Inputs) {
			return &wire.ProtocolError{Field: "inputs",
				Message: "rows of an input that the strategy does not read"}
		}
		// A live candle may take hours: there the limits hold for each step.
		if next%wire.ChunkSteps == 0 || r.start.Purpose != strategypb.Purpose_PURPOSE_BACKTEST {
			r.notes.Refill()
		}
		intents, err := r.author.DecideStep(&step)
		if err != nil {
			return r.fail(err)
		}
		if err := r.sendStepNotes(); err != nil {
			return err
		}
		answer := &strategypb.PluginMessage_Decision{Decision: wire.DecisionToProto(next, intents,
			r.start.Symbols)}
		if err := r.stream.Send(&strategypb.PluginMessage{Message: answer}); err != nil {
			return err
		}
	}
}

const (
	// flushBytes keeps a batch far below wire.MaxMessageBytes.
	flushBytes = 1 << 20
	// earlyFlushes is how many batches are sent as soon as a step has intents, so that
	// little is lost when a strategy crashes soon.
	earlyFlushes = 256
	// flushEvery is how long a slow strategy goes without a sign of life.
	flushEvery = time.Second
)

// coSimulate runs the simulator over the host's candles and streams the intents.
func (r *run) coSimulate(begin *strategypb.Begin) error {
	if begin.GetTotalSteps() < 1 {
		return &wire.ProtocolError{Field: "begin.total_steps", Message: "must be known in co-simulation"}
	}
	r.box.ahead()
	feed, release, err := r.openFeed()
	if err != nil || feed == nil {
		return err
	}
	defer release()
	engine, err := sim.NewEngine(sim.Config{
		Symbols: r.start.Symbols, Timeframe: r.start.Timeframe, InitialCash: r.start.InitialCash,
		Options:    r.options,
		PriceSteps: r.start.PriceSteps, WarmupSteps: begin.GetWarmupSteps(),
		WindowStep:   begin.GetWindowStep(),
		DelayCandles: r.start.DelayCandles, WorstPrice: r.start.WorstPrice,
		Stale: sim.StaleInputs(wire.InputAges(r.inputs), r.rows),
	}, nil)
	if err != nil {
		return &wire.ProtocolError{Field: "start", Message: err.Error()}
	}
	stopTicker := r.tick()
	defer stopTicker()
	r.process.simulationBegins()
	d := &decider{run: r, total: begin.GetTotalSteps(), step: -1, sent: -1, digest: engine.Digest()}
	if chunks, ok := feed.(*chunkFeed); ok {
		chunks.before = d.flush
	}
	return r.conclude(engine, d, sim.Run(engine, feed, d))
}

// tick asks for a flush now and then, so that the watermark advances even when a
// chunk takes long.
func (r *run) tick() (stop func()) {
	ticker, done, gone := time.NewTicker(flushEvery), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-ticker.C:
				r.box.signals.Or(signalFlush)
			case <-done:
				return
			}
		}
	}()
	return func() { ticker.Stop(); close(done); <-gone }
}

// conclude sends the rest and ends the stream in the way that the loop ended.
func (r *run) conclude(e *sim.Engine, d *decider, err error) error {
	var badIntent *sim.IntentError
	var overflow *sim.LedgerError
	var failed *wire.Failure
	switch {
	case err == nil && e.Bankrupt():
		d.decided(e.Step(), e.Digest())
	case err == nil && d.step != d.total-1:
		return status.Errorf(codes.InvalidArgument, "the data have %d steps, but Begin.total_steps is %d",
			d.step+1, d.total)
	case err == nil, errors.Is(err, sim.ErrStop), errors.Is(err, errStopped):
	case errors.As(err, &badIntent), errors.As(err, &overflow):
		// The host comes to the same end by itself, once it has all intents.
		return d.flush()
	case errors.As(err, &failed):
		if err := d.flush(); err != nil {
			return err
		}
		return r.fail(failed)
	default:
		return err
	}
	if err := d.flush(); err != nil {
		return err
	}
	return r.finish()
}

// decider asks the author's strategy and streams its answers.
type decider struct {
	run    *run
	total  int64 // steps of the run
	batch  wire.Batch
	step   int64 // newest decided step
	sent   int64 // newest step the host knows to be decided
	digest [sha256.Size]byte
	early  int // batches sent before they were full
}

// Decide implements sim.Decider.
func (d *decider) Decide(e *sim.Engine) ([]market.Intent, error) {
	step, digest := e.Step(), e.Digest()
	if step >= d.total {
		return nil, status.Errorf(codes.InvalidArgument,
			"the data have more than the %d steps of Begin.total_steps", d.total)
	}
	signals := d.run.box.signals.Load()
	if signals&signalGone != 0 {
		return nil, status.Error(codes.Canceled, "the host is gone")
	}
	if signals&signalStop != 0 {
		d.decided(step, digest)
		return nil, sim.ErrStop
	}
	if step%wire.ChunkSteps == 0 {
		d.run.notes.Refill()
	}
	intents, err := d.run.author.Decide(e)
	if err != nil {
		return nil, err
	}
	d.decided(step, digest)
	if len(intents) > 0 {
		d.batch.Add(step, intents, d.run.start.Symbols)
	}
	// The last step is sent by conclude.
	full := d.batch.Bytes() > flushBytes || d.run.notes.Pending() >= wire.MaxMessagePoints
	if last := step == d.total-1; full || signals&signalFlush != 0 ||
		((step+1)%wire.ChunkSteps == 0 && !last) {
		if last {
			return intents, nil
		}
		d.run.box.signals.And(^signalFlush)
		return intents, d.flush()
	}
	if d.wantsEarly(step, len(intents) > 0) {
		return intents, d.flush()
	}
	return intents, nil
}

// wantsEarly: the first steps with intents, and steps 1, 2, 4, 8 and so on, do not
// wait for the chunk to be full. The last step is sent by conclude.
func (d *decider) wantsEarly(step int64, intents bool) bool {
	if step == d.total-1 || (step&(step+1) != 0 && (!intents || d.early >= earlyFlushes)) {
		return false
	}
	d.early++
	return true
}

// decided notes that a step is decided, and the ledger digest before its intents.
func (d *decider) decided(step int64, digest [sha256.Size]byte) {
	d.step = step
	if digest != d.digest {
		d.digest = digest
		d.batch.Trace(step, digest)
	}
}

// flush sends all decisions that the host does not know of.
func (d *decider) flush() error {
	if d.step == d.sent {
		return nil
	}
	d.run.process.simulationGoesOn()
	if err := d.run.sendNotes(); err != nil {
		return err
	}
	d.sent = d.step
	m := &strategypb.PluginMessage_Decisions{Decisions: d.batch.Message(d.step, d.digest)}
	return d.run.stream.Send(&strategypb.PluginMessage{Message: m})
}

// openFeed waits for the candles, before which the rows of inputs come. A nil feed means that the
// host gave the run up.
func (r *run) openFeed() (feed sim.Feed, release func(), err error) {
	inputs := wire.NewInputsReader(len(r.start.Inputs))
	m, err := r.box.next()
	for ; err == nil && len(m.GetDataset().GetInputs()) > 0; m, err = r.box.next() {
		if err := inputs.Load(m.GetDataset()); err != nil {
			return nil, nil, err
		}
	}
	r.rows = inputs.Rows
	r.author.ReadInputs(r.rows)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case m.GetStop() != nil, m.GetFinish() != nil:
		return nil, nil, nil
	case m.GetDataset() != nil:
		return openDataset(m.GetDataset(), r.start.Symbols, r.start.Timeframe)
	case m.GetCandles() != nil:
		feed, err := newChunkFeed(r.box, m.GetCandles(), len(r.start.Symbols))
		return feed, func() {}, err
	}
	return nil, nil, outOfOrder("Dataset, Candles, Finish or Stop", m)
}

// openDataset maps the column files that the host names. Their hashes were checked
// by the host; header, checksum and values are checked here.
func openDataset(
	p *strategypb.Dataset, symbols []market.Symbol, tf market.Timeframe,
) (_ sim.Feed, release func(), err error) {
	if len(p.GetFiles()) != len(symbols) {
		return nil, nil,
			&wire.ProtocolError{Field: "dataset.files",
				Message: fmt.Sprintf("%d files for %d symbols", len(p.GetFiles()), len(symbols))}
	}
	var files []*candlefile.File
	closeAll := func() {
		for _, f := range files {
			_ = f.Close() // nothing was written, nothing can be done about it
		}
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	series := make([]*market.Series, len(symbols))
	for i, named := range p.GetFiles() {
		if !filepath.IsAbs(named.GetPath()) {
			return nil, nil,
				&wire.ProtocolError{Field: fmt.Sprintf("dataset.files[%d].path", i),
					Message: "must be absolute"}
		}
		f, s, err := candlefile.Map(named.GetPath(), int(named.GetFirstRow()), int(named.GetRows()))
		if err != nil {
			return nil, nil, status.Errorf(codes.DataLoss, "candles of %s: %v", symbols[i], err)
		}
		files = append(files, f)
		if s.Timeframe != tf {
			return nil, nil,
				status.Errorf(codes.DataLoss, "candles of %s have the timeframe %s, the run has %s",
					symbols[i], s.Timeframe, tf)
		}
		s.Symbol = symbols[i]
		series[i] = s
	}
	return sim.NewSeriesFeed(series), closeAll, nil
}

// errStopped reports that the host asked to stop while the simulation waited for candles.
var errStopped = errors.New("stopped by the host")

// chunkFeed takes the candles out of messages.
type chunkFeed struct {
	box    *inbox
	reader *wire.CandlesReader
	last   bool
	before func() error // of waiting for a chunk: the host sends no more until it knows how far we are
}

func newChunkFeed(box *inbox, first *strategypb.Candles, symbols int) (*chunkFeed, error) {
	f := &chunkFeed{box: box, reader: wire.NewCandlesReader(symbols), last: first.GetLast()}
	return f, f.reader.Load(first)
}

// Next implements sim.Feed.
func (f *chunkFeed) Next(b *sim.Batch) (bool, error) {
	for {
		t, ok := f.reader.Next(b.Candles, b.Closed)
		if ok {
			b.CloseTime = t
			return true, nil
		}
		if f.last {
			return false, nil
		}
		if err := f.load(); err != nil {
			return false, err
		}
	}
}

func (f *chunkFeed) load() error {
	if err := f.before(); err != nil {
		return err
	}
	m, err := f.box.next()
	switch {
	case errors.Is(err, io.EOF):
		return status.Error(codes.FailedPrecondition, "the stream ended before the last chunk of candles")
	case err != nil:
		return err
	case m.GetStop() != nil:
		return errStopped
	case m.GetCandles() == nil:
		return outOfOrder("Candles or Stop", m)
	}
	f.last = m.GetCandles().GetLast()
	return f.reader.Load(m.GetCandles())
}
