package control_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
)

// plane starts a plane that ends with the test.
func plane(t *testing.T, o planetest.Options) *planetest.Plane {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "governance")
	}
	p, err := planetest.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// get reads a path that answers.
func get(t *testing.T, p *planetest.Plane, path string, into any) planetest.Answer {
	t.Helper()
	a := must[planetest.Answer](t)(p.Get(path))
	if a.Status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
	}
	if into != nil {
		if err := a.Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// submit posts a bundle with statements, which must be answered with this status.
func submit(t *testing.T, p *planetest.Plane, want int, doc *bundle.Document,
	said ...planetest.Statement) planetest.Answer {
	t.Helper()
	a := must[planetest.Answer](t)(p.Submit(doc, said...))
	if a.Status != want {
		t.Fatalf("post: %d %s, want %d", a.Status, a.Body, want)
	}
	return a
}

func state(t *testing.T, p *planetest.Plane, doc *bundle.Document) *promotion.State {
	t.Helper()
	s := &promotion.State{}
	get(t, p, "/promotion-state/candidate_revision/"+doc.Bundle.CandidateRevisionID, s)
	return s
}

func stands(t *testing.T, p *planetest.Plane, doc *bundle.Document, want string) {
	t.Helper()
	s := state(t, p, doc)
	if got := string(s.Stage) + "/" + string(s.StageStatus); got != want {
		t.Fatalf("stands at %s, want %s", got, want)
	}
}
