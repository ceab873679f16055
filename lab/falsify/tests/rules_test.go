package tests_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/falsify/tests/buyandhold"
	"github.com/assay-run/assay/lab/falsify/tests/capacity"
	"github.com/assay-run/assay/lab/falsify/tests/causal"
	"github.com/assay-run/assay/lab/falsify/tests/metamorphic"
	"github.com/assay-run/assay/lab/falsify/tests/missingcandles"
	"github.com/assay-run/assay/lab/falsify/tests/outliertrades"
	"github.com/assay-run/assay/lab/falsify/tests/paramneighbourhood"
	"github.com/assay-run/assay/lab/falsify/tests/permutedcandles"
	"github.com/assay-run/assay/lab/falsify/tests/permutedselection"
	"github.com/assay-run/assay/lab/falsify/tests/pricenoise"
	"github.com/assay-run/assay/lab/falsify/tests/randomentry"
	"github.com/assay-run/assay/lab/falsify/tests/regime"
	"github.com/assay-run/assay/lab/falsify/tests/selectionbias"
	"github.com/assay-run/assay/lab/falsify/tests/symbolholdout"
	"github.com/assay-run/assay/lab/falsify/tests/timereversal"
	"github.com/assay-run/assay/lab/falsify/tests/tradeshuffle"
	"github.com/assay-run/assay/lab/falsify/tests/warmup"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func f(x float64) *float64 { return &x }

// good is a judge of a base with a Sharpe ratio of 1 and enough of everything.
func good() *judge.Judge {
	return &judge.Judge{Policy: judge.DefaultPolicy(), Base: judge.Base{Sharpe: f(1), StandardError: f(.8),
		Years: 1.4, Trades: 40, Fills: 80, T: 500, Cash: 10000}}
}

// noisy are the same series at every size of noise.
func noisy(list []judge.Replay) []pricenoise.Noisy {
	return []pricenoise.Noisy{{Percent: 1, Replays: list}, {Percent: 3, Replays: list},
		{Percent: 10, Replays: list}, {Percent: 30, Replays: list}}
}

// replays completed with these Sharpe ratios; NaN has none, -Inf is a crash.
func replays(sharpe ...float64) []judge.Replay {
	var out []judge.Replay
	for i, x := range sharpe {
		r := judge.Replay{Replica: i, Status: judge.Completed, Sharpe: f(x), NetPnL: "1"}
		if math.IsNaN(x) {
			r.Sharpe = nil
		}
		if math.IsInf(x, -1) {
			r.Status, r.Sharpe, r.NetPnL = judge.Failed, nil, ""
		}
		out = append(out, r)
	}
	return out
}

var (
	none  = math.NaN()
	crash = math.Inf(-1)
)

