package battery

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func number(x float64) *float64 { return &x }

func replayed(final, decisions string, sharpe float64) *evaluate.Replayed {
	return &evaluate.Replayed{
		Results: &artifact.Results{InitialCash: "10000", FinalValue: final, DecisionHash: decisions, Trades: make([]market.Trade, 3)},
		Metrics: metric.Values{{Key: "sharpe_ratio", Number: sharpe}, {Key: "total_return", Reason: metric.TooFewReturns}},
	}
}

func TestEveryTestOfTheCatalogueHasAMaker(t *testing.T) {
	all := makers()
	for _, e := range judge.Catalogue() {
		if all[e.ID] == nil {
			t.Errorf("nobody makes %s", e.ID)
		}
	}
	if len(all) != len(judge.Catalogue()) {
		t.Errorf("%d makers", len(all))
	}
	for i, id := range []string{judge.Determinism, judge.LockstepReplay, judge.LookaheadPrefix, judge.DataEndProbe, judge.WarmupRecursive} {
		if e := judge.Catalogue()[i]; e.ID != id || i >= firstTests {
			t.Errorf("test %d is %s", i, e.ID)
		}
	}
}

func TestARowSaysHowAReplayWent(t *testing.T) {
	r := rowOf("x2", 7, replayed("9000.50", "abc", 1.5))
	if r.Status != judge.Completed || *r.Sharpe != 1.5 || r.TotalReturn != nil || r.NetPnL != "-999.5" || r.Trades != 3 || r.DecisionHash != "abc" || r.Variant != "x2" || r.Replica != 7 {
		t.Errorf("%+v", r)
	}
	failed := replayed("9000", "abc", 1.5)
	failed.Failure = &artifact.Failure{Code: "STRATEGY_ERROR"}
	if r := rowOf("x2", 0, failed); r.Status != judge.Failed || r.Sharpe != nil || r.NetPnL != "" || r.DecisionHash != "abc" {
		t.Errorf("%+v", r)
	}
	if r := rowOf("x2", 0, &evaluate.Replayed{Failure: &artifact.Failure{}}); r.Status != judge.Failed || r.DecisionHash != "" {
		t.Errorf("%+v", r)
	}
}

func TestTheMiddleReplayStandsForAll(t *testing.T) {
	list := []judge.Replay{{Replica: 0, Sharpe: number(3)}, {Replica: 1}, {Replica: 2, Sharpe: number(1)}, {Replica: 3, Sharpe: number(2)}}
	if m := middle(list); m != &list[3] {
		t.Errorf("%+v", m)
	}
	if m := middle(list[1:2]); m != nil {
		t.Errorf("%+v", m)
	}
}

func TestTheReportHasALinePerTest(t *testing.T) {
	own := judge.Replay{Sharpe: number(1), NetPnL: "5"}
	f := &finding{Test: judge.Skip(judge.CostStress, judge.SkippedByUser)}
	want := artifact.Stress{ID: judge.CostStress, SplitID: "search", Verdict: "skipped", ReasonCode: judge.SkippedByUser}
	if s := f.stress(own); s.ID != want.ID || s.SplitID != want.SplitID || s.Verdict != want.Verdict || s.ReasonCode != want.ReasonCode || s.Stressed.NetPnL != "5" || s.Base.NetPnL != "5" {
		t.Errorf("%+v", s)
	}
	f.stressed, f.beside, f.on = &judge.Replay{Sharpe: number(-1), NetPnL: "-7"}, &judge.Replay{NetPnL: "9"}, "train"
	if s := f.stress(own); *s.Stressed.SharpeRatio != -1 || s.Stressed.NetPnL != "-7" || s.Base.NetPnL != "9" || s.Base.SharpeRatio != nil || s.SplitID != "train" {
		t.Errorf("%+v", s)
	}
	f.stressed = &judge.Replay{Sharpe: number(2)} // random entries have no money
	if s := f.stress(own); s.Stressed.NetPnL != "5" {
		t.Errorf("%+v", s)
	}
}

func TestOnlyTheFirstCapsuleIsNamed(t *testing.T) {
	b := &bench{kept: map[capsule.Kind]bool{}}
	b.note(capsule.Lookahead, nil) // it could not be kept
	first := &capsule.Note{CapsuleID: "fc_1"}
	b.note(capsule.Nondeterminism, first)
	b.note(ofPlugin, &capsule.Note{CapsuleID: "fc_2"})
	if b.capsule != first || !b.kept[capsule.Lookahead] || !b.kept[ofPlugin] {
		t.Errorf("%+v", b)
	}
}

func TestARefusedReplayBreaksItsTest(t *testing.T) {
	b := &bench{refused: map[string]string{}}
	for _, why := range []string{"b", "a", "c"} {
		b.refuse(judge.PriceNoise, &evaluate.Error{Message: why})
	}
	if b.refused[judge.PriceNoise] != "a" {
		t.Error("the reason depends on the order")
	}
}

