package trade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The phases of a run, in the order of a good one.
const (
	phaseReconciling = "reconciling"
	phaseWarming     = "warming"
	phaseTrading     = "trading"
	phaseStopping    = "stopping"
)

// Run implements runner.Execution.
func (x *Execution) Run(ctx context.Context) runner.Outcome {
	defer x.plugin.Watch(ctx)()
	defer x.wipeCredentials()
	err := x.beginJournal()
	if err == nil && x.setup.req.Mode == runner.ModeLive {
		err = x.tradeLive(ctx)
	} else if err == nil {
		err = x.paper.runTrading(ctx)
	}
	x.end.cause = err
	outcome := x.outcome(err)
	x.alarms.endAlarms()
	x.plugin.Close("the run is over")
	x.writeEnd(outcome)
	x.gate.Lock()
	x.times.ended = x.clock()
	x.gate.Unlock()
	return outcome
}

// beginJournal writes the run down before it touches the network.
func (x *Execution) beginJournal() error {
	req := x.setup.req // as it was understood
	req.StrategyParams, req.Execution, req.Exchange = x.setup.plan.Params, x.setup.plan.ExecutionJSON,
		x.setup.venue.ID
	text, err := json.Marshal(req)
	if err != nil {
		return err
	}
	limits, err := json.Marshal(x.permit.risk)
	if err != nil {
		return err
	}
	book, err := x.opts.Journal.Begin(context.Background(), journal.Info{
		RunID: x.runID, RunTag: order.Tag(x.runID), Mode: x.setup.req.Mode, Exchange: x.setup.venue.ID,
		Symbols: x.setup.plan.Symbols, Timeframe: x.setup.plan.Timeframe,
		Risk: limits, Request: text, StrategySHA256: x.setup.plan.Strategy.SHA256,
		StartedAt: market.FromTime(x.times.started),
	})
	x.gate.Lock()
	defer x.gate.Unlock()
	x.journal = book
	return err
}

// writeEnd writes how the run ended. A run without it was interrupted.
func (x *Execution) writeEnd(o runner.Outcome) {
	if x.journal == nil {
		return
	}
	end := journal.End{Status: journal.Completed, StopReason: runner.StopFinished,
		At: market.FromTime(x.clock())}
	if o.Stopped {
		end.StopReason = runner.StopStopped
	}
	if o.Stopped && errors.Is(x.end.cause, runner.ErrShutdown) {
		end.StopReason = runner.StopShutdown
	}
	if o.Failure != nil {
		end.Status, end.StopReason = journal.Failed, runner.StopError
		text, err := json.Marshal(map[string]any{"code": o.Failure.Code, "message": o.Failure.Message,
			"data": o.Failure.Data})
		if err == nil {
			end.Error = text
		}
	}
	if err := x.journal.End(context.Background(), end); err != nil {
		x.log.Error("the end of the run cannot be written into the journal", "error", err)
	}
}

// runTrading returns the run from the connection to its end.
func (pp *paperRun) runTrading(ctx context.Context) error {
	conn, err := pp.connectVenue(ctx)
	if err != nil {
		return pp.run.stopCause(ctx, err)
	}
	l := &line{x: pp.run}
	l.take(conn)
	defer l.hangUp(ctx)
	pp.run.enterPhase(phaseReconciling)
	var markets []exchange.Market
	err = l.with(ctx, func(ctx context.Context, conn *exchange.Connection) (err error) {
		markets, err = pp.readMarkets(ctx, conn)
		return err
	})
	if err != nil {
		return pp.run.stopCause(ctx, err)
	}
	pp.run.enterPhase(phaseWarming)
	err = pp.runSteps(ctx, l, markets)
	return pp.run.stopCause(ctx, err)
}

