package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/host/hosttest/toxics"
)

// TestChaos trades brackets behind a proxy that cuts, holds, resets, slows and refuses connections at
// random. Once it is calm what is held has its stop at the venue, and every order and trade there is in the
// journal.
func TestChaos(t *testing.T) {
	ring.Slow(t, "it trades until faults have happened")
	if ring.At() < ring.Soak {
		t.Parallel()
	}
	for round := range ring.Size(1, 1, 3) {
		chaos(t, uint64(round), time.Duration(ring.Size(5, 12, 58))*time.Second)
	}
}

// chaos is one run of so long.
func chaos(t *testing.T, seed uint64, long time.Duration) {
	v := liveVenue(t, testvenue.Options{Speed: 60})
	p, err := toxics.Start(t).Proxy(strings.TrimPrefix(v.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	s := serve(t, state, "--connectors", connectorFolder(t), "--connector-endpoint", "binance=http://"+p.Addr,
		"--risk-max-candle-age", "60", "--risk-stale-candles", "200/1000", "--risk-fills-per-hour", "100000",
		"--risk-orders-per-minute", "100000", "--risk-max-drawdown", "1", "--risk-max-daily-loss", "1")
	id := s.start(liveRun("rsi_bracket",
		object{"period": 2, "oversold": 99.9, "overbought": 100, "stop_loss": 0.004, "take_profit": 0.004}))
	s.until("exits at the venue", func(object) bool { return len(openAt(v)) >= 2 })
	rng := rand.New(rand.NewPCG(seed, 1))
	faults := 0
	for end := time.Now().Add(long); time.Now().Before(end); faults++ {
		disturb(t, p, rng, faults)
		time.Sleep(time.Duration(500+rng.IntN(2000)) * time.Millisecond)
	}
	s.until("trading", func(status object) bool { return status["phase"] == "trading" })
	for deadline := time.Now().Add(40 * time.Second); bareAt(v).Cmp(bareDust) > 0 &&
		time.Now().Before(deadline); {
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
	t.Logf("seed %d, %s: %d faults, %d orders, %d trades", seed, long, faults, len(v.Orders()),
		len(v.Trades()))
}

// disturb is one fault, and its end.
func disturb(t *testing.T, p *toxics.Proxy, rng *rand.Rand, n int) {
	t.Helper()
	stream := []string{"upstream", "downstream"}[rng.IntN(2)]
	toxic := func(kind string, attributes map[string]int) toxics.Toxic {
		return toxics.Toxic{Name: fmt.Sprint("toxic", n), Kind: kind, Direction: stream,
			Attributes: attributes}
	}
	kinds := []toxics.Toxic{
		toxic("timeout", map[string]int{"timeout": 0}), toxic("timeout", map[string]int{"timeout": 300}),
		toxic("reset_peer", map[string]int{"timeout": 50}),
		toxic("latency", map[string]int{"latency": 900, "jitter": 600}),
		toxic("limit_data", map[string]int{"bytes": 400}),
		{}, // refuse
	}
	chosen := kinds[rng.IntN(len(kinds))]
	begin, end := func() error { return p.Add(chosen) }, func() error { return p.Remove(chosen.Name) }
	if chosen.Kind == "" {
		begin, end = func() error { return p.Enable(false) }, func() error { return p.Enable(true) }
	}
	if err := begin(); err != nil {
		t.Error(err)
		return
	}
	time.Sleep(time.Duration(300+rng.IntN(2500)) * time.Millisecond)
	if err := end(); err != nil {
		t.Error(err)
	}
}
