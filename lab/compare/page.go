package compare

import (
	_ "embed" // the template
	"fmt"
	"io"
	"strconv"

	"github.com/assay-run/assay/lab/page"
)

//go:embed page.html
var content string

// Curve is what one unit of money became in a run, at the end of each of its returns.
type Curve struct {
	RunID string
	// Time is in milliseconds, Level begins after the first return.
	Time, Level []float64
}

// curves are those of the runs that have returns on the split, in their order.
func curves(runs []*loaded, splitID string) ([]Curve, error) {
	var out []Curve
	for _, x := range runs {
		r, why, err := x.returns(splitID)
		if err != nil {
			return nil, err
		}
		if why != "" || len(r.Return) == 0 {
			continue
		}
		c := Curve{RunID: x.row.RunID}
		level := 1.0
		for i, v := range r.Return {
			level = float64(level * (1 + v))
			c.Time, c.Level = append(c.Time, float64(r.Time[i])), append(c.Level, level)
		}
		out = append(out, c)
	}
	return out, nil
}

// significant is what the p-value of a difference must not pass to be called more than luck.
const significant = 0.05

// colours is how many lines can be told apart.
const colours = 8

// WritePage writes the comparison as an HTML page: whether a difference is real first, then the
// curves and every section.
func (c *Comparison) WritePage(w io.Writer) error {
	v := struct {
		Verdict  page.Verdict
		Equity   page.Figure
		Sections []Section
		Tables   []page.Table
	}{Verdict: c.verdict(), Equity: c.equity(), Sections: c.Sections()}
	for _, s := range v.Sections {
		t := page.Table{Label: s.Title}
		for i, row := range s.Rows {
			if i == 0 {
				t.Head = row
				continue
			}
			t.Rows = append(t.Rows, page.Row{Cells: page.Cells(row...)})
		}
		v.Tables = append(v.Tables, t)
	}
	view := page.View{
		Kind:    "Comparison",
		Heading: c.Slug + ": " + strconv.Itoa(len(c.Runs)) + " runs on " + c.Split,
		Title:   c.Slug + ": comparison of " + strconv.Itoa(len(c.Runs)) + " runs",
		Content: v,
	}
	for _, r := range c.Runs {
		view.Links = append(view.Links, page.Anchor{Href: page.Link(r.RunID), Text: r.RunID})
	}
	return page.Write(w, content, view)
}

// verdict is whether any run differs from the baseline by more than luck.
func (c *Comparison) verdict() page.Verdict {
	v := page.Verdict{Class: "inconclusive", Sentence: "There is nothing to compare with the baseline."}
	real, known := 0, 0
	for _, p := range c.Pairs {
		if p.P == nil || p.CI95 == nil || p.MeanDifference == nil {
			v.Points = append(v.Points, page.Point{Class: "none", Mark: page.Mark("none"),
				Text: p.RunID + ": not known whether it differs by more than luck."})
			continue
		}
		known++
		class, note := "warn", "luck explains it"
		if *p.P < significant {
			real++
			class, note = "pass", "more than luck, if it were the only comparison"
		}
		v.Points = append(v.Points, page.Point{Class: class, Mark: page.Mark(class), Text: fmt.Sprintf(
			"%s: %s a return more than the baseline, 95 %% interval %s to %s, p = %s over %d days: %s.",
			p.RunID, page.Signed(p.MeanDifference), page.Percent(&p.CI95[0]), page.Percent(&p.CI95[1]),
			page.Number(p.P), p.Days, note)})
	}
	switch {
	case known > 0 && real == 0:
		v.Class, v.Sentence = "warn", "No run differs from the baseline by more than luck."
	case real > 0:
		v.Class, v.Sentence = "pass", fmt.Sprintf(
			"%d of %d runs differ from the baseline by more than luck.",
			real,
			known,
		)
	}
	if !c.Comparability.Comparable {
		v.Points = append(v.Points, page.Point{Class: "fail", Mark: page.Mark("fail"),
			Text: "The runs differ in what must be equal: their numbers do not mean the same."})
	}
	return v
}

func (c *Comparison) equity() page.Figure {
	f := page.Figure{Title: "What one unit of money became, logarithmic scale"}
	chart := page.Chart{
		Label:  f.Title,
		Wide:   true,
		Height: 320,
		X:      page.Axis{Time: true},
		Y:      page.Axis{Log: true},
	}
	for i, x := range c.Curves {
		if i == colours {
			f.Note = fmt.Sprintf("the first %d of %d runs", colours, len(c.Curves))
			break
		}
		class := "c" + strconv.Itoa(i)
		chart.Lines = append(
			chart.Lines,
			page.Line{X: x.Time, Y: x.Level, Class: class, Dashed: x.RunID == c.Baseline},
		)
		name := x.RunID
		if name == c.Baseline {
			name += ", the baseline"
		}
		f.Keys = append(f.Keys, page.Key{Class: class, Text: name})
	}
	if len(chart.Lines) == 0 {
		f.Why = "No run has returns on this split that may be shown."
	}
	f.Body = chart.SVG()
	return f
}
