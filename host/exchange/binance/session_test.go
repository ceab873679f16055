package binance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/testvenue"
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
	s.rest.queue.space(1100 * time.Millisecond)
	asked := b.Count("GET /api/v3/time")
	if err := s.rest.takeTime(t.Context()); err != nil || b.Count("GET /api/v3/time") != asked+1 {
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

// TestOpenInABan: an attempt to open a session is turned away without a request while the exchange asks for
// none, as it said to an attempt before.
func TestOpenInABan(t *testing.T) {
	for action, outcome := range map[string]exchange.Outcome{"418": exchange.Banned,
		"429": exchange.Throttled} {
		b := newBench(t, plainWrap)
		s := &session{networks: [2]Endpoints{At(b.URL()), At(b.SandboxURL())}, tuning: brisk}
		req := b.Request()
		req.RunID = "svc_banned"
		if err := b.Do(testvenue.Script{Match: "GET /api/v3/time", Action: action}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Open(t.Context(), req)
		r := exchange.ResultOf(err)
		if r.Outcome != outcome || r.RetryAfterMS <= 0 {
			t.Fatalf("%s: %v", action, err)
		}
		over := time.Now().Add(r.HoldOff())
		for range 3 {
			_, err := s.Open(t.Context(), req)
			if r := exchange.ResultOf(err); r.Outcome != exchange.NotSent || r.RetryAfterMS <= 0 ||
				b.Count("all") != 1 {
				t.Errorf("%s: %v after %d requests", action, err, b.Count("all"))
			}
		}
		time.Sleep(time.Until(over) + 10*time.Millisecond)
		if _, err := s.Open(t.Context(), req); err != nil {
			t.Errorf("%s, after the time that it wanted: %v", action, err)
		}
		if _, err := s.Close(t.Context(), false); err != nil {
			t.Error(err)
		}
	}
}

// TestWrongSecret: a secret that is not the key's, and a private key of another kind, are refused as
// credentials; what kind of key is wanted is said, the secret is not.
func TestWrongSecret(t *testing.T) {
	b := newBench(t, plainWrap)
	for secret, say := range map[string]string{
		"not-the-secret": "signature",
		"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----": "Ed25519",
	} {
		s := &session{networks: [2]Endpoints{At(b.URL()), At(b.SandboxURL())}, tuning: brisk}
		req := b.Request()
		req.RunID, req.RunTag, req.Trading, req.Config.Secret = "svc_secret", "aaaaaa", true,
			exchange.NewSecret(secret)
		_, err := s.Open(t.Context(), req)
		r := exchange.ResultOf(err)
		if r.Outcome != exchange.AuthFailed || !strings.Contains(r.Message, say) ||
			!strings.Contains(r.Message, "HMAC") || strings.Contains(r.Message, secret) {
			t.Errorf("%+v", r)
		}
	}
}
