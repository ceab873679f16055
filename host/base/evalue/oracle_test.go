package evalue_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// oracleCase is what both sides work out.
type oracleCase struct {
	Bound                  float64
	Promised, Days, Random []float64
	Late                   []bool
}

// MarshalJSON writes each number with all its digits.
func (c *oracleCase) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{
		"bound": c.Bound, "promised": c.Promised, "days": c.Days, "random": c.Random, "late": c.Late,
	})
}

func oracleCases(n int) []*oracleCase {
	random := rand.New(rand.NewPCG(67, 4))
	var list []*oracleCase
	for i := range n {
		c := &oracleCase{Bound: []float64{0.01, 0.03, 0.5, 1}[i%4], Promised: []float64{}, Days: []float64{}, Random: []float64{}, Late: []bool{}}
		draw := func() float64 {
			if random.IntN(4) == 0 {
				return 0 // an idle day
			}
			return c.Bound * (0.1*float64(i%7) - 0.2 + 0.6*random.NormFloat64())
		}
		for range []int{0, 1, 2, 40}[random.IntN(4)] {
			c.Promised = append(c.Promised, draw())
		}
		for range random.IntN(120) {
			c.Days = append(c.Days, draw())
			c.Random = append(c.Random, random.Float64())
			c.Late = append(c.Late, random.IntN(8) == 0)
		}
		list = append(list, c)
	}
	return list
}

// TestProveOracle compares with exact fractions, in a program of another language.
func TestProveOracle(t *testing.T) {
	ring.Proof(t, "it runs Python")
	cases := oracleCases(60)
	asked, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/oracle.py")
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(asked), &complaint
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("make prove needs Python 3.11 or newer: %v\n%s", err, complaint.String())
	}
	var want [][3]float64
	if err := json.Unmarshal(text, &want); err != nil || len(want) != len(cases) {
		t.Fatalf("%v in %s", err, text)
	}
	ruined := 0
	for i, c := range cases {
		p, d, f := process(t, c.Bound, c.Promised...), ofReturns(c.Promised), ofFills(c.Promised)
		for k, x := range c.Days {
			p.Add(x, c.Late[k])
			d.Add(x, c.Random[k])
			f.Add(x, c.Random[k])
		}
		if p.Ruined() {
			ruined++
		}
		for k, got := range [3]float64{p.Value(), d.Value(), f.Value()} {
			if math.Abs(got-want[i][k]) > 1e-12*math.Abs(want[i][k]) {
				t.Errorf("case %d, number %d: %v, in fractions %v", i, k, got, want[i][k])
			}
		}
	}
	if ruined == 0 || ruined == len(cases) {
		t.Errorf("%d of %d cases end beyond the bound", ruined, len(cases))
	}
}
