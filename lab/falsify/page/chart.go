package page

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/assay-run/assay/lab/falsify/judge"
)

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
	points := min(curvePoints, len(equity))
	var d strings.Builder
	for i := range points {
		e := equity[i*(len(equity)-1)/(points-1)]
		y := curveHeight - 4 - (e-low)/(high-low)*(curveHeight-8)
		fmt.Fprintf(&d, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], float64(i)*curveWidth/float64(points-1), y)
	}
	// Only numbers go into it, and two days.
	return template.HTML(fmt.Sprintf(
		`<svg viewBox="0 0 %d %d" role="img" aria-label="equity from %.0f to %.0f, between %.0f and %.0f"><path d="%s"/></svg>`+
			`<div class="ends"><span>%s: %.0f</span><span>lowest %.0f, highest %.0f</span><span>%s: %.0f</span></div>`,
		curveWidth, curveHeight, equity[0], equity[len(equity)-1], low, high, d.String(),
		template.HTMLEscapeString(from), equity[0], low, high, template.HTMLEscapeString(to), equity[len(equity)-1]))
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
	fmt.Fprintf(&b, `<svg class="strip" viewBox="0 0 %d %d" role="img" aria-label="Sharpe ratios of %d replays from %.2f to %.2f, base %.2f">`,
		stripWidth, stripHeight, len(ratios), low, high, *base)
	fmt.Fprintf(&b, `<line class="zero" x1="%.1f" x2="%.1f" y1="2" y2="32"/>`, at(0), at(0))
	for _, r := range ratios {
		fmt.Fprintf(&b, `<line class="replay" x1="%.1f" x2="%.1f" y1="10" y2="24"/>`, at(r), at(r))
	}
	fmt.Fprintf(&b, `<line class="base" x1="%.1f" x2="%.1f" y1="2" y2="32"/></svg>`, at(*base), at(*base))
	return template.HTML(b.String()) // only numbers
}
