package falsify

import (
	"bytes"
	_ "embed" // the template
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/falsify/tests/permutedcandles"
	"github.com/assay-run/assay/lab/falsify/tests/permutedselection"
	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/plugin-sdk/market"
)

//go:embed page.html
var content string

// Page is what the page of a falsification is made of.
type Page struct {
	RunID, Strategy string
	// Params are the parameters of the base as JSON.
	Params  string
	Summary *Summary
	// Replays are those of each test, by its id.
	Replays map[string][]judge.Replay
	// Time and Equity are the account of the base on its search split, Sharpe its annual ratio;
	// empty where they are not known.
	Time   []market.Time
	Equity []float64
	Sharpe *float64
	// Inside reports whether the page lies in the folder of the run, from where its evidence can
	// be opened.
	Inside bool
}

// ReadPage is the page of a stored falsification without the account of its base; read gives
// files of its folder.
func ReadPage(m *artifact.Metadata, read func(name string) ([]byte, error)) (*Page, error) {
	text, err := read(summaryName)
	if err != nil {
		return nil, err
	}
	p := &Page{RunID: m.RunID, Strategy: m.Slug, Params: string(m.Params), Summary: &Summary{},
		Replays: map[string][]judge.Replay{}}
	if err := json.Unmarshal(text, p.Summary); err != nil {
		return nil, &artifact.MismatchError{
			RunID:    m.RunID,
			Problems: []string{summaryName + ": " + err.Error()},
		}
	}
	for _, t := range p.Summary.Tests {
		for _, e := range t.Evidence {
			if !strings.HasSuffix(e.Path, "/replays.csv") {
				continue
			}
			if text, err = read(e.Path); err != nil {
				return nil, err
			}
			p.Replays[t.ID] = readReplays(text)
		}
	}
	return p, nil
}

// readReplays takes from a replays.csv what the page draws.
func readReplays(text []byte) []judge.Replay {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil // what is not drawn stands in the table
	}
	at := slices.Index(rows[0], "sharpe_ratio")
	if at < 0 {
		return nil
	}
	var out []judge.Replay
	for _, row := range rows[1:] {
		r := judge.Replay{}
		if x, err := strconv.ParseFloat(row[at], 64); err == nil {
			r.Sharpe = &x
		}
		out = append(out, r)
	}
	return out
}

// pageRow is a test as the page shows it.
type pageRow struct {
	Number                               int
	ID, Class, Claim, Method             string
	Verdict, Mark, Sentence              string
	Statistic, Value, Threshold, P, Holm string
	Reason                               string
	Evidence                             []judge.Evidence
	Linked                               bool
	Replays                              page.Figure
}

// pageGroup is the tests of one verdict.
type pageGroup struct {
	Title string
	Rows  []pageRow
}

// classes are what a class means.
var classes = map[judge.Class]string{judge.Gate: "gate", judge.Warning: "warning",
	judge.Description: "description"}

// firstSpread is the index of the first test whose replays are judged by how their
// Sharpe ratios spread.
const firstSpread = 5

// Bytes is the page: it opens without a network, in a light and a dark scheme, and prints. What
// failed comes first. Equal input gives equal bytes.
func (p *Page) Bytes() ([]byte, error) {
	s := p.Summary
	v := struct {
		Verdict page.Verdict
		Reasons []judge.Reason
		Limit   string
		Groups  []pageGroup
		Equity  page.Figure
		NotRun  int
		Facts   []page.Fact
		Repeat  string
	}{Reasons: s.listReasons(), Limit: judge.Limit, Groups: p.groups(), Equity: p.equity(),
		NotRun: s.NotRun(),
		Repeat: "lab falsify " + p.Strategy + " --run " + s.BaseRunID}
	v.Verdict = page.Verdict{Class: string(s.Overall), Sentence: p.sentence()}
	for _, t := range p.ordered() {
		if sentence := tests.Current(t).Sentence(); sentence != "" {
			class := string(t.Shown())
			v.Verdict.Points = append(
				v.Verdict.Points,
				page.Point{Class: class, Mark: page.Mark(class), Text: sentence},
			)
		}
	}
	v.Facts = []page.Fact{{Name: "strategy", Value: p.Strategy}, {Name: "base run", Value: s.BaseRunID},
		{
			Name:  "parameters",
			Value: p.Params,
		}, {Name: "trials in the ledger", Value: strconv.Itoa(s.Ledger.NTrials)},
		{
			Name:  "profile",
			Value: s.Profile.ID + ", sha256 " + s.Profile.SHA256,
		}, {Name: "seed", Value: s.Seed}}
	var b bytes.Buffer
	base := page.Anchor{Href: page.Link(s.BaseRunID), Text: "Tear sheet of the run, " + s.BaseRunID}
	if p.Inside {
		base.Href = "../../../" + page.Folder + "/" + s.BaseRunID + "/" + page.FileName
	}
	err := page.Write(&b, content, page.View{Kind: "Falsification", Heading: p.Strategy + ": " + p.RunID,
		Title: p.Strategy + ": " + string(s.Overall) + ", falsification of " + s.BaseRunID,
		Links: []page.Anchor{base}, Content: v})
	return b.Bytes(), err
}

// sentence is the verdict for a reader who knows no battery.
func (p *Page) sentence() string {
	switch sentence := p.Summary.Conclusion(); p.Summary.Overall {
	case judge.Fail:
		return "This idea does not survive (" + sentence + ")."
	case judge.Pass:
		return "Nothing refuted it (" + sentence + ")."
	case judge.Inconclusive:
		return "Nothing is shown either way (" + sentence + ")."
	default:
		return "Not everything was shown (" + sentence + ")."
	}
}

