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
}

// Script plays the scenario on the simulator and writes down what it asks for.
func (s *Scenario) Script(mirrored bool) (*Script, error) {
	out := &Script{}
	_, err := s.play(func(cfg sim.Config, rec sim.Recorder) (Engine, error) {
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
	return out, nil
}

// At is the intents of a step; none after the last.
func (s *Script) At(step int64) []market.Intent {
	if step >= int64(len(s.Intents)) {
		return nil
	}
	return s.Intents[step]
}

// Decide implements sim.Decider.
func (s *Script) Decide(e *sim.Engine) ([]market.Intent, error) { return s.At(e.Step()), nil }

// Extend adds quiet candles at the end, at the last close of each symbol.
func (s *Script) Extend(candles int) {
	var last market.Time
	for _, series := range s.Series {
		if n := series.Len(); n > 0 {
			last = max(last, series.Time[n-1])
		}
	}
	for _, series := range s.Series {
		n := series.Len()
		for i := 1; n > 0 && i <= candles; i++ {
			at, price := last, series.Close[n-1]
			for range i {
				at = series.Timeframe.Next(at)
			}
			series.Append(market.Candle{OpenTime: at, Open: price, High: price, Low: price, Close: price, Volume: 1})
		}
	}
}

// Play plays the script on a simulator with this configuration to the end of its candles.
func (s *Script) Play(cfg sim.Config, rec sim.Recorder) (*sim.Engine, error) {
	e, err := sim.NewEngine(cfg, rec)
	if err != nil {
		return nil, err
	}
	return e, sim.Run(e, sim.NewSeriesFeed(s.Series), s)
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
