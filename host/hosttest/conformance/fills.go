package conformance

import (
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var fillCards = []card{
	{"fills over prices", fillsOverPrices},
	{"immediate or cancel", immediateOrCancel},
	{"partly filled rests", partlyFilledRests},
	{"fill before the answer", fillBeforeTheAnswer},
	{"leg of a pair cancelled", legCancelled},
}

// thin opens a session on a market that has little to offer.
func (x *examiner) thin() *session {
	s := x.open()
	x.fault(FaultThin, string(s.symbol()))
	return s
}

// more than the whole book is a limit order that takes it all and wants more.
func (s *session) greedy() exchange.OrderRequest {
	s.Helper()
	q := s.limit(110)
	q.Quantity = s.product(q.Quantity, decimal.MustNew(60, 0))
	return q
}

// sums checks that the fills of an order are its quantity and its average price, each of them heard of once.
func (s *session) sums(q exchange.OrderRequest, o exchange.Order) []exchange.Fill {
	s.Helper()
	var quantity, worth decimal.Decimal
	list := s.fills(ref(q))
	for _, f := range list {
		quantity, worth = s.sum(quantity, f.Quantity), s.sum(worth, s.product(f.Price, f.Quantity))
	}
	if quantity.Cmp(o.CumQuantity) != 0 {
		s.Errorf("the fills sum up to %s, the order has %s", quantity, o.CumQuantity)
	}
	if off, err := s.product(o.AveragePrice, quantity).Sub(worth); err != nil ||
		off.Abs().Cmp(decimal.MustNew(1, 6)) > 0 {
		s.Errorf("%s at an average of %s is not %s", quantity, o.AveragePrice, worth)
	}
	s.until("each fill on the stream", func() bool {
		heard := map[string]bool{}
		for _, e := range s.events() {
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
	for _, f := range s.sums(q, o) {
		prices[f.Price.String()] = true
	}
	if len(prices) < 2 {
		x.Errorf("the order was filled at %d prices", len(prices))
	}
}

// partial checks that an order has got a part of what it wanted.
func (s *session) partial(q exchange.OrderRequest, o exchange.Order, want exchange.OrderStatus) {
	s.Helper()
	if o.Status != want || !o.CumQuantity.IsPos() || o.CumQuantity.Cmp(q.Quantity) >= 0 ||
		o.Quantity.Cmp(q.Quantity) != 0 {
		s.Errorf("an order of %s that got a part is %s with %s of %s, want %s", q.Quantity, o.Status, o.CumQuantity,
			o.Quantity, want)
	}
}

func immediateOrCancel(x *examiner) {
	s := x.thin()
	q := s.greedy()
	q.TimeInForce = market.IOC
	s.submit(q)
	o := s.reaches(ref(q), exchange.OrderExpired)
	s.partial(q, o, exchange.OrderExpired)
	s.sums(q, o)
	s.until("its end on the stream", func() bool { return s.streamed(q.ClientOrderID, exchange.OrderExpired) })
	if r, _ := s.Cancel(x.Context(), ref(q)); r.Outcome != exchange.NotOpen {
		x.Errorf("Cancel of what has expired: %+v", r)
	}
}

func partlyFilledRests(x *examiner) {
	s := x.thin()
	q := s.greedy()
	s.submit(q)
	o := s.reaches(ref(q), exchange.OrderPartiallyFilled)
	s.partial(q, o, exchange.OrderPartiallyFilled)
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
	s.partial(q, o, exchange.OrderCanceled)
	s.sums(q, o)
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
		return slices.ContainsFunc(s.events(),
			func(e exchange.AccountEvent) bool { return e.Fill != nil && e.Fill.ClientOrderID == q.ClientOrderID })
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
		Quantity: s.onGrid(s.free(q.Symbol.Base()), s.rules[q.Symbol].QuantityStep), LimitPrice: s.price(q.Symbol,
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
