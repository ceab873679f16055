package policy

import (
	"math"
	"slices"
)

// Capacity is the capital at which the market's reaction takes half of what the trades out of
// sample have earned: the reaction grows with the square root of the capital, what is earned in
// basis points does not change. It is 0 where nothing is earned, and nil where a file does not
// show one of the two, as without volumes.
func (m *Member) Capacity() *float64 {
	if m.Edge == nil || m.Impact == nil {
		return nil
	}
	root := max(m.Edge.Bps, 0) / (2 * m.Impact.Bps)
	if capital := m.Impact.Capital * root * root; !math.IsInf(capital, 0) {
		return &capital
	}
	return nil
}

// CapacityOf is the capital that members can share at the present proportions, and the symbol that
// limits it: those that trade the same symbol share its volume, as if their orders met, so that
// their capitals, each as a part of its own capacity, add up to 1. It is nil where a member has no
// capacity that is known, or none has capital.
func CapacityOf(members []Member) (capital *float64, symbol string) {
	total, most := 0.0, 0.0
	used := map[string]float64{}
	var symbols []string
	for i := range members {
		m := &members[i]
		own := m.Capacity()
		if own == nil {
			return nil, ""
		}
		if total += m.Capital; m.Capital == 0 {
			continue
		}
		for _, s := range m.Symbols {
			used[s] += m.Capital / *own // +Inf where it earns nothing
			symbols = append(symbols, s)
		}
	}
	slices.Sort(symbols)
	for _, s := range symbols {
		if used[s] > most {
			most, symbol = used[s], s
		}
	}
	if most == 0 {
		return nil, ""
	}
	whole := total / most
	return &whole, symbol
}
