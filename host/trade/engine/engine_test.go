package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

func TestMain(m *testing.M) {
	serveConnector()
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

var errStop = errors.New("somebody wants it to stop")

// bench is a run on the venue in memory, with everything that tests look at.
type bench struct {
	explode bool // the next phase breaks the run
	breaks  bool // the next step does; with the gate held
	t       *testing.T
	venue   *venue
	book    *journal.Journal
	engine  *Engine
	gate    sync.Mutex
	set     alarm.Set // with mu held
	decide  func(*View) ([]market.Intent, error)
	limits  risk.Limits
	symbols []market.Symbol // btc if empty
	onStop  OnStop
	resume  Resume
	warmup  market.Warmup
	runs    int
	prefix  string // of run ids
	before  string // the id of an earlier run

	mu      sync.Mutex
	in      notes
	barrier time.Time // when the phase was stopping
	late    []string  // submits after it
	unknown []string  // submits that were not written down
	cancel  context.CancelCauseFunc
	ended   chan error

	// notes as of the last sleep or end.
	notes
}

// notes are what a run told.
type notes struct {
	phases, warnings []string
	orders           []market.Order
	fills            []market.Fill
	trades           []market.Trade
	views            []*View
	calls            map[string]int // at the venue
	held             []exchange.Order
}

// look takes the notes over.
func (b *bench) look() {
	synctest.Wait()
	b.venue.mu.Lock()
	defer b.venue.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = b.in
	b.orders, b.calls, b.held = slices.Clone(b.in.orders), maps.Clone(b.venue.count), nil
	for _, o := range b.venue.orders {
		b.held = append(b.held, o.Order)
	}
}

// sleep lets the run go on for a while.
func (b *bench) sleep(d time.Duration) {
	time.Sleep(d)
	b.look()
}

// openBook opens a journal, in memory: what a kill leaves of one is proved elsewhere. One that many
// runs share is opened outside their bubbles, and each of them is given an account of its own.
func openBook(t *testing.T) *journal.Journal {
	t.Helper()
	o, err := journal.Open(t.Context(), filepath.Join(hosttest.RAMDir(t), "live"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return o.Journal
}

// shared returns a journal for the parallel tests below one.
func shared(t *testing.T) *journal.Journal {
	book := openBook(t)
	t.Cleanup(func() {
		if err := book.Close(); err != nil {
			t.Error(err)
		}
	})
	return book
}

func newBench(t *testing.T, book *journal.Journal) *bench {
	t.Helper()
	b := &bench{t: t, venue: newVenue(), book: book, limits: loose(), prefix: "svc_run", before: "svc_before"}
	b.decide = func(*View) ([]market.Intent, error) { return nil, nil }
	return b
}

// loose limits do not disturb tests of something else.
func loose() risk.Limits {
	l := risk.Defaults(false)
	l.FillsPerHour, l.OrdersPerMinute, l.DuplicatesPerCandle, l.MaxRejectsInRow, l.MaxRejects = 1000, 1000,
		1000, 1000, 1000
	l.MaxDrawdown, l.MaxDailyLoss, l.PriceCollar = d("1"), d("1"), d("1")
	return l
}

// traded are the symbols of the run; the venue has them all.
func (b *bench) traded() []market.Symbol {
	if len(b.symbols) == 0 {
		return []market.Symbol{btc}
	}
	return b.symbols
}

// start begins a run.
func (b *bench) start() {
	b.t.Helper()
	b.runs++
	id := fmt.Sprint(b.prefix, b.runs)
	run, err := b.book.Begin(b.t.Context(), journal.Info{
		RunID: id, RunTag: order.Tag(id), Mode: journal.Live, Exchange: "fake", Symbols: b.traded(),
		Timeframe: market.MustTimeframe("1m"), Request: json.RawMessage(`{}`),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.engine = New(Config{
		RunID: id, Symbols: b.traded(), Timeframe: market.MustTimeframe("1m"), Venue: description(),
		Connect: b.venue.connect,
		Journal: b.book, Run: run, Limits: b.limits, Warmup: b.warmup, OnStop: b.onStop, Resume: b.resume,
		Orderly: func(err error) bool {
			return errors.Is(err, errStop)
		},
		Gate: &b.gate, Host: b,
	})
	b.venue.submitted, b.venue.symbols = b.submitted, b.traded()
	ctx, cancel := context.WithCancelCause(b.t.Context())
	b.cancel, b.ended, b.barrier, b.in = cancel, make(chan error, 1), time.Time{}, notes{}
	go func() {
		defer func() {
			if !b.explode && !b.breaks {
				return // nobody expects a panic
			}
			if p := recover(); p != nil {
				b.ended <- fmt.Errorf("a panic: %v", p)
			}
		}()
		err := b.engine.Run(ctx)
		end := journal.End{Status: journal.Completed, StopReason: "stopped", At: market.FromTime(time.Now())}
		if e := run.End(context.Background(), end); e != nil && !errors.Is(e, journal.ErrClosed) {
			b.t.Error(e)
		}
		b.ended <- err
	}()
}

// stop ends the run and returns how it ended.
func (b *bench) stop() error {
	var bad []string
	b.engine.inbox.post(func() { bad = b.engine.protected() })
	if synctest.Wait(); len(bad) > 0 {
		b.t.Errorf("not protected, and nobody was told: %v", bad)
	}
	b.cancel(errStop)
	return b.wait()
}

func (b *bench) wait() error {
	err := <-b.ended
	b.look()
	return err
}

func (b *bench) close() {
	if err := b.book.Close(); err != nil {
		b.t.Error(err)
	}
}

// Begin implements Host.
func (b *bench) Begin(Layout) (sim.Recorder, error) { return b, nil }

// Candles implements Host.
func (b *bench) Candles(int64, *sim.Batch) {
	if b.breaks {
		panic("broken")
	}
}

// Decide implements Host.
func (b *bench) Decide(v *View) ([]market.Intent, error) {
	b.mu.Lock()
	b.in.views = append(b.in.views, v)
	b.mu.Unlock()
	return b.decide(v)
}

// Phase implements Host.
func (b *bench) InputStale() bool { return false }

func (b *bench) Phase(p string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.in.phases = append(b.in.phases, p)
	if b.explode {
		panic("broken")
	}
	if p == Stopping {
		b.barrier = time.Now()
	}
}

// Raise implements Host.
func (b *bench) Raise(o alarm.Occurrence) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.set.Raise(o, 0); o.Code != CodeOrderRejected && !slices.Contains(b.in.warnings, o.Code+" "+o.Text) {
		b.in.warnings = append(b.in.warnings, o.Code+" "+o.Text)
	}
}

// Clear implements Host.
func (b *bench) Clear(code, subject string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set.Clear(code, subject)
}

func (n *notes) warned(code string) bool {
	return slices.ContainsFunc(n.warnings, func(w string) bool { return strings.HasPrefix(w, code+" ") })
}

func (n *notes) phase() string { return n.phases[len(n.phases)-1] }

// Intent implements sim.Recorder, and so on.
func (b *bench) Intent(int64, *market.Intent, market.Reason) {}

func (b *bench) Order(_ int64, o *market.Order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := int(o.ID) - 1; i < len(b.in.orders) {
		b.in.orders[i] = *o
	} else {
		b.in.orders = append(b.in.orders, *o)
	}
}

func (b *bench) Fill(_ int64, f *market.Fill) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.in.fills = append(b.in.fills, *f)
}

func (b *bench) Trade(_ int64, t *market.Trade) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.in.trades = append(b.in.trades, *t)
}

func (b *bench) Equity(int64, *sim.Mark) {}

// submitted judges a submit when it arrives at the venue.
func (b *bench) submitted(id string) {
	strange, err := b.book.NotOurs(context.Background(), []string{id})
	if err != nil {
		b.t.Error(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unknown = append(b.unknown, strange...)
	if !b.barrier.IsZero() && time.Now().After(b.barrier) && b.onStop != Flatten {
		b.late = append(b.late, id)
	}
}

// check holds the run against what must always be so; position only where all is known.
func (b *bench) check(err error) {
	b.t.Helper()
	b.mu.Lock()
	late, unknown := b.late, b.unknown
	b.mu.Unlock()
	if len(late)+len(unknown) > 0 {
		b.t.Errorf("submits after the barrier %v, not written down %v", late, unknown)
	}
	for id, n := range b.venue.accepted {
		if n > 1 {
			b.t.Errorf("%s was accepted %d times", id, n)
		}
	}
	if b.engine.books.manager == nil {
		return
	}
	if err := b.engine.books.manager.Ledger().Check(); err != nil {
		b.t.Error(err)
	}
	if bad := b.engine.atEnd(); bad != "" && !b.warned(order.CodeUnprotected) {
		b.t.Error(bad)
	}
	if f, ok := errors.AsType[*Fault](err); ok && f.Code == CodeUnconfirmed {
		return
	}
	have, want := b.engine.books.manager.Ledger().Quantity(btc), b.venue.net(func(id string) bool {
		return ofRun(id, order.Tag(b.engine.cfg.RunID)) && !b.engine.settles(id)
	})
	if have.Cmp(want) != 0 {
		b.t.Errorf("the books hold %s, the venue's trades make %s", have, want)
	}
	for _, o := range b.held {
		if o.Status == exchange.OrderOpen && ofRun(o.ClientOrderID, order.Tag(b.engine.cfg.RunID)) &&
			(o.Side == market.Buy || (b.onStop != "" && b.onStop != Leave)) {
			b.t.Errorf("%s is still open", o.ClientOrderID)
		}
	}
}

func buy(q float64) market.Intent {
	return market.Intent{Size: market.Size{Kind: market.SizeQuantity, Value: q}}
}

// inBubble runs a test with time of its own.
func inBubble(t *testing.T, f func(*testing.T, *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, openBook(t))
		defer b.close()
		f(t, b)
	})
}

// sharing is inBubble in a journal that many tests write.
func sharing(t *testing.T, book *journal.Journal, name string, f func(*bench)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, book)
			b.venue.account = "acc " + name
			b.prefix = "svc_" + strings.Map(func(r rune) rune {
				if r == ' ' || r == '=' {
					return '-'
				}
				return r
			}, name) + "."
			b.before = b.prefix + "before"
			f(b)
		})
	})
}

