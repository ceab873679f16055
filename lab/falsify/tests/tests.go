// Package tests is the catalogue of the falsification: every test is a folder below, which has
// its plan, its rule, its evidence and its tests, and is listed here.
//
// It is small because a test is whole in its own package.
package tests

import (
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests/buyandhold"
	"github.com/assay-run/assay/lab/falsify/tests/capacity"
	"github.com/assay-run/assay/lab/falsify/tests/causal"
	"github.com/assay-run/assay/lab/falsify/tests/metamorphic"
	"github.com/assay-run/assay/lab/falsify/tests/missingcandles"
	"github.com/assay-run/assay/lab/falsify/tests/outliertrades"
	"github.com/assay-run/assay/lab/falsify/tests/paramneighbourhood"
	"github.com/assay-run/assay/lab/falsify/tests/permutedcandles"
	"github.com/assay-run/assay/lab/falsify/tests/permutedselection"
	"github.com/assay-run/assay/lab/falsify/tests/plausibility"
	"github.com/assay-run/assay/lab/falsify/tests/pricenoise"
	"github.com/assay-run/assay/lab/falsify/tests/randomentry"
	"github.com/assay-run/assay/lab/falsify/tests/regime"
	"github.com/assay-run/assay/lab/falsify/tests/selectionbias"
	"github.com/assay-run/assay/lab/falsify/tests/stress"
	"github.com/assay-run/assay/lab/falsify/tests/symbolholdout"
	"github.com/assay-run/assay/lab/falsify/tests/tails"
	"github.com/assay-run/assay/lab/falsify/tests/timereversal"
	"github.com/assay-run/assay/lab/falsify/tests/tradeshuffle"
	"github.com/assay-run/assay/lab/falsify/tests/warmup"
)

// All are the tests in the order of their numbers.
func All() []battery.Test {
	return []battery.Test{
		causal.Determinism, causal.Lockstep, causal.Prefix, causal.DataEnd, warmup.Test, stress.Costs,
		stress.Delay,
		stress.Intrabar, pricenoise.Test, missingcandles.Test, paramneighbourhood.Test, symbolholdout.Test,
		regime.Test,
		outliertrades.Test, randomentry.Test, permutedcandles.Test, buyandhold.Test, selectionbias.Test,
		tradeshuffle.Test, capacity.Test, timereversal.Test, metamorphic.Test, permutedselection.Test,
		plausibility.Test, tails.Test,
	}
}

// IDs are those of [All].
func IDs() []string {
	var out []string
	for _, t := range All() {
		out = append(out, t.ID)
	}
	return out
}

// Find is the entry of an id, such as a user names with --only.
func Find(id string) (judge.Entry, bool) {
	for _, t := range All() {
		if t.ID == id {
			return t.Entry, true
		}
	}
	return judge.Entry{ID: id}, false
}

// Skip is a test that is not made, and why.
func Skip(id, reason string) *judge.Test {
	e, _ := Find(id)
	return e.Skip(reason)
}

// Current is a test with the claim of the catalogue, which a summary of an older version has
// in other words.
func Current(t *judge.Test) *judge.Test {
	out := *t
	if e, ok := Find(t.ID); ok {
		out.Claim = e.Claim
	}
	return &out
}
