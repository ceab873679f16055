package page

import (
	"strconv"
	"strings"

	"github.com/assay-run/assay/lab/family"
)

// The sizes of charts, in units of their view boxes.
const (
	wide, high   = 900.0, 240.0
	small        = 150.0
	smallWide    = 280.0
	margin       = 6.0
	mostPoints   = 600
	mostDots     = 2000
	radius       = 2.2
	radiusChosen = 4.5
)

// Chart is an inline SVG: a line, or dots, with the ends of its axes as text.
type Chart struct {
	Label         string
	Width, Height string
	Path          string
	// Base is the height of the level where the line began, empty without one.
	Base        string
	Dots        []Mark
	Low, High   string
	First, Last string
}

// Mark is a drawn dot.
type Mark struct {
	X, Y, R string
	Chosen  bool
}

// Dot is a point of a scatter: X in [0, 1).
type Dot struct {
	X, Y   float64
	Chosen bool
}

// equity draws levels as a line, thinned evenly, the last one always there; nil below two.
func equity(levels []family.Level) *Chart {
	if len(levels) < 2 {
		return nil
	}
	low, top := 1.0, 1.0
	for _, l := range levels {
		low, top = min(low, l.Value), max(top, l.Value)
	}
	c := &Chart{
		Label: "equity of the selected trial over the stitched walk-forward, from 1", Width: unit(wide), Height: unit(high),
		Low: Number(&low), High: Number(&top), First: levels[0].Date, Last: levels[len(levels)-1].Date,
		Base: unit(vertical(1, low, top, high)),
	}
	var path strings.Builder
	step := max(1, (len(levels)+mostPoints-1)/mostPoints)
	for i := 0; i < len(levels); i += step {
		draw(&path, i, levels, low, top)
	}
	if (len(levels)-1)%step != 0 {
		draw(&path, len(levels)-1, levels, low, top)
	}
	c.Path = path.String()
	return c
}

func draw(path *strings.Builder, i int, levels []family.Level, low, top float64) {
	letter := "L"
	if path.Len() == 0 {
		letter = "M"
	}
	x := margin + float64(i)/float64(len(levels)-1)*(wide-2*margin)
	path.WriteString(letter + unit(x) + " " + unit(vertical(levels[i].Value, low, top, high)))
}

// vertical is where a value lies in a chart, from the top.
func vertical(y, low, top, height float64) float64 {
	if top <= low {
		return height / 2
	}
	return margin + (top-y)/(top-low)*(height-2*margin)
}

// scatter draws the objective along one parameter; nil without dots.
func scatter(name string, ends [2]string, dots []Dot) *Chart {
	if len(dots) == 0 {
		return nil
	}
	low, top := dots[0].Y, dots[0].Y
	for _, d := range dots {
		low, top = min(low, d.Y), max(top, d.Y)
	}
	c := &Chart{Label: "objective along " + name, Width: unit(smallWide), Height: unit(small), Low: Number(&low), High: Number(&top), First: ends[0], Last: ends[1]}
	var last []Mark
	for _, d := range dots {
		m := Mark{X: unit(margin + d.X*(smallWide-2*margin)), Y: unit(vertical(d.Y, low, top, small)), R: unit(radius), Chosen: d.Chosen}
		if d.Chosen {
			m.R = unit(radiusChosen)
			last = append(last, m) // above the others
			continue
		}
		c.Dots = append(c.Dots, m)
	}
	c.Dots = append(c.Dots, last...)
	return c
}

// unit is a coordinate with a tenth of a unit.
func unit(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
