package family

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/stat"
)

func ptr(x float64) *float64 { return &x }

// example is a family of two trials whose texts try to be more than text.
func example(t *testing.T) (*Search, *Outcome) {
	t.Helper()
	space, err := design.DecodeSpace(
		[]byte(`{"fast":{"type":"int","low":5,"high":30},"mode":{"type":"choice","values":["<b>","b"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	f := project.DefaultFamily()
	f.Space, f.Secondary = space, []string{"turnover"}
	s := &Search{
		PlanFile: &PlanFile{Plan: &Plan{Slug: "x", Hypothesis: `It <script>alert("works")</script>`,
			Family: f, Seed: "1"}, ID: "plan_a", Hash: "ab"}}
	chosen := 0
	o := &Outcome{
		Searched: &Searched{Trials: []*Trial{
			{Index: 0, Params: json.RawMessage(`{"fast":5,"mode":"<b>"}`), RunID: "run_a", Status: Completed,
				Rank: 1, Objective: ptr(0.7), Metrics: metric.Values{{Key: "total_return", Number: 0.5}},
				Plateau: ptr(0.5)},
			{Index: 1, Params: json.RawMessage(`{"fast":6,"mode":"b"}`), Status: Failed,
				FailureCode: "STRATEGY_ERROR"},
		}},
		Result: &Result{
			Status: StatusCompleted,
			Selected: &Selected{TrialIndex: 0, RunID: "run_a",
				Params: json.RawMessage(`{"fast":5,"mode":"<b>"}`), Rule: project.RuleBest},
			Optimised: &Optimised{
				Windows: []Choice{{SplitID: "wf-00", ChosenTrial: &chosen, TrainObjective: ptr(1)},
					{SplitID: "wf-01"}}, Metrics: &metric.Values{{Key: "sharpe_ratio", Number: 0.25}}},
			Selection: &selection.Selection{NTrials: 2, NEff: ptr(1.5), DSRMax: ptr(0.3),
				DSRMaxTest: selection.DSRMaxTest{P: ptr(0.7), WithoutSeries: 1}, DSR2014: ptr(0.3),
				DSR2025: ptr(0.4), PSidak: ptr(0.2), TestPeeks: 3, Undefined: map[string]stat.Reason{}},
			Importance: []selection.Importance{{Param: "fast", RankCorrelation: ptr(1)}, {Param: "mode"}},
			Counts:     Counts{Completed: 1, Failed: 1}, ResultHash: "cd",
		},
		Verdict: &selection.Verdict{Verdict: selection.Fail, ReasonCode: selection.ReasonDSRMaxLow},
		Equity: []Level{{Date: "2024-01-01", Value: 1.1}, {Date: "2024-01-02", Value: 0.9},
			{Date: "2024-01-03", Value: 1.2}},
	}
	return s, o
}

func write(t *testing.T, s *Search, o *Outcome) string {
	t.Helper()
	v, err := PageOf(s, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := v.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPage: everything is there, twice the same, and nothing is fetched or executed.
func TestPage(t *testing.T) {
	s, o := example(t)
	page := write(t, s, o)
	if page != write(t, s, o) {
		t.Error("two pages of one family differ")
	}
	for _, want := range []string{
		"plan_a", "It &lt;script&gt;", "wf-00", "<td>t0</td>", "<td>none</td>", "STRATEGY_ERROR",
		`class="verdict fail"`, "count as 1.5 independent",
		"a ratio as high in 70.0 %", "each of its days: 1.",
		"test split of this family has been revealed 3 times", `<path d="M6.0 82.0L450.0 234.0L894.0 6.0"/>`,
		`class="chosen"`, "50.0 %", "turnover", "prefers-color-scheme: dark",
		"default-src &#39;none&#39;", "wf-01",
	} {
		if !strings.Contains(page, want) && !strings.Contains(page, strings.ReplaceAll(want, "&#39;", "'")) {
			t.Errorf("%q is not there", want)
		}
	}
	for _, bad := range []string{"<script", "http:", "https:", "src=", "@import", "url(", "<b>"} {
		if strings.Contains(page, bad) {
			t.Errorf("%q is there", bad)
		}
	}
}

func TestWords(t *testing.T) {
	_, o := example(t)
	for _, c := range []struct {
		verdict selection.Verdict
		want    string
	}{
		{selection.Verdict{Verdict: selection.Pass},
			"Shown: that the selected trial survives the search (pass)."},
		{selection.Verdict{Verdict: selection.Pass, Strong: true},
			"Shown: that the selected trial survives the search (pass, strong)."},
		{selection.Verdict{Verdict: selection.Warn, ReasonCode: selection.ReasonShort},
			"Not shown: that the selected trial survives the search (warn), because there are too few days."},
		{selection.Verdict{Verdict: selection.Inconclusive, ReasonCode: "zero_variance"},
			"Not known: whether the selected trial survives the search (inconclusive), because of " +
				"zero_variance."},
	} {
		o.Verdict = &c.verdict
		if got := Sentences(o)[0]; got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if strings.Contains(strings.Join(Sentences(o), " "), "differ only") {
		t.Error("runs that nobody made are told of")
	}
	o.Again = 4
	if got := Sentences(o)[2]; !strings.HasPrefix(got,
		"Besides, 4 runs of the selected parameters differ only in their seed or splits") {
		t.Error(got)
	}
	o.Verdict, o.Result.Selection = nil, nil
	if got := Sentences(o); len(got) != 1 || !strings.Contains(got[0], "No trial has an objective") {
		t.Error(got)
	}
	o.Aborted = "failure_share"
	if got := Sentences(o); len(got) != 1 || !strings.Contains(got[0], "stop rule") {
		t.Error(got)
	}
}

// TestAbortedPage: a family without a selection still has a page.
func TestAbortedPage(t *testing.T) {
	s, o := example(t)
	o.Aborted, o.Verdict, o.Equity = "failure_share", nil, nil
	o.Result = &Result{Status: StatusAborted}
	if page := write(t, s, o); !strings.Contains(page, "did not come to its end") ||
		strings.Contains(page, "The selected trial</h2>") {
		t.Error(page)
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.123456: "0.1235", 12345.678: "12346", 1e-7: "1.00e-07",
		2.5e9: "2.50e+09", -3: "-3"} {
		if got := Number(&x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
	if Number(nil) != "n/a" || Percent(nil) != "n/a" || Percent(ptr(0.1234)) != "12.3 %" {
		t.Error("n/a")
	}
}

// TestEquityIsThinned, and keeps its last level.
func TestEquityIsThinned(t *testing.T) {
	var levels []Level
	for i := range 10_000 {
		levels = append(levels, Level{Date: "2024-01-01", Value: float64(i)})
	}
	c := equity(levels)
	if n := strings.Count(c.Path, "L"); n > mostPoints || !strings.HasSuffix(c.Path, "L894.0 6.0") {
		t.Errorf("%d points, ends %s", n, c.Path[len(c.Path)-20:])
	}
	if equity(levels[:1]) != nil {
		t.Error("one level is a line")
	}
}
