package replay

import (
	"time"

	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	// gapShare is one candle in so many that is dropped, gapHole how long nothing trades
	// at all. Both are policy.
	gapShare = 100
	gapHole  = 24 * time.Hour
)

// Gaps leaves candles out: a hole of 24 hours, the same for all symbols as when a venue
// is down, and 1 % (at least one) of the candles of each symbol. The first candle of a
// symbol stays. Stream: gaps.
func Gaps(set Set, seed, replica uint64) Set {
	stream := random.New(seed, random.Gaps, replica)
	from := holeStart(set[0].Series, stream)
	to := from.Add(gapHole)
	return set.each(func(s *market.Series) *market.Series {
		gone := map[int]bool{}
		for i := range s.Time {
			if s.Time[i] >= from && s.Time[i] < to {
				gone[i] = true
			}
		}
		if n := s.Len() - 1; n > 0 {
			for _, i := range stream.Perm(n)[:max(s.Len()/gapShare, 1)] {
				gone[1+i] = true
			}
		}
		delete(gone, 0)
		return without(s, gone)
	})
}

// holeStart is the open of a candle after which there are 24 hours of candles, if there
// is one, but never of the first.
func holeStart(s *market.Series, stream *random.Stream) market.Time {
	last := s.Time[s.Len()-1]
	n := s.Search(last.Add(-gapHole) + 1)
	if n < 2 {
		n = s.Len()
	}
	if n < 2 {
		return last + 1 // nowhere: the only candle stays
	}
	return s.Time[1+stream.IntN(n-1)]
}

func without(s *market.Series, gone map[int]bool) *market.Series {
	out := &market.Series{Symbol: s.Symbol, Timeframe: s.Timeframe}
	for i := range s.Time {
		if !gone[i] {
			out.Append(row(s, i))
		}
	}
	return out
}

// row is candle i without its close time.
func row(s *market.Series, i int) market.Candle {
	return market.Candle{OpenTime: s.Time[i], Open: s.Open[i], High: s.High[i], Low: s.Low[i], Close: s.Close[i], Volume: s.Volume[i]}
}
