package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// exchange is where an imported run has taken place, as far as anybody knows.
const exchange = "imported"

// Kept is an imported run.
type Kept struct {
	Metadata *artifact.Metadata
	Report   *artifact.Report
	// Known reports whether it was there already.
	Known bool
}

// Keep stores results as a run of the strategy slug. The same files with the same options are one run.
func Keep(ctx context.Context, store *artifact.Store, reg *registry.Registry, r *Results, slug string,
	at time.Time) (*Kept, error) {
	curve, err := r.curve()
	if err != nil {
		return nil, err
	}
	results, err := r.results(curve)
	if err != nil {
		return nil, err
	}
	run, err := r.run(slug, results, at)
	if err != nil {
		return nil, err
	}
	hash, err := run.Manifest.Request.Hash()
	if err != nil {
		return nil, err
	}
	if run.ID, err = request.RunID(hash); err != nil {
		return nil, err
	}
	row, err := reg.Get(ctx, run.ID)
	switch {
	case err == nil:
		m, err := artifact.DecodeMetadata(row.Payload)
		if err != nil {
			return nil, err
		}
		report, err := artifact.ReadReport(store.Dir(run.ID))
		return &Kept{m, report, true}, err
	case !errors.Is(err, registry.ErrNotFound):
		return nil, err
	}
	written, err := store.Write(run)
	if err != nil {
		return nil, err
	}
	return &Kept{Metadata: written.Metadata, Report: written.Report},
		reg.Complete(ctx, written.Metadata, written.Payload)
}

// run is the run of the results, without its id.
func (r *Results) run(slug string, results *artifact.Results, at time.Time) (*artifact.Run, error) {
	execution, err := json.Marshal(map[string]string{"profile": r.Source.Tool})
	if err != nil {
		return nil, err
	}
	m, err := artifact.Manifest{
		Request: artifact.Request{Kind: artifact.KindImported, StrategyName: r.Strategy, Symbols: r.Symbols,
			FamilyID: artifact.FamilyID(slug), Timeframe: r.Timeframe.String(), Exchange: exchange,
			StartDate: r.Start, EndDate: r.Timeframe.Next(r.End),
			InitialCash: json.RawMessage(r.Cash.Trim(0).String()), Execution: execution},
		Splits:   artifact.FullSplit(slices.Values(results.Equity.Time)),
		Strategy: artifact.Strategy{Name: r.Strategy, Slug: slug},
		Engine:   artifact.Engine{Name: r.Source.Tool, Version: r.Source.Version},
		Imported: &r.Source,
	}.Complete()
	if err != nil {
		return nil, err
	}
	return &artifact.Run{Manifest: m, Status: artifact.StatusCompleted, StartedAt: at, CompletedAt: at,
		Origin: artifact.OriginImported, Environment: artifact.HostEnvironment(),
		Splits: []artifact.Split{{ID: artifact.FullSplitID, Results: results}}}, nil
}

// curve is the equity at each close: as the engine has it, else of the closed trades.
func (r *Results) curve() (*metric.Curve, error) {
	c := &metric.Curve{}
	if len(r.Marks) > 0 {
		for _, m := range r.Marks {
			c.OpenTime, c.Equity = append(c.OpenTime, m.At), append(c.Equity, m.Equity)
		}
	} else {
		for at := r.Timeframe.Opening(r.Start); at <= r.End; at = r.Timeframe.Next(at) {
			if len(c.OpenTime) == maxPoints {
				return nil, &Error{CodeTooLarge, "", fmt.Sprintf("the window has more than %d candles of %s",
					maxPoints, r.Timeframe)}
			}
			c.OpenTime = append(c.OpenTime, at)
		}
	}
	for i, at := range c.OpenTime {
		end := r.Timeframe.Next(at)
		if i+1 < len(c.OpenTime) { // an odd index may have shorter steps
			end = min(end, c.OpenTime[i+1])
		}
		c.CloseTime = append(c.CloseTime, end)
	}
	return c, nil
}

