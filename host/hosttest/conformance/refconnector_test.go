package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// refConnector speaks to a refVenue as a connector has to, but for its bug.
type refConnector struct {
	venue  *refVenue
	bug    string
	mu     sync.Mutex
	req    exchange.OpenRequest
	offset time.Duration
	silent time.Time // no requests before: Retry-After
	busy   bool      // a submit is on its way
}

const noSign = 100 * time.Millisecond // without a sign of life: connect anew

func (c *refConnector) Describe(context.Context) (exchange.Description, error) {
	return exchange.Description{
		ID: "reference", Name: "Reference", Version: "1.0.0", Kind: "native",
		Modes: []string{"paper", "live"}, DeadMan: "lease", Sandbox: true,
		Timeframes: []market.Timeframe{refFrame}, RequiresCredentials: true, RateLimitMS: 50,
		ConfigSchema: exchange.ConfigSchema(nil),
		OrderTypes: []string{"market", "market_quote", "limit", "stop", "stop_limit", "post_only",
			"exit_pair"},
	}, nil
}

func failed(r exchange.Result) error {
	if r.Outcome == exchange.Accepted {
		return nil
	}
	return &exchange.Error{Result: r}
}

func (c *refConnector) Open(ctx context.Context, req exchange.OpenRequest) (exchange.Opened, error) {
	c.mu.Lock()
	c.req, c.offset = req, c.venue.offset
	c.mu.Unlock()
	if c.bug == "no offset" {
		c.offset = 0
	}
	if req.Config.Sandbox && c.bug != "no sandbox" {
		c.venue.mu.Lock()
		c.venue.counts[CountSandbox]++
		c.venue.mu.Unlock()
	}
	if req.Trading || c.bug == "keyed paper" {
		r, _ := c.call(ctx, "account", func() refAnswer { return refAnswer{status: 200, body: "json"} })
		if err := failed(r); err != nil && req.Trading {
			return exchange.Opened{}, err
		}
	}
	return exchange.Opened{AccountID: "1", ClockOffset: c.offset}, nil
}

func (c *refConnector) Markets(context.Context) ([]exchange.Market, error) {
	c.venue.mu.Lock()
	defer c.venue.mu.Unlock()
	var list []exchange.Market
	for _, s := range c.req.Symbols {
		if m := c.venue.markets[s]; m != nil {
			list = append(list, *m)
		}
	}
	if c.bug == "invented market" {
		list = append(list, exchange.Market{Symbol: "QQQQQ/ZZZZZ"})
	}
	return list, nil
}

func (c *refConnector) Close(context.Context, bool) ([]string, error) { return nil, nil }

func (c *refConnector) Candles(_ context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	c.venue.mu.Lock()
	defer c.venue.mu.Unlock()
	var list []market.Candle
	for _, candle := range c.venue.candles[q.Symbol] {
		if candle.OpenTime >= q.From && candle.OpenTime < q.To &&
			(len(list) < q.Limit || c.bug == "pages too long") {
			list = append(list, candle)
		}
	}
	if c.bug == "descending" {
		slices.Reverse(list)
	}
	return list, nil
}

