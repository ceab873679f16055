package selection

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// rising is a market that gains 1 % a day.
type rising struct{}

func (rising) Holding(_ context.Context, _ string, _ []artifact.Dataset, from,
	_ []market.Time) ([]float64, error) {
	out := make([]float64, len(from))
	for i := range out {
		out[i] = 0.01
	}
	return out, nil
}

func TestLess(t *testing.T) {
	if got := Less([]float64{.02, -.01}, []float64{.01, -.04}, .5); !slices.Equal(got,
		[]float64{.02 - .005, -.01 + .02}) {
		t.Error(got)
	}
}

// TestTheDifferenceIsTested against holding at each trial's own exposure, by the block
// length of the judged difference.
func TestTheDifferenceIsTested(t *testing.T) {
	l := search(4, 3, 300, 3)
	l.Trials[0].Series.NetExposure, l.Trials[2].Series.NetExposure = -0.25, 0.1
	r, err := l.Select(t.Context(), rising{}, 7)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([][]float64, 300)
	var judged []float64
	for i := range rows {
		for _, x := range l.Trials {
			rows[i] = append(rows[i], x.Series.Return[i]-0.01*x.Series.NetExposure)
		}
		judged = append(judged, rows[i][2])
	}
	block, _ := bootstrap.PolitisWhite(judged)
	p, err := bootstrap.NewPanel(t.Context(), rows, bootstrap.Replicas(7, 999, 300, block.Stationary))
	if err != nil {
		t.Fatal(err)
	}
	_, rc := p.RealityCheck()
	spa, _, _ := p.SPA(t.Context(), block.Stationary)
	near(t, "rc_p", r.Selection.RCP, rc.P)
	near(t, "spa_p.lower", r.Selection.SPAP.Lower, spa.Lower.P)
	near(t, "spa_p.consistent", r.Selection.SPAP.Consistent, spa.Consistent.P)
	near(t, "spa_p.upper", r.Selection.SPAP.Upper, spa.Upper.P)
}

// One good trial among noise is found, and only that one, although others never traded.
func TestStepMFindsTheGoodOne(t *testing.T) {
	l := search(6, 8, 700, 6)
	l.Trials[0].Series = daily(make([]float64, 700))
	r := l.mustSelect(t)
	if !slices.Equal(r.StepM.Rejected, []string{l.Trials[7].Key}) || r.StepM.Why != "" {
		t.Errorf("%+v", r.StepM)
	}
	if *r.Selection.RCP > .01 || *r.Selection.SPAP.Upper > .01 {
		t.Errorf("%+v", r.Selection)
	}
	// Without skill nothing is found.
	r = search(6, 8, 700, 0).mustSelect(t)
	if len(r.StepM.Rejected) != 0 || *r.Selection.SPAP.Consistent < .05 {
		t.Errorf("%+v", r)
	}
}

// A trial whose candles are gone is left out, the judged one leaves nothing to test.
func TestHoldingUnknown(t *testing.T) {
	l := search(6, 4, 300, 2)
	l.Trials[1].Data = []artifact.Dataset{{Symbol: "GONE/B"}}
	r, err := l.Select(t.Context(), flat{broken: "GONE/B"}, 1)
	if err != nil || r.Selection.RCP == nil || len(r.Warnings) != 1 || r.Warnings[0].Code != CodeNoHolding ||
		!strings.Contains(r.Warnings[0].Message, "run_001") {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = l.Select(t.Context(), flat{broken: "A/B"}, 1)
	if err != nil || r.Selection.RCP != nil || r.Selection.Undefined["rc_p"] != stat.NotApplicable ||
		r.StepM.Why != stat.NotApplicable || len(r.Warnings) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	checkNulls(t, &r.Selection)
}

// Too many returns are refused with a warning.
func TestTooManyForTheTests(t *testing.T) {
	l := search(6, 12, 300, 2)
	m, err := l.buildMatrix(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{12 * 300, 12*300 - 1} {
		s, out := Selection{Undefined: map[string]stat.Reason{}}, &Result{}
		if err := (estimates{&s, most}).superior(t.Context(), l, m, flat{}, 1, out); err != nil {
			t.Fatal(err)
		}
		if err := (estimates{&s, most}).resample(t.Context(), l, m, most, out); err != nil {
			t.Fatal(err)
		}
		tested := most == 12*300
		if tested != (s.DSRMax != nil) || tested == (s.Undefined["dsr_max"] == stat.NotApplicable) {
			t.Errorf("at most %d: %+v", most, s)
		}
		if tested != (s.RCP != nil) || tested == (s.Undefined["spa_p.upper"] == stat.NotApplicable) ||
			tested == (out.StepM.Why == stat.NotApplicable) {
			t.Errorf("at most %d: %+v, %+v", most, s, out)
		}
		if !tested &&
			(len(out.Warnings) != 2 || out.Warnings[1].Code != CodeTooLarge ||
				out.Warnings[0].Code != CodeTooLarge ||
				!strings.Contains(out.Warnings[0].Message,
					"12 trials over 300 days are more than the 3599 returns")) {
			t.Error(out.Warnings)
		}
	}
}
