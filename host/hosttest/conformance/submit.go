package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var submitCards = []card{
	{"market", marketOrder},
	{"by quote amount", byQuoteAmount},
	{"limit rests", limitRests},
	{"limit crosses", limitCrosses},
	{"stop", func(x *examiner) { stopOrder(x, market.Stop) }},
	{"stop-limit", func(x *examiner) { stopOrder(x, market.StopLimit) }},
	{"exit pair", exitPair},
	{"definite rejects", definiteRejects},
	{"no balance", noBalance},
	{"below minimum", belowMinimum},
	{"duplicate open id", duplicateID},
}

var faultCards = []card{
	{"cut before accept", func(x *examiner) { x.ambiguous(false, CutBefore) }},
	{"cut after", func(x *examiner) { x.ambiguous(true, CutAfter) }},
	{"hang after", hangAfter},
	{"garbage 200", func(x *examiner) { x.ambiguous(true, HTML, Empty, Truncated, ForeignID) }},
	{"5xx", func(x *examiner) { x.ambiguous(true, Status500, Status503) }},
	{"throttled", func(x *examiner) { x.unexecuted(Status429, exchange.Throttled, true) }},
	{"banned", func(x *examiner) { x.unexecuted(Status418, exchange.Banned, true) }},
	{"clock", func(x *examiner) { x.unexecuted(WrongClock, exchange.Clock, false) }},
	{"one request per Submit", oneRequest},
}

// filled waits for the fill of an order and checks its sums.
func (s *session) filled(q exchange.OrderRequest) exchange.Order {
	s.Helper()
	o := s.reaches(ref(q), exchange.OrderFilled)
	if !o.CumQuantity.IsPos() || !o.AveragePrice.IsPos() || q.Quantity.IsPos() &&
		o.CumQuantity.Cmp(q.Quantity) != 0 {
		s.Errorf("a filled order of %s: %s at %s", q.Quantity, o.CumQuantity, o.AveragePrice)
	}
	var total decimal.Decimal
	for _, f := range s.fills(ref(q)) {
		total = sum(s, total, f.Quantity)
		if f.Side != q.Side || !f.Price.IsPos() || f.FeeAsset == "" || f.Time == 0 {
			s.Errorf("fill %+v", f)
		}
	}
	if total.Cmp(o.CumQuantity) != 0 {
		s.Errorf("the fills sum up to %s, the order has %s", total, o.CumQuantity)
	}
	return o
}

func marketOrder(x *examiner) {
	s := x.open()
	q := s.market()
	s.submit(q)
	s.filled(q)
	s.until("the fill on the stream", func() bool {
		for _, e := range s.seen.events() {
			if e.Fill != nil && e.Fill.ClientOrderID == q.ClientOrderID {
				return true
			}
		}
		return false
	})
}

func byQuoteAmount(x *examiner) {
	s := x.open()
	s.offers("market_quote")
	q := s.market()
	q.Quantity, q.QuoteAmount = decimal.Decimal{}, decimal.MustNew(50, 0)
	s.submit(q)
	o := s.filled(q)
	spent, err := o.CumQuantity.Mul(o.AveragePrice)
	if err != nil {
		x.Fatal(err)
	}
	if spent.Cmp(decimal.MustNew(505, 1)) > 0 || spent.Cmp(decimal.MustNew(45, 0)) < 0 {
		x.Errorf("%s of 50 was spent", spent)
	}
}

func limitRests(x *examiner) {
	s := x.open()
	q := s.limit(80)
	if o := s.submit(q); o.Status != exchange.OrderOpen || !o.CumQuantity.IsZero() {
		x.Errorf("a resting order: %+v", o)
	}
	if o := s.query(ref(q)); o.Status != exchange.OrderOpen || o.VenueOrderID == "" || o.Side != q.Side ||
		o.Type != q.Type {
		x.Errorf("a resting order: %+v", o)
	}
	s.until("the order on the stream", func() bool {
		return s.seen.hasOrder(q.ClientOrderID, exchange.OrderOpen)
	})
}

func (s *streams) hasOrder(id string, status exchange.OrderStatus) bool {
	for _, e := range s.events() {
		if e.Order != nil && e.Order.ClientOrderID == id && e.Order.Status == status {
			return true
		}
	}
	return false
}

func limitCrosses(x *examiner) {
	s := x.open()
	q := s.limit(110)
	s.submit(q)
	if o := s.filled(q); o.AveragePrice.Cmp(q.LimitPrice) > 0 {
		x.Errorf("bought at %s with a limit of %s", o.AveragePrice, q.LimitPrice)
	}
}