func TestRoundTrip(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.warmup.Candles = 5
		b.decide = func(v *View) ([]market.Intent, error) {
			switch v.Step {
			case 2:
				return []market.Intent{buy(1)}, nil // in the warm-up
			case 6:
				in := buy(2)
				in.StopLoss, in.TakeProfit = &market.Child{Percent: 0.5}, &market.Child{Percent: 0.5}
				return []market.Intent{in}, nil
			case 9:
				return []market.Intent{{Action: market.Close}}, nil
			}
			return nil, nil
		}
		b.start()
		b.sleep(8 * minute)
		err := b.stop()
		b.check(err)
		if !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		if len(b.trades) != 1 || len(b.fills) != 2 || b.trades[0].Quantity.Cmp(d("2")) != 0 {
			t.Errorf("%+v %+v", b.trades, b.fills)
		}
		var said []string
		for _, o := range b.orders {
			said = append(said, o.Role.String()+":"+o.Status.String()+":"+string(o.Reason))
		}
		if got := strings.Join(said,
			" "); got != "entry:rejected:warmup entry:filled: stop_loss:canceled:position_closed "+
			"take_profit:canceled:position_closed exit:filled:" {
			t.Error(got)
		}
		if got := strings.Join(b.phases, " "); got != "starting reconciling warming trading stopping" {
			t.Error(got)
		}
		if v := b.views[7]; len(v.Fills) != 1 || v.Holdings[0].Quantity != 2 || len(v.Orders) == 0 {
			t.Errorf("%+v", v)
		}
	})
}

