package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// Heat is numbers in rows and columns, coloured by how far they are from Middle. It is a table,
// so that it can be read without colours.
type Heat struct {
	Label, Corner string
	Columns       []string
	Rows          []HeatRow
	Middle        float64
	// Total reports whether the last column sums up the others: it makes no colour paler.
	Total  bool
	Format func(float64) string
}

// HeatRow is a row; NaN is an empty cell. Chosen is the column that is marked, -1 for none.
type HeatRow struct {
	Name   string
	Values []float64
	Chosen int
}

// HTML draws the table.
func (h Heat) HTML() template.HTML {
	widest := 0.0
	for _, r := range h.Rows {
		for i, v := range r.Values {
			if !math.IsNaN(v) && (!h.Total || i < len(r.Values)-1) {
				widest = max(widest, math.Abs(v-h.Middle))
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(
		&b,
		`<table class="heat"><caption class="unseen">%s</caption><thead><tr><th scope="col">%s</th>`,
		template.HTMLEscapeString(h.Label),
		template.HTMLEscapeString(h.Corner),
	)
	for _, c := range h.Columns {
		fmt.Fprintf(&b, `<th scope="col">%s</th>`, template.HTMLEscapeString(c))
	}
	b.WriteString("</tr></thead><tbody>")
	for _, r := range h.Rows {
		fmt.Fprintf(&b, `<tr><th scope="row">%s</th>`, template.HTMLEscapeString(r.Name))
		for i, v := range r.Values {
			if math.IsNaN(v) {
				b.WriteString("<td></td>")
				continue
			}
			class := shade(v-h.Middle, widest)
			if i == r.Chosen {
				class += " chosen"
			}
			fmt.Fprintf(&b, `<td class="%s">%s</td>`, class, template.HTMLEscapeString(h.Format(v)))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</tbody></table>")
	return template.HTML(b.String()) // numbers, classes of this package and escaped text
}

// shade is the class of a distance from the middle, one of three on either side.
func shade(x, widest float64) string {
	if x == 0 || widest == 0 {
		return "u0"
	}
	side := "u"
	if x < 0 {
		side = "d"
	}
	switch share := math.Abs(x) / widest; {
	case share > 0.5:
		return side + "3"
	case share > 0.2:
		return side + "2"
	}
	return side + "1"
}

// Histogram counts values in at most bins bars of a round width, so that 0 is an edge. Bars below
// 0 have the class c1, others c0.
func Histogram(values []float64, bins int) []Bar {
	var all []float64
	for _, v := range values {
		if usable(v, false) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return nil
	}
	low, high := slices.Min(all), slices.Max(all)
	if low == high {
		high = low + max(math.Abs(low), 1)/10
	}
	step := niceStep((high - low) / float64(bins))
	first := math.Floor(low / step)
	counts := make([]int, int(math.Floor(high/step)-first)+1)
	for _, v := range all {
		counts[int(math.Floor(v/step)-first)]++
	}
	out := make([]Bar, len(counts))
	for i, n := range counts {
		from := float64((first + float64(i)) * step)
		out[i] = Bar{From: from, To: from + step, Y: float64(n), Class: "c0"}
		if from < -step/2 {
			out[i].Class = "c1"
		}
	}
	return out
}
