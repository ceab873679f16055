package indicator

import (
	"math"
	"testing"
)

func TestCrossings(t *testing.T) {
	cases := []struct {
		name         string
		a, b         []float64
		above, below bool
	}{
		{"up", []float64{1, 3}, []float64{2, 2}, true, false},
		{"down", []float64{3, 1}, []float64{2, 2}, false, true},
		{"up from touch", []float64{2, 3}, []float64{2, 2}, true, false},
		{"down from touch", []float64{2, 1}, []float64{2, 2}, false, true},
		{"up to touch", []float64{1, 2}, []float64{2, 2}, false, false},
		{"down to touch", []float64{3, 2}, []float64{2, 2}, false, false},
		{"stays above", []float64{3, 3}, []float64{2, 2}, false, false},
		{"both move", []float64{1, 2}, []float64{3, 1}, true, false},
		{"only the newest two count", []float64{9, 1, 3}, []float64{2, 2, 2}, true, false},
		{"no previous of a", []float64{3}, []float64{2, 2}, false, false},
		{"no previous of b", []float64{1, 3}, []float64{2}, false, false},
		{"nothing", nil, nil, false, false},
		{"not a number before", []float64{math.NaN(), 3}, []float64{2, 2}, false, false},
		{"not a number now", []float64{1, math.NaN()}, []float64{2, 2}, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var a, b Track
			for _, x := range c.a {
				a.Add(x)
			}
			for _, x := range c.b {
				b.Add(x)
			}
			if got := a.CrossedAbove(&b); got != c.above {
				t.Errorf("CrossedAbove: %v, want %v", got, c.above)
			}
			if got := a.CrossedBelow(&b); got != c.below {
				t.Errorf("CrossedBelow: %v, want %v", got, c.below)
			}
			if b.Count() < 2 || b.Value() != b.Previous() {
				return
			}
			if got := a.CrossedAboveLevel(b.Value()); got != c.above {
				t.Errorf("CrossedAboveLevel: %v, want %v", got, c.above)
			}
			if got := a.CrossedBelowLevel(b.Value()); got != c.below {
				t.Errorf("CrossedBelowLevel: %v, want %v", got, c.below)
			}
		})
	}
}

// A strategy holds its averages as plain fields and asks one about the other; the first
// candle that can report a crossing has index slow.
func TestCrossingOfFields(t *testing.T) {
	s := struct{ fast, slow SMA }{NewSMA(1), NewSMA(3)}
	for i, x := range []float64{5, 4, 3, 9, 1} {
		s.fast.Add(x)
		s.slow.Add(x)
		if got, want := s.fast.CrossedAbove(&s.slow), i == 3; got != want {
			t.Errorf("candle %d: CrossedAbove %v, want %v", i, got, want)
		}
		if got, want := s.fast.CrossedBelow(&s.slow), i == 4; got != want {
			t.Errorf("candle %d: CrossedBelow %v, want %v", i, got, want)
		}
	}
}

// Lines of different kinds can cross.
func TestCrossingOfKinds(t *testing.T) {
	var price Track
	bands := NewBollinger(4, 1)
	var crossed []int
	for i, x := range []float64{10, 11, 10, 11, 10, 20, 5} {
		price.Add(x)
		bands.Add(x)
		if price.CrossedAbove(bands.UpperLine()) || price.CrossedBelow(bands.LowerLine()) {
			crossed = append(crossed, i)
		}
	}
	if len(crossed) != 2 || crossed[0] != 5 || crossed[1] != 6 {
		t.Errorf("crossings of the bands at %v, want [5 6]", crossed)
	}
}
