package v1

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// stored answers with the stored candles, by themselves and as runs have read them.
type stored struct {
	ledger  holdout.Ledger
	library *library.Library
}

// coverageBuckets is into how many stretches a dataset is divided.
const coverageBuckets = 200

func (a stored) listDatasets(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "exchange", "symbol", "timeframe", "cursor", "limit")
	offset, limit := q.page(r, 200)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	all, err := a.ledger.Datasets(r.Context())
	if err != nil {
		return nil, err
	}
	is := func(name, value string) bool { want := q.text(name); return want == "" || want == value }
	all = pick(all, func(d holdout.Dataset) bool {
		return d.Current && is("exchange", d.Exchange) && is("symbol", string(d.Symbol)) &&
			is("timeframe", d.Timeframe.String())
	})
	offset = follow(q, all, offset, func(d *holdout.Dataset) string { return d.ID })
	page := cut(all, offset, limit)
	items := make([]view.Dataset, len(page))
	for i, d := range page {
		if items[i], err = a.showDataset(r.Context(), d); err != nil {
			return nil, err
		}
	}
	inputs, _ := a.ledger.Candles.Inputs().List() // without damaged ones, which lab data list names
	answer := datasetList{listOf(r, q, items, offset, len(all)), []view.Input{}}
	for _, in := range inputs {
		answer.Inputs = append(answer.Inputs, view.InputOf(in))
	}
	return tagged(answer)
}

// datasetList is a page of datasets, with all inputs.
type datasetList struct {
	list[view.Dataset]
	Inputs []view.Input `json:"inputs"`
}

func (a stored) showDataset(ctx context.Context, d holdout.Dataset) (view.Dataset, error) {
	gaps, err := a.ledger.Candles.AllGaps(ctx, d.Dataset)
	return view.DatasetOf(d, d.Coverage(gaps, coverageBuckets)), err
}

// findDataset finds a dataset, current or not, by the id in the path.
func (a stored) findDataset(r *http.Request) (d holdout.Dataset, err error) {
	all, err := a.ledger.Datasets(r.Context())
	if err != nil {
		return d, err
	}
	at := slices.IndexFunc(all, func(d holdout.Dataset) bool { return d.ID == param(r, 0) })
	if at < 0 {
		return d, problem.New(problem.DatasetNotFound)
	}
	return all[at], nil
}

// datasetDetail is a dataset with how it came about.
type datasetDetail struct {
	view.Dataset
	Report candle.Report `json:"report"`
}

func (a stored) getDataset(r *http.Request) (*edge.Answer, error) {
	if err := readQuery(r).refusal(); err != nil {
		return nil, err
	}
	d, err := a.findDataset(r)
	if err != nil {
		return nil, err
	}
	shown, err := a.showDataset(r.Context(), d)
	if err != nil {
		return nil, err
	}
	return tagged(datasetDetail{shown, d.Report})
}

func (a stored) datasetGaps(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "cursor", "limit")
	offset, limit := q.page(r, 200)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	d, err := a.findDataset(r)
	if err != nil {
		return nil, err
	}
	gaps, err := a.ledger.Candles.AllGaps(r.Context(), d.Dataset)
	if err != nil {
		return nil, err
	}
	return tagged(listOf(r, q, cut(gaps, offset, limit), offset, len(gaps)))
}

// openRunData maps the candles of a symbol that a run has read, "" for its first; nil where it has read none.
// Candles that are not stored any more, or not as they were, are an *artifact.MismatchError. The caller
// closes the file.
func (a stored) openRunData(ctx context.Context, runID, symbol string) (*candlefile.File, *artifact.Dataset,
	error) {
	exchange, data, err := a.library.Data(ctx, runID)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(data, func(d artifact.Dataset) bool { return symbol == "" || d.Symbol == symbol })
	if at < 0 {
		return nil, nil, nil
	}
	d := &data[at]
	tf, err := market.ParseTimeframe(d.Timeframe)
	if err != nil {
		return nil, nil, err
	}
	set, err := a.ledger.Candles.Pinned(ctx, exchange, market.Symbol(d.Symbol), tf, d.SHA256)
	var file *candlefile.File
	if err == nil {
		file, err = a.ledger.Candles.OpenSeries(set)
	}
	var missing *candle.NotFoundError
	var corrupt *candlefile.CorruptError
	switch {
	case errors.As(err, &missing):
		return nil, nil, &artifact.MismatchError{RunID: runID, Problems: []string{
			fmt.Sprintf("the candles %s are not stored any more", d.ID)}}
	case errors.As(err, &corrupt):
		return nil, nil, &artifact.MismatchError{RunID: runID, Problems: []string{
			fmt.Sprintf("the candles %s are damaged: %s", d.ID, corrupt.Reason)}}
	}
	return file, d, err
}

// runCandles are the candles of one symbol of a run, [ms, open, high, low, close, volume] each.
type runCandles struct {
	Symbol    string           `json:"symbol"`
	Timeframe string           `json:"timeframe"`
	Points    [][6]view.Number `json:"points"`
	Of        int              `json:"of"`
}

func (a stored) runCandles(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "symbol", "from", "to", "points")
	from, to := q.stretch()
	points := q.integer("points", view.DetailPoints, 2, 4000)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	file, d, err := a.openRunData(r.Context(), param(r, 0), q.text("symbol"))
	if err != nil {
		return nil, err
	}
	if file == nil {
		q.refuse("symbol", "is none of the run", "enum")
		return nil, q.refusal()
	}
	defer file.Close()
	s := file.Series()
	first, last := s.Search(max(from, d.Start)), s.Search(min(to, d.End))
	shown, err := a.shown(r.Context(), param(r, 0), s)
	if err != nil {
		return nil, err
	}
	if shown <= first && shown < last {
		return nil, problem.New(problem.SplitLocked).With("run_id", param(r, 0))
	}
	s = s.Slice(first, max(first, min(last, shown)))
	out := runCandles{Symbol: d.Symbol, Timeframe: d.Timeframe, Points: [][6]view.Number{}, Of: s.Len()}
	for _, c := range candle.Merged(s, points) {
		out.Points = append(out.Points, [6]view.Number{view.Number(c.OpenTime), view.Number(c.Open),
			view.Number(c.High), view.Number(c.Low), view.Number(c.Close), view.Number(c.Volume)})
	}
	return tagged(out)
}

// shown is how many candles of a series close before those that a run keeps locked.
func (a stored) shown(ctx context.Context, runID string, s *market.Series) (int, error) {
	locked, err := a.library.LockedFrom(ctx, runID)
	if err != nil || locked == 0 {
		return s.Len(), err
	}
	n := s.Search(locked)
	for n > 0 && s.Timeframe.Next(s.Time[n-1]) >= locked {
		n--
	}
	return n, nil
}

// holding is what the first symbol of a run would have come to over windows, from an equity on; nil where its
// candles are not at hand.
func (a stored) holding(ctx context.Context, runID string, windows []*artifact.EquityCurve,
	equity float64) ([]float64, error) {
	file, _, err := a.openRunData(ctx, runID, "")
	var differs *artifact.MismatchError
	if file == nil && err == nil || errors.As(err, &differs) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	closes := make([][]float64, 0, len(windows))
	for _, w := range windows {
		if len(w.Time) == 0 {
			continue
		}
		part := candle.ClosesAt(file.Series(), w.Time)
		if part == nil {
			return nil, nil
		}
		closes = append(closes, part)
	}
	return artifact.JoinHolding(equity, closes), nil
}
