package metric

import "math"

func ratioMetrics() []Metric {
	return []Metric{
		{
			Key: "sharpe_ratio", Unit: Ratio, Estimate: true,
			Doc:  "Annualised mean return over its standard deviation, risk-free rate 0, on the main sample.",
			eval: func(f *facts) (float64, Reason) { return f.main.sharpe() },
		},
		{
			Key: "sharpe_ratio_candle", Unit: Ratio, Estimate: true,
			Doc:  "The Sharpe ratio of candle returns.",
			eval: func(f *facts) (float64, Reason) { return f.candle.sharpe() },
		},
		{
			Key: "sortino_ratio", Unit: Ratio, Estimate: true,
			Doc:  "Annualised mean return over the root mean square of the negative returns, taken over all returns.",
			eval: func(f *facts) (float64, Reason) { return f.main.sortino() },
		},
		{
			Key: "sortino_ratio_candle", Unit: Ratio, Estimate: true,
			Doc:  "The Sortino ratio of candle returns.",
			eval: func(f *facts) (float64, Reason) { return f.candle.sortino() },
		},
		{
			Key: "volatility", Unit: Fraction, Estimate: true,
			Doc:  "Annualised standard deviation of the returns of the main sample.",
			eval: func(f *facts) (float64, Reason) { return f.main.volatility() },
		},
		{
			Key: "volatility_candle", Unit: Fraction, Estimate: true,
			Doc:  "Annualised standard deviation of candle returns.",
			eval: func(f *facts) (float64, Reason) { return f.candle.volatility() },
		},
		{
			Key: "sharpe_stderr", Unit: Ratio, Estimate: true,
			Doc:  "Standard error of sharpe_ratio, allowing for skewed and fat-tailed returns.",
			eval: func(f *facts) (float64, Reason) { return f.main.sharpeStdErr() },
		},
		{
			Key: "psr", Unit: Fraction, Estimate: true, CPUDependent: true,
			Doc:  "Probability that the true Sharpe ratio is above 0, given the returns of the main sample.",
			eval: func(f *facts) (float64, Reason) { return f.main.psr() },
		},
	}
}

// dispersed says whether the returns vary enough to divide by their deviation.
func (s *sample) dispersed() Reason {
	switch {
	case s.n < 2:
		return TooFewReturns
	case s.allEqual:
		return ZeroVariance
	}
	return ""
}

func (s *sample) sharpe() (float64, Reason) {
	if why := s.dispersed(); why != "" {
		return 0, why
	}
	return s.mean / s.std * math.Sqrt(s.periods), ""
}

func (s *sample) sortino() (float64, Reason) {
	if !s.losing {
		return 0, NoLosses
	}
	return s.mean / s.downside * math.Sqrt(s.periods), ""
}

func (s *sample) volatility() (float64, Reason) {
	if s.n < 2 {
		return 0, TooFewReturns
	}
	return s.std * math.Sqrt(s.periods), ""
}

// sharpeVariance is the Sharpe ratio per return and the variance of its estimate.
func (s *sample) sharpeVariance() (ratio, variance float64) {
	ratio = s.mean / s.std
	tails := float64((s.kurt - 1) / 4 * float64(ratio*ratio))
	variance = (1 - float64(s.skew*ratio) + tails) / float64(s.n-1)
	// Never negative but for rounding, since kurt >= skew^2 + 1.
	return ratio, max(variance, 0)
}

func (s *sample) sharpeStdErr() (float64, Reason) {
	if why := s.dispersed(); why != "" {
		return 0, why
	}
	_, variance := s.sharpeVariance()
	return math.Sqrt(float64(variance * s.periods)), ""
}

func (s *sample) psr() (float64, Reason) {
	if why := s.dispersed(); why != "" {
		return 0, why
	}
	ratio, variance := s.sharpeVariance()
	return math.Erfc(-ratio/math.Sqrt(variance)/math.Sqrt2) / 2, ""
}
