package deflate

import (
	"context"
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// NEff is how many of m trials count as independent when rho is the mean correlation of
// their series: rho + (1 - rho) m, with rho clipped to [0, 1]. Source: Bailey and Lopez
// de Prado (2014), appendix 3.
func NEff(m, rho float64) float64 {
	rho = clip(rho)
	return rho + float64((1-rho)*m)
}

// Alike is how many of some trials count as independent, and the mean correlation of their
// series, clipped to [0, 1].
type Alike struct{ NEff, Correlation float64 }

// AlikeOf has NEff of trial series, plus one for each trial that has none. The mean
// correlation is that over all pairs, on the rows that two trials share: pairs that share
// too few, and constant series, correlate with nothing. The reason is TooFewReturns when
// there are no trials at all, the error only that of ctx.
func AlikeOf(ctx context.Context, columns []Column, without int) (Alike, stat.Reason, error) {
	m := len(columns)
	if m+without == 0 {
		return Alike{}, stat.TooFewReturns, nil
	}
	if m < 2 {
		return Alike{NEff: float64(m + without)}, "", nil
	}
	var sum stat.Accumulator
	err := meet(ctx, columns, groupsOf(columns), func(pair meeting) error {
		correlation, err := pair.correlation(ctx)
		sum.Add(correlation)
		return err
	})
	if err != nil {
		return Alike{}, "", err
	}
	rho := clip(sum.Value() / (float64(m) * float64(m-1) / 2))
	return Alike{NEff(float64(m), rho) + float64(without), rho}, "", nil
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
