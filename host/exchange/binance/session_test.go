package binance

import (
	"context"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
)

// TestTheWidestSpacing: a session opens in the time that it has, whatever the spacing, which holds
// from then on.
func TestTheWidestSpacing(t *testing.T) {
	b := newBench(t, plainWrap)
	s := &session{networks: [2]Endpoints{At(b.URL()), At(b.SandboxURL())}, tuning: brisk}
	req := b.Request()
	req.RunID, req.RunTag, req.Trading, req.Config.RateLimitMS = "svc_spacing", "aaaaaa", true, 60_000
	limited, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := s.Open(limited, req); err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.WithoutCancel(t.Context()), false)
	before := b.Count("all")
	short, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	if _, r := s.account(short); r.Outcome != exchange.NotSent || b.Count("all") != before {
		t.Errorf("the request after it: %+v", r)
	}
	s.queue.space(1100 * time.Millisecond)
	asked := b.Count("GET /api/v3/time")
	if err := s.takeTime(t.Context()); err != nil || b.Count("GET /api/v3/time") != asked+1 {
		t.Errorf("the time was asked for %d times: %v", b.Count("GET /api/v3/time")-asked, err)
	}
}

func TestSpacing(t *testing.T) {
	for want, c := range map[time.Duration]exchange.Config{
		spacing: {}, 7 * time.Second: {RateLimitMS: 7000}, 0: {RateLimitMS: 7000, Unspaced: true},
	} {
		if got := spaced(c); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}
