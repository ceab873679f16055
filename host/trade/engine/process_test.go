package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/exchange/wire/launch"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// serveConnector makes the test binary the connector for Binance when a host starts it as one.
func serveConnector() {
	cookie := wire.Handshake()
	if os.Getenv(cookie.MagicCookieKey) == cookie.MagicCookieValue {
		wire.Serve(binance.New())
		os.Exit(0)
	}
}

// connectors starts processes of the connector and knows the newest.
type connectors struct {
	manager *launch.Manager
	mu      sync.Mutex
	pids    []int
}

func newConnectors(t *testing.T) *connectors {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Link(self, filepath.Join(dir, "binance")); err != nil {
		text, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "binance"), text, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The test binary takes its time to start under the race detector.
	m, err := launch.Open(t.Context(),
		launch.Options{Dir: dir, StateDir: t.TempDir(), ProbeTimeout: time.Minute,
			LaunchTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	if _, err := m.Lookup(binance.ID); err != nil {
		t.Fatal(err)
	}
	return &connectors{manager: m}
}

func (c *connectors) connect(ctx context.Context) (*exchange.Connection, error) {
	p, err := c.manager.Launch(ctx, binance.ID, launch.LaunchOptions{})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.pids = append(c.pids, p.PID())
	c.mu.Unlock()
	return p.Connection(), nil
}

// signal sends a signal to the newest process.
func (c *connectors) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := syscall.Kill(c.pids[len(c.pids)-1], s); err != nil {
		t.Error(err)
	}
}

func (c *connectors) started() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pids)
}

// TestConnectorCrashProcess kills the real connector's process while an order rests and while one is on
// its way, and lets it hang until its lease is over. Each time another one is started, everything is
// read again, nothing is sent twice, and trading goes on; the fourth loss ends the run.
func TestConnectorCrashProcess(t *testing.T) {
	t.Parallel()
	made := newConnectors(t)
	r := newRig(t, "process", shared(t))
	defer r.close()
	r.connect, r.endpoint = made.connect, r.venue.URL()
	next := make(chan func() []market.Intent, 1)
	r.decide = func(*View) []market.Intent {
		select {
		case f := <-next:
			return f()
		default:
			return nil
		}
	}
	want := func(list ...market.Intent) { next <- func() []market.Intent { return list } }
	r.start()
	if !r.trades() || !r.step() {
		return
	}
	back := func(crashes int) bool {
		return r.until(time.Minute, "another connector", func() bool {
			return made.started() == crashes+1 && r.phase() == Trading
		})
	}
	status := func(i int, wanted market.OrderStatus) bool {
		return r.moving(fmt.Sprint("order ", i, " ", wanted), func(list []market.Order) bool {
			return len(list) > i && list[i].Status == wanted
		})
	}
	// An order rests, and fills while there is no connector.
	want(limit(market.Buy, size, 29000))
	if !r.step() || !status(0, market.StatusOpen) {
		return
	}
	made.signal(t, syscall.SIGKILL)
	if !r.until(time.Minute, "halt", func() bool { return slices.Contains(r.notes().phases, Halted) }) {
		return
	}
	r.do(testvenue.Script{Action: "price", Args: []string{"BTCUSDT", "28900"}})
	if !back(1) || !r.step() || !status(0, market.StatusFilled) {
		return
	}
	// An order is on its way: the venue has it, and the answer never comes.
	r.do(testvenue.Script{Match: calledBy["submit"], Action: "hang_after"})
	before := r.venue.Count("submit")
	want(buy(size))
	if !r.step() || !r.until(time.Minute, "submit", func() bool {
		return r.venue.Count("submit") == before+1
	}) {
		return
	}
	made.signal(t, syscall.SIGKILL)
	if !back(2) || !r.step() || !status(1, market.StatusFilled) {
		return
	}
	if n := r.venue.Count("submit"); n != before+1 {
		r.errorf("%d submits of one order", n-before)
	}
	// It hangs beyond its lease, with an order at the venue and one for it to take.
	want(limit(market.Buy, size, 25000))
	if !r.step() || !status(2, market.StatusOpen) {
		return
	}
	before = r.venue.Count("submit")
	next <- func() []market.Intent {
		made.signal(t, syscall.SIGSTOP) // it takes the order, and nothing more
		return []market.Intent{buy(size)}
	}
	if !r.step() {
		return
	}
	time.Sleep(leaseTTL + time.Second)
	made.signal(t, syscall.SIGCONT)
	if !back(3) || !status(2, market.StatusCanceled) || !r.step() || !r.settled() {
		return
	}
	if n := r.venue.Count("submit"); n > before+1 {
		r.errorf("%d submits of one order", n-before)
	}
	made.signal(t, syscall.SIGKILL)
	err := r.wait()
	if f, ok := errors.AsType[*Fault](err); !ok || f.Reason != "connector_crashed" {
		r.errorf("%v", err)
	}
	r.check(dec{})
}
