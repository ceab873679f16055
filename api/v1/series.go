package v1

import (
	"net/http"
	"slices"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// publishedSeries is a series that a strategy has published, and how charts draw it.
type publishedSeries struct {
	Name string `json:"name"`
	// Symbol is null for a series of the whole run.
	Symbol *string `json:"symbol"`
	// Pane is empty for a series over the candles.
	Pane string       `json:"pane"`
	Kind sdk.PlotKind `json:"kind"`
	// Of counts its points.
	Of int `json:"of"`
}

// runSeries is the series of a split and, where one was asked for, its points, [ms, value] each. Name,
// Symbol, Pane and Kind are null where none was.
type runSeries struct {
	Split string `json:"split"`
	list[publishedSeries]
	// LeftOut counts points that the run had no room for.
	LeftOut int64            `json:"left_out"`
	Name    *string          `json:"name"`
	Symbol  *string          `json:"symbol"`
	Pane    *string          `json:"pane"`
	Kind    *sdk.PlotKind    `json:"kind"`
	Points  [][2]view.Number `json:"points"`
	// Of counts the points between from and to, before they are thinned.
	Of int `json:"of"`
}

// seriesAPI is the operation on what a strategy has published.
type seriesAPI struct{ of *API }

func (a seriesAPI) get(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "split", "name", "symbol", "from", "to", "points")
	from, to := q.stretch()
	points := q.integer("points", view.DetailPoints, 2, 4000)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	all, err := a.of.opts.Library.Series(r.Context(), param(r, 0), q.text("split"))
	if err != nil {
		return nil, err
	}
	symbol := q.text("symbol")
	if symbol != "" && !slices.Contains(all.Symbols, symbol) {
		q.refuse("symbol", "is none of the run", "enum")
		return nil, q.refusal()
	}
	plots := a.plotsOf(all.Program)
	out := runSeries{Split: all.Split, LeftOut: all.LeftOut, Points: [][2]view.Number{}}
	out.Items = []publishedSeries{}
	for _, s := range all.Annotations {
		if symbol == "" || s.Symbol == "" || string(s.Symbol) == symbol {
			out.Items = append(out.Items, drawn(s, plots))
		}
	}
	if out.Total = len(out.Items); !q.values.Has("name") {
		return tagged(out)
	}
	s, found := choose(q, all)
	if !found {
		return nil, q.refusal()
	}
	one := drawn(s, plots)
	out.Name, out.Symbol, out.Pane, out.Kind = &one.Name, one.Symbol, &one.Pane, &one.Kind
	first, end := within(s.Time, from, to)
	s.Time, s.Values = s.Time[first:end], s.Values[first:end]
	out.Of = len(s.Time)
	for _, k := range metric.Thin(s.Time, s.Values, points) {
		out.Points = append(out.Points, [2]view.Number{view.Number(s.Time[k]), view.Number(s.Values[k])})
	}
	return tagged(out)
}

// choose finds the series that a query names: of the symbol that it names, else of the whole run. It is empty
// where only other symbols have one of this name.
func choose(q *query, all library.Published) (s artifact.Annotation, found bool) {
	symbol := market.Symbol(q.text("symbol"))
	if symbol == "" && len(all.Symbols) == 1 {
		symbol = market.Symbol(all.Symbols[0])
	}
	s, found = artifact.SeriesOf(all.Annotations, q.text("name"), symbol)
	switch {
	case !found:
		q.refuse("name", "is no series that the strategy has published in "+all.Split, "enum")
	case symbol == "" && len(s.Time) == 0:
		q.refuse("symbol", "must be given: several symbols have a series of this name", "required")
		found = false
	}
	return s, found
}

// plotsOf are the plots of a program, none where it is not in the catalogue any more.
func (a seriesAPI) plotsOf(program string) []sdk.Plot {
	for _, s := range a.of.opts.Strategies() {
		if s.SHA256 == program {
			return s.Plots
		}
	}
	return nil
}

// drawn is a series with the pane and kind of its plot: a line over the candles where it has none.
func drawn(s artifact.Annotation, plots []sdk.Plot) publishedSeries {
	out := publishedSeries{Name: s.Name, Kind: sdk.PlotLine, Of: len(s.Time)}
	if s.Symbol != "" {
		symbol := string(s.Symbol)
		out.Symbol = &symbol
	}
	for _, p := range plots {
		if p.Series == s.Name || p.Upper == s.Name {
			out.Pane = p.Pane
			if p.Kind != "" {
				out.Kind = p.Kind
			}
		}
	}
	return out
}
