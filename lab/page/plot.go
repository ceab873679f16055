package page

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

// Figure is a chart or a table of colours with its caption. Where there is nothing to draw Why
// says so.
type Figure struct {
	Title, Note string
	Body        template.HTML
	Keys        []Key
	Why         string
}

// Key explains a colour, whose class is c0 to c7.
type Key struct{ Class, Text string }

// The sizes of charts, in units of their view boxes, which are about a pixel.
const (
	WideWidth   = 1200.0
	SmallWidth  = 580.0
	leftMargin  = 58.0
	rightMargin = 14.0
	topMargin   = 12.0
	footMargin  = 26.0
)

// Chart is one picture with two axes.
type Chart struct {
	// Label says in a sentence what is drawn, for those who do not see it.
	Label string
	// Wide is across the page, else half of it; Height is in pixels, 240 if 0.
	Wide   bool
	Height float64
	X, Y   Axis
	Lines  []Line
	Dots   []Dot
	Bars   []Bar
	// Rules are vertical lines with a name, in values of X.
	Rules []Rule
}

// Axis is a scale. Low and High are found where they are equal.
type Axis struct {
	Low, High float64
	// Log is a logarithmic scale, of values above 0.
	Log bool
	// Time is milliseconds since 1970, UTC.
	Time bool
	// Format is how a number is written; nil: as short as it goes.
	Format func(float64) string
	// Names are written at 0, 1, 2 and so on instead of numbers.
	Names []string
	// Zero keeps 0 within the scale.
	Zero bool
}

// Line is a line, with the area below it down to 0 where Area is set. NaN breaks it.
type Line struct {
	X, Y         []float64
	Class        string
	Area, Dashed bool
}

// Dot is a point of a scatter.
type Dot struct {
	X, Y   float64
	Class  string
	Chosen bool
}

// Bar stands on 0 between From and To.
type Bar struct {
	From, To, Y float64
	Class       string
}

// Rule is a vertical line with its name.
type Rule struct {
	X    float64
	Name string
}

// AsPercent writes a fraction as a percentage.
func AsPercent(x float64) string { return short(float64(100*x)) + " %" }

// short is a number of an axis.
func short(x float64) string {
	a := math.Abs(x)
	switch {
	case a >= 1e9:
		return strconv.FormatFloat(x/1e9, 'g', 3, 64) + "G"
	case a >= 1e6:
		return strconv.FormatFloat(x/1e6, 'g', 3, 64) + "M"
	case a >= 1e4:
		return strconv.FormatFloat(x/1e3, 'g', 3, 64) + "k"
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// fit finds the ends of the axes from what is drawn.
func (c *Chart) fit() bool {
	x, y := newSpan(), newSpan()
	for _, l := range c.Lines {
		for i := range l.X {
			if usable(l.Y[i], c.Y.Log) {
				x.add(l.X[i])
				y.add(l.Y[i])
			}
		}
	}
	for _, d := range c.Dots {
		x.add(d.X)
		y.add(d.Y)
	}
	for _, b := range c.Bars {
		x.add(b.From)
		x.add(b.To)
		y.add(b.Y)
		y.add(0)
	}
	for _, r := range c.Rules {
		x.add(r.X)
	}
	return c.X.fit(x) && c.Y.fit(y)
}

func usable(v float64, log bool) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!log || v > 0)
}

type span struct{ low, high float64 }

func newSpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (s *span) add(v float64) { s.low, s.high = min(s.low, v), max(s.high, v) }

// fit sets the ends; it reports whether there is anything to draw.
func (a *Axis) fit(s span) bool {
	if a.Low == a.High {
		if a.Zero && !a.Log {
			s.add(0)
		}
		if s.low > s.high {
			return false
		}
		a.Low, a.High = s.low, s.high
	}
	if a.Low == a.High {
		pad := math.Abs(a.Low) / 10
		if pad == 0 {
			pad = 1
		}
		a.Low, a.High = a.Low-pad, a.High+pad
		if a.Log {
			a.Low = a.High / 2
		}
	}
	return true
}

// at is where a value lies, from 0 to 1.
func (a *Axis) at(v float64) float64 {
	if a.Log {
		low := Log(a.Low)
		return (Log(v) - low) / (Log(a.High) - low)
	}
	return (v - a.Low) / (a.High - a.Low)
}

// tick is a value of an axis with its text.
type tick struct {
	at   float64
	text string
}

