package sim

import (
	"fmt"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Why an order ended, beside the simulator's own codes.
const (
	reasonCanceled = "canceled"
	reasonOCO      = "oco"
	reasonClosed   = "session_closed"
)

// account is a live account: the simulator's books, and what a venue keeps around them.
// The venue's mutex guards it.
type account struct {
	v        *venue
	engine   *sim.Engine
	quote    string
	orders   []*order          // in order of arrival, all of the session
	byID     map[string]*order // by client order id
	byNo     map[market.OrderID]*order
	fills    []exchange.Fill
	lastSent []exchange.Balance // as last published
	out      []exchange.AccountEvent
	later    []exchange.AccountEvent // cancels of this step that must not precede their cause
	at       market.Time             // of what happens now
	subs     []*subscriber
}

// order is an order of the account.
type order struct {
	exchange.Order
	amount decimal.Decimal // of a market order by quote amount
	pair   *pair           // that it is a leg of
	post   bool            // post-only
	reason string          // that it is being canceled for
	paired bool            // canceled before its sibling's fill is known
}

func (o *order) final() bool {
	return o.Status != exchange.OrderOpen && o.Status != exchange.OrderPartiallyFilled
}

func newAccount(v *venue) (*account, error) {
	options, err := sim.ResolveOptions(nil, sim.DefaultFees())
	if err != nil {
		return nil, err
	}
	a := &account{v: v, quote: v.req.Symbols[0].Quote(), byID: map[string]*order{},
		byNo: map[market.OrderID]*order{}}
	ticks := make([]decimal.Decimal, len(v.tapes))
	for i, t := range v.tapes {
		if t != nil {
			ticks[i] = t.tick()
		}
	}
	a.engine, err = sim.NewEngine(sim.Config{
		Symbols: v.req.Symbols, Timeframe: v.req.Timeframe, InitialCash: v.conf.cash, Options: options,
		PriceSteps: ticks,
	}, recorder{a})
	if err != nil {
		return nil, err
	}
	if err := a.begin(); err != nil {
		return nil, err
	}
	a.lastSent = a.balances()
	return a, nil
}

// begin shows the simulator the candles that closed last, so that orders are taken before
// the first candle of the session closes. They can fill on it if it has not opened yet.
func (a *account) begin() error {
	n := len(a.v.tapes)
	b := sim.Batch{CloseTime: a.v.conf.start, Candles: make([]market.Candle, n), Closed: make([]bool, n)}
	for i, t := range a.v.tapes {
		if t == nil {
			continue
		}
		if a.v.next[i] > 0 {
			b.Candles[i], b.Closed[i] = t.at(a.v.next[i] - 1)
		}
	}
	return a.engine.Match(&b)
}

// open are the open orders in order of arrival.
func (a *account) open() []*order {
	var list []*order
	for _, o := range a.orders {
		if !o.final() {
			list = append(list, o)
		}
	}
	return list
}

// match takes the account through a step.
func (a *account) match(b *sim.Batch) error {
	pairs := a.openPairs()
	for _, p := range pairs {
		if o := p.loser(b, a); o != nil {
			o.paired = true
			a.cancelOne(o, reasonOCO)
		}
	}
	a.at = b.CloseTime
	if err := a.engine.Match(b); err != nil {
		return err
	}
	a.out = append(a.out, a.later...)
	a.later = a.later[:0]
	for _, p := range pairs {
		if o := p.survivor(); o != nil {
			a.cancelOne(o, reasonOCO)
		}
	}
	a.publish()
	return nil
}

// cancel ends an open order, and with a leg its pair.
func (a *account) cancel(o *order, reason string) {
	a.at = a.v.pace.now()
	legs := []*order{o}
	if o.pair != nil {
		legs = o.pair.legs[:]
	}
	for _, leg := range legs {
		if !leg.final() {
			a.cancelOne(leg, reason)
		}
	}
}

func (a *account) cancelOne(o *order, reason string) {
	o.reason = reason
	// A cancel of an order that is open has no way to fail.
	_ = a.engine.Accept([]market.Intent{{Action: market.Cancel, Symbol: o.Symbol, Ref: ref(o.ClientOrderID)}})
}

// ref keeps client ids apart from the simulator's own order ids.
func ref(client string) string { return "c/" + client }

// recorder takes the simulator's events.
type recorder struct{ a *account }

// Intent is of no use: every intent is an order already known, or a cancel.
func (recorder) Intent(int64, *market.Intent, market.Reason) {}

// Trade and Equity are the run's own to keep.
func (recorder) Trade(int64, *market.Trade) {}

// Equity is not used.
func (recorder) Equity(int64, *sim.Mark) {}

// Order takes over a new state.
func (r recorder) Order(_ int64, got *market.Order) {
	a := r.a
	o := a.byNo[got.ID]
	if o == nil {
		if o = a.byID[got.Ref[len(ref("")):]]; o == nil {
			return
		}
		a.byNo[got.ID] = o
		o.VenueOrderID = strconv.FormatInt(int64(got.ID), 10)
	}
	resting := o.Status == exchange.OrderOpen
	o.UpdatedAt, o.Reason = a.at, string(got.Reason)
	o.CumQuantity, o.AveragePrice = got.FilledQuantity, got.AveragePrice
	switch got.Status {
	case market.StatusOpen:
		o.Status = exchange.OrderOpen
	case market.StatusFilled:
		o.Status, o.Quantity = exchange.OrderFilled, got.Quantity
	case market.StatusCanceled:
		o.Status = exchange.OrderCanceled
		if o.reason != "" {
			o.Reason = o.reason
		}
	case market.StatusRejected:
		o.Status = exchange.OrderRejected
		if resting {
			o.Status = exchange.OrderExpired
		}
	case market.StatusExpired:
		o.Status = exchange.OrderExpired
	}
	if o.Status == exchange.OrderRejected {
		return // refused at the door: the answer reports it, the account does not know it
	}
	state := o.Order
	event := exchange.AccountEvent{Order: &state}
	if o.paired && o.Status == exchange.OrderCanceled {
		a.later = append(a.later, event)
		return
	}
	a.out = append(a.out, event)
}

// Fill takes over an execution.
func (r recorder) Fill(_ int64, got *market.Fill) {
	a := r.a
	o := a.byNo[got.OrderID]
	f := exchange.Fill{
		TradeID: strconv.FormatInt(int64(got.ID), 10), Symbol: got.Symbol, Side: got.Side, Price: got.Price,
		Quantity: got.Quantity,
		Fee:      got.Fee, FeeAsset: a.quote, Liquidity: got.Liquidity, Time: a.at,
		VenueOrderID: strconv.FormatInt(int64(got.OrderID), 10),
	}
	if o != nil {
		f.ClientOrderID = o.ClientOrderID
	}
	a.fills = append(a.fills, f)
	a.out = append(a.out, exchange.AccountEvent{Fill: &f})
}

// position returns what is held of a symbol's base.
func (a *account) position(s market.Symbol) decimal.Decimal {
	held, err := a.engine.Positions()
	if err != nil {
		return decimal.Decimal{}
	}
	for _, p := range held {
		if p.Symbol == s {
			return p.Quantity
		}
	}
	return decimal.Decimal{}
}

// priceOf returns what an order is worth for each of its units: its own price, or the last close of
// its symbol. Zero: not known.
func (a *account) priceOf(o *order) decimal.Decimal {
	price, i := o.LimitPrice, a.v.symbol(o.Symbol)
	if price.IsZero() {
		price = o.StopPrice
	}
	if !price.IsZero() || i < 0 || a.v.next[i] == 0 {
		return price
	}
	c, _ := a.v.tapes[i].at(a.v.next[i] - 1)
	price, _ = decimal.Parse(strconv.FormatFloat(c.Close, 'f', -1, 64)) // what cannot be parsed is zero
	return price
}

// tiesUp returns what an order needs at its fill: the asset, and how much of it as far as can
// be told.
func (a *account) tiesUp(o *order) (string, decimal.Decimal, error) {
	if o.Side == market.Sell && o.amount.IsZero() {
		return o.Symbol.Base(), o.Quantity, nil
	}
	price := a.priceOf(o)
	if o.Side == market.Sell { // by amount: what it takes at the last price
		if price.IsZero() {
			return o.Symbol.Base(), decimal.Decimal{}, nil
		}
		q, err := o.amount.Quo(price)
		return o.Symbol.Base(), q.Floor(quantityStep.Scale()), err
	}
	if o.amount.IsPos() {
		return a.quote, o.amount, nil
	}
	cost, err := o.Quantity.Mul(price)
	if err != nil || o.Type == market.Market {
		return a.quote, cost, err // the fee and the move to the next open are the simulator's to judge
	}
	gross, err := cost.Mul(decimal.MustNew(1001, 3)) // 1 + the fee
	return a.quote, gross, err
}

// balances are cash and positions, with what open orders tie up.
func (a *account) balances() []exchange.Balance {
	list := []exchange.Balance{{Asset: a.quote, Free: a.engine.CashExact()}}
	for _, s := range a.v.req.Symbols {
		list = append(list, exchange.Balance{Asset: s.Base(), Free: a.position(s)})
	}
	for _, o := range a.open() {
		if o.pair != nil && o.pair.legs[1] == o && !o.pair.legs[0].final() {
			continue // the pair counts once
		}
		asset, need, err := a.tiesUp(o)
		if err != nil {
			continue
		}
		for i := range list {
			if b := &list[i]; b.Asset == asset {
				lock(b, need)
				break
			}
		}
	}
	return list
}

// lock moves an amount from free to locked, as far as there is some.
func lock(b *exchange.Balance, need decimal.Decimal) {
	if need.Cmp(b.Free) > 0 {
		need = b.Free
	}
	free, err1 := b.Free.Sub(need)
	locked, err2 := b.Locked.Add(need)
	if err1 == nil && err2 == nil {
		b.Free, b.Locked = free, locked
	}
}

// short names what an order lacks; "" if nothing.
func (a *account) short(o *order) string {
	asset, need, err := a.tiesUp(o)
	if err != nil {
		return "the order is larger than the books can hold"
	}
	for _, b := range a.balances() {
		if b.Asset == asset && need.Cmp(b.Free) > 0 {
			return fmt.Sprintf("needs %s %s, free are %s", need, asset, b.Free)
		}
	}
	return ""
}

// pair is a limit and a stop of which one cancels the other. The simulator has such
// siblings below a filled entry only, so the venue looks at each candle before it is
// matched and takes away the leg that bar-v1 would come to second: at the open the limit
// comes first when the candle opens through it, inside it is the stop.
type pair struct {
	legs  [2]*order // limit, stop
	since market.Time
}

// openPairs are the pairs with both legs open, oldest first.
func (a *account) openPairs() []*pair {
	var list []*pair
	for _, o := range a.orders {
		if p := o.pair; p != nil && p.legs[0] == o && !p.legs[0].final() && !p.legs[1].final() {
			list = append(list, p)
		}
	}
	return list
}

// loser returns the leg that a candle must not reach although it could.
func (p *pair) loser(b *sim.Batch, a *account) *order {
	limit, stop := p.legs[0], p.legs[1]
	i := a.v.symbol(limit.Symbol)
	if !b.Closed[i] || b.Candles[i].OpenTime < p.since {
		return nil
	}
	c := &b.Candles[i]
	limitAt, _ := limit.LimitPrice.Float64()
	stopAt, _ := stop.StopPrice.Float64()
	opens, hit := c.Open >= limitAt, c.Low <= stopAt
	if limit.Side == market.Buy {
		opens, hit = c.Open <= limitAt, c.High >= stopAt
	}
	switch {
	case opens:
		return stop
	case hit:
		return limit
	}
	return nil
}

// survivor returns the leg that is still open although the other has ended.
func (p *pair) survivor() *order {
	for i, o := range p.legs {
		if !o.final() && p.legs[1-i].final() {
			return o
		}
	}
	return nil
}
