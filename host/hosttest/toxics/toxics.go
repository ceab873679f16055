// Package toxics spoils what passes between two programs: toxiproxy cuts, holds, resets and
// slows connections. It is built from a module of its own, server, so that the product's module
// needs nothing of it, and runs as a process that ends with the test.
package toxics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest"
)

// Server makes proxies.
type Server struct {
	api    string
	client *http.Client
	last   atomic.Int64 // number of the newest proxy
}

var build = sync.OnceValues(func() (string, error) { return hosttest.Tool("toxics/server", "server") })

// Start starts a server for t.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	// One connection a request: none stays open when the test is over.
	s := &Server{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		Timeout: 10 * time.Second}}
	hosttest.Serve(t, func(host, port string) *exec.Cmd {
		return exec.Command(program, "-host", host, "-port", port)
	}, func(at string) error {
		s.api = "http://" + at
		return s.call(http.MethodGet, "/version", nil, nil)
	})
	return s
}

// call sends a request to toxiproxy's API and reads its answer into result, if there is one.
func (s *Server) call(method, path string, body, result any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, s.api+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, result)
}

// Proxy listens at Addr, a host with its port, and connects to its upstream.
type Proxy struct {
	Addr   string
	server *Server
	path   string
}

// Proxy puts a proxy in front of an upstream, a host with its port.
func (s *Server) Proxy(upstream string) (*Proxy, error) {
	name := fmt.Sprint("p", s.last.Add(1))
	var made struct {
		Listen string `json:"listen"`
	}
	err := s.call(http.MethodPost, "/proxies", map[string]any{
		"name": name, "listen": "127.0.0.1:0", "upstream": upstream, "enabled": true,
	}, &made)
	return &Proxy{Addr: made.Listen, server: s, path: "/proxies/" + name}, err
}

// Enable takes connections again or, with false, cuts those that are open and refuses others.
func (p *Proxy) Enable(on bool) error {
	return p.server.call(http.MethodPost, p.path, map[string]any{"enabled": on}, nil)
}

// Close cuts what is open and stops listening.
func (p *Proxy) Close() error { return p.server.call(http.MethodDelete, p.path, nil, nil) }

// Toxic spoils one direction of a proxy: upstream or downstream. Kinds and their attributes are
// toxiproxy's: timeout, reset_peer, limit_data, slow_close, latency, bandwidth.
type Toxic struct {
	Name       string         `json:"name"`
	Kind       string         `json:"type"`
	Direction  string         `json:"stream"`
	Attributes map[string]int `json:"attributes"`
}

// Add begins to spoil.
func (p *Proxy) Add(t Toxic) error { return p.server.call(http.MethodPost, p.path+"/toxics", t, nil) }

// Remove ends it.
func (p *Proxy) Remove(name string) error {
	return p.server.call(http.MethodDelete, p.path+"/toxics/"+name, nil, nil)
}
