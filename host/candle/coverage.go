package candle

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// AllGaps lists the gaps of a dataset, oldest first. The catalogue has the longest; where there are more, the
// file is read once per process, and again only while it cannot be: then the longest are all that is known.
func (s *Store) AllGaps(ctx context.Context, d Dataset) ([]Gap, error) {
	list := slices.SortedFunc(slices.Values(d.Report.Gaps.Gaps), func(a, b Gap) int {
		return cmp.Compare(a.From, b.From)
	})
	if d.Report.Gaps.GapCount <= len(list) {
		return append([]Gap{}, list...), ctx.Err()
	}
	key := d.SHA256 + string(d.Calendar)
	s.mu.Lock()
	known, ok := s.gaps[key]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	f, err := s.OpenSeries(d)
	if _, damaged := errors.AsType[*candlefile.CorruptError](err); damaged {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	known = listGaps(f.Series(), d.Calendar)
	s.mu.Lock()
	s.gaps[key] = known
	s.mu.Unlock()
	return known, f.Close()
}

// Coverage divides the candles that a dataset should have into at most n stretches of equal length and gives
// the share that each has, by the gaps of AllGaps.
func (d Dataset) Coverage(gaps []Gap, n int) []float64 {
	expected := d.Rows + d.Report.Gaps.Missing
	n = min(n, expected)
	missed := make([]int, n)
	begin := func(k int) int { return k * expected / n }
	step := d.Timeframe.Approx().Milliseconds()
	k := 0
	for _, g := range gaps {
		from := missing(d.First, g.From, step, d.Calendar) + 1
		to := min(from+g.Candles, expected)
		for k > 0 && begin(k) > from {
			k--
		}
		for from < to {
			for begin(k+1) <= from {
				k++
			}
			upTo := min(to, begin(k+1))
			missed[k] += upTo - from
			from = upTo
		}
	}
	shares := make([]float64, n)
	for k := range shares {
		size := begin(k+1) - begin(k)
		shares[k] = float64(size-missed[k]) / float64(size)
	}
	return shares
}

// ClosesAt are the closes of the newest candle at each time; nil where the first has none.
func ClosesAt(s *market.Series, times []market.Time) []float64 {
	out := make([]float64, 0, len(times))
	at := -1
	for _, t := range times {
		for at+1 < s.Len() && s.CloseTime(at+1) <= t {
			at++
		}
		if at < 0 {
			return nil
		}
		out = append(out, s.Close[at])
	}
	return out
}

// Merged joins neighbouring candles so that at most n are left: each has the open of its first, the close of
// its last, their highest and lowest prices and all of their volume.
func Merged(s *market.Series, n int) []market.Candle {
	size := (s.Len() + n - 1) / n
	var out []market.Candle
	for from := 0; from < s.Len(); from += size {
		c := s.At(from)
		for i := from + 1; i < min(from+size, s.Len()); i++ {
			c.High, c.Low, c.Close = max(c.High, s.High[i]), min(c.Low, s.Low[i]), s.Close[i]
			c.Volume += s.Volume[i]
		}
		out = append(out, c)
	}
	return out
}
