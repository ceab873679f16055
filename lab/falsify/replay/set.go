package replay

import (
	"slices"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Candles are those of one symbol, as stored or changed.
type Candles struct {
	// Dataset is where they come from: exchange, calendar, price step and volume unit stay
	// true of changed candles, hash and counts do not.
	Dataset candle.Dataset
	// Series has its Symbol. Its columns may be mapped and are never written.
	Series *market.Series
}

// Set is the candles of one replay by symbol, in the order of the request. A change of
// a Set is a new one.
type Set []Candles

// Window is the part of the data that a replay may know: the candles that open in
// [Start, End), and of each symbol at most Lead earlier ones to warm up with. A Start of
// 0 is the first candle. End has no default: the rest of the data is somebody else's.
type Window struct {
	Start, End market.Time
	Lead       int
}

// rows are the candles [from, to) of a series that the window admits.
func (w Window) rows(s *market.Series) (from, to int) {
	if w.Start != 0 {
		from = s.Search(w.Start)
	}
	to = s.Search(w.End)
	return max(from-w.Lead, 0), max(to, from)
}

// Symbols are those of the set in its order.
func (s Set) Symbols() []market.Symbol {
	out := make([]market.Symbol, len(s))
	for i := range s {
		out[i] = s[i].Series.Symbol
	}
	return out
}

// Joint says that all symbols have candles at the same times.
func (s Set) Joint() bool {
	for i := range s {
		if !slices.Equal(s[i].Series.Time, s[0].Series.Time) {
			return false
		}
	}
	return true
}

// Closes are the distinct close times of all symbols, ascending: the steps of a run over
// the set, warm-up included.
func (s Set) Closes() []market.Time {
	var out []market.Time
	for i := range s {
		for k := range s[i].Series.Time {
			out = append(out, s[i].Series.CloseTime(k))
		}
	}
	if len(s) > 1 {
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}

// Begun is the close of the step by which every symbol has had a candle: no cut can be
// earlier. It is 0 for an empty set.
func (s Set) Begun() market.Time {
	latest := market.Time(0)
	for i := range s {
		latest = max(latest, s[i].Series.CloseTime(0))
	}
	return latest
}

// Truncate keeps what has closed by the cut, the close time of a step not before Begun.
func Truncate(set Set, cut market.Time) Set {
	return set.each(func(s *market.Series) *market.Series { return s.Slice(0, closedBy(s, cut)) })
}

// each is the set with every series changed.
func (s Set) each(change func(*market.Series) *market.Series) Set {
	out := slices.Clone(s)
	for i := range out {
		out[i].Series = change(out[i].Series)
	}
	return out
}

// closedBy counts the candles of a series that have closed by a time.
func closedBy(s *market.Series, at market.Time) int {
	n := s.Search(at) // one that opens then or later has not closed
	for n > 0 && s.CloseTime(n-1) > at {
		n--
	}
	return n
}

// clone is a copy of a series that may be written.
func clone(s *market.Series) *market.Series {
	out := *s
	out.Time = slices.Clone(s.Time)
	out.Open, out.High, out.Low = slices.Clone(s.Open), slices.Clone(s.High), slices.Clone(s.Low)
	out.Close, out.Volume = slices.Clone(s.Close), slices.Clone(s.Volume)
	return &out
}
