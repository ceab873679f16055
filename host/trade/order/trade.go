package order

import (
	"math/big"
	"slices"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

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
	orders                []market.OrderID
	reduced               bool
	manual                bool // the order that closed it was the operator's
}

func newTrip(f exchange.Fill, o Origin) *trip {
	return &trip{
		symbol: f.Symbol, short: f.Side == market.Sell, opened: f.Time, bought: ratZero, boughtFor: ratZero, sold: ratZero, soldFor: ratZero, fees: ratZero,
		slippage: ratZero, gross: ratZero, low: exact(f.Price), high: exact(f.Price), entryTag: o.Tag,
	}
}

func (t *trip) fill(f exchange.Fill, o Origin, fee, realised *big.Rat) {
	t.fees = plus(t.fees, fee)
	t.gross = plus(t.gross, realised)
	if o.Reference.IsPos() {
		t.slippage = plus(t.slippage, times(new(big.Rat).Abs(minus(exact(f.Price), exact(o.Reference))), exact(f.Quantity)))
	}
	if !slices.Contains(t.orders, o.Order) {
		t.orders = append(t.orders, o.Order)
	}
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
	low, lowErr := fromFloat(c.Low)
	high, highErr := fromFloat(c.High)
	last, lastErr := fromFloat(c.Close)
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
		ID: market.TradeID(l.trades), Symbol: t.symbol, Direction: direction, Quantity: toDec(new(big.Rat).Abs(quantity)), EntryTime: t.opened, ExitTime: t.closed,
		EntryPrice: toDec(entry), ExitPrice: toDec(exit), GrossPnL: toDec(t.gross), Fees: toDec(t.fees), Slippage: toDec(t.slippage), PnL: toDec(pnl),
		Return: share, ExitReason: t.exitReason(), CandlesHeld: t.candles,
		MAE: toDec(least(ratZero, times(minus(worst, entry), quantity))), MFE: toDec(largest(ratZero, times(minus(best, entry), quantity))),
		EntryTag: t.entryTag, ExitTag: t.exitTag, OrderIDs: t.orders,
	}
}

// mean is an amount a unit; 0 of nothing.
func mean(amount, quantity *big.Rat) *big.Rat {
	if quantity.Sign() == 0 {
		return ratZero
	}
	return new(big.Rat).Quo(amount, quantity)
}

// exitReason is the role of the closing order; an order of the strategy is a signal, one of the operator manual.
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
		Symbol: symbol, Direction: direction, Quantity: toDec(b.quantity), MarkPrice: price, MarketValue: toDec(held),
		AverageEntryPrice: toDec(new(big.Rat).Quo(b.cost, b.quantity)), UnrealizedPnL: toDec(minus(held, b.cost)), UpdatedAt: at,
	}
	if t := b.trip; t != nil {
		p.RealizedPnL, p.Fees, p.OpenedAt = toDec(t.gross), toDec(t.fees), t.opened
	}
	return p
}
