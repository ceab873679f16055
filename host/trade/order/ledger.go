package order

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Ledger is the books of a run: cash in quote, one position a symbol, fees. It starts flat with
// the cash there was; what the account holds besides is not its business. Nothing in it is
// rounded but the cost of a part that is sold, to the money unit, so that always exactly
//
//	cash + costs + fees = start cash + realised.
//
// A fee in quote is paid from cash. A fee in the base makes the position smaller, as if so much of it had
// been sold at the price of the fill to pay it. A fee in a third asset has a
// ledger of its own; where its price is known it is paid from cash to whoever owns the rest of the account.
type Ledger struct {
	quote               string
	scale               int
	initial, cash, fees *big.Rat
	books               []*book
	third               map[string]*big.Rat
	// prices of third assets in quote; unvalued are the fees in those without one, valued the value of the
	// others.
	prices, unvalued map[string]*big.Rat
	valued           *big.Rat
	fills, trades    int64
}

// book is one symbol.
type book struct {
	symbol                   market.Symbol
	quantity, cost, realised *big.Rat
	dust                     bool // what is left is too small to sell: shown flat
	trip                     *trip
}

// NewLedger begins the books. All symbols have the same quote currency.
func NewLedger(cash dec, symbols []market.Symbol) (*Ledger, error) {
	if len(symbols) == 0 || cash.IsNeg() {
		return nil, fmt.Errorf("a ledger needs symbols and cash of at least 0, it has %d and %s",
			len(symbols), cash)
	}
	l := &Ledger{
		quote: symbols[0].Quote(), scale: sim.MoneyScale(cash),
		initial: exact(cash), cash: exact(cash), fees: ratZero, third: map[string]*big.Rat{},
		prices: map[string]*big.Rat{}, unvalued: map[string]*big.Rat{}, valued: ratZero,
	}
	for _, s := range symbols {
		if s.Quote() != l.quote {
			return nil, fmt.Errorf("%s and %s have different quote currencies", symbols[0], s)
		}
		l.books = append(l.books, &book{symbol: s, quantity: ratZero, cost: ratZero, realised: ratZero})
	}
	return l, nil
}

func (l *Ledger) book(s market.Symbol) *book {
	for _, b := range l.books {
		if b.symbol == s {
			return b
		}
	}
	return nil
}

// Origin is what a fill belongs to: the order that the strategy sees.
type Origin struct {
	Order market.OrderID
	Role  market.Role
	Tag   string
	// Manual reports whether the operator wanted the order: the round trip that it closes was closed by hand.
	Manual bool
	// Reference is the price that was expected: of the stop, or the last close of a market order; 0 for
	// limits.
	Reference dec
}

// Fill books a trade and returns it as the strategy and the results see it, with the round
// trip that it closed. Whether the trade is new is the Book's business.
func (l *Ledger) Fill(f exchange.Fill, o Origin) (market.Fill, *market.Trade, error) {
	b := l.book(f.Symbol)
	if b == nil {
		return market.Fill{}, nil, fmt.Errorf("a fill of %s, which is not part of the run", f.Symbol)
	}
	q, n := exact(f.Quantity), value(f)
	fee := l.feeInQuote(f)
	wasFlat := b.flat()
	l.fees = plus(l.fees, fee)
	if f.FeeAsset != f.Symbol.Base() || fee.Sign() == 0 {
		l.cash = minus(l.cash, fee)
	}
	if f.Side == market.Sell {
		q, n = neg(q), neg(n)
	}
	realised := b.trade(q, n, l.scale)
	l.cash = minus(l.cash, n)
	if f.FeeAsset == f.Symbol.Base() && fee.Sign() != 0 {
		realised = plus(realised, b.trade(neg(exact(f.Fee)), neg(fee), l.scale))
	}
	if f.Side == market.Buy || b.quantity.Sign() < 0 {
		b.dust = false
	}
	if third := f.FeeAsset; third != "" && third != l.quote && third != f.Symbol.Base() {
		l.thirdFee(third, exact(f.Fee), fee)
	}
	l.fills++
	out := l.shown(f, o, b, fee, realised)
	if wasFlat && !b.flat() {
		b.trip = newTrip(f, o)
	}
	var closed *market.Trade
	if b.trip != nil {
		b.trip.fill(f, o, fee, realised)
		if b.quantity.Sign() == 0 {
			closed = l.close(b)
		}
	}
	return out, closed, nil
}

