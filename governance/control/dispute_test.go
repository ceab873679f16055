package control_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/dsse"
)

// disputed is what the replayer says of the first day that fetched has stated.
func disputed(doc *bundle.Document, first time.Time, edit func(*bundle.Dispute)) planetest.Statement {
	end := first.Add(24 * time.Hour)
	p := bundle.Dispute{Common: planetest.Common(doc, end.Add(27*time.Hour)), Event: bundle.DisputeOpen,
		Exchange: "binance", Symbols: doc.Bundle.Strategy.Symbols, Timeframe: "1h",
		Chunks: []bundle.DisputedChunk{{Date: bundle.FormatDay(first), Chunk: strings.Repeat("c", 64),
			Own: strings.Repeat("d", 64), OwnRows: 24}},
		Fetches: []bundle.ShadowFetch{{Symbol: doc.Bundle.Strategy.Symbols[0], From: bundle.FormatTime(first),
			To: bundle.FormatTime(end), Rows: 24, RequestedAt: bundle.FormatTime(end.Add(time.Hour)),
			Page: strings.Repeat("a", 64), Connector: "binance", Version: "1.0.0", SHA256: strings.Repeat("b", 64)}}}
	if edit != nil {
		edit(&p)
	}
	return planetest.Statement{By: "replayer", Type: bundle.TypeDispute, Predicate: p}
}

// TestDisputesInTheLog: the plane takes a dispute of a second key once, refuses the others with their
// reasons, and comes to the same from its log.
func TestDisputesInTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "governance")
	trust := planetest.Trust(1, func(t *bundle.Trust) {
		t.Keys = append(t.Keys, planetest.TrustKey("shadow-1", "shadow-1", bundle.TrustShadow))
	})
	p := must[*planetest.Plane](t)(planetest.Open(planetest.Options{Dir: dir, Trust: trust}))
	doc := planetest.Good(p.Now())
	submit(t, p, http.StatusCreated, doc, planetest.Signed())
	first := bundle.FirstShadowDay(p.Now())
	p.Advance(first.Add(2*24*time.Hour + 4*time.Hour).Sub(p.Now()))
	submit(t, p, http.StatusCreated, doc, fetched(doc, first, nil))

	own := disputed(doc, first, nil)
	own.By = "shadow-1"
	refusedFor(t, p, doc, own, "INVALID_DISPUTE", bundle.ReasonOwnChunk)
	stranger := disputed(doc, first, nil)
	stranger.By = "otto"
	refusedFor(t, p, doc, stranger, "INVALID_ATTESTATION", "role")
	refusedFor(t, p, doc, disputed(doc, first, func(p *bundle.Dispute) {
		p.Chunks[0].Chunk = strings.Repeat("e", 64)
	}), "INVALID_DISPUTE", bundle.ReasonUnknown)
	refusedFor(t, p, doc, disputed(doc, first, func(p *bundle.Dispute) {
		p.Fetches[0].Endpoint = "127.0.0.1:8080"
	}), "INVALID_DISPUTE", bundle.ReasonUnfetched)

	good := disputed(doc, first, nil)
	submit(t, p, http.StatusCreated, doc, good)
	submit(t, p, http.StatusOK, doc, good) // the same bytes again
	refusedFor(t, p, doc, disputed(doc, first, func(p *bundle.Dispute) { p.Reason = "once more" }),
		"INVALID_DISPUTE", bundle.ReasonRepeated)
	before := state(t, p, doc)
	if before.Shadow.Days != 1 || before.Shadow.InDispute != 1 || before.Shadow.Disputes[0].Principal != "replayer" {
		t.Errorf("%+v", before.Shadow)
	}
	var list promotion.ShadowChunks
	a := must[planetest.Answer](t)(p.Get("/shadow-chunks/" + bundle.FormatDay(first)))
	key := must[string](t)(dsse.KeyID(planetest.Key("replayer").Public()))
	if err := json.Unmarshal(a.Body, &list); err != nil || len(list.Chunks) != 2 ||
		!reflect.DeepEqual(list.Chunks[0].DisputedBy, []string{key}) {
		t.Errorf("%s, %v", a.Body, err)
	}
	if a := must[planetest.Answer](t)(p.Get("/shadow-chunks/today")); a.Code() != "INVALID_FIELD" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = must[*planetest.Plane](t)(planetest.Open(planetest.Options{Dir: dir, Trust: trust}))
	p.Advance(first.Add(2*24*time.Hour + 4*time.Hour).Sub(p.Now()))
	if after := state(t, p, doc); !reflect.DeepEqual(after, before) {
		t.Errorf("%+v, before %+v", after.Shadow, before.Shadow)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if different, err := store.Rebuild(t.Context(), store.Place{Dir: dir}, true); err != nil || len(different) > 0 {
		t.Errorf("%v, %v", different, err)
	}
}
