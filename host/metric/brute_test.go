package metric

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const precision = 400

func num(x float64) *big.Float       { return new(big.Float).SetPrec(precision).SetFloat64(x) }
func zero() *big.Float               { return num(0) }
func add(a, b *big.Float) *big.Float { return zero().Add(a, b) }
func sub(a, b *big.Float) *big.Float { return zero().Sub(a, b) }
func mul(a, b *big.Float) *big.Float { return zero().Mul(a, b) }
func div(a, b *big.Float) *big.Float { return zero().Quo(a, b) }
func root(a *big.Float) *big.Float   { return zero().Sqrt(a) }

func asFloat(a *big.Float) float64 {
	f, _ := a.Float64()
	return f
}

// moment returns the mean of (x - c)^k.
func moment(xs []*big.Float, c *big.Float, k int) *big.Float {
	sum := zero()
	for _, x := range xs {
		p := num(1)
		for range k {
			p = mul(p, sub(x, c))
		}
		sum = add(sum, p)
	}
	return div(sum, num(float64(len(xs))))
}

func bruteReturns(levels []float64) []*big.Float {
	var out []*big.Float
	for k := 1; k < len(levels); k++ {
		out = append(out, sub(div(num(levels[k]), num(levels[k-1])), num(1)))
	}
	return out
}

// bruteDays groups by calendar date, as a reader of the rule would.
func bruteDays(c Curve) []float64 {
	var days []float64
	last := ""
	for i, e := range c.Equity {
		date := c.OpenTime[i].Time().Format(time.DateOnly)
		if date == last {
			days[len(days)-1] = e
		} else {
			days = append(days, e)
		}
		last = date
	}
	return days
}

// bruteDrawdown compares every pair of points.
func bruteDrawdown(levels []float64) float64 {
	worst := zero()
	for i := range levels {
		for j := i + 1; j < len(levels); j++ {
			if d := sub(num(1), div(num(levels[j]), num(levels[i]))); levels[j] < levels[i] &&
				d.Cmp(worst) > 0 {
				worst = d
			}
		}
	}
	return asFloat(worst)
}

func bruteDuration(c Curve) float64 {
	var longest market.Time
	for i, peak := range c.Equity {
		end := i
		for j := i + 1; j < len(c.Equity); j++ {
			end = j
			if c.Equity[j] >= peak {
				break
			}
		}
		if end > i && c.Equity[i+1] < peak {
			longest = max(longest, c.CloseTime[end]-c.CloseTime[i])
		}
	}
	return float64(longest) / 1000
}

func bruteRatios(rs []*big.Float, periods float64, suffix string) map[string]float64 {
	n, p := num(float64(len(rs))), num(periods)
	mean := moment(rs, zero(), 1)
	m2, m3, m4 := moment(rs, mean, 2), moment(rs, mean, 3), moment(rs, mean, 4)
	n1 := sub(n, num(1))
	std := root(div(mul(m2, n), n1))
	var losses []*big.Float
	for _, r := range rs {
		if r.Sign() > 0 {
			r = zero()
		}
		losses = append(losses, r)
	}
	out := map[string]float64{
		"sharpe_ratio" + suffix:  asFloat(mul(div(mean, std), root(p))),
		"sortino_ratio" + suffix: asFloat(mul(div(mean, root(moment(losses, zero(), 2))), root(p))),
		"volatility" + suffix:    asFloat(mul(std, root(p))),
	}
	if suffix == "" {
		s := div(mean, std)
		skew := div(m3, mul(m2, root(m2)))
		kurt := div(m4, mul(m2, m2))
		v := sub(num(1), mul(skew, s))
		v = div(add(v, mul(div(sub(kurt, num(1)), num(4)), mul(s, s))), n1)
		out["sharpe_stderr"] = asFloat(root(mul(v, p)))
		z := asFloat(div(s, root(v)))
		out["psr"] = (1 + math.Erf(z/math.Sqrt2)) / 2
	}
	return out
}

// Every number of the equity curve against exact arithmetic on random curves.
func TestAgainstExactArithmetic(t *testing.T) {
	const candles = 600
	for seed := range uint64(6) {
		c := walk(seed, candles, time.Hour)
		r := compute(t,
			Input{Timeframe: market.MustTimeframe("1h"), Calendar: Calendar24x7, Curves: []Curve{c}})
		days := bruteDays(c)
		want := bruteRatios(bruteReturns(days), 365, "")
		for key, x := range bruteRatios(bruteReturns(c.Equity), 8760, "_candle") {
			want[key] = x
		}
		want["max_drawdown"] = bruteDrawdown(c.Equity)
		want["max_drawdown_day"] = bruteDrawdown(days)
		want["max_drawdown_duration_seconds"] = bruteDuration(c)
		want["total_return"] = asFloat(sub(div(num(c.Equity[candles-1]), num(c.Equity[0])), num(1)))
		if c.CloseTime[candles-1]-c.OpenTime[0] >= 30*dayMillis {
			growth := days[len(days)-1] / days[0]
			cagr := math.Exp(math.Log(growth)*365/float64(len(days)-1)) - 1
			want["cagr"], want["calmar_ratio"] = cagr, cagr/want["max_drawdown"]
		}
		for key, x := range want {
			if got, ok := r.Metrics.Get(key); !ok || !near(got, x, 2e-11) {
				t.Errorf("seed %d: %s = %v (defined %v), want %v", seed, key, got, ok, x)
			}
		}
	}
}
