// Package simtest is the language of the scenarios that show the rules of bar-v1, and the
// scenarios themselves. [Run] holds any [Engine] to them; README.md has the grammar.
//
// A scenario is also a script of candles and intents ([Scenario.Script]), for whoever plays
// it through something that is no Engine: a paper run, a venue.
//
// The package imports market and sim. It is for tests and is not part of an author's SDK.
package simtest

import (
	"bufio"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

//go:embed scenarios/*.txt
var files embed.FS

// Engine is what can be held to the scenarios: a venue that is driven step by step, as
// [sim.Engine] is.
type Engine interface {
	Match(*sim.Batch) error
	Accept([]market.Intent) error
	Finish() error
	// CheckBalance is called after each statement: an error is a fault of the books.
	CheckBalance() error
	CashExact() decimal.Decimal
	Equity() float64
	FinalValue() (decimal.Decimal, error)
	Positions() ([]market.Position, error)
	OpenOrders() []market.Order
	Bankrupt() bool
	Stats() sim.Stats
	Digest() [32]byte
}

// New makes an engine that reports to the recorder.
type New func(sim.Config, sim.Recorder) (Engine, error)

// Simulator makes the simulator.
func Simulator(cfg sim.Config, rec sim.Recorder) (Engine, error) { return sim.NewEngine(cfg, rec) }

// Scenario is one script.
type Scenario struct {
	Name     string
	Mirrored bool // it is also played upside down, about the price Center
	Center   float64
	file     string
	lines    []line
}

type line struct {
	number int
	words  []string
}

// Scenarios are those of this package, in the order of their files.
func Scenarios() ([]*Scenario, error) {
	names, err := fs.Glob(files, "scenarios/*.txt")
	if err != nil {
		return nil, err
	}
	var all []*Scenario
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list, err := Parse(path.Base(name), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// Parse reads the scenarios of a file. Statements are looked at when they are played.
func Parse(file, text string) ([]*Scenario, error) {
	var all []*Scenario
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		var err error
		switch {
		case len(words) == 0:
		case words[0] == "scenario":
			var s *Scenario
			if s, err = header(words); err == nil {
				s.file = file
				all = append(all, s)
			}
		case len(all) == 0:
			err = fmt.Errorf("a statement before the first scenario")
		default:
			s := all[len(all)-1]
			s.lines = append(s.lines, line{n, words})
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	return all, lines.Err()
}

// header reads scenario NAME [mirror P].
func header(words []string) (s *Scenario, err error) {
	switch {
	case len(words) == 2:
		return &Scenario{Name: words[1]}, nil
	case len(words) == 4 && words[2] == "mirror":
		s = &Scenario{Name: words[1], Mirrored: true}
		s.Center, err = strconv.ParseFloat(words[3], 64)
		return s, err
	}
	return nil, fmt.Errorf("write: scenario NAME [mirror P]")
}

// Run plays every scenario on an engine of its own, and those with a mirror upside down too.
func Run(t *testing.T, engine New) {
	t.Helper()
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Run(strings.TrimSuffix(s.file, ".txt")+"/"+s.Name, func(t *testing.T) {
			for _, flip := range s.sides() {
				if _, err := s.Play(engine, flip); err != nil {
					t.Errorf("mirrored %t: %v", flip, err)
				}
			}
		})
	}
}

func (s *Scenario) sides() []bool {
	if s.Mirrored {
		return []bool{false, true}
	}
	return []bool{false}
}

// Play plays the scenario and returns the start of the digest of its ledger, as hex. The
// error names the line that does not hold.
func (s *Scenario) Play(engine New, mirrored bool) (digest string, err error) {
	p, err := s.play(engine, mirrored)
	if err != nil {
		return "", err
	}
	return p.digest(), nil
}

func (s *Scenario) play(engine New, mirrored bool) (p *player, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			f, ok := broken.(failure)
			if !ok {
				panic(broken)
			}
			err = f.error
		}
	}()
	p = &player{s: s, open: engine, flip: mirrored, rec: &record{}, names: map[market.OrderID]string{}}
	p.run()
	return p, nil
}

// Digests has a line for each scenario and each mirror: name, digest.
func Digests(engine New) (string, error) {
	all, err := Scenarios()
	if err != nil {
		return "", err
	}
	var table strings.Builder
	for _, s := range all {
		for _, flip := range s.sides() {
			digest, err := s.Play(engine, flip)
			if err != nil {
				return "", err
			}
			name := s.Name
			if flip {
				name += "/mirrored"
			}
			fmt.Fprintf(&table, "%s %s\n", name, digest)
		}
	}
	return table.String(), nil
}

// record is a sim.Recorder that keeps everything.
type record struct {
	fills  []market.Fill
	trades []market.Trade
	orders []market.Order
	marks  []sim.Mark
	refuse []market.Reason
}

// Intent implements sim.Recorder.
func (r *record) Intent(_ int64, _ *market.Intent, reason market.Reason) {
	if reason != "" && reason != market.ReasonGuarded {
		r.refuse = append(r.refuse, reason)
	}
}

// Order implements sim.Recorder.
func (r *record) Order(_ int64, o *market.Order) { r.orders = append(r.orders, *o) }

// Fill implements sim.Recorder.
func (r *record) Fill(_ int64, f *market.Fill) { r.fills = append(r.fills, *f) }

// Trade implements sim.Recorder.
func (r *record) Trade(_ int64, t *market.Trade) { r.trades = append(r.trades, *t) }

// Equity implements sim.Recorder.
func (r *record) Equity(_ int64, m *sim.Mark) { r.marks = append(r.marks, *m) }

// Script is a scenario without its expectations: the configuration, the candles of
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
			series.Append(market.Candle{OpenTime: at, Open: price, High: price, Low: price, Close: price,
				Volume: 1})
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
