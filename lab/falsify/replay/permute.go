package replay

import (
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/trade"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Permute shuffles the gaps and the bodies of every symbol, see trade.Permute: drift and
// volatility stay, patterns do not. One permutation serves all symbols when their
// timelines are equal, which keeps what they have in common; else each has its own, and
// joint is false. Stream: permute.
func Permute(set Set, seed, replica uint64) (_ Set, joint bool) {
	stream := random.New(seed, random.Permute, replica)
	joint = set.Joint()
	var gaps, bodies []int
	return set.each(func(s *market.Series) *market.Series {
		if gaps == nil || !joint {
			gaps, bodies = stream.Perm(s.Len()-1), stream.Perm(s.Len()-1)
		}
		return rearranged(s, gaps, bodies)
	}), joint
}

// Reverse puts gaps and bodies in the opposite order: the last move comes first, up
// stays up, and the last close is the old one.
func Reverse(set Set) Set {
	return set.each(func(s *market.Series) *market.Series {
		n := s.Len() - 1
		order := make([]int, n)
		for i := range order {
			order[i] = n - 1 - i
		}
		return rearranged(s, order, order)
	})
}

func rearranged(s *market.Series, gaps, bodies []int) *market.Series {
	rows := make([]market.Candle, s.Len())
	for i := range rows {
		rows[i] = row(s, i)
	}
	out := clone(s)
	for i, c := range trade.Permute(rows, gaps, bodies) {
		out.Open[i], out.High[i], out.Low[i], out.Close[i], out.Volume[i] = c.Open, c.High, c.Low, c.Close, c.Volume
	}
	return out
}
