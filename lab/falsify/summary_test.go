package falsify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/falsify/judge"
)

func number(x float64) *float64 { return &x }

func summaryOf(change func(map[string]*judge.Test)) *Summary {
	s := &Summary{Schema: summarySchema, Overall: judge.Pass, Refuted: []string{}}
	byID := map[string]*judge.Test{}
	for _, e := range judge.Catalogue() {
		t := judge.Skip(e.ID, "")
		t.Verdict = judge.Pass
		byID[e.ID] = t
		s.Tests = append(s.Tests, t)
	}
	change(byID)
	o := judge.Conclude(s.Tests)
	s.Overall, s.Refuted = o.Verdict, o.Refuted
	return s
}

func TestTheConclusionNamesWhatMatters(t *testing.T) {
	for want, change := range map[string]func(map[string]*judge.Test){
		"pass: no claim is refuted": func(map[string]*judge.Test) {},
		"warn: no gate failed, delay_stress, capacity warn": func(t map[string]*judge.Test) {
			t[judge.DelayStress].Verdict, t[judge.CapacityTest].Verdict, t[judge.TimeReversal].Verdict = judge.Warn, judge.Fail, judge.Fail
		},
		"inconclusive: cost_stress, metamorphic": func(t map[string]*judge.Test) {
			t[judge.CostStress].Verdict, t[judge.CostStress].ReasonCode = judge.Skipped, judge.SkippedByUser
			t[judge.Metamorphic].Verdict, t[judge.PriceNoise].Verdict = judge.Inconclusive, judge.Inconclusive
			t[judge.ParamNeighbours].Verdict, t[judge.ParamNeighbours].ReasonCode = judge.Skipped, judge.NoParameters
		},
		"fail: Refuted: survives costs (net -1.8 % at doubled costs); beats holding": func(t map[string]*judge.Test) {
			t[judge.CostStress].Verdict, t[judge.CostStress].Detail = judge.Fail, "net -1.8 % at doubled costs"
			t[judge.BuyAndHold].Verdict = judge.Fail
		},
	} {
		if got := summaryOf(change).Conclusion(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheTableHasARowPerTest(t *testing.T) {
	s := summaryOf(func(t map[string]*judge.Test) {
		cost := t[judge.CostStress]
		cost.Verdict, cost.ReasonCode = judge.Fail, judge.NetLoss
		cost.Statistic = judge.Statistic{Name: "net_return", Value: number(-0.018), Threshold: number(0), Direction: ">"}
		t[judge.RandomEntry].PValue, t[judge.RandomEntry].PHolm = number(0.01), number(0.03)
	})
	rows := s.Table()
	if len(rows) != 24 {
		t.Fatalf("%d rows", len(rows))
	}
	if got := strings.Join(rows[6], "|"); got != "6|cost_stress|G|fail|net_return|-0.018|> 0|||net_loss" {
		t.Error(got)
	}
	if got := strings.Join(rows[15], "|"); got != "15|random_entry|G|pass||||0.01|0.03|" {
		t.Error(got)
	}
}

func TestASummaryIsReadAsItWasWritten(t *testing.T) {
	s := summaryOf(func(t map[string]*judge.Test) {
		t[judge.CostStress].Statistic.Value, t[judge.CostStress].Verdict = number(1.5), judge.Fail
	})
	text, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "falsify"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, summaryName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := ReadSummary(dir)
	if err != nil {
		t.Fatal(err)
	}
	other, err := again.encode()
	if err != nil || string(other) != string(text) {
		t.Errorf("%s\nwant %s (%v)", other, text, err)
	}
	b := again.brief()
	if len(b.Tests) != 23 || b.Tests[5].ID != judge.CostStress || b.Tests[5].Verdict != judge.Fail || b.Overall != judge.Fail || len(b.Refuted) != 1 {
		t.Errorf("%+v", b)
	}
	if _, err := ReadSummary(t.TempDir()); err == nil {
		t.Error("a summary was read from nowhere")
	}
}

func TestEvidenceHasItsMediaType(t *testing.T) {
	if mediaOf("falsify/regime/regimes.csv") != "text/csv" || mediaOf("falsify/determinism/first_diff.jsonl") != "application/jsonl" {
		t.Error("wrong media types")
	}
}

func TestTheStandingIsThatOfTheBase(t *testing.T) {
	plan, index := "plan_x", int64(3)
	for _, c := range []struct {
		base artifact.Metadata
		want evaluate.Plan
	}{
		{artifact.Metadata{}, evaluate.Plan{}},
		{artifact.Metadata{PlanID: &plan}, evaluate.Plan{ID: plan, Index: -1}},
		{
			artifact.Metadata{PlanID: &plan, TrialIndex: &index, Deviation: true, ValidationContaminated: true},
			evaluate.Plan{ID: plan, Index: 3, Deviation: true, Contaminated: true},
		},
	} {
		if got := standingOf(&c.base); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}
