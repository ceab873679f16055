package backtest

import (
	"fmt"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// coverage compares the candles of every symbol with the window that was asked for: the window is cut where no symbol
// has any, and a symbol that begins later or ends earlier than the others is named.
func coverage(sources []*source, start, end *market.Time) []result.Note {
	var notes []result.Note
	var first, last market.Time
	for i, s := range sources {
		from, to := s.series.Time[s.from], s.series.CloseTime(s.to-1)
		if i == 0 || from < first {
			first = from
		}
		last = max(last, to)
	}
	data := sources[0].reach()
	for _, s := range sources[1:] {
		r := s.reach()
		data.Start, data.End = min(data.Start, r.Start), max(data.End, r.End)
	}
	if (start != nil && *start < data.Start) || (end != nil && *end > data.End) {
		notes = append(notes, result.Note{Code: "WINDOW_CLIPPED",
			Message: fmt.Sprintf("There are candles from %s to %s: the window was cut to them.", data.Start, data.End)})
	}
	for _, s := range sources {
		from, to := s.series.Time[s.from], s.series.CloseTime(s.to-1)
		text := ""
		switch {
		case from > first && to < last:
			text = fmt.Sprintf("%s has candles from %s to %s only: it joins late and leaves early.", s.symbol, from, to)
		case from > first:
			text = fmt.Sprintf("%s has no candles before %s: it joins late, the others trade from %s.", s.symbol, from, first)
		case to < last:
			text = fmt.Sprintf("%s has no candles from %s on: it leaves early, the others trade until %s.", s.symbol, to, last)
		default:
			continue
		}
		notes = append(notes, result.Note{Code: "SYMBOL_PARTIAL", Message: text})
	}
	return notes
}

// reach is from the open of the first stored candle to the close of the last.
func (s *source) reach() candle.Range {
	return candle.Range{Start: s.series.Time[0], End: s.series.CloseTime(s.series.Len() - 1)}
}
