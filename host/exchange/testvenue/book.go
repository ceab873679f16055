package testvenue

import (
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

const (
	statusNew      = "NEW"
	statusPartly   = "PARTIALLY_FILLED"
	statusFilled   = "FILLED"
	statusCanceled = "CANCELED"
	statusExpired  = "EXPIRED"
)

// order is an order of the account.
type order struct {
	id, list         int64 // list: of an OCO pair, else -1
	listName         string
	symbol           *symbol
	client           string
	side, kind, tif  string
	qty, quoteQty    decimal.Decimal
	price, stop      decimal.Decimal
	cum, cumQuote    decimal.Decimal
	status           string
	created, updated market.Time
	sibling          *order
	engaged          bool // the simulator has it
}

func (o *order) open() bool { return o.status == statusNew || o.status == statusPartly }

type trade struct {
	id, order       int64
	symbol          *symbol
	price, qty, fee decimal.Decimal
	feeAsset        string
	time            market.Time
	buyer, maker    bool
}

// account is the one account of the venue.
type account struct {
	balances map[string]decimal.Decimal // locked amounts included
	orders   []*order
	trades   []*trade
	lists    int64
	split    int // of the next fill
	over     bool
	feeAsset string
}

// find is the newest order under a client id, an open one before others.
func (a *account) find(s *symbol, id int64, client string) *order {
	var found *order
	for _, o := range a.orders {
		if o.symbol == s && (id > 0 && o.id == id || client != "" && o.client == client) && (found == nil || !found.open()) {
			found = o
		}
	}
	return found
}

// locked is what open orders tie up of an asset.
func (a *account) locked(asset string) decimal.Decimal {
	var sum decimal.Decimal
	for _, o := range a.orders {
		if !o.open() || o.sibling != nil && o.sibling.open() && o.sibling.id < o.id {
			continue // a pair counts once
		}
		if what, amount := o.need(); what == asset {
			sum = plus(sum, amount)
		}
	}
	return sum
}

func (a *account) free(asset string) decimal.Decimal {
	free := minus(a.balances[asset], a.locked(asset))
	if free.IsNeg() {
		return decimal.Decimal{}
	}
	return free
}

// need is what an order ties up.
func (o *order) need() (asset string, amount decimal.Decimal) {
	rest := minus(o.qty, o.cum)
	price := o.price
	if price.IsZero() {
		price = o.stop
	}
	if price.IsZero() {
		price = o.symbol.last()
	}
	switch {
	case o.quoteQty.IsPos() && o.side == "BUY":
		return "USDT", o.quoteQty
	case o.quoteQty.IsPos():
		q, _ := o.quoteQty.Quo(price)
		return o.symbol.base, floorTo(q.Trunc(8), o.symbol.step)
	case o.side == "SELL":
		return o.symbol.base, rest
	}
	return "USDT", times(rest, price)
}

// take accepts orders that were checked: one, or both legs of a pair.
func (v *Venue) take(orders ...*order) *apiError {
	a := &v.account
	for _, o := range orders {
		o.id, o.created, o.updated, o.status = int64(len(a.orders)+1), v.now(), v.now(), statusNew
		a.orders = append(a.orders, o)
		in := market.Intent{
			Symbol: o.symbol.pair, ClientRef: o.ref(), LimitPrice: toFloat(o.price), StopPrice: toFloat(o.stop),
			Size: market.Size{Kind: market.SizeQuantity, Value: toFloat(o.qty)},
		}
		if o.quoteQty.IsPos() {
			in.Size = market.Size{Kind: market.SizeQuoteAmount, Value: toFloat(o.quoteQty)}
		}
		if o.side == "SELL" {
			in.Side = market.Sell
		}
		if o.tif == "IOC" || o.tif == "FOK" {
			in.TimeInForce = market.IOC
		}
		in.Type = map[string]market.OrderType{"LIMIT": market.Limit, "LIMIT_MAKER": market.Limit, "MARKET": market.Market, "STOP_LOSS": market.Stop,
			"STOP_LOSS_LIMIT": market.StopLimit}[o.kind]
		if err := v.engine.Accept([]market.Intent{in}); err != nil || !o.engaged {
			a.orders = a.orders[:len(a.orders)-1]
			return &apiError{400, -2010, "Order would not be taken by the matching engine.", 0}
		}
		v.report(o, statusNew, nil)
	}
	v.publishBalances()
	return nil
}

func (o *order) ref() string { return "v/" + strconv.FormatInt(o.id, 10) }

// withdraw takes an order from the simulator, without a word to the account.
func (v *Venue) withdraw(o *order) {
	if o.engaged {
		o.engaged = false
		// A cancel of an order that rests has no way to fail.
		_ = v.engine.Accept([]market.Intent{{Action: market.Cancel, Symbol: o.symbol.pair, Ref: o.ref()}})
	}
}

// end is a terminal status without a fill.
func (v *Venue) end(o *order, status string) {
	v.withdraw(o)
	if !o.open() {
		return
	}
	o.status, o.updated = status, v.now()
	v.report(o, status, nil)
	v.publishBalances()
}

// cancel ends an order, and with a leg the pair.
func (v *Venue) cancel(o *order) {
	v.end(o, statusCanceled)
	if o.sibling != nil {
		v.end(o.sibling, statusCanceled)
	}
}

// losers are the legs of pairs that a candle must not reach although it could: at the open
// the limit comes first when the candle opens through it, inside it is the stop.
func (a *account) losers(b *sim.Batch, v *Venue) []*order {
	var list []*order
	for _, limit := range a.orders {
		stop := limit.sibling
		if stop == nil || limit.kind != "LIMIT_MAKER" || !limit.open() || !stop.open() {
			continue
		}
		c := &b.Candles[limit.symbol.i]
		opens, hit := c.Open >= toFloat(limit.price), c.Low <= toFloat(stop.stop)
		if limit.side == "BUY" {
			opens, hit = c.Open <= toFloat(limit.price), c.High >= toFloat(stop.stop)
		}
		switch {
		case opens:
			list = append(list, stop)
		case hit:
			list = append(list, limit)
		}
	}
	return list
}

// settle expires the legs whose sibling has filled.
func (a *account) settle(v *Venue) {
	for _, o := range a.orders {
		if o.sibling != nil && o.open() && o.sibling.status == statusFilled {
			v.end(o, statusExpired)
		}
	}
}

// recorder hears from the simulator.
type recorder struct{ v *Venue }

// Intent is not used: every intent is an order already known, or a cancel.
func (recorder) Intent(int64, *market.Intent, string) {}

// Trade is not used.
func (recorder) Trade(int64, *market.Trade) {}

// Equity is not used: the balances are the venue's own.
func (recorder) Equity(int64, *sim.Mark) {}

func (r recorder) order(ref string) *order {
	id, err := strconv.Atoi(ref[min(2, len(ref)):])
	if err != nil || id < 1 || id > len(r.v.account.orders) {
		return nil
	}
	return r.v.account.orders[id-1]
}

// Order takes over what is no fill.
func (r recorder) Order(_ int64, got *market.Order) {
	o := r.order(got.Ref)
	if o == nil {
		return
	}
	switch got.Status {
	case market.StatusOpen:
		o.engaged = true
	case market.StatusFilled:
		o.engaged = false
		r.v.executeAll(o, got.AveragePrice, got.FilledQuantity)
	case market.StatusRejected, market.StatusExpired, market.StatusCanceled:
		if o.engaged {
			o.engaged = false
			r.v.end(o, statusExpired)
		}
	}
}

// Fill is told with the order.
func (recorder) Fill(int64, *market.Fill) {}

// executeAll fills an order whole, in parts if a script said so.
func (v *Venue) executeAll(o *order, price, quantity decimal.Decimal) {
	a := &v.account
	quantity = floorTo(quantity.Trunc(8), o.symbol.step)
	if o.quoteQty.IsPos() {
		o.qty = quantity
	}
	parts := max(a.split, 1)
	a.split = 0
	each, _ := quantity.Quo(decimal.MustNew(int64(parts), 0))
	each = floorTo(each.Trunc(8), o.symbol.step)
	rest := quantity
	for i := range parts {
		if i == parts-1 {
			each = rest
		}
		rest = minus(rest, each)
		v.execute(o, price, each)
	}
	if a.over {
		a.over = false
		v.execute(o, price, o.symbol.step)
	}
	v.publishBalances()
}

// execute is one trade.
func (v *Venue) execute(o *order, price, quantity decimal.Decimal) {
	a := &v.account
	worth := times(price, quantity)
	buyer := o.side == "BUY"
	t := &trade{
		id: int64(len(a.trades) + 1), order: o.id, symbol: o.symbol, price: price, qty: quantity, time: v.now(), buyer: buyer,
		maker: o.kind == "LIMIT_MAKER", feeAsset: "USDT", fee: times(worth, decimal.MustNew(1, 3)).Round(8),
	}
	if buyer {
		t.feeAsset, t.fee = o.symbol.base, times(quantity, decimal.MustNew(1, 3)).Round(8)
	}
	switch asset := a.feeAsset; asset {
	case "", t.feeAsset:
	case "USDT":
		t.feeAsset, t.fee = asset, times(worth, decimal.MustNew(1, 3)).Round(8)
	default:
		t.feeAsset, t.fee = asset, times(worth, decimal.MustNew(1, 6)).Ceil(8)
	}
	a.trades = append(a.trades, t)
	sign := decimal.MustNew(1, 0)
	if !buyer {
		sign = sign.Neg()
	}
	a.balances[o.symbol.base] = plus(a.balances[o.symbol.base], times(sign, quantity))
	a.balances["USDT"] = minus(a.balances["USDT"], times(sign, worth))
	a.balances[t.feeAsset] = minus(a.balances[t.feeAsset], t.fee)
	o.cum, o.cumQuote, o.updated, o.status = plus(o.cum, quantity), plus(o.cumQuote, worth), t.time, statusPartly
	if o.cum.Cmp(o.qty) >= 0 {
		o.status = statusFilled
	}
	v.report(o, "TRADE", t)
}
