package testvenue

import (
	"slices"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	statusNew       = "NEW"
	statusPartly    = "PARTIALLY_FILLED"
	statusFilled    = "FILLED"
	statusCanceled  = "CANCELED"
	statusExpired   = "EXPIRED"
	statusPrevented = "EXPIRED_IN_MATCH"

	kindMarket, kindLimit, kindMaker = "MARKET", "LIMIT", "LIMIT_MAKER"
	kindStop, kindStopLimit          = "STOP_LOSS", "STOP_LOSS_LIMIT"
	kindTake, kindTakeLimit          = "TAKE_PROFIT", "TAKE_PROFIT_LIMIT"

	tifGTC, tifIOC, tifFOK = "GTC", "IOC", "FOK"

	expireMaker, expireTaker, expireBoth = "EXPIRE_MAKER", "EXPIRE_TAKER", "EXPIRE_BOTH"
)

func kinds() []string {
	return []string{kindLimit, kindMaker, kindMarket, kindStop, kindStopLimit, kindTake, kindTakeLimit}
}

func selfTradeModes() []string { return []string{expireTaker, expireMaker, expireBoth} }

// order is an order of the account.
type order struct {
	id, list         int64 // list: of an OCO pair, else -1
	listName         string
	symbol           *symbol
	client           string
	side, kind, tif  string
	prevention       string
	qty, quoteQty    decimal.Decimal
	price, stop      decimal.Decimal
	iceberg          decimal.Decimal
	cum, cumQuote    decimal.Decimal
	status           string
	created, updated market.Time
	worked           market.Time // since when it is on the book
	sibling          *order
	working          bool // it is or was on the book
	placed           moment
}

func (o *order) open() bool { return o.status == statusNew || o.status == statusPartly }
func (o *order) buy() bool  { return o.side == "BUY" }

// waits says that it has a trigger which was not reached.
func (o *order) waits() bool { return o.stop.IsPos() && !o.working }

// rests says that it is on the book.
func (o *order) rests() bool { return o.open() && !o.waits() && o.price.IsPos() }

// threshold is the price at which something happens to it.
func (o *order) threshold() decimal.Decimal {
	if o.waits() {
		return o.stop
	}
	return o.price
}

// reached says that the market at a price triggers it or trades with it.
func (o *order) reached(at decimal.Decimal) bool {
	falls := o.buy()
	if o.waits() {
		falls = o.buy() == (o.kind == kindTake || o.kind == kindTakeLimit)
	}
	if falls {
		return at.Cmp(o.threshold()) <= 0
	}
	return at.Cmp(o.threshold()) >= 0
}

type trade struct {
	id              int64
	order           *order
	price, qty, fee decimal.Decimal
	worth           decimal.Decimal
	feeAsset        string
	time            market.Time
	maker           bool
}

// account is the one account of the venue.
type account struct {
	balances map[string]decimal.Decimal // locked amounts included
	told     map[string][2]string       // free and locked, as its streams know them
	orders   []*order
	trades   []*trade
	lists    int64
	names    int // of orders and lists that were given none
	split    int // of the next fill
	over     bool
	feeAsset string
}

// name is an id for what came without one.
func (a *account) name(given string) string {
	if given != "" {
		return given
	}
	a.names++
	return "x-venue-" + strconv.Itoa(a.names)
}

// find is the newest order under a client id, an open one before others.
func (a *account) find(s *symbol, id int64, client string) *order {
	var found *order
	for _, o := range slices.Backward(a.orders) {
		if o.symbol == s && (id > 0 && o.id == id || client != "" && o.client == client) {
			if o.open() {
				return o
			}
			if found == nil {
				found = o
			}
		}
	}
	return found
}

// locked is what open orders tie up of an asset; a pair ties up what its greater leg does.
func (v *Venue) locked(asset string) decimal.Decimal {
	var sum decimal.Decimal
	for _, s := range v.symbols {
		if s.base != asset && s.quote != asset {
			continue
		}
		for _, o := range s.live {
			what, amount := o.need()
			if what != asset {
				continue
			}
			if other := o.sibling; other != nil && other.open() {
				if other.id < o.id {
					continue
				}
				if _, more := other.need(); more.Cmp(amount) > 0 {
					amount = more
				}
			}
			sum = plus(sum, amount)
		}
	}
	return sum
}

func (v *Venue) free(asset string) decimal.Decimal {
	if free := minus(v.account.balances[asset], v.locked(asset)); free.IsPos() {
		return free
	}
	return decimal.Decimal{}
}

// need is what an order ties up.
func (o *order) need() (asset string, amount decimal.Decimal) {
	rest := minus(o.qty, o.cum)
	price := o.price
	if price.IsZero() {
		price = o.stop
	}
	if price.IsPos() {
		if o.buy() {
			return o.symbol.quote, times(rest, price)
		}
		return o.symbol.base, rest
	}
	var worth, quantity decimal.Decimal
	parts, _ := o.symbol.plan(o)
	for _, p := range parts {
		worth, quantity = plus(worth, times(p.price, p.qty)), plus(quantity, p.qty)
	}
	switch {
	case o.buy() && o.quoteQty.IsPos():
		return o.symbol.quote, o.quoteQty
	case o.buy():
		return o.symbol.quote, worth
	case o.quoteQty.IsPos():
		return o.symbol.base, quantity
	}
	return o.symbol.base, rest
}

