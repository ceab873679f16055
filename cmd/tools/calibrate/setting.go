package main

import (
	"fmt"

	"github.com/assay-run/assay/host/hosttest/cheats"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests"
)

// setting is cases of one kind.
type setting struct {
	Name string
	// Strategy is what is judged, Trials how many there are in its family, itself included:
	// of noise the best of them is judged, of an edge the edge.
	Strategy string
	Trials   int
	// Free is without fees and slippage.
	Free bool
	// Sharpe is the true net annual ratio of the edge, 0 for none.
	Sharpe float64
	// Row is the id of a row of docs/cheats.md, whose strategy is judged, and Edge the true net annual ratio
	// of the edge that its market has for it, 0 for none.
	Row  string
	Edge float64
	// Sample is BTC/USDT 1h instead of the market of the calibration.
	Sample bool
	Cases  int

	// Drift is e, a day.
	Drift float64
}

// The kinds of settings.
func (s *setting) isNoise() bool { return s.Strategy == noiseName }
func (s *setting) isCheat() bool {
	return s.Row == "" && s.Strategy != noiseName && s.Strategy != numberedName && s.Strategy != plantedName
}

// sizes are how many cases are asked for.
type sizes struct {
	Noise, Hundred, Sample, Numbered, Planted, Seeds int
	// Rows are the cases of each row of docs/cheats.md that is played; an older file of -save has none.
	Rows int `json:",omitzero"`
}

// fullSize returns the size of docs/calibration.md.
func fullSize() sizes {
	return sizes{Noise: 200, Hundred: 200, Sample: 20, Numbered: 40, Planted: 200, Seeds: 20, Rows: 20}
}

// plannedFamilies are the trials that noise is the best of.
func plannedFamilies() []int { return []int{1, 10, 100} }

// settings are those of docs/calibration.md with other counts, those without cases
// left out.
func settings(n sizes) []*setting {
	var list []*setting
	add := func(s setting) {
		if s.Cases > 0 {
			list = append(list, &s)
		}
	}
	for _, free := range []bool{true, false} {
		for _, trials := range plannedFamilies() {
			cases, costs := n.Noise, "default costs"
			if trials == 100 {
				cases = n.Hundred
			}
			if free {
				costs = "zero costs"
			}
			add(setting{Name: fmt.Sprintf("noise, best of %d, %s", trials, costs), Strategy: noiseName,
				Trials: trials, Free: free, Cases: cases})
		}
	}
	add(setting{Name: "noise, BTC/USDT 1h, default costs", Strategy: noiseName, Trials: 1, Sample: true,
		Cases: n.Sample})
	add(setting{Name: "noise of numbered coins, best of 10, zero costs", Strategy: numberedName, Trials: 10,
		Free: true, Cases: n.Numbered})
	for _, ratio := range []float64{1, 2, 3} {
		add(setting{Name: fmt.Sprintf("planted, true Sharpe ratio %g, with 9 noise trials", ratio),
			Strategy: plantedName, Trials: 10, Sharpe: ratio, Cases: n.Planted})
	}
	for i, name := range cheatNames() {
		add(setting{Name: fmt.Sprintf("cheat B-%02d, %s", i+2, name), Strategy: name, Trials: 1,
			Cases: n.Seeds})
	}
	for _, r := range cheats.Battery() {
		if r.Play == nil {
			continue
		}
		s := setting{Name: fmt.Sprintf("row %s, %s", r.ID, r.Attack), Strategy: r.Play.Strategy, Trials: 1,
			Row: r.ID, Cases: n.Rows}
		if r.Play.Tides {
			s.Edge = rowEdge
		}
		add(s)
	}
	return list
}

// verdict is what the battery has said about one case.
type verdict struct {
	Overall judge.Verdict
	Tests   []*judge.Test
}

func (v *verdict) of(id string) *judge.Test {
	for _, t := range v.Tests {
		if t.ID == id {
			return t
		}
	}
	return tests.Skip(id, "")
}
