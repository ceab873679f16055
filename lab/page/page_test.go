package page_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/lab/page/pagetest"
)

// wellFormed counts the elements of a drawing, which must be XML without NaN.
func wellFormed(t *testing.T, svg string) (elements int) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %.200s", err, svg)
		}
		if _, is := token.(xml.StartElement); is {
			elements++
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("not a number is drawn: %.200s", svg)
	}
	return elements
}

func TestChartsAreWellFormed(t *testing.T) {
	line := func(y ...float64) []page.Line {
		l := page.Line{Y: y, Class: "c0", Area: true}
		for i := range y {
			l.X = append(l.X, float64(i)*86400e3)
		}
		return []page.Line{l}
	}
	for name, c := range map[string]page.Chart{
		"flat":        {Lines: line(5, 5, 5), X: page.Axis{Time: true}},
		"nothing":     {Lines: line(0, 0)},
		"broken":      {Lines: line(1, math.NaN(), math.Inf(1), 2), X: page.Axis{Time: true}},
		"logarithmic": {Lines: line(100, 0, -5, 10000, 1000000), Y: page.Axis{Log: true}},
		"flat log":    {Lines: line(100, 100), Y: page.Axis{Log: true}},
		"tiny":        {Lines: line(1e-9, 3e-9)},
		"huge":        {Lines: line(-1e14, 1e15), Wide: true},
		"bars": {Bars: page.Histogram([]float64{-1, 0, 0.5, 3}, 10),
			Rules: []page.Rule{{X: 1, Name: `<a"`}}},
		"dots":  {Dots: []page.Dot{{X: 1, Y: 2, Class: "c0"}, {X: 2, Y: 1, Class: "c1", Chosen: true}}},
		"names": {Bars: []page.Bar{{From: 0, To: 1, Y: 2}}, X: page.Axis{Names: []string{"<b>", "&"}}},
	} {
		c.Label = `a "chart" <of> ` + name
		if n := wellFormed(t, string(c.SVG())); n < 4 {
			t.Errorf("%s: %d elements", name, n)
		}
	}
	if (page.Chart{}).SVG() != "" || (page.Chart{Lines: line(math.NaN())}).SVG() != "" {
		t.Error("something is drawn from nothing")
	}
}

// TestALogarithmicScaleIsStraight: a hundredfold twice goes up by the same distance twice.
func TestALogarithmicScaleIsStraight(t *testing.T) {
	svg := string(page.Chart{Height: 238, Y: page.Axis{Log: true},
		Lines: []page.Line{{X: []float64{0, 1, 2}, Y: []float64{100, 10000, 1000000}, Class: "c0"}}}.SVG())
	if !strings.Contains(svg, "M58.0 212.0L312.0 112.0L566.0 12.0") {
		t.Error(svg)
	}
	for _, x := range []float64{1, 2, math.E, 1e-8, 12345.678} {
		if got := page.Log(x); math.Abs(got-math.Log(x)) > 1e-13*max(1, math.Abs(got)) {
			t.Errorf("ln %v is %v", x, got)
		}
	}
}

// TestTicks: years, months and days, and round numbers.
func TestTicks(t *testing.T) {
	const day = 86400e3
	at := func(x page.Axis, from, to float64) string {
		x.Low, x.High = from, to
		return string(
			page.Chart{X: x, Lines: []page.Line{{X: []float64{from, to}, Y: []float64{0, 1}}}}.SVG(),
		)
	}
	for _, c := range []struct {
		axis     page.Axis
		from, to float64
		want     string
	}{
		{page.Axis{Time: true}, 0, 5 * day, ">1970-01-03<"},
		{page.Axis{Time: true}, 0, 300 * day, ">1970-07<"},
		{page.Axis{Time: true}, 0, 4000 * day, ">1974<"},
		{page.Axis{}, 0, 0.37, ">0.3<"},
		{page.Axis{}, -25000, 25000, ">-20k<"},
		{page.Axis{Format: page.AsPercent}, -0.5, 0.5, ">-40 %<"},
	} {
		if svg := at(c.axis, c.from, c.to); !strings.Contains(svg, c.want) {
			t.Errorf("from %v to %v there is no %s: %s", c.from, c.to, c.want, svg)
		}
	}
}

func TestHistogram(t *testing.T) {
	bars := page.Histogram([]float64{-0.1, -0.05, 0, 0.01, 0.02, 0.19, math.NaN()}, 5)
	sum := 0.0
	for _, b := range bars {
		sum += b.Y
		if b.From < -1e-9 != (b.Class == "c1") {
			t.Errorf("the bar from %v has the class %s", b.From, b.Class)
		}
	}
	if sum != 6 || bars[0].From != -0.1 {
		t.Errorf("%v", bars)
	}
	if same := page.Histogram([]float64{3, 3}, 5); page.Histogram(nil, 5) != nil || same[0].Y != 2 {
		t.Errorf("equal values: %v", same)
	}
}

// TestHostileTexts stay text in everything that the kit writes.
func TestHostileTexts(t *testing.T) {
	h := pagetest.Hostile
	heat := page.Heat{
		Label:   h,
		Corner:  h,
		Columns: []string{h, "b"},
		Format:  func(float64) string { return h },
		Rows:    []page.HeatRow{{Name: h, Values: []float64{1, math.NaN()}, Chosen: 0}},
	}
	var b bytes.Buffer
	content := `{{define "content"}}{{template "verdict" .V}}{{template "facts" .F}}{{template "table" .T}}` +
		`{{template "figure" .G}}{{template "figure" .M}}{{end}}`
	err := page.Write(&b, content, page.View{Title: h, Kind: h, Heading: h,
		Links: []page.Anchor{{Href: page.Link("run_a"), Text: h}}, Content: map[string]any{
			"V": page.Verdict{
				Class:    "fail",
				Sentence: h,
				Points:   []page.Point{{Class: "none", Mark: h, Text: h}},
			},
			"F": []page.Fact{{Name: h, Value: h, Note: h}},
			"T": page.Table{Label: h, Head: []string{h}, Rows: []page.Row{{Cells: page.Cells(h)}}, Hidden: h},
			"G": page.Figure{
				Title: h,
				Note:  h,
				Why:   h,
				Keys:  []page.Key{{Class: "c0", Text: h}},
				Body:  heat.HTML(),
			},
			"M": page.Figure{Title: h, Body: page.Chart{Label: h, X: page.Axis{Names: []string{h}},
				Bars: []page.Bar{{From: 0, To: 1, Y: 1}}, Rules: []page.Rule{{X: 0.5, Name: h}}}.SVG()},
		}})
	if err != nil {
		t.Fatal(err)
	}
	pagetest.Check(t, b.Bytes())
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.123456: "0.1235", 12345.678: "12346", 1e-7: "1.00e-07",
		2.5e9: "2.50e+09", -3: "-3"} {
		if got := page.Number(&x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
	x := 0.1234
	if page.Number(nil) != page.NA || page.Percent(nil) != page.NA || page.Percent(&x) != "12.3 %" ||
		page.Signed(&x) != "+12.3 %" {
		t.Error("n/a, or a percentage")
	}
}