// take accepts orders that were checked, one or both legs of a pair, and lets them trade.
func (v *Venue) take(orders ...*order) {
	now := v.now()
	for _, o := range orders {
		o.id, o.created, o.updated, o.status = int64(len(v.account.orders)+1), now, now, statusNew
		o.placed = v.limits.place(v.server())
		if o.stop.IsZero() {
			o.working, o.worked = true, now
		}
		v.account.orders = append(v.account.orders, o)
		o.symbol.live = append(o.symbol.live, o)
	}
	if orders[0].list > 0 {
		v.reportList(orders[0])
	}
	for _, o := range orders {
		v.report(o, statusNew, nil)
	}
	for _, o := range orders {
		if o.open() && !o.waits() && !o.symbol.halted {
			v.match(o)
		}
	}
	v.publishBalances()
}

// end is a terminal status without a fill.
func (v *Venue) end(o *order, status string) {
	if !o.open() {
		return
	}
	o.status, o.updated = status, v.now()
	v.report(o, status, nil)
	v.closed(o)
}

// closed takes an order that has ended from what is open.
func (v *Venue) closed(o *order) {
	s := o.symbol
	s.live = slices.DeleteFunc(s.live, func(other *order) bool { return other == o })
	if o.sibling != nil && !o.sibling.open() {
		v.reportList(o)
	}
}

// cancel ends an order, and with a leg the pair.
func (v *Venue) cancel(o *order) {
	other := o.sibling
	v.end(o, statusCanceled)
	if other != nil {
		v.end(other, statusCanceled)
	}
	v.publishBalances()
}

// fill executes parts of an order, and more of them if a script said so.
func (v *Venue) fill(o *order, parts []level, maker bool) {
	a := &v.account
	if n := a.split; n > 1 {
		parts, a.split = slices.Concat(o.symbol.cut(parts[0], n), parts[1:]), 0
	}
	for _, p := range parts {
		v.execute(o, p.price, p.qty, maker)
	}
	if o.open() && o.cum.Cmp(o.qty) >= 0 {
		o.status = statusFilled
	}
	if a.over && !o.open() {
		a.over = false
		v.execute(o, parts[len(parts)-1].price, o.symbol.step, maker)
	}
	if !o.open() {
		v.closed(o)
	}
	if o.sibling != nil {
		v.end(o.sibling, statusExpired)
	}
}

// cut divides a fill.
func (s *symbol) cut(whole level, n int) []level {
	each := floorTo(over(whole.qty, decimal.MustNew(int64(n), 0)).Trunc(8), s.step)
	var list []level
	for range n - 1 {
		if each.IsPos() {
			list = append(list, level{whole.price, each})
			whole.qty = minus(whole.qty, each)
		}
	}
	return append(list, whole)
}

// execute is one trade.
func (v *Venue) execute(o *order, price, quantity decimal.Decimal, maker bool) {
	a, s := &v.account, o.symbol
	worth := times(price, quantity).Trunc(8) // the account has no more digits
	t := &trade{id: int64(len(a.trades) + 1), order: o, price: price, qty: quantity, worth: worth,
		time: v.now(), maker: maker}
	t.feeAsset, t.fee = v.fee(o, worth, quantity)
	a.trades = append(a.trades, t)
	sign := one
	if !o.buy() {
		sign = sign.Neg()
	}
	a.balances[s.base] = plus(a.balances[s.base], times(sign, quantity))
	a.balances[s.quote] = minus(a.balances[s.quote], times(sign, worth))
	a.balances[t.feeAsset] = minus(a.balances[t.feeAsset], t.fee)
	if o.cum.IsZero() {
		v.limits.filled(o.placed)
	}
	o.cum, o.cumQuote, o.updated, o.status = plus(o.cum, quantity), plus(o.cumQuote, worth), t.time, statusPartly
	if o.cum.Cmp(o.qty) >= 0 {
		o.status = statusFilled
	}
	v.report(o, "TRADE", t)
}

// fee is a thousandth of what the order gets; three quarters of that in an asset of its own, at its price.
func (v *Venue) fee(o *order, worth, quantity decimal.Decimal) (string, decimal.Decimal) {
	s, part := o.symbol, decimal.MustNew(1, 3)
	got, amount := s.quote, worth
	if o.buy() {
		got, amount = s.base, quantity
	}
	switch asset := v.account.feeAsset; asset {
	case "", got:
		return got, times(amount, part).Round(8)
	case s.quote:
		return asset, times(worth, part).Round(8)
	case s.base:
		return asset, times(quantity, part).Round(8)
	default:
		fee := times(times(worth, decimal.MustNew(75, 5)), v.worth(s.quote))
		return asset, over(fee, v.worth(asset)).Ceil(8)
	}
}

// worth is what a unit of an asset is in USDT; one that has no market there counts as a thousand.
func (v *Venue) worth(asset string) decimal.Decimal {
	if asset == "USDT" {
		return one
	}
	if s := v.find(asset + "USDT"); s != nil {
		return s.last()
	}
	return decimal.MustNew(1000, 0)
}