// connectVenue starts the connector and opens its session. The connection has a clock: the venue's own, else
// the run's, which goes on from the offset that the connector gives.
func (pp *paperRun) connectVenue(ctx context.Context) (*exchange.Connection, error) {
	d := engine.Dialer{Exchange: pp.run.setup.venue.ID, Connect: pp.run.setup.venue.Connect,
		Open: pp.run.openRequest(), Limit: pp.run.opts.ConnectLimit, Failed: func(err error) {
			pp.run.log.Warn("the exchange cannot be reached", "exchange", pp.run.setup.venue.ID, "error", err)
		}}
	made, err := d.Dial(ctx)
	if err != nil {
		return nil, err
	}
	pp.onOpened(made.Conn, made.Opened, made.Took)
	return made.Conn, nil
}

// onOpened notes the properties of a session.
func (pp *paperRun) onOpened(conn *exchange.Connection, o exchange.Opened, latency time.Duration) {
	pp.run.gate.Lock()
	pp.run.manifest.ConnectorSandbox = sandbox.Weaker(pp.run.manifest.ConnectorSandbox, conn.Sandbox)
	pp.run.link.Latency, pp.run.link.Offset, pp.run.link.Synthetic = latency, o.ClockOffset,
		conn.Clock != nil || o.Clock != nil
	pp.run.gate.Unlock()
	pp.venueClock.SetOffset(o.ClockOffset)
	switch {
	case conn.Clock != nil:
	case o.Clock != nil:
		conn.Clock = o.Clock
	default:
		conn.Clock = &pp.venueClock
	}
	pp.linkUp(true)
}

// onBeat takes the venue's time from the beats of the connector of a paper run.
func (pp *paperRun) onBeat(ack exchange.Ack, asked time.Time) {
	if ack.VenueTime <= 0 {
		return
	}
	pp.run.gate.Lock()
	defer pp.run.gate.Unlock()
	pp.run.link.Offset = pp.venueClock.Observe(ack.VenueTime, asked, pp.run.link.Offset)
}

func (x *Execution) openRequest() exchange.OpenRequest {
	return exchange.OpenRequest{
		RunID: x.runID, Trading: x.setup.req.Mode == runner.ModeLive, Symbols: x.setup.plan.Symbols,
		Timeframe: x.setup.plan.Timeframe,
		Config:    x.setup.config, RunTag: order.Tag(x.runID), Endpoint: x.setup.venue.Endpoint,
		LeaseFile:   leaseFile(x.opts.LiveDir, x.runID),
		OnLeaseLoss: x.opts.OnLeaseLoss,
	}
}

// marketsTries is how often the rules of the markets are asked for before the start fails.
const marketsTries = 3

// readMarkets are the rules of the run's symbols, in their order. A venue that refuses requests for a while
// is waited for.
func (pp *paperRun) readMarkets(ctx context.Context, conn *exchange.Connection) ([]exchange.Market, error) {
	limit, cancel := context.WithTimeout(ctx, pp.run.opts.ConnectLimit)
	defer cancel()
	all, err := conn.Markets(limit)
	for try := 1; err != nil && try < marketsTries; {
		silent := exchange.ResultOf(err).HoldOff()
		if silent == 0 {
			try++
		}
		if !exchange.Pause(limit, max(silent, time.Second)) {
			break
		}
		all, err = conn.Markets(limit)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, engine.ExchangeFault("unreachable", err, "%s does not say which markets it has: %v",
			pp.run.setup.venue.ID, err)
	}
	return engine.PickMarkets(all, pp.run.setup.plan.Symbols, pp.run.setup.venue.ID)
}

