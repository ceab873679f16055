package evalue_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/evalue"
)

func process(t testing.TB, bound float64, promised ...float64) *evalue.Process {
	t.Helper()
	p, err := evalue.NewProcess(bound, promised)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestByHand is two days worked out by hand: b = 0.05, so L = 10; nothing was promised.
func TestByHand(t *testing.T) {
	p := process(t, 0.05)
	p.Add(0.02, false) // no bet yet; constants 1.2, 1.1, 1.05, 1.025, 1.0125, 1.00625
	if got, want := p.Value(), 0.5+(1.2+1.1+1.05+1.025+1.0125+1.00625)/12; math.Abs(got-want) > 1e-15 {
		t.Errorf("after one day %v, want %v", got, want)
	}
	p.Add(-0.01, false) // the bet is 0.02/0.0004 = 50, cut to 10
	want := 0.9/2 + (1.2*0.9+1.1*0.95+1.05*0.975+1.025*0.9875+1.0125*0.99375+1.00625*0.996875)/12
	if got := p.Value(); math.Abs(got-want) > 1e-15 || p.Days() != 2 {
		t.Errorf("after two days %v, want %v", got, want)
	}
}

func TestBets(t *testing.T) {
	p := process(t, 0.05, 0.01, 0.03) // mean 0.02, variance 0.0002: 0.6 / 0.006 = 100, cut to 10
	p.Add(0.01, false)
	q := process(t, 0.05, -0.01, -0.03) // promises a loss: no bet
	q.Add(0.01, false)
	if d := p.Value() - q.Value(); math.Abs(d-0.05) > 1e-15 {
		t.Errorf("the promise moves the first day by %v, want 0.05", d)
	}
	for _, bound := range []float64{0, -0.1, 1.01, math.NaN(), math.Inf(1)} {
		if _, err := evalue.NewProcess(bound, nil); err == nil {
			t.Errorf("a bound of %v is taken", bound)
		}
	}
	if _, err := evalue.NewProcess(0.1, []float64{math.NaN()}); err == nil {
		t.Error("a promise that is no number is taken")
	}
}

func TestBeyondTheBound(t *testing.T) {
	for _, x := range []float64{-0.1000001, math.NaN(), math.Inf(1), math.Inf(-1)} {
		p := process(t, 0.05)
		p.Add(0.5, false)
		p.Add(x, false)
		p.Add(0.5, false)
		if p.Value() != 0 || !p.Ruined() {
			t.Errorf("after %v it is %v", x, p.Value())
		}
	}
	p := process(t, 0.05)
	p.Add(-0.1, false) // exactly twice the bound: the largest bet is lost, the others live
	if p.Ruined() || !(p.Value() > 0) {
		t.Errorf("at the bound it is %v", p.Value())
	}
}

// TestLateDays: a day that came late never makes the evidence larger.
func TestLateDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.SliceOfN(rapid.Float64Range(-0.1, 0.1), 1, 50).Draw(t, "days")
		late := process(&testing.T{}, 0.05)
		before := 1.0
		for _, x := range days {
			late.Add(x, true)
			if late.Value() > before {
				t.Fatalf("it grew from %v to %v", before, late.Value())
			}
			before = late.Value()
		}
	})
}

// TestScale: returns and bound in another unit give the same evidence.
func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.SliceOfN(rapid.Float64Range(-0.1, 0.1), 1, 100).Draw(t, "days")
		promised := rapid.SliceOfN(rapid.Float64Range(-0.1, 0.1), 0, 20).Draw(t, "promised")
		a := process(&testing.T{}, 0.05, promised...)
		for i := range promised {
			promised[i] /= 4
		}
		b := process(&testing.T{}, 0.05/4, promised...)
		for _, x := range days {
			a.Add(x, false)
			b.Add(x/4, false)
		}
		if a.Value() != b.Value() { // powers of two change no digit
			t.Fatalf("%v and %v", a.Value(), b.Value())
		}
	})
}

// TestVille: without an edge the evidence reaches 20 in at most 5 of 100 paths, however long
// one looks, by a fixed seed. Losses are within twice the bound.
func TestVille(t *testing.T) {
	paths := 2000
	random := rand.New(rand.NewPCG(18, 67))
	draws := map[string]func() float64{
		"gaussian, cut": func() float64 { return max(-0.1, min(0.1, 0.02*random.NormFloat64())) },
		"rare large losses": func() float64 {
			if random.IntN(21) == 0 {
				return -0.1
			}
			return 0.005 // 20 * 0.005 = 0.1: the mean is 0
		},
		"coin": func() float64 { return 0.1 * float64(1-2*random.IntN(2)) },
	}
	for name, draw := range draws {
		reached := 0
		for range paths {
			p := process(t, 0.05, 0.01, 0.012, 0.008) // a promise that is not kept
			for range 500 {
				if p.Add(draw(), false); p.Value() >= evalue.LiveBar {
					reached++
					break
				}
			}
		}
		if share := float64(reached) / float64(paths); share > 0.05+3*math.Sqrt(0.05*0.95/float64(paths)) {
			t.Errorf("%s: %.1f %% of paths reach 20", name, 100*share)
		}
	}
}

