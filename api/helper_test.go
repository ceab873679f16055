package api_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
)

func panicking() []edge.Route {
	return []edge.Route{{Method: "GET", Path: "/panic",
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			panic(errors.New("hunter2"))
		})}}
}

// refuse returns a launch that never succeeds.
func refuse(_ context.Context, _ string, req runner.StartRequest) (runner.Execution, error) {
	switch req.StrategyName {
	case "sma_cross":
		return nil, &run.RequestError{Code: "INVALID_STRATEGY_PARAMS", Message: "The parameters do not fit.",
			Fields: []run.FieldError{{Pointer: "/strategy_params/fast", Message: "must be below slow",
				Rule: "strategy"}}}
	case "crash":
		return nil, &run.RequestError{Code: "RUN_START_FAILED", Message: "It did not start.",
			Details: map[string]any{"reason": "START_CRASHED", "log_tail": []string{"boom"}}}
	}
	return nil, errors.New("the disk is full")
}

// raw sends bytes and reads answers until the connection ends or n have come.
func raw(t *testing.T, s *apitest.Service, text string, n int) []apitest.Answer {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	go func() { _, _ = io.WriteString(c, text) }() // the server may close while we write
	return readAnswers(t, s, c, n)
}

func readAnswers(t *testing.T, s *apitest.Service, c net.Conn, n int) []apitest.Answer {
	t.Helper()
	var out []apitest.Answer
	r := bufio.NewReader(c)
	for len(out) < n {
		resp, err := http.ReadResponse(r, &http.Request{Method: "GET"})
		if err != nil {
			return out
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		s.Record(t, "RAW", "", resp, body)
		out = append(out, apitest.Answer{Response: resp, Body: body})
	}
	return out
}
