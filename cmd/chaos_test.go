package cmd_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// TestChaos trades brackets behind a proxy that cuts, holds, resets, slows and refuses connections at random. Once it is
// calm what is held has its stop at the venue, and every order and trade there is in the journal.
func TestChaos(t *testing.T) {
	ring.Slow(t, "it trades until faults have happened")
	if ring.At() < ring.Soak {
		t.Parallel()
	}
	zerolog.SetGlobalLevel(zerolog.Disabled)
	for round := range ring.Size(1, 1, 3) {
		chaos(t, uint64(round), time.Duration(ring.Size(5, 12, 58))*time.Second)
	}
}

// chaos is one run of so long.
func chaos(t *testing.T, seed uint64, long time.Duration) {
	v := liveVenue(t, testvenue.Options{Speed: 60})
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.New(io.Discard))
	p := toxiproxy.NewProxy(server, fmt.Sprint("chaos", seed), "127.0.0.1:0", strings.TrimPrefix(v.URL(), "http://"))
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	state := t.TempDir()
	s := serve(t, state, "--connectors", connectorFolder(t), "--connector-endpoint", "binance=http://"+p.Listen,
		"--risk-max-candle-age", "60", "--risk-stale-candles", "200/1000", "--risk-fills-per-hour", "100000", "--risk-orders-per-minute", "100000",
		"--risk-max-drawdown", "1", "--risk-max-daily-loss", "1")
	id := s.start(liveRun("rsi_bracket", object{"period": 2, "oversold": 99.9, "overbought": 100, "stop_loss": 0.004, "take_profit": 0.004}))
	s.until("exits at the venue", func(object) bool { return len(openAt(v)) >= 2 })
	rng := rand.New(rand.NewPCG(seed, 1))
	faults := 0
	for end := time.Now().Add(long); time.Now().Before(end); faults++ {
		disturb(t, p, rng, faults)
		time.Sleep(time.Duration(500+rng.IntN(2000)) * time.Millisecond)
	}
	s.until("trading", func(status object) bool { return status["phase"] == "trading" })
	for deadline := time.Now().Add(40 * time.Second); bareAt(v).Cmp(bareDust) > 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	guardedAt(t, v)
	s.call("POST", "/run/stop", nil, nil)
	s.await("completed")
	guardedAt(t, v)
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.stderr)
	}
	accounted(t, state, id, v)
	t.Logf("seed %d, %s: %d faults, %d orders, %d trades", seed, long, faults, len(v.Orders()), len(v.Trades()))
}

// disturb is one fault, and its end.
func disturb(t *testing.T, p *toxiproxy.Proxy, rng *rand.Rand, n int) {
	t.Helper()
	kinds := []string{
		`"type":"timeout","attributes":{"timeout":0}`, `"type":"timeout","attributes":{"timeout":300}`, `"type":"reset_peer","attributes":{"timeout":50}`,
		`"type":"latency","attributes":{"latency":900,"jitter":600}`, `"type":"limit_data","attributes":{"bytes":400}`, "refuse",
	}
	kind := kinds[rng.IntN(len(kinds))]
	lasts := time.Duration(300+rng.IntN(2500)) * time.Millisecond
	if kind == "refuse" {
		p.Stop()
		time.Sleep(lasts)
		if err := p.Start(); err != nil {
			t.Error(err)
		}
		return
	}
	name := fmt.Sprint("toxic", n)
	stream := []string{"upstream", "downstream"}[rng.IntN(2)]
	if _, err := p.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(`{"name":%q,"stream":%q,%s}`, name, stream, kind))); err != nil {
		t.Error(err)
		return
	}
	time.Sleep(lasts)
	if err := p.Toxics.RemoveToxic(context.Background(), name); err != nil {
		t.Error(err)
	}
}
