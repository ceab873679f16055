// Package page is the kit of the lab's HTML pages: the tear sheet of a run, a family, a
// falsification and a comparison. [Write] puts the content of a page into the one layout, with
// its styles for light, dark and print; [Chart] and [Heat] draw in inline SVG and in cells.
//
// A page is one file that opens without a network. It has no script and loads nothing, which its
// own Content-Security-Policy holds it to; equal input gives equal bytes. Text from outside, such
// as the name of a strategy, is escaped: what is marked as HTML here is made of numbers and of
// escaped text alone.
//
// The package imports html/template and nothing of the lab.
package page

import (
	"bytes"
	"embed"
	"html/template"
	"io"
	"math"
	"strconv"
)

// Policy is the Content-Security-Policy of every page, as its meta element has it and as the
// header with which it is served.
const Policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

// FileName is the name of a page in its folder. Pages lie in folders beside each other, so that
// the link from one to another is the same in files and where they are served.
const FileName = "report.html"

// Folder is the folder of a state directory with a folder for each page.
const Folder = "reports"

// Link leads from one page to that of another run, or of a comparison.
func Link(id string) string { return "../" + id + "/" + FileName }

//go:embed layout.html
var files embed.FS

// View is what the layout shows around the content of a page.
type View struct {
	Title string
	// Kind says above the heading what the page is.
	Kind    string
	Heading string
	// Links lead to other pages.
	Links   []Anchor
	Content any
}

// Anchor is a link with its text.
type Anchor struct{ Href, Text string }

// Template reads the content template of a page: a text that defines "content", and may use
// "facts", "table" and "verdict" of the layout.
func Template(content string) (*template.Template, error) {
	t, err := template.New("layout.html").ParseFS(files, "layout.html")
	if err != nil {
		return nil, err
	}
	return t.Parse(content)
}

// Write writes a page whose content template is given.
func Write(w io.Writer, content string, v View) error {
	t, err := Template(content)
	if err != nil {
		return err
	}
	var b bytes.Buffer // nothing is written of a page that fails
	err = t.Execute(&b, struct {
		View
		Policy string
	}{v, Policy})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// Fact is a name and what it is; Note explains.
type Fact struct{ Name, Value, Note string }

// Table is a table with a caption for those who do not see it.
type Table struct {
	Label  string
	Head   []string
	Rows   []Row
	Hidden string // a sentence about rows that are left out
}

// Row is the cells of a row; Class marks it, such as chosen.
type Row struct {
	Class string
	Cells []Cell
}

// Cell is text, with a link where Href is set.
type Cell struct{ Text, Href, Class string }

// Cells are texts as cells.
func Cells(texts ...string) []Cell {
	out := make([]Cell, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

// Verdict is what a page says first: a class (pass, warn, fail, inconclusive, none), one sentence,
// and what belongs to it.
type Verdict struct {
	Class, Sentence string
	Points          []Point
}

// Point is one thing that a verdict rests on, with a mark that says it without colour.
type Point struct{ Class, Mark, Text, Href string }

// Mark says a verdict without colour.
func Mark(verdict string) string {
	switch verdict {
	case "pass":
		return "✓"
	case "warn":
		return "!"
	case "fail":
		return "✗"
	case "error":
		return "⚠"
	case "skipped":
		return "–"
	case "none":
		return "•"
	}
	return "?"
}

// NA is what is shown where there is no number.
const NA = "n/a"

// Number is a value with four significant digits, n/a where it is undefined.
func Number(x *float64) string {
	if x == nil {
		return NA
	}
	a := math.Abs(*x)
	switch {
	case a != 0 && (a < 1e-3 || a >= 1e6):
		return strconv.FormatFloat(*x, 'e', 2, 64)
	case a >= 1000:
		return strconv.FormatFloat(*x, 'f', 0, 64)
	}
	return strconv.FormatFloat(*x, 'g', 4, 64)
}

// Percent is a fraction as a percentage, n/a where it is undefined.
func Percent(x *float64) string {
	if x == nil {
		return NA
	}
	return strconv.FormatFloat(100**x, 'f', 1, 64) + " %"
}

// Signed is a fraction as a percentage with its sign.
func Signed(x *float64) string {
	if x != nil && *x > 0 {
		return "+" + Percent(x)
	}
	return Percent(x)
}

// Log is the natural logarithm of x > 0 by products and sums only, so that every CPU draws the
// same: x = m 2^k with m in [1/2, 1), ln m = 2 artanh((m-1)/(m+1)).
func Log(x float64) float64 {
	m, k := math.Frexp(x)
	y := (m - 1) / (m + 1)
	term, sum := y, 0.0
	for n := 1.0; n < 60; n += 2 {
		sum += term / n
		term = float64(float64(term*y) * y)
	}
	return float64(2*sum) + float64(float64(k)*math.Ln2)
}
