package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/host/base/dsse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) *planetest.Plane {
	t.Helper()
	p, err := planetest.Open(planetest.Options{Dir: t.TempDir(), Trust: planetest.Trust(1)})
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

// dial is a client of an address whose connections end with the test.
func dial(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o.HTTP = &http.Client{Transport: transport}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func attest(t *testing.T, doc *bundle.Document, kind string, predicate any, by string) dsse.Envelope {
	t.Helper()
	env, err := doc.Attest(kind, predicate, planetest.Key(by))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestIngestAndRead(t *testing.T) {
	p := open(t)
	c, ctx := dial(t, client.Options{URL: p.URL}), t.Context()
	info, err := c.Log(ctx)
	if err != nil || info.Origin != planetest.Origin {
		t.Fatalf("%+v, %v", info, err)
	}
	if trust, err := c.TrustFile(ctx); err != nil || trust.Digest() != planetest.Trust(1).Digest() {
		t.Errorf("%+v, %v", trust, err)
	}
	doc := planetest.Good(p.Now())
	if err := planetest.Put(p.Root, planetest.Files(&doc.Bundle)); err != nil {
		t.Fatal(err)
	}
	r, err := c.Ingest(ctx, doc, attest(t, doc, bundle.TypeBundle, map[string]any{}, "packer"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Duplicate || r.Assurance != "signed" || r.State.Stage != "paper" ||
		r.FactsTotal != len(r.Facts)+len(doc.Bundle.Artifacts) || r.Seal.LogOrigin != planetest.Origin {
		t.Errorf("%+v", r)
	}
	files, err := r.Files()
	if err != nil || !bytes.Contains(files.Sigstore, []byte("hashedrekord")) ||
		!bytes.HasPrefix(files.Proof, []byte("c2sp.org/tlog-proof@v1\n")) {
		t.Errorf("%s, %s, %v", files.Sigstore, files.Proof, err)
	}
	if again, err := c.Ingest(ctx, doc); err != nil || !again.Duplicate ||
		again.Seal.LogIndex != r.Seal.LogIndex {
		t.Errorf("%+v, %v", again, err)
	}
	id := doc.Bundle.CandidateRevisionID
	have, err := c.Bundle(ctx, id)
	if err != nil || have.FileSHA256 != doc.FileSHA256 {
		t.Errorf("%v", err)
	}
}

func TestRefusals(t *testing.T) {
	p := open(t)
	c, ctx := dial(t, client.Options{URL: p.URL}), t.Context()
	late := planetest.Good(p.Now().Add(-60 * 24 * time.Hour))
	_, err := c.Ingest(ctx, late)
	var refused *client.RefusedError
	if !errors.As(err, &refused) || refused.Code != "SEAL_REQUEST_EXPIRED" || refused.Status != 400 ||
		refused.Pointer != "/seal_request/expires_at" || refused.RequestID == "" {
		t.Errorf("%+v", err)
	}
	doc := planetest.Good(p.Now())
	approval := bundle.Approval{Common: planetest.Common(doc, p.Now()), Action: "promote",
		Stage: bundle.Canary, Role: "risk", PlanDigest: "sha256:" + strings.Repeat("0", 64)}
	if _, err := c.Ingest(ctx, doc, attest(t, doc, bundle.TypeApproval, approval, "otto")); !errors.As(err,
		&refused) || refused.Reason != "role" {
		t.Errorf("%+v", err)
	}
	if _, err := c.Bundle(ctx, doc.Bundle.CandidateRevisionID); !errors.As(err, &refused) ||
		refused.Status != 404 {
		t.Errorf("%+v", err)
	}
	if _, err := c.Bundle(ctx, "../trust/log.json"); err == nil {
		t.Error("a path instead of an id was fetched")
	}
}

func TestAPinnedKeyDecides(t *testing.T) {
	p := open(t)
	pem, err := dsse.PublicPEM(planetest.Key("rita").Public())
	if err != nil {
		t.Fatal(err)
	}
	var untrusted *client.UntrustedError
	if _, err := dial(t, client.Options{URL: p.URL, Key: pem}).Ingest(t.Context(),
		planetest.Good(p.Now())); !errors.As(err, &untrusted) || !strings.Contains(err.Error(), "signature") {
		t.Errorf("%v", err)
	}
	own, err := p.Get("/trust/governance.pub")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, client.Options{URL: p.URL, Key: own.Body}).Ingest(t.Context(),
		planetest.Good(p.Now())); err != nil {
		t.Error(err)
	}
}

// A proxy that changes the receipt is found out, whatever it changes of what is signed.
func TestForgedReceipts(t *testing.T) {
	p := open(t)
	target, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	var change func(map[string]any)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method != http.MethodPost {
				return nil
			}
			var body map[string]any
			text, err := io.ReadAll(r.Body)
			if err != nil || json.Unmarshal(text, &body) != nil {
				return errors.New("no receipt")
			}
			change(body)
			text, err = json.Marshal(body)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Del("Content-Length")
			return err
		},
		Transport: &http.Transport{DisableKeepAlives: true},
	}
	server := httptest.NewServer(proxy)
	defer server.Close()
	c := dial(t, client.Options{URL: server.URL})
	doc, other := planetest.Good(p.Now()), planetest.Good(p.Now(), planetest.Title("another"))
	second, err := dial(t, client.Options{URL: p.URL}).Ingest(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	var elsewhere map[string]any
	if err := json.Unmarshal(second.Body, &elsewhere); err != nil {
		t.Fatal(err)
	}
	seal := func(b map[string]any) map[string]any { return b["seal"].(map[string]any) }
	for name, edit := range map[string]func(map[string]any){
		"id": func(b map[string]any) {
			b["candidate_revision_id"] = other.Bundle.CandidateRevisionID
		},
		"file":           func(b map[string]any) { b["file_sha256"] = other.FileSHA256 },
		"schema":         func(b map[string]any) { b["schema"] = "ingest-receipt/v2" },
		"no seal":        func(b map[string]any) { delete(b, "seal") },
		"another's seal": func(b map[string]any) { b["seal"] = elsewhere["seal"] },
		"index":          func(b map[string]any) { seal(b)["log_index"] = 1 },
		"root":           func(b map[string]any) { seal(b)["root_sha256"] = strings.Repeat("0", 64) },
		"assurance":      func(b map[string]any) { seal(b)["assurance"] = "reproduced" },
		"origin":         func(b map[string]any) { seal(b)["log_origin"] = "elsewhere.example" },
	} {
		change = edit
		var untrusted *client.UntrustedError
		if _, err := c.Ingest(t.Context(), doc); !errors.As(err, &untrusted) || len(untrusted.Problems) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	change = func(map[string]any) {}
	if _, err := c.Ingest(t.Context(), doc); err != nil {
		t.Error(err)
	}
}

func TestUnreachable(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/other/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html>hello</html>")
	})
	mux.HandleFunc("/proxy/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "bad gateway", http.StatusBadGateway)
	})
	mux.HandleFunc("/moved/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/other/", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/slow/", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(release)
	for name, address := range map[string]string{
		"nobody": nobody, "another program": server.URL + "/other", "a gateway": server.URL + "/proxy",
		"moved": server.URL + "/moved", "slow": server.URL + "/slow",
	} {
		c := dial(t, client.Options{URL: address, Timeout: 200 * time.Millisecond})
		var away *client.UnreachableError
		if _, err := c.Log(t.Context()); !errors.As(err, &away) || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dial(t, client.Options{URL: server.URL + "/slow"}).Log(ctx); !errors.Is(err,
		context.Canceled) {
		t.Errorf("the caller's end is said to be %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"nowhere", "ftp://host", "http://", "http://h?x=1", "http://h#a", "http://a b", "://"} {
		if _, err := client.New(client.Options{URL: bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := client.New(client.Options{Key: []byte("no key")}); err == nil {
		t.Error("no key is taken for one")
	}
	c := dial(t, client.Options{})
	if c.URL() != client.DefaultURL {
		t.Error(c.URL())
	}
	// A password in the address is in no error.
	secret := dial(t, client.Options{URL: "http://me:hunter2@127.0.0.1:1/gov"})
	if _, err := secret.Log(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}
