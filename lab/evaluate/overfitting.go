package evaluate

import (
	"strconv"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// The conventions of the overfitting block.
const (
	confidence   = 0.95
	replicas     = 999
	rulePolitisW = "politis_white"
)

// overfit is how far the Sharpe ratio of the stitched walk-forward can be trusted. A
// walk-forward too small to estimate ratios from has no estimates, only its length.
// Formulas: section 4 of lab-stats/1 (standard error of Mertens, PSR and MinTRL of 2012
// at a benchmark of 0, block length of Politis and White).
func overfit(in metric.Input, seed uint64) (*artifact.Overfitting, error) {
	returns, err := metric.MainReturns(in)
	if err != nil {
		return nil, err
	}
	o := &artifact.Overfitting{Basis: split.RoleWalkForward, T: len(returns.Return), Undefined: map[string]metric.Reason{}}
	e := estimates{o}
	if tooSmall(in) {
		e.none(stat.Insufficient)
		return o, nil
	}
	m, why := stat.Of(returns.Return)
	if why != "" {
		e.none(why)
		return o, nil
	}
	ratio, t, shape := m.Mean/m.SD, float64(m.N), sharpe.ShapeOf(m)
	o.SR, o.Skew, o.KurtRaw = rounded(ratio), rounded(m.Skew), rounded(m.Kurt)
	o.PSR0 = e.number("psr0")(sharpe.PSR2012(ratio, 0, t, shape))
	se, why := sharpe.SE(ratio, t, shape)
	o.SRSE = e.number("sr_se")(se, why)
	if o.SRSE == nil {
		o.Undefined["sr_ci95"] = why
	} else {
		z := stat.Z((1 + confidence) / 2)
		o.SRCI95 = &[2]float64{metric.Round(ratio - float64(z*se)), metric.Round(ratio + float64(z*se))}
	}
	o.EtaLag1 = e.number("eta_lag1")(stat.Lag1(returns.Return))
	o.MinTRLDays = e.days(returns, ratio, shape)
	block, why := bootstrap.PolitisWhite(returns.Return)
	if why != "" {
		o.Undefined["bootstrap"] = why
		return o, nil
	}
	o.Bootstrap = &artifact.Bootstrap{B: replicas, MeanBlock: metric.Round(block.Stationary), Rule: rulePolitisW, Seed: strconv.FormatUint(seed, 10)}
	return o, nil
}

// estimates fills an Overfitting and notes what is undefined.
type estimates struct{ of *artifact.Overfitting }

func (e estimates) none(why stat.Reason) {
	for _, name := range []string{"sr", "skew", "kurt_raw", "psr0", "sr_se", "sr_ci95", "eta_lag1", "min_trl_days", "bootstrap"} {
		e.of.Undefined[name] = why
	}
}

// number takes a statistic as it comes: a number or a reason.
func (e estimates) number(name string) func(float64, stat.Reason) *float64 {
	return func(x float64, why stat.Reason) *float64 {
		if why != "" {
			e.of.Undefined[name] = why
			return nil
		}
		return rounded(x)
	}
}

func (e estimates) days(returns metric.Returns, ratio float64, shape sharpe.Shape) *int64 {
	n, why := sharpe.MinTRL2012(ratio, 0, shape, confidence)
	var days int64
	if why == "" {
		days, why = returns.Days(n)
	}
	if why != "" {
		e.of.Undefined["min_trl_days"] = why
		return nil
	}
	return &days
}

func rounded(x float64) *float64 {
	x = metric.Round(x)
	return &x
}