// order is that of the page: what failed first.
var order = []judge.Verdict{
	judge.Fail,
	judge.Error,
	judge.Warn,
	judge.Inconclusive,
	judge.Pass,
	judge.Skipped,
}

// ordered are the tests, what failed first.
func (p *Page) ordered() []*judge.Test {
	out := slices.Clone(p.Summary.Tests)
	slices.SortStableFunc(out, func(a, b *judge.Test) int {
		return slices.Index(order, a.Shown()) - slices.Index(order, b.Shown())
	})
	return out
}

func (p *Page) groups() []pageGroup {
	titles := map[judge.Verdict]string{judge.Fail: "What failed", judge.Error: "What could not be made",
		judge.Warn: "What warns", judge.Inconclusive: "What stays open", judge.Pass: "What it withstood",
		judge.Skipped: "What was skipped"}
	var out []pageGroup
	informs := pageGroup{Title: "What only informs"}
	for _, t := range p.ordered() {
		if t.LeftOut() {
			continue
		}
		row := p.row(t)
		if t.Class == judge.Description {
			informs.Rows = append(informs.Rows, row)
			continue
		}
		title := titles[t.Shown()]
		if len(out) == 0 || out[len(out)-1].Title != title {
			out = append(out, pageGroup{Title: title})
		}
		out[len(out)-1].Rows = append(out[len(out)-1].Rows, row)
	}
	if len(informs.Rows) > 0 {
		out = append(out, informs)
	}
	return out
}

func (p *Page) row(t *judge.Test) pageRow {
	i := slices.Index(p.Summary.Tests, t)
	r := pageRow{Number: i + 1, ID: t.ID, Class: classes[t.Class], Claim: t.Claim, Method: t.Method,
		Verdict: string(t.Shown()), Mark: page.Mark(string(t.Shown())), Sentence: tests.Current(t).Sentence(),
		Statistic: spaced(t.Statistic.Name), Value: shortNumber(t.Statistic.Value), P: shortNumber(t.PValue),
		Holm: shortNumber(t.PHolm), Reason: spaced(t.ReasonCode), Linked: p.Inside}
	if t.Class == judge.Description {
		r.Verdict, r.Mark, r.Sentence = "none", "i", t.Informs()
	}
	if t.Statistic.Threshold != nil {
		r.Threshold = t.Statistic.Direction + " " + shortNumber(t.Statistic.Threshold)
	}
	if i >= firstSpread { // before it, a ratio says nothing about the verdict
		r.Replays = p.spread(t)
	}
	for _, e := range t.Evidence {
		if p.Inside {
			e.Path = strings.TrimPrefix(e.Path, judge.Dir+"/") // beside the page
		}
		r.Evidence = append(r.Evidence, e)
	}
	return r
}

// fewReplays are too few to draw.
const fewReplays = 5

// spread is the Sharpe ratios of replays, with that of the base.
func (p *Page) spread(t *judge.Test) page.Figure {
	base, list := p.Sharpe, p.Replays[t.ID]
	if t.ID == permutedcandles.ID { // whose base is the train split
		base = t.Statistic.Value
	}
	if t.ID == permutedselection.ID && len(list) > 0 { // the first is the search on train as it is
		base, list = list[0].Sharpe, list[1:]
	}
	var ratios []float64
	for i := range list {
		if s := list[i].Sharpe; s != nil {
			ratios = append(ratios, *s)
		}
	}
	if len(ratios) < fewReplays {
		return page.Figure{}
	}
	c := page.Chart{
		Height: 130,
		Label: fmt.Sprintf("Sharpe ratios of %d replays from %.2f to %.2f", len(ratios),
			slices.Min(ratios), slices.Max(ratios)),
		Bars: page.Histogram(ratios, 30),
	}
	if base != nil {
		c.Label += fmt.Sprintf(", base %.2f", *base)
		c.Rules = []page.Rule{{X: *base, Name: "this run"}}
	}
	return page.Figure{Title: "Sharpe ratios of the replays", Note: fmt.Sprintf("%d of them", len(ratios)),
		Body: c.SVG()}
}

// muchGrowth is how many times its lowest value an account reaches that is drawn on a
// logarithmic scale: on another one it would be a flat line with a hook.
const muchGrowth = 10

// curvePoints are more points than can be told apart.
const curvePoints = 800

func (p *Page) equity() page.Figure {
	f := page.Figure{Title: "The account that was attacked, on the search split"}
	if len(p.Equity) < 2 {
		f.Why = "The curve of the base is not at hand."
		return f
	}
	line := page.Line{Class: "c0"}
	step := max(1, (len(p.Equity)+curvePoints-1)/curvePoints)
	for i := 0; i < len(p.Equity); i += step {
		line.X, line.Y = append(line.X, float64(p.Time[i])), append(line.Y, p.Equity[i])
	}
	last := len(p.Equity) - 1
	line.X, line.Y = append(line.X, float64(p.Time[last])), append(line.Y, p.Equity[last])
	low, high := slices.Min(p.Equity), slices.Max(p.Equity)
	c := page.Chart{Label: fmt.Sprintf("equity from %.0f to %.0f, between %.0f and %.0f", p.Equity[0],
		p.Equity[last], low, high), Wide: true, Height: 220, X: page.Axis{Time: true},
		Y: page.Axis{Log: low > 0 && high > muchGrowth*low}, Lines: []page.Line{line}}
	if c.Y.Log {
		f.Note = "logarithmic scale"
	}
	f.Body = c.SVG()
	return f
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
