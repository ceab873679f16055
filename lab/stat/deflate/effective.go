package deflate

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// NEff is how many of m trials count as independent when rho is the mean correlation of
// their series: rho + (1 - rho) m, with rho clipped to [0, 1]. Source: Bailey and Lopez
// de Prado (2014), appendix 3.
func NEff(m, rho float64) float64 {
	rho = min(max(rho, 0), 1)
	return rho + float64((1-rho)*m)
}

// NEffOf is NEff of trial series of one length, rows by observation and columns by
// trial, plus one for each trial that has no series. Constant series correlate with
// nothing. The reason is TooFewReturns when there are no trials at all.
func NEffOf(rows [][]float64, without int) (float64, stat.Reason) {
	if len(rows) == 0 || len(rows[0]) == 0 {
		if without == 0 {
			return 0, stat.TooFewReturns
		}
		return float64(without), ""
	}
	m := len(rows[0])
	if m == 1 {
		return float64(1 + without), ""
	}
	return NEff(float64(m), meanCorrelation(rows)) + float64(without), ""
}

// meanCorrelation is the mean over all pairs of columns. The correlations of all pairs
// add up to the squared length of the sum of the standardised columns, less the columns
// themselves: no pair is looked at.
func meanCorrelation(rows [][]float64) float64 {
	m := len(rows[0])
	sum := make([]stat.Accumulator, len(rows))
	column := make([]float64, len(rows))
	varying := 0
	for k := range m {
		for i, row := range rows {
			column[i] = row[k]
		}
		if stat.AllEqual(column) {
			continue
		}
		e := stat.Deviations(column)
		length := math.Sqrt(stat.Dot(e, e))
		if length == 0 {
			continue
		}
		varying++
		for i := range e {
			sum[i].Add(e[i] / length)
		}
	}
	var squares stat.Accumulator
	for i := range sum {
		v := sum[i].Value()
		squares.Add(float64(v * v))
	}
	return (squares.Value() - float64(varying)) / float64(m*(m-1))
}

// MostSeries is the largest correlation matrix of EffectiveRank, whose cost grows with
// the cube.
const MostSeries = 512

// EffectiveRank is exp of the entropy of the eigenvalues of a correlation matrix,
// divided by their sum: 1 when all series are one, n when they are independent.
// Eigenvalues below zero, which rounded or pairwise correlations may have, are left out.
// The reason is NotApplicable for a matrix that is empty or larger than MostSeries.
// Source: Roy and Vetterli (2007), The effective rank.
func EffectiveRank(corr [][]float64) (float64, stat.Reason) {
	if len(corr) == 0 || len(corr) > MostSeries {
		return 0, stat.NotApplicable
	}
	values := stat.Eigenvalues(corr)
	var total, entropy stat.Accumulator
	for _, v := range values {
		total.Add(max(v, 0))
	}
	for _, v := range values {
		if share := v / total.Value(); share > 0 {
			entropy.Add(-share * math.Log(share))
		}
	}
	return stat.Finite(math.Exp(entropy.Value()))
}
