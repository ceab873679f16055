package promotion_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
)

// TestComparedByDay: a state shows a paper run beside its shadow by day, with what does not count named; days
// of earlier statements, which have no returns, are not compared. A key that is revoked says nothing any more.
func TestComparedByDay(t *testing.T) {
	p := strict(t)
	soak := p.soaked(bundle.RolePaper, 15)
	id := p.submit(p.good(with(soak)), signature("packer"))
	if s := p.state(id).Shadow; s.Compared != nil {
		t.Fatalf("%+v", s.Compared)
	}
	said := shadow(bundle.SourceImport, nil).predicate.(bundle.Shadow)
	run := bundle.ComparedRun{RunID: soak.RunID, Days: []bundle.ComparedDay{
		{Date: "2026-11-01", Fills: 1, Diverging: 1, Partial: bundle.PartialBegin}}}
	x := func(v float64) *float64 { return &v }
	first, _ := bundle.Day("2026-11-02")
	for i := range 33 {
		run.Days = append(run.Days, bundle.ComparedDay{Date: bundle.FormatDay(first.AddDate(0, 0, i)), Fills: 2,
			Return: x(0.5), ShadowReturn: x(0.5)})
	}
	run.Days[30].ShadowReturn = x(0.75)
	run.Days = append(run.Days, bundle.ComparedDay{Date: "2026-12-05", Partial: bundle.PartialCandles},
		bundle.ComparedDay{Date: "2026-12-06", Partial: bundle.PartialEnd})
	run.Fills, run.Diverging = 67, 1
	said.Compared = []bundle.ComparedRun{run}
	p.say(id, statement{"shadow-1", bundle.TypeShadow, said})
	list := p.state(id).Shadow.Compared
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "compared.json", string(text)+"\n")
	if got := fmt.Sprint(list[0].Beside); got != "33 whole days: +6.472e+07 %, its shadow +7.55e+07 %, "+
		"mean difference -0.7576 % a day, most on 2026-12-01 (-25 %); partial, not compared: 2026-11-01, 2026-12-05, 2026-12-06" {
		t.Error(got)
	}
	p.sameAgain(id)

	run.Days = []bundle.ComparedDay{{Date: "2026-11-03", Fills: 67, Diverging: 1}}
	said.Compared = []bundle.ComparedRun{run}
	p.now = p.now.Add(time.Hour)
	p.say(id, statement{"shadow-1", bundle.TypeShadow, said})
	if got := p.state(id).Shadow.Compared[0]; got.Whole != 0 || got.Return != nil || fmt.Sprint(got.Beside) !=
		"returns not compared" {
		t.Errorf("%+v", got)
	}
	p.trust(2, "2039-01-01T00:00:00Z", func(name string, k *bundle.TrustKey) {
		if name == "shadow-1" {
			k.Status = bundle.KeyRevoked
		}
	})
	if s := p.state(id).Shadow; s.Compared != nil {
		t.Errorf("%+v", s.Compared)
	}
}
