package page

import (
	"bytes"
	_ "embed" // the template
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/assay-run/assay/lab/falsify/judge"
)

// Falsification is what the page shows.
type Falsification struct {
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
var source string

// row is a test as the page shows it.
type row struct {
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
	judge.Pass: "✓", judge.Warn: "!", judge.Fail: "✗", judge.Inconclusive: "?", judge.Error: "⚠", judge.Skipped: "–",
}

// classes are what a class means.
var classes = map[judge.Class]string{judge.Gate: "gate", judge.Warning: "warning", judge.Description: "description"}

// firstSpread is the index of the first test whose replays are judged by how their
// Sharpe ratios spread.
const firstSpread = 5

// Render is the page.
func Render(f Falsification) ([]byte, error) {
	t, err := template.New("page").Parse(source)
	if err != nil {
		return nil, err
	}
	view := struct {
		Falsification
		Mark, Limit     string
		Rows, Informing []row
		NotRun          int
		Curve           template.HTML
	}{Falsification: f, Mark: marks[f.Overall], Limit: judge.Limit, Curve: curve(f.Equity, f.From, f.To)}
	for i, x := range f.Tests {
		if x.LeftOut() {
			view.NotRun++
			continue
		}
		r := row{
			Number: i + 1, ID: x.ID, Class: classes[x.Class], Claim: x.Claim, Method: x.Method,
			Verdict: string(x.Shown()), Mark: marks[x.Shown()],
			Statistic: spaced(x.Statistic.Name), Value: Number(x.Statistic.Value), P: Number(x.PValue), Holm: Number(x.PHolm), Reason: spaced(x.ReasonCode),
		}
		if x.Statistic.Threshold != nil {
			r.Threshold = x.Statistic.Direction + " " + Number(x.Statistic.Threshold)
		}
		base := f.Sharpe
		if x.ID == judge.PermutedCandles { // whose base is the train split
			base = x.Statistic.Value
		}
		spread := f.Replays[x.ID]
		if x.ID == judge.PermutedSelection && len(spread) > 0 { // the first is the search on train as it is
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

// Number is a number with about four digits; empty for none.
func Number(x *float64) string {
	if x == nil {
		return ""
	}
	if *x >= 1e4 || *x <= -1e4 {
		return strconv.FormatFloat(*x, 'f', 0, 64)
	}
	return fmt.Sprintf("%.4g", *x)
}