func want(t *testing.T, what string, got *judge.Test, v judge.Verdict, reason string) {
	t.Helper()
	if got.Verdict != v || got.ReasonCode != reason {
		t.Errorf("%s: %s %q (%s), want %s %q", what, got.Verdict, got.ReasonCode, got.Detail, v, reason)
	}
	if got.Statistic.Value == nil && got.Verdict != judge.Skipped && got.Verdict != judge.Error &&
		got.Undefined["value"] == "" {
		t.Errorf("%s: no value and no reason", what)
	}
	if _, err := json.Marshal(got); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func entry(id string) judge.Entry {
	e, _ := tests.Find(id)
	return e
}

// The first five tests are made before the others, and on three of them everything rests.
func TestTheFirstTests(t *testing.T) {
	for i, e := range tests.All() {
		if e.Plan == nil || e.First != (i < 5) || e.Upstream != (i < 3) || e.Longest != (i == 1) ||
			(e.Unplayable != nil) != (i == 0) || e.OnlyFull != (i == 22) || e.Holm != (i >= 14 && i <= 16) {
			t.Errorf("%d %+v", i, e.Entry)
		}
	}
	got := tests.All()[0].Unplayable(good())
	want(t, "unplayable", got, judge.Fail, judge.PluginFailed)
}

func TestCatalogue(t *testing.T) {
	classes := ""
	for i, e := range tests.All() {
		classes += string(e.Class)
		if e.Number != i+1 || e.Claim == "" || e.Method == "" || e.Version < 1 {
			t.Errorf("%+v", e)
		}
		if found, ok := tests.Find(e.ID); !ok || found != e.Entry {
			t.Error(e.ID, " is not found")
		}
	}
	if classes != "GGGGGGGWGWGWWWGGGGDWDGGGG" {
		t.Error(classes)
	}
	if _, ok := tests.Find("luck"); ok {
		t.Error("an unknown test is found")
	}
}

func TestEqual(t *testing.T) {
	same := causal.Comparison{Variant: "plain", Want: "a", Got: "a", Status: judge.Completed}
	other, dead, late, lost := same, same, same, same
	other.Got = "b"
	dead.Got, dead.Status = "", judge.Failed
	late.Status = judge.Failed // behind the cut
	lost.Status = judge.Broken
	for _, id := range []string{causal.Determinism.ID, causal.Lockstep.ID, causal.Prefix.ID,
		causal.DataEnd.ID} {
		want(t, id, causal.Judge(good(), entry(id), []causal.Comparison{same, same, late}), judge.Pass, "")
		want(t, id, causal.Judge(good(), entry(id), []causal.Comparison{same, other, dead}), judge.Fail,
			judge.DecisionsDiffer)
		want(t, id, causal.Judge(good(), entry(id), []causal.Comparison{same, dead}), judge.Fail,
			judge.PluginFailed)
		want(t, id, causal.Judge(good(), entry(id), []causal.Comparison{lost, other}), judge.Error,
			judge.HostError)
		want(t, id, causal.Judge(good(), entry(id), nil), judge.Error, judge.HostError)
	}
	if got := causal.Judge(good(), entry(causal.Determinism.ID),
		[]causal.Comparison{same, other}); *got.Statistic.Value != 1 || got.NReplays != 2 {
		t.Errorf("%+v", got)
	}
}

func TestMetamorphic(t *testing.T) {
	base := []float64{.01, -.02}
	near := metamorphic.Transformed{Variant: "scale", Want: base, Got: []float64{.01 + 9e-10, -.02},
		Status: judge.Completed}
	far, short, dead, odd := near, near, near, near
	far.Got = []float64{.01, -.02 - 2e-9}
	short.Got = base[:1]
	dead.Status = judge.Failed
	odd.Got = []float64{math.NaN(), 0}
	want(t, "near", metamorphic.Judge(good(), "", []metamorphic.Transformed{near}), judge.Pass, "")
	for what, x := range map[string]metamorphic.Transformed{"far": far, "short": short, "NaN": odd} {
		want(t, what, metamorphic.Judge(good(), "", []metamorphic.Transformed{near, x}), judge.Fail,
			judge.ReturnsDiffer)
	}
	want(t, "dead", metamorphic.Judge(good(), "", []metamorphic.Transformed{dead}), judge.Fail,
		judge.PluginFailed)
	want(t, "nothing", metamorphic.Judge(good(), "", nil), judge.Error, judge.HostError)
}

func TestWarmup(t *testing.T) {
	at := func(multiple, differing int, drift float64) warmup.Drift {
		return warmup.Drift{Multiple: multiple, Status: judge.Completed, Decisions: 200, Differing: differing,
			Series: []warmup.SeriesDrift{{Name: "ema", MaxRelative: drift}}}
	}
	for _, c := range []struct {
		what   string
		list   []warmup.Drift
		v      judge.Verdict
		reason string
	}{
		{"forgets", []warmup.Drift{at(1, 0, 9e-5), at(2, 0, 1e-6), at(4, 0, 0)}, judge.Pass, ""},
		{"EMA 20 with 20", []warmup.Drift{at(1, 0, 1.6e-3), at(2, 0, 1e-4), at(4, 0, 1e-8)}, judge.Warn,
			judge.SeriesDiffer},
		{"two decisions", []warmup.Drift{at(1, 2, 1e-5), at(2, 0, 0), at(4, 0, 0)}, judge.Warn,
			judge.DecisionsDiffer},
		{"three decisions", []warmup.Drift{at(1, 3, 1e-5), at(2, 0, 0), at(4, 0, 0)}, judge.Fail,
			judge.DecisionsDiffer},
		{"few at once, many at twice", []warmup.Drift{at(2, 9, 0), at(1, 2, 0), at(4, 0, 0)}, judge.Warn,
			judge.DecisionsDiffer},
		{"one at four times", []warmup.Drift{at(1, 1, 0), at(4, 1, 0), at(2, 1, 0)}, judge.Fail,
			judge.DecisionsDiffer},
		{"VWAP since the beginning", []warmup.Drift{at(1, 0, .3), at(2, 0, .3), at(4, 0, .2)}, judge.Fail,
			judge.SeriesDiffer},
		{"crash", []warmup.Drift{{Multiple: 1, Status: judge.Failed}}, judge.Fail, judge.PluginFailed},
		{"host", []warmup.Drift{{Status: judge.Broken}}, judge.Error, judge.HostError},
		{"nothing", nil, judge.Error, judge.HostError},
	} {
		want(t, c.what, warmup.Judge(good(), c.list), c.v, c.reason)
	}
	for _, c := range []struct {
		a, b []float64
		want float64
	}{{[]float64{100, 2}, []float64{101, 2}, .01}, {[]float64{0}, []float64{5}, 1},
		{[]float64{0}, []float64{0}, 0}, {nil, []float64{1}, 1}, {[]float64{-4}, []float64{-5}, .25}} {
		if got := warmup.Relative(c.a, c.b); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
	}
}

func level(multiple float64, net string) account.Cost {
	return account.Cost{Multiplier: multiple, Net: decimal.MustParse(net), BreakEvenBps: f(25)}
}

func TestCosts(t *testing.T) {
	j := good()
	want(t, "x2", j.Costs([]account.Cost{level(1, "500"), level(1.5, "300"), level(2, "1"), level(3, "-1")}),
		judge.Pass, "")
	want(t, "x1.5",
		j.Costs([]account.Cost{level(1, "500"), level(1.5, "1"), level(2, "-180"), level(3, "-1")}),
		judge.Warn, judge.NetLoss)
	refuted := j.Costs([]account.Cost{level(1, "500"), level(1.5, "0"), level(2, "-180"), level(3, "-1")})
	want(t, "x1", refuted, judge.Fail, judge.NetLoss)
	if got := refuted.Sentence(); got != "Not shown: that it earns money at higher costs, because at "+
		"doubled costs the net result is -1.8 %." {
		t.Error(got)
	}
	if refuted.Params["policy"] == nil || *refuted.Params["break_even_bps"].(*float64) != 25 {
		t.Errorf("%v", refuted.Params)
	}
	want(t, "crash", j.Costs([]account.Cost{level(1, "5")}), judge.Fail, judge.PluginFailed)
	if got := j.Costs([]account.Cost{level(2, "-0.1")}); !strings.Contains(got.Detail, "result is 0.0 %") {
		t.Error(got.Detail)
	}
	j.Base.Fills = 0
	want(t, "idle", j.Costs([]account.Cost{level(2, "0")}), judge.Inconclusive, "no_trades")

	worst := func(net string, s judge.Status) *judge.Test {
		return good().Worst(judge.Replay{NetPnL: net, Status: s})
	}
	want(t, "worst", worst("0.01", judge.Completed), judge.Pass, "")
	want(t, "worst", worst("0", judge.Completed), judge.Fail, judge.NetLoss)
	want(t, "worst", worst("", judge.Failed), judge.Fail, judge.PluginFailed)
	want(t, "worst", worst("", judge.Completed), judge.Error, judge.HostError)

	want(t, "outliers", outliertrades.Judge(good(), outliertrades.Outliers{Removed: 2, Net: .01}), judge.Pass,
		"")
	want(t, "outliers", outliertrades.Judge(good(), outliertrades.Outliers{Removed: 2}), judge.Fail,
		judge.NetLoss)
	j.Base.Trades = 0
	want(t, "outliers", outliertrades.Judge(j, outliertrades.Outliers{}), judge.Inconclusive, "no_trades")
}

func TestDelayed(t *testing.T) {
	for _, c := range []struct {
		base, late float64
		v          judge.Verdict
		reason     string
	}{
		{1, .5, judge.Pass, ""}, {1, .4999, judge.Warn, judge.SharpeFalls},
		{1, .25, judge.Warn, judge.SharpeFalls}, {1, .2499, judge.Fail, judge.SharpeFalls},
		{-1, -.1, judge.Fail, judge.SharpeFalls}, {-1, .1, judge.Pass, ""},
		{0, 0, judge.Fail, judge.SharpeFalls},
		{1, none, judge.Fail, judge.SharpeFalls}, {1, crash, judge.Fail, judge.PluginFailed},
	} {
		j := good()
		j.Base.Sharpe = f(c.base)
		want(t, "late", j.Delayed(replays(c.late)[0], 2), c.v, c.reason)
	}
	j := good()
	j.Base.T = 119
	want(t, "short", j.Delayed(replays(1)[0], 2), judge.Warn, judge.ShortSample)
	want(t, "short", j.Delayed(replays(0)[0], 2), judge.Fail, judge.SharpeFalls)
	j.Base.Trades = 29
	want(t, "few", j.Delayed(replays(0)[0], 2), judge.Inconclusive, "insufficient")
	j.Base.Trades = 0
	want(t, "none", j.Delayed(replays(none)[0], 2), judge.Inconclusive, "no_trades")
	want(t, "host", j.Delayed(judge.Replay{Status: judge.Broken}, 2), judge.Error, judge.HostError)
}

func TestNoiseAndGaps(t *testing.T) {
	// Ten values: the median is the fifth.
	fine := replays(-1, -1, .5, .5, .5, .9, 1, 1, 1, 2)
	few := replays(-1, -1, none, .5, .5, .9, 1, 1, 1, 2)
	low := replays(.1, .1, .1, .1, .49, .9, 1, 1, 1, 2)
	want(t, "80 % above 0", pricenoise.Judge(good(), noisy(fine)), judge.Pass, "")
	want(t, "70 % above 0", pricenoise.Judge(good(), noisy(few)), judge.Warn, judge.SharpeNegative)
	want(t, "median", pricenoise.Judge(good(), noisy(low)), judge.Fail, judge.SharpeFalls)
	want(t, "crash", pricenoise.Judge(good(), noisy(replays(1, crash))), judge.Fail, judge.PluginFailed)
	want(t, "gaps", missingcandles.Judge(good(), few), judge.Pass, "")
	want(t, "gaps", missingcandles.Judge(good(), low), judge.Fail, judge.SharpeFalls)
	j := good()
	j.Base.Sharpe = f(-1)
	// There is nothing to keep of a loss, whatever the series come to.
	want(t, "half of a loss", missingcandles.Judge(j, replays(-.4, -.3, -.2)), judge.Inconclusive,
		judge.BaseNotPositive)
	want(t, "better on noise", pricenoise.Judge(j, noisy(replays(.1, .2, .3))), judge.Inconclusive,
		judge.BaseNotPositive)
	want(t, "better beside it", paramneighbourhood.Judge(j, replays(.1, .2, .3)), judge.Inconclusive,
		judge.BaseNotPositive)
	want(t, "a knife edge of losses", paramneighbourhood.Judge(j, replays(-3, -2, -2)), judge.Fail,
		judge.SharpeFalls)
	j.Base.Sharpe = f(1)
	j.Policy.Keep = 0
	lost := missingcandles.Judge(j, replays(none, none, none))
	want(t, "nothing traded", lost, judge.Fail, judge.SharpeNegative)
	if policy := lost.Params["policy"].(map[string]any); policy["median_above"] != 0.0 {
		t.Errorf("a median above 0 is policy: %v", policy)
	}
	j = good()
	j.Base.Trades = 5
	if got := missingcandles.Judge(j, replays(1, crash)); got.Class != judge.Gate ||
		got.Verdict != judge.Fail {
		t.Errorf("a crash on gaps: %+v", got)
	}
	want(t, "few", missingcandles.Judge(j, fine), judge.Inconclusive, "insufficient")
	if got := missingcandles.Judge(j, fine); got.Class != judge.Warning {
		t.Error(got.Class)
	}
	want(t, "nothing", pricenoise.Judge(j, nil), judge.Error, judge.HostError)
}

func TestNeighbours(t *testing.T) {
	want(t, "plateau", paramneighbourhood.Judge(good(), replays(.5, .5, .5, .6, .7, .8, 1, -1, -1, 0)),
		judge.Pass, "")
	want(t, "60 % above 0", paramneighbourhood.Judge(good(), replays(.5, .5, .5, .6, .7, .8, 0, -1, -1, 0)),
		judge.Warn, judge.SharpeNegative)
	want(t, "low but above", paramneighbourhood.Judge(good(), replays(.1, .1, .1, .1, .2)), judge.Warn,
		judge.SharpeFalls)
	want(t, "knife edge", paramneighbourhood.Judge(good(), replays(-1, -1, 0, .2, .9)), judge.Fail,
		judge.SharpeFalls)
	want(t, "one of many", paramneighbourhood.Judge(good(), replays(-1, -1, 0, .2, 1.1)), judge.Warn,
		judge.SharpeFalls)
	want(t, "crashes", paramneighbourhood.Judge(good(), replays(crash, crash, crash, .9, .9)), judge.Fail,
		judge.SharpeFalls)
	want(t, "reversed", timereversal.Judge(good(), replays(-.4)[0]), judge.Pass, "")
	want(t, "reversed", timereversal.Judge(good(), replays(none)[0]), judge.Inconclusive, "not_applicable")
}

func TestSymbols(t *testing.T) {
	out := func(share, without float64) symbolholdout.LeftOut {
		x := symbolholdout.LeftOut{Symbol: symbolholdout.Symbol{Symbol: market.Symbol("A/Q"),
			Share: f(share)}, Without: replays(without)[0]}
		if math.IsNaN(share) {
			x.Share = nil
		}
		return x
	}
	want(t, "spread",
		symbolholdout.Judge(good(), []symbolholdout.LeftOut{out(.8, .1), out(.1, 1), out(.1, 1)}), judge.Pass,
		"")
	want(t, "one",
		symbolholdout.Judge(good(), []symbolholdout.LeftOut{out(.81, .1), out(.1, 1), out(.09, 1)}),
		judge.Fail, judge.Concentrated)
	want(t, "two may", symbolholdout.Judge(good(), []symbolholdout.LeftOut{out(.9, .1), out(.1, 1)}),
		judge.Pass, "")
	want(t, "without", symbolholdout.Judge(good(), []symbolholdout.LeftOut{out(.5, 0), out(.5, 1)}),
		judge.Fail, judge.SharpeNegative)
	want(t, "no profit",
		symbolholdout.Judge(good(), []symbolholdout.LeftOut{out(none, 1), out(none, 1), out(none, 1)}),
		judge.Fail, judge.NoProfit)
	want(t, "single", symbolholdout.Judge(good(), []symbolholdout.LeftOut{out(1, 1)}), judge.Skipped,
		judge.SingleSymbol)
}

func TestRegimes(t *testing.T) {
	r := func(total float64, terciles []float64, years ...float64) *regime.Regimes {
		out := &regime.Regimes{Total: total}
		for _, x := range terciles {
			out.Terciles = append(out.Terciles, regime.Regime{PnL: x})
		}
		for _, x := range years {
			out.Years = append(out.Years, regime.Regime{Name: "2020", PnL: x})
		}
		return out
	}
	want(t, "spread", regime.Judge(good(), r(10, []float64{-1, 5, 6}, 6, 4)), judge.Pass, "")
	want(t, "one year", regime.Judge(good(), r(10, []float64{-1, 5, 6}, 6.1, 3.9)), judge.Fail,
		judge.Concentrated)
	want(t, "one tercile", regime.Judge(good(), r(10, []float64{0, -5, 15}, 6, 4)), judge.Fail,
		judge.Concentrated)
	want(t, "loss", regime.Judge(good(), r(-1, []float64{1, 1, -3}, 6, -7)), judge.Fail, judge.NoProfit)
	want(t, "a year only", regime.Judge(good(), r(10, []float64{1, 1, 8}, 10)), judge.Inconclusive,
		"insufficient")
	want(t, "no volatility", regime.Judge(good(), r(10, nil, 5, 5)), judge.Inconclusive, "too_few_returns")
}

func TestChance(t *testing.T) {
	replicas := func(reached, all int) (out []*float64) {
		for i := range all {
			x := f(0)
			if i < reached {
				x = f(1)
			}
			out = append(out, x)
		}
		return out
	}
	for _, c := range []struct {
		reached int
		v       judge.Verdict
		reason  string
	}{{0, judge.Pass, ""}, {9, judge.Pass, ""}, {10, judge.Warn, judge.PNotSmall},
		{19, judge.Warn, judge.PNotSmall}, {20, judge.Fail, judge.PNotSmall}} {
		got := randomentry.Judge(good(), drawn(replicas(c.reached, 199)), "")
		want(t, "random", got, c.v, c.reason)
		if *got.PValue != float64(1+c.reached)/200 || got.Params["smallest_p"] != .005 {
			t.Errorf("%v %v", *got.PValue, got.Params)
		}
		want(t, "plan", permutedselection.Judge(good(), f(1), replicas(c.reached, 199), false), c.v, c.reason)
	}
	want(t, "no place", randomentry.Judge(good(), nil, stat.NotApplicable), judge.Inconclusive,
		"not_applicable")
	j := good()
	j.Base.Trades = 29
	want(t, "few", randomentry.Judge(j, drawn(replicas(0, 199)), ""), judge.Inconclusive, "insufficient")
	want(t, "no objective", permutedselection.Judge(j, nil, replicas(0, 99), false), judge.Inconclusive,
		"insufficient")

	list := replays(make([]float64, 19)...)
	want(t, "permuted", permutedcandles.Judge(good(), f(1), 30, true, list), judge.Pass, "")
	want(t, "permuted", permutedcandles.Judge(good(), f(1), 29, true, list), judge.Inconclusive,
		"insufficient")
	want(t, "permuted", permutedcandles.Judge(good(), nil, 30, true, list), judge.Inconclusive,
		"not_applicable")
	list[3] = replays(crash)[0] // counts as having reached it
	if got := permutedcandles.Judge(good(), f(1), 30, true, list); *got.PValue != .1 {
		t.Error(*got.PValue)
	}
	// Of a base that lost, the 0 of a crash has reached it already: once is enough.
	list = replays(-2, -2, -2, -2, -2, -2, -2, -2, crash)
	if got := permutedcandles.Judge(good(), f(-1), 30, true, list); *got.PValue != .2 {
		t.Error(*got.PValue)
	}
}

// Of a metric that is minimised less is better, and a permutation without an objective has
// reached nothing, whatever the direction.
func TestPlansThatMinimise(t *testing.T) {
	replicas := make([]*float64, 99)
	for i := range replicas[:39] {
		replicas[i] = f(.3)
	}
	got := permutedselection.Judge(good(), f(.1), replicas, true)
	want(t, "a drawdown that chance does not reach", got, judge.Pass, "")
	if *got.PValue != 1.0/40 || *got.Statistic.Value != .1 || *got.Statistic.Threshold != .3 ||
		got.Statistic.Direction != "<" || got.Params["with_objective"] != 39 || got.NReplays != 99 {
		t.Errorf("%v %+v %v", *got.PValue, got.Statistic, got.Params)
	}
	for i := range replicas[:20] {
		replicas[i] = f(.05)
	}
	want(t, "a drawdown that chance betters", permutedselection.Judge(good(), f(.1), replicas, true),
		judge.Fail, judge.PNotSmall)
	want(t, "a return that chance does not reach", permutedselection.Judge(good(), f(.4), replicas, false),
		judge.Pass, "")
	few := append(make([]*float64, 81), replicas[:18]...)
	want(t, "nothing to compare with", permutedselection.Judge(good(), f(.1), few, true), judge.Inconclusive,
		"insufficient")
}

// Whatever is null has a reason.
func TestNullsAreExplained(t *testing.T) {
	list := []*judge.Test{
		tests.Skip(capacity.ID, judge.NoVolume), randomentry.Judge(good(), nil, stat.TooFewReturns),
		pricenoise.Judge(good(), noisy(replays(1, 1))),
		tradeshuffle.Judge(good(), &tradeshuffle.Drawdowns{Orders: 999, P95: .4}, ""),
		entry(causal.Determinism.ID).Broke("disk"),
	}
	judge.Explain(list)
	for i, want := range []map[string]string{
		{"value": "not_applicable", "threshold": "not_applicable", "p_value": "not_applicable",
			"p_holm": "not_applicable"},
		{"value": "too_few_returns", "threshold": "not_applicable", "p_value": "too_few_returns",
			"p_holm": "not_applicable"},
		{"p_value": "not_applicable", "p_holm": "not_applicable"},
		{"threshold": "not_applicable", "p_value": "not_applicable", "p_holm": "not_applicable"},
		{"value": "not_applicable", "threshold": "not_applicable", "p_value": "not_applicable",
			"p_holm": "not_applicable"},
	} {
		got := map[string]string{}
		for k, v := range list[i].Undefined {
			got[k] = string(v)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", list[i].ID, got, want)
		}
	}
	if n := list[3].NReplays; n != 999 {
		t.Errorf("%d orders of the trades, want 999", n)
	}
}

func TestHolding(t *testing.T) {
	b := func(low, high float64) *buyandhold.Benchmark {
		return &buyandhold.Benchmark{Low: low, High: high, P: .2, B: 999}
	}
	want(t, "better", buyandhold.Judge(good(), b(2e-9, 1), ""), judge.Pass, "")
	want(t, "as good", buyandhold.Judge(good(), b(0, 1), ""), judge.Warn, judge.ContainsZero)
	want(t, "as good", buyandhold.Judge(good(), b(-1, 0), ""), judge.Warn, judge.ContainsZero)
	want(t, "worse", buyandhold.Judge(good(), b(-1, -2e-9), ""), judge.Fail, judge.BelowZero)
	// The rounding of a clone is no difference, on whichever side of 0 it lies.
	for _, x := range []float64{-5e-12, 5e-12, -1e-9, 1e-9} {
		got := buyandhold.Judge(good(), b(x, x), "")
		want(t, "a clone", got, judge.Warn, judge.ContainsZero)
		if *got.PValue != 1 {
			t.Errorf("%g: p = %g", x, *got.PValue)
		}
	}
	want(t, "short", buyandhold.Judge(good(), nil, stat.TooFewReturns), judge.Inconclusive, "too_few_returns")
	j := good()
	j.Base.T = 100
	want(t, "short", buyandhold.Judge(j, b(1, 2), ""), judge.Warn, judge.ShortSample)
	j.Base.Fills = 0
	want(t, "idle", buyandhold.Judge(j, b(0, 0), ""), judge.Inconclusive, "no_trades")
}

// chosen is a verdict on a search.
func chosen(v judge.Verdict, reason string, s selection.Selection) *selection.Result {
	return &selection.Result{Selection: s, Verdict: selection.Verdict{Verdict: string(v), ReasonCode: reason}}
}

func TestTheOthers(t *testing.T) {
	want(t, "capacity", capacity.Judge(good(), &capacity.Capacity{Within: .99}, ""), judge.Pass, "")
	want(t, "capacity", capacity.Judge(good(), &capacity.Capacity{Within: .98}, ""), judge.Fail,
		judge.AboveLimit)
	want(t, "capacity", capacity.Judge(good(), nil, stat.NotApplicable), judge.Skipped, judge.NoVolume)
	want(t, "capacity", capacity.Judge(good(), nil, stat.NoTrades), judge.Inconclusive, "no_trades")
	want(t, "shuffle", tradeshuffle.Judge(good(), &tradeshuffle.Drawdowns{P95: .4}, ""), judge.Pass, "")
	want(t, "shuffle", tradeshuffle.Judge(good(), nil, stat.NoTrades), judge.Inconclusive, "no_trades")
	want(t, "selection",
		selectionbias.Judge(good(),
			chosen(judge.Fail, "dsr", selection.Selection{DSRMax: f(.3), NTrials: 12})), judge.Fail, "dsr")
	if got := selectionbias.Judge(good(),
		chosen(judge.Fail, "pbo_above_0.5", selection.Selection{DSRMax: f(.9),
			PBO:     selection.PBO{Value: f(.687)},
			NTrials: 200})).Detail; got != "the best trial of one half of the days is below the median in "+
		"the other half in 69 % of "+
		"cases (trials: 200)" {
		t.Errorf("what PBO refutes is told as %q", got)
	}
	want(t, "selection",
		selectionbias.Judge(good(), chosen(judge.Inconclusive, "insufficient", selection.Selection{
			Undefined: map[string]stat.Reason{"dsr_max": stat.Insufficient},
		})), judge.Inconclusive, "insufficient")
	want(t, "broke", entry(capacity.ID).Broke("disk"), judge.Error, judge.HostError)
}

func TestHolm(t *testing.T) {
	list := []*judge.Test{
		entry(randomentry.ID).Blank(), entry(selectionbias.ID).Blank(), entry(permutedcandles.ID).Blank(),
		entry(buyandhold.ID).Blank(),
	}
	list[0].PValue, list[1].PValue, list[3].PValue = f(.02), f(.001), f(.03)
	judge.Holm(list, judge.DefaultPolicy())
	if *list[0].PHolm != .04 || list[1].PHolm != nil || list[2].PHolm != nil || *list[3].PHolm != .04 {
		t.Errorf("%v %v", *list[0].PHolm, *list[3].PHolm)
	}
	if ids := list[0].Params["holm_over"]; !reflect.DeepEqual(
		ids,
		[]string{randomentry.ID, buyandhold.ID},
	) {
		t.Errorf("the family is %v", ids)
	}
	judge.Holm(nil, judge.DefaultPolicy())
}

// A p-value that is small by itself only is not small among three: 6 of 199 permutations
// reach the base, p = 0.035, 0.105 by Holm's rule. The threshold that is shown moves with it.
func TestHolmDecides(t *testing.T) {
	reach := func(n int) []float64 { // so many of 199 reach 1
		x := make([]float64, 199)
		for i := range x {
			if x[i] = float64(i) / 1000; i < n {
				x[i] = 1 + float64(i)
			}
		}
		return x
	}
	random := func(n int) *judge.Test { return randomentry.Judge(good(), replays(reach(n)...), "") }
	permuted := func(n int) *judge.Test {
		return permutedcandles.Judge(good(), f(1), 30, true, replays(reach(n)...))
	}
	holding := func(p float64) *judge.Test {
		low, high := -1.0, 1.0
		if p <= .05 {
			low = .5
		}
		return buyandhold.Judge(good(), &buyandhold.Benchmark{Low: low, High: high, P: p, B: 999}, "")
	}
	for _, c := range []struct {
		name  string
		tests []*judge.Test
		want  []judge.Verdict
	}{
		{"holding in disguise", []*judge.Test{random(83), permuted(6), holding(.42)},
			[]judge.Verdict{judge.Fail, judge.Fail, judge.Warn}},
		{"all small", []*judge.Test{random(2), permuted(4), holding(.04)},
			[]judge.Verdict{judge.Pass, judge.Pass, judge.Pass}},
		{"the first is not small enough for three", []*judge.Test{random(5), permuted(5), holding(.04)},
			[]judge.Verdict{judge.Warn, judge.Warn, judge.Warn}},
		{"by itself", []*judge.Test{permuted(6)}, []judge.Verdict{judge.Pass}},
		{"what was left out is no question",
			[]*judge.Test{tests.Skip(randomentry.ID, judge.SkippedByUser), permuted(4), holding(.9)},
			[]judge.Verdict{judge.Skipped, judge.Pass, judge.Warn}},
	} {
		judge.Holm(c.tests, judge.DefaultPolicy())
		for i, x := range c.tests {
			if x.Verdict != c.want[i] {
				t.Errorf("%s: %s is %s, want %s (%s)", c.name, x.ID, x.Verdict, c.want[i], x.Detail)
			}
			if th := x.Statistic.Threshold; x.ID != buyandhold.ID && th != nil &&
				(*x.Statistic.Value > *th) != (x.Verdict == judge.Pass) {
				t.Errorf("%s: %s is %s with %v > %v", c.name, x.ID, x.Verdict, *x.Statistic.Value, *th)
			}
		}
	}
	x := permuted(6)
	judge.Holm([]*judge.Test{random(83), x, holding(.42)}, judge.DefaultPolicy())
	if want := "by chance 6 of 199 did as well (p = 0.035); p = 0.105 by Holm's rule for 3 p-values"; x.Detail != want ||
		*x.PValue != .035 ||
		*x.PHolm != .105 {
		t.Errorf("%q, p %v, %v", x.Detail, *x.PValue, *x.PHolm)
	}
}

// drawn are replays with these ratios.
func drawn(ratios []*float64) []judge.Replay {
	out := make([]judge.Replay, len(ratios))
	for i, x := range ratios {
		out[i] = judge.Replay{Replica: i, Status: judge.Completed, Sharpe: x}
	}
	return out
}

// The JSON of an entry is that of summary.json, field by field.
func TestJSON(t *testing.T) {
	got, err := json.Marshal(outliertrades.Judge(good(), outliertrades.Outliers{Removed: 2, Net: .00125}))
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"id":"outlier_trades","version":1,"class":"W","claim":"a few trades do not carry the profit","method":"without the best 5 % of the trades (1 at least)",` +
		`"params":{"removed":2},"n_replays":0,"statistic":{"name":"net_return","value":0.00125,"threshold":0,"direction":"\u003e"},` +
		`"p_value":null,"p_holm":null,"verdict":"pass","reason_code":"","evidence":[]}`
	if !bytes.Equal(got, []byte(text)) {
		t.Errorf("%s\nwant\n%s", got, text)
	}
}

func TestConclude(t *testing.T) {
	of := func(class judge.Class, v judge.Verdict, reason string) *judge.Test {
		return &judge.Test{Class: class, Verdict: v, ReasonCode: reason, Claim: "c", Detail: "d"}
	}
	pass, gateFail, open := of(judge.Gate, judge.Pass, ""), of(judge.Gate, judge.Fail, ""),
		of(judge.Gate, judge.Inconclusive, "")
	for _, c := range []struct {
		tests []*judge.Test
		v     judge.Verdict
		exit  int
	}{
		{[]*judge.Test{pass}, judge.Pass, 0},
		{[]*judge.Test{pass, of(judge.Warning, judge.Fail, "")}, judge.Warn, 0},
		{[]*judge.Test{pass, of(judge.Gate, judge.Warn, "")}, judge.Warn, 0},
		{[]*judge.Test{pass, of(judge.Description, judge.Fail, "")}, judge.Pass, 0},
		{[]*judge.Test{pass, of(judge.Warning, judge.Inconclusive, "")}, judge.Pass, 0},
		{[]*judge.Test{pass, open, of(judge.Warning, judge.Fail, "")}, judge.Inconclusive, 3},
		{[]*judge.Test{pass, of(judge.Gate, judge.Error, "")}, judge.Inconclusive, 3},
		{[]*judge.Test{pass, of(judge.Gate, judge.Skipped, judge.SkippedByUser)}, judge.Inconclusive, 3},
		{[]*judge.Test{pass, of(judge.Gate, judge.Skipped, judge.NoParameters)}, judge.Pass, 0},
		{[]*judge.Test{pass, of(judge.Warning, judge.Skipped, judge.SkippedByUser)}, judge.Warn, 0},
		{[]*judge.Test{pass, of(judge.Warning, judge.Skipped, judge.NoVolume)}, judge.Pass, 0},
		{[]*judge.Test{pass, of(judge.Description, judge.Skipped, judge.SkippedByUser)}, judge.Pass, 0},
		{[]*judge.Test{open, gateFail, of(judge.Gate, judge.Skipped, judge.UpstreamFailure)}, judge.Fail, 1},
	} {
		got := judge.Conclude(c.tests)
		if got.Verdict != c.v || got.Refuted == nil {
			t.Errorf("%+v, want %s", got, c.v)
		}
	}
	if got := judge.Conclude([]*judge.Test{gateFail, open}); got.GatesFailed != 1 ||
		!slices.Equal(got.Refuted, []string{"Not shown: that c, because d."}) {
		t.Errorf("%+v", got)
	}
}

// What thresholds looser than the default's have let through has not passed.
func TestLooserThresholdsPassNothing(t *testing.T) {
	loose := judge.DefaultPolicy()
	loose.PPass, loose.PWarn, loose.Terciles, loose.CostPass = 1, 1, 0, 3 // three times the costs is stricter
	looser := loose.LooserThan(judge.DefaultPolicy())
	var names []string
	for _, l := range looser {
		names = append(names, l.Name)
	}
	if !slices.Equal(names, []string{"terciles", "p_pass", "p_warn"}) {
		t.Error(names)
	}
	for _, c := range []struct {
		before, after judge.Verdict
	}{{judge.Pass, judge.Inconclusive}, {judge.Warn, judge.Inconclusive}, {judge.Fail, judge.Fail}} {
		o := judge.Overall{Verdict: c.before}
		if o.Cap(looser); o.Verdict != c.after || len(o.Reasons) != 3 ||
			o.Reasons[1].Code != judge.LooserThreshold ||
			!strings.Contains(o.Reasons[1].Message, "/policy/p_pass is 1") {
			t.Errorf("%s: %+v", c.before, o)
		}
		o = judge.Overall{Verdict: c.before}
		if o.Cap(nil); o.Verdict != c.before {
			t.Errorf("%+v", o)
		}
	}
}

// A better run is never judged worse, and every verdict of the rules is one of the six.
func TestRulesAreMonotone(t *testing.T) {
	rank := map[judge.Verdict]int{judge.Fail: 0, judge.Warn: 1, judge.Pass: 2}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-2, 2), 1, 30).Draw(t, "values")
		better := slices.Clone(values)
		better[rapid.IntRange(0, len(values)-1).Draw(t, "which")] += rapid.Float64Range(0, 2).Draw(t, "by")
		for _, rule := range []func([]judge.Replay) *judge.Test{func(l []judge.Replay) *judge.Test {
			return pricenoise.Judge(good(), noisy(l))
		}, func(l []judge.Replay) *judge.Test { return missingcandles.Judge(good(), l) },
			func(l []judge.Replay) *judge.Test { return paramneighbourhood.Judge(good(), l) }} {
			if a, b := rule(replays(values...)), rule(replays(better...)); rank[a.Verdict] > rank[b.Verdict] {
				t.Fatalf("%s became %s", a.Verdict, b.Verdict)
			}
		}
	})
}
