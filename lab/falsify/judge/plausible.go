package judge

import (
	"fmt"
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// plausibleConfidence is that of the bound, one-sided; daysOfYear is the fewest bets a year
// that the limit is for.
const (
	plausibleConfidence = 0.99
	plausibleZ          = 2.3263478740408408 // its quantile of the standard normal distribution
	daysOfYear          = 365
)

// Plausible judges plausibility: skill of a given size per bet makes an annual Sharpe ratio
// that grows with the root of the number of bets, and not beyond it. A ratio that is surely
// higher comes of something else, such as prices that the program has inside. Few trades do
// not excuse it.
func (j *Judge) Plausible() *Test {
	b, p := j.Base, j.Policy
	t := j.begin(PlausibilityTest, 0, map[string]any{"plausible_sharpe": p.PlausibleSharpe})
	t.Params["confidence"] = plausibleConfidence
	if b.Sharpe == nil || b.StandardError == nil || !(b.Years > 0) {
		t.measure("sharpe_ratio_low", nil, b.Undefined, "<=", nil)
		if !j.tooLittle(t) {
			t.end(Inconclusive, string(stat.NotApplicable),
				"the Sharpe ratio of the run has no standard error")
		}
		return t
	}
	trades := float64(b.Trades) / b.Years
	limit := p.PlausibleSharpe * math.Sqrt(max(daysOfYear, trades))
	low := *b.Sharpe - float64(plausibleZ**b.StandardError)
	t.Params["sharpe_ratio"], t.Params["standard_error"] = rounded(b.Sharpe), rounded(b.StandardError)
	t.Params["trades_per_year"] = rounded(&trades)
	t.measure("sharpe_ratio_low", &low, "", "<=", &limit)
	switch {
	case low > limit:
		return t.end(Fail, TooGood, fmt.Sprintf("the annual Sharpe ratio is %s, surely above %s, and with %.0f trades "+
			"a year no more than %s is believed: look for prices, or a model of them, inside the program",
			two(*b.Sharpe), two(low), trades, two(limit)))
	case j.tooLittle(t):
		return t
	}
	return j.capped(t.end(Pass, "", ""))
}
