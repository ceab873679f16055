// Package judge turns the numbers of a falsification into verdicts: what all rules share, and
// one rule for all tests together, exactly as docs/lab.md has them.
//
// A rule is in the folder of its test below lab/falsify/tests. It gets what was played as
// numbers, asks a [Judge], which knows the base run and the policy, and answers with a [Test],
// an entry of summary.json (verdict.go). [Conclude] and [Holm] look at all of them
// (overall.go); evidence.go writes the files that a verdict rests on; the rules of stress.go
// are here because lab run judges by them, too. Nothing here reads a file, a clock or a random
// stream; equal numbers give equal verdicts.
//
// Three habits: too little evidence is inconclusive and never a pass; a replay that
// failed or did nothing counts on the safe side; every percentage is in [Policy] and is
// shown with the verdict as policy, because it is a decision and not a theorem.
package judge

import (
	"fmt"
	"math"
	"strconv"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
)

// Entry is what the catalogue has of a test. Claim is what the test attacks and completes "it
// is shown that". Version counts the changes of the rule.
type Entry struct {
	Number        int
	ID            string
	Version       int
	Class         Class
	Claim, Method string
	// Holm puts the p-value into the family that [Holm] adjusts.
	Holm bool
}

// Blank is a test before its verdict.
func (e Entry) Blank() *Test {
	return &Test{
		ID: e.ID, Version: e.Version, Class: e.Class, Claim: e.Claim, Method: e.Method,
		Params: map[string]any{}, Evidence: []Evidence{}, holm: e.Holm,
	}
}

// Skip is a test that is not made, and why.
func (e Entry) Skip(reason string) *Test { return e.Blank().End(Skipped, reason, "") }

// Broke is a test that the host could not make; detail is for people.
func (e Entry) Broke(detail string) *Test { return e.Blank().End(Error, HostError, detail) }

// Base is what the rules need to know of the run under attack: its search split, net of
// its costs.
type Base struct {
	// Sharpe is the annual ratio of the main sample; nil where it is undefined, and then
	// Undefined has the reason.
	Sharpe    *float64
	Undefined metric.Reason
	// Trades are closed ones; T counts the returns of the main sample.
	Trades, Fills, T int
	// StandardError is that of Sharpe, nil where it is undefined; Years is how long T returns take.
	StandardError *float64
	Years         float64
	// Cash is the initial one, in the quote currency.
	Cash float64
}

// Judge gives verdicts on one base run.
type Judge struct {
	Base   Base
	Policy Policy
}

// Begin is a test with the thresholds that it uses, marked as policy.
func (j *Judge) Begin(e Entry, replays int, policy map[string]any) *Test {
	t := e.Blank()
	t.NReplays = replays
	if len(policy) > 0 {
		t.Params["policy"] = policy
	}
	return t
}

// TooLittle ends a test that compares Sharpe ratios when the base has too few closed
// trades for its own to mean something.
func (j *Judge) TooLittle(t *Test) bool {
	switch {
	case j.Base.Trades == 0:
		t.End(Inconclusive, string(stat.NoTrades), "there are no closed trades")
	case j.Base.Trades < artifact.SufficientTrades:
		t.Endf(Inconclusive, string(stat.Insufficient), "it takes %d closed trades and there are %d",
			artifact.SufficientTrades, j.Base.Trades)
	case j.Base.Sharpe == nil:
		t.End(Inconclusive, string(j.Base.Undefined), "the Sharpe ratio of the run is undefined")
	default:
		return false
	}
	return true
}

// Idle ends a test about profits when nothing was ever bought or sold.
func (j *Judge) Idle(t *Test) bool {
	if j.Base.Fills > 0 {
		return false
	}
	t.End(Inconclusive, string(stat.NoTrades), "nothing was bought or sold")
	return true
}

// Capped makes a warning of a pass that rests on a short sample.
func (j *Judge) Capped(t *Test) *Test {
	if t.Verdict == Pass && j.Base.T < stat.ShortSample {
		t.Endf(Warn, ShortSample, "it takes %d returns and there are %d", stat.ShortSample, j.Base.T)
	}
	return t
}

// Ratios are the Sharpe ratios of replays. One that failed or has none has earned
// nothing: 0.
func Ratios(list []Replay) []float64 {
	out := make([]float64, len(list))
	for i := range list {
		if list[i].Status == Completed && list[i].Sharpe != nil {
			out[i] = *list[i].Sharpe
		}
	}
	return out
}

// Median is the order statistic; there is at least one value.
func Median(x []float64) float64 {
	m, _ := stat.Quantile(x, 0.5)
	return m
}

