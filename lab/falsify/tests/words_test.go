package tests_test

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/falsify/tests/buyandhold"
	"github.com/assay-run/assay/lab/falsify/tests/capacity"
	"github.com/assay-run/assay/lab/falsify/tests/paramneighbourhood"
	"github.com/assay-run/assay/lab/falsify/tests/pricenoise"
	"github.com/assay-run/assay/lab/falsify/tests/randomentry"
	"github.com/assay-run/assay/lab/falsify/tests/regime"
	"github.com/assay-run/assay/lab/falsify/tests/symbolholdout"
	"github.com/assay-run/assay/lab/falsify/tests/timereversal"
	"github.com/assay-run/assay/lab/falsify/tests/warmup"
)

// No claim promises more than its test shows: the replays without later candles are about
// what the host shows, not about what the program knows.
func TestClaimsAreNoVerdicts(t *testing.T) {
	list := tests.All()
	for _, e := range list {
		if strings.ContainsAny(e.Claim[:1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") || strings.HasSuffix(e.Claim, ".") {
			t.Errorf("%q does not complete a sentence", e.Claim)
		}
	}
	for _, e := range list[1:4] {
		if !strings.HasPrefix(e.Claim, "the host ") {
			t.Errorf("%s claims %q", e.ID, e.Claim)
		}
	}
	if !strings.Contains(judge.Limit, "embedded or memorised prices") {
		t.Error(judge.Limit)
	}
}

func TestSentences(t *testing.T) {
	of := func(id string, v judge.Verdict, reason, detail string) *judge.Test {
		out := tests.Skip(id, reason)
		out.Verdict, out.Detail = v, detail
		return out
	}
	number := of(judge.CostStress.ID, judge.Fail, judge.NetLoss, "")
	number.Statistic = judge.Statistic{Name: "net_return", Value: f(-.25), Threshold: f(0), Direction: ">"}
	number.Claim = "survives costs" // as an older version has written it
	for want, got := range map[string]*judge.Test{
		"": of(judge.CostStress.ID, judge.Pass, "", ""),
		"Not shown: that it is better than holding, because it is not.": of(
			buyandhold.ID, judge.Warn, "x", "it is not"),
		"Not shown: that the market has the volume for its orders (above limit).": of(
			capacity.ID, judge.Fail, judge.AboveLimit, ""),
		"Not shown: that it earns money at higher costs, because net_return is -0.25 and must be > 0.": number,
		"Open: whether its timing is better than chance, because there are no closed trades.": of(
			randomentry.ID, judge.Inconclusive, "no_trades", "there are no closed trades"),
		"Not shown: that c, because d.": {Claim: "c", Detail: "d", Verdict: judge.Fail},
	} {
		if said := tests.Current(got).Sentence(); said != want {
			t.Errorf("%q, want %q", said, want)
		}
	}
	noted := of(capacity.ID, judge.Pass, "", "")
	noted.Note = "its orders are small"
	for want, got := range map[string]*judge.Test{
		"Not shown: that it is better than holding, because it is not.": of(
			buyandhold.ID, judge.Warn, "x", "it is not"),
		"Not refuted: that it is better than holding.": of(
			buyandhold.ID, judge.Pass, "", ""),
		"Not refuted: that the market has the volume for its orders. Its orders are small.": noted,
		"Not tested: whether no single symbol carries the profit (single symbol).": tests.Skip(
			symbolholdout.ID, judge.SingleSymbol),
		"It earns less backwards.": of(timereversal.ID, judge.Pass, "", "it earns less backwards"),
		"About whether it depends on the direction of time: nothing to add.": of(
			timereversal.ID, judge.Pass, "", ""),
	} {
		if said := tests.Current(got).Say(); said != want {
			t.Errorf("%q, want %q", said, want)
		}
	}
	reversed := of(timereversal.ID, judge.Fail, "x", "the program failed")
	if reversed.Sentence() != "" || reversed.Informs() != "The program failed." ||
		of(judge.CostStress.ID, judge.Fail, "x", "d").Informs() != "" {
		t.Error("a test that never counts informs, and does nothing else")
	}
	if of(capacity.ID, judge.Fail, "x", "").Shown() != judge.Warn || number.Shown() != judge.Fail {
		t.Error("a failed test of class W is shown as a warning, one of class G as a failure")
	}
}

// The number that is shown is the one that the verdict rests on.
func TestTheStatisticIsTheOneThatFailed(t *testing.T) {
	year := regime.Judge(good(), &regime.Regimes{
		Total: 10, Terciles: []regime.Regime{{PnL: 1}, {PnL: 5}, {PnL: 4}},
		Years: []regime.Regime{{Name: "2020", PnL: 9}, {Name: "2021", PnL: 1}},
	})
	symbol := symbolholdout.Judge(good(), []symbolholdout.LeftOut{
		{Symbol: symbolholdout.Symbol{Symbol: "A/Q", Share: f(.9)}, Without: replays(1)[0]},
		{Symbol: symbolholdout.Symbol{Symbol: "B/Q", Share: f(.1)}, Without: replays(1)[0]},
		{Symbol: symbolholdout.Symbol{Symbol: "C/Q", Share: f(0)}, Without: replays(1)[0]},
	})
	share := paramneighbourhood.Judge(good(), replays(.5, .5, .5, .6, .7, .8, 0, -1, -1, 0))
	warm := warmup.Judge(good(),
		[]warmup.Drift{{Multiple: 1, Status: judge.Completed, Decisions: 200, Differing: 3}})
	for name, got := range map[string]*judge.Test{
		"best_year_share": year, "symbol_share": symbol, "share_positive": share, "share_differing": warm,
	} {
		s := got.Statistic
		if s.Name != name || s.Direction == "<=" && *s.Value <= *s.Threshold || s.Direction == ">=" &&
			*s.Value >= *s.Threshold {
			t.Errorf("%s: %s %g %s %g", got.ID, s.Name, *s.Value, s.Direction, *s.Threshold)
		}
	}
}

func TestNoiseOfEverySize(t *testing.T) {
	at := func(one, three, ten, thirty float64) *judge.Test {
		return pricenoise.Judge(good(), []pricenoise.Noisy{
			{Percent: 1, Replays: replays(one)}, {Percent: 3, Replays: replays(three)},
			{Percent: 10, Replays: replays(ten)}, {Percent: 30, Replays: replays(thirty)},
		})
	}
	want(t, "a third at 30 %", at(1, .9, .8, .3), judge.Pass, "")
	far := at(1, .9, .3, .1)
	want(t, "a third at 10 %", far, judge.Warn, judge.SharpeFalls)
	if *far.Statistic.Value != .3 || !strings.HasPrefix(far.Detail,
		"with noise of 10 % of the median true range") {
		t.Errorf("%+v %s", far.Statistic, far.Detail)
	}
	gate := at(1, -.4, -.4, -.4)
	few := pricenoise.Judge(good(), noisy(replays(-1, -1, none, .5, .5, .9, 1, 1, 1, 2)))
	holdsAll := at(1, .9, .8, .8)
	judge.Explain([]*judge.Test{far, gate, few, holdsAll})
	for _, c := range []struct {
		of   *judge.Test
		want string
	}{{far, judge.NoiseBeyond}, {gate, ""}, {few, judge.SharpeNegative}, {holdsAll, ""}} {
		if c.of.Reason != c.want {
			t.Errorf("the reason of %s is %q, want %q", c.of.Verdict, c.of.Reason, c.want)
		}
	}
	exact := at(1, -.4, -.4, -.4)
	want(t, "a loss at 3 %", exact, judge.Fail, judge.SharpeFalls)
	if m := exact.Params["median_sharpe_ratios"].(map[string]float64); m["1%"] != 1 || m["3%"] != -.4 ||
		len(m) != 4 {
		t.Errorf("%v", m)
	}
}

// Baking numbers into the program is no way around the neighbourhood.
func TestWithoutNeighboursNothingIsShown(t *testing.T) {
	for _, reason := range []string{judge.NoSources, judge.NoLiterals, judge.WithoutEffect} {
		got := paramneighbourhood.JudgeNone(good(), reason)
		want(t, reason, got, judge.Warn, reason)
		if got.Detail == "" || judge.Conclude([]*judge.Test{got}).Verdict != judge.Warn {
			t.Errorf("%+v", got)
		}
	}
}
