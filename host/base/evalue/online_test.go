package evalue_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/evalue"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// discoveries is online e-BH as its definition reads, in exact fractions: the largest k for which at
// least k claims have E_i >= level i (i+1) / k, and these claims.
func discoveries(level int64, claims []evalue.Claim) map[int64]bool {
	at := func(k int64) map[int64]bool {
		found := map[int64]bool{}
		for _, c := range claims {
			bar := big.NewRat(level*c.Place*(c.Place+1), k)
			if new(big.Rat).SetFloat64(c.E).Cmp(bar) >= 0 {
				found[c.Place] = true
			}
		}
		return found
	}
	for k := int64(len(claims)); k > 0; k-- {
		if found := at(k); int64(len(found)) >= k {
			return found
		}
	}
	return nil
}

func without(claims []evalue.Claim, i int) []evalue.Claim {
	return append(append([]evalue.Claim{}, claims[:i]...), claims[i+1:]...)
}

// TestOnlineByHand has two claims that neither reaches its bar alone, and reach it together.
func TestOnlineByHand(t *testing.T) {
	first, second := evalue.Claim{Place: 1, E: 20}, evalue.Claim{Place: 2, E: 60}
	for _, c := range []struct {
		place  int64
		others []evalue.Claim
		bar    float64
		k      int64
	}{
		{1, nil, 40, 1}, {2, nil, 120, 1}, {20, nil, 8400, 1},
		{1, []evalue.Claim{second}, 20, 2}, {2, []evalue.Claim{first}, 60, 2}, // ties count
		{2, []evalue.Claim{{Place: 1, E: 19.999}}, 120, 1},
		{3, []evalue.Claim{first, second}, 80, 3},
		{3, []evalue.Claim{first, {Place: 2}}, 120, 2}, // the place of one that died stays taken
	} {
		if bar, k := evalue.OnlineBar(20, c.place, c.others); bar != c.bar || k != c.k {
			t.Errorf("claim %d among %v: %v at %d, want %v at %d", c.place, c.others, bar, k, c.bar, c.k)
		}
	}
}

// TestOnlineIsItsDefinition: who reaches the bar is who the definition discovers.
func TestOnlineIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.Int64Range(1, 40).Draw(t, "level")
		var claims []evalue.Claim
		for place := int64(1); place <= 30; place++ {
			if rapid.IntRange(0, 3).Draw(t, "gap") == 0 {
				continue // of another packer, or a copy
			}
			c := float64(level * place * (place + 1))
			// Eighths are exact, and no bar is within rounding of one that it is not equal to.
			e := math.Floor(c*rapid.SampledFrom([]float64{0, 0.04, 0.1, 0.25, 0.5, 1, 2}).Draw(t, "e")*8) / 8
			claims = append(claims, evalue.Claim{Place: place, E: e})
		}
		want := discoveries(level, claims)
		for i, c := range claims {
			bar, k := evalue.OnlineBar(float64(level), c.Place, without(claims, i))
			if got := c.E >= bar; got != want[c.Place] || got && int(k) != len(want) {
				t.Fatalf("claim %d with E %v, bar %v at %d; the definition has %v", c.Place, c.E, bar, k, want)
			}
			// Less evidence of others never lowers a bar.
			if len(claims) > 1 {
				less := without(claims, i)
				less[0].E /= 2
				if b, _ := evalue.OnlineBar(float64(level), c.Place, less); b < bar {
					t.Fatalf("the bar of %d fell from %v to %v", c.Place, bar, b)
				}
			}
		}
	})
}

// stream is claims that are sealed one after another and weighed each day.
type stream struct {
	null    []bool
	weights []*evalue.Process
}