func positive(x []float64) float64 {
	n := 0
	for _, v := range x {
		if v > 0 {
			n++
		}
	}
	return float64(n) / float64(len(x))
}

// Percent is a fraction in percent, never -0.0.
func Percent(x float64) string {
	return strconv.FormatFloat(math.Round(1000*x)/10+0, 'f', 1, 64) + " %"
}

// TwoDigits is x with two decimals.
func TwoDigits(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// Rounded is x with 12 significant digits, nil for nil.
func Rounded(x *float64) *float64 {
	if x == nil {
		return nil
	}
	r := metric.Round(*x)
	return &r
}

// Ptr is a pointer to x.
func Ptr(x float64) *float64 { return &x }

// Levels are the thresholds of p-values.
func (j *Judge) Levels() map[string]any {
	return map[string]any{"p_pass": j.Policy.PPass, "p_warn": j.Policy.PWarn}
}

// WithoutP marks the ratio and the p-value of a test as undefined.
func WithoutP(t *Test, why stat.Reason) *Test {
	t.Measure("sharpe_ratio", nil, why, ">", nil)
	t.Undefine("p_value", why)
	return t
}

// ByChance judges the p-value of the base among replicas without what is claimed. The
// replays behind them, nil where none can fail, are in the same order: one that failed
// counts as having reached the base, whatever its value. The threshold is the value that
// the base must exceed for a pass.
func (j *Judge) ByChance(t *Test, replicas []float64, behind []Replay) *Test {
	base, reached := *j.Base.Sharpe, 0
	for i, x := range replicas {
		if x >= base || behind != nil && behind[i].Status == Failed {
			reached++
		}
	}
	p := stat.ResampledP(reached, len(replicas))
	threshold, _ := stat.Quantile(replicas, 1-j.Policy.PPass) // there is at least one
	t.Measure("sharpe_ratio", &base, "", ">", &threshold)
	t.PValue = Rounded(&p)
	t.Params["smallest_p"] = stat.SmallestP(len(replicas))
	detail := fmt.Sprintf("by chance %d of %d did as well (p = %.2g)", reached, len(replicas), p)
	t.chance = &chance{detail, replicas}
	switch {
	case p <= j.Policy.PPass:
		t.End(Pass, "", "")
	case p <= j.Policy.PWarn:
		t.End(Warn, PNotSmall, detail)
	default:
		t.End(Fail, PNotSmall, detail)
	}
	return j.Capped(t)
}

// Unready ends a test of changed series or parameters that cannot be judged.
func (j *Judge) Unready(t *Test, list []Replay) bool {
	t.Measure("median_sharpe_ratio", nil, stat.Insufficient, ">=", nil)
	switch {
	case len(list) == 0 || AnyBroken(list):
		t.End(Error, HostError, "a replay could not be made")
	case !j.TooLittle(t):
		t.Undefined = nil
		return false
	}
	return true
}

// MedianAbove is what the median of changed series or parameters must exceed, whatever
// share of the base it is. It is policy, shown as such, and no field of the profile: there
// is nothing else to take.
const MedianAbove = 0.0

// Kept passes where the median is above 0 and reaches a share of the base, and a share of the
// values is above 0. A base that is not above 0 is inconclusive: losses reach a share of it.
func (j *Judge) Kept(t *Test, values []float64, above float64) *Test {
	m, base, share := Median(values), *j.Base.Sharpe, positive(values)
	t.Measure("median_sharpe_ratio", &m, "", ">=", Ptr(j.Policy.Keep*base))
	t.Params["share_positive"] = Rounded(&share)
	if policy, ok := t.Params["policy"].(map[string]any); ok {
		policy["median_above"] = MedianAbove
	}
	switch {
	case base <= 0:
		return t.Endf(Inconclusive, BaseNotPositive, "its own Sharpe ratio is %s: there is nothing to keep",
			TwoDigits(base))
	case m < j.Policy.Keep*base:
		t.Endf(Fail, SharpeFalls, "the median Sharpe ratio is %s, its own %s", TwoDigits(m), TwoDigits(base))
	case m <= MedianAbove:
		t.Endf(Fail, SharpeNegative, "the median Sharpe ratio is %s", TwoDigits(m))
	case share < above:
		t.Measure("share_positive", &share, "", ">=", &above)
		t.Endf(Fail, SharpeNegative, "only %s have a Sharpe ratio above 0", Percent(share))
	default:
		t.End(Pass, "", "")
	}
	return j.Capped(t)
}