// results fills the curve and makes what a run has of it. A trade counts from its exit on; what is
// open is valued at its entry price.
func (r *Results) results(c *metric.Curve) (*artifact.Results, error) {
	n := len(c.CloseTime)
	change := func(at market.Time) int { // the step in which something happens at a time
		i, _ := slices.BinarySearch(c.CloseTime, at+1)
		return min(i, n-1)
	}
	earned, held, gross := make([]float64, n), make([]float64, n), make([]float64, n)
	res := &artifact.Results{Orders: []market.Order{}, Fills: []market.Fill{}, Trades: r.Trades,
		InitialCash: r.Cash.Trim(0).String(), Assumptions: r.Remarks}
	in := metric.Input{Timeframe: r.Timeframe, Calendar: r.calendar(c), Trades: r.Trades}
	for i := range r.Trades {
		t := &r.Trades[i]
		pnl, _ := t.PnL.Float64()
		quantity, _ := t.Quantity.Float64()
		price, _ := t.EntryPrice.Float64()
		worth := quantity * price
		signed := worth
		if t.Direction == market.Short {
			signed = -worth
		}
		from, to := change(t.EntryTime), change(t.ExitTime)
		earned[to] += pnl
		held[from], held[to] = held[from]+signed, held[to]-signed
		gross[from], gross[to] = gross[from]+worth, gross[to]-worth
		in.Totals.Fills, in.Totals.Orders = in.Totals.Fills+2, in.Totals.Orders+2
		in.Totals.FillNotional.AddProduct(t.Quantity, t.EntryPrice)
		in.Totals.FillNotional.AddProduct(t.Quantity, t.ExitPrice)
		in.Totals.FeesPaid.Add(t.Fees)
	}
	r.account(c, res, earned, held, gross)
	in.Curves = []metric.Curve{*c}
	report, err := metric.Compute(in)
	if err != nil {
		return nil, fmt.Errorf("imported results: %w", err)
	}
	res.Metrics, res.FinalValue = &report, fmt.Sprint(c.Equity[n-1])
	res.Window = artifact.Window{Start: r.Start, End: c.CloseTime[n-1], Candles: int64(n)}
	res.Warnings = res.Concerns()
	return res, nil
}

// account makes the columns of the curve from what changes at each step.
func (r *Results) account(c *metric.Curve, res *artifact.Results, earned, held, gross []float64) {
	equity, _ := r.Cash.Float64()
	position, exposed, peak := 0.0, 0.0, math.Inf(-1)
	largest := 0.0
	for _, g := range gross {
		largest = max(largest, math.Abs(g))
	}
	for i := range c.CloseTime {
		equity += earned[i]
		position, exposed = position+held[i], exposed+gross[i]
		if exposed < largest*1e-9 { // what is left of sums of rounded numbers
			position, exposed = 0, 0
		}
		now := equity
		if len(r.Marks) > 0 {
			now = c.Equity[i]
		} else {
			c.Equity = append(c.Equity, now)
		}
		peak = max(peak, now)
		fall, share := 0.0, exposed
		if peak > 0 {
			fall = (peak - now) / peak
		}
		if now > 0 {
			share = exposed / now
		}
		c.Exposure = append(c.Exposure, share)
		e := &res.Equity
		e.Equity, e.Cash = append(e.Equity, now), append(e.Cash, now-position)
		e.PositionValue, e.Drawdown = append(e.PositionValue, position), append(e.Drawdown, fall)
		e.Exposure = append(e.Exposure, share)
	}
	res.Equity.Time = c.CloseTime
}

// calendar is that of weekdays where two weeks of steps have none at a weekend.
func (r *Results) calendar(c *metric.Curve) string {
	if len(r.Marks) < 10 {
		return metric.Calendar24x7
	}
	for _, at := range c.OpenTime {
		if day := at.Time().Weekday(); day == time.Saturday || day == time.Sunday {
			return metric.Calendar24x7
		}
	}
	return metric.CalendarWeekdays
}