// listen reads a subscription until ctx ends and connects anew when it breaks.
func (c *refConnector) listen(ctx context.Context, data bool, say func(exchange.LinkState, string),
	on func(any)) error {
	sub, err := c.venue.subscribe(data)
	for ; err != nil; sub, err = c.venue.subscribe(data) {
		if c.bug != "silent refusal" {
			return &exchange.Error{Result: exchange.Result{Outcome: exchange.AuthFailed,
				Message: err.Error()}}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
	say(exchange.Connected, "")
	heard := time.Now()
	for ctx.Err() == nil {
		c.mu.Lock()
		deaf := c.busy && c.bug == "deaf while sending"
		c.mu.Unlock()
		if deaf {
			time.Sleep(2 * time.Millisecond)
			continue
		}
		news, alive, open := c.venue.read(sub)
		if alive {
			heard = time.Now()
		}
		for _, n := range news {
			on(n)
		}
		if !open || time.Since(heard) > noSign {
			if c.bug != "silent reconnect" && c.bug != "says nothing" {
				say(exchange.Reconnecting, "the stream broke")
			}
			if sub, err = c.venue.subscribe(data); err != nil {
				return err
			}
			heard = time.Now()
			say(exchange.Connected, "")
			continue
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

func (c *refConnector) StreamCandles(ctx context.Context, on func(exchange.CandleEvent)) error {
	next := map[market.Symbol]market.Time{}
	say := func(s exchange.LinkState, why string) { on(exchange.CandleEvent{State: s, Reason: why}) }
	return c.listen(ctx, true, say, func(n any) {
		k := n.(refCandle)
		if !slices.Contains(c.req.Symbols, k.symbol) || !k.closed && c.bug != "forming" ||
			c.bug == "one symbol" && k.symbol != c.req.Symbols[0] {
			return
		}
		want := next[k.symbol]
		if k.candle.OpenTime < want && c.bug != "duplicates" {
			return
		}
		if want != 0 && k.candle.OpenTime > want && c.bug != "mute gap" && c.bug != "says nothing" {
			say(exchange.Gap, "a candle is missing")
		}
		next[k.symbol] = k.candle.CloseTime
		on(exchange.CandleEvent{Symbol: k.symbol, Candle: k.candle})
	})
}

func (c *refConnector) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	say := func(s exchange.LinkState, why string) { on(exchange.AccountEvent{State: s, Reason: why}) }
	return c.listen(ctx, false, say, func(n any) {
		switch n := n.(type) {
		case exchange.Order:
			n.Reason = ""
			on(exchange.AccountEvent{Order: &n})
		case exchange.Fill:
			on(exchange.AccountEvent{Fill: &n})
		}
	})
}

var rejects = []string{"-1013", "-1021", "-1022", "-2010", "-2011", "-2013", "-2014", "-2015"}

// call makes one request with credentials.
func (c *refConnector) call(ctx context.Context, kind string,
	act func() refAnswer) (exchange.Result, refAnswer) {
	c.mu.Lock()
	wait := time.Until(c.silent)
	key, secret, stamp := c.req.Config.APIKey.Reveal(), c.req.Config.Secret.Reveal(), time.Now().Add(c.offset)
	c.mu.Unlock()
	if wait > 0 {
		return exchange.Result{Outcome: exchange.NotSent, RetryAfterMS: wait.Milliseconds(),
			Message: "silent until Retry-After"}, refAnswer{}
	}
	a := c.venue.signed(kind, key, secret, stamp, act)
	if c.bug == "retry" && a.status != 200 {
		a = c.venue.signed(kind, key, secret, stamp, act)
	}
	if a.late {
		time.Sleep(300 * time.Millisecond)
	}
	if a.hang {
		<-ctx.Done()
		a.cut = ctx.Err()
	}
	r := exchange.Result{Outcome: exchange.Unknown, HTTPStatus: a.status, VenueCode: a.code, Message: a.text,
		RetryAfterMS: int64(a.retry) * 1000}
	switch {
	case a.cut != nil:
		r.Message = "Post https://x/order?symbol=B&signature=deadbeef: " + a.cut.Error() + c.leak(key)
		if c.bug == "time-out is reject" {
			r.Outcome = exchange.Rejected
		}
		if c.bug == "error is absence" && kind == FaultQuery {
			r.Outcome = exchange.NotFound
		}
	case a.status == 429:
		r.Outcome = exchange.Throttled
	case a.status == 418:
		r.Outcome = exchange.Banned
	case a.status >= 500:
		if c.bug == "5xx is reject" {
			r.Outcome = exchange.Rejected
		}
	case a.status == 200 && (a.body == "json" || c.bug == "garbage is accepted"):
		r.Outcome = exchange.Accepted
	case slices.Contains(rejects, a.code):
		r.Outcome = outcomeOf(a)
	}
	if a.retry > 0 {
		c.mu.Lock()
		c.silent = time.Now().Add(time.Duration(a.retry) * time.Second)
		c.mu.Unlock()
	}
	return r, a
}

func (c *refConnector) leak(key string) string {
	if c.bug == "leak" {
		return " with key " + key
	}
	return ""
}

func outcomeOf(a refAnswer) exchange.Outcome {
	switch {
	case a.code == "-1021":
		return exchange.Clock
	case a.code == "-2014" || a.code == "-2015":
		return exchange.AuthFailed
	case a.code == "-2011":
		return exchange.NotOpen
	case a.code == "-2013":
		return exchange.NotFound
	case strings.HasPrefix(a.text, "Duplicate"):
		return exchange.Duplicate
	}
	return exchange.Rejected
}

// one takes the order out of an answer, which must be about it.
func (c *refConnector) one(id string, r exchange.Result, a refAnswer) (exchange.Result, exchange.Order) {
	if r.Outcome != exchange.Accepted {
		return r, exchange.Order{}
	}
	if a.id != id || len(a.orders) == 0 {
		if c.bug == "garbage is accepted" {
			return r, exchange.Order{ClientOrderID: id, Symbol: refSymbols[0], Status: exchange.OrderOpen}
		}
		r.Outcome = exchange.Unknown
		return r, exchange.Order{}
	}
	o := a.orders[0]
	o.Reason = ""
	if c.bug == "part is whole" && o.CumQuantity.IsPos() {
		o.Status = exchange.OrderFilled
	}
	return r, o
}

func (c *refConnector) Submit(ctx context.Context,
	q exchange.OrderRequest) (exchange.Result, exchange.Order) {
	o := exchange.Order{ClientOrderID: q.ClientOrderID, Symbol: q.Symbol, Side: q.Side, Type: q.Type,
		Quantity: q.Quantity, LimitPrice: q.LimitPrice, StopPrice: q.StopPrice}
	if c.bug == "floats" {
		f, _ := q.Quantity.Float64()
		o.Quantity = must(decimal.Parse(fmt.Sprintf("%.4f", f)))
	}
	c.sending(true)
	defer c.sending(false)
	r, a := c.call(ctx, FaultSubmit, func() refAnswer {
		if q.QuoteAmount.IsPos() {
			last := must(decimal.NewFromFloat64(c.venue.last(q.Symbol)))
			o.Quantity = must(q.QuoteAmount.Quo(last)).Trunc(5)
		}
		limit, _ := q.LimitPrice.Float64()
		if q.PostOnly && c.bug != "maker takes" && limit >= c.venue.last(q.Symbol) {
			return refAnswer{status: 400, body: "json", code: "-2010", text: "It would take."}
		}
		return c.venue.place(q.TimeInForce == market.IOC, o)
	})
	if q.PostOnly && r.Outcome == exchange.Rejected {
		r.VenueCode = string(market.ReasonWouldTake)
	}
	return c.one(q.ClientOrderID, r, a)
}

func (c *refConnector) sending(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = is
}

func (c *refConnector) SubmitPair(ctx context.Context,
	q exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	limit := exchange.Order{ClientOrderID: q.LimitID, Symbol: q.Symbol, Side: q.Side, Type: market.Limit,
		Quantity: q.Quantity, LimitPrice: q.LimitPrice, Reason: q.ListID}
	stop := exchange.Order{ClientOrderID: q.StopID, Symbol: q.Symbol, Side: q.Side, Type: market.Stop,
		Quantity: q.Quantity, StopPrice: q.StopPrice, Reason: q.ListID}
	if c.bug == "loose pair" {
		limit.Reason, stop.Reason = "", ""
	}
	r, a := c.call(ctx, FaultSubmit, func() refAnswer { return c.venue.place(false, limit, stop) })
	if r.Outcome != exchange.Accepted || len(a.orders) != 2 {
		return r, [2]exchange.Order{}
	}
	for i := range a.orders {
		a.orders[i].Reason = ""
	}
	return r, [2]exchange.Order{a.orders[0], a.orders[1]}
}

func (c *refConnector) Cancel(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	r, a := c.call(ctx, FaultCancel, func() refAnswer {
		o := c.venue.find(ref.ClientOrderID)
		if o == nil || !working(o) && c.bug != "cancels the filled" {
			return refAnswer{status: 400, body: "json", code: "-2011", text: "Unknown order sent."}
		}
		c.venue.end(o, exchange.OrderCanceled)
		for _, other := range c.venue.orders {
			if o.Reason != "" && other.Reason == o.Reason && working(other) {
				c.venue.end(other, exchange.OrderCanceled)
			}
		}
		if o.Reason != "" && c.bug == "leg is unknown" {
			return refAnswer{status: 200, body: "json", id: "list"}
		}
		return refAnswer{status: 200, body: "json", id: o.ClientOrderID, orders: []exchange.Order{*o}}
	})
	return c.one(ref.ClientOrderID, r, a)
}

func (c *refConnector) Query(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	r, a := c.call(ctx, FaultQuery, func() refAnswer {
		o := c.venue.find(ref.ClientOrderID)
		if o == nil {
			return refAnswer{status: 400, body: "json", code: "-2013", text: "Order does not exist."}
		}
		return refAnswer{status: 200, body: "json", id: o.ClientOrderID, orders: []exchange.Order{*o}}
	})
	return c.one(ref.ClientOrderID, r, a)
}

func (c *refConnector) OpenOrders(ctx context.Context) ([]exchange.Order, error) {
	r, a := c.call(ctx, "list", func() refAnswer {
		a := refAnswer{status: 200, body: "json"}
		for _, o := range c.venue.orders {
			if working(o) && (c.bug != "open is untouched" || o.CumQuantity.IsZero()) &&
				(c.bug != "first page only" || len(a.orders) < 2) {
				a.orders = append(a.orders, *o)
			}
		}
		return a
	})
	for i := range a.orders {
		a.orders[i].Reason = ""
	}
	return a.orders, failed(r)
}

var ours = regexp.MustCompile(`^as[0-9a-v]{16}$`)

func (c *refConnector) Fills(ctx context.Context, symbol market.Symbol,
	since market.Time) (exchange.Fills, error) {
	r, a := c.call(ctx, "list", func() refAnswer {
		a := refAnswer{status: 200, body: "json"}
		for _, f := range c.venue.fills {
			if f.Symbol == symbol && f.Time >= since {
				a.fills = append(a.fills, f)
			}
		}
		return a
	})
	if n := len(a.fills); n > 1 && c.bug == "last fill only" {
		a.fills = a.fills[n-1:]
	}
	for i := range a.fills {
		if !ours.MatchString(a.fills[i].ClientOrderID) && c.bug != "foreign fills" {
			a.fills[i].ClientOrderID = ""
		}
	}
	return exchange.Fills{Fills: a.fills, Complete: r.Outcome == exchange.Accepted}, failed(r)
}

func (c *refConnector) Balances(ctx context.Context) ([]exchange.Balance, error) {
	var list []exchange.Balance
	r, _ := c.call(ctx, "list", func() refAnswer {
		for asset, free := range c.venue.free {
			if c.bug == "frozen balances" && asset == "USDT" {
				free = decimal.MustNew(10000, 0)
			}
			list = append(list, exchange.Balance{Asset: asset, Free: free})
		}
		return refAnswer{status: 200, body: "json"}
	})
	return list, failed(r)
}

func (c *refConnector) ArmDeadMan(context.Context, time.Duration) error { return errors.ErrUnsupported }

func (c *refConnector) Beat(context.Context, int64) (exchange.Ack, error) {
	return exchange.Ack{}, errors.ErrUnsupported
}
