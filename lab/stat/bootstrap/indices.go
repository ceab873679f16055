package bootstrap

import "github.com/assay-run/assay/lab/stat/random"

// Follow is the recursion of the stationary bootstrap over n observations: the first
// index is starts[0]; afterwards uniforms[i] < 1/meanBlock begins a new block at
// starts[i], anything else takes the next index, the first after the last. uniforms and
// starts have n entries, starts in [0, n); uniforms[0] is not used. Source: Politis and
// Romano (1994).
func Follow(n int, meanBlock float64, uniforms []float64, starts []int) []int {
	return recurse(n, meanBlock, func(i int) float64 { return uniforms[i] }, func(i int) int { return starts[i] })
}

// Indices is one replica: n indices in [0, n) drawn from a stream of its own. A mean
// block below 1 counts as 1, the bootstrap of independent observations.
func Indices(s *random.Stream, n int, meanBlock float64) []int {
	return recurse(n, meanBlock, func(int) float64 { return s.Float64() }, func(int) int { return s.IntN(n) })
}

// Replicas are b replicas of a seed, replica i from the stream bootstrap/i.
func Replicas(seed uint64, b, n int, meanBlock float64) [][]int {
	out := make([][]int, b)
	for i := range out {
		out[i] = Indices(random.New(seed, random.Bootstrap, uint64(i)), n, meanBlock)
	}
	return out
}

func recurse(n int, meanBlock float64, uniform func(int) float64, start func(int) int) []int {
	if n == 0 {
		return nil
	}
	p := 1 / max(meanBlock, 1)
	out := make([]int, n)
	out[0] = start(0)
	for i := 1; i < n; i++ {
		if uniform(i) < p {
			out[i] = start(i)
		} else if out[i] = out[i-1] + 1; out[i] == n {
			out[i] = 0
		}
	}
	return out
}
