package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestLoadReadsAnswers(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chunks" {
			_, _ = io.WriteString(w, big)
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, big)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	addr := server.Listener.Addr().String()
	got, err := load(addr, "GET /chunks HTTP/1.1\r\nHost: localhost\r\n\r\n", 3, 10)
	if err != nil || got.count != 10 || got.bytes != 10*2*int64(len(big)) || got.rate <= 0 ||
		got.p99 < got.median {
		t.Errorf("%v %+v", err, got)
	}
	if got, err = load(addr, post(`{"a":1}`), 1, 2); err != nil || got.bytes != 2*7 {
		t.Errorf("%v %+v", err, got)
	}
}

func TestSkipAnswer(t *testing.T) {
	for text, want := range map[string]int64{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab":                             2,
		"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n": 2,
		"HTTP/1.1 500 No\r\n\r\n":                                                    -1,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab":                             -1,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n":               -1,
	} {
		got, err := skipAnswer(bufio.NewReader(strings.NewReader(text)))
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
}

func TestWorstBodiesAreBodies(t *testing.T) {
	for _, w := range worstBodies() {
		if len(w.text) > mib || len(w.text) < mib*9/10 || !json.Valid([]byte(w.text)) {
			t.Errorf("%s: %d bytes, valid: %v", w.name, len(w.text), json.Valid([]byte(w.text)))
		}
	}
}
