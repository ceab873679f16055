package stat

import (
	"math"
	"slices"
)

// Eigenvalues are the eigenvalues of a symmetric matrix, descending; the matrix is not
// changed. Only its lower half is trusted to be symmetric with the upper. Source: the
// cyclic Jacobi method, Golub and Van Loan, Matrix Computations, section 8.5.
func Eigenvalues(matrix [][]float64) []float64 {
	n := len(matrix)
	a := make([][]float64, n)
	norm := 0.0
	for i := range a {
		a[i] = slices.Clone(matrix[i])
		norm += Dot(a[i], a[i])
	}
	for sweep := 0; sweep < 60 && offDiagonal(a) > 1e-32*norm; sweep++ {
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotate(a, p, q)
			}
		}
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = a[i][i]
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// offDiagonal is the sum of the squares above the diagonal.
func offDiagonal(a [][]float64) float64 {
	sum := 0.0
	for i := range a {
		for _, v := range a[i][i+1:] {
			sum += v * v
		}
	}
	return sum
}

// rotate makes a[p][q] zero. Rows are worked on, and mirrored into columns.
func rotate(a [][]float64, p, q int) {
	if a[p][q] == 0 {
		return
	}
	theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := 1 / (math.Abs(theta) + math.Hypot(theta, 1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	app, aqq, apq := a[p][p], a[q][q], a[p][q]
	rp, rq := a[p], a[q]
	for k := range a {
		if k == p || k == q {
			continue
		}
		x, y := rp[k], rq[k]
		rp[k], rq[k] = c*x-s*y, s*x+c*y
		a[k][p], a[k][q] = rp[k], rq[k]
	}
	rp[p], rq[q] = app-t*apq, aqq+t*apq
	rp[q], rq[p] = 0, 0
}
