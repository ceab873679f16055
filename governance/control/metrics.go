package control

import (
	_ "embed"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/exposition"
)

// The outcomes of an ingest: something new was taken, or nothing of it was new, or it was
// refused, or the plane could not do it.
const (
	ingestAccepted = iota
	ingestDuplicate
	ingestRefused
	ingestFailed
	ingestOutcomes
)

func outcomes() [ingestOutcomes]string {
	return [ingestOutcomes]string{"accepted", "duplicate", "refused", "failed"}
}

// newRequests counts the requests of these routes.
func newRequests(routes []edge.Route) *exposition.Requests {
	codes := []int{http.StatusOK, http.StatusCreated, http.StatusNotModified, http.StatusBadRequest}
	codes = append(codes, slices.Collect(maps.Values(statuses))...)
	var paths []string
	for _, r := range routes {
		paths = append(paths, r.Path)
	}
	return exposition.NewRequests("governance", paths, codes)
}

// getMetrics is the page for Prometheus. It is read anew each time.
func (p *Plane) getMetrics(requests *exposition.Requests) (*answer, error) {
	var places map[promotion.Place]int
	err := p.store.Look(func(w *promotion.World, _ ledger.View) error {
		places = w.Places()
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &exposition.Text{}
	t.Family("governance_ingests_total", "counter", "Posted bundles by what came of them.")
	for i, outcome := range outcomes() {
		t.Sample("governance_ingests_total", float64(p.ingests[i].Load()), "outcome", outcome)
	}
	t.Single("governance_log_entries", "gauge", "Entries of the log.", float64(p.store.Size()))
	t.Family("governance_revisions", "gauge", "Candidate revisions by stage and status.")
	byText := func(a, b promotion.Place) int { return strings.Compare(a.String(), b.String()) }
	for _, at := range slices.SortedFunc(maps.Keys(places), byText) {
		t.Sample("governance_revisions", float64(places[at]),
			"stage", string(at.Stage), "status", string(at.Status))
	}
	requests.Write(t)
	return &answer{raw: t.Bytes(), contentType: "text/plain; version=0.0.4; charset=utf-8"}, nil
}

//go:embed openapi.json
var spec []byte

// getSpec is the OpenAPI document of the routes.
func (p *Plane) getSpec(*request) (*answer, error) { return &answer{raw: spec, tag: true}, nil }
