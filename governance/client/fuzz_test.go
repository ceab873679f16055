package client

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/ledger"
)

// FuzzReadDocument reads what a plane may answer: it is about what was asked for, or refused.
func FuzzReadDocument(f *testing.F) {
	f.Add([]byte(`{"schema":"promotion-state/v1","subject_type":"family","subject_id":"a","as_of_seq":3,` +
		`"candidate_revision_id":"cr-1","stage":"paper","stage_status":"active","history":[{"seq":2,` +
		`"candidate_revision_id":"cr-1","to":"paper","status":"active"}]}`))
	f.Add([]byte(`{"schema":"promotion-state/v1","schema":"x"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := readDocument(text, []string{"promotion-state", "family", "a"})
		if err != nil {
			return
		}
		if d.SubjectType != "family" || d.SubjectID != "a" || d.AsOfSeq == nil {
			t.Fatalf("%+v", d)
		}
		if c, err := (&Reader{}).claimOf(text, d); err == nil && c.place != "" &&
			!strings.HasPrefix(c.place, d.Stage+"/") {
			t.Fatalf("%+v of %+v", c, d)
		}
	})
}

// FuzzAbout reads the statement of an entry.
func FuzzAbout(f *testing.F) {
	f.Add([]byte(`{"predicateType":"x","subject":[{"name":"cr-1","digest":{"sha256":"00"}}],` +
		`"predicate":{"to":"paper/active"}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		c := claim{index: 1, revision: "cr-1", place: "paper/active"}
		if place, err := c.about(ledger.Entry{Payload: payload}, "00"); place == nil && err == nil {
			t.Fatal("neither a place nor a reason")
		}
	})
}
