package design

import (
	"fmt"
	"math/bits"
)

// MostDimensions is the largest dimension of a Sobol sequence.
const MostDimensions = 64

const wordBits = 32

// Sobol is the Sobol sequence with the direction numbers of Joe and Kuo, in Gray code
// order, point 0 (the origin) included. It is not safe for concurrent use.
type Sobol struct {
	directions [][wordBits]uint32
	at         []uint32
	drawn      uint64
}

// NewSobol begins the sequence of a dimension in 1..MostDimensions.
func NewSobol(dimensions int) (*Sobol, error) {
	if dimensions < 1 || dimensions > MostDimensions {
		return nil, fmt.Errorf("a Sobol sequence has 1 to %d dimensions, not %d", MostDimensions, dimensions)
	}
	s := &Sobol{directions: make([][wordBits]uint32, dimensions), at: make([]uint32, dimensions)}
	for i := range wordBits {
		s.directions[0][i] = 1 << (wordBits - 1 - i)
	}
	for k, init := range initials()[:dimensions-1] {
		s.directions[k+1] = init.directions()
	}
	return s, nil
}

// directions are the direction numbers v_1 .. v_32 as binary fractions, by the
// recurrence of Bratley and Fox (1988).
func (n initial) directions() [wordBits]uint32 {
	var v [wordBits]uint32
	for i := range v {
		if i < n.degree {
			v[i] = n.m[i] << (wordBits - 1 - i)
			continue
		}
		v[i] = v[i-n.degree] ^ v[i-n.degree]>>n.degree
		for k := 1; k < n.degree; k++ {
			if n.inner>>(n.degree-1-k)&1 == 1 {
				v[i] ^= v[i-k]
			}
		}
	}
	return v
}

// Next is the next point, a number per dimension in units of 2^-32. The sequence begins
// again at the origin after 2^32 points. The slice is the caller's.
func (s *Sobol) Next() []uint32 {
	out := append([]uint32(nil), s.at...)
	s.drawn++
	// Neighbours in Gray code differ in one bit, the lowest that is set in the count.
	flip := bits.TrailingZeros64(s.drawn)
	for k := range s.at {
		if flip < wordBits {
			s.at[k] ^= s.directions[k][flip]
		} else {
			s.at[k] = 0
		}
	}
	return out
}

// Unit is a point in [0, 1)^d, after an XOR with shift, which keeps all that makes the
// sequence even; nil shifts nothing.
func Unit(point, shift []uint32) []float64 {
	out := make([]float64, len(point))
	for k, x := range point {
		if shift != nil {
			x ^= shift[k]
		}
		out[k] = float64(x) * 0x1p-32
	}
	return out
}
