package link

import (
	"fmt"
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
	timer     *time.Timer
}

// NewLockstep answers each step within a limit of time.
func NewLockstep(s *Stream, g *Gate, symbols []market.Symbol, limit time.Duration) *Lockstep {
	n := len(symbols)
	return &Lockstep{
		stream: s, gate: g, symbols: symbols, stepLimit: limit, timer: time.NewTimer(limit),
		step: wire.Step{Candles: make([]market.Candle, n), Closed: make([]bool, n), Positions: make([]sdk.Position, n)},
	}
}

// Decide implements sim.Decider.
func (l *Lockstep) Decide(e *sim.Engine) (intents []market.Intent, err error) {
	message := l.message(e)
	l.gate.Outside(func() { intents, err = l.ask(message, l.step.Index) })
	return intents, err
}

// Ask is Decide for an account that is no simulator's. It is called without the gate.
func (l *Lockstep) Ask(s *wire.Step) ([]market.Intent, error) {
	return l.ask(&strategypb.HostMessage{Message: &strategypb.HostMessage_Step{Step: wire.StepToProto(s, l.symbols)}}, s.Index)
}

func (l *Lockstep) message(e *sim.Engine) *strategypb.HostMessage {
	s := &l.step
	s.Index, s.CloseTime, s.Warmup = e.Step(), e.Time(), e.Warmup()
	s.Cash, s.Equity = e.Cash(), e.Equity()
	s.Fills, s.Orders = e.Fills(), e.Updates()
	for i := range l.symbols {
		s.Closed[i] = e.Closed(i)
		if s.Closed[i] {
			s.Candles[i] = *e.Candle(i)
		}
		s.Positions[i].Quantity, s.Positions[i].EntryPrice, s.Positions[i].CandlesHeld = e.Holding(i)
	}
	return &strategypb.HostMessage{Message: &strategypb.HostMessage_Step{Step: wire.StepToProto(s, l.symbols)}}
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
		return nil, Failf("PLUGIN_PROTOCOL_ERROR", nil, "the plugin sent %T where the decision of step %d was due", m.GetMessage(), step)
	}
	if got := m.GetDecision().GetStep(); got != step {
		return nil, Failf("PLUGIN_PROTOCOL_ERROR", map[string]any{"step": step}, "the plugin answered step %d where step %d was due", got, step)
	}
	d, err := wire.DecisionFromProto(m.GetDecision(), l.symbols)
	if err != nil {
		return nil, Failf("PLUGIN_PROTOCOL_ERROR", map[string]any{"step": step}, "%w", err)
	}
	return d.Intents, nil
}
