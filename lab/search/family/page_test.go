package family

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/page/pagetest"
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
	v, err := PageOf(s, o, nil, []float64{1, 1.1, 1.3})
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
		"plan_a", "It &lt;script&gt;", "wf-00", "<td>none</td>", "STRATEGY_ERROR",
		`class="verdict fail"`, "../../runs/run_a/", "Mean objective by fast and mode",
		"holding the first symbol", "count as 1.5 independent",
		"a ratio as high in 70.0 %", "each of its days: 1.",
		"test split of this family has been revealed 3 times", `class="dot c0 chosen"`,
		"50.0 %", "turnover", "prefers-color-scheme: dark", "default-src &#39;none&#39;", "wf-01",
	} {
		if !strings.Contains(page, want) && !strings.Contains(page, strings.ReplaceAll(want, "&#39;", "'")) {
			t.Errorf("%q is not there", want)
		}
	}
	pagetest.Check(t, []byte(page))
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

// TestEquityIsThinned, and keeps its last level; half a line of holding is none.
func TestEquityIsThinned(t *testing.T) {
	var levels []Level
	for i := range 10_000 {
		levels = append(levels, Level{Date: "2024-01-01", Value: float64(i + 1)})
	}
	f := equity(levels, make([]float64, 5))
	if n := strings.Count(string(f.Body), "L"); n > mostPoints+1 || n < mostPoints/2 || f.Why == "" ||
		len(f.Keys) != 1 {
		t.Errorf("%d points: %q", n, f.Why)
	}
	if equity(levels[:1], nil) != nil {
		t.Error("one level is a line")
	}
}

// TestHeatBins: many values are put together, few have a place each.
func TestHeatBins(t *testing.T) {
	var points []point
	for i := range 40 {
		points = append(points, point{at: []float64{float64(i) / 40, float64(i%3) / 3}, objective: float64(i),
			params: map[string]string{"a": strconv.Itoa(i), "b": strconv.Itoa(i % 3)}, chosen: i == 39})
	}
	a, b := axisOf("a", 0, points), axisOf("b", 1, points)
	if len(a.names) != bins || len(b.names) != 3 || a.names[0] != "0 to 4" || a.of(&points[39]) != bins-1 {
		t.Errorf("%v %v", a.names, b.names)
	}
	f := heat(design.Space{}, []selection.Importance{{Param: "a"}, {Param: "b"}}, points)
	if f == nil || strings.Count(string(f.Body), "chosen") != 1 {
		t.Error("the selected trial is not marked once")
	}
	if heat(design.Space{}, nil, points) != nil {
		t.Error("one parameter makes a map")
	}
}
