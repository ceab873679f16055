package family

import (
	"fmt"
	"math"

	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/stat/deflate"
)

// Number is a value with four significant digits, n/a where it is undefined.
func Number(x *float64) string { return page.Number(x) }

// Percent is a fraction as a percentage, n/a where it is undefined.
func Percent(x *float64) string { return page.Percent(x) }

// Luck is the annual Sharpe ratio at which the best of the search's n independent trials is expected
// when none of them has any skill; nil where it is not known.
func (r *Result) Luck() (ratio *float64, n float64) {
	sel, whole := r.Selection, r.Optimised
	if sel == nil || sel.TrialSRVariance == nil || whole == nil || whole.Meta == nil ||
		!(whole.Meta.PeriodsPerYear > 0) {
		return nil, 0
	}
	if n = float64(sel.NTrials); sel.NEff != nil {
		n = *sel.NEff
	}
	most, why := deflate.ExpectedMax(n)
	if why != "" {
		return nil, 0
	}
	luck := float64(math.Sqrt(float64(*sel.TrialSRVariance*whole.Meta.PeriodsPerYear)) * most)
	return &luck, n
}

// Explain is what luck alone explains of the best trial, and what it would take to believe it.
func (r *Result) Explain() string {
	s := r.Selection
	if s == nil || s.DSRMax == nil {
		return "How much of it luck explains is not known: the trials are too few or too short."
	}
	text := fmt.Sprintf("Were there no skill at all, the best of as many trials would reach its Sharpe "+
		"ratio in %.1f %% of all cases; at most 5 %% is needed.", 100*(1-*s.DSRMax))
	if s.MinBTLYears != nil {
		text += fmt.Sprintf(" In less than %.1f years of candles the best of so many trials is expected to "+
			"reach it by chance.", *s.MinBTLYears)
	}
	return text
}

// Sentences are what the search has done to the numbers of the selected trial, one sentence
// each; the first is the verdict.
func Sentences(o *Outcome) []string {
	s := o.Result.Selection
	if s == nil || o.Verdict == nil {
		return []string{noSelection(o)}
	}
	list := []string{verdict(o.Verdict)}
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if s.NTrials == 1 {
		say("One trial was made, so nothing was chosen among others.")
	} else if s.NEff != nil {
		say("%d trials were made on these days, %d of them of this family; they are so alike that they "+
			"count as %s independent ones.",
			s.NTrials, s.NTrialsFamily, Number(s.NEff))
	}
	if o.Again > 0 {
		say("Besides, %d runs of the selected parameters differ only in their seed or splits: they are "+
			"one trial in this count, so choosing among them is not paid for.", o.Again)
	}
	if s.DSRMax != nil {
		say("If no trial had any skill, the best of a search like this would have a ratio as high in %s "+
			"of all cases (1 - DSR_max; at most 5 %% is needed).", Percent(s.DSRMaxTest.P))
		if n := s.DSRMaxTest.WithoutSeries; n > 0 {
			say("Trials without a return on each of its days: %d. They count as independent ones there.", n)
		}
	}
	if s.DSR2025 != nil && s.DSR2014 != nil {
		say("By formula, which decides nothing, the chance that its true ratio is above what the best of "+
			"so many trials reaches by luck is %s (deflated Sharpe ratio of 2025), or %s by the stricter "+
			"form of 2014.", Percent(s.DSR2025), Percent(s.DSR2014))
	}
	if s.PBO.Value != nil {
		say("When the best trial is chosen on one half of the days, it is below the median of all trials "+
			"on the other half in %s of the ways to halve them (PBO; chance gives 50 %%).",
			Percent(s.PBO.Value))
	}
	if h := s.Haircut.Holm; h != nil {
		say("Counting the trials takes %s off its Sharpe ratio (Holm).", Percent(h))
	}
	if s.MinBTLYears != nil {
		say("A backtest must be %s years long before the best of %d trials is not expected to reach this "+
			"ratio by luck.", Number(s.MinBTLYears), s.NTrials)
	}
	if p := s.SPAP.Consistent; p != nil {
		say("Whether any trial beats holding at the same exposure: p = %s (Hansen), at least %s is "+
			"possible; %d trials do so one by one (Romano and Wolf).",
			Number(p), Number(&o.SmallestP), len(o.Result.StepM.Rejected))
	}
	if s.TestPeeks > 0 {
		say("The test split of this family has been revealed %d times.", s.TestPeeks)
	}
	say("The parameters were chosen on candles that validation is part of: only test is clean.")
	return list
}

// reasons are those of a verdict in words.
var reasons = map[string]string{
	selection.ReasonDSRMax:    "a search without skill finds a ratio as high in more than 5 % of all cases",
	selection.ReasonDSRMaxLow: "a search without skill finds a ratio as high in most cases",
	selection.ReasonPBO:       "choosing the best overfits too often",
	selection.ReasonPBOHigh:   "choosing the best overfits more often than not",
	selection.ReasonShort:     "there are too few days",
}

func verdict(v *selection.Verdict) string {
	why, known := reasons[v.ReasonCode]
	if !known {
		why = v.ReasonCode
	}
	switch v.Verdict {
	case selection.Pass:
		if v.Strong {
			return "Shown: that the selected trial survives the search (pass, strong)."
		}
		return "Shown: that the selected trial survives the search (pass)."
	case selection.Warn, selection.Fail:
		return "Not shown: that the selected trial survives the search (" + v.Verdict + "), because " + why +
			"."
	}
	return "Not known: whether the selected trial survives the search (inconclusive), because of " + why + "."
}

func noSelection(o *Outcome) string {
	if o.Aborted != "" {
		return "The family was ended by its stop rule: nothing is selected."
	}
	return "No trial has an objective: nothing is selected."
}
