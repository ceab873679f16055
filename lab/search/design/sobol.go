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

// initial is where the direction numbers of one dimension begin: the degree of a
// primitive polynomial over GF(2), its inner coefficients as bits, and the first odd
// numbers m_1 .. m_degree.
type initial struct {
	degree, inner int
	m             []uint32
}

// initials are those of dimensions 2 to 64; dimension 1 needs none. Source: Joe and Kuo
// (2008), Constructing Sobol sequences with better two-dimensional projections, table
// new-joe-kuo-6.21201.
func initials() []initial {
	return []initial{
		{1, 0, []uint32{1}},
		{2, 1, []uint32{1, 3}},
		{3, 1, []uint32{1, 3, 1}},
		{3, 2, []uint32{1, 1, 1}},
		{4, 1, []uint32{1, 1, 3, 3}},
		{4, 4, []uint32{1, 3, 5, 13}},
		{5, 2, []uint32{1, 1, 5, 5, 17}},
		{5, 4, []uint32{1, 1, 5, 5, 5}},
		{5, 7, []uint32{1, 1, 7, 11, 19}},
		{5, 11, []uint32{1, 1, 5, 1, 1}},
		{5, 13, []uint32{1, 1, 1, 3, 11}},
		{5, 14, []uint32{1, 3, 5, 5, 31}},
		{6, 1, []uint32{1, 3, 3, 9, 7, 49}},
		{6, 13, []uint32{1, 1, 1, 15, 21, 21}},
		{6, 16, []uint32{1, 3, 1, 13, 27, 49}},
		{6, 19, []uint32{1, 1, 1, 15, 7, 5}},
		{6, 22, []uint32{1, 3, 1, 15, 13, 25}},
		{6, 25, []uint32{1, 1, 5, 5, 19, 61}},
		{7, 1, []uint32{1, 3, 7, 11, 23, 15, 103}},
		{7, 4, []uint32{1, 3, 7, 13, 13, 15, 69}},
		{7, 7, []uint32{1, 1, 3, 13, 7, 35, 63}},
		{7, 8, []uint32{1, 3, 5, 9, 1, 25, 53}},
		{7, 14, []uint32{1, 3, 1, 13, 9, 35, 107}},
		{7, 19, []uint32{1, 3, 1, 5, 27, 61, 31}},
		{7, 21, []uint32{1, 1, 5, 11, 19, 41, 61}},
		{7, 28, []uint32{1, 3, 5, 3, 3, 13, 69}},
		{7, 31, []uint32{1, 1, 7, 13, 1, 19, 1}},
		{7, 32, []uint32{1, 3, 7, 5, 13, 19, 59}},
		{7, 37, []uint32{1, 1, 3, 9, 25, 29, 41}},
		{7, 41, []uint32{1, 3, 5, 13, 23, 1, 55}},
		{7, 42, []uint32{1, 3, 7, 3, 13, 59, 17}},
		{7, 50, []uint32{1, 3, 1, 3, 5, 53, 69}},
		{7, 55, []uint32{1, 1, 5, 5, 23, 33, 13}},
		{7, 56, []uint32{1, 1, 7, 7, 1, 61, 123}},
		{7, 59, []uint32{1, 1, 7, 9, 13, 61, 49}},
		{7, 62, []uint32{1, 3, 3, 5, 3, 55, 33}},
		{8, 14, []uint32{1, 3, 1, 15, 31, 13, 49, 245}},
		{8, 21, []uint32{1, 3, 5, 15, 31, 59, 63, 97}},
		{8, 22, []uint32{1, 3, 1, 11, 11, 11, 77, 249}},
		{8, 38, []uint32{1, 3, 1, 11, 27, 43, 71, 9}},
		{8, 47, []uint32{1, 1, 7, 15, 21, 11, 81, 45}},
		{8, 49, []uint32{1, 3, 7, 3, 25, 31, 65, 79}},
		{8, 50, []uint32{1, 3, 1, 1, 19, 11, 3, 205}},
		{8, 52, []uint32{1, 1, 5, 9, 19, 21, 29, 157}},
		{8, 56, []uint32{1, 3, 7, 11, 1, 33, 89, 185}},
		{8, 67, []uint32{1, 3, 3, 3, 15, 9, 79, 71}},
		{8, 70, []uint32{1, 3, 7, 11, 15, 39, 119, 27}},
		{8, 84, []uint32{1, 1, 3, 1, 11, 31, 97, 225}},
		{8, 97, []uint32{1, 1, 1, 3, 23, 43, 57, 177}},
		{8, 103, []uint32{1, 3, 7, 7, 17, 17, 37, 71}},
		{8, 115, []uint32{1, 3, 1, 5, 27, 63, 123, 213}},
		{8, 122, []uint32{1, 1, 3, 5, 11, 43, 53, 133}},
		{9, 8, []uint32{1, 3, 5, 5, 29, 17, 47, 173, 479}},
		{9, 13, []uint32{1, 3, 3, 11, 3, 1, 109, 9, 69}},
		{9, 16, []uint32{1, 1, 1, 5, 17, 39, 23, 5, 343}},
		{9, 22, []uint32{1, 3, 1, 5, 25, 15, 31, 103, 499}},
		{9, 25, []uint32{1, 1, 1, 11, 11, 17, 63, 105, 183}},
		{9, 44, []uint32{1, 1, 5, 11, 9, 29, 97, 231, 363}},
		{9, 47, []uint32{1, 1, 5, 15, 19, 45, 41, 7, 383}},
		{9, 52, []uint32{1, 3, 7, 7, 31, 19, 83, 137, 221}},
		{9, 55, []uint32{1, 1, 1, 3, 23, 15, 111, 223, 83}},
		{9, 59, []uint32{1, 1, 5, 13, 31, 15, 55, 25, 161}},
		{9, 62, []uint32{1, 1, 3, 13, 25, 47, 39, 87, 257}},
	}
}