func (a *Axis) ticks(most int) []tick {
	switch {
	case len(a.Names) > 0:
		return a.named(most)
	case a.Time:
		return a.times(most)
	case a.Log:
		if t := a.powers(); len(t) >= 2 {
			return t
		}
	}
	step := niceStep((a.High - a.Low) / float64(most))
	var out []tick
	for k := math.Ceil(a.Low / step); float64(k*step) <= a.High+step/1e6; k++ {
		v := float64(k * step)
		if math.Abs(v) < step/1e6 {
			v = 0
		}
		out = append(out, tick{v, a.text(v)})
	}
	return out
}

func (a *Axis) text(v float64) string {
	// A tick is a multiple of its step; twelve digits leave out what the product adds.
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if a.Format != nil {
		return a.Format(v)
	}
	return short(v)
}

func (a *Axis) named(most int) []tick {
	every := (len(a.Names) + most - 1) / most
	var out []tick
	for i := 0; i < len(a.Names); i += every {
		out = append(out, tick{float64(i), a.Names[i]})
	}
	return out
}

// powers are 1, 2 and 5 times powers of ten, or the powers alone where they are many.
func (a *Axis) powers() []tick {
	var all, tens []tick
	for k := -12; k <= 15; k++ {
		ten, _ := strconv.ParseFloat("1e"+strconv.Itoa(k), 64)
		for _, m := range []float64{1, 2, 5} {
			if v := float64(m * ten); v >= a.Low && v <= a.High {
				all = append(all, tick{v, a.text(v)})
				if m == 1 {
					tens = append(tens, all[len(all)-1])
				}
			}
		}
	}
	if len(all) > 9 && len(tens) >= 2 {
		return tens
	}
	return all
}

// niceStep is the least of 1, 2, 5 times a power of ten that is not below x.
func niceStep(x float64) float64 {
	for k := -12; k <= 18; k++ {
		ten, _ := strconv.ParseFloat("1e"+strconv.Itoa(k), 64)
		for _, m := range []float64{1, 2, 5} {
			if float64(m*ten) >= x {
				return float64(m * ten)
			}
		}
	}
	return x
}

// times are the beginnings of years, months or days.
func (a *Axis) times(most int) []tick {
	from, to := time.UnixMilli(int64(a.Low)).UTC(), time.UnixMilli(int64(a.High)).UTC()
	days := to.Sub(from).Hours() / 24
	january := time.Date(from.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	var out []tick
	add := func(t time.Time, form string) {
		if ms := float64(t.UnixMilli()); ms >= a.Low && ms <= a.High {
			out = append(out, tick{ms, t.Format(form)})
		}
	}
	switch months := days / 30; {
	case days <= float64(3*most):
		every := max(1, int(days)/most+1)
		t := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, time.UTC)
		for ; !t.After(to); t = t.AddDate(0, 0, every) {
			add(t, "2006-01-02")
		}
	case months <= float64(6*most):
		every := 1
		for _, every = range []int{1, 2, 3, 6} {
			if months/float64(every) <= float64(most) {
				break
			}
		}
		for t := january; !t.After(to); t = t.AddDate(0, every, 0) {
			add(t, "2006-01")
		}
	default:
		every := int(days/365)/most + 1
		for t := january; !t.After(to); t = t.AddDate(every, 0, 0) {
			add(t, "2006")
		}
	}
	return out
}

// SVG draws the chart; it is empty where there is nothing to draw.
func (c Chart) SVG() template.HTML {
	if !c.fit() {
		return ""
	}
	d := drawing{c: &c, width: SmallWidth, height: c.Height, most: 6}
	class := ""
	if c.Wide {
		d.width, d.most, class = WideWidth, 12, ` class="wide"`
	}
	if d.height == 0 {
		d.height = 240
	}
	fmt.Fprintf(&d.b, `<svg%s viewBox="0 0 %s %s" role="img" aria-label="%s">`, class, coordinate(d.width),
		coordinate(d.height), template.HTMLEscapeString(c.Label))
	d.axes()
	for i := range c.Bars {
		d.bar(&c.Bars[i])
	}
	for i := range c.Lines {
		d.line(&c.Lines[i])
	}
	for _, chosen := range []bool{false, true} { // the chosen ones above the others
		for i := range c.Dots {
			if c.Dots[i].Chosen == chosen {
				d.dot(&c.Dots[i])
			}
		}
	}
	for _, r := range c.Rules {
		d.rule(r)
	}
	d.b.WriteString("</svg>")
	return template.HTML(d.b.String()) // numbers, classes of this package and escaped text
}

// drawing is a chart on its way to SVG.
type drawing struct {
	b             strings.Builder
	c             *Chart
	width, height float64
	most          int
}

