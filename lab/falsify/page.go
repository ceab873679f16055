package falsify

import (
	"bytes"
	_ "embed" // the template
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests/permutedcandles"
	"github.com/assay-run/assay/lab/falsify/tests/permutedselection"
)

// pageView is what the page shows.
type pageView struct {
	RunID, BaseRunID string
	Strategy         string
	// Params are the parameters of the base as JSON, From and To the days of its search
	// split.
	Params, From, To  string
	Profile, Checksum string
	Overall           judge.Verdict
	Conclusion        string
	// Sentences are those of the tests that did not pass, failures first.
	Sentences []string
	Reasons   []judge.Reason
	Tests     []*judge.Test
	// Replays are those of each test, by its id.
	Replays map[string][]judge.Replay
	// Sharpe is the annual ratio of the base on the search split, nil where it is
	// undefined; Equity its account, one value per step.
	Sharpe *float64
	Equity []float64
	Trials int
}

//go:embed page.html
var pageSource string

// pageRow is a test as the page shows it.
type pageRow struct {
	Number                                       int
	ID, Class, Claim, Method, Verdict, Mark      string
	Statistic, Value, Threshold, P, Holm, Reason string
	// Detail is what a test says that never counts.
	Detail   string
	Evidence []judge.Evidence
	Strip    template.HTML
}

// marks say the verdict without colour.
var marks = map[judge.Verdict]string{
	judge.Pass: "✓", judge.Warn: "!", judge.Fail: "✗", judge.Inconclusive: "?", judge.Error: "⚠",
	judge.Skipped: "–",
}

// classes are what a class means.
var classes = map[judge.Class]string{judge.Gate: "gate", judge.Warning: "warning",
	judge.Description: "description"}

// firstSpread is the index of the first test whose replays are judged by how their
// Sharpe ratios spread.
const firstSpread = 5

// renderPage is falsify/summary.html: a falsification on one page that opens without a
// network, in a light and a dark scheme, and prints. It has no script; its charts are inline
// SVG. Equal input gives equal bytes.
func renderPage(f pageView) ([]byte, error) {
	t, err := template.New("page").Parse(pageSource)
	if err != nil {
		return nil, err
	}
	view := struct {
		pageView
		Mark, Limit     string
		Rows, Informing []pageRow
		NotRun          int
		Curve           template.HTML
	}{pageView: f, Mark: marks[f.Overall], Limit: judge.Limit, Curve: curve(f.Equity, f.From, f.To)}
	for i, x := range f.Tests {
		if x.LeftOut() {
			view.NotRun++
			continue
		}
		r := pageRow{
			Number: i + 1, ID: x.ID, Class: classes[x.Class], Claim: x.Claim, Method: x.Method,
			Verdict: string(x.Shown()), Mark: marks[x.Shown()],
			Statistic: spaced(x.Statistic.Name), Value: shortNumber(x.Statistic.Value),
			P: shortNumber(x.PValue), Holm: shortNumber(x.PHolm), Reason: spaced(x.ReasonCode),
		}
		if x.Statistic.Threshold != nil {
			r.Threshold = x.Statistic.Direction + " " + shortNumber(x.Statistic.Threshold)
		}
		base := f.Sharpe
		if x.ID == permutedcandles.ID { // whose base is the train split
			base = x.Statistic.Value
		}
		spread := f.Replays[x.ID]
		if x.ID == permutedselection.ID && len(spread) > 0 { // the first is the search on train as it is
			base, spread = spread[0].Sharpe, spread[1:]
		}
		if i >= firstSpread { // before it, a ratio says nothing about the verdict
			r.Strip = strip(spread, base)
		}
		for _, e := range x.Evidence {
			e.Path = strings.TrimPrefix(e.Path, "falsify/") // beside the page
			r.Evidence = append(r.Evidence, e)
		}
		if x.Class == judge.Description {
			r.Detail = x.Informs()
			view.Informing = append(view.Informing, r)
		} else {
			view.Rows = append(view.Rows, r)
		}
	}
	var b bytes.Buffer
	err = t.Execute(&b, view)
	return b.Bytes(), err
}

