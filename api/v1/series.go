package v1

import (
	"net/http"
	"slices"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk"
)

// publishedSeries is a series that a strategy has published, and how charts draw it.
type publishedSeries struct {
	Name string `json:"name"`
	// Pane is empty for a series over the candles.
	Pane string       `json:"pane"`
	Kind sdk.PlotKind `json:"kind"`
	// Of counts its points.
	Of int `json:"of"`
}

// runSeries is the series of a split and, where one was asked for, its points, [ms, value] each. Name, Pane
// and Kind are null where none was.
type runSeries struct {
	Split string `json:"split"`
	list[publishedSeries]
	// LeftOut counts points that the run had no room for.
	LeftOut int64            `json:"left_out"`
	Name    *string          `json:"name"`
	Pane    *string          `json:"pane"`
	Kind    *sdk.PlotKind    `json:"kind"`
	Points  [][2]view.Number `json:"points"`
	// Of counts the points between from and to, before they are thinned.
	Of int `json:"of"`
}

// seriesAPI is the operation on what a strategy has published.
type seriesAPI struct{ of *API }

func (a seriesAPI) get(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "split", "name", "from", "to", "points")
	from, to := q.time("from"), q.time("to")
	points := q.integer("points", view.DetailPoints, 2, 4000)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	split, all, program, err := a.of.opts.Library.Series(r.Context(), param(r, 0), q.text("split"))
	if err != nil {
		return nil, err
	}
	plots := a.plotsOf(program)
	out := runSeries{Split: split, LeftOut: all.LeftOut, Points: [][2]view.Number{}}
	out.Items, out.Total = []publishedSeries{}, len(all.Annotations)
	for _, s := range all.Annotations {
		out.Items = append(out.Items, drawn(s, plots))
	}
	if !q.values.Has("name") {
		return tagged(out)
	}
	i := slices.IndexFunc(out.Items, func(s publishedSeries) bool { return s.Name == q.text("name") })
	if i < 0 {
		q.refuse("name", "is no series that the strategy has published in "+split, "enum")
		return nil, q.refusal()
	}
	out.Name, out.Pane, out.Kind = &out.Items[i].Name, &out.Items[i].Pane, &out.Items[i].Kind
	s := all.Annotations[i]
	first, _ := slices.BinarySearch(s.Time, from)
	last := len(s.Time)
	if to != 0 {
		last, _ = slices.BinarySearch(s.Time, to)
	}
	last = max(first, last)
	s.Time, s.Values = s.Time[first:last], s.Values[first:last]
	out.Of = len(s.Time)
	for _, k := range metric.Thin(s.Time, s.Values, points) {
		out.Points = append(out.Points, [2]view.Number{view.Number(s.Time[k]), view.Number(s.Values[k])})
	}
	return tagged(out)
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