// trade adds a signed quantity for a signed amount of quote, both negative of a sale, and returns the gross
// profit of what it takes off the position. The venue can sell more than is held (an overfill, a late
// trade): then the position is negative and its cost what the sale brought.
func (b *book) trade(q, n *big.Rat, scale int) *big.Rat {
	if b.quantity.Sign()*q.Sign() >= 0 {
		b.quantity, b.cost = plus(b.quantity, q), plus(b.cost, n)
		return ratZero
	}
	share, cost := n, b.cost
	switch new(big.Rat).Abs(q).Cmp(new(big.Rat).Abs(b.quantity)) {
	case -1:
		cost = rounded(new(big.Rat).Quo(times(b.cost, neg(q)), b.quantity), scale)
	case 1: // the rest is a position on the other side
		share = new(big.Rat).Quo(times(n, neg(b.quantity)), q)
	}
	gross := neg(plus(share, cost))
	b.quantity, b.cost = plus(b.quantity, q), plus(minus(b.cost, cost), minus(n, share))
	b.realised = plus(b.realised, gross)
	return gross
}

// flat returns how the position is shown.
func (b *book) flat() bool { return b.quantity.Sign() == 0 || b.dust }

// feeInQuote returns the fee, valued at the price of the fill when it is in the base, and in a third asset
// at the last one known.
func (l *Ledger) feeInQuote(f exchange.Fill) *big.Rat {
	switch f.FeeAsset {
	case l.quote:
		return exact(f.Fee)
	case f.Symbol.Base():
		return times(exact(f.Fee), exact(f.Price))
	}
	if price := l.prices[f.FeeAsset]; price != nil {
		return times(exact(f.Fee), price)
	}
	return ratZero
}

func (l *Ledger) thirdOf(asset string) *big.Rat {
	if r := l.third[asset]; r != nil {
		return r
	}
	return ratZero
}

func (l *Ledger) shown(f exchange.Fill, o Origin, b *book, fee, realised *big.Rat) market.Fill {
	reference, slipped := f.Price, ratZero
	if o.Reference.IsPos() {
		reference = o.Reference
		slipped = times(new(big.Rat).Abs(minus(exact(f.Price), exact(reference))), exact(f.Quantity))
	}
	return market.Fill{
		ID: market.FillID(l.fills), OrderID: o.Order, Symbol: f.Symbol, Side: f.Side, Role: o.Role,
		Quantity: f.Quantity,
		Price:    f.Price, ReferencePrice: reference, Slippage: toDec(slipped), Fee: toDec(fee),
		Liquidity: f.Liquidity, Time: f.Time,
		PositionAfter: toDec(b.quantity), RealizedPnL: toDec(realised), Tag: o.Tag,
	}
}

// Settle looks at what is left of a symbol once nothing of it is being sold: a rest that the market
// does not take is dust, shown flat, and closes the round trip. It stays in the books.
func (l *Ledger) Settle(symbol market.Symbol, rules Rules, price dec) *market.Trade {
	b := l.book(symbol)
	if b == nil || b.quantity.Sign() <= 0 || b.flat() || b.trip == nil || !b.trip.reduced ||
		!rules.Dust(toDec(b.quantity), price) {
		return nil
	}
	b.dust = true
	return l.close(b)
}

// Check verifies the identity of the books.
func (l *Ledger) Check() error {
	left, right := plus(l.cash, l.fees), l.initial
	for _, b := range l.books {
		left, right = plus(left, b.cost), plus(right, b.realised)
	}
	if left.Cmp(right) != 0 {
		return fmt.Errorf("the books do not balance: %s is not %s", left.FloatString(20),
			right.FloatString(20))
	}
	return nil
}

// Cash in quote. Initial is what the run began with.
func (l *Ledger) Cash() dec { return toDec(l.cash) }

// Initial cash in quote.
func (l *Ledger) Initial() dec { return toDec(l.initial) }

// Fees that were paid, in quote, but those in assets whose price is not known.
func (l *Ledger) Fees() dec { return toDec(l.fees) }

// AssetAmount is an amount of one asset.
type AssetAmount struct {
	Asset  string
	Amount dec
}

// ThirdFees are the fees paid in other assets than base and quote, by asset.
func (l *Ledger) ThirdFees() []AssetAmount {
	list := make([]AssetAmount, 0, len(l.third))
	for asset, r := range l.third {
		list = append(list, AssetAmount{asset, toDec(r)})
	}
	slices.SortFunc(list, func(a, b AssetAmount) int { return cmp.Compare(a.Asset, b.Asset) })
	return list
}

// Quantity that is held of a symbol, dust included.
func (l *Ledger) Quantity(symbol market.Symbol) dec {
	if b := l.book(symbol); b != nil {
		return toDec(b.quantity)
	}
	return dec{}
}

