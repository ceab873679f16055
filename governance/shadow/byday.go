package shadow

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// curve is the equity of an account at the closes of its candles, by their open times, and the cash that it
// began with.
type curve struct {
	cash   float64
	opens  []market.Time
	equity []float64
}

// curveOf is the equity curve of a run, checked against the hash of the bundle. It has a candle at least,
// and each is after the one before.
func (s *Stage) curveOf(b *bundle.Bundle, id string, tf market.Timeframe) (*curve, error) {
	text, err := s.listed(b, id, "/equity_curve.csv")
	if err != nil {
		return nil, err
	}
	c, err := readCurve(text, tf)
	if err != nil {
		return nil, fmt.Errorf("equity_curve.csv of %s: %w", id, err)
	}
	return c, nil
}

func readCurve(text []byte, tf market.Timeframe) (*curve, error) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 {
		return nil, errors.New("it has no candle")
	}
	at := slices.Index(rows[0], "equity")
	if at < 0 {
		return nil, errors.New("it has no column equity")
	}
	c := &curve{}
	for i, row := range rows[1:] {
		closed, err := market.ParseTime(row[0])
		if err != nil {
			return nil, err
		}
		equity, err := strconv.ParseFloat(row[at], 64)
		if err != nil {
			return nil, err
		}
		open := opened(tf, closed-1) // the candle that closed then
		if i > 0 && open <= c.opens[i-1] {
			return nil, fmt.Errorf("%s is not after the row before", row[0])
		}
		c.opens, c.equity = append(c.opens, open), append(c.equity, equity)
	}
	return c, nil
}

// cut takes what opens before a time off the front.
func (c *curve) cut(end market.Time) (day []market.Time, level float64) {
	n, _ := slices.BinarySearch(c.opens, end)
	day, level = c.opens[:n], c.cash
	if n > 0 {
		level = c.equity[n-1]
	}
	c.opens, c.equity, c.cash = c.opens[n:], c.equity[n:], level
	return day, level
}

// byDay gives a comparison all days of the run, with the net returns of both sides where they had the whole
// day and the same candles.
func byDay(out *bundle.ComparedRun, tf market.Timeframe, own, shadow *curve) {
	first, end := own.opens[0], tf.Next(own.opens[len(own.opens)-1])
	begin := first.Time().UTC().Truncate(24 * time.Hour)
	fills := out.Days
	out.Days = []bundle.ComparedDay{}
	for day := begin; market.FromTime(day) < end; day = day.AddDate(0, 0, 1) {
		from, to := market.FromTime(day), market.FromTime(day.AddDate(0, 0, 1))
		d := bundle.ComparedDay{Date: bundle.FormatDay(day)}
		if i := slices.IndexFunc(fills, func(f bundle.ComparedDay) bool { return f.Date == d.Date }); i >= 0 {
			d = fills[i]
			fills = slices.Delete(fills, i, i+1)
		}
		was, shadowWas := own.cash, shadow.cash
		candles, level := own.cut(to)
		others, shadowLevel := shadow.cut(to)
		switch {
		case first > from:
			d.Partial = bundle.PartialBegin
		case end < to:
			d.Partial = bundle.PartialEnd
		case !slices.Equal(candles, others):
			d.Partial = bundle.PartialCandles
		default:
			r, s := net(was, level), net(shadowWas, shadowLevel)
			d.Return, d.ShadowReturn = &r, &s
		}
		out.Days = append(out.Days, d)
	}
	out.Days = append(out.Days, fills...) // outside of its candles
	slices.SortFunc(out.Days, func(a, b bundle.ComparedDay) int { return cmp.Compare(a.Date, b.Date) })
}