// passed are, by the current E, the discoveries of online e-BH, and the claims with E of 20 i.
func (s *stream) passed() (online, each map[int64]bool) {
	claims := make([]evalue.Claim, len(s.weights))
	online, each = map[int64]bool{}, map[int64]bool{}
	for i, w := range s.weights {
		claims[i] = evalue.Claim{Place: int64(i) + 1, E: w.Value()}
	}
	for i, c := range claims {
		if bar, _ := evalue.OnlineBar(evalue.LiveBar, c.Place, without(claims, i)); c.E >= bar {
			online[c.Place] = true
		}
		if c.E >= evalue.LiveBar*float64(c.Place) {
			each[c.Place] = true
		}
	}
	return online, each
}

// falseShare is the share of nulls in a set, 0 for an empty one.
func (s *stream) falseShare(found map[int64]bool) float64 {
	wrong := 0
	for place := range found {
		if s.null[place-1] {
			wrong++
		}
	}
	return float64(wrong) / float64(max(1, len(found)))
}

// TestProveOnline measures the false discovery rate of a packer who seals a claim every twenty days for
// two years and waits for 1,000 days, at the end and at the day that an enemy would choose: the first with a false discovery. Half
// of the noise of a day is common to all claims.
func TestProveOnline(t *testing.T) {
	ring.Proof(t, "it plays some hundred thousand days of claims")
	const claims, every, days, streams = 40, 20, 1000, 300
	for _, c := range []struct {
		name    string
		planted float64 // share of claims
		power   float64 // the least share of planted ones that are found at the end
	}{{"nulls", 0, 0}, {"one in five has Sharpe ratio 4", 0.2, 0.2}, {"half have Sharpe ratio 4", 0.5, 0.5}} {
		random := rand.New(rand.NewPCG(2407, 20683))
		var atEnd, atWorst, eachEnd, found, eachFound, planted float64
		anyEach := 0
		for range streams {
			s := &stream{}
			worst, wrongEach := 0.0, false
			for day := range days {
				if day%every == 0 && len(s.weights) < claims {
					s.weights = append(s.weights, process(t, 0.03))
					s.null = append(s.null, random.Float64() >= c.planted)
				}
				common := random.NormFloat64()
				for i, w := range s.weights {
					x := 0.01 * math.Sqrt(0.5) * (common + random.NormFloat64())
					if !s.null[i] {
						x += 0.01 * 4 / math.Sqrt(365)
					}
					w.Add(max(-0.06, min(0.06, x)), false)
				}
				if worst > 0 || day%10 != 0 { // an enemy who looks every tenth day
					continue
				}
				online, each := s.passed()
				worst = s.falseShare(online)
				wrongEach = wrongEach || s.falseShare(each) > 0
			}
			online, each := s.passed()
			atEnd, eachEnd = atEnd+s.falseShare(online), eachEnd+s.falseShare(each)
			if worst == 0 {
				worst = s.falseShare(online)
			}
			atWorst += worst
			if wrongEach {
				anyEach++
			}
			for i, null := range s.null {
				if null {
					continue
				}
				planted++
				if online[int64(i)+1] {
					found++
				}
				if each[int64(i)+1] {
					eachFound++
				}
			}
		}
		t.Logf("%s: false discovery rate %.1f %% at the end, %.1f %% where an enemy stops; found %.0f %%; "+
			"20 i: %.1f %% at the end, any false one in %.1f %% of streams, found %.0f %%", c.name,
			100*atEnd/streams, 100*atWorst/streams, 100*found/max(1, planted),
			100*eachEnd/streams, 100*float64(anyEach)/streams, 100*eachFound/max(1, planted))
		bound := 0.05 + 3*math.Sqrt(0.05*0.95/streams)
		if atEnd/streams > bound || atWorst/streams > bound {
			t.Errorf("%s: the rate is %.3f at the end, %.3f where an enemy stops", c.name, atEnd/streams, atWorst/streams)
		}
		if planted > 0 && found/planted < c.power {
			t.Errorf("%s: %.2f of the planted ones are found", c.name, found/planted)
		}
	}
}
