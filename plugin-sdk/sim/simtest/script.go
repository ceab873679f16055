package simtest

import (
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Script is what a scenario says without its expectations: the configuration, the candles of
// each symbol and the intents of each step.
type Script struct {
	Config  sim.Config
	Series  []*market.Series // indexed like Config.Symbols
	Intents [][]market.Intent
	// Ended reports whether the script ends the run, which cancels what is open.
	Ended bool
}

// Script plays the scenario on the simulator and writes down what it asks for.
func (s *Scenario) Script(mirrored bool) (*Script, error) {
	out := &Script{}
	p, err := s.play(func(cfg sim.Config, rec sim.Recorder) (Engine, error) {
		out.Config = cfg
		for _, symbol := range cfg.Symbols {
			out.Series = append(out.Series, &market.Series{Symbol: symbol, Timeframe: cfg.Timeframe})
		}
		e, err := Simulator(cfg, rec)
		return &scribe{e, out}, err
	}, mirrored)
	if err != nil {
		return nil, err
	}
	out.Ended = p.finished
	return out, nil
}

// scribe is an engine that writes down what it is given.
type scribe struct {
	Engine
	out *Script
}

// Match implements Engine.
func (s *scribe) Match(b *sim.Batch) error {
	for i, series := range s.out.Series {
		if b.Closed[i] {
			series.Append(b.Candles[i])
		}
	}
	s.out.Intents = append(s.out.Intents, nil)
	return s.Engine.Match(b)
}

// Accept implements Engine.
func (s *scribe) Accept(intents []market.Intent) error {
	if n := len(s.out.Intents); n > 0 {
		s.out.Intents[n-1] = append(s.out.Intents[n-1], intents...)
	}
	return s.Engine.Accept(intents)
}
