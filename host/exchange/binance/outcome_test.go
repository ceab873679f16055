package binance

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/assay-run/assay/host/exchange"
)

// allowed is the allow-list written down a second time, code by code.
var allowed = map[int]bool{
	-1013: true, -1014: true, -1020: true, -1022: true, -1100: true, -1101: true, -1102: true, -1103: true,
	-1104: true, -1105: true, -1106: true,
	-1108: true, -1111: true, -1112: true, -1114: true, -1115: true, -1116: true, -1117: true, -1118: true,
	-1119: true, -1121: true, -1128: true,
	-1130: true, -1158: true, -1165: true, -1166: true, -1168: true, -1196: true, -1197: true, -1198: true,
	-1199: true, -2010: true,
}

// expected returns the outcome of a request by the page.
func expected(k kind, status, code int, text string) exchange.Outcome {
	auth := code == -1002 || code == -2014 || code == -2015
	switch status {
	case 418:
		return exchange.Banned
	case 429:
		if code == -1003 || code == -1015 {
			return exchange.Throttled
		}
	case 401:
		if auth {
			return exchange.AuthFailed
		}
	case 400:
		switch {
		case auth, k == reading && code == -1022:
			return exchange.AuthFailed
		case code == -1021:
			return exchange.Clock
		case k == canceling && code == -2011:
			return exchange.NotOpen
		case k == querying && code == -2013:
			return exchange.NotFound
		case k == submitting && code == -2010 && text == "Duplicate order sent.":
			return exchange.Duplicate
		case (k == submitting || k == reading) && allowed[code]:
			return exchange.Rejected
		}
	}
	return exchange.Unknown
}

// TestOutcomeTable asks for every code -1000..-2099 with fourteen statuses, as it comes
// from the wire.
func TestOutcomeTable(t *testing.T) {
	statuses := []int{200, 202, 301, 400, 401, 403, 404, 409, 418, 429, 500, 502, 503, 504}
	if len(statuses) != 14 {
		t.Fatal("fourteen statuses")
	}
	s := &session{rest: rest{queue: &queue{}, resync: make(chan struct{}, 1)}}
	n := 0
	for _, k := range []kind{reading, submitting, canceling, querying} {
		for code := -1000; code >= -2099; code-- {
			for _, status := range statuses {
				for _, text := range []string{"Some text.", "Duplicate order sent."} {
					n++
					e := &evidence{whole: true, status: status,
						body: fmt.Appendf(nil, `{"code":%d,"msg":%q}`, code, text)}
					e.connected.Store(true)
					if got, want := s.rest.judge(k, e, http.ErrNotSupported).Outcome,
						expected(k, status, code, text); got != want {
						t.Fatalf("kind %d, status %d, code %d, %q: %s, want %s", k, status, code, text, got,
							want)
					}
				}
			}
		}
	}
	t.Logf("%d answers", n)
}

// TestBodiesThatAreNone: without a code of the exchange only a ban is known for what it is.
func TestBodiesThatAreNone(t *testing.T) {
	s := &session{rest: rest{queue: &queue{}, resync: make(chan struct{}, 1)}}
	for _, body := range []string{"", "<html>", "{}", `{"code":-2010}`, `{"msg":"x"}`,
		`{"code":"-2010","msg":"x"}`, `[]`, `null`, `{"code":-2010,"msg":"x"`} {
		for _, status := range []int{200, 400, 401, 403, 429, 500} {
			e := &evidence{whole: true, status: status, body: []byte(body)}
			e.connected.Store(true)
			if got := s.rest.judge(submitting, e, http.ErrNotSupported).Outcome; got != exchange.Unknown {
				t.Errorf("status %d, body %q: %s", status, body, got)
			}
		}
	}
	if got := s.rest.judge(submitting, &evidence{}, http.ErrNotSupported).Outcome; got != exchange.NotSent {
		t.Errorf("without a connection: %s", got)
	}
	cut := &evidence{status: 400, body: []byte(`{"code":-2010,"msg":"x"}`)}
	cut.connected.Store(true)
	if got := s.rest.judge(submitting, cut, http.ErrNotSupported).Outcome; got != exchange.Unknown {
		t.Errorf("a body that was cut: %s", got)
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add([]byte(`{"code":-2010,"msg":"Duplicate order sent."}`), 400)
	f.Add([]byte(`<html>`), 503)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		code, text, ok := refusal(body)
		if !ok && (code != 0 || text != "") {
			t.Error("half an answer")
		}
		if o := classify(submitting, status, code, text); o == exchange.Accepted || o == exchange.NotSent {
			t.Errorf("%s of a refusal", o)
		}
	})
}