func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// shortNumber is a number with about four digits; empty for none.
func shortNumber(x *float64) string {
	if x == nil {
		return ""
	}
	if *x >= 1e4 || *x <= -1e4 {
		return strconv.FormatFloat(*x, 'f', 0, 64)
	}
	return fmt.Sprintf("%.4g", *x)
}

// The sizes of the charts, in units of their view boxes.
const (
	curveWidth, curveHeight = 960, 180
	curvePoints             = 480
	stripWidth, stripHeight = 260, 34
	// fewReplays are too few to draw.
	fewReplays = 5
)

// curve is the equity as a line, with its ends and extremes in words below.
func curve(equity []float64, from, to string) template.HTML {
	if len(equity) < 2 {
		return ""
	}
	low, high := equity[0], equity[0]
	for _, e := range equity {
		low, high = min(low, e), max(high, e)
	}
	if high == low {
		high = low + 1
	}
	scale, note := func(x float64) float64 { return x }, ""
	if low > 0 && high > logarithmicFrom*low {
		scale, note = logarithm, ", logarithmic"
	}
	bottom, top := scale(low), scale(high)
	points := min(curvePoints, len(equity))
	var d strings.Builder
	for i := range points {
		e := scale(equity[i*(len(equity)-1)/(points-1)])
		y := curveHeight - 4 - float64((e-bottom)/(top-bottom)*(curveHeight-8))
		fmt.Fprintf(&d, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0],
			float64(i)*curveWidth/float64(points-1), y)
	}
	// Only numbers go into it, and two days.
	return template.HTML(fmt.Sprintf(
		`<svg viewBox="0 0 %d %d" role="img" aria-label="equity from %.0f to %.0f, between %.0f and `+
			`%.0f"><path d="%s"/></svg>`+
			`<div class="ends"><span>%s: %.0f</span><span>lowest %.0f, highest %.0f%s</span><span>%s: `+
			`%.0f</span></div>`,
		curveWidth, curveHeight, equity[0], equity[len(equity)-1], low, high, d.String(),
		template.HTMLEscapeString(from), equity[0], low, high, note, template.HTMLEscapeString(to),
		equity[len(equity)-1]))
}

// logarithmicFrom is how many times its lowest value an account reaches that is drawn on a
// logarithmic scale: on another one it would be a flat line with a hook.
const logarithmicFrom = 10

// logarithm is the natural logarithm of x > 0 by products and sums only, so that every CPU draws
// the same: x = m 2^k with m in [1/2, 1), ln m = 2 artanh((m-1)/(m+1)).
func logarithm(x float64) float64 {
	m, k := math.Frexp(x)
	y := (m - 1) / (m + 1)
	term, sum := y, 0.0
	for n := 1.0; n < 60; n += 2 {
		sum += term / n
		term = float64(float64(term*y) * y)
	}
	return float64(2*sum) + float64(float64(k)*math.Ln2)
}

// strip is the Sharpe ratios of replays as ticks on a line, with the base's and zero.
func strip(list []judge.Replay, base *float64) template.HTML {
	var ratios []float64
	for i := range list {
		if s := list[i].Sharpe; s != nil {
			ratios = append(ratios, *s)
		}
	}
	if len(ratios) < fewReplays || base == nil {
		return ""
	}
	low, high := min(0, *base), max(0, *base)
	for _, r := range ratios {
		low, high = min(low, r), max(high, r)
	}
	if high == low {
		high = low + 1
	}
	at := func(x float64) float64 { return 4 + (x-low)/(high-low)*(stripWidth-8) }
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg class="strip" viewBox="0 0 %d %d" role="img" aria-label="Sharpe ratios of %d replays from `+
			`%.2f to %.2f, base %.2f">`,
		stripWidth, stripHeight, len(ratios), low, high, *base)
	fmt.Fprintf(&b, `<line class="zero" x1="%.1f" x2="%.1f" y1="2" y2="32"/>`, at(0), at(0))
	for _, r := range ratios {
		fmt.Fprintf(&b, `<line class="replay" x1="%.1f" x2="%.1f" y1="10" y2="24"/>`, at(r), at(r))
	}
	fmt.Fprintf(&b, `<line class="base" x1="%.1f" x2="%.1f" y1="2" y2="32"/></svg>`, at(*base), at(*base))
	return template.HTML(b.String()) // only numbers
}
