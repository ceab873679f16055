package selection

import (
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/multiple"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// Haircut is the share of the annual Sharpe ratio that is lost to the number of trials,
// by the adjustment of the p-values: 0.4 leaves 60 %, 1 nothing.
type Haircut struct {
	Bonferroni *float64 `json:"bonferroni"`
	Holm       *float64 `json:"holm"`
	BY         *float64 `json:"by"`
}

const (
	monthsPerYear = 12
	// leastMonths keeps a degree of freedom for Student's t.
	leastMonths = 2
)

// track is an annual Sharpe ratio, corrected for the autocorrelation of the returns, and
// how many months they cover.
type track struct{ annual, months float64 }

// trackOf is the track of returns of which there are so many in a year. The reasons are
// those of the ratio and of its correction, and TooFewReturns below two months.
func trackOf(returns []float64, periods float64) (track, stat.Reason) {
	x, why := sampleOf(returns)
	if why != "" {
		return track{}, why
	}
	months := x.t / periods * monthsPerYear
	if !(months > leastMonths) {
		return track{}, stat.TooFewReturns
	}
	rho, why := stat.Lag1(returns)
	if why != "" {
		return track{}, why
	}
	// The ratio per observation is annualised over q periods as if rho were 0; Corrected
	// takes that back.
	eta, why := sharpe.EtaAR1(periods, rho)
	return track{x.ratio * eta, months}, why
}

// haircut cuts the ratio of the judged run. The family of tests is all trials: one that
// has no ratio, or none above 0, has found nothing and counts with a p of 1. Counting it
// at the p of its loss would make room for the others. Source: Harvey and Liu (2015).
func (e estimates) haircut(l *Ledger) {
	none := func(why stat.Reason) { e.none(why, "haircut.bonferroni", "haircut.holm", "haircut.by") }
	if _, why := l.judged(); why != "" {
		none(why)
		return
	}
	judged, why := trackOf(l.Trials[l.Judged].Series.Return, l.PeriodsPerYear)
	switch {
	case why != "":
		none(why)
		return
	case judged.annual <= 0:
		none(stat.SharpeNotAboveBenchmark)
		return
	}
	adjusted := multiple.Adjust(l.pValues())
	for _, c := range []struct {
		name string
		into **float64
		p    []float64
	}{
		{"haircut.bonferroni", &e.of.Haircut.Bonferroni, adjusted.Bonferroni},
		{"haircut.holm", &e.of.Haircut.Holm, adjusted.Holm},
		{"haircut.by", &e.of.Haircut.BY, adjusted.BY},
	} {
		h, why := multiple.HaircutOf(judged.annual, judged.months, func(float64) float64 { return c.p[l.Judged] })
		e.number(c.name, c.into)(h.Haircut, why)
	}
}

// pValues are two-sided, in the order of the trials.
func (l *Ledger) pValues() []float64 {
	p := make([]float64, len(l.Trials))
	for i := range p {
		p[i] = 1
		if s := l.Trials[i].Series; s != nil {
			if x, why := trackOf(s.Return, l.PeriodsPerYear); why == "" && x.annual > 0 {
				h, _ := multiple.HaircutOf(x.annual, x.months, func(p float64) float64 { return p })
				p[i] = h.P
			}
		}
	}
	return p
}