// postOnly: one below the market rests, one that crosses is refused with the code would_take: at once, or
// when the market has seen it.
func postOnly(x *examiner) {
	s := x.open()
	s.offers("post_only")
	q := s.limit(80)
	q.PostOnly = true
	if o := s.submit(q); o.Status != exchange.OrderOpen || !o.CumQuantity.IsZero() {
		x.Errorf("a post-only order below the market: %+v", o)
	}
	q = s.limit(110)
	q.PostOnly = true
	r, _ := s.Submit(x.Context(), q)
	if r.Outcome == exchange.Accepted {
		s.until("the end of a post-only order that would take", func() bool {
			o := s.query(ref(q))
			r.VenueCode = o.Reason
			ended := o.Status == exchange.OrderRejected || o.Status == exchange.OrderExpired
			return ended && o.CumQuantity.IsZero()
		})
	} else if r.Outcome != exchange.Rejected {
		x.Fatalf("Submit: %+v", r)
	}
	if r.VenueCode != string(market.ReasonWouldTake) {
		x.Errorf("a post-only order that would take is refused with %q", r.VenueCode)
	}
}

// trigger is a price above the market that the session makes the market reach. Where the venue
// cannot be moved it is near: one tick off the market, and the card waits for it.
type trigger struct {
	session *session
	near    bool
}

func (s *session) trigger() trigger {
	return trigger{s, !s.can(FaultPrice, string(s.symbol()), s.last(s.symbol()).String())}
}

func (t trigger) above() decimal.Decimal {
	s := t.session
	s.Helper()
	if t.near {
		return sum(s, s.price(s.symbol(), 100), s.rules[s.symbol()].PriceTick)
	}
	return s.price(s.symbol(), 104)
}

func (t trigger) reach() {
	s := t.session
	s.Helper()
	if !t.near {
		s.fault(FaultPrice, string(s.symbol()), s.price(s.symbol(), 106).String())
	}
}

func stopOrder(x *examiner, kind market.OrderType) {
	s := x.open()
	s.offers(kind.String())
	t := s.trigger()
	q := s.market()
	q.Type, q.StopPrice = kind, t.above()
	if kind == market.StopLimit {
		q.LimitPrice = s.price(q.Symbol, 110)
	}
	s.submit(q)
	if o := s.query(ref(q)); o.Status != exchange.OrderOpen && !t.near || o.StopPrice.Cmp(q.StopPrice) != 0 {
		x.Errorf("a stop that waits: %+v", o)
	}
	t.reach()
	s.filled(q)
}

func exitPair(x *examiner) {
	s := x.open()
	s.offers("exit_pair")
	q := s.market()
	s.submit(q)
	s.filled(q)
	t := s.trigger()
	pair := exchange.PairRequest{
		ListID: s.id(), LimitID: s.id(), StopID: s.id(), Symbol: q.Symbol, Side: market.Sell,
		Quantity: onGrid(s, s.free(q.Symbol.Base()), s.rules[q.Symbol].QuantityStep), LimitPrice: t.above(),
		StopPrice: s.price(q.Symbol, 90),
	}
	r, legs := s.SubmitPair(x.Context(), pair)
	if r.Outcome != exchange.Accepted || legs[0].ClientOrderID != pair.LimitID ||
		legs[1].ClientOrderID != pair.StopID {
		x.Fatalf("SubmitPair: %+v %+v", r, legs)
	}
	limit, stop := exchange.OrderRef{ClientOrderID: pair.LimitID, Symbol: q.Symbol},
		exchange.OrderRef{ClientOrderID: pair.StopID, Symbol: q.Symbol}
	for _, leg := range []exchange.OrderRef{limit, stop} {
		if o := s.query(leg); o.Status != exchange.OrderOpen && !t.near {
			x.Errorf("a leg that waits: %+v", o)
		}
	}
	t.reach()
	s.reaches(limit, exchange.OrderFilled)
	s.until("the end of the other leg", func() bool {
		status := s.query(stop).Status
		return status == exchange.OrderCanceled || status == exchange.OrderExpired
	})
}

// free returns the free balance of an asset.
func (s *session) free(asset string) decimal.Decimal {
	s.Helper()
	list, err := s.Balances(s.Context())
	if err != nil {
		s.Fatalf("Balances: %v", err)
	}
	for _, b := range list {
		if b.Asset == asset {
			return b.Free
		}
	}
	return decimal.Decimal{}
}

