package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/exchange/sim"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	simulator "github.com/assay-run/assay/plugin-sdk/sim"
)

// childDir makes the test binary a run that uses a folder, on the simulated market, or, when
// childVenue is set, on a test venue: its address, that of its scripts and its time.
const (
	childDir   = "ASSAY_TEST_ENGINE_CHILD"
	childVenue = "ASSAY_TEST_ENGINE_VENUE"
)

const submitsName = "submits"

// series is runs in one folder on one venue, which are killed at one place, one after the other.
type series struct {
	t      *testing.T
	binary string
	label  failpoint.Label
	venue  *testvenue.Venue // nil: the simulated market
	dir    string
	kills  int
}

// TestCrashPoints kills runs at every labelled place by SIGKILL, on the simulated market and, by the
// connector for Binance, on a test venue that lives on: what the venue was sent was written down before,
// nothing was sent twice, the journal is whole, and the next run begins and ends in good order, with
// nothing of the earlier ones left open.
func TestCrashPoints(t *testing.T) {
	ring.Proof(t, "it builds a program and kills it at every label, on two venues")
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "engine.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "crashpoints", "-o", binary,
		".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var list []*series
	for _, label := range failpoint.Labels() {
		list = append(list, &series{t: t, binary: binary, label: label, dir: t.TempDir()})
		// Fifty runs in as many seconds need more than one address may ask for.
		v, err := testvenue.Start(testvenue.Options{Start: far, History: 30, Cash: "10000000",
			Weight: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		}()
		list = append(list, &series{t: t, binary: binary, label: label, dir: t.TempDir(), venue: v})
	}
	var wg sync.WaitGroup
	turns := make(chan struct{}, 6)
	for _, s := range list {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			s.run(ring.Size(1, 1, 50))
		})
	}
	wg.Wait()
	kills := 0
	for _, s := range list {
		kills += s.kills
	}
	if !t.Failed() {
		ring.Count(t, "SIGKILLs at labels", kills, ring.Size(40, 40, 2000))
	}
}

func (s *series) errorf(format string, args ...any) {
	s.t.Errorf("%s on %s: %s", s.label, s.where(), fmt.Sprintf(format, args...))
}

func (s *series) where() string {
	if s.venue == nil {
		return sim.ID
	}
	return binance.ID
}

func (s *series) run(kills int) {
	for k := range kills {
		n := 1 + k%2
		if s.label == failpoint.MidReconcile || s.label == failpoint.StopBarrier ||
			s.label == failpoint.StopCancelling {
			n = 1 // a run passes there once
		}
		out, err := s.child(fmt.Sprintf("%s:%d", s.label, n))
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			s.errorf("it was not killed: %v\n%s", err, out)
			return
		}
		s.kills++
		if err := s.inspect(); err != nil {
			s.errorf("%v", err)
			return
		}
	}
	if out, err := s.child(""); err != nil {
		s.errorf("the run after the crash: %v\n%s", err, out)
		return
	}
	if err := s.atRest(); err != nil {
		s.errorf("after the last run: %v", err)
	}
}

func (s *series) child(at string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary)
	cmd.Env = append(os.Environ(), childDir+"="+s.dir)
	if s.venue != nil {
		cmd.Env = append(cmd.Env,
			fmt.Sprintf("%s=%s %s %d", childVenue, s.venue.URL(), s.venue.ScriptURL(), s.venue.Now()))
	}
	if at != "" {
		cmd.Env = append(cmd.Env, failpoint.Env+"="+at)
	}
	return cmd.CombinedOutput()
}

// inspect opens what a killed run left, as the next start of the service does.
func (s *series) inspect() error {
	ctx := s.t.Context()
	book, err := journal.Open(ctx, filepath.Join(s.dir, "live"), journal.Options{})
	if err != nil {
		return err
	}
	defer book.Close()
	if book.Quarantined != nil {
		return fmt.Errorf("the journal is damaged: %+v", book.Quarantined)
	}
	if err := s.sent(book.Journal); err != nil {
		return err
	}
	runs, err := book.Interrupted(ctx)
	if err != nil || len(runs) != 1 {
		return fmt.Errorf("%d interrupted runs %w", len(runs), err)
	}
	info := runs[0]
	if _, err := ReadBack(ctx, book.Journal, info, 0, nil, nothing{},
		func(int64, *simulator.Batch) {}); err != nil {
		return err
	}
	run, err := book.Resume(ctx, info.RunID)
	if err != nil {
		return err
	}
	return run.End(ctx,
		journal.End{Status: journal.Failed, StopReason: "error", At: market.FromTime(time.Now())})
}

// sent holds what was handed to the connector, and what the venue has, against the journal.
func (s *series) sent(book *journal.Journal) error {
	ids, err := submits(s.dir)
	if err != nil {
		return err
	}
	if twice := repeated(ids); len(twice) > 0 {
		return fmt.Errorf("an order was sent twice: %v", twice)
	}
	if s.venue != nil {
		var there []string
		for _, o := range s.venue.Orders() {
			there = append(there, o.Client)
		}
		if twice := repeated(there); len(twice) > 0 {
			return fmt.Errorf("an order was accepted twice: %v", twice)
		}
		ids = append(ids, there...)
	}
	strange, err := book.NotOurs(s.t.Context(), ids)
	if err == nil && len(strange) > 0 {
		err = fmt.Errorf("at the venue and not written down: %v", strange)
	}
	return err
}

