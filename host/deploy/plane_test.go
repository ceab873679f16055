package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/deploy"
)

func serve(t *testing.T, h http.HandlerFunc) *deploy.Plane {
	t.Helper()
	server := httptest.NewServer(h)
	p := newPlane(t, server.URL)
	t.Cleanup(func() { p.Close(); server.Close() })
	return p
}

func TestRegistry(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string // of the error; "" is a success
	}{
		"good":           {200, `{"schema":"x"}`, ""},
		"anything":       {200, `<html>`, ""},
		"no such family": {404, `{"error":{"code":"FAMILY_NOT_FOUND"}}`, deploy.ErrUnknownFamily.Error()},
		"no such path":   {404, `<html>`, "404"},
		"damaged log":    {500, `{"error":{"code":"LEDGER_CORRUPT"}}`, "500 LEDGER_CORRUPT"},
		"moved":          {307, ``, "307"},
		"no content":     {204, ``, "204"},
		"too long":       {200, strings.Repeat("x", 16<<20+1), "longer"},
	} {
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "GET" || r.URL.Path != "/deployable-registry/sma-cross" {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			w.Header().Set("Location", "/deployable-registry/other")
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body)) // the reader may have gone
		})
		body, err := p.Registry(t.Context(), "sma-cross", 0)
		switch {
		case c.want == "" && (err != nil || string(body) != c.body):
			t.Errorf("%s: %s, %v", name, body, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || body != nil):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestUnreachable(t *testing.T) {
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
	})
	if _, err := cut.Registry(t.Context(), "f", 0); err == nil {
		t.Error("half an answer is one")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	slow := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if _, err := slow.Registry(ctx, "f", 0); !errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%v", err)
	}
}

func newPlane(t *testing.T, address string) *deploy.Plane {
	t.Helper()
	p, err := deploy.NewPlane(address, http.Client{Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParseURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1:8010": "http://127.0.0.1:8010", "https://control.example/api/v1/": "https://control.example/api/v1", "http://[::1]:1": "http://[::1]:1",
		"": "", "127.0.0.1:8010": "", "ftp://x": "", "http://": "", "http://:80": "", "http://u:p@x": "", "http://x?a=b": "", "http://x#a": "", "http://x y": "",
	} {
		got, err := deploy.ParseURL(in)
		if got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}
