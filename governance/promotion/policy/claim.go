package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/bundle"
)

// claims complete "Not shown: that" for the kinds of gates that ask for one thing only.
var claims = map[string]string{
	Integrity:      "its numbers are those of its files",
	Requested:      "its owner has asked for this stage",
	LineageClean:   "it does not come from what was rejected",
	LimitsDeclared: "it declares every limit that its host enforces",
	NoOpenIncident: "no incident is open",
	Falsified:      "it survives the attempts to refute it",
	Engine:         "a lab that the plane lists has made its runs",
	Correlation:    "it differs from what already runs",
	Shadow:         "it earns money on candles that opened after its seal",
	Challenge:      "whoever replayed it has executed the program",
}

// metricClaims are those of gates about a metric, by its name.
var metricClaims = map[string]string{
	"total_return":    "it earns money",
	"oos_sharpe_low":  "what it earned out of sample is more than luck",
	"holding_high":    "it is no worse than holding",
	"dsr_max":         "the search alone does not explain its result",
	"stress_failed":   "it survives higher costs and late orders",
	"total_trades":    "it has traded often enough to be judged",
	"max_drawdown":    "its drawdown stays within its limit",
	"diverging_fills": "its fills are those of the simulator",
}

// Claim is what the gate asks for, in words: it completes "Not shown: that".
func (g *Gate) Claim() string {
	switch g.Kind {
	case EvidencePresent:
		switch {
		case g.Pointer == "/trials/family_trials":
			return "it is known how many trials it was chosen from"
		case g.Pointer != "":
			return "its bundle has enough of " + g.Pointer
		case slices.Contains(g.SplitKinds, "test"):
			return "it was run on candles that no parameter was chosen by"
		}
		return "it has every run that is asked for"
	case Metric:
		claim := cmp.Or(metricClaims[g.Metric],
			fmt.Sprintf("its %s is %s %s", strings.ReplaceAll(g.Metric, "_", " "), g.Op, cmp.Or(g.ValueFrom,
				fmt.Sprint(g.Value))))
		if slices.Equal(g.SplitKinds, []string{"test"}) {
			claim += " on the locked test"
		}
		return claim
	case Freshness:
		if g.Drill != "" {
			return "its " + strings.ReplaceAll(g.Drill, "_", " ") + " works"
		}
		return "its evidence is recent"
	case Soak:
		return fmt.Sprintf("it has run in %s for long enough", g.Role)
	case Replay:
		if g.Own {
			return "its runs come out the same again"
		}
		return "another person comes to the same results"
	case Assurance:
		if slices.Contains(g.Rungs, bundle.RungReproduced) {
			return "a lab has signed it and another person has reproduced it"
		}
		return "it is " + strings.ReplaceAll(strings.Join(g.Rungs, " and "), "_", " ")
	}
	return cmp.Or(claims[g.Kind], "it passes "+g.ID)
}

// A figure is a metric of a gate in words.
type figure struct {
	name    string
	percent bool // it is a fraction
}

var figures = map[string]figure{
	"total_return":    {"its total return", true},
	"oos_sharpe_low":  {"the lower 95 % bound of its Sharpe ratio", false},
	"holding_high":    {"the upper 90 % bound of its daily return above holding", true},
	"dsr_max":         {"DSR_max", false},
	"stress_failed":   {"the number of stress runs that it fails", false},
	"total_trades":    {"its number of trades", false},
	"max_drawdown":    {"its largest drawdown", true},
	"diverging_fills": {"the number of fills that differ", false},
}

// wordsOf says which numbers pass.
var wordsOf = map[string]string{">": "more than", ">=": "at least", "<": "less than", "<=": "at most",
	"==": "exactly"}

// Sentence is what a reader should know of a gate that does not pass.
func (g *Gate) Sentence(r *Result) string {
	because := ""
	if why := g.because(r); why != "" {
		because = ", because " + strings.TrimSuffix(why, ".")
	}
	return "Not shown: that " + g.Claim() + because + "."
}

// because is the reason of a result; numbers are rounded, and have units.
func (g *Gate) because(r *Result) string {
	seen, isNumber := r.Observed.(float64)
	limit, hasLimit := r.Threshold.(float64)
	f, known := figures[g.Metric]
	switch {
	case !isNumber || !hasLimit:
	case g.Kind == Metric && r.Verdict == Fail && known && wordsOf[r.Op] != "":
		number := func(x float64) string {
			if f.percent {
				return fmt.Sprintf("%.4g %%", 100*x)
			}
			return fmt.Sprintf("%.4g", x)
		}
		return fmt.Sprintf("%s is %s, where %s %s is asked for", f.name, number(seen), wordsOf[r.Op],
			number(limit))
	case g.Kind == Soak && r.Verdict == Pending:
		const day = 24 * 60 * 60
		_, rest, _ := strings.Cut(r.Reason, " seconds in "+string(g.Role))
		return fmt.Sprintf("it has run for %.4g of %.4g days%s", seen/day, limit/day, rest)
	}
	return r.Reason
}
