package policy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

func series(seed uint64, from int64, n int, of func(k int, noise float64) float64) []policy.Day {
	draw := rand.New(rand.NewPCG(seed, 1))
	var list []policy.Day
	for k := range n {
		list = append(list, policy.Day{Day: from + int64(k), Return: of(k, draw.NormFloat64())})
	}
	return list
}

func own(_ int, noise float64) float64 { return 0.001 + 0.01*noise }

func TestTogether(t *testing.T) {
	a := policy.Member{Revision: "a", Days: series(1, 100, 400, own)}
	same := policy.Member{Revision: "same", Days: series(1, 100, 400, own)}
	opposite := policy.Member{Revision: "opposite",
		Days: series(1, 100, 400, func(k int, x float64) float64 { return -own(k, x) })}
	other := policy.Member{Revision: "other", Days: series(2, 300, 400, own)}
	short := policy.Member{Revision: "short", Days: series(1, 480, 400, own)}
	for _, c := range []struct {
		with     *policy.Member
		days     int
		low, top float64
	}{{&same, 400, 1, 1}, {&opposite, 400, -1, -1}, {&other, 200, -0.25, 0.25}} {
		p := policy.Together(&a, c.with)
		if p.Days != c.days || p.Correlation == nil || *p.Correlation < c.low-1e-12 ||
			*p.Correlation > c.top+1e-12 {
			t.Errorf("%s: %+v", c.with.Revision, p)
		}
		back := policy.Together(c.with, &a)
		if *back.Correlation != *p.Correlation || *back.BothDown != *p.BothDown {
			t.Errorf("%s: the order matters", c.with.Revision)
		}
	}
	if p := policy.Together(&a, &short); p.Days != 20 || p.Correlation != nil || p.BothDown != nil {
		t.Errorf("%+v", p)
	}
}

// TestSharesOfRiskAddUp: to 1, whatever the capital; of two equal members each has a half, and one that
// goes against the rest takes risk away.
func TestSharesOfRiskAddUp(t *testing.T) {
	a, b := series(1, 100, 300, own), series(2, 100, 300, own)
	against := series(1, 100, 300, func(k int, x float64) float64 { return -0.3 * own(k, x) })
	for _, list := range [][]policy.Member{
		{{Days: a, Capital: 1}}, {{Days: a, Capital: 10}, {Days: b, Capital: 30}},
		{{Days: a}, {Days: b}}, {{Days: a, Capital: 1}, {Days: b, Capital: 1}, {Days: against, Capital: 1}},
	} {
		r := policy.RiskOf(list)
		total := 0.0
		for _, s := range r.Shares {
			total += s
		}
		if r.Days != 300 || math.Abs(total-1) > 1e-12 || r.Volatility <= 0 || r.Drawdown <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if r := policy.RiskOf([]policy.Member{{Days: a, Capital: 5},
		{Days: a, Capital: 5}}); math.Abs(r.Shares[0]-0.5) > 1e-12 {
		t.Errorf("%+v", r)
	}
	if r := policy.RiskOf([]policy.Member{{Days: a, Capital: 1},
		{Days: against, Capital: 1}}); r.Shares[1] >= 0 {
		t.Errorf("%+v", r)
	}
	if r := policy.RiskOf([]policy.Member{{Days: a}, {Days: series(1, 5000, 300, own)}}); r.Days != 0 ||
		r.Shares != nil {
		t.Errorf("%+v", r)
	}
}

func TestCorrelationGate(t *testing.T) {
	g := policy.Gate{ID: "c", Kind: policy.Correlation, Max: 0.5, Stages: []string{"live"}}
	a := policy.Member{Revision: "a", Days: series(1, 100, 400, own)}
	for name, c := range map[string]struct {
		other policy.Member
		want  policy.Verdict
	}{
		"a copy that is live": {policy.Member{Revision: "copy", Stage: bundle.Live, Days: a.Days},
			policy.Fail},
		"a copy on paper": {policy.Member{Revision: "copy", Stage: bundle.Paper, Days: a.Days},
			policy.Pass},
		"another that is live": {policy.Member{Revision: "other", Stage: bundle.Live,
			Days: series(2, 100, 400, own)}, policy.Pass},
		"no shared days": {policy.Member{Revision: "old", Stage: bundle.Live,
			Days: series(1, 9000, 400, own)}, policy.Pending},
		"one that was not read": {policy.Member{Revision: "none", Stage: bundle.Live}, policy.Pending},
	} {
		e := &policy.Evidence{
			Self:   func() policy.Member { return a },
			Others: func() []policy.Member { return []policy.Member{c.other} },
		}
		if got := policy.Judge(&g, bundle.Live, e, now); got.Verdict != c.want {
			t.Errorf("%s: %s: %s", name, got.Verdict, got.Reason)
		}
	}
}
