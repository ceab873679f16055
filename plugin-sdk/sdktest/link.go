package sdktest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// link is the host's end of one run, as small as it can be: it drives the plugin
// over gRPC and keeps its own ledger.
type link struct {
	stream grpc.BidiStreamingClient[strategypb.HostMessage, strategypb.PluginMessage]
	cfg    sim.Config
	series []*market.Series
	total  int64
	rows   [][]market.InputRow // by input

	batch wire.Decisions // newest decisions of a co-simulation
	next  int            // in batch.Decisions
}

// outcome is the host's ledger after a run.
type outcome struct {
	digest [32]byte
	steps  int64
}

// open starts a run and answers Ready with Begin. A refusal is a *wire.Failure.
func open(ctx context.Context, client strategypb.StrategyClient, mode strategypb.DriveMode, params string,
	series []*market.Series, with ...Option) (*link, error) {
	o := given(append(with, More(series[1:]...)))
	cfg, series, err := o.config(series[0], market.Warmup{})
	if err != nil {
		return nil, err
	}
	execution, err := cfg.Options.MarshalJSON()
	if err != nil {
		return nil, err
	}
	l := &link{cfg: cfg, series: series, total: sim.Steps(series), rows: o.rows,
		batch: wire.Decisions{Watermark: -1}}
	if l.stream, err = client.Run(ctx); err != nil {
		return nil, err
	}
	l.send(&strategypb.HostMessage{
		Message: &strategypb.HostMessage_Start{Start: wire.StartToProto(&wire.Start{
			RunID: "conformance", Mode: mode, Purpose: strategypb.Purpose_PURPOSE_BACKTEST,
			Params:  []byte(params),
			Symbols: cfg.Symbols, Timeframe: cfg.Timeframe, InitialCash: cfg.InitialCash,
			Execution: execution,
			RootSeed:  o.seed, LogLevel: "info", Inputs: o.inputNames(),
		})}})
	m, err := l.receive()
	if err != nil {
		return nil, err
	}
	if m.GetReady() == nil {
		return nil, fmt.Errorf("the plugin answered Start with %T", m.GetMessage())
	}
	warmup, err := wire.ReadyFromProto(m.GetReady(), cfg.Timeframe)
	if err != nil {
		return nil, err
	}
	l.cfg.WarmupSteps = firstSteps(series, warmup)
	l.send(&strategypb.HostMessage{Message: &strategypb.HostMessage_Begin{Begin: &strategypb.Begin{
		WarmupSteps: l.cfg.WarmupSteps, TotalSteps: l.total,
	}}})
	return l, nil
}

// send sends. An error is not lost: the next receive reports why the stream broke.
func (l *link) send(m *strategypb.HostMessage) { _ = l.stream.Send(m) }

