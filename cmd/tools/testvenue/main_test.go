package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestHelpAndBadOptions(t *testing.T) {
	var errs bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, io.Discard, &errs); code != 0 ||
		!strings.Contains(errs.String(), "-speed") {
		t.Errorf("%d: %s", code, &errs)
	}
	for _, args := range [][]string{{"--nope"}, {"extra"}, {"--start", "yesterday"}} {
		if code := run(t.Context(), args, io.Discard, io.Discard); code != 2 {
			t.Errorf("%v: %d", args, code)
		}
	}
	for _, args := range [][]string{{"--speed", "-1"}, {"--listen", "0.0.0.0:0", "--history", "10"}} {
		if code := run(t.Context(), args, io.Discard, io.Discard); code != 1 {
			t.Errorf("%v: %d", args, code)
		}
	}
}

func TestItServes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"--speed", "60", "--history", "100", "--start", "2025-01-01T00:00:00Z"}, w,
			io.Discard)
	}()
	line := make([]byte, 4096)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	address := strings.Fields(string(line[:n]))[1]
	resp, err := http.Get(address + "/api/v3/ping") //nolint:noctx // loopback
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("ping: %v", err)
	}
	_ = resp.Body.Close()
	cancel()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("it ended with %d", code)
		}
	case <-time.After(5 * time.Second):
		t.Error("it does not end")
	}
	_ = w.Close()
}
