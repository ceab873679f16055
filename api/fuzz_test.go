package api_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
)

// unknown returns a launch that knows no strategy.
func unknown(context.Context, string, runner.StartRequest) (runner.Execution, error) {
	return nil, &run.RequestError{Code: "STRATEGY_NOT_FOUND", Message: "There is no such strategy.",
		Details: map[string]any{"available": []string{}}}
}

// FuzzOperation sends any body to any operation: the answer is always one that the
// document declares, with envelope and version header, and never a 5xx.
func FuzzOperation(f *testing.F) {
	operations := [][2]string{
		{"POST", "/api/v1/run/backtest"}, {"POST", "/api/v1/run/live"}, {"POST", "/api/v1/run/stop"},
		{"DELETE", "/api/v1/run/reset"},
		{"POST", falsifications}, {"POST", families}, {"DELETE", jobs + "/x"}, {"POST", imports},
		{"POST", fetches},
		{"GET", "/api/v1/status"}, {"GET", "/api/v1/results"}, {"GET", "/api/v1/status/detailed"},
	}
	for i, body := range []string{
		apitest.Backtest, `{}`, `null`, `[]`, ``, `{"strategy_name":"a","strategy_name":"b"}`, `{"x~/y":1}`,
		"\ufeff{}", "{\"a\":\"\xff\"}",
		`{"strategy_name":"s","symbols":["A/B"],"timeframe":"1h","start_date":"2024-02-30","initial_cash":1e400,"execution":{"slippage_bps":-1}}`,
		`{"strategy_name":"s","symbols":["A/B"],"timeframe":"1h","mode":"live","exchange":"x","exchange_config":{"key":"k"}}`,
	} {
		f.Add(uint8(i), []byte(body))
	}
	for _, body := range []string{search, oneFile, oneYear} {
		f.Add(uint8(5), []byte(body))
		f.Add(uint8(7), []byte(body))
		f.Add(uint8(8), []byte(body))
	}
	s := apitest.Start(f, apitest.Options{Launch: unknown})
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		op := operations[int(which)%len(operations)]
		if a := s.Do(t, op[0], op[1], string(body)); a.StatusCode >= http.StatusInternalServerError &&
			a.Code() != "LAB_UNAVAILABLE" {
			t.Errorf("%s %s with %q: %d %s", op[0], op[1], body, a.StatusCode, a.Body)
		}
	})
}

// FuzzRawConnection sends any bytes as a connection: whatever comes back is HTTP with
// the version header.
func FuzzRawConnection(f *testing.F) {
	for _, text := range []string{
		"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n", "garbage\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET / HTTP/3.0\r\n\r\n",
		"POST /api/v1/run/stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n0\r\n\r\n",
		"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /api/v1/status HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "\x00\x01\x02",
	} {
		f.Add([]byte(text))
	}
	s := apitest.Start(f, apitest.Options{Launch: unknown})
	f.Fuzz(func(t *testing.T, request []byte) {
		c, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := c.Write(request); err == nil {
			_ = c.(*net.TCPConn).CloseWrite() // nothing more will come
		}
		answer, _ := io.ReadAll(c) // the server may cut it short
		if len(answer) == 0 {
			return
		}
		head, _, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
		if !bytes.HasPrefix(head, []byte("HTTP/1.")) ||
			!bytes.Contains(head, []byte("\r\nX-Service-API-Version: v1")) {
			t.Errorf("%q is answered with %q", request, head)
		}
	})
}