// receive returns the next message that is not a note; io.EOF at the end of the stream.
func (l *link) receive() (*strategypb.PluginMessage, error) {
	for {
		m, err := l.stream.Recv()
		if err != nil {
			return nil, err
		}
		switch p := m.GetMessage().(type) {
		case *strategypb.PluginMessage_LogLines:
			_, _, err = wire.LogLinesFromProto(p.LogLines)
		case *strategypb.PluginMessage_Annotations:
			_, _, err = wire.AnnotationsFromProto(p.Annotations)
		case *strategypb.PluginMessage_Failed:
			var f wire.Failure
			if f, err = wire.FailureFromProto(p.Failed); err == nil {
				err = &f
			}
		default:
			return m, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// coSimulate runs the host's ledger on the plugin's stream of intents.
func (l *link) coSimulate() (outcome, error) {
	e, err := sim.NewEngine(l.cfg, nil)
	if err != nil {
		return outcome{}, err
	}
	if err := sim.Run(e, sim.NewSeriesFeed(l.series), readIntents{l}); err != nil {
		return outcome{}, err
	}
	if e.Bankrupt() {
		if _, err := (readIntents{l}).Decide(e); err != nil {
			return outcome{}, err
		}
	}
	return l.end(e)
}

// readIntents is the decider of a host in co-simulation.
type readIntents struct{ *link }

// Decide implements sim.Decider.
func (r readIntents) Decide(e *sim.Engine) ([]market.Intent, error) {
	step := e.Step()
	for r.batch.Watermark < step {
		m, err := r.receive()
		if err != nil {
			return nil, fmt.Errorf("waiting for step %d: %w", step, err)
		}
		if r.batch, err = wire.DecisionsFromProto(m.GetDecisions(), r.cfg.Symbols, r.batch.Watermark,
			r.total); err != nil {
			return nil, err
		}
		r.next = 0
	}
	if step == r.batch.Watermark && e.Digest() != r.batch.Digest {
		return nil, fmt.Errorf("the ledgers of host and plugin differ at step %d", step)
	}
	if r.next < len(r.batch.Decisions) && r.batch.Decisions[r.next].Step == step {
		r.next++
		return r.batch.Decisions[r.next-1].Intents, nil
	}
	return nil, nil
}

// lockstep runs the host's ledger and asks the plugin at each step.
func (l *link) lockstep() (outcome, error) {
	e, err := sim.NewEngine(l.cfg, nil)
	if err != nil {
		return outcome{}, err
	}
	n := len(l.cfg.Symbols)
	s := stepByStep{l,
		&wire.Step{Candles: make([]market.Candle, n), Closed: make([]bool, n),
			Positions: make([]sdk.Position, n)}, nil}
	for _, rows := range l.rows {
		s.inputs = append(s.inputs, market.NewInputReader(rows))
	}
	if err := sim.Run(e, sim.NewSeriesFeed(l.series), s); err != nil {
		return outcome{}, err
	}
	l.send(&strategypb.HostMessage{Message: &strategypb.HostMessage_Finish{Finish: &strategypb.Finish{}}})
	return l.end(e)
}

// stepByStep is the decider of a host in lockstep.
type stepByStep struct {
	*link
	step   *wire.Step
	inputs []*market.InputReader
}

// Decide implements sim.Decider.
func (s stepByStep) Decide(e *sim.Engine) ([]market.Intent, error) {
	p := s.step
	p.Index, p.CloseTime, p.Warmup = e.Step(), e.Time(), e.Warmup()
	p.Cash, p.Equity, p.Fills, p.Orders = e.Cash(), e.Equity(), e.Fills(), e.Updates()
	p.Inputs = p.Inputs[:0]
	for _, in := range s.inputs {
		p.Inputs = append(p.Inputs, in.Until(p.CloseTime))
	}
	for i := range p.Candles {
		p.Candles[i], p.Closed[i] = *e.Candle(i), e.Closed(i)
		h := &p.Positions[i]
		h.Quantity, h.EntryPrice, h.CandlesHeld = e.Holding(i)
	}
	s.send(&strategypb.HostMessage{
		Message: &strategypb.HostMessage_Step{Step: wire.StepToProto(p, s.cfg.Symbols)}})
	m, err := s.receive()
	if err != nil {
		return nil, fmt.Errorf("waiting for step %d: %w", p.Index, err)
	}
	d, err := wire.DecisionFromProto(m.GetDecision(), s.cfg.Symbols)
	if err == nil && d.Step != p.Index {
		err = fmt.Errorf("the answer to step %d is for step %d", p.Index, d.Step)
	}
	return d.Intents, err
}

// end checks that the stream ends after the run.
func (l *link) end(e *sim.Engine) (outcome, error) {
	if err := l.stream.CloseSend(); err != nil {
		return outcome{}, err
	}
	if m, err := l.receive(); err == nil {
		return outcome{}, fmt.Errorf("the plugin sent %T after the last step", m.GetMessage())
	} else if !errors.Is(err, io.EOF) {
		return outcome{}, err
	}
	return outcome{e.Digest(), e.Step() + 1}, nil
}

// sendChunks hands over the candles in messages, from a goroutine of its own
// because the plugin takes them only as fast as it works.
func (l *link) sendChunks() (wait func()) {
	l.sendInputs()
	done := make(chan struct{})
	go func() {
		defer close(done)
		n := len(l.series)
		b := sim.Batch{Candles: make([]market.Candle, n), Closed: make([]bool, n)}
		var w wire.CandlesWriter
		feed := sim.NewSeriesFeed(l.series)
		for sent := int64(1); ; sent++ {
			if more, err := feed.Next(&b); err != nil || !more {
				return
			}
			w.Add(b.CloseTime, b.Candles, b.Closed)
			if last := sent == l.total; last || w.Len() == wire.ChunkSteps {
				l.send(&strategypb.HostMessage{
					Message: &strategypb.HostMessage_Candles{Candles: w.Message(last)}})
			}
		}
	}()
	return func() { <-done }
}

// sendInputs hands over the rows of inputs, which come before the candles.
func (l *link) sendInputs() {
	for _, m := range wire.InputDatasets(l.rows) {
		l.send(&strategypb.HostMessage{Message: &strategypb.HostMessage_Dataset{Dataset: m}})
	}
}

// sendFiles hands over the candles by reference.
func (l *link) sendFiles(paths []string) {
	l.sendInputs()
	files := make([]*strategypb.DatasetFile, len(paths))
	for i, path := range paths {
		files[i] = &strategypb.DatasetFile{Path: path, Rows: int64(l.series[i].Len())}
	}
	dataset := &strategypb.HostMessage_Dataset{Dataset: &strategypb.Dataset{Files: files}}
	l.send(&strategypb.HostMessage{Message: dataset})
	l.send(&strategypb.HostMessage{Message: &strategypb.HostMessage_Finish{Finish: &strategypb.Finish{}}})
}
