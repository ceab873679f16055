package replay

import (
	"slices"

	"github.com/assay-run/assay/lab/stat/random"
)

// cutsEach is how many cuts are made at decisions and how many anywhere. It is policy.
const cutsEach = 10

// Cuts are the steps after which the lookahead test cuts, ascending and distinct: ten of
// the decisions, which are steps, and ten of the steps [first, last). Where there are
// fewer decisions there are more of the others; where there are fewer steps than cuts,
// each is one. Stream: cuts, index 0.
func Cuts(decisions []int, first, last int, seed uint64) []int {
	stream := random.New(seed, random.Cuts, 0)
	inside := slices.DeleteFunc(slices.Clone(decisions), func(k int) bool { return k < first || k >= last })
	slices.Sort(inside)
	inside = slices.Compact(inside)
	stream.Shuffle(len(inside), func(i, j int) { inside[i], inside[j] = inside[j], inside[i] })
	out := inside[:min(cutsEach, len(inside))]
	want := min(2*cutsEach, max(last-first, 0))
	for len(out) < want {
		if k := first + stream.IntN(last-first); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
