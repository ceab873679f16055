package evaluate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// timeline is the distinct close times of all symbols in the window, ascending, each
// with the open time of its candles.
type timeline struct{ opens, closes []market.Time }

// dates is the window [start, end) of a range of the timeline; end is nil at its end.
func (t timeline) dates(from, to int) (start, end *string) {
	s := t.opens[from].String()
	if to == len(t.opens) {
		return &s, nil
	}
	e := t.opens[to].String()
	return &s, &e
}

// data finds the candles of every symbol, pins their files and lays the timeline.
func (h *Host) data(ctx context.Context, p *Prepared) error {
	q := p.Question
	p.pins, p.data, p.timeline, p.coverage = map[market.Symbol]string{}, nil, timeline{}, nil
	tf, err := market.ParseTimeframe(q.Timeframe)
	if err != nil {
		return refuse("LAB_JSON_INVALID", "/timeframe", "/timeframe %v", err)
	}
	start, end, err := window(q)
	if err != nil {
		return err
	}
	byClose := map[market.Time]market.Time{}
	for i, text := range q.Symbols {
		symbol, err := market.ParseSymbol(text)
		if err != nil {
			return refuse("LAB_JSON_INVALID", fmt.Sprintf("/symbols/%d", i), "/symbols/%d %v", i, err)
		}
		d, err := p.dataset(ctx, q, symbol, tf)
		if err != nil {
			return err
		}
		file, err := p.candles.OpenSeries(d)
		if err != nil {
			return unavailable(symbol, err)
		}
		series := file.Series()
		from, to := 0, series.Len()
		if start != 0 {
			from = series.Search(start)
		}
		if end != 0 {
			to = series.Search(end)
		}
		if from >= to {
			err := refuse("DATA_UNAVAILABLE", "/data", "there is no %s candle of %s in the window; there are candles from %s to %s",
				tf, symbol, series.Time[0], series.CloseTime(series.Len()-1))
			_ = file.Close() // it was only read
			return err
		}
		for i := from; i < to; i++ {
			byClose[series.CloseTime(i)] = series.Time[i]
		}
		if len(q.Symbols) > 1 {
			p.coverage = append(p.coverage, coverage{symbol, slices.Clone(series.Time[from:to])})
		}
		p.data = append(p.data, artifact.Dataset{
			Symbol: text, Timeframe: q.Timeframe, SHA256: d.SHA256, Rows: int64(to - from), Start: series.Time[from], End: series.CloseTime(to - 1), ID: d.ID,
		})
		p.pins[symbol] = d.SHA256
		if err := file.Close(); err != nil {
			return err
		}
	}
	for c := range byClose {
		p.timeline.closes = append(p.timeline.closes, c)
	}
	slices.Sort(p.timeline.closes)
	for _, c := range p.timeline.closes {
		p.timeline.opens = append(p.timeline.opens, byClose[c])
	}
	return nil
}

// dataset is the pinned one or the current one.
func (p *Prepared) dataset(ctx context.Context, q Question, symbol market.Symbol, tf market.Timeframe) (candle.Dataset, error) {
	pin, pinned := strings.CutPrefix(q.Pins[string(symbol)], "sha256:")
	if !pinned {
		d, err := p.candles.Lookup(ctx, q.Exchange, symbol, tf)
		if err != nil {
			return d, unavailable(symbol, err)
		}
		return d, nil
	}
	d, err := p.candles.Pinned(ctx, q.Exchange, symbol, tf, pin)
	if err == nil {
		return d, nil
	}
	have := "none"
	if current, e := p.candles.Lookup(ctx, q.Exchange, symbol, tf); e == nil {
		have = "sha256:" + current.SHA256
	}
	return d, &Error{
		Code: "DATA_PIN_MISMATCH", Message: fmt.Sprintf("lab.json pins %s of %s to sha256:%s, which is not stored; stored is %s", tf, symbol, pin, have),
		Details: map[string]any{"pointer": "/data/pins/" + strings.ReplaceAll(string(symbol), "/", "~1"), "stored": have}, Cause: err,
	}
}

func unavailable(symbol market.Symbol, err error) error {
	var corrupt *candlefile.CorruptError
	if errors.As(err, &corrupt) {
		return &Error{Code: "DATA_UNAVAILABLE", Message: fmt.Sprintf("the candles of %s are corrupt (%s): import them again", symbol, corrupt.Reason), Cause: err}
	}
	return &Error{Code: "DATA_UNAVAILABLE", Message: fmt.Sprintf("candles of %s: %v; lab data list shows what is stored", symbol, err), Cause: err}
}

// window is what the question limits the data to; 0 is open.
func window(q Question) (start, end market.Time, err error) {
	read := func(pointer string, s *string) (market.Time, error) {
		if s == nil {
			return 0, nil
		}
		t, err := market.ParseTime(*s)
		if err != nil {
			return 0, refuse("LAB_JSON_INVALID", pointer, "%s %v", pointer, err)
		}
		return t, nil
	}
	if start, err = read("/data/start", q.Start); err != nil {
		return 0, 0, err
	}
	if end, err = read("/data/end", q.End); err != nil {
		return 0, 0, err
	}
	if start != 0 && end != 0 && start >= end {
		return 0, 0, refuse("LAB_JSON_INVALID", "/data/end", "/data/end must be after /data/start")
	}
	return start, end, nil
}
