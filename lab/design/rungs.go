package design

import "fmt"

// Rung is one round of successive halving: so many trials, each with this budget, in
// walk-forward windows.
type Rung struct{ Trials, Budget int }

// Rungs are the rounds of successive halving: rung j gives every trial least * eta^j,
// at most all, and floor(trials / eta) of them go on; it ends with the rung that has the
// whole budget, or when nobody is left. Source: Jamieson and Talwalkar (2016).
func Rungs(trials, eta, least, all int) ([]Rung, error) {
	switch {
	case trials < 1:
		return nil, fmt.Errorf("at least one trial is needed, not %d", trials)
	case eta < 2:
		return nil, fmt.Errorf("eta is at least 2, not %d", eta)
	case least < 1 || all < least:
		return nil, fmt.Errorf("the budget goes from at least 1 up, not from %d to %d", least, all)
	}
	var out []Rung
	for n, budget := trials, least; n >= 1; n /= eta {
		out = append(out, Rung{n, budget})
		if budget == all {
			break
		}
		if budget > all/eta {
			budget = all // also where budget * eta would overflow
		} else {
			budget *= eta
		}
	}
	return out, nil
}

// Halving are the Rungs of a search, which has to end with trials that have seen
// everything: where nobody would be left for the whole budget, the best one goes on to
// it; one that is alone goes there at once, as there is nobody to compare it with.
func Halving(trials, eta, least, all int) ([]Rung, error) {
	out, err := Rungs(trials, eta, least, all)
	if err != nil {
		return nil, err
	}
	switch last := &out[len(out)-1]; {
	case last.Budget == all:
	case last.Trials == 1:
		last.Budget = all
	default:
		out = append(out, Rung{1, all})
	}
	return out, nil
}
