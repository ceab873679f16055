package evalue

// Claim is one of a stream of claims: its place from 1, which no later one changes, and its
// evidence.
type Claim struct {
	Place int64
	E     float64
}

// OnlineBar is how large the evidence of the claim at a place has to be for online e-BH to count
// it among its discoveries, and how many these are with it. level is the reciprocal of the false
// discovery rate; others are the other claims of the stream, each at a place of its own.
//
// Online e-BH (Fischer, Xu and Ramdas 2024, arXiv 2407.20683) gives claim i the weight
// g_i = 1/(i (i+1)), which add up to 1, and discovers at any time
//
//	{i: E_i >= level / (k g_i)}, k = max{k: #{i: E_i >= level / (k g_i)} >= k}
//
// The mean share of false ones among them is at most 1/level whatever the dependence, when one
// looks at a fixed time or at a stopping time: it is at most the sum over true nulls of
// g_i E_i / level. Every E_i is the process of its claim at that time, so it may fall again, and
// its discovery with it. A claim counted with less evidence than it has keeps the bound.
//
// The bar does not depend on the claim's own evidence: a claim is discovered if and only if it
// reaches the bar at the k that there would be with it.
func OnlineBar(level float64, place int64, others []Claim) (bar float64, discoveries int64) {
	n := int64(len(others)) + 1
	from := make([]int64, n+1) // how many others count from k discoveries on
	for _, c := range others {
		if k := fewest(level, c, n); k <= n {
			from[k]++
		}
	}
	k, count := int64(1), int64(1)
	for i := int64(1); i <= n; i++ {
		if count += from[i]; count >= i {
			k = i
		}
	}
	return barAt(level, place, k), k
}

// barAt is what the claim at a place has to reach among k discoveries.
func barAt(level float64, place, k int64) float64 {
	return float64(level*float64(float64(place)*float64(place+1))) / float64(k)
}

// fewest is with how many discoveries a claim is one of them, n+1 for more than n.
func fewest(level float64, c Claim, n int64) int64 {
	low, high := int64(1), n+1
	for low < high {
		middle := (low + high) / 2
		if c.E >= barAt(level, c.Place, middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