// Flat reports whether nothing but dust is held.
func (l *Ledger) Flat(symbol market.Symbol) bool {
	b := l.book(symbol)
	return b == nil || b.flat()
}

// Dust returns what is held and too small to be sold.
func (l *Ledger) Dust(symbol market.Symbol) dec {
	if b := l.book(symbol); b != nil && b.dust {
		return toDec(b.quantity)
	}
	return dec{}
}

// Equity returns the cash and every position at a price, dust included.
func (l *Ledger) Equity(price func(market.Symbol) dec) dec {
	sum := l.cash
	for _, b := range l.books {
		if b.quantity.Sign() != 0 {
			sum = plus(sum, times(b.quantity, exact(price(b.symbol))))
		}
	}
	return toDec(sum)
}

// Entries counts the orders that have opened the position of a symbol or added to it.
func (l *Ledger) Entries(symbol market.Symbol) int {
	if b := l.book(symbol); b != nil && b.trip != nil {
		return b.trip.orders.entries
	}
	return 0
}

// trip is a round trip that is under way: from flat to flat.
type trip struct {
	symbol                market.Symbol
	short                 bool // it began with a sale of what was not held
	opened, closed        market.Time
	bought, boughtFor     *big.Rat
	sold, soldFor         *big.Rat
	fees, slippage, gross *big.Rat
	low, high             *big.Rat // of the prices while it was held
	candles               int
	entryTag, exitTag     string
	exit                  market.Role
	orders                tripOrders
	reduced               bool
	manual                bool // the order that closed it was the operator's
}

// tripOrders are the orders that a round trip is made of.
type tripOrders struct {
	ids     []market.OrderID
	entries int // those that opened it or added to it
}

func (t *tripOrders) add(id market.OrderID, entry bool) {
	if slices.Contains(t.ids, id) {
		return
	}
	t.ids = append(t.ids, id)
	if entry {
		t.entries++
	}
}

func newTrip(f exchange.Fill, o Origin) *trip {
	return &trip{
		symbol: f.Symbol, short: f.Side == market.Sell, opened: f.Time, bought: ratZero, boughtFor: ratZero,
		sold: ratZero, soldFor: ratZero, fees: ratZero,
		slippage: ratZero, gross: ratZero, low: exact(f.Price), high: exact(f.Price), entryTag: o.Tag,
	}
}

func (t *trip) fill(f exchange.Fill, o Origin, fee, realised *big.Rat) {
	t.fees = plus(t.fees, fee)
	t.gross = plus(t.gross, realised)
	if o.Reference.IsPos() {
		t.slippage = plus(t.slippage,
			times(new(big.Rat).Abs(minus(exact(f.Price), exact(o.Reference))), exact(f.Quantity)))
	}
	t.orders.add(o.Order, (f.Side == market.Sell) == t.short)
	t.closed = max(t.closed, f.Time)
	t.extreme(exact(f.Price), exact(f.Price))
	if f.Side == market.Buy {
		t.bought, t.boughtFor = plus(t.bought, exact(f.Quantity)), plus(t.boughtFor, value(f))
		return
	}
	t.reduced = true
	t.sold, t.soldFor = plus(t.sold, exact(f.Quantity)), plus(t.soldFor, value(f))
	t.exit, t.exitTag, t.manual = o.Role, o.Tag, o.Manual
}

func (t *trip) extreme(low, high *big.Rat) {
	t.low, t.high = least(t.low, low), largest(t.high, high)
}

// OnCandle counts the candle for the round trips that are under way. Of the one in which a trip
// began only the close is known to be after it.
func (l *Ledger) OnCandle(symbol market.Symbol, c market.Candle) {
	b := l.book(symbol)
	if b == nil || b.trip == nil || b.flat() || c.CloseTime <= b.trip.opened {
		return
	}
	low, lowErr := sim.Decimal(c.Low)
	high, highErr := sim.Decimal(c.High)
	last, lastErr := sim.Decimal(c.Close)
	if lowErr != nil || highErr != nil || lastErr != nil {
		return // the feed drops such candles
	}
	if c.OpenTime <= b.trip.opened {
		b.trip.extreme(exact(last), exact(last))
		return
	}
	b.trip.candles++
	b.trip.extreme(exact(low), exact(high))
}

// CandlesHeld counts candles since the one in which the position was opened.
func (l *Ledger) CandlesHeld(symbol market.Symbol) int {
	if b := l.book(symbol); b != nil && b.trip != nil {
		return b.trip.candles
	}
	return 0
}

