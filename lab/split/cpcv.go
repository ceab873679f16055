package split

import "math"

// Folds is one choice of combinatorial purged cross-validation: the test folds and
// what is left to train on, as ascending half-open ranges of candles.
type Folds struct {
	// Chosen are the numbers of the test folds.
	Chosen      []int
	Test, Train [][2]int
}

// Folded are the C(N, k) choices of a cpcv scheme over n candles, in lexicographic
// order. Purge candles are dropped from training on both sides of a test block,
// embargo candles after it besides. Source: Lopez de Prado, Advances in Financial
// Machine Learning (2018), chapter 12.
func (s *Scheme) Folded(n, holding int) ([]Folds, error) {
	folds, chosen, purge := s.folds(), s.testFolds(), s.purge(holding)
	embargo := (n + 99) / 100
	if s.Embargo != nil {
		embargo = *s.Embargo
	}
	if c := choices(folds, chosen); c > maxSplits {
		return nil, bad("/n_folds", "and n_test_folds make more than %d splits", maxSplits)
	}
	size := n / folds
	if purge+embargo >= size-1 {
		return nil, bad("/embargo", "and purge take %d candles of folds that have %d", purge+embargo, size)
	}
	// The last fold takes the remainder.
	fold := func(i int) [2]int {
		if i == folds-1 {
			return [2]int{i * size, n}
		}
		return [2]int{i * size, (i + 1) * size}
	}
	var out []Folds
	combinations(folds, chosen, func(test []int) {
		f := Folds{Chosen: append([]int(nil), test...)}
		for _, i := range test {
			f.Test = append(f.Test, fold(i))
		}
		f.Train = training(n, f.Test, purge, embargo)
		out = append(out, f)
	})
	return out, nil
}

// Paths is how many full paths the choices of a cpcv scheme put together: k/N C(N,k).
func (s *Scheme) Paths() int {
	return int(math.Round(choices(s.folds(), s.testFolds()) * float64(s.testFolds()) / float64(s.folds())))
}

// training is [0, n) without the test blocks and their surroundings. Neighbouring
// test folds are one block.
func training(n int, test [][2]int, purge, embargo int) [][2]int {
	var out [][2]int
	from := 0
	for i, block := range test {
		if to := block[0] - purge; to > from {
			out = append(out, [2]int{from, to})
		}
		if i+1 < len(test) && test[i+1][0] == block[1] {
			from = block[1]
			continue
		}
		from = block[1] + purge + embargo
	}
	if from < n {
		out = append(out, [2]int{from, n})
	}
	return out
}

// choices is C(n, k) as a float, which cannot overflow.
func choices(n, k int) float64 {
	c := 1.0
	for i := 1; i <= k; i++ {
		c = c * float64(n-k+i) / float64(i)
	}
	return math.Round(c)
}

// combinations calls use with every k of 0..n-1 in lexicographic order.
func combinations(n, k int, use func([]int)) {
	at := make([]int, k)
	for i := range at {
		at[i] = i
	}
	for {
		use(at)
		i := k - 1
		for i >= 0 && at[i] == n-k+i {
			i--
		}
		if i < 0 {
			return
		}
		at[i]++
		for j := i + 1; j < k; j++ {
			at[j] = at[j-1] + 1
		}
	}
}
