// Package column computes the indicators that a strategy in another language asks for, as columns beside the
// candles of an advance. Their values have the bits of the strategy's own.
package column

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// What a strategy may ask for. A longer period is the strategy's own to compute.
const (
	MaxIndicators = 64
	maxPeriod     = 100_000
)

// Columns are the indicators of a run.
type Columns struct {
	list  []*one
	lines int
}

// one is an indicator that the host computes.
type one struct {
	index   int32 // in what the strategy asks for
	sources []*strategypb.Source
	made    made
	fed     int // feedings of this chunk
	columns []values
}

// values are what a line had since the last message.
type values struct {
	count   int // of the line
	present []byte
	bytes   []byte
}

// made is an indicator with one of the ways to feed it.
type made struct {
	price  func(float64)
	candle func(market.Candle)
	pair   func(x, y float64)
	lines  []indicator.Line
}

// New makes what a strategy asks for in a run of so many symbols. What has an unknown name or other arguments
// than it takes is left out: a strategy with a newer SDK computes it itself. An error is what no strategy
// sends.
func New(asked []*strategypb.Indicator, symbols int) (*Columns, error) {
	if n := len(asked); n > MaxIndicators {
		return nil, fmt.Errorf("indicators: %d are too many, at most %d", n, MaxIndicators)
	}
	c := &Columns{}
	for i, a := range asked {
		for k, s := range a.GetSources() {
			if n := s.GetSymbol(); n < 0 || int(n) >= symbols {
				return nil, fmt.Errorf("indicators[%d].sources[%d].symbol: %d is none of %d symbols", i, k, n,
					symbols)
			}
		}
		made, ok := construct(a)
		if !ok {
			continue
		}
		c.list = append(c.list, &one{index: int32(i), sources: a.GetSources(), made: made,
			columns: make([]values, len(made.lines))})
		c.lines += len(made.lines)
	}
	return c, nil
}

// construct makes an indicator; false means that it is not known, or not with these arguments and sources.
func construct(a *strategypb.Indicator) (m made, ok bool) {
	maker, known := makers[a.GetName()]
	if !known {
		return m, false
	}
	// A constructor panics on arguments that do not go together.
	defer func() {
		if recover() != nil {
			m, ok = made{}, false
		}
	}()
	args := &args{list: a.GetArgs(), shape: a.GetShape()}
	m = maker(args)
	return m, !args.bad && len(args.list) == args.taken && m.takes(a.GetSources())
}

// takes reports whether an indicator can be fed with sources.
func (m *made) takes(sources []*strategypb.Source) bool {
	for _, s := range sources {
		if s.GetField() > uint32(volume) || (s.GetField() == uint32(whole)) != (m.candle != nil) {
			return false
		}
	}
	if m.pair != nil {
		return len(sources) == 2
	}
	return len(sources) == 1
}

// Lines is how many numbers there are at a step at most.
func (c *Columns) Lines() int {
	if c == nil {
		return 0
	}
	return c.lines
}

// Add takes the candles of a step. The slices are indexed like the run's symbols.
func (c *Columns) Add(candles []market.Candle, closed []bool) {
	if c == nil {
		return
	}
	for _, o := range c.list {
		if o.closed(closed) {
			o.feed(candles)
		}
	}
}

func (o *one) closed(closed []bool) bool {
	for _, s := range o.sources {
		if !closed[s.GetSymbol()] {
			return false
		}
	}
	return true
}

func (o *one) feed(candles []market.Candle) {
	first := o.sources[0]
	at := &candles[first.GetSymbol()]
	switch {
	case o.made.candle != nil:
		o.made.candle(*at)
	case o.made.pair != nil:
		second := o.sources[1]
		o.made.pair(number(at, first.GetField()), number(&candles[second.GetSymbol()], second.GetField()))
	default:
		o.made.price(number(at, first.GetField()))
	}
	for i, line := range o.made.lines {
		v := &o.columns[i]
		if o.fed%8 == 0 {
			v.present = append(v.present, 0)
		}
		if n := line.Count(); n > v.count {
			v.count = n
			v.present[o.fed/8] |= 1 << (o.fed % 8)
			v.bytes = binary.LittleEndian.AppendUint64(v.bytes, math.Float64bits(line.Value()))
		}
	}
	o.fed++
}

// Message hands over what there is since the last one.
func (c *Columns) Message() (list []*strategypb.IndicatorColumns) {
	if c == nil {
		return nil
	}
	for _, o := range c.list {
		m := &strategypb.IndicatorColumns{Indicator: o.index}
		for i := range o.columns {
			v := &o.columns[i]
			line := &strategypb.LineColumn{Values: v.bytes}
			if len(v.bytes) < 8*o.fed {
				line.Present = v.present
			}
			m.Lines = append(m.Lines, line)
			v.present, v.bytes = nil, nil
		}
		o.fed = 0
		list = append(list, m)
	}
	return list
}

// field is a number of a candle, as it is sent.
type field uint32

const (
	whole field = iota
	open
	high
	low
	closing
	volume
)

func number(c *market.Candle, f uint32) float64 {
	switch field(f) {
	case open:
		return c.Open
	case high:
		return c.High
	case low:
		return c.Low
	case volume:
		return c.Volume
	}
	return c.Close
}
