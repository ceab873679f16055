package serve

import (
	"crypto/sha256"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

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
	feed, release, err := r.openFeed()
	if err != nil || feed == nil {
		return err
	}
	defer release()
	engine, err := sim.NewEngine(sim.Config{
		Symbols: r.start.Symbols, Timeframe: r.start.Timeframe, InitialCash: r.start.InitialCash, Options: r.options,
		PriceSteps: r.start.PriceSteps, WarmupSteps: begin.GetWarmupSteps(), WindowStep: begin.GetWindowStep(),
		DelayCandles: r.start.DelayCandles, WorstPrice: r.start.WorstPrice,
	}, nil)
	if err != nil {
		return &wire.ProtocolError{Field: "start", Message: err.Error()}
	}
	stopTicker := r.tick()
	defer stopTicker()
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
		return status.Errorf(codes.InvalidArgument, "the data have %d steps, but Begin.total_steps is %d", d.step+1, d.total)
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
		return nil, status.Errorf(codes.InvalidArgument, "the data have more than the %d steps of Begin.total_steps", d.total)
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
	if last := step == d.total-1; full || signals&signalFlush != 0 || ((step+1)%wire.ChunkSteps == 0 && !last) {
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
	if err := d.run.sendNotes(); err != nil {
		return err
	}
	d.sent = d.step
	m := &strategypb.PluginMessage_Decisions{Decisions: d.batch.Message(d.step, d.digest)}
	return d.run.stream.Send(&strategypb.PluginMessage{Message: m})
}

// openFeed waits for the candles. A nil feed says that the host gave the run up.
func (r *run) openFeed() (feed sim.Feed, release func(), err error) {
	m, err := r.box.next()
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
