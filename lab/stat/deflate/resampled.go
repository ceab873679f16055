package deflate

import (
	"context"
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// Maxima resamples the largest Sharpe ratio that a search has without skill: whole rows of
// its centred returns, so that what trials have in common, copies of each other and days
// with large moves stay as they are.
type Maxima struct {
	columns [][]float64
	rows    int
}

// NewMaxima takes a column for each trial, all of one length; none is changed. A column
// that is constant has no ratio and is never the best: it is left out.
func NewMaxima(columns [][]float64) *Maxima {
	m := &Maxima{}
	for _, x := range columns {
		m.rows = len(x)
		if len(x) > 1 && !stat.AllEqual(x) {
			m.columns = append(m.columns, stat.Deviations(x))
		}
	}
	return m
}

// lanes is how many replicas are made side by side, so that a return that has been fetched
// serves all of them.
const lanes = 4

// Reached counts the replicas whose largest ratio (ddof 1) is at least the given one, among
// the first b; draw is the rows of a replica. It ends early when it has been told, by how
// many have of how many, that this is enough; nil never says so. The error is only that of ctx.
func (m *Maxima) Reached(
	ctx context.Context,
	ratio float64,
	b int,
	draw func(replica int) []int,
	enough func(reached, of int) bool,
) (int, error) {
	counts := make([][lanes]float64, m.rows)
	reached := 0
	for first := 0; first < b && (first == 0 || enough == nil || !enough(reached, first)); first += lanes {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		clear(counts)
		wanted := min(lanes, b-first)
		for lane := range wanted {
			for _, at := range draw(first + lane) {
				counts[at][lane]++
			}
		}
		reached += m.reachedBy(ratio, counts, wanted)
	}
	return reached, nil
}

// dust is the share of a squared mean below which a variance is the rounding of days that are
// all equal in a replica: no ratio.
const dust = 1e-10

// reachedBy is how many of the wanted lanes have a column whose ratio is reached.
func (m *Maxima) reachedBy(ratio float64, counts [][lanes]float64, wanted int) int {
	n := float64(m.rows)
	var found [lanes]bool
	done := 0
	for _, x := range m.columns {
		sums, squares := resampledSums(x, counts)
		for lane := range wanted {
			mean := sums[lane] / n
			variance := max(0, squares[lane]-float64(sums[lane]*mean)) / (n - 1)
			has := variance > float64(dust*float64(mean*mean))
			if !found[lane] && has && mean >= float64(ratio*math.Sqrt(variance)) {
				found[lane] = true
				done++
			}
		}
		if done == wanted {
			break
		}
	}
	return done
}

// resampledSums are the sums of a column and of its squares in each lane. The lanes are
// written out: they are to stay in registers.
func resampledSums(x []float64, counts [][lanes]float64) (sums, squares [lanes]float64) {
	var s0, s1, s2, s3, q0, q1, q2, q3 float64
	counts = counts[:len(x)]
	for t, v := range x {
		c, w := &counts[t], float64(v*v)
		s0 += float64(c[0] * v)
		q0 += float64(c[0] * w)
		s1 += float64(c[1] * v)
		q1 += float64(c[1] * w)
		s2 += float64(c[2] * v)
		q2 += float64(c[2] * w)
		s3 += float64(c[3] * v)
		q3 += float64(c[3] * w)
	}
	return [lanes]float64{s0, s1, s2, s3}, [lanes]float64{q0, q1, q2, q3}
}

// Resampled is the deflated Sharpe ratio by resampling.
type Resampled struct {
	// Reached is how many of B replicas have a trial with at least the ratio.
	Reached, B int
	// P is how often a search without skill finds such a ratio, Probability 1 - P.
	P, Probability float64
}

// DSRMax deflates the ratio of one of the trials by what the best of all of them reaches in
// b replicas without skill, with draw as for Reached. Trials whose returns are not known
// count as independent ones: with u of them P is
//
//	1 - (1 - p) (1 - p1)^u
//
// for the p of the resampling and p1 = 1 - Phi(ratio sqrt(T)). There is at least one
// replica. The error is only that of ctx. Sources: White (2000), A Reality Check for Data
// Snooping; Romano and Wolf (2005), Stepwise Multiple Testing as Formalized Data Snooping;
// Sidak (1967) for u.
func (m *Maxima) DSRMax(
	ctx context.Context,
	ratio float64,
	b, u int,
	draw func(replica int) []int,
) (Resampled, error) {
	reached, err := m.Reached(ctx, ratio, b, draw, nil)
	if err != nil {
		return Resampled{}, err
	}
	p, alone := stat.ResampledP(reached, b), stat.Upper(float64(ratio*math.Sqrt(float64(m.rows))))
	if u > 0 {
		p = -math.Expm1(math.Log1p(-p) + float64(float64(u)*math.Log1p(-alone)))
	}
	return Resampled{Reached: reached, B: b, P: p, Probability: 1 - p}, nil
}
