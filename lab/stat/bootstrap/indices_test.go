package bootstrap_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/random"
)

func TestFollow(t *testing.T) {
	got := bootstrap.Follow(5, 2, []float64{0, .5, .49, .9, .9}, []int{4, 9, 1, 9, 9})
	if want := []int{4, 0, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := bootstrap.Follow(0, 2, nil, nil); len(got) != 0 {
		t.Error(got)
	}
}

// The draws of a replica are a start, then per observation a uniform and, where a block
// begins, another start: the order that every other implementation must keep.
func TestIndicesDrawInOrder(t *testing.T) {
	const n, block = 50, 4
	s := random.New(9, random.Bootstrap, 3)
	want := []int{s.IntN(n)}
	for len(want) < n {
		if s.Float64() < 1.0/block {
			want = append(want, s.IntN(n))
		} else {
			want = append(want, (want[len(want)-1]+1)%n)
		}
	}
	if got := bootstrap.Replicas(9, 5, n, block)[3]; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The mean length of a block is what was asked for, and 1 for anything below.
func TestMeanBlock(t *testing.T) {
	for _, block := range []float64{0.2, 1, 3, 10} {
		steps, starts := 0, 0
		for _, drawn := range bootstrap.Replicas(1, 200, 300, block) {
			for i := 1; i < len(drawn); i++ {
				steps++
				if drawn[i] != (drawn[i-1]+1)%300 {
					starts++
				}
			}
		}
		near(t, "block", float64(steps)/float64(starts), max(block, 1), .05*max(block, 1))
	}
}

func TestReplicasDoNotDependOnTheirNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, block := rapid.IntRange(1, 40).Draw(t, "n"), rapid.Float64Range(1, 20).Draw(t, "block")
		many := bootstrap.Replicas(7, 6, n, block)
		few := bootstrap.Replicas(7, 3, n, block)
		for i, drawn := range few {
			if !slices.Equal(drawn, many[i]) {
				t.Fatal("replica", i)
			}
			for _, at := range drawn {
				if at < 0 || at >= n {
					t.Fatal(at)
				}
			}
		}
	})
}