// requireReject requires the venue to reject an order with its own code, and not to have it.
func requireReject(s *session, q exchange.OrderRequest) {
	s.Helper()
	if r := s.outcome(q, exchange.Rejected); r.VenueCode == "" || r.Message == "" {
		s.Errorf("a reject carries the exchange's code and word: %+v", r)
	}
	s.absent(ref(q))
}

func definiteRejects(x *examiner) {
	s := x.open()
	m := s.rules[s.symbol()]
	half := decimal.MustNew(5, 1)
	q := s.limit(80)
	q.LimitPrice = sum(s, q.LimitPrice, product(s, m.PriceTick, half))
	requireReject(s, q)
	q = s.limit(80)
	q.Quantity = sum(s, q.Quantity, product(s, m.QuantityStep, half))
	requireReject(s, q)
}

func product(t testing.TB, a, b decimal.Decimal) decimal.Decimal {
	t.Helper()
	c, err := a.Mul(b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func noBalance(x *examiner) {
	s := x.open()
	q := s.limit(80)
	cash, err := s.free(q.Symbol.Quote()).Mul(decimal.MustNew(2, 0))
	if err != nil {
		x.Fatal(err)
	}
	quantity, err := cash.Quo(q.LimitPrice)
	if err != nil {
		x.Fatal(err)
	}
	q.Quantity = onGrid(s, quantity.Trunc(12), s.rules[q.Symbol].QuantityStep)
	requireReject(s, q)
}

func belowMinimum(x *examiner) {
	s := x.open()
	m := s.rules[s.symbol()]
	if !m.MinNotional.IsPos() {
		x.skip("the market has no least notional")
	}
	q := s.limit(80)
	quantity, err := m.MinNotional.Quo(product(s, q.LimitPrice, decimal.MustNew(2, 0)))
	if err != nil {
		x.Fatal(err)
	}
	q.Quantity = onGrid(s, quantity.Trunc(12), m.QuantityStep)
	requireReject(s, q)
}

func duplicateID(x *examiner) {
	s := x.open()
	q := s.limit(80)
	first := s.submit(q)
	s.outcome(q, exchange.Duplicate)
	if o := s.query(ref(q)); o.VenueOrderID != first.VenueOrderID || o.Status != exchange.OrderOpen {
		x.Errorf("the first order: %+v", o)
	}
	n := 0
	for _, o := range s.openOrders() {
		if o.ClientOrderID == q.ClientOrderID {
			n++
		}
	}
	if n != 1 {
		x.Errorf("%d orders are open under the id", n)
	}
}

// openOrders are the open orders of the account.
func (s *session) openOrders() []exchange.Order {
	s.Helper()
	list, err := s.OpenOrders(s.Context())
	if err != nil {
		s.Fatalf("OpenOrders: %v", err)
	}
	return list
}

// ambiguous submits into faults that leave open what became of the order.
func (x *examiner) ambiguous(executed bool, actions ...string) {
	s := x.open()
	for _, action := range actions {
		q := s.limit(80)
		x.fault(FaultSubmit, action)
		s.outcome(q, exchange.Unknown)
		if !executed {
			s.absent(ref(q))
			continue
		}
		if o := s.query(ref(q)); o.Status != exchange.OrderOpen {
			x.Errorf("%s: the order is %+v", action, o)
		}
	}
}

func hangAfter(x *examiner) {
	s := x.open()
	q := s.limit(80)
	x.fault(FaultSubmit, HangAfter)
	ctx, cancel := context.WithTimeout(x.Context(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if r, _ := s.Submit(ctx, q); r.Outcome != exchange.Unknown {
		x.Errorf("a venue that hangs: %+v", r)
	}
	if took := time.Since(begin); took > 3*time.Second {
		x.Errorf("the deadline was 300 ms, it took %s", took)
	}
	s.query(ref(q))
}

// unexecuted submits into an answer that reports that nothing was done. The same id may be
// sent again.
func (x *examiner) unexecuted(action string, want exchange.Outcome, wait bool) {
	s := x.open()
	q := s.limit(80)
	x.fault(FaultSubmit, action)
	r := s.outcome(q, want)
	if wait && (r.RetryAfterMS < 1000 || r.RetryAfterMS > 3000) {
		x.Errorf("Retry-After is two seconds, the result says %d ms", r.RetryAfterMS)
	}
	var last exchange.Result
	s.await("the same id", func() bool {
		last, _ = s.Submit(x.Context(), q)
		if last.Outcome != exchange.Accepted && last.Outcome != exchange.NotSent && last.Outcome != want {
			x.Fatalf("the same id again: %+v", last)
		}
		if last.Outcome != exchange.Accepted {
			time.Sleep(100 * time.Millisecond)
		}
		return last.Outcome == exchange.Accepted
	}, false)
	s.query(ref(q))
}

func oneRequest(x *examiner) {
	if x.venue.Count(CountSubmit) < 0 {
		x.skip("the venue does not count requests")
	}
	s := x.open()
	for _, action := range []string{CutBefore, CutAfter, HTML, Truncated, Status500, Status503, HangBefore} {
		q := s.limit(80)
		x.fault(FaultSubmit, action)
		before := x.venue.Count(CountSubmit)
		ctx, cancel := context.WithTimeout(x.Context(), 500*time.Millisecond)
		r, _ := s.Submit(ctx, q)
		cancel()
		time.Sleep(50 * time.Millisecond)
		if n := x.venue.Count(CountSubmit) - before; n != 1 {
			x.Errorf("%s: %d requests for one Submit (%s)", action, n, r.Outcome)
		}
	}
}

var fillCards = []card{
	{"fills over prices", fillsOverPrices},
	{"immediate or cancel", immediateOrCancel},
	{"partly filled rests", partlyFilledRests},
	{"fill before the answer", fillBeforeTheAnswer},
	{"leg of a pair cancelled", legCancelled},
	{"post-only", postOnly},
}

// thin opens a session on a market that has little to offer.
func (x *examiner) thin() *session {
	s := x.open()
	x.fault(FaultThin, string(s.symbol()))
	return s
}

// more than the whole book is a limit order for more than there is.
func greedyOrder(s *session) exchange.OrderRequest {
	s.Helper()
	q := s.limit(110)
	q.Quantity = product(s, q.Quantity, decimal.MustNew(60, 0))
	return q
}

// sums checks that the fills of an order are its quantity and its average price, each of them heard of once.
func checkFills(s *session, q exchange.OrderRequest, o exchange.Order) []exchange.Fill {
	s.Helper()
	var quantity, worth decimal.Decimal
	list := s.fills(ref(q))
	for _, f := range list {
		quantity, worth = sum(s, quantity, f.Quantity), sum(s, worth, product(s, f.Price, f.Quantity))
	}
	if quantity.Cmp(o.CumQuantity) != 0 {
		s.Errorf("the fills sum up to %s, the order has %s", quantity, o.CumQuantity)
	}
	if off, err := product(s, o.AveragePrice, quantity).Sub(worth); err != nil ||
		off.Abs().Cmp(decimal.MustNew(1, 6)) > 0 {
		s.Errorf("%s at an average of %s is not %s", quantity, o.AveragePrice, worth)
	}
	s.until("each fill on the stream", func() bool {
		heard := map[string]bool{}
		for _, e := range s.seen.events() {
			if e.Fill != nil && e.Fill.ClientOrderID == q.ClientOrderID {
				heard[e.Fill.TradeID] = true
			}
		}
		return !slices.ContainsFunc(list, func(f exchange.Fill) bool { return !heard[f.TradeID] })
	})
	return list
}

func fillsOverPrices(x *examiner) {
	s := x.thin()
	q := s.market()
	s.submit(q)
	o := s.reaches(ref(q), exchange.OrderFilled)
	prices := map[string]bool{}
	for _, f := range checkFills(s, q, o) {
		prices[f.Price.String()] = true
	}
	if len(prices) < 2 {
		x.Errorf("the order was filled at %d prices", len(prices))
	}
}

// partial checks that an order has got a part of what it wanted.
func checkPartial(s *session, q exchange.OrderRequest, o exchange.Order, want exchange.OrderStatus) {
	s.Helper()
	if o.Status != want || !o.CumQuantity.IsPos() || o.CumQuantity.Cmp(q.Quantity) >= 0 ||
		o.Quantity.Cmp(q.Quantity) != 0 {
		s.Errorf("an order of %s that got a part is %s with %s of %s, want %s", q.Quantity, o.Status,
			o.CumQuantity, o.Quantity, want)
	}
}

func immediateOrCancel(x *examiner) {
	s := x.thin()
	q := greedyOrder(s)
	q.TimeInForce = market.IOC
	s.submit(q)
	o := s.reaches(ref(q), exchange.OrderExpired)
	checkPartial(s, q, o, exchange.OrderExpired)
	checkFills(s, q, o)
	s.until("its end on the stream", func() bool {
		return s.seen.hasOrder(q.ClientOrderID, exchange.OrderExpired)
	})
	if r, _ := s.Cancel(x.Context(), ref(q)); r.Outcome != exchange.NotOpen {
		x.Errorf("Cancel of what has expired: %+v", r)
	}
}

func partlyFilledRests(x *examiner) {
	s := x.thin()
	q := greedyOrder(s)
	s.submit(q)
	o := s.reaches(ref(q), exchange.OrderPartiallyFilled)
	checkPartial(s, q, o, exchange.OrderPartiallyFilled)
	at := slices.IndexFunc(s.openOrders(),
		func(o exchange.Order) bool { return o.ClientOrderID == q.ClientOrderID })
	if at < 0 {
		x.Fatal("an order that is filled in part is not among the open ones")
	}
	s.until("a further part", func() bool { return s.query(ref(q)).CumQuantity.Cmp(o.CumQuantity) > 0 })
	if r, _ := s.Cancel(x.Context(), ref(q)); r.Outcome != exchange.Accepted {
		x.Errorf("Cancel: %+v", r)
	}
	o = s.query(ref(q))
	checkPartial(s, q, o, exchange.OrderCanceled)
	checkFills(s, q, o)
}

func fillBeforeTheAnswer(x *examiner) {
	s := x.open()
	q := s.market()
	x.fault(FaultSubmit, LateAnswer)
	type answer struct {
		r exchange.Result
		o exchange.Order
	}
	answered := make(chan answer, 1)
	go func() {
		r, o := s.Submit(x.Context(), q)
		answered <- answer{r, o}
	}()
	var got *answer
	s.await("the fill on the stream", func() bool {
		select {
		case a := <-answered:
			got = &a
			return true
		default:
		}
		return slices.ContainsFunc(s.seen.events(),
			func(e exchange.AccountEvent) bool {
				return e.Fill != nil && e.Fill.ClientOrderID == q.ClientOrderID
			})
	}, false)
	if got != nil {
		x.Fatalf("the answer came before the fill was heard of: %+v", *got)
	}
	select {
	case a := <-answered:
		if a.r.Outcome != exchange.Accepted || a.o.Status != exchange.OrderFilled {
			x.Errorf("the answer: %+v %+v", a.r, a.o)
		}
	case <-time.After(x.patience):
		x.Fatal("there was no answer")
	}
	s.filled(q)
}

func legCancelled(x *examiner) {
	s := x.open()
	s.offers("exit_pair")
	q := s.market()
	s.submit(q)
	s.filled(q)
	pair := exchange.PairRequest{
		ListID: s.id(), LimitID: s.id(), StopID: s.id(), Symbol: q.Symbol, Side: market.Sell,
		Quantity: onGrid(s, s.free(q.Symbol.Base()), s.rules[q.Symbol].QuantityStep),
		LimitPrice: s.price(q.Symbol,
			120), StopPrice: s.price(q.Symbol, 80),
	}
	if r, _ := s.SubmitPair(x.Context(), pair); r.Outcome != exchange.Accepted {
		x.Fatalf("SubmitPair: %+v", r)
	}
	limit, stop := exchange.OrderRef{ClientOrderID: pair.LimitID,
		Symbol: q.Symbol}, exchange.OrderRef{ClientOrderID: pair.StopID, Symbol: q.Symbol}
	if r, o := s.Cancel(x.Context(), stop); r.Outcome != exchange.Accepted ||
		o.Status != exchange.OrderCanceled || o.ClientOrderID != pair.StopID {
		x.Errorf("Cancel of a leg: %+v %+v", r, o)
	}
	for _, leg := range []exchange.OrderRef{limit, stop} {
		if o := s.query(leg); o.Status != exchange.OrderCanceled {
			x.Errorf("after the cancel of a leg %s is %s", leg.ClientOrderID, o.Status)
		}
		if r, _ := s.Cancel(x.Context(), leg); r.Outcome != exchange.NotOpen {
			x.Errorf("Cancel once more: %+v", r)
		}
	}
	s.until("all of it is free", func() bool { return s.free(q.Symbol.Base()).Cmp(pair.Quantity) >= 0 })
}
