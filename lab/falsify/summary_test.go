package falsify

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/falsify/tests/buyandhold"
	"github.com/assay-run/assay/lab/falsify/tests/capacity"
	"github.com/assay-run/assay/lab/falsify/tests/metamorphic"
	"github.com/assay-run/assay/lab/falsify/tests/missingcandles"
	"github.com/assay-run/assay/lab/falsify/tests/permutedselection"
	"github.com/assay-run/assay/lab/falsify/tests/plausibility"
	"github.com/assay-run/assay/lab/falsify/tests/randomentry"
	"github.com/assay-run/assay/lab/falsify/tests/regime"
	"github.com/assay-run/assay/lab/falsify/tests/timereversal"
	"github.com/assay-run/assay/lab/falsify/tests/tradeshuffle"
	"github.com/assay-run/assay/lab/request"
)

func number(x float64) *float64 { return &x }

func summaryOf(change func(map[string]*judge.Test)) *Summary {
	s := &Summary{Schema: summarySchema, Overall: judge.Pass, Refuted: []string{}}
	byID := map[string]*judge.Test{}
	for _, e := range tests.All() {
		t := tests.Skip(e.ID, "")
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
		"pass: no gate failed": func(map[string]*judge.Test) {},
		"warn: no gate failed, but not everything was shown": func(t map[string]*judge.Test) {
			t[judge.DelayStress.ID].Verdict, t[capacity.ID].Verdict, t[timereversal.ID].Verdict = judge.Warn,
				judge.Fail, judge.Fail
		},
		"inconclusive: these gates say nothing: metamorphic; gates that were left out: 1": func(
			t map[string]*judge.Test) {
			t[judge.CostStress.ID].Verdict, t[judge.CostStress.ID].ReasonCode = judge.Skipped,
				judge.SkippedByUser
			t[metamorphic.ID].Verdict, t[missingcandles.ID].Verdict = judge.Inconclusive,
				judge.Inconclusive
		},
		"fail: 2 gates failed, cost_stress, buy_and_hold": func(t map[string]*judge.Test) {
			t[judge.CostStress.ID].Verdict, t[buyandhold.ID].Verdict = judge.Fail, judge.Fail
		},
		"fail: 1 gate failed, plausibility": func(t map[string]*judge.Test) {
			t[plausibility.ID].Verdict = judge.Fail
		},
	} {
		if got := summaryOf(change).Conclusion(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Sentences list what was not shown, failures first; each once, and the verdict with them or by
// the error.
func TestWhatWasNotShownIsSaidOnce(t *testing.T) {
	s := summaryOf(func(t map[string]*judge.Test) {
		t[judge.DelayStress.ID].Verdict, t[judge.DelayStress.ID].Detail = judge.Warn,
			"one candle late it earns little"
		t[capacity.ID].Verdict, t[capacity.ID].Detail = judge.Fail, "its orders are large"
		t[metamorphic.ID].Verdict, t[metamorphic.ID].Detail = judge.Fail,
			"with all times moved by 364 days the returns differ by up to 0.37"
		t[tradeshuffle.ID].Detail = "the drawdown is large"
		t[timereversal.ID].Verdict, t[timereversal.ID].Detail = judge.Fail,
			"the program failed on reversed returns"
		t[regime.ID].Verdict, t[regime.ID].ReasonCode = judge.Skipped, judge.SkippedByUser
	})
	var b strings.Builder
	s.Print(&b)
	code, message := s.Refusal()
	if want := `1 not run
Not shown: that decisions do not depend on price level, name or undeclared dates, because with all times moved by 364 days the returns differ by up to 0.37.
Not shown: that it earns about as much when orders come late, because one candle late it earns little.
Not shown: that the market has the volume for its orders, because its orders are large.
Informs: The drawdown is large.
Informs: The program failed on reversed returns.
Limit: ` + judge.Limit + "\n"; b.String() != want || code != "FALSIFIED" ||
		message != "1 gate failed, metamorphic" {
		t.Errorf("%s\nwant\n%s(%s %s)", b.String(), want, code, message)
	}
	if len(s.Refuted) != 1 || !strings.HasPrefix(s.Refuted[0], "Not shown: that decisions") {
		t.Errorf("%q", s.Refuted)
	}
	for _, row := range s.Table() {
		if row[3] == "fail" && row[1] != metamorphic.ID || row[1] == tradeshuffle.ID ||
			row[1] == regime.ID {
			t.Error(row)
		}
	}
	b.Reset()
	summaryOf(func(map[string]*judge.Test) {}).Print(&b)
	if !strings.HasSuffix(b.String(), "\npass: no gate failed\n") || strings.Count(b.String(), "\n") != 2 {
		t.Error(b.String())
	}
}

// What the version before wrote is read, and shown in the words of now.
func TestASummaryOfTheFormerProfileIsRead(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/summary_1.json")
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "falsify"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, summaryName), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadSummary(dir)
	if err != nil || s.Profile.ID != "falsify-profile/1" || s.Overall != judge.Fail || len(s.Tests) != 23 {
		t.Fatalf("%+v, %v", s, err)
	}
	again, err := s.encode()
	if err != nil || string(again) != string(text) {
		t.Errorf("it is written otherwise: %s, %v", again, err)
	}
	said := strings.Join(s.Sentences(), "\n")
	if !strings.HasPrefix(said, "Not shown: that it earns money at higher costs, because net_return is "+
		"-0.2508 and must be > 0; see it with falsify/cost_stress/costs.csv.") {
		t.Error(said)
	}
	if b := s.shorten(); len(b.Tests) != 23 || b.Refuted[0] != s.Refuted[0] {
		t.Errorf("%+v", b)
	}
}

func TestADoubtNamesItsReasons(t *testing.T) {
	s := summaryOf(func(t map[string]*judge.Test) { t[judge.CostStress.ID].Verdict = judge.Inconclusive })
	loose := judge.DefaultPolicy()
	loose.PPass, loose.PWarn = 1, 1
	o := judge.Conclude(s.Tests)
	o.Cap(loose.LooserThan(judge.DefaultPolicy()))
	s.Reasons = o.Reasons
	if got, want := s.Doubt(),
		"these gates say nothing: cost_stress; these thresholds are looser than the default's: "+
			"/policy/p_pass, /policy/p_warn"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := s.Conclusion(), "inconclusive: these gates say nothing: cost_stress; these thresholds "+
		"are looser than the default's: /policy/p_pass, /policy/p_warn"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTheTableHasARowPerTest(t *testing.T) {
	s := summaryOf(func(t map[string]*judge.Test) {
		cost := t[judge.CostStress.ID]
		cost.Verdict, cost.ReasonCode = judge.Fail, judge.NetLoss
		cost.Statistic = judge.Statistic{Name: "net_return", Value: number(-0.018), Threshold: number(0),
			Direction: ">"}
		t[randomentry.ID].PValue, t[randomentry.ID].PHolm = number(0.01), number(0.03)
	})
	rows := s.Table()
	if len(rows) != len(tests.All())-1 { // a header, and the tests but for two that inform
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
		t[judge.CostStress.ID].Statistic.Value, t[judge.CostStress.ID].Verdict = number(1.5), judge.Fail
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
	b := again.shorten()
	if len(b.Tests) != len(tests.All()) || b.Tests[5].ID != judge.CostStress.ID ||
		b.Tests[5].Verdict != judge.Fail ||
		b.Overall != judge.Fail || len(b.Refuted) != 1 {
		t.Errorf("%+v", b)
	}
	if _, err := ReadSummary(t.TempDir()); err == nil {
		t.Error("a summary was read from nowhere")
	}
}

func TestEvidenceHasItsMediaType(t *testing.T) {
	if mediaOf("falsify/regime/regimes.csv") != "text/csv" ||
		mediaOf("falsify/determinism/first_diff.jsonl") != "application/jsonl" {
		t.Error("wrong media types")
	}
}

func TestTheStandingIsThatOfTheBase(t *testing.T) {
	plan, index := "plan_x", int64(3)
	for _, c := range []struct {
		base artifact.Metadata
		want request.Plan
	}{
		{artifact.Metadata{}, request.Plan{}},
		{artifact.Metadata{PlanID: &plan}, request.Plan{ID: plan, Index: -1}},
		{
			artifact.Metadata{PlanID: &plan, TrialIndex: &index, Deviation: true,
				ValidationContaminated: true},
			request.Plan{ID: plan, Index: 3, Deviation: true, Contaminated: true},
		},
	} {
		if got := standingOf(&c.base); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// A profile that the plan of the base does not name is a deviation in everything that is
// kept of the attack, and the plan's seed rules.
func TestAnotherProfileThanThePlansIsADeviation(t *testing.T) {
	plan := "plan_x"
	for _, c := range []struct {
		planned *battery.Plan
		want    bool
		seed    string
	}{
		{nil, false, "7"},
		{&battery.Plan{Profile: "falsify-profile/2", Seed: 3}, false, "3"},
		{&battery.Plan{Profile: "falsify-profile/1", Seed: 3}, false, "3"}, // the former default
		{&battery.Plan{Profile: "strict", Seed: 3}, true, "3"},
	} {
		a := &attack{
			base: &Base{RunID: "run_a",
				Stored: &request.Stored{Metadata: &artifact.Metadata{PlanID: &plan}}},
			options:  Options{Profile: profile.Default()},
			prepared: &request.Prepared{Request: request.Request{Seed: 7}}, planned: c.planned,
		}
		s := a.summary(&battery.Outcome{})
		deviates := s.Profile.Planned != "" && len(s.Reasons) == 1 &&
			s.Reasons[0].Code == judge.ProfileDeviation && len(s.shorten().Reasons) == 1
		if a.standing().Deviation != c.want || deviates != c.want || s.Seed != c.seed {
			t.Errorf("%+v: %+v, %+v", c.planned, a.standing(), s)
		}
	}
}

func TestASearchThatIsTooLargeIsRefused(t *testing.T) {
	p := profile.Default()
	planned := &battery.Plan{Params: make([]json.RawMessage, permutedselection.MostSearched/100+1)}
	if err := affordable(planned, &p); err != nil {
		t.Error("nothing of it would be played: ", err)
	}
	p.Full = true
	var refused *request.Error
	if err := affordable(planned, &p); !errors.As(err, &refused) || refused.Code != "PLAN_TOO_LARGE" ||
		!strings.Contains(refused.Message, "--skip permuted_selection") {
		t.Error(err)
	}
	if err := affordable(&battery.Plan{Params: planned.Params[1:]}, &p); err != nil {
		t.Error(err)
	}
	p.Skip = []string{permutedselection.ID}
	if err := affordable(planned, &p); err != nil {
		t.Error(err)
	}
}
