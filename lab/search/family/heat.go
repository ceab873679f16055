package family

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/selection"
)

// point is a trial where it lies in the space, each coordinate in [0, 1).
type point struct {
	at        []float64
	params    map[string]string
	objective float64
	chosen    bool
}

// values are the parameters as text.
func values(params json.RawMessage) map[string]string {
	var raw map[string]json.RawMessage
	out := map[string]string{}
	if json.Unmarshal(params, &raw) == nil {
		for name, value := range raw {
			out[name] = strings.Trim(string(value), `"`)
		}
	}
	return out
}

// ends are the values at the two ends of a parameter.
func ends(space design.Space, name string) []string {
	p, _ := space.Find(name)
	switch {
	case p.Kind == design.Bool:
		return []string{"false", "true"}
	case p.Kind == design.Choice:
		return []string{string(p.Values[0]), string(p.Values[len(p.Values)-1])}
	}
	return []string{Number(&p.Low), Number(&p.High)}
}

// mostCells is how many values of a parameter get a row or a column of their own; more are put
// together in bins of equal width.
const (
	mostCells = 12
	bins      = 8
)

// axis is a parameter of the heat map: where a trial belongs, and what the places are called.
type axis struct {
	names []string
	of    func(*point) int
}

func axisOf(name string, k int, points []point) axis {
	type place struct {
		at   float64
		text string
	}
	var all []place
	for _, p := range points {
		x := place{p.at[k], p.params[name]}
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.text, b.text))
	})
	if len(all) <= mostCells {
		var out axis
		for _, x := range all {
			out.names = append(out.names, x.text)
		}
		out.of = func(p *point) int { return slices.Index(all, place{p.at[k], p.params[name]}) }
		return out
	}
	bin := func(at float64) int { return min(bins-1, int(at*bins)) }
	out := axis{names: make([]string, bins), of: func(p *point) int { return bin(p.at[k]) }}
	for i := range out.names {
		var first, last string
		for _, x := range all {
			if bin(x.at) == i {
				if first == "" {
					first = x.text
				}
				last = x.text
			}
		}
		out.names[i] = first
		if first != last {
			out.names[i] = first + " to " + last
		}
	}
	return out
}

// heat is the mean objective over the two parameters that explain most; nil with fewer than two.
func heat(space design.Space, importance []selection.Importance, points []point) *page.Figure {
	if len(importance) < 2 || len(points) == 0 {
		return nil
	}
	order := make([]int, len(importance))
	for i := range order {
		order[i] = i
	}
	explained := func(i int) float64 {
		if x := importance[i].VarianceExplained; x != nil {
			return *x
		}
		return -1
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(explained(b), explained(a)) })
	down, across := importance[order[0]].Param, importance[order[1]].Param
	rows, columns := axisOf(down, order[0], points), axisOf(across, order[1], points)
	sums, counts := grid(len(rows.names), len(columns.names)), grid(len(rows.names), len(columns.names))
	chosenRow, chosenColumn, total := -1, -1, 0.0
	for i := range points {
		p := &points[i]
		r, c := rows.of(p), columns.of(p)
		sums[r][c] += p.objective
		counts[r][c]++
		total += p.objective
		if p.chosen {
			chosenRow, chosenColumn = r, c
		}
	}
	h := page.Heat{Label: "Mean objective by " + down + " and " + across, Corner: down + " / " + across,
		Columns: columns.names, Middle: total / float64(len(points)),
		Format: func(x float64) string { return Number(&x) }}
	for r, name := range rows.names {
		row := page.HeatRow{Name: name, Chosen: -1}
		for c := range columns.names {
			mean := math.NaN()
			if counts[r][c] > 0 {
				mean = sums[r][c] / counts[r][c]
			}
			row.Values = append(row.Values, mean)
		}
		if r == chosenRow {
			row.Chosen = chosenColumn
		}
		h.Rows = append(h.Rows, row)
	}
	return &page.Figure{
		Title: h.Label,
		Body:  h.HTML(),
		Note: fmt.Sprintf("Down %s, across %s: the two of %d that "+
			"explain most. Blue is above the mean of all trials, orange below; framed is the "+
			"selected trial. "+
			"A winner that stands alone is a knife edge.", down, across, space.Len()),
	}
}

func grid(rows, columns int) [][]float64 {
	out := make([][]float64, rows)
	for i := range out {
		out[i] = make([]float64, columns)
	}
	return out
}
