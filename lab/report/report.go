// Package report makes the tear sheet of a run: one HTML file with the verdict first, the account
// against holding, the trades, the costs, and every number with its definition and its doubt.
//
// The rows of the registry and the files that they list come in, each checked by its hash; a
// falsification shows the page of package falsify. The sheet is made from these data alone and
// never from HTML that lies in a folder: equal rows and files give equal bytes. Of a locked test
// nothing is read. What is missing is said.
//
// lab report writes the sheet to a file, the service serves the same bytes. The package imports
// the lab's statistics, the registry and the candle store.
package report

import (
	"bytes"
	"context"
	_ "embed" // the template
	"encoding/json"
	"errors"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/compare"
	"github.com/assay-run/assay/lab/falsify"
	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

//go:embed sheet.html
var content string

// Source is where a sheet is made from.
type Source struct {
	Artifacts *artifact.Store
	Registry  *registry.Registry
	// Candles are what holding is measured with; nil: there is no line of holding.
	Candles *candle.Store
}

// Page is the page of a run. The error is registry.ErrNotFound for an unknown one and an
// *artifact.MismatchError where a file is not what was stored.
func (s Source) Page(ctx context.Context, runID string) ([]byte, error) {
	row, err := s.Registry.Get(ctx, runID)
	if err != nil {
		return nil, err
	}
	if row.Kind == artifact.KindFalsification && row.Status == artifact.StatusCompleted {
		return s.falsification(ctx, row)
	}
	d, err := s.load(ctx, row)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = page.Write(&b, content, d.view())
	return b.Bytes(), err
}

// falsification is the page of a falsification, with the account of its base where that is stored.
func (s Source) falsification(ctx context.Context, row registry.Run) ([]byte, error) {
	m, err := artifact.DecodeMetadata(row.Payload)
	if err != nil {
		return nil, err
	}
	p, err := falsify.ReadPage(m, func(name string) ([]byte, error) {
		return s.Artifacts.Read(m, name)
	})
	if err != nil {
		return nil, err
	}
	base, err := s.Registry.Get(ctx, p.Summary.BaseRunID)
	if errors.Is(err, registry.ErrNotFound) {
		return p.Bytes()
	}
	if err != nil {
		return nil, err
	}
	if m, err = artifact.DecodeMetadata(base.Payload); err == nil {
		p.Time, p.Equity, p.Sharpe, err = s.searched(m)
	}
	if err != nil {
		return nil, err
	}
	return p.Bytes()
}

// searched is the account of a run on its search split, and its Sharpe ratio there.
func (s Source) searched(m *artifact.Metadata) ([]market.Time, []float64, *float64, error) {
	for _, x := range m.Splits {
		if x.ID != split.RoleSearch {
			continue
		}
		text, err := s.Artifacts.Read(m, "splits/"+x.ID+"/equity_curve.csv")
		if err != nil {
			return nil, nil, nil, err
		}
		c, err := artifact.ReadEquity(text)
		if err != nil {
			return nil, nil, nil, err
		}
		return c.Time, c.Equity, x.Metrics.SharpeRatio, nil
	}
	return nil, nil, nil, nil
}

// run is what there is of a run. Only row is always there; meta is empty for a row that an older
// program has imported.
type run struct {
	row    registry.Run
	meta   *artifact.Metadata
	report *artifact.Report
	// standing is its place in the search and its falsification; nil where there is none.
	standing *compare.Run
	peeks    []registry.Peek

	// basis is the split that the numbers are of, or walk_forward.
	basis   string
	values  metric.Values
	measure metric.Meta
	parts   []part
	returns metric.Returns
	// noHolding is why there is no line of holding.
	noHolding string
}

// part is one window of the basis.
type part struct {
	id     string
	curve  *artifact.EquityCurve
	trades []trade
	// holding is the close of the first symbol at each step; nil without candles.
	holding []float64
}

func (s Source) load(ctx context.Context, row registry.Run) (*run, error) {
	d := &run{row: row}
	var err error
	if d.meta, err = artifact.DecodeMetadata(row.Payload); err != nil {
		d.meta = &artifact.Metadata{RunID: row.RunID} // an imported payload may be anything
		return d, nil
	}
	if row.FamilyID != "" {
		if d.peeks, err = s.Registry.Peeks(ctx, row.FamilyID); err != nil {
			return nil, err
		}
	}
	if _, listed := d.meta.File("report.json"); !listed {
		return d, nil // it has failed early, or goes on
	}
	text, err := s.Artifacts.Read(d.meta, "report.json")
	if err != nil {
		return nil, err
	}
	d.report = &artifact.Report{}
	if err := json.Unmarshal(text, d.report); err != nil {
		return nil, &artifact.MismatchError{
			RunID:    row.RunID,
			Problems: []string{"report.json: " + err.Error()},
		}
	}
	c, err := compare.Compare(ctx, s.Artifacts, s.Registry,
		compare.Options{Slug: row.Slug, Runs: []string{row.RunID}})
	if err != nil {
		return nil, err
	}
	d.standing = &c.Runs[0]
	d.chooseBasis()
	return d, s.readParts(ctx, d)
}

// chooseBasis takes the stitched walk-forward, else the whole, else what came last before the test.
func (d *run) chooseBasis() {
	if wf := d.report.WalkForward; wf != nil {
		d.basis, d.values, d.measure = split.RoleWalkForward, wf.Metrics, wf.Meta
		return
	}
	for _, id := range []string{artifact.FullSplitID, split.RoleValidation, split.RoleSearch,
		split.RoleTrain} {
		for _, x := range d.report.Splits {
			if x.ID == id && shows(x) {
				d.basis, d.values, d.measure = id, x.Metrics, x.Meta
				return
			}
		}
	}
}

// shows reports whether the numbers of a split are for everybody.
func shows(s artifact.SplitReport) bool { return s.Status != statusLocked && s.Role != split.RoleTest }

const statusLocked = "locked"

// readParts reads the windows of the basis.
func (s Source) readParts(ctx context.Context, d *run) error {
	if d.basis == "" {
		return nil
	}
	tf, err := market.ParseTimeframe(d.meta.Timeframe)
	if err != nil {
		return nil // nothing can be placed in time
	}
	for _, x := range d.report.Splits {
		if !shows(x) || x.ID != d.basis && (d.basis != split.RoleWalkForward || x.Role != d.basis) {
			continue
		}
		p := part{id: x.ID}
		text, err := s.Artifacts.Read(d.meta, "splits/"+x.ID+"/equity_curve.csv")
		if err != nil {
			return err
		}
		if p.curve, err = artifact.ReadEquity(text); err != nil {
			return d.damaged(x.ID+"/equity_curve.csv", err)
		}
		if text, err = s.Artifacts.Read(d.meta, "splits/"+x.ID+"/trades.csv"); err != nil {
			return err
		}
		if p.trades, err = readTrades(text); err != nil {
			return d.damaged(x.ID+"/trades.csv", err)
		}
		if len(p.curve.Time) > 0 {
			d.parts = append(d.parts, p)
		}
	}
	if err := s.hold(ctx, d, tf); err != nil {
		return err
	}
	return d.sample(tf)
}

func (d *run) damaged(name string, err error) error {
	return &artifact.MismatchError{
		RunID:    d.row.RunID,
		Problems: []string{"splits/" + name + ": " + err.Error()},
	}
}

// sample takes the returns of the main sample, as the metrics are computed from them.
func (d *run) sample(tf market.Timeframe) error {
	in := metric.Input{Timeframe: tf, Calendar: d.measure.Calendar}
	step := market.Time(tf.Approx().Milliseconds())
	for _, p := range d.parts {
		c := metric.Curve{CloseTime: p.curve.Time, Equity: p.curve.Equity,
			Exposure: make([]float64, len(p.curve.Time))}
		for _, at := range p.curve.Time {
			c.OpenTime = append(c.OpenTime, at-step)
		}
		in.Curves = append(in.Curves, c)
	}
	var err error
	var bad *metric.InputError
	if d.returns, err = metric.MainReturns(in); errors.As(err, &bad) {
		d.returns = metric.Returns{} // such as an account below 0, which has no returns
		return nil
	}
	return err
}

// hold reads the closes of the first symbol at the steps of each part.
func (s Source) hold(ctx context.Context, d *run, tf market.Timeframe) error {
	if s.Candles == nil || len(d.meta.Data) == 0 {
		d.noHolding = "The candles of this run are not stored here."
		return nil
	}
	data := d.meta.Data[0]
	set, err := s.Candles.Pinned(ctx, d.meta.Exchange, market.Symbol(data.Symbol), tf, data.SHA256)
	var missing *candle.NotFoundError
	if errors.As(err, &missing) {
		d.noHolding = "The candles of this run are not stored here any more."
		return nil
	}
	if err != nil {
		return err
	}
	f, err := s.Candles.OpenSeries(set)
	if err != nil {
		d.noHolding = "The candles of this run are damaged: lab data check says which."
		return nil
	}
	series := f.Series()
	series.Timeframe = tf
	for i := range d.parts {
		d.parts[i].holding = candle.ClosesAt(series, d.parts[i].curve.Time)
	}
	return f.Close()
}

// Holding is what one unit of money held in the first symbol of a run has become at the end of
// each of these days; nil where the candles are not at hand.
func (s Source) Holding(ctx context.Context, m *artifact.Metadata, days []string) ([]float64, error) {
	tf, err := market.ParseTimeframe(m.Timeframe)
	if err != nil || len(days) == 0 {
		return nil, nil
	}
	p := part{curve: &artifact.EquityCurve{}}
	for _, day := range days {
		at, err := market.ParseTime(day)
		if err != nil {
			return nil, err
		}
		p.curve.Time = append(p.curve.Time, at.Add(24*time.Hour))
	}
	d := &run{meta: m, parts: []part{p}}
	if err := s.hold(ctx, d, tf); err != nil || d.parts[0].holding == nil {
		return nil, err
	}
	out := d.parts[0].holding
	first := out[0]
	for i := range out {
		out[i] /= first
	}
	return out, nil
}
