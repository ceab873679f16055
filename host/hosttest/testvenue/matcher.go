package testvenue

import (
	"fmt"
	"maps"
	"slices"

	"github.com/govalues/decimal"
)

// matcher is the account and what trades with it.
type matcher struct {
	markets *markets
	hub     *hub

	account    account
	limits     limits
	executions int64 // reports so far
	settled    int64 // those whose balances were published
	readOnly   bool  // the key may not trade any more
}

// open gives the account its cash.
func (v *matcher) open(text string) error {
	cash, err := decimal.Parse(text)
	if err != nil || !cash.IsPos() {
		return fmt.Errorf("cash %q is not an amount above 0", text)
	}
	v.account = account{
		balances: map[string]decimal.Decimal{"USDT": cash},
		lastSent: map[string][2]string{"USDT": {fixed(cash), fixed(decimal.Decimal{})}},
	}
	return nil
}

// pass makes so many moves of two seconds each; the streams hear of the last one and of every candle
// that closes.
func (v *matcher) pass(n int) {
	for range n {
		closed := false
		for _, s := range v.markets.symbols {
			if s.through > 0 { // there and back
				s.tape.touch(s.tape.units(s.through))
				s.through = 0
				v.travel(s, s.last(), false)
			}
			before := s.tape.price
			closed = s.tape.move()
			s.record(before)
			v.travel(s, s.last(), false)
		}
		if v.executions != v.settled { // something was reported
			v.settled = v.executions
			v.publishBalances()
		}
		if closed {
			v.hub.publishClosed()
		}
	}
	if n > 0 {
		v.hub.publishMarket()
	}
}

// step lets the market go on to the end of the minute.
func (v *matcher) step() {
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	v.pass(moves - v.markets.symbols[0].tape.moved)
}