// TestAmbiguous plays every bad answer to a submit, a cancel and a query. Whatever the venue did,
// the books say it in the end, and no order is sent twice.
func TestAmbiguous(t *testing.T) {
	acts := []act{hangs, hungAfter, cutBefore, cutAfter, foreign, refuses, notSent, throttles, bans, clocks,
		doubles}
	book := shared(t)
	for _, call := range []string{"submit", "cancel", "query", "fills", "orders", "balances"} {
		for _, a := range acts {
			if a == doubles && call != "submit" || a == refuses && call == "submit" {
				continue
			}
			for _, silent := range []bool{false, true} {
				sharing(t, book, fmt.Sprintf("%s %s silent=%v", call, a, silent), func(b *bench) {
					ambiguous(b, call, a, silent)
				})
			}
		}
	}
}

// ambiguous lets two calls go wrong, with a stream that tells nothing or everything.
func ambiguous(b *bench, call string, a act, silent bool) {
	var begun atomic.Bool
	b.venue.wrong = func(c string, n int) act {
		if begun.Load() && c == call && n <= 3 {
			return a
		}
		return fine
	}
	if silent {
		b.venue.events = func(exchange.AccountEvent) []exchange.AccountEvent { return nil }
	}
	b.decide = func(v *View) ([]market.Intent, error) {
		begun.Store(true)
		switch v.Step {
		case 1:
			return []market.Intent{buy(1),
				{Type: market.Limit, LimitPrice: 60, Size: market.Size{Kind: market.SizeQuantity, Value: 1},
					ClientRef: "low"}}, nil
		case 3:
			return []market.Intent{{Action: market.Cancel, Ref: "low"}}, nil
		case 5:
			return []market.Intent{{Action: market.Close}}, nil
		}
		return nil, nil
	}
	b.start()
	b.sleep(6*minute + 30*time.Second)
	err := b.stop()
	b.check(err)
	if !errors.Is(err, errStop) {
		b.t.Fatalf("%v; warnings %v", err, b.warnings)
	}
	for _, o := range b.orders {
		if !slices.Contains([]market.OrderStatus{market.StatusFilled, market.StatusCanceled,
			market.StatusRejected}, o.Status) {
			b.t.Errorf("%+v is at no end", o)
		}
	}
	if b.phase() != Stopping || slices.Contains(b.phases, Halted) {
		b.t.Errorf("phases %v", b.phases)
	}
}