func repeated(ids []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		before := seen[id]
		seen[id] = true
		return !before
	})
}

// atRest: after a run that ended in good order nothing is open, there or in the journal.
func (s *series) atRest() error {
	book, err := journal.Open(s.t.Context(), filepath.Join(s.dir, "live"), journal.Options{})
	if err != nil {
		return err
	}
	defer book.Close()
	if err := s.sent(book.Journal); err != nil || s.venue == nil {
		return err
	}
	trades := map[string]decimal.Decimal{}
	for _, x := range s.venue.Trades() {
		trades[x.Client] = order.Plus(trades[x.Client], x.Quantity)
	}
	for _, o := range s.venue.Orders() {
		if o.Open {
			return fmt.Errorf("%s is open at the venue", o.Client)
		}
	}
	runs, err := book.Runs(s.t.Context())
	if err != nil {
		return err
	}
	for _, run := range runs {
		left, err := book.EarlierOpenOrders(s.t.Context(), run.Exchange, run.AccountID, "svc_nobody")
		if err != nil || len(left) > 0 {
			return fmt.Errorf("%d orders are open in the journal %w", len(left), err)
		}
		fills, err := book.Fills(s.t.Context(), run.RunID, journal.Page{})
		if err != nil {
			return err
		}
		for _, f := range fills.Items {
			trades[f.ClientOrderID] = order.Minus(trades[f.ClientOrderID], f.Quantity)
		}
	}
	for id, rest := range trades {
		if !rest.IsZero() {
			return fmt.Errorf("%s of %s filled there and not in the journal", rest, id)
		}
	}
	return nil
}

// submits are the client order ids that were handed to the venue.
func submits(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, submitsName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return strings.Fields(string(text)), nil
}

// nothing records nothing.
type nothing struct{}

func (nothing) Intent(int64, *market.Intent, market.Reason) {}
func (nothing) Order(int64, *market.Order)                  {}
func (nothing) Fill(int64, *market.Fill)                    {}
func (nothing) Trade(int64, *market.Trade)                  {}
func (nothing) Equity(int64, *simulator.Mark)               {}

// scribe writes down what it is given before it passes it on. Of two market orders nothing is
// heard, neither an answer nor on the stream, so that it must be asked for.
type scribe struct {
	exchange.Connector
	file *os.File

	mu   sync.Mutex
	n    int
	lost map[string]bool
}

func (s *scribe) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	return s.Connector.StreamAccount(ctx, func(ev exchange.AccountEvent) {
		s.mu.Lock()
		drop := ev.Order != nil && s.lost[ev.Order.ClientOrderID] || ev.Fill != nil &&
			s.lost[ev.Fill.ClientOrderID]
		s.mu.Unlock()
		if !drop {
			on(ev)
		}
	})
}

func (s *scribe) Submit(ctx context.Context, req exchange.OrderRequest) (exchange.Result, exchange.Order) {
	fmt.Fprintln(s.file, req.ClientOrderID)
	s.mu.Lock()
	if req.Type == market.Market {
		s.n++
	}
	lost := req.Type == market.Market && s.n <= 2
	s.lost[req.ClientOrderID] = lost
	s.mu.Unlock()
	r, o := s.Connector.Submit(ctx, req)
	if lost {
		return exchange.Result{Outcome: exchange.Unknown}, exchange.Order{}
	}
	return r, o
}

func (s *scribe) SubmitPair(ctx context.Context,
	req exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	fmt.Fprintf(s.file, "%s\n%s\n", req.LimitID, req.StopID)
	return s.Connector.SubmitPair(ctx, req)
}