// locked returns what open orders tie up of an asset; a pair ties up what its greater leg does.
func (v *matcher) locked(asset string) decimal.Decimal {
	var sum decimal.Decimal
	for _, s := range v.markets.symbols {
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

func (v *matcher) free(asset string) decimal.Decimal {
	if free := minus(v.account.balances[asset], v.locked(asset)); free.IsPos() {
		return free
	}
	return decimal.Decimal{}
}

// take accepts orders that were checked, one or both legs of a pair, and lets them trade.
func (v *matcher) take(orders ...*order) {
	now := v.markets.now()
	for _, o := range orders {
		o.id, o.created, o.updated, o.status = int64(len(v.account.orders)+1), now, now, statusNew
		o.placed = v.limits.place(v.markets.server())
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
func (v *matcher) end(o *order, status string) {
	if !o.open() {
		return
	}
	o.status, o.updated = status, v.markets.now()
	v.report(o, status, nil)
	v.closed(o)
}

// closed takes an order that has ended from what is open.
func (v *matcher) closed(o *order) {
	s := o.symbol
	s.live = slices.DeleteFunc(s.live, func(other *order) bool { return other == o })
	if o.sibling != nil && !o.sibling.open() {
		v.reportList(o)
	}
}

// cancel ends an order, and with a leg the pair.
func (v *matcher) cancel(o *order) {
	other := o.sibling
	v.end(o, statusCanceled)
	if other != nil {
		v.end(other, statusCanceled)
	}
	v.publishBalances()
}

// fill executes parts of an order, and more of them if a script said so.
func (v *matcher) fill(o *order, parts []level, maker bool) {
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

// execute is one trade.
func (v *matcher) execute(o *order, price, quantity decimal.Decimal, maker bool) {
	a, s := &v.account, o.symbol
	worth := times(price, quantity).Trunc(8) // the account has no more digits
	t := &trade{id: int64(len(a.trades) + 1), order: o, price: price, qty: quantity, worth: worth,
		time: v.markets.now(), maker: maker}
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
	o.cum, o.cumQuote, o.updated, o.status = plus(o.cum, quantity), plus(o.cumQuote, worth), t.time,
		statusPartly
	if o.cum.Cmp(o.qty) >= 0 {
		o.status = statusFilled
	}
	v.report(o, "TRADE", t)
}

// fee returns a thousandth of what the order gets; three quarters of that in an asset of its own, at its
// price.
func (v *matcher) fee(o *order, worth, quantity decimal.Decimal) (string, decimal.Decimal) {
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

// worth returns what a unit of an asset is in USDT; one that has no market there counts as a thousand.
func (v *matcher) worth(asset string) decimal.Decimal {
	if asset == "USDT" {
		return one
	}
	if s := v.markets.find(asset + "USDT"); s != nil {
		return s.last()
	}
	return decimal.MustNew(1000, 0)
}

// match lets an order take what the book has, and ends it or rests it with what is left.
func (v *matcher) match(o *order) {
	s := o.symbol
	parts, whole := s.plan(o)
	blocked := v.preventSelfTrade(o, &parts)
	if o.tif == tifFOK && (!whole || blocked) {
		v.end(o, statusExpired)
		return
	}
	if o.quoteQty.IsPos() {
		for _, p := range parts {
			o.qty = plus(o.qty, p.qty)
		}
	}
	side := s.levels(o.buy())
	for _, p := range parts {
		if (*side)[0].qty = minus((*side)[0].qty, p.qty); !(*side)[0].qty.IsPos() {
			*side = (*side)[1:]
		}
	}
	if len(parts) > 0 {
		s.book.update++
		v.fill(o, parts, false)
	}
	switch {
	case blocked:
		v.end(o, statusPrevented)
	case o.kind == kindMarket || o.kind == kindStop || o.kind == kindTake || o.tif == tifIOC ||
		o.tif == tifFOK:
		v.end(o, statusExpired)
	}
}

// preventSelfTrade ends what would trade with an order of the same account: those that rest, or the
// one that comes, whose parts are then cut. true: it is the one that comes.
func (v *matcher) preventSelfTrade(o *order, parts *[]level) bool {
	for i, p := range *parts {
		for _, r := range slices.Clone(o.symbol.live) {
			if r.side == o.side || !r.rests() || worse(o, r.price, p.price) {
				continue
			}
			if o.prevention != expireTaker {
				v.end(r, statusPrevented)
			}
			if o.prevention != expireMaker {
				*parts = (*parts)[:i]
				return true
			}
		}
	}
	return false
}

// travel moves the market of a symbol to a price: whatever waits or rests on the way has its turn, the
// nearest first. Over a gap there is no way: what is triggered meets the book beyond it.
func (v *matcher) travel(s *symbol, to decimal.Decimal, gap bool) {
	defer s.book.move(to)
	if s.halted || len(s.live) == 0 {
		return
	}
	begun := s.book.at
	if gap {
		s.book.move(to)
	}
	served := map[*order]bool{}
	for {
		o := s.nearest(to, served)
		if o == nil {
			return
		}
		price := o.threshold()
		if between(begun, price, to) && !gap {
			s.book.move(price)
		}
		if o.waits() {
			v.trigger(o)
			continue
		}
		served[o] = true
		amount := minus(o.qty, o.cum)
		if through := !worse(o, price, begun) && worse(o, price, to); !through {
			amount = least(amount, s.flow(price))
		}
		v.fill(o, []level{{price, amount}}, true)
	}
}

// trigger puts an order that waited to work.
func (v *matcher) trigger(o *order) {
	o.working, o.updated, o.worked = true, v.markets.now(), v.markets.now()
	if o.sibling != nil {
		v.end(o.sibling, statusExpired)
	}
	v.report(o, statusNew, nil)
	v.match(o)
}

// report is an executionReport.
func (v *matcher) report(o *order, what string, t *trade) {
	now := int64(v.markets.now())
	o.symbol.book.update++
	e := frame{
		"e": "executionReport", "E": now, "s": o.symbol.name, "c": o.client, "S": o.side, "o": o.kind,
		"f": o.tif,
		"q": fixed(o.qty),
		"p": fixed(o.price), "P": fixed(o.stop), "F": fixed(o.iceberg), "g": o.list, "C": "", "x": what,
		"X": o.status, "r": "NONE", "i": o.id,
		"l": "0.00000000", "z": fixed(o.cum), "L": "0.00000000", "n": "0", "N": nil, "T": now, "t": -1,
		"w": o.open() && !o.waits(), "m": false,
		"O": int64(o.created), "Z": fixed(o.cumQuote), "Y": "0.00000000", "Q": fixed(o.quoteQty),
		"V": o.prevention,
		"I": v.nextExecution(), "M": false,
	}
	if o.working {
		e["W"] = int64(o.worked)
	}
	switch what {
	case statusCanceled:
		e["c"], e["C"] = "x-cancel", o.client
	case statusPrevented:
		e["x"] = "TRADE_PREVENTION"
	}
	if t != nil {
		e["l"], e["L"], e["n"], e["N"] = fixed(t.qty), fixed(t.price), fixed(t.fee), t.feeAsset
		e["t"], e["m"], e["T"] = t.id, t.maker, int64(t.time)
		e["Y"], e["M"] = fixed(t.worth), true
	}
	v.hub.pushUser(e)
	if v.hub.trouble.chatty {
		v.publishBalances()
	}
}

func (v *matcher) nextExecution() int64 {
	v.executions++
	return v.executions
}

// reportList is a listStatus: of a pair that is placed, and of one that has ended.
func (v *matcher) reportList(o *order) {
	list := o.listJSON()
	refs := []map[string]any{}
	for _, leg := range o.legs() {
		refs = append(refs, map[string]any{"s": leg.symbol.name, "i": leg.id, "c": leg.client})
	}
	v.hub.pushUser(frame{"e": "listStatus", "E": int64(v.markets.now()), "s": o.symbol.name, "g": o.list,
		"c": "OCO",
		"l": list["listStatusType"], "L": list["listOrderStatus"],
		"r": "NONE", "C": o.listName, "T": int64(v.markets.now()), "O": refs})
}

// publishBalances publishes the assets that have changed.
func (v *matcher) publishBalances() {
	a := &v.account
	list := []map[string]string{}
	for _, asset := range slices.Sorted(maps.Keys(a.balances)) {
		now := [2]string{fixed(v.free(asset)), fixed(v.locked(asset))}
		if a.lastSent[asset] == now {
			continue
		}
		a.lastSent[asset] = now
		list = append(list, map[string]string{"a": asset, "f": now[0], "l": now[1]})
	}
	if len(list) > 0 {
		v.hub.pushUser(frame{"e": "outboundAccountPosition", "E": int64(v.markets.now()),
			"u": int64(v.markets.now()), "B": list})
	}
}
