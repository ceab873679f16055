package ui_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/api"
	"github.com/assay-run/assay/api/ui"
	"github.com/assay-run/assay/host/base/edge"
)

// attribution needs escaping, as any text may.
const attribution = "Candles of <Somebody> & others"

// serve shows the dashboard behind the real edge on real TCP.
func serve(t *testing.T) string {
	t.Helper()
	u, err := ui.New(attribution)
	if err != nil {
		t.Fatal(err)
	}
	logger := hclog.NewNullLogger()
	handler, err := api.NewEdge(api.EdgeConfig{Hosts: edge.NewHosts(),
		Routes: append(api.Redirects(), u.Routes()...), Logger: logger, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := edge.NewServer(handler, logger)
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

// do sends one request; each header is "Name: value".
func do(t *testing.T, method, url string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, v)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, body := do(t, "GET", url)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d %s", url, resp.StatusCode, body)
	}
	return string(body)
}

// dist returns every committed file of the bundle by name.
func dist(t *testing.T) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir("dist")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		data, err := os.ReadFile("dist/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = data
	}
	return files
}