// child returns one run; it stops by itself.
func child(dir string) error {
	ctx := context.Background()
	book, err := journal.Open(ctx, filepath.Join(dir, "live"), journal.Options{})
	if err != nil {
		return err
	}
	all, err := book.Runs(ctx)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("svc_child%d", len(all)+1)
	file, err := os.OpenFile(filepath.Join(dir, submitsName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	host := &busy{cancel: cancel, last: 160}
	cfg := Config{
		RunID: id, Symbols: []market.Symbol{btc}, Timeframe: market.MustTimeframe("1m"),
		Journal: book.Journal,
		Limits:  loose(), Resume: Release, Orderly: func(err error) bool {
			return errors.Is(err, errStop)
		}, Gate: &sync.Mutex{}, Host: host,
	}
	var dial func() exchange.Connection
	if text := os.Getenv(childVenue); text != "" {
		dial, err = onVenue(&cfg, host, text)
	} else {
		dial, err = onSim(&cfg)
	}
	if err != nil {
		return err
	}
	cfg.Connect = func(context.Context) (*exchange.Connection, error) {
		c := dial()
		c.Connector = &scribe{Connector: c.Connector, file: file, lost: map[string]bool{}}
		return &c, nil
	}
	info := infoOf(id)
	info.Exchange = cfg.Venue.ID
	run, err := book.Begin(ctx, info)
	if err != nil {
		return err
	}
	cfg.Run = run
	e := New(cfg)
	if err := e.Run(ctx); !errors.Is(err, errStop) {
		return fmt.Errorf("the run ended by %w", err)
	}
	if bad := e.atEnd(); bad != "" {
		return errors.New(bad)
	}
	if err := run.End(context.Background(),
		journal.End{Status: journal.Completed, StopReason: "stopped",
			At: market.FromTime(time.Now())}); err != nil {
		return err
	}
	return book.Close()
}

func onSim(cfg *Config) (func() exchange.Connection, error) {
	config, err := exchange.DecodeConfig(sim.Describe().ConfigSchema, []byte(`{"candles_per_second":100}`))
	if err != nil {
		return nil, err
	}
	cfg.Venue = sim.Describe()
	cfg.Open = exchange.OpenRequest{RunID: cfg.RunID, RunTag: order.Tag(cfg.RunID), Trading: true,
		Symbols: cfg.Symbols, Timeframe: cfg.Timeframe, Config: config}
	return func() exchange.Connection { return sim.New(nil) }, nil
}

// onVenue returns a run on a test venue whose candles close when the strategy has answered.
func onVenue(cfg *Config, host *busy, text string) (func() exchange.Connection, error) {
	var url, scripts string
	at := &marked{}
	if _, err := fmt.Sscan(text, &url, &scripts, &at.time); err != nil {
		return nil, err
	}
	cfg.Venue, cfg.Open = offered(), request(cfg.RunID)
	host.last, host.answered = 120, make(chan market.Time, 1)
	go at.pass(scripts+"/scripts", host.answered)
	return func() exchange.Connection {
		ends := binance.At(url)
		c := wire.Guard(binance.NewAt(ends, ends), nil)
		c.Clock = at
		return c
	}, nil
}

// marked is the clock of a venue whose time is moved from here.
type marked struct {
	mu   sync.Mutex
	time market.Time
}

// Now implements exchange.VenueClock.
func (m *marked) Now() market.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.time
}

// Wall implements exchange.VenueClock.
func (*marked) Wall(d time.Duration) time.Duration { return d }

// pass closes a candle whenever the last one was answered, or nothing has come of it for a while.
func (m *marked) pass(address string, answered <-chan market.Time) {
	for {
		select {
		case closed := <-answered:
			if closed < m.Now() {
				continue // there is a later one, of the time when nothing came
			}
			time.Sleep(15 * time.Millisecond)
		case <-time.After(time.Second):
		}
		m.mu.Lock()
		m.time += market.Time(time.Minute / time.Millisecond)
		m.mu.Unlock()
		//nolint:noctx // loopback
		resp, err := http.Post(address, "application/json", strings.NewReader(`{"action":"step"}`))
		if err == nil {
			err = resp.Body.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// busy trades a little of everything and has the run stopped in the end.
type busy struct {
	nothing
	cancel   context.CancelCauseFunc
	last     int64            // step; at 100 a second the lost answers have been asked for by then
	answered chan market.Time // closes of candles; nil: nobody waits
}

func (b *busy) Begin(Layout) (simulator.Recorder, error) { return b, nil }
func (b *busy) Candles(int64, *simulator.Batch)          {}
func (b *busy) InputStale() bool                         { return false }
func (b *busy) Phase(name string)                        { fmt.Fprintln(os.Stderr, name) }
func (b *busy) Raise(o alarm.Occurrence)                 { fmt.Fprintln(os.Stderr, o.Code, o.Text) }
func (b *busy) Clear(string, string)                     {}

// Order tells on standard error what was refused.
func (b *busy) Order(step int64, o *market.Order) {
	if o.Status == market.StatusRejected {
		fmt.Fprintln(os.Stderr, "step", step, o.Side, o.Type, o.Reason)
	}
}

func (b *busy) Decide(v *View) ([]market.Intent, error) {
	if b.answered != nil {
		select {
		case <-b.answered:
		default:
		}
		b.answered <- v.CloseTime
	}
	low := limit(market.Buy, 0.01, v.Candles[0].Close*0.97)
	switch n := v.Step; {
	case n == b.last:
		b.cancel(errStop)
	case n == b.last-3: // the stop has something to cancel, wherever the price went
		return []market.Intent{limit(market.Buy, 0.01, v.Candles[0].Close*0.8)}, nil
	case n%24 == 0:
		in := buy(0.02)
		in.StopLoss, in.TakeProfit = &market.Child{Percent: 0.04}, &market.Child{Percent: 0.04}
		return []market.Intent{in}, nil
	case n%12 == 0:
		return []market.Intent{buy(0.02)}, nil
	case n%12 == 2:
		return []market.Intent{low, low}, nil
	case n%12 == 5 && n < b.last-10:
		return []market.Intent{{Action: market.CancelAll, Symbol: btc}}, nil
	case n%12 == 8:
		return []market.Intent{{Action: market.Close}}, nil
	}
	return nil, nil
}