// stopCause lets a stop win over the errors that it causes.
func (x *Execution) stopCause(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// isStop reports whether the end was asked for. A fault on the way to it is none.
func isStop(err error) bool {
	if _, fault := errors.AsType[*engine.Fault](err); fault {
		return false
	}
	return errors.Is(err, runner.ErrStopRequested) || errors.Is(err, runner.ErrShutdown) ||
		errors.Is(err, errRevoked)
}

// outcome names the end of the run.
func (x *Execution) outcome(err error) runner.Outcome {
	switch {
	case err == nil:
		o := runner.Outcome{}
		if x.paper.engine != nil && x.paper.engine.Bankrupt() {
			x.warn(engine.CodeBankrupt,
				fmt.Sprintf("equity was gone at %s: every position was closed there and the run ended",
					x.paper.engine.Time()))
			o.Message = "The account went bankrupt."
		}
		return o
	case errors.Is(err, errRevoked):
		return runner.Outcome{Stopped: true, Withdrawn: true,
			Message: strings.TrimSpace("Stopped by the deployment policy: " + strings.TrimPrefix(err.Error(),
				errRevoked.Error()+": ") + " " + x.stopMessage())}
	case isStop(err):
		return runner.Outcome{Stopped: true, Message: x.stopMessage()}
	}
	return runner.Outcome{Failure: x.failure(err), Message: x.describeKept()}
}

// describeKept returns what a live run leaves at the venue; "" when nothing.
func (x *Execution) describeKept() string {
	x.gate.Lock()
	defer x.gate.Unlock()
	if x.trading == nil {
		return ""
	}
	return x.trading.Kept()
}

// stopMessage describes what a stop has left: positions are kept.
func (x *Execution) stopMessage() string {
	var parts []string
	if x.end.killed {
		parts = append(parts, "The plugin did not end by itself and was killed.")
	}
	x.gate.Lock()
	defer x.gate.Unlock()
	if x.trading != nil {
		return strings.Join(append(parts, x.trading.Kept()), " ")
	}
	books, _ := x.booksLocked()
	positions, _ := books.Positions()
	for _, p := range positions {
		parts = append(parts, fmt.Sprintf("Kept: %s of %s.", p.Quantity.Trim(0), p.Symbol))
	}
	return strings.Join(parts, " ")
}

// failure describes a fault.
func (x *Execution) failure(err error) *artifact.Failure {
	x.gate.Lock()
	phase, at := x.phase, x.lastStepLocked()
	x.gate.Unlock()
	return x.plugin.Failure(err, phase, at, func(f *artifact.Failure) {
		var fault *engine.Fault
		var data *feed.DataError
		var answer *exchange.Error
		switch {
		case errors.As(err, new(*journal.WriteError)):
			f.Code, f.Data = runner.CodeArtifactWriteFailed, map[string]any{"file": journal.FileName}
		case errors.As(err, &fault):
			f.Code, f.Data = fault.Code, fault.Data
		case errors.As(err, &data):
			f.Code, f.Data = run.CodeData,
				map[string]any{"reason": "invalid_candles", "symbol": data.Symbol, "open_time": data.OpenTime}
		case errors.As(err, &answer) && answer.Result.Outcome == exchange.AuthFailed:
			f.Code, f.Data = CodeAuthFailed, map[string]any{"venue_code": answer.Result.VenueCode}
		}
	})
}

func (x *Execution) lastStepLocked() market.Time {
	switch {
	case x.trading != nil:
		return x.chart.window.End
	case x.paper.engine == nil || x.paper.engine.Step() < 0:
		return 0
	}
	return x.paper.engine.Time()
}

// stopPlugin cancels open orders in the books of a paper run and asks the plugin to end.
func (pp *paperRun) stopPlugin(cause error) error {
	pp.run.enterPhase(phaseStopping)
	if err := pp.endBooks(); err != nil {
		return err
	}
	pp.run.end.killed = pp.run.plugin.Stop(cause.Error())
	return cause
}

// endBooks cancels what is open in the books of a paper run, and writes that down.
func (pp *paperRun) endBooks() error {
	pp.run.gate.Lock()
	defer pp.run.gate.Unlock()
	if pp.engine == nil {
		return nil
	}
	return errors.Join(pp.engine.Finish(), pp.recorder.commitBatch())
}
