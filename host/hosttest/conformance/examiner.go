package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// examiner plays one card.
type examiner struct {
	testing.TB
	venue    Venue
	patience time.Duration
	skip     func(reason string)
}

// fault makes something go wrong, or skips the card.
func (x *examiner) fault(name string, args ...string) {
	x.Helper()
	err := x.venue.Fault(name, args...)
	if errors.Is(err, ErrCannot) {
		x.skip("the venue cannot do " + strings.Join(append([]string{name}, args...), " "))
	}
	if err != nil {
		x.Fatalf("fault %s %v: %v", name, args, err)
	}
}

// can reports whether a fault that does nothing by itself is there.
func (x *examiner) can(name string, args ...string) bool {
	return x.venue.Fault(name, args...) == nil
}

// step lets a candle close.
func (x *examiner) step() {
	x.Helper()
	if err := x.venue.Fault(FaultStep); err != nil {
		x.Fatalf("every venue must let candles close: %v", err)
	}
}

// until waits for a condition while candles close.
func (x *examiner) until(what string, done func() bool) {
	x.Helper()
	x.await(what, done, true)
}

func (x *examiner) await(what string, done func() bool, step bool) {
	x.Helper()
	end := time.Now().Add(x.patience)
	for !done() {
		if time.Now().After(end) {
			x.Fatalf("%s did not happen within %s", what, x.patience)
		}
		if step {
			x.step()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// description returns the entry.
func (x *examiner) description() exchange.Description {
	x.Helper()
	d, err := x.venue.Connect().Describe(x.Context())
	if err != nil {
		x.Fatalf("Describe: %v", err)
	}
	return d
}

// credentials skips the card where none are taken.
func (x *examiner) credentials() {
	if !x.description().RequiresCredentials {
		x.skip("the exchange takes no credentials")
	}
}

// session is an open session with what a run does beside its orders.
type session struct {
	*examiner
	exchange.Connection
	req    exchange.OpenRequest
	opened exchange.Opened
	rules  map[market.Symbol]exchange.Market
	seq    int
	seen   streams
}

// streams is what the streams of a session have brought.
type streams struct {
	mu      sync.Mutex
	account []exchange.AccountEvent
	candles []exchange.CandleEvent
	failed  error // why the account stream ended
	ended   bool
	quiet   bool // no more beats
}

const beatEvery = 100 * time.Millisecond

// open starts a session; change may alter its request.
func (x *examiner) open(change ...func(*exchange.OpenRequest)) *session {
	x.Helper()
	s := &session{examiner: x, Connection: x.venue.Connect(), req: x.request()}
	for _, c := range change {
		c(&s.req)
	}
	var err error
	if s.opened, err = s.Open(x.Context(), s.req); err != nil {
		x.Fatalf("Open: %v", err)
	}
	s.listen()
	s.refresh()
	if s.req.Trading {
		x.await("the account stream", func() bool {
			return len(s.seen.events()) > 0 || s.seen.accountError() != nil
		}, false)
	}
	return s
}

// request returns a good one of a run of its own.
func (x *examiner) request() exchange.OpenRequest {
	const letters = "0123456789abcdefghijklmnopqrstuv"
	tag := make([]byte, 6)
	for i := range tag {
		tag[i] = letters[rand.IntN(len(letters))]
	}
	req := x.venue.Request()
	req.RunTag, req.RunID, req.Trading = string(tag), "svc_conformance_"+string(tag), true
	if req.LeaseTTL == 0 {
		req.LeaseTTL = 10 * time.Second
	}
	return req
}

// listen runs the streams and the beat until the card is over, and then closes. Orders
// stay: the venue is thrown away.
func (s *session) listen() {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.StreamCandles(ctx, func(e exchange.CandleEvent) {
			s.seen.mu.Lock()
			defer s.seen.mu.Unlock()
			s.seen.candles = append(s.seen.candles, e)
		})
	})
	if s.req.Trading {
		wg.Go(func() {
			err := s.StreamAccount(ctx, func(e exchange.AccountEvent) {
				s.seen.mu.Lock()
				defer s.seen.mu.Unlock()
				s.seen.account = append(s.seen.account, e)
			})
			s.seen.mu.Lock()
			defer s.seen.mu.Unlock()
			s.seen.failed, s.seen.ended = err, true
		})
	}
	wg.Go(func() {
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for seq := int64(1); ; seq++ {
			s.seen.mu.Lock()
			quiet := s.seen.quiet
			s.seen.mu.Unlock()
			if !quiet {
				_, _ = s.Beat(ctx, seq)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	s.Cleanup(func() {
		closing, done := context.WithTimeout(context.Background(), 30*time.Second)
		defer done()
		if _, err := s.Close(closing, false); err != nil {
			s.Logf("Close: %v", err)
		}
		cancel()
		wg.Wait()
	})
}

func (s *streams) events() []exchange.AccountEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.account)
}

func (s *streams) candleEvents() []exchange.CandleEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.candles)
}

func (s *streams) accountError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// refresh reads the rules.
func (s *session) refresh() {
	s.Helper()
	list, err := s.Markets(s.Context())
	if err != nil {
		s.Fatalf("Markets: %v", err)
	}
	s.rules = map[market.Symbol]exchange.Market{}
	for _, m := range list {
		s.rules[m.Symbol] = m
	}
}

// symbol returns the first one.
func (s *session) symbol() market.Symbol { return s.req.Symbols[0] }

// id returns the next client order id of the run.
func (s *session) id() string {
	s.seq++
	return fmt.Sprintf("as%s%010d", s.req.RunTag, s.seq)
}

// last returns the newest close of a symbol.
func (s *session) last(symbol market.Symbol) decimal.Decimal {
	s.Helper()
	list := s.history(symbol)
	price, err := decimal.NewFromFloat64(list[len(list)-1].Close)
	if err != nil {
		s.Fatal(err)
	}
	return price
}

// history returns the newest candles.
func (s *session) history(symbol market.Symbol) []market.Candle {
	s.Helper()
	now := s.now()
	length := s.req.Timeframe.Approx()
	var list []market.Candle
	s.await("history of "+string(symbol), func() bool {
		var err error
		list, err = s.Candles(s.Context(),
			exchange.CandleQuery{Symbol: symbol, From: now.Add(-200 * length), To: now.Add(length),
				Limit: 1000})
		if err != nil {
			s.Fatalf("Candles: %v", err)
		}
		return len(list) > 0
	}, true)
	return list
}

// now returns the venue's time.
func (s *session) now() market.Time {
	if s.Clock != nil {
		return s.Clock.Now()
	}
	if v, ok := s.venue.(exchange.VenueClock); ok { // of a connector over the wire
		return v.Now()
	}
	return market.FromTime(time.Now().Add(s.opened.ClockOffset))
}

// price returns the last price times a percentage, on the grid.
func (s *session) price(symbol market.Symbol, percent int64) decimal.Decimal {
	s.Helper()
	p, err := s.last(symbol).Mul(decimal.MustNew(percent, 2))
	if err != nil {
		s.Fatal(err)
	}
	return onGrid(s, p, s.rules[symbol].PriceTick)
}

// onGrid rounds down to a multiple.
func onGrid(t testing.TB, d, grid decimal.Decimal) decimal.Decimal {
	t.Helper()
	n, _, err := d.QuoRem(grid)
	if err != nil {
		t.Fatal(err)
	}
	out, err := n.Mul(grid)
	if err != nil {
		t.Fatal(err)
	}
	return out.Pad(grid.Scale()).Trim(0)
}

// worth returns a quantity that costs about so much of the quote currency, twice the least and
// more.
func (s *session) worth(symbol market.Symbol) decimal.Decimal {
	s.Helper()
	m := s.rules[symbol]
	amount := decimal.MustNew(25, 0)
	if least, err := m.MinNotional.Mul(decimal.MustNew(3, 0)); err == nil && least.Cmp(amount) > 0 {
		amount = least
	}
	q, err := amount.Quo(s.last(symbol))
	if err != nil {
		s.Fatal(err)
	}
	return onGrid(s, q.Trunc(12), m.QuantityStep)
}

// limit returns a buy at a percentage of the last price.
func (s *session) limit(percent int64) exchange.OrderRequest {
	s.Helper()
	symbol := s.symbol()
	return exchange.OrderRequest{
		ClientOrderID: s.id(), Symbol: symbol, Side: market.Buy, Type: market.Limit,
		Quantity: s.worth(symbol), LimitPrice: s.price(symbol, percent),
	}
}

func (s *session) market() exchange.OrderRequest {
	s.Helper()
	return exchange.OrderRequest{ClientOrderID: s.id(), Symbol: s.symbol(), Side: market.Buy,
		Type: market.Market, Quantity: s.worth(s.symbol())}
}

// submit sends an order that must be accepted.
func (s *session) submit(q exchange.OrderRequest) exchange.Order {
	s.Helper()
	r, o := s.Submit(s.Context(), q)
	if r.Outcome != exchange.Accepted {
		s.Fatalf("Submit %s %s: %+v", q.Type, q.Side, r)
	}
	if o.ClientOrderID != q.ClientOrderID || o.Symbol != q.Symbol {
		s.Fatalf("an ACCEPTED Submit echoes id and symbol: %+v", o)
	}
	return o
}

// outcome sends an order and requires an outcome.
func (s *session) outcome(q exchange.OrderRequest, want exchange.Outcome) exchange.Result {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
	defer cancel()
	r, _ := s.Submit(ctx, q)
	if r.Outcome != want {
		s.Fatalf("Submit: %s (%s %s), want %s", r.Outcome, r.VenueCode, r.Message, want)
	}
	return r
}

func ref(q exchange.OrderRequest) exchange.OrderRef {
	return exchange.OrderRef{ClientOrderID: q.ClientOrderID, Symbol: q.Symbol}
}

// query asks for an order that must be there.
func (s *session) query(r exchange.OrderRef) exchange.Order {
	s.Helper()
	result, o := s.Query(s.Context(), r)
	if result.Outcome != exchange.Accepted || o.ClientOrderID != r.ClientOrderID {
		s.Fatalf("Query %s: %+v %+v", r.ClientOrderID, result, o)
	}
	return o
}

// reaches waits until an order has a status.
func (s *session) reaches(r exchange.OrderRef, want exchange.OrderStatus) exchange.Order {
	s.Helper()
	var o exchange.Order
	s.until(fmt.Sprintf("%s %s", r.ClientOrderID, want), func() bool {
		o = s.query(r)
		return o.Status == want
	})
	return o
}

// absent requires the venue to answer that there is no such order.
func (s *session) absent(r exchange.OrderRef) {
	s.Helper()
	if result, _ := s.Query(s.Context(), r); result.Outcome != exchange.NotFound {
		s.Errorf("Query %s: %+v, want NOT_FOUND", r.ClientOrderID, result)
	}
}

// offers skips the card where an order type is not offered.
func (s *session) offers(kind string) {
	d, err := s.Describe(s.Context())
	if err != nil {
		s.Fatalf("Describe: %v", err)
	}
	if !slices.Contains(d.OrderTypes, kind) {
		s.skip("the exchange has no order type " + kind)
	}
}

// fills are those of an order.
func (s *session) fills(r exchange.OrderRef) []exchange.Fill {
	s.Helper()
	page, err := s.Fills(s.Context(), r.Symbol, 0)
	if err != nil {
		s.Fatalf("Fills: %v", err)
	}
	var list []exchange.Fill
	for _, f := range page.Fills {
		if f.ClientOrderID == r.ClientOrderID {
			list = append(list, f)
		}
	}
	return list
}
