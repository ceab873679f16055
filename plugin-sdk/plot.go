package sdk

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Plot says how charts draw a series that the strategy publishes ([View.Publish]). A series
// without one is a line over the candles. Only Series is required.
type Plot struct {
	// Series is the name given to Publish.
	Series string `json:"series"`
	Title  string `json:"title"` // for people; Series if empty
	// Pane is where it is drawn: over the candles if empty, else in a pane of this name below
	// them, with a scale of its own. Series of the same pane share it.
	Pane string   `json:"pane"`
	Kind PlotKind `json:"kind"` // a line if empty
	// Upper is the series of a band's upper edge; Series is the lower one.
	Upper string `json:"upper"`
	// Levels are horizontal lines in the pane.
	Levels []PlotLevel `json:"levels"`
	// Color is a role, which each theme fills in; by the series' name if empty.
	Color ColorRole `json:"color"`
}

// PlotLevel is a horizontal line of a [Plot].
type PlotLevel struct {
	// Param names a numeric parameter whose value the level has; empty: Value counts.
	Param string  `json:"param"`
	Value float64 `json:"value"`
	Title string  `json:"title"` // for people; may be empty
}

// PlotKind is a way of drawing a series.
type PlotKind string

// The kinds.
const (
	PlotLine      PlotKind = "line"      // points joined
	PlotHistogram PlotKind = "histogram" // a column from zero to each point
	PlotBand      PlotKind = "band"      // two lines, Series and Upper, with the area between them
	PlotMarker    PlotKind = "marker"    // a dot at each point
)

// ColorRole is what a colour stands for.
type ColorRole string

// The roles.
const (
	ColorAuto   ColorRole = ""       // by the series' name
	ColorUp     ColorRole = "up"     // as of a rise
	ColorDown   ColorRole = "down"   // as of a fall
	ColorAccent ColorRole = "accent" // what matters most
	ColorWarn   ColorRole = "warn"   // what calls for attention
	ColorMuted  ColorRole = "muted"  // what stands behind
)

// MaxPlots bounds the plots of a strategy, as many as it may publish series.
const MaxPlots = 64

// maxLevels bounds the levels of a plot, maxPlotText each of its texts in bytes.
const maxLevels, maxPlotText = 16, 256

// CheckPlots refuses plots that cannot be drawn. defaults is the JSON object of every
// parameter's default. The error names the field, such as plots[2].levels[0].param.
func CheckPlots(plots []Plot, defaults []byte) error {
	if len(plots) > MaxPlots {
		return fmt.Errorf("plots: %d are too many, at most %d", len(plots), MaxPlots)
	}
	seen := map[string]int{}
	for i := range plots {
		field, err := plots[i].check(defaults)
		if err == nil {
			if j, twice := seen[plots[i].Series]; twice {
				field, err = "series", fmt.Errorf("%q is plotted by plots[%d] already", plots[i].Series, j)
			}
		}
		if err != nil {
			return fmt.Errorf("plots[%d].%s: %w", i, field, err)
		}
		seen[plots[i].Series] = i
	}
	return nil
}

// check returns the first field that is wrong and what is wrong with it.
func (p *Plot) check(defaults []byte) (field string, err error) {
	if p.Series == "" {
		return "series", fmt.Errorf("name a series that OnCandle publishes")
	}
	for _, t := range []struct{ field, text string }{{"series", p.Series}, {"title", p.Title},
		{"pane", p.Pane}, {"upper", p.Upper}} {
		if len(t.text) > maxPlotText || !utf8.ValidString(t.text) {
			return t.field, fmt.Errorf("must be UTF-8 of at most %d bytes", maxPlotText)
		}
	}
	switch p.Kind {
	case "", PlotLine, PlotHistogram, PlotBand, PlotMarker:
	default:
		return "kind", fmt.Errorf("%.40q is none of line, histogram, band, marker", p.Kind)
	}
	if band := p.Kind == PlotBand; band && (p.Upper == "" || p.Upper == p.Series) {
		return "upper", fmt.Errorf("a band needs a second series as its upper edge")
	} else if !band && p.Upper != "" {
		return "upper", fmt.Errorf("only a band has one")
	}
	roles := []ColorRole{ColorAuto, ColorUp, ColorDown, ColorAccent, ColorWarn, ColorMuted}
	if !slices.Contains(roles, p.Color) {
		return "color", fmt.Errorf("%.40q is none of up, down, accent, warn, muted", p.Color)
	}
	if len(p.Levels) > maxLevels {
		return "levels", fmt.Errorf("%d are too many, at most %d", len(p.Levels), maxLevels)
	}
	for i, l := range p.Levels {
		if field, err := l.check(defaults); err != nil {
			return fmt.Sprintf("levels[%d].%s", i, field), err
		}
	}
	return "", nil
}

func (l *PlotLevel) check(defaults []byte) (field string, err error) {
	switch {
	case math.IsNaN(l.Value) || math.IsInf(l.Value, 0):
		return "value", fmt.Errorf("must be a finite number")
	case len(l.Title) > maxPlotText || !utf8.ValidString(l.Title):
		return "title", fmt.Errorf("must be UTF-8 of at most %d bytes", maxPlotText)
	case l.Param == "":
		return "", nil
	}
	var values map[string]json.RawMessage
	var number *float64
	if json.Unmarshal(defaults, &values) != nil || json.Unmarshal(values[l.Param], &number) != nil ||
		number == nil {
		return "param", fmt.Errorf("%.80q is no numeric parameter of the strategy", l.Param)
	}
	return "", nil
}
