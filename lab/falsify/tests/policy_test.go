package tests_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/falsify/tests/buyandhold"
	"github.com/assay-run/assay/lab/falsify/tests/capacity"
	"github.com/assay-run/assay/lab/falsify/tests/metamorphic"
	"github.com/assay-run/assay/lab/falsify/tests/missingcandles"
	"github.com/assay-run/assay/lab/falsify/tests/outliertrades"
	"github.com/assay-run/assay/lab/falsify/tests/paramneighbourhood"
	"github.com/assay-run/assay/lab/falsify/tests/permutedcandles"
	"github.com/assay-run/assay/lab/falsify/tests/permutedselection"
	"github.com/assay-run/assay/lab/falsify/tests/plausibility"
	"github.com/assay-run/assay/lab/falsify/tests/pricenoise"
	"github.com/assay-run/assay/lab/falsify/tests/randomentry"
	"github.com/assay-run/assay/lab/falsify/tests/regime"
	"github.com/assay-run/assay/lab/falsify/tests/selectionbias"
	"github.com/assay-run/assay/lab/falsify/tests/symbolholdout"
	"github.com/assay-run/assay/lab/falsify/tests/timereversal"
	"github.com/assay-run/assay/lab/falsify/tests/tradeshuffle"
	"github.com/assay-run/assay/lab/search/selection"
)

// Every threshold has a value and survives the profile's JSON.
func TestPolicyIsComplete(t *testing.T) {
	p := judge.DefaultPolicy()
	fields := reflect.ValueOf(p)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			t.Error(fields.Type().Field(i).Name, " is 0")
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back judge.Policy
	if err := json.Unmarshal(text, &back); err != nil || back != p {
		t.Errorf("%+v, %v", back, err)
	}
}

// rules are all rules that rest on Sharpe ratios or p-values, with what passes.
func rules(j *judge.Judge) map[string]*judge.Test {
	list := replays(1, 1, 1)
	zeros, objectives := make([]judge.Replay, 199), slices.Repeat([]*float64{f(0)}, 199)
	spread := &regime.Regimes{Total: 10, Terciles: []regime.Regime{{PnL: 3}, {PnL: 3}, {PnL: 4}},
		Years: []regime.Regime{{PnL: 5}, {PnL: 5}}}
	return map[string]*judge.Test{
		judge.DelayStress.ID:  j.Delayed(list[0], 2),
		pricenoise.ID:         pricenoise.Judge(j, noisy(list)),
		missingcandles.ID:     missingcandles.Judge(j, list),
		paramneighbourhood.ID: paramneighbourhood.Judge(j, list),
		symbolholdout.ID: symbolholdout.Judge(j,
			[]symbolholdout.LeftOut{{Without: list[0]}, {Without: list[1]}}),
		regime.ID:            regime.Judge(j, spread),
		randomentry.ID:       randomentry.Judge(j, zeros, ""),
		permutedcandles.ID:   permutedcandles.Judge(j, f(1), 40, true, replays(make([]float64, 199)...)),
		permutedselection.ID: permutedselection.Judge(j, f(1), objectives, false),
		buyandhold.ID:        buyandhold.Judge(j, &buyandhold.Benchmark{Low: 1, High: 2}, ""),
		plausibility.ID:      plausibility.Judge(j),
		selectionbias.ID: selectionbias.Judge(j, chosen(judge.Pass, "", selection.Selection{
			DSRMax: f(.99), DSRMaxTest: selection.DSRMaxTest{P: f(.01)},
		})),
	}
}

// A sample of 119 returns warns where one of 120 passes, whatever the rule.
func TestShortSamplesNeverPass(t *testing.T) {
	j := good()
	j.Base.T = 120
	for id, got := range rules(j) {
		want(t, id, got, judge.Pass, "")
		if got.ID != id || got.Class == "" || got.Claim == "" || got.Version < 1 || got.Evidence == nil ||
			got.Params == nil {
			t.Errorf("%s: %+v", id, got)
		}
	}
	j.Base.T = 119
	for id, got := range rules(j) {
		want(t, id, got, judge.Warn, judge.ShortSample)
	}
}

