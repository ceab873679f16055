package serve

import (
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
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
	author  *drive.Author
	notes   *drive.Collector
}

func newRun(st stream, box *inbox, start wire.Start, options sim.Options, strategy sdk.Strategy) *run {
	limits := drive.DefaultLimits()
	if start.AllPoints {
		limits = drive.AllPoints()
	}
	notes := drive.NewCollector(limits, start.LogLevel)
	step, _ := options.QuantityStep.Float64()
	return &run{stream: st, box: box, start: start, options: options, notes: notes, author: drive.New(strategy, drive.Setup{
		Symbols: start.Symbols, QuantityStep: step, RootSeed: start.RootSeed, Sink: notes,
	})}
}

// noteLines is how many log lines are sent in one message.
const noteLines = 200

// sendNotes sends the log lines and points that have come together.
func (r *run) sendNotes() error {
	lines, dropped := r.notes.TakeLines()
	for len(lines) > 0 || dropped > 0 {
		n := min(len(lines), noteLines)
		m := &strategypb.PluginMessage_LogLines{LogLines: wire.LogLinesToProto(lines[:n], dropped)}
		if err := r.stream.Send(&strategypb.PluginMessage{Message: m}); err != nil {
			return err
		}
		lines, dropped = lines[n:], 0
	}
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

// finish tells the strategy that it is over and sends what it says then.
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
			return status.Errorf(codes.FailedPrecondition, "step %d is expected now, not step %d", next, m.GetStep().GetIndex())
		}
		if err := step.FromProto(m.GetStep(), r.start.Symbols); err != nil {
			return err
		}
		// A live candle may take hours: there the limits hold for each step.
		if next%wire.ChunkSteps == 0 || r.start.Purpose != strategypb.Purpose_PURPOSE_BACKTEST {
			r.notes.Refill()
		}
		intents, err := r.author.DecideStep(&step)
		if err != nil {
			return r.fail(err)
		}
		if err := r.sendNotes(); err != nil {
			return err
		}
		answer := &strategypb.PluginMessage_Decision{Decision: wire.DecisionToProto(next, intents, r.start.Symbols)}
		if err := r.stream.Send(&strategypb.PluginMessage{Message: answer}); err != nil {
			return err
		}
	}
}
