package policy_test

import (
	"math"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
)

func trading(capital, edge, impact float64, symbols ...string) policy.Member {
	return policy.Member{Capital: capital, Symbols: symbols, Edge: &bundle.Edge{Trades: 9, Bps: edge},
		Impact: &bundle.Impact{Capital: 1000, Bps: impact}}
}

// TestCapacity: at the capacity the impact is half of the edge, whatever capital it was measured at.
func TestCapacity(t *testing.T) {
	for _, c := range []struct{ edge, impact, want float64 }{
		{20, 10, 1000}, {40, 10, 4000}, {20, 20, 250}, {0, 10, 0}, {-5, 10, 0},
	} {
		m := trading(1, c.edge, c.impact)
		got := m.Capacity()
		if got == nil || *got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		if c.want > 0 && c.impact*math.Sqrt(*got/1000) != c.edge/2 {
			t.Errorf("%+v: the impact is not half of the edge", c)
		}
	}
	huge := trading(1, 1e200, 1e-200)
	for _, m := range []*policy.Member{{}, {Edge: &bundle.Edge{}}, {Impact: &bundle.Impact{Capital: 1, Bps: 1}}, &huge} {
		if got := m.Capacity(); got != nil {
			t.Errorf("%+v has the capacity %v", m, *got)
		}
	}
}

// TestCapacityTogether: copies share one capacity, those on other symbols do not.
func TestCapacityTogether(t *testing.T) {
	a, other, losing := trading(100, 20, 10, "A/Q"), trading(100, 20, 10, "B/Q"), trading(100, -1, 10, "C/Q")
	small, none := trading(300, 20, 20, "A/Q", "B/Q"), policy.Member{Capital: 1}
	idle := losing
	idle.Capital = 0
	for name, c := range map[string]struct {
		list   []policy.Member
		want   float64
		symbol string
	}{
		"alone":               {[]policy.Member{a}, 1000, "A/Q"},
		"two copies":          {[]policy.Member{a, a}, 1000, "A/Q"},
		"two symbols":         {[]policy.Member{a, other}, 2000, "A/Q"},
		"one of both":         {[]policy.Member{a, small}, 400 / 1.3, "A/Q"},
		"one that loses":      {[]policy.Member{a, losing}, 0, "C/Q"},
		"one without capital": {[]policy.Member{a, idle}, 1000, "A/Q"},
	} {
		got, symbol := policy.CapacityOf(c.list)
		if got == nil || math.Abs(*got-c.want) > 1e-9 || symbol != c.symbol {
			t.Errorf("%s: %v by %s", name, got, symbol)
		}
	}
	for _, list := range [][]policy.Member{nil, {a, none}, {idle}} {
		if got, symbol := policy.CapacityOf(list); got != nil || symbol != "" {
			t.Errorf("%+v: %v by %s", list, *got, symbol)
		}
	}
}
