package indicator

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactSum adds without any rounding and rounds once at the end.
func exactSum(xs []float64) float64 {
	total := new(big.Float).SetPrec(2400)
	for _, x := range xs {
		total.Add(total, new(big.Float).SetFloat64(x))
	}
	f, _ := total.Float64()
	return f
}

func TestSumIsRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	xs := make([]float64, 300)
	var s sum
	for i := range xs {
		xs[i] = (r.Float64() - 0.5) * math.Pow(2, float64(r.IntN(40)))
		s.add(xs[i])
		if want := exactSum(xs[:i+1]); s.hi != want {
			t.Fatalf("after %d values: %.17g, want %.17g", i+1, s.hi, want)
		}
	}
	for i := range xs {
		s.add(-xs[i])
	}
	if s != (sum{}) {
		t.Errorf("all values removed: %v left", s)
	}
}

func TestSumOfProductsKeepsTheLowPart(t *testing.T) {
	var s sum
	x := 1 + 0x1p-40 // x*x needs 81 bits
	s.addProduct(x, x)
	s.add(-1)
	s.add(-0x1p-39)
	if s.hi != 0x1p-80 {
		t.Errorf("got %g, want %g", s.hi, 0x1p-80)
	}
}

func TestWindowReturnsWhatItDrivesOut(t *testing.T) {
	w := newWindow(3)
	for i := range 10 {
		in, out := w.push(float64(i + 1))
		if want := max(0, float64(i-2)); in != float64(i+1) || out != want {
			t.Fatalf("push %d: in %g out %g, want out %g", i, in, out, want)
		}
		if w.full() != (i >= 2) {
			t.Fatalf("push %d: full is %v", i, w.full())
		}
		if want := float64(i - 1); w.full() && w.oldest() != want {
			t.Fatalf("push %d: oldest %g, want %g", i, w.oldest(), want)
		}
	}
}

func TestWindowMistrustsUntilTheBadValueLeft(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e200} {
		w := newWindow(3)
		for i, x := range []float64{1, bad, 2, 3, 4, 5} {
			w.push(x)
			if got, want := math.IsNaN(w.trusted(7)), i >= 1 && i <= 3; got != want {
				t.Errorf("%g, push %d: mistrusted %v, want %v", bad, i, got, want)
			}
		}
	}
}
