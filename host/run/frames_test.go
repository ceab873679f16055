package run

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestLargerTimeframes: a strategy that reads larger timeframes decides the same in each drive,
// and is started early enough for all of them.
func TestLargerTimeframes(t *testing.T) {
	l := newLab(t, 400).attached("framed")
	for _, test := range []struct {
		start         string
		window, short int
		symbols       []string
	}{
		{"2020-01-03", 18, 0, []string{one}},           // three times six hours
		{"2020-01-03T02:00:00Z", 20, 0, []string{two}}, // and those of the open one
		{"2020-01-03T05:00:00Z", 23, 0, []string{one, two}},
		{"2020-01-01T07:00:00Z", 7, 11, []string{one}}, // one is there
		{"2020-01-01", 0, 18, []string{one, two}},
	} {
		p := play{strategy: "framed", execution: `{}`, symbols: test.symbols}
		first := ""
		for _, d := range []Drive{{}, {Chunked: true}, {Lockstep: true}} {
			req := p.request()
			req.StartDate = &test.start
			x := l.driven(req, Split{Drive: d})
			if got := x.data.layout; int(got.window) != test.window || got.short != test.short {
				t.Errorf("%s: %+v", test.start, got)
			}
			if n := len(x.Results().Fills); n < 10 {
				t.Errorf("%s: only %d fills", test.start, n)
			}
			got := fingerprint(t, x)
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("%s: %+v differs:\n%s\n%s", test.start, d, got, first)
			}
		}
	}
	req := request("framed", nil)
	req.Timeframe = "4h"
	_, err := l.launcher.Launch(context.Background(), "svc_no", req)
	refused := new(RequestError)
	if !errors.As(err, &refused) || refused.Code != CodeUnsupportedTimeframe ||
		!strings.Contains(refused.Message, "6h") || !strings.Contains(refused.Message, "4h") {
		t.Errorf("got %v", err)
	}
}

// TestExtraOfTheRun: the run's own timeframe may be one of those that a strategy reads.
func TestExtraOfTheRun(t *testing.T) {
	l := newLab(t, 4000).attached("framed")
	req := request("framed", nil)
	req.Timeframe = "6h"
	if r := l.complete(req); len(r.Fills) < 10 {
		t.Errorf("%d fills", len(r.Fills))
	}
}