// TestEdge: an edge is found.
func TestEdge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 100 {
		p := process(t, 0.03)
		for range 730 {
			p.Add(max(-0.06, 0.0021+0.01*random.NormFloat64()), false) // an annual Sharpe ratio of 4
		}
		if p.Value() >= evalue.LiveBar {
			found++
		}
	}
	if found < 95 {
		t.Errorf("found in %d of 100", found)
	}
}

// drift is a test with its ranks.
type drift struct {
	*evalue.Ranks
	*evalue.Drift
}

func (d drift) Add(x, random float64) (p float64) {
	p = d.Ranks.Add(x, random)
	d.Drift.Add(p)
	return p
}

func ofReturns(reference []float64) drift {
	return drift{evalue.NewRanks(reference), evalue.NewDrift()}
}

func ofFills(reference []float64) drift {
	return drift{evalue.NewRanks(reference), evalue.NewFillsDrift()}
}

func TestDriftByHand(t *testing.T) {
	d := ofReturns([]float64{3, 1, 2})
	if p := d.Add(0, 0.5); p != 0.125 { // none below, one equal: itself; 0.5 of 4
		t.Errorf("p is %v", p)
	}
	if p := d.Add(2, 0.5); p != (2+0.5*2)/5 { // 0 and 1 below; 2 and itself equal
		t.Errorf("p is %v", p)
	}
	if p := d.Add(math.NaN(), 0.5); p != 0.5/6 {
		t.Errorf("p is %v", p)
	}
	d = ofReturns(nil)
	d.Drift.Add(0.125)
	d.Drift.Add(0.6)
	want := ((1+0.75/8)*(1-0.2/8) + (1+0.75/4)*(1-0.2/4) + (1+0.75/2)*(1-0.2/2)) / 3
	if got := d.Value(); math.Abs(got-want) > 1e-15 {
		t.Errorf("D is %v, want %v", got, want)
	}
	f := ofFills(nil)
	f.Add(7, 0)
	if f.Value() != 1 { // 1.5 and 0.5
		t.Errorf("%v", f.Value())
	}
}

// TestRanks: only the order of days matters, and the order in which the reference is given does not.
func TestRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reference := rapid.SliceOfN(rapid.Float64Range(-1, 1), 0, 30).Draw(t, "reference")
		days := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 30).Draw(t, "days")
		var mapped []float64
		for i := len(reference) - 1; i >= 0; i-- {
			mapped = append(mapped, 2*reference[i])
		}
		a, b := ofReturns(reference), ofReturns(mapped)
		for i, x := range days {
			u := evalue.Uniform("test", string(rune(i)))
			if p, q := a.Add(x, u), b.Add(2*x, u); p != q || p < 0 || p >= 1 {
				t.Fatalf("p is %v and %v", p, q)
			}
		}
		if a.Value() != b.Value() {
			t.Fatalf("%v and %v", a.Value(), b.Value())
		}
	})
}

// TestDriftIsATest: days like those before reach 20 in at most 5 of 100 paths, worse ones soon.
func TestDriftIsATest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 67))
	share := func(mean float64, bar float64, fills bool) float64 {
		reached, paths := 0, 600
		for range paths {
			var before []float64
			for range 100 {
				before = append(before, math.Round(10*random.NormFloat64()))
			}
			d := ofReturns(before)
			if fills {
				d = ofFills(before)
			}
			for range 300 {
				if d.Add(math.Round(mean+10*random.NormFloat64()), random.Float64()); d.Value() >= bar {
					reached++
					break
				}
			}
		}
		return float64(reached) / float64(paths)
	}
	for name, got := range map[string]float64{
		"returns": share(0, evalue.DriftBar, false), "fills": share(0, evalue.FillsBar, true),
	} {
		if got > 0.077 {
			t.Errorf("%s: %.1f %% of paths reach the bar without a change", name, 100*got)
		}
	}
	for name, got := range map[string]float64{
		"worse": share(-5, evalue.DriftBar, false), "fewer": share(-7, evalue.FillsBar, true),
		"more": share(7, evalue.FillsBar, true),
	} {
		if got < 0.9 {
			t.Errorf("%s: found in %.0f %%", name, 100*got)
		}
	}
	if got := share(5, evalue.DriftBar, false); got > 0.05 {
		t.Errorf("better days are suspended in %.1f %%", 100*got)
	}
}

func TestUniform(t *testing.T) {
	if evalue.Uniform("ab", "c") == evalue.Uniform("a", "bc") {
		t.Error("where a text ends does not matter")
	}
	if got := evalue.Uniform("shadow", "2026-01-01"); got != evalue.Uniform("shadow", "2026-01-01") || got < 0 || got >= 1 {
		t.Error(got)
	}
	sum := 0.0
	for i := range 10000 {
		sum += evalue.Uniform("n", string(rune(i)))
	}
	if mean := sum / 10000; math.Abs(mean-0.5) > 0.01 {
		t.Errorf("the mean is %v", mean)
	}
}
