// Package random makes the random streams of the lab: one stream for every seed,
// purpose and index, so that replica 17 draws the same numbers whoever computes it,
// when, and beside how many others.
//
// A stream is Go's PCG, seeded from a hash of the three: neighbouring seeds, purposes
// and indices have nothing in common. There is no way to get a stream from the clock
// or to share one. Nothing here needs math.Exp or math.Log, so every CPU draws the
// same. The package imports the standard library only.
//
// It is a package of its own because designs, bootstraps and replays draw from it and import
// nothing else.
package random

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
)

// Purpose is what a stream is for.
type Purpose string

// The purposes.
const (
	Cuts          Purpose = "cuts"
	Holds         Purpose = "holds"
	Poison        Purpose = "poison"
	Noise         Purpose = "noise"
	Gaps          Purpose = "gaps"
	Neighbourhood Purpose = "neighbourhood"
	Literals      Purpose = "literals"
	RandomEntry   Purpose = "random_entry"
	Permute       Purpose = "permute"
	Segments      Purpose = "segments"
	Bootstrap     Purpose = "bootstrap"
	TradeShuffle  Purpose = "trade_shuffle"
	Random        Purpose = "random"
	LHS           Purpose = "lhs"
	SobolShift    Purpose = "sobol-shift"
	Calibrate     Purpose = "calibrate"
	DSRMax        Purpose = "dsr_max"
)

// Stream draws random numbers. It is not safe for concurrent use: take one per replica.
type Stream struct{ rng *rand.Rand }

// New is the stream of a seed, a purpose and an index, which is the number of the
// replica.
func New(seed uint64, purpose Purpose, index uint64) *Stream {
	text := []byte("assay/rng/v1\x00")
	text = append(strconv.AppendUint(text, seed, 10), 0)
	text = append(append(text, purpose...), 0)
	text = strconv.AppendUint(text, index, 10)
	digest := sha256.Sum256(text)
	return &Stream{
		rand.New(rand.NewPCG(binary.BigEndian.Uint64(digest[:8]), binary.BigEndian.Uint64(digest[8:16])))}
}

// Uint64 is 64 random bits.
func (s *Stream) Uint64() uint64 { return s.rng.Uint64() }

// Float64 is uniform in [0, 1), a multiple of 2^-53.
func (s *Stream) Float64() float64 { return float64(s.rng.Uint64()>>11) * 0x1p-53 }

// IntN is uniform in [0, n); it panics unless n > 0.
func (s *Stream) IntN(n int) int {
	if n <= 0 {
		panic("random: IntN of a number that is not positive")
	}
	return int(s.rng.Uint64N(uint64(n)))
}

// Normal is the sum of twelve uniforms less 6: mean 0, variance 1, inside (-6, 6).
func (s *Stream) Normal() float64 {
	z := -6.0
	for range 12 {
		z += s.Float64()
	}
	return z
}

// Shuffle puts n things into random order, from the last index down (Fisher-Yates).
func (s *Stream) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, s.IntN(i+1))
	}
}

// Perm is a random order of 0 .. n-1.
func (s *Stream) Perm(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	s.Shuffle(n, func(i, j int) { p[i], p[j] = p[j], p[i] })
	return p
}