// TestStopAnywhere stops a busy run at random instants, with a venue that is random too.
func TestStopAnywhere(t *testing.T) {
	seeds := ring.Size(20, 200, 10_000)
	book := shared(t)
	var stops atomic.Int64
	t.Run("at", func(t *testing.T) {
		for seed := range seeds {
			sharing(t, book, fmt.Sprint(seed), func(b *bench) {
				stopAnywhere(b, uint64(seed))
				stops.Add(1)
			})
		}
	})
	ring.Count(t, "random stops", int(stops.Load()), seeds)
}

func stopAnywhere(b *bench, seed uint64) {
	rng, when := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 3))
	bad := rand.New(rand.NewPCG(seed, 2))
	acts := []act{hangs, hungAfter, cutBefore, cutAfter, notSent, throttles, clocks, refuses}
	began := time.Now()
	b.venue.split, b.venue.feeBase = 1+rng.IntN(3), rng.IntN(2) == 0
	b.onStop = []OnStop{Cancel, Cancel, Flatten, Leave}[rng.IntN(4)]
	b.limits.MaxPositionFraction = d("0.05") // 500; the price is never below 97
	b.venue.wrong = func(call string, _ int) act {
		if call == "open" || time.Since(began) < time.Second || bad.IntN(5) != 0 {
			return fine
		}
		a := acts[bad.IntN(len(acts))]
		if a == refuses && call != "submit" {
			return cutAfter
		}
		return a
	}
	b.venue.events = func(ev exchange.AccountEvent) []exchange.AccountEvent {
		switch bad.IntN(8) {
		case 0:
			return nil
		case 1:
			return []exchange.AccountEvent{ev, ev}
		}
		return []exchange.AccountEvent{ev}
	}
	b.decide = func(v *View) ([]market.Intent, error) {
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
		var list []market.Intent
		for range rng.IntN(3) {
			in := buy(float64(1+rng.IntN(300)) / 100)
			switch rng.IntN(5) {
			case 0:
				in.Type, in.LimitPrice = market.Limit, 98
			case 1:
				in.StopLoss, in.TakeProfit = &market.Child{Percent: 0.04}, &market.Child{Percent: 0.04}
			case 2:
				in = market.Intent{Action: market.Close}
			case 3:
				in = market.Intent{Action: market.CancelAll, Symbol: btc}
			}
			list = append(list, in)
		}
		return list, nil
	}
	b.start()
	time.Sleep(time.Duration(when.Int64N(int64(6 * minute))))
	b.check(b.stop())
	if most := d("5.16"); b.venue.peak.Cmp(most) > 0 {
		b.t.Errorf("%s could have been held, orders of unknown fate included; at most %s were allowed",
			b.venue.peak, most)
	}
}

// ofRun reports whether an id was made by the run with this tag.
func ofRun(id, tag string) bool { return order.Ours(id) && strings.HasPrefix(id, "as"+tag) }
