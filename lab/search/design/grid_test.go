package design_test

import (
	"slices"
	"testing"

	"github.com/assay-run/assay/lab/search/design"
)

func TestGrid(t *testing.T) {
	var got [][]int
	design.Grid([]int{2, 3}, func(at []int) { got = append(got, slices.Clone(at)) })
	want := [][]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}
	if !slices.EqualFunc(got, want, func(a, b []int) bool { return slices.Equal(a, b) }) {
		t.Error(got)
	}
	for _, c := range []struct {
		sizes []int
		want  int
	}{
		{nil, 1}, {[]int{5}, 5}, {[]int{5, 0}, 0}, {[]int{1 << 40, 1 << 40, 0}, 0},
		{[]int{1000, 100}, 100000}, {[]int{1000, 101}, 100001}, {[]int{1 << 62, 1 << 62}, 100001},
	} {
		if got := design.GridSize(c.sizes); got != c.want {
			t.Errorf("%v: %d, want %d", c.sizes, got, c.want)
		}
		if c.want < 10 {
			n := 0
			if design.Grid(c.sizes, func([]int) { n++ }); n != c.want {
				t.Errorf("%v: %d points", c.sizes, n)
			}
		}
	}
}
