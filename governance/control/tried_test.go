package control_test

import (
	"net/http"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/base/digest"
)

// withTrials gives a bundle candles of 2020 and a list of trials.
func withTrials(owner, slug string, names ...string) func(*bundle.Bundle) {
	const from, to = "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"
	return func(b *bundle.Bundle) {
		candles := digest.SHA256Hex([]byte("candles"))
		b.Data = []bundle.Dataset{{DatasetID: "x", SHA256: candles, Rows: 8784, Start: from, End: to}}
		b.Candidate.Owner, b.Candidate.Slug, b.Candidate.FamilyID = owner, slug, slug
		b.Candidate.CandidateID = slug + ".btc-usdt-1h"
		for _, name := range names {
			b.Trials.Tried = append(b.Trials.Tried, bundle.Trial{
				Key: digest.SHA256Hex([]byte(name)), RunID: "run_" + name, Candles: []string{candles},
				From: from, To: to,
			})
		}
		b.Trials.Looks = []bundle.Look{{Market: "market-x", SourceID: "run_a", From: from, To: to,
			Command: "compare"}}
	}
}

// TestAnotherFolderResetsNothing: a submission from another state directory, under another owner
// and slug, is judged by all trials that the plane has seen on its days, also after it was read
// back from the log.
func TestAnotherFolderResetsNothing(t *testing.T) {
	dir := t.TempDir()
	p := must[*planetest.Plane](t)(planetest.Open(planetest.Options{Dir: dir}))
	now := p.Now()
	var many []string
	for i := range 20 {
		many = append(many, string(rune('a'+i)))
	}
	submit(t, p, http.StatusCreated, planetest.Good(now, func(b *bundle.Bundle) {
		withTrials("ann", "search", many...)(b)
		b.Trials.FamilyTrials = 20
	}))
	doc := planetest.Good(now, withTrials("bob", "fresh", "z"), planetest.Params(`{"fast":12}`))
	submit(t, p, http.StatusCreated, doc)
	for range 2 {
		n := plan(t, p, doc, "paper").Numbers.Trials
		if n.Declared != 12 || n.Plane != 21 || n.SameCandles != 21 || n.Looks == nil || *n.Looks != 1 {
			t.Errorf("%+v", n)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p = must[*planetest.Plane](t)(planetest.Open(planetest.Options{Dir: dir}))
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
