package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Run implements runner.Execution.
func (x *Execution) Run(ctx context.Context) runner.Outcome {
	defer x.plugin.Watch(ctx)()
	x.noteStart()
	outcome := x.nameOutcome(x.driveEngine(ctx))
	x.releaseAll()
	return outcome
}

// noteStart notes that the candles start to flow.
func (x *Execution) noteStart() {
	x.gate.Lock()
	defer x.gate.Unlock()
	x.started = time.Now()
	x.phase = "warming"
}

// driveEngine drives the engine and waits for the orderly end of the plugin; killed reports
// whether a stop had to end the plugin by force.
func (x *Execution) driveEngine(ctx context.Context) (killed bool, err error) {
	if err := x.handOver(); err != nil {
		return false, err
	}
	x.gate.Lock()
	err = sim.Run(x.engine, x.feed, x.decider)
	if co, ok := x.decider.(*coSimulation); ok && err == nil && x.engine.Bankrupt() {
		err = co.Bankrupt(x.engine)
	}
	x.gate.Unlock()
	if errors.Is(err, sim.ErrStop) || x.isStop(err) {
		return x.stopPlugin(err)
	}
	if err != nil {
		return false, err
	}
	x.gate.Lock()
	x.over = true
	x.gate.Unlock()
	if err := x.awaitEnd(); err != nil {
		return false, err
	}
	if d, ok := x.decider.(*signalled); ok && d.replay != nil {
		return false, d.replay(ctx, d.signals, x.engine.Step())
	}
	return false, nil
}

// handOver sends the plugin how much warm-up there is and, in co-simulation, where
// the candles are.
func (x *Execution) handOver() error {
	begin := &strategypb.Begin{WarmupSteps: x.data.layout.warmup, WindowStep: x.data.layout.window,
		TotalSteps: x.data.layout.announced}
	if err := x.plugin.Stream.Send(
		&strategypb.HostMessage{Message: &strategypb.HostMessage_Begin{Begin: begin}}); err != nil {
		return err
	}
	switch x.mode {
	case ModeLockstep, ModeAdvance:
		return nil
	case ModeSignals:
		series := mapSources(x.data.sources, (*source).run)
		x.candles = SendCandles(x.plugin.Stream, sim.NewSeriesFeed(series), len(series), x.data.layout.total)
		x.candles.Advanced(x.data.layout.total) // all at once: no step waits for an answer
		return nil
	}
	for _, m := range wire.InputDatasets(x.data.inputRows()) {
		if err := x.plugin.Stream.Send(
			&strategypb.HostMessage{Message: &strategypb.HostMessage_Dataset{Dataset: m}}); err != nil {
			return err
		}
	}
	if x.chunked {
		// The plugin's end has a feed of its own: it may be ahead of the host's.
		series := mapSources(x.data.sources, (*source).run)
		x.candles = SendCandles(x.plugin.Stream, sim.NewSeriesFeed(series), len(series), x.data.layout.total)
		x.decider.(*coSimulation).Advanced = x.candles.Advanced
		return nil
	}
	set := &strategypb.Dataset{}
	for _, s := range x.data.sources {
		set.Files = append(set.Files, &strategypb.DatasetFile{Path: s.file, Sha256: s.sum,
			Rows: int64(s.to - s.first)})
	}
	return x.plugin.Stream.Send(
		&strategypb.HostMessage{Message: &strategypb.HostMessage_Dataset{Dataset: set}})
}

// awaitEnd waits until the plugin has ended its stream in good order. A stop that comes after the
// end of the data is late.
func (x *Execution) awaitEnd() error {
	x.candles.Stop() // a bankrupt account needs no more of them
	if err := x.plugin.Finish(x.stepLimit); err != nil && !x.isStop(err) {
		return err
	}
	return nil
}

func (x *Execution) isStop(err error) bool {
	return errors.Is(err, runner.ErrStopRequested) || errors.Is(err, runner.ErrShutdown)
}

// stopPlugin cancels open orders in the books, asks the plugin to end and gives it
// a moment.
func (x *Execution) stopPlugin(err error) (killed bool, _ error) {
	x.gate.Lock()
	x.phase = "stopping"
	finishErr := x.engine.Finish()
	x.gate.Unlock()
	if finishErr != nil {
		return false, finishErr
	}
	x.candles.Stop()
	return x.plugin.Stop(err.Error()), err
}

// nameOutcome names the end of the run.
func (x *Execution) nameOutcome(killed bool, err error) runner.Outcome {
	switch {
	case err == nil:
		o := runner.Outcome{}
		if x.engine.Bankrupt() {
			x.addWarning("BANKRUPT",
				fmt.Sprintf("equity was gone at %s: every position was closed there and the run ended",
					x.engine.Time()))
			o.Message = "The account went bankrupt before the end of the data."
		}
		return o
	case x.isStop(err):
		o := runner.Outcome{Stopped: true}
		if killed {
			o.Message = "The plugin did not end by itself and was killed."
		}
		return o
	}
	return runner.Outcome{Failure: x.failure(err)}
}

// failure describes a fault with what the plugin left behind.
func (x *Execution) failure(err error) *artifact.Failure {
	return x.plugin.Failure(err, x.phaseNow(), x.lastCandle(), func(f *artifact.Failure) {
		if status.Code(err) == codes.DataLoss && x.data.isSound() {
			f.Code, f.Data = CodePluginProtocol, map[string]any{}
		}
	})
}

// releaseAll ends the process, the stream and the readers of the data.
func (x *Execution) releaseAll() {
	x.candles.Stop()
	x.plugin.Close("the run is over")
	x.candles.Wait()
	if err := x.data.closeFolder(); err != nil {
		x.log.Warn("the candle files of the run could not be removed", "error", err)
	}
	x.gate.Lock()
	x.ended = time.Now()
	x.rec.Lift()
	x.gate.Unlock()
}

func (x *Execution) phaseNow() string {
	x.gate.Lock()
	defer x.gate.Unlock()
	return x.phaseLocked()
}

func (x *Execution) phaseLocked() string {
	switch {
	case x.phase == "stopping" || x.started.IsZero():
		return x.phase
	case x.engine.Step() >= x.data.layout.warmup:
		return "trading"
	}
	return "warming"
}

func (x *Execution) addWarning(code, message string) {
	x.gate.Lock()
	defer x.gate.Unlock()
	x.warnings = append(x.warnings, artifact.Note{Code: code, Message: message})
}

// lastCandle returns the close time of the newest step, 0 before the first.
func (x *Execution) lastCandle() market.Time {
	if x.engine.Step() < 0 {
		return 0
	}
	return x.engine.Time()
}
