package request

import (
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The verdicts of a repetition are those of tests 6, 7 and 8 of the battery.
func TestJudgeStress(t *testing.T) {
	ended := func(trades, fills int, sharpe *float64, final string) *played {
		m := &metric.Report{Meta: metric.Meta{NReturns: 119}}
		if sharpe != nil {
			m.Metrics = metric.Values{{Key: "sharpe_ratio", Number: *sharpe}}
		}
		return &played{results: &artifact.Results{
			InitialCash: "100", FinalValue: final, Trades: make([]market.Trade, trades),
			Fills: make([]market.Fill, fills), Metrics: m,
		}}
	}
	one, half := 1.0, .3
	lost, won := ended(40, 80, &half, "99"), ended(40, 80, &one, "101")
	crashed := ended(40, 80, nil, "100")
	crashed.failure = &artifact.Failure{}
	for _, c := range []struct {
		what, id        string
		base, stressed  *played
		verdict, reason string
	}{
		{"profit at twice", "cost_x2", won, won, "pass", ""},
		{"loss at twice", "cost_x2", won, lost, "fail", "net_loss"},
		{"profit at three times", "cost_x3", won, won, "pass", ""},
		{"loss at three times", "cost_x3", won, lost, "warn", "net_loss"},
		{"crash at three times", "cost_x3", won, crashed, "fail", "plugin_failed"},
		{"crash at twice", "cost_x2", won, crashed, "fail", "plugin_failed"},
		{"no fills at twice", "cost_x2", ended(0, 0, nil, "100"), ended(0, 0, nil, "100"), "inconclusive",
			"no_trades"},
		{"worst with a profit", "intrabar_worst", won, won, "pass", ""},
		{"worst with a loss", "intrabar_worst", won, lost, "fail", "net_loss"},
		{"worst of nothing", "intrabar_worst", ended(0, 0, nil, "100"), ended(0, 0, nil, "100"),
			"inconclusive", "no_trades"},
		{"as good when late, few returns", "delay_1", won, won, "warn", "short_sample"},
		{"a third when late", "delay_2", won, lost, "warn", "sharpe_falls"},
		{"no ratio when late", "delay_1", won, ended(40, 80, nil, "100"), "fail", "sharpe_falls"},
		{"crash when late", "delay_1", won, crashed, "fail", "plugin_failed"},
		{"few trades", "delay_1", ended(29, 58, &one, "101"), won, "inconclusive", "insufficient"},
		{"no trades", "delay_1", ended(0, 0, nil, "100"), won, "inconclusive", "no_trades"},
	} {
		got := judgeStress(c.id, c.base, c.stressed, nil)
		if got.Verdict != c.verdict || got.ReasonCode != c.reason {
			t.Errorf("%s: %s %q, want %s %q", c.what, got.Verdict, got.ReasonCode, c.verdict, c.reason)
		}
	}
	won.results.Metrics.Meta.NReturns = 120
	if got := judgeStress("delay_1", won, won, nil); got.Verdict != "pass" || got.ReasonCode != "" ||
		got.ID != "delay_1" || got.Stressed.NetPnL != "1" {
		t.Errorf("%+v", got)
	}
	// A profit at one and a half times the costs softens a loss at twice them, and no other.
	for _, c := range []struct {
		id   string
		half *played
		want string
	}{{"cost_x2", won, "warn"}, {"cost_x2", lost, "fail"}, {"cost_x2", crashed, "fail"},
		{"cost_x3", lost, "warn"}, {"intrabar_worst", won, "fail"}} {
		if got := judgeStress(c.id, won, lost, c.half); got.Verdict != c.want ||
			got.ReasonCode != "net_loss" || got.Stressed.NetPnL != "-1" {
			t.Errorf("%s with %s at half: %+v", c.id, c.half.results.FinalValue, got)
		}
	}
}