func TestWhatTheUserLeavesOutIsSkippedForThatReason(t *testing.T) {
	p, err := profile.Default().With(profile.Options{Skip: []string{judge.CostStress}})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Base: Base{Profile: p}, found: map[string]*finding{}}
	b.skip(judge.CostStress, judge.UpstreamFailure)
	b.skip(judge.DelayStress, judge.UpstreamFailure)
	if r := b.found[judge.CostStress].ReasonCode; r != judge.SkippedByUser {
		t.Error(r)
	}
	if r := b.found[judge.DelayStress].ReasonCode; r != judge.UpstreamFailure {
		t.Error(r)
	}
	if b.upstream() {
		t.Error("nothing has failed")
	}
	b.unplayable()
	if f := b.found[judge.Determinism]; f.Verdict != judge.Fail || f.ReasonCode != judge.PluginFailed || !b.upstream() {
		t.Errorf("%+v", f.Test)
	}
}

func TestStepsOfQuantitiesCanBeDivided(t *testing.T) {
	for in, want := range map[string][2]string{
		"0.00000001": {"0.0000001", "0.0000000001"}, "0.0000000001": {"0.0000001", "0.0000000001"}, "0.5": {"0.5", "0.0005"}, "1": {"1", "0.001"},
	} {
		coarse, fine, err := stepped(json.RawMessage(`{"fee_taker":0.001,"quantity_step":` + in + `}`))
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range []json.RawMessage{coarse, fine} {
			if !strings.Contains(string(text), `"quantity_step":`+want[i]+`}`) || !strings.Contains(string(text), `"fee_taker":0.001`) {
				t.Errorf("%s: %s, want %s", in, text, want[i])
			}
		}
	}
	if _, _, err := stepped(json.RawMessage(`{"quantity_step":"x"}`)); err == nil {
		t.Error("no error")
	}
}

func TestAMissingObjectiveIsTheWorst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.OneOf(rapid.Just[*float64](nil), rapid.Map(rapid.Float64Range(-9, 9), number))).Draw(t, "list")
		p := &Plan{Minimise: rapid.Bool().Draw(t, "minimise")}
		var best *float64
		for _, x := range list {
			if p.better(x, best) {
				best = x
			}
		}
		for _, x := range list {
			if x != nil && (best == nil || *x != *best && (*x > *best) != p.Minimise) {
				t.Errorf("%v is better than %v", *x, best)
			}
		}
	})
}

func TestDecisionsAreToldFromWhatBecomesOfThem(t *testing.T) {
	text := []byte(`{"candle":1,"kind":"intent","seq":0,"side":"buy","time":"2020-01-01T01:00:00.000Z"}
{"candle":1,"kind":"order","seq":1,"time":"2020-01-01T01:00:00.000Z"}
{"candle":2,"kind":"fill","seq":2,"time":"2020-01-01T01:00:00.000Z"}
{"candle":2,"kind":"reject","seq":3,"time":"2020-01-01T02:00:00.000Z"}
{"candle":3,"kind":"intent","seq":4,"time":"2020-01-01T03:00:00.000Z"}
`)
	cut, _ := market.ParseTime("2020-01-01T02:00:00.000Z")
	if got := string(until(text, cut)); strings.Count(got, "\n") != 2 || strings.Contains(got, `"order"`) || strings.Contains(got, `"candle":3`) {
		t.Errorf("%s", got)
	}
	got, err := plain(text, cut)
	want := `{"kind":"reject","time":"2020-01-01T02:00:00.000Z"}` + "\n" + `{"kind":"intent","time":"2020-01-01T03:00:00.000Z"}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestSeriesAreComparedAtTheirTimes(t *testing.T) {
	a := run.Points{Time: []market.Time{1, 2}, Values: []float64{100, 200}}
	if d := relative(a, run.Points{Time: []market.Time{1, 2}, Values: []float64{100, 199}}); d != 0.005 {
		t.Error(d)
	}
	if d := relative(a, run.Points{Time: []market.Time{1, 3}, Values: []float64{100, 200}}); d != 1 {
		t.Error(d)
	}
	if d := relative(a, run.Points{}); d != 1 {
		t.Error(d)
	}
	if n := names(map[string]run.Points{"b": {}}, map[string]run.Points{"a": {}, "b": {}}); len(n) != 2 || n[0] != "a" {
		t.Error(n)
	}
	if n := names(nil, nil); len(n) != 0 {
		t.Error(n)
	}
}

func TestTheFirstErrorCountsThatIsNoCancellation(t *testing.T) {
	disk := errors.New("the disk is full")
	if err := evaluate.FirstCause([]error{nil, context.Canceled, disk, errors.New("later")}); !errors.Is(err, disk) {
		t.Error(err)
	}
	if err := evaluate.FirstCause([]error{nil, context.Canceled}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := evaluate.FirstCause([]error{nil, nil}); err != nil {
		t.Error(err)
	}
}
