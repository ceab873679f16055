package random_test

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat/random"
)

// The seed is written out here byte by byte, so that no change of it goes unnoticed.
func TestTheSeedOfAStream(t *testing.T) {
	sum := sha256.Sum256([]byte("assay/rng/v1\x0018446744073709551615\x00sobol-shift\x0042"))
	want := rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))
	got := random.New(math.MaxUint64, random.SobolShift, 42)
	for range 10 {
		if a, b := got.Uint64(), want.Uint64(); a != b {
			t.Fatalf("%x, want %x", a, b)
		}
	}
}

func TestDraws(t *testing.T) {
	a, b := random.New(1, random.Bootstrap, 0), random.New(1, random.Bootstrap, 0)
	if u := a.Float64(); u != float64(b.Uint64()>>11)/(1<<53) || u < 0 || u >= 1 {
		t.Error(u)
	}
	// An integer is rand.Uint64N of the same stream.
	words := random.New(1, random.Bootstrap, 0)
	words.Uint64()
	if got, want := a.IntN(10), rand.New(source{words}).Uint64N(10); uint64(got) != want {
		t.Errorf("%d, want %d", got, want)
	}
}

type source struct{ s *random.Stream }

func (s source) Uint64() uint64 { return s.s.Uint64() }

func TestShuffleIsFisherYatesFromTheEnd(t *testing.T) {
	a, b := random.New(3, random.Permute, 7), random.New(3, random.Permute, 7)
	want := []int{0, 1, 2, 3, 4, 5}
	for i := 5; i >= 1; i-- {
		j := b.IntN(i + 1)
		want[i], want[j] = want[j], want[i]
	}
	if got := a.Perm(6); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestNormal(t *testing.T) {
	s := random.New(5, random.Noise, 0)
	const n = 20000
	sum, squares := 0.0, 0.0
	for range n {
		z := s.Normal()
		if z <= -6 || z >= 6 {
			t.Fatal(z)
		}
		sum += z
		squares += z * z
	}
	if mean := sum / n; math.Abs(mean) > 4/math.Sqrt(n) {
		t.Error("mean", mean)
	}
	if v := squares / n; math.Abs(v-1) > .05 {
		t.Error("variance", v)
	}
}

// Neighbours in seed, purpose or index have nothing in common.
func TestStreamsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, index := rapid.Uint64Max(1<<60).Draw(t, "seed"), rapid.Uint64Max(1<<60).Draw(t, "index")
		first := map[uint64]bool{}
		for _, s := range []*random.Stream{
			random.New(seed, random.Cuts, index), random.New(seed+1, random.Cuts, index),
			random.New(seed, random.Poison, index),
			random.New(seed, random.Cuts, index+1), random.New(seed+1, random.Cuts, index+1),
		} {
			first[s.Uint64()] = true
		}
		if len(first) != 5 {
			t.Fatal("two streams begin with the same word")
		}
	})
}

func TestIntNOfNothing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	random.New(1, random.LHS, 0).IntN(0)
}
