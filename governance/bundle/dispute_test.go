package bundle_test

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
)

// TestDisputeStatements: a dispute says what its signer was given, and where it was fetched; what is taken
// back says neither. Each fault is refused by its place.
func TestDisputeStatements(t *testing.T) {
	d := sealed(t)
	good := func() *bundle.Dispute {
		c := common(d)
		c.MadeAt, c.ExpiresAt = "2026-11-27T02:00:00Z", "2026-12-27T02:00:00Z"
		return &bundle.Dispute{Common: c, Event: bundle.DisputeOpen, Exchange: "binance",
			Symbols: []string{"BTC/USDT"}, Timeframe: "1h",
			Chunks: []bundle.DisputedChunk{{Date: "2026-11-25", Chunk: hex64("a"), Own: hex64("b"), OwnRows: 24}},
			Fetches: []bundle.ShadowFetch{{Symbol: "BTC/USDT", From: "2026-11-25T00:00:00Z",
				To: "2026-11-26T00:00:00Z", Rows: 24, RequestedAt: "2026-11-27T01:00:00Z", Page: hex64("p"),
				Connector: "binance", Version: "1.0.0", SHA256: hex64("s")}}}
	}
	for at, edit := range map[string]func(*bundle.Dispute){
		"":                               func(*bundle.Dispute) {},
		"/predicate/event":               func(p *bundle.Dispute) { p.Event = "close" },
		"/predicate/timeframe":           func(p *bundle.Dispute) { p.Timeframe = "hour" },
		"/predicate/chunks":              func(p *bundle.Dispute) { p.Chunks = nil },
		"/predicate/fetches":             func(p *bundle.Dispute) { p.Fetches = nil },
		"/predicate/fetches/0/symbol":    func(p *bundle.Dispute) { p.Fetches[0].Symbol = "ETH/USDT" },
		"/predicate/chunks/0/date":       func(p *bundle.Dispute) { p.Chunks[0].Date = "2026-11-27" },
		"/predicate/chunks/1/date":       func(p *bundle.Dispute) { p.Chunks = append(p.Chunks, p.Chunks[0]) },
		"/predicate/chunks/0/own_sha256": func(p *bundle.Dispute) { p.Chunks[0].Own = p.Chunks[0].Chunk },
		"/predicate/chunks/0/first_difference/symbol": func(p *bundle.Dispute) {
			p.Chunks[0].First = &bundle.DifferingCandle{Symbol: "ETH/USDT", OpenTime: "2026-11-25T07:00:00Z", Within: 1}
		},
	} {
		p := good()
		edit(p)
		_, err := d.Attest(bundle.TypeDispute, p, testKey(t, "shadow"))
		if at == "" && err != nil || at != "" && (err == nil || !strings.Contains(err.Error(), at)) {
			t.Errorf("%s: %v", at, err)
		}
	}
	back := good()
	back.Event = bundle.DisputeWithdraw
	if _, err := d.Attest(bundle.TypeDispute, back, testKey(t, "shadow")); err == nil {
		t.Error("what is taken back has candles")
	}
	back.Fetches, back.Chunks[0] = nil, bundle.DisputedChunk{Date: "2026-11-25", Chunk: hex64("a")}
	if _, err := d.Attest(bundle.TypeDispute, back, testKey(t, "shadow")); err != nil {
		t.Error(err)
	}
}

// TestACommitmentIsOfOneKey: whatever it is bound to changes it.
func TestACommitmentIsOfOneKey(t *testing.T) {
	a := bundle.ChallengeAnswer{DecisionSHA256: hex64("decisions"), Challenge: bundle.Challenge{
		Schema: bundle.SchemaChallenge, Leaf: hex64("leaf"), Start: "2023-01-01T00:00:00.000Z", Candles: 2000}}
	other := a
	other.DecisionSHA256 = hex64("others")
	elsewhere := a
	elsewhere.Leaf = hex64("elsewhere")
	seen := map[string]bool{}
	for _, c := range []struct {
		origin, revision, key, nonce string
		answer                       *bundle.ChallengeAnswer
	}{
		{"o", "r", "k", "n", &a}, {"p", "r", "k", "n", &a}, {"o", "s", "k", "n", &a}, {"o", "r", "l", "n", &a},
		{"o", "r", "k", "m", &a}, {"o", "r", "k", "n", &other}, {"o", "r", "k", "n", &elsewhere},
	} {
		sum, err := bundle.CommitmentOf(c.origin, c.revision, c.key, c.nonce, c.answer)
		if err != nil || seen[sum] {
			t.Errorf("%+v: %s, %v", c, sum, err)
		}
		seen[sum] = true
	}
}
