package control_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// handler is a plane without a socket.
func handler(t testing.TB, trust *bundle.Trust) (http.Handler, *store.Store) {
	t.Helper()
	now := func() time.Time { return planetest.Start }
	s, err := store.Open(t.Context(),
		store.Options{Dir: filepath.Join(t.TempDir(), "g"), Origin: planetest.Origin, Trust: trust, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return control.New(control.Options{Store: s, Now: now, Logger: hclog.NewNullLogger()}).Handler(), s
}

func posted(h http.Handler, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/candidate-bundles/ingest", bytes.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// flips posts a body with one bit of each byte changed, one at a time; with every bit changed
// if all is set.
func flips(body []byte, all bool, post func(i int, bit uint, bad []byte)) {
	var wg sync.WaitGroup
	n := runtime.GOMAXPROCS(0)
	for worker := range n {
		wg.Go(func() {
			for i := worker; i < len(body); i += n {
				for bit := range uint(8) {
					if !all && bit != uint(i/n)%8 {
						continue
					}
					bad := bytes.Clone(body)
					bad[i] ^= 1 << bit
					post(i, bit, bad)
				}
			}
		})
	}
	wg.Wait()
}

// TestTampering flips the bits of a signed post: none is taken.
func TestTampering(t *testing.T) {
	ring.Undetected(t, "it posts from one goroutine")
	h, s := handler(t, planetest.Trust(1, func(tr *bundle.Trust) { tr.RequireSignature = true }))
	doc := planetest.Good(planetest.Start)
	env, err := doc.Attest(bundle.TypeBundle, map[string]any{}, planetest.Key("packer"))
	if err != nil {
		t.Fatal(err)
	}
	body := must[[]byte](t)(bundle.EncodePost(doc.Canonical, env))
	size := s.Size()
	flips(body, ring.At() >= ring.Prove, func(i int, bit uint, bad []byte) {
		if w := posted(h, bad); w.Code/100 != 4 {
			t.Errorf("bit %d of byte %d of %q: %d %s", bit, i, around(body, i), w.Code, w.Body)
		}
	})
	if s.Size() != size {
		t.Errorf("the log grew by %d", s.Size()-size)
	}
	if w := posted(h, body); w.Code != http.StatusCreated {
		t.Errorf("unchanged: %s", w.Body)
	}
}

// TestTamperingUnsigned: of a post that nobody signed only what is outside of the core and
// bound to nothing can be changed: when, until when and by whom it was asked for.
func TestTamperingUnsigned(t *testing.T) {
	ring.Undetected(t, "it posts from one goroutine")
	h, s := handler(t, nil)
	// Nothing known beforehand: each accepted flip is a further submission of the same core.
	doc := planetest.Good(planetest.Start, planetest.Target(bundle.Research))
	if w := posted(h, doc.Canonical); w.Code != http.StatusCreated {
		t.Fatalf("%s", w.Body)
	}
	open := []string{`"requested_at":"`, `"expires_at":"`, `"requested_by":"`}
	var mu sync.Mutex
	taken := map[string]int{}
	flips(doc.Canonical, ring.At() >= ring.Prove, func(i int, bit uint, bad []byte) {
		w := posted(h, bad)
		if w.Code/100 == 4 {
			return
		}
		field := within(doc.Canonical, i, open)
		mu.Lock()
		defer mu.Unlock()
		taken[field]++
		if field == "" || w.Code/100 != 2 {
			t.Errorf("bit %d of byte %d of %q: %d %s", bit, i, around(doc.Canonical, i), w.Code, w.Body)
		}
	})
	if len(taken) == 0 || s.Damage() != nil {
		t.Errorf("nothing can be changed at all: %v", taken)
	}
}

// within is the name of the member whose text the byte belongs to.
func within(text []byte, i int, names []string) string {
	k := slices.IndexFunc(names, func(name string) bool {
		at := bytes.Index(text, []byte(name)) + len(name)
		return i >= at && i < at+bytes.IndexByte(text[at:], '"')
	})
	if k < 0 {
		return ""
	}
	return names[k]
}

func around(text []byte, i int) []byte { return text[max(0, i-20):min(len(text), i+20)] }
