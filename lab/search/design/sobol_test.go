package design_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/search/design"
)

// The first points in three dimensions, as Joe and Kuo's own program prints them.
func TestFirstPoints(t *testing.T) {
	want := [][]float64{
		{0, 0, 0}, {.5, .5, .5}, {.75, .25, .25}, {.25, .75, .75}, {.375, .375, .625}, {.875, .875, .125},
		{.625, .125, .875}, {.125, .625, .375},
	}
	s, err := design.NewSobol(3)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if got := design.Unit(s.Next(), nil); !slices.Equal(got, w) {
			t.Errorf("point %d: %v, want %v", i, got, w)
		}
	}
}

// In every dimension the first 2^k points, shifted or not, hit each of 2^k equal strata
// once: no direction number of the table may be wrong for this to hold.
func TestEveryStratumOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, 10).Draw(t, "k")
		shift := rapid.SliceOfN(rapid.Uint32(), design.MostDimensions, design.MostDimensions).Draw(t, "shift")
		s, _ := design.NewSobol(design.MostDimensions)
		seen := make([][]bool, design.MostDimensions)
		for d := range seen {
			seen[d] = make([]bool, 1<<k)
		}
		for range 1 << k {
			for d, u := range design.Unit(s.Next(), shift) {
				at := int(u * float64(int(1)<<k))
				if u < 0 || u >= 1 || seen[d][at] {
					t.Fatalf("dimension %d: %v", d, u)
				}
				seen[d][at] = true
			}
		}
	})
}

// Property A of Joe and Kuo: the first bits of the first 2^d points reach every corner of
// the cube of d dimensions.
func TestPropertyA(t *testing.T) {
	const d = 12
	s, _ := design.NewSobol(d)
	seen := map[int]bool{}
	for range 1 << d {
		corner := 0
		for k, x := range s.Next() {
			corner |= int(x>>31) << k
		}
		seen[corner] = true
	}
	if len(seen) != 1<<d {
		t.Errorf("%d of %d corners", len(seen), 1<<d)
	}
}

func TestDimensions(t *testing.T) {
	for _, d := range []int{0, -1, design.MostDimensions + 1} {
		if _, err := design.NewSobol(d); err == nil {
			t.Errorf("%d dimensions", d)
		}
	}
}
