package sharpe

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// Shape is how far returns are from normal: skewness and raw kurtosis.
type Shape struct{ Skew, Kurt float64 }

// Normal is the shape of the normal distribution.
func Normal() Shape { return Shape{0, 3} }

// ShapeOf takes the shape from moments.
func ShapeOf(m stat.Moments) Shape { return Shape{m.Skew, m.Kurt} }

// Variance is V(s) = 1 - skew s + (kurt - 1)/4 s^2, T times the variance of the
// estimate of a Sharpe ratio s. It is below zero only for moments that no sample has.
// Source: Mertens (2002).
func (f Shape) Variance(s float64) float64 {
	return 1 - float64(f.Skew*s) + float64((f.Kurt-1)/4*float64(s*s))
}

// root is the square root of V(s)/divisor; NotApplicable unless both are positive.
func (f Shape) root(s, divisor float64) (float64, stat.Reason) {
	v := f.Variance(s)
	if !(v > 0) || !(divisor > 0) {
		return 0, stat.NotApplicable
	}
	return stat.Finite(math.Sqrt(v / divisor))
}

// SE is the standard error of a Sharpe ratio sr over t observations,
// sqrt(V(sr) / (t - 1)). The reason is NotApplicable for t <= 1 and for moments that no
// sample has. Source: Mertens (2002); Bailey and Lopez de Prado (2012).
func SE(sr, t float64, f Shape) (float64, stat.Reason) { return f.root(sr, t-1) }

// LoSE is the standard error of a Sharpe ratio of normal, independent returns over t
// observations, sqrt((1 + sr^2/2) / t). Source: Lo (2002), equation 9.
func LoSE(sr, t float64) (float64, stat.Reason) {
	if !(t > 0) {
		return 0, stat.NotApplicable
	}
	return stat.Finite(math.Sqrt((1 + float64(sr*sr/2)) / t))
}
