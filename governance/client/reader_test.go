package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// between is a proxy before a real plane which changes answers, or gives none.
type between struct {
	*httptest.Server
	change atomic.Pointer[func(path string, body map[string]any)]
	hang   atomic.Bool
}

// changes lets the proxy change what it passes on.
func (b *between) changes(f func(path string, body map[string]any)) { b.change.Store(&f) }

func front(t *testing.T, p *planetest.Plane) *between {
	t.Helper()
	target, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	b := &between{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: func(r *http.Response) error {
			text, err := io.ReadAll(r.Body)
			var body map[string]any
			if f := b.change.Load(); f != nil && *f != nil && json.Unmarshal(text, &body) == nil {
				(*f)(r.Request.URL.Path, body)
				text, err = json.Marshal(body)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Del("Content-Length")
			return err
		},
		Transport: &http.Transport{DisableKeepAlives: true},
	}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.hang.Load() {
			<-r.Context().Done()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	return b
}

// reading is a reader that remembers what kept points to, with a clock that the test sets.
func reading(t *testing.T, p *planetest.Plane, address string, kept **translog.Kept,
	now *time.Time) *client.Reader {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	r, err := client.NewReader(client.ReaderOptions{URL: address, Key: p.Store.Keys().Public.PEM(),
		HTTP: &http.Client{Transport: transport}, Now: func() time.Time { return *now },
		Seen: func() (*translog.Kept, error) { return *kept, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// remember is the checkpoint of a plane as a host keeps it.
func remember(t *testing.T, p *planetest.Plane) *translog.Kept {
	t.Helper()
	note, err := p.Get("/checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	key := p.Store.LogKey()
	at, err := translog.OpenCheckpoint(string(note.Body), key)
	if err != nil {
		t.Fatal(err)
	}
	return translog.Keep(*at, key, string(note.Body))
}

// submit brings a revision to paper.
func submit(t *testing.T, p *planetest.Plane, title string) string {
	t.Helper()
	doc := planetest.Good(p.Now(), planetest.Title(title), planetest.Params(`{"title":"`+title+`"}`))
	if a, err := p.Submit(doc, planetest.Signed()); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%v %s", err, a.Body)
	}
	return doc.Bundle.CandidateRevisionID
}

const revision = "candidate_revision"

func TestReader(t *testing.T) {
	p := open(t)
	id := submit(t, p, "first")
	var kept *translog.Kept
	now := p.Now()
	r, ctx := reading(t, p, p.URL, &kept, &now), t.Context()
	paths := [][]string{{"promotion-state", revision, id}, {"promotion-plans", revision, id, "canary"},
		{"pending-experiments", revision, id}, {"pending-experiments", revision, id, "canary"},
		{"promotion-state", "family", "sma-cross"}, {client.Registry, "sma-cross"}}
	look := func() {
		t.Helper()
		for _, path := range paths {
			name := strings.Join(path, "/")
			got, err := r.Read(ctx, path...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			direct, err := p.Get("/" + name)
			if err != nil || path[0] != client.Registry && !bytes.Equal(direct.Body, got.Document) {
				t.Errorf("%s: %s\nis not %s, %v", name, got.Document, direct.Body, err)
			}
			v := got.Verified
			if !v.OK || v.Reason != "" || v.Entry == nil || v.Checkpoint.Origin != planetest.Origin ||
				!got.Reachable || got.AgeSeconds != 0 {
				t.Errorf("%s: %+v", name, v)
				continue
			}
			if (v.Checkpoint.Remembered == nil) != (kept == nil) ||
				kept != nil && *v.Checkpoint.Remembered != kept.Size {
				t.Errorf("%s: %+v", name, v.Checkpoint)
			}
		}
	}
	look()
	kept = remember(t, p)
	look()
	submit(t, p, "second")
	look() // of a log that has grown
	state, err := r.Read(ctx, "promotion-state", revision, id)
	if err != nil || !strings.HasSuffix(state.Verified.Entry.Type, "stage-decision/v1") {
		t.Errorf("%+v, %v", state.Verified.Entry, err)
	}
	var refused *client.RefusedError
	if _, err := r.Read(ctx, "promotion-state", revision, "cr-"+strings.Repeat("0", 64)); !errors.As(err,
		&refused) || refused.Status != http.StatusNotFound {
		t.Errorf("%v", err)
	}
	reach, err := r.Check(ctx)
	if err != nil || !reach.Reachable || reach.Checkpoint.Size != kept.Size || reach.CheckedAt == nil {
		t.Errorf("%+v, %v", reach, err)
	}
}

// TestReaderIsNotDeceived: a document or an entry that was changed on the way, and another log, are found
// out.
func TestReaderIsNotDeceived(t *testing.T) {
	p := open(t)
	id, other := submit(t, p, "first"), submit(t, p, "second")
	b := front(t, p)
	now := p.Now()
	kept := remember(t, p)
	submit(t, p, "third")
	elsewhere, err := planetest.Open(planetest.Options{Dir: filepath.Join(t.TempDir(), "other"),
		Trust: planetest.Trust(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	submit(t, elsewhere, "of another log")
	forked := remember(t, elsewhere)
	at := func(prefix string, edit func(map[string]any)) func(string, map[string]any) {
		return func(path string, body map[string]any) {
			if strings.HasPrefix(path, prefix) {
				edit(body)
			}
		}
	}
	last := func(b map[string]any) map[string]any {
		all := b["history"].([]any)
		return all[len(all)-1].(map[string]any)
	}
	tlog := func(b map[string]any) map[string]any {
		s := b["seal"].(map[string]any)["sigstore_bundle"].(map[string]any)
		return s["verificationMaterial"].(map[string]any)["tlogEntries"].([]any)[0].(map[string]any)
	}
	for name, c := range map[string]struct {
		change func(string, map[string]any)
		kept   *translog.Kept
		say    string
	}{
		"nothing": {},
		"a stage": {change: at("/promotion-state", func(b map[string]any) { b["stage"] = "live" }),
			say: "last decision"},
		"a stage and its decision": {change: at("/promotion-state", func(b map[string]any) {
			b["stage"], last(b)["to"] = "live", "live"
		}), say: "something else"},
		"a stop that is hidden": {change: at("/promotion-state", func(b map[string]any) {
			last(b)["status"] = "suspended"
		}), say: "last decision"},
		"an entry about something else": {change: at("/promotion-state", func(b map[string]any) {
			last(b)["seq"] = 0
		}), say: "something else"},
		"an entry that there is not": {change: at("/promotion-state", func(b map[string]any) {
			last(b)["seq"] = 9999
		}), say: "entry 9999"},
		"a path that leads elsewhere": {change: at("/facts/", func(b map[string]any) {
			hashes := tlog(b)["inclusionProof"].(map[string]any)["hashes"].([]any)
			hashes[0] = strings.Repeat("A", 43) + "="
		}), say: "not in the log"},
		"a leaf": {change: at("/facts/", func(b map[string]any) {
			b["seal"].(map[string]any)["leaf_sha256"] = strings.Repeat("0", 64)
		}), say: "not in the log"},
		"another place": {change: at("/facts/", func(b map[string]any) {
			b["seal"].(map[string]any)["log_index"] = 1
		}), say: "not in the log"},
		"no seal": {change: at("/facts/", func(b map[string]any) {
			delete(b, "seal")
		}), say: "entry"},
		"another log that is remembered": {kept: forked, say: ""},
	} {
		b.changes(c.change)
		k := kept
		if c.kept != nil {
			k = c.kept
		}
		r := reading(t, p, b.URL, &k, &now)
		got, err := r.Read(t.Context(), "promotion-state", revision, id)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := name == "nothing"; got.Verified.OK != want || !want && got.Verified.Reason == "" ||
			!strings.Contains(got.Verified.Reason, c.say) {
			t.Errorf("%s: %+v", name, got.Verified)
		}
	}
	// What is no answer to the question is none.
	for name, change := range map[string]func(string, map[string]any){
		"another schema":  at("/promotion-state", func(b map[string]any) { b["schema"] = "x" }),
		"another subject": at("/promotion-state", func(b map[string]any) { b["subject_id"] = other }),
		"no entry":        at("/promotion-state", func(b map[string]any) { delete(b, "as_of_seq") }),
	} {
		b.changes(change)
		var away *client.UnreachableError
		if _, err := reading(t, p, b.URL, &kept, &now).Read(t.Context(), "promotion-state", revision,
			id); !errors.As(err, &away) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReaderKeepsTheLastGoodAnswer also while the plane hangs, and asks again after a pause.
func TestReaderKeepsTheLastGoodAnswer(t *testing.T) {
	ring.Slow(t, "a plane that hangs is waited for, for three seconds")
	p := open(t)
	id := submit(t, p, "first")
	b := front(t, p)
	now, kept := p.Now(), remember(t, p)
	r, ctx := reading(t, p, b.URL, &kept, &now), t.Context()
	path := []string{"promotion-state", revision, id}
	good, err := r.Read(ctx, path...)
	if err != nil || !good.Verified.OK {
		t.Fatalf("%+v, %v", good.Verified, err)
	}
	b.hang.Store(true)
	now = now.Add(90 * time.Second)
	begin := time.Now()
	old, err := r.Read(ctx, path...)
	took := time.Since(begin)
	if err != nil || old.Reachable || old.AgeSeconds != 90 || old.ReadAt != good.ReadAt ||
		!bytes.Equal(old.Document, good.Document) || !old.Verified.OK || old.Reason == "" {
		t.Errorf("%+v, %v", old.Verified, err)
	}
	if took < 2*time.Second || took > 9*time.Second {
		t.Errorf("it took %s", took)
	}
	begin = time.Now() // the plane is left alone
	var away *client.UnreachableError
	if _, err := r.Read(ctx, "pending-experiments", revision, id); !errors.As(err, &away) {
		t.Errorf("what was never read: %v", err)
	}
	if reach, err := r.Check(ctx); err != nil || reach.Reachable || reach.Reason == "" ||
		reach.CheckedAt == nil {
		t.Errorf("%+v, %v", reach, err)
	}
	if took := time.Since(begin); took > 2*time.Second { // each would wait for three
		t.Errorf("two more questions took %s", took)
	}
	b.hang.Store(false)
	now = now.Add(5 * time.Second)
	if again, err := r.Read(ctx, path...); err != nil || !again.Reachable || again.AgeSeconds != 0 {
		t.Errorf("%v", err)
	}
	// An answer whose entry cannot be shown does not take the place of one that could be verified.
	b.changes(func(path string, body map[string]any) { delete(body, "seal") })
	kept = remember(t, p)
	kept.Note += "\n" // another checkpoint: nothing is known of it yet
	if bad, err := r.Read(ctx, path...); err != nil || bad.Verified.OK {
		t.Errorf("%v", err)
	}
	b.Close()
	now = now.Add(5 * time.Second)
	if last, err := r.Read(ctx, path...); err != nil || last.Reachable || !last.Verified.OK {
		t.Errorf("%v", err)
	}
}
