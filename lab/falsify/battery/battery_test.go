package battery

import (
	"context"
	"errors"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/profile"
	"github.com/assay-run/assay/lab/request"
)

func number(x float64) *float64 { return &x }

func replayed(final, decisions string, sharpe float64) *request.Replayed {
	return &request.Replayed{
		Results: &artifact.Results{InitialCash: "10000", FinalValue: final, DecisionHash: decisions},
		Trades:  3,
		Metrics: metric.Values{{Key: "sharpe_ratio", Number: sharpe},
			{Key: "total_return", Reason: metric.TooFewReturns}},
	}
}

func TestARowSaysHowAReplayWent(t *testing.T) {
	r := RowOf("x2", 7, replayed("9000.50", "abc", 1.5))
	if r.Status != judge.Completed || *r.Sharpe != 1.5 || r.TotalReturn != nil || r.NetPnL != "-999.5" ||
		r.Trades != 3 || r.DecisionHash != "abc" || r.Variant != "x2" || r.Replica != 7 {
		t.Errorf("%+v", r)
	}
	failed := replayed("9000", "abc", 1.5)
	failed.Failure = &artifact.Failure{Code: "STRATEGY_ERROR"}
	if r := RowOf("x2", 0, failed); r.Status != judge.Failed || r.Sharpe != nil || r.NetPnL != "" ||
		r.DecisionHash != "abc" {
		t.Errorf("%+v", r)
	}
	if r := RowOf("x2", 0, &request.Replayed{Failure: &artifact.Failure{}}); r.Status != judge.Failed ||
		r.DecisionHash != "" {
		t.Errorf("%+v", r)
	}
}

func TestTheMiddleReplayStandsForAll(t *testing.T) {
	list := []judge.Replay{{Replica: 0, Sharpe: number(3)}, {Replica: 1}, {Replica: 2, Sharpe: number(1)},
		{Replica: 3, Sharpe: number(2)}}
	if m := Middle(list); m != &list[3] {
		t.Errorf("%+v", m)
	}
	if m := Middle(list[1:2]); m != nil {
		t.Errorf("%+v", m)
	}
}

func TestTheReportHasALinePerTest(t *testing.T) {
	own := judge.Replay{Sharpe: number(1), NetPnL: "5"}
	f := &Finding{Test: judge.CostStress.Skip(judge.SkippedByUser)}
	want := artifact.Stress{ID: judge.CostStress.ID, SplitID: "search", Verdict: "skipped",
		ReasonCode: judge.SkippedByUser}
	if s := f.stress(own); s.ID != want.ID || s.SplitID != want.SplitID || s.Verdict != want.Verdict ||
		s.ReasonCode != want.ReasonCode || s.Stressed.NetPnL != "5" || s.Base.NetPnL != "5" {
		t.Errorf("%+v", s)
	}
	f.Stressed, f.Beside, f.On = &judge.Replay{Sharpe: number(-1), NetPnL: "-7"}, &judge.Replay{NetPnL: "9"},
		"train"
	if s := f.stress(own); *s.Stressed.SharpeRatio != -1 || s.Stressed.NetPnL != "-7" ||
		s.Base.NetPnL != "9" || s.Base.SharpeRatio != nil || s.SplitID != "train" {
		t.Errorf("%+v", s)
	}
	f.Stressed = &judge.Replay{Sharpe: number(2)} // random entries have no money
	if s := f.stress(own); s.Stressed.NetPnL != "5" {
		t.Errorf("%+v", s)
	}
}

func TestOnlyTheFirstCapsuleIsNamed(t *testing.T) {
	b := &Bench{kept: map[capsule.Kind]bool{}}
	b.KeepCapsule(capsule.Lookahead, nil) // it could not be kept
	first := &capsule.Note{CapsuleID: "fc_1"}
	b.KeepCapsule(capsule.Nondeterminism, first)
	b.KeepCapsule(ofPlugin, &capsule.Note{CapsuleID: "fc_2"})
	if b.capsule != first || !b.kept[capsule.Lookahead] || !b.kept[ofPlugin] {
		t.Errorf("%+v", b)
	}
}

func TestARefusedReplayBreaksItsTest(t *testing.T) {
	b := &Bench{refused: map[string]string{}}
	for _, why := range []string{"b", "a", "c"} {
		b.noteRefusal("price_noise", &request.Error{Message: why})
	}
	if b.FindRefusal("price_noise") != "a" {
		t.Error("the reason depends on the order")
	}
}

func TestWhatTheUserLeavesOutIsSkippedForThatReason(t *testing.T) {
	first := Test{Entry: judge.Entry{ID: "first", Class: judge.Gate}, First: true, Upstream: true}
	first.Unplayable = func(*judge.Judge) *judge.Test {
		return first.Blank().End(judge.Fail, judge.PluginFailed, "")
	}
	ids := []string{first.ID, judge.CostStress.ID, judge.DelayStress.ID}
	p, err := profile.Default().With(profile.Options{Skip: []string{judge.CostStress.ID}}, ids)
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{Base: Base{Profile: p}, found: map[string]*Finding{}}
	b.skipTest(judge.CostStress, judge.UpstreamFailure)
	b.skipTest(judge.DelayStress, judge.UpstreamFailure)
	if r := b.found[judge.CostStress.ID].ReasonCode; r != judge.SkippedByUser {
		t.Error(r)
	}
	if r := b.found[judge.DelayStress.ID].ReasonCode; r != judge.UpstreamFailure {
		t.Error(r)
	}
	list := []Test{first, {Entry: judge.CostStress}, {Entry: judge.DelayStress}}
	if b.hasUpstreamFailed(list) {
		t.Error("nothing has failed")
	}
	b.judgeUnplayable(list)
	if f := b.found[first.ID]; f.Verdict != judge.Fail || f.ReasonCode != judge.PluginFailed ||
		!b.hasUpstreamFailed(list) {
		t.Errorf("%+v", f.Test)
	}
}

func TestTheFirstErrorCountsThatIsNoCancellation(t *testing.T) {
	disk := errors.New("the disk is full")
	if err := request.FirstCause([]error{nil, context.Canceled, disk, errors.New("later")}); !errors.Is(err,
		disk) {
		t.Error(err)
	}
	if err := request.FirstCause([]error{nil, context.Canceled}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := request.FirstCause([]error{nil, nil}); err != nil {
		t.Error(err)
	}
}