// A strategy that never trades is neither good nor bad: no gate may fail because of it,
// and the whole is inconclusive.
func TestNoTradesAreInconclusive(t *testing.T) {
	j := good()
	j.Base = judge.Base{Undefined: "zero_variance", T: 500, Cash: 10000}
	all := rules(j)
	delete(all, permutedselection.ID)
	delete(all, selectionbias.ID)
	all[permutedcandles.ID] = permutedcandles.Judge(j, nil, 0, true, replays(none, none))
	all[judge.CostStress.ID] = j.Costs([]account.Cost{level(1, "0"), level(2, "0")})
	all[judge.IntrabarWorst.ID] = j.Worst(judge.Replay{Status: judge.Completed, NetPnL: "0"})
	all[outliertrades.ID] = outliertrades.Judge(j, outliertrades.Outliers{})
	all[tradeshuffle.ID] = tradeshuffle.Judge(j, nil, "no_trades")
	all[capacity.ID] = capacity.Judge(j, nil, "no_trades")
	var list []*judge.Test
	for id, got := range all {
		if got.Verdict != judge.Inconclusive || got.ReasonCode != "no_trades" {
			t.Errorf("%s: %s %s", id, got.Verdict, got.ReasonCode)
		}
		list = append(list, got)
	}
	if o := judge.Conclude(list); o.Verdict != judge.Inconclusive {
		t.Errorf("%+v", o)
	}
}

// What the host has broken is an error and never a verdict on the strategy.
func TestBrokenReplays(t *testing.T) {
	lost := []judge.Replay{{Status: judge.Broken}, replays(1)[0]}
	j := good()
	for id, got := range map[string]*judge.Test{
		judge.DelayStress.ID: j.Delayed(lost[0], 2), pricenoise.ID: pricenoise.Judge(j, noisy(lost)),
		missingcandles.ID:     missingcandles.Judge(j, append(replays(crash), lost...)),
		paramneighbourhood.ID: paramneighbourhood.Judge(j, lost),
		permutedcandles.ID:    permutedcandles.Judge(j, f(1), 40, true, lost),
		timereversal.ID:       timereversal.Judge(j, lost[0]),
		symbolholdout.ID: symbolholdout.Judge(j,
			[]symbolholdout.LeftOut{{Without: lost[0]}, {Without: lost[1]}}),
		judge.IntrabarWorst.ID: j.Worst(lost[0]),
		metamorphic.ID:         metamorphic.Judge(j, "", []metamorphic.Transformed{{Status: judge.Broken}}),
	} {
		want(t, id, got, judge.Error, judge.HostError)
	}
}

// Of the base's thresholds, those that a rule used stand in its entry, marked.
func TestThresholdsAreShown(t *testing.T) {
	j := good()
	j.Policy.Keep, j.Policy.PPass = .9, .001
	noise := pricenoise.Judge(j, noisy(replays(.8, .8, .8)))
	want(t, "a policy of its own", noise, judge.Fail, judge.SharpeFalls)
	if p := noise.Params["policy"].(map[string]any); p["keep"] != .9 || *noise.Statistic.Threshold != .9 {
		t.Errorf("%v, %v", p, *noise.Statistic.Threshold)
	}
	want(t, "a policy of its own", randomentry.Judge(j, make([]judge.Replay, 199), ""), judge.Warn,
		judge.PNotSmall)
	text, err := json.Marshal(noise)
	if err != nil {
		t.Fatal(err)
	}
	var back judge.Test
	if err := json.Unmarshal(text, &back); err != nil || back.Verdict != noise.Verdict ||
		*back.Statistic.Value != .8 {
		t.Errorf("%s, %v", text, err)
	}
	if got := noise.Sentence(); got != "Not shown: that it does not look up exact prices, because with "+
		"noise of 3 % of the median true range "+
		"the median Sharpe ratio is 0.80, its own 1.00." {
		t.Error(got)
	}
	if got := tests.Skip(capacity.ID, judge.NoVolume); got.Verdict != judge.Skipped ||
		got.ReasonCode != "no_volume" || got.Sentence() != "" {
		t.Errorf("%+v", got)
	}
}

// Every threshold is either looser or stricter when it is another one: none is forgotten
// where profiles are compared.
func TestEveryThresholdCanBeLooser(t *testing.T) {
	d := judge.DefaultPolicy()
	for i := range reflect.TypeFor[judge.Policy]().NumField() {
		found := 0
		for _, by := range []float64{-1, 1} {
			p := d
			field := reflect.ValueOf(&p).Elem().Field(i)
			if field.CanInt() {
				field.SetInt(field.Int() + int64(by))
			} else {
				field.SetFloat(field.Float() + by)
			}
			name := reflect.TypeFor[judge.Policy]().Field(i).Tag.Get("json")
			if l := p.LooserThan(d); len(l) == 1 && l[0].Name == name {
				found++
			}
		}
		if found != 1 {
			t.Errorf("field %d is looser in %d directions", i, found)
		}
	}
}