func (d *drawing) x(v float64) float64 {
	return leftMargin + float64(d.c.X.at(v)*(d.width-leftMargin-rightMargin))
}

func (d *drawing) y(v float64) float64 {
	return d.height - footMargin - float64(d.c.Y.at(v)*(d.height-topMargin-footMargin))
}

func (d *drawing) axes() {
	for _, t := range d.c.Y.ticks(5) {
		y := coordinate(d.y(t.at))
		fmt.Fprintf(&d.b, `<line class="grid-line" x1="%s" x2="%s" y1="%s" y2="%s"/>`, coordinate(leftMargin),
			coordinate(d.width-rightMargin), y, y)
		fmt.Fprintf(&d.b, `<text x="%s" y="%s" text-anchor="end" dy=".35em">%s</text>`,
			coordinate(leftMargin-6), y, template.HTMLEscapeString(t.text))
	}
	foot := d.height - footMargin
	for _, t := range d.c.X.ticks(d.most) {
		at, anchor := d.x(t.at), "middle"
		if at > d.width-rightMargin-24 {
			at, anchor = d.width-rightMargin, "end"
		}
		fmt.Fprintf(&d.b, `<line class="grid-line" x1="%s" x2="%[1]s" y1="%[2]s" y2="%[3]s"/>`,
			coordinate(d.x(t.at)), coordinate(topMargin), coordinate(foot+4))
		fmt.Fprintf(&d.b, `<text x="%s" y="%s" text-anchor="%s">%s</text>`, coordinate(at),
			coordinate(foot+18), anchor, template.HTMLEscapeString(t.text))
	}
}

func (d *drawing) line(l *Line) {
	var path strings.Builder
	start, last, open := 0.0, 0.0, false
	base := coordinate(d.y(max(d.c.Y.Low, min(0, d.c.Y.High))))
	if d.c.Y.Log {
		base = coordinate(d.y(d.c.Y.Low))
	}
	var area strings.Builder
	closeArea := func() {
		if l.Area && open {
			fmt.Fprintf(&area, "L%s %sL%s %sZ", coordinate(last), base, coordinate(start), base)
		}
		open = false
	}
	for i := range l.X {
		if !usable(l.Y[i], d.c.Y.Log) {
			closeArea()
			continue
		}
		letter := "L"
		last = d.x(l.X[i])
		if !open {
			letter, start, open = "M", last, true
		}
		point := letter + coordinate(last) + " " + coordinate(d.y(l.Y[i]))
		path.WriteString(point)
		area.WriteString(point)
	}
	closeArea()
	if l.Area {
		fmt.Fprintf(&d.b, `<path class="area %s" d="%s"/>`, l.Class, area.String())
	}
	dashed := ""
	if l.Dashed {
		dashed = " dashed"
	}
	fmt.Fprintf(&d.b, `<path class="line%s %s" d="%s"/>`, dashed, l.Class, path.String())
}

func (d *drawing) bar(b *Bar) {
	x, to := d.x(b.From), d.x(b.To)
	top, foot := d.y(max(b.Y, 0)), d.y(min(b.Y, 0))
	fmt.Fprintf(&d.b, `<rect class="bar %s" x="%s" y="%s" width="%s" height="%s"/>`, b.Class,
		coordinate(x+0.5), coordinate(top), coordinate(max(to-x-1, 0.5)), coordinate(max(foot-top, 0.5)))
}

func (d *drawing) dot(p *Dot) {
	class, r := p.Class, "3"
	if p.Chosen {
		class, r = class+" chosen", "6"
	}
	fmt.Fprintf(&d.b, `<circle class="dot %s" cx="%s" cy="%s" r="%s"/>`, class, coordinate(d.x(p.X)),
		coordinate(d.y(p.Y)), r)
}

func (d *drawing) rule(r Rule) {
	x, anchor, shift := d.x(r.X), "start", 4.0
	if x > d.width*0.6 {
		anchor, shift = "end", -4
	}
	fmt.Fprintf(&d.b, `<line class="rule" x1="%s" x2="%[1]s" y1="%[2]s" y2="%[3]s"/>`, coordinate(x),
		coordinate(topMargin), coordinate(d.height-footMargin))
	fmt.Fprintf(&d.b, `<text class="name" x="%s" y="%s" text-anchor="%s">%s</text>`, coordinate(x+shift),
		coordinate(topMargin+10), anchor, template.HTMLEscapeString(r.Name))
}

// coordinate is a place with a tenth of a unit.
func coordinate(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