// close ends the round trip of a symbol.
func (l *Ledger) close(b *book) *market.Trade {
	t := b.trip
	b.trip = nil
	l.trades++
	entry, exit := mean(t.boughtFor, t.bought), mean(t.soldFor, t.sold)
	quantity, invested, direction, worst, best := t.bought, t.boughtFor, market.Long, t.low, t.high
	if t.short {
		entry, exit = exit, entry
		quantity, invested, direction, worst, best = neg(t.sold), t.soldFor, market.Short, t.high, t.low
	}
	pnl := minus(t.gross, t.fees)
	share, _ := mean(pnl, invested).Float64()
	return &market.Trade{
		ID: market.TradeID(l.trades), Symbol: t.symbol, Direction: direction,
		Quantity: toDec(new(big.Rat).Abs(quantity)), EntryTime: t.opened, ExitTime: t.closed,
		EntryPrice: toDec(entry), ExitPrice: toDec(exit), GrossPnL: toDec(t.gross), Fees: toDec(t.fees),
		Slippage: toDec(t.slippage), PnL: toDec(pnl),
		Return: share, ExitReason: t.exitReason(), CandlesHeld: t.candles,
		MAE:      toDec(least(ratZero, times(minus(worst, entry), quantity))),
		MFE:      toDec(largest(ratZero, times(minus(best, entry), quantity))),
		EntryTag: t.entryTag, ExitTag: t.exitTag, OrderIDs: t.orders.ids,
	}
}

// mean returns an amount a unit; 0 of nothing.
func mean(amount, quantity *big.Rat) *big.Rat {
	if quantity.Sign() == 0 {
		return ratZero
	}
	return new(big.Rat).Quo(amount, quantity)
}

// exitReason returns the role of the closing order; an order of the strategy is a signal, one of the operator
// manual.
func (t *trip) exitReason() market.ExitReason {
	switch {
	case t.manual:
		return market.ExitManual
	case t.exit == market.RoleEntry, t.exit == market.RoleExit:
		return market.ExitSignal
	}
	return market.ExitReason(t.exit.String())
}

// Position of a symbol at a price; nil when it is shown flat.
func (l *Ledger) Position(symbol market.Symbol, price dec, at market.Time) *market.Position {
	b := l.book(symbol)
	if b == nil || b.flat() {
		return nil
	}
	held := times(b.quantity, exact(price))
	direction := market.Long
	if b.quantity.Sign() < 0 {
		direction = market.Short
	}
	p := &market.Position{
		Symbol: symbol, Direction: direction, Quantity: toDec(b.quantity), MarkPrice: price,
		MarketValue:       toDec(held),
		AverageEntryPrice: toDec(new(big.Rat).Quo(b.cost, b.quantity)),
		UnrealizedPnL:     toDec(minus(held, b.cost)), UpdatedAt: at,
	}
	if t := b.trip; t != nil {
		p.RealizedPnL, p.Fees, p.OpenedAt = toDec(t.gross), toDec(t.fees), t.opened
	}
	return p
}

// Transfer books cash that came to the run or left it otherwise than by a trade: it is neither gain nor loss.
func (l *Ledger) Transfer(amount dec) {
	l.cash, l.initial = plus(l.cash, exact(amount)), plus(l.initial, exact(amount))
}

// SetPrice sets what an asset that is neither base nor quote is worth, in quote. Fees in it that had no value
// so far get that one. What the account holds of it is not the run's: the run owes so much of its cash for
// it.
func (l *Ledger) SetPrice(asset string, price dec) {
	l.prices[asset] = exact(price)
	if left := l.unvalued[asset]; left != nil {
		worth := times(left, l.prices[asset])
		l.cash, l.fees, l.valued = minus(l.cash, worth), plus(l.fees, worth), plus(l.valued, worth)
		delete(l.unvalued, asset)
	}
}

// Valued returns what of the cash is owed for fees that the account paid in other assets: it is still there.
func (l *Ledger) Valued() dec { return toDec(l.valued) }

// Unvalued reports whether fees in an asset have no value yet.
func (l *Ledger) Unvalued(asset string) bool { return l.unvalued[asset] != nil }

// thirdFee notes a fee in an asset that is neither base nor quote, with its value in quote if that is known.
func (l *Ledger) thirdFee(asset string, amount, worth *big.Rat) {
	l.third[asset] = plus(l.thirdOf(asset), amount)
	switch {
	case l.prices[asset] != nil:
		l.valued = plus(l.valued, worth)
	case amount.Sign() != 0:
		if l.unvalued[asset] == nil {
			l.unvalued[asset] = ratZero
		}
		l.unvalued[asset] = plus(l.unvalued[asset], amount)
	}
}
