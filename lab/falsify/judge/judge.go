package judge

import (
	"fmt"
	"math"
	"strconv"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
)

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

// begin is a test with the thresholds that it uses, marked as policy.
func (j *Judge) begin(id string, replays int, policy map[string]any) *Test {
	t := blank(id)
	t.NReplays = replays
	if len(policy) > 0 {
		t.Params["policy"] = policy
	}
	return t
}

// tooLittle ends a test that compares Sharpe ratios when the base has too few closed
// trades for its own to mean something.
func (j *Judge) tooLittle(t *Test) bool {
	switch {
	case j.Base.Trades == 0:
		t.end(Inconclusive, string(stat.NoTrades), "there are no closed trades")
	case j.Base.Trades < artifact.SufficientTrades:
		t.end(Inconclusive, string(stat.Insufficient),
			fmt.Sprintf("it takes %d closed trades and there are %d", artifact.SufficientTrades,
				j.Base.Trades))
	case j.Base.Sharpe == nil:
		t.end(Inconclusive, string(j.Base.Undefined), "the Sharpe ratio of the run is undefined")
	default:
		return false
	}
	return true
}

// idle ends a test about profits when nothing was ever bought or sold.
func (j *Judge) idle(t *Test) bool {
	if j.Base.Fills > 0 {
		return false
	}
	t.end(Inconclusive, string(stat.NoTrades), "nothing was bought or sold")
	return true
}

// capped makes a warning of a pass that rests on a short sample.
func (j *Judge) capped(t *Test) *Test {
	if t.Verdict == Pass && j.Base.T < stat.ShortSample {
		t.end(Warn, ShortSample, fmt.Sprintf("it takes %d returns and there are %d", stat.ShortSample,
			j.Base.T))
	}
	return t
}

// ratios are the Sharpe ratios of replays. One that failed or has none has earned
// nothing: 0.
func ratios(list []Replay) []float64 {
	out := make([]float64, len(list))
	for i := range list {
		if list[i].Status == Completed && list[i].Sharpe != nil {
			out[i] = *list[i].Sharpe
		}
	}
	return out
}

// median is the order statistic; there is at least one value.
func median(x []float64) float64 {
	m, _ := stat.Quantile(x, 0.5)
	return m
}

// positive is the share of values above 0.
func positive(x []float64) float64 {
	n := 0
	for _, v := range x {
		if v > 0 {
			n++
		}
	}
	return float64(n) / float64(len(x))
}

// percent never says -0.0.
func percent(x float64) string {
	return strconv.FormatFloat(math.Round(1000*x)/10+0, 'f', 1, 64) + " %"
}

func two(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
