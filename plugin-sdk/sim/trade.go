package sim

import (
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// openTrade is the round trip of a symbol that has not come back to flat yet.
type openTrade struct {
	active              bool
	whole               bool // the position is held from the open of the current candle
	direction           market.Direction
	opened, closedQty   dec // quantities
	notional, exitValue dec
	entryPrice          dec // of the first fill
	exitPrice           dec
	mixedEntry          bool // several entry prices
	mixedExit           bool
	gross, fees, slips  dec
	entryTime           market.Time
	entryIndex          int64
	entryTag            string
	extremes
	orders    tradeOrders
	ambiguous bool
}

// tradeOrders are the orders that a trade is made of.
type tradeOrders struct {
	ids     []market.OrderID
	entries int // those that opened the position or added to it
}

func (t *tradeOrders) add(id market.OrderID, entry bool) {
	if slices.Contains(t.ids, id) {
		return
	}
	if t.ids == nil {
		t.ids = make([]market.OrderID, 0, 2) // most trades have an entry and an exit
	}
	t.ids = append(t.ids, id)
	if entry {
		t.entries++
	}
}

// extremes are the prices seen while a position is held; meaningful once seen.
type extremes struct {
	low, high float64
	seen      bool
}

// track widens the extremes by one price.
func (x *extremes) track(price float64) {
	if !x.seen {
		*x = extremes{price, price, true}
	}
	x.low, x.high = min(x.low, price), max(x.high, price)
}

// endCandle widens the extremes by a candle at whose close the position is still
// held: the whole of it, or its close if the entry was inside.
func (t *openTrade) endCandle(c *market.Candle) {
	if t.whole {
		t.track(c.Low)
		t.track(c.High)
		return
	}
	t.track(c.Close)
}

func (t *openTrade) add(o *order, f *market.Fill, entry bool) error {
	var sum adder
	t.fees, t.slips = sum.add(t.fees, f.Fee), sum.total(t.slips, f.Slippage)
	t.gross = sum.add(t.gross, f.RealizedPnL)
	t.ambiguous = t.ambiguous || f.Ambiguous
	t.orders.add(o.ID, entry)
	return sum.err
}

func (t *openTrade) addEntry(o *order, f *market.Fill, notional dec, s *symbolState, x execution) error {
	if !t.active {
		*t = openTrade{active: true, whole: !x.inside, entryTime: f.Time, entryIndex: s.index,
			entryTag: o.Tag, entryPrice: f.Price}
		if o.Side == market.Sell {
			t.direction = market.Short
		}
		if t.whole {
			t.track(s.candle.Open)
		}
	} else if f.Price.Cmp(t.entryPrice) != 0 {
		t.mixedEntry = true
	}
	var sum adder
	t.opened, t.notional = sum.total(t.opened, f.Quantity), sum.total(t.notional, notional)
	if sum.err != nil {
		return sum.err
	}
	return t.add(o, f, true)
}

func (t *openTrade) addExit(o *order, f *market.Fill, notional dec) error {
	if t.closedQty.IsZero() {
		t.exitPrice = f.Price
	} else if f.Price.Cmp(t.exitPrice) != 0 {
		t.mixedExit = true
	}
	var sum adder
	t.closedQty, t.exitValue = sum.total(t.closedQty, f.Quantity), sum.total(t.exitValue, notional)
	if sum.err != nil {
		return sum.err
	}
	t.track(Float(f.Price))
	return t.add(o, f, false)
}

// closed makes the Trade of a position that has come back to flat.
func (t *openTrade) closed(id market.TradeID, o *order, at market.Time, index int64,
	scale int) (*market.Trade, error) {
	var sum adder
	out := &market.Trade{
		ID: id, Symbol: o.Symbol, Direction: t.direction, Quantity: t.opened, EntryTime: t.entryTime,
		ExitTime:   at,
		EntryPrice: t.entryPrice, ExitPrice: t.exitPrice, GrossPnL: t.gross, Fees: t.fees, Slippage: t.slips,
		PnL: sum.sub(t.gross, t.fees), ExitReason: exitReason(o.Role), CandlesHeld: int(index - t.entryIndex),
		EntryTag: t.entryTag, ExitTag: o.Tag, OrderIDs: t.orders.ids, Ambiguous: t.ambiguous,
	}
	if t.mixedEntry {
		out.EntryPrice = sum.keep(average(t.notional, t.opened))
	}
	if t.mixedExit {
		out.ExitPrice = sum.keep(average(t.exitValue, t.closedQty))
	}
	if n := Float(t.notional); n != 0 {
		out.Return = Float(out.PnL) / n
	}
	worst, best := t.low, t.high
	if t.direction == market.Short {
		worst, best = best, worst
	}
	out.MAE = minDec(sum.keep(t.excursion(worst, out.EntryPrice, scale)), dec{})
	out.MFE = maxDec(sum.keep(t.excursion(best, out.EntryPrice, scale)), dec{})
	if !t.mixedExit { // it was rounded apart from the fills
		out.MAE, out.MFE = minDec(out.MAE, t.gross), maxDec(out.MFE, t.gross)
	}
	return out, sum.err
}

// excursion is (extreme - entry price) x quantity, negated for a short.
func (t *openTrade) excursion(extreme float64, entry dec, scale int) (dec, error) {
	var sum adder
	diff := sum.total(sum.keep(Decimal(extreme)), entry.Neg())
	if t.direction == market.Short {
		diff = diff.Neg()
	}
	if v, err := mulRound(diff, t.opened, scale); err == nil {
		return v, sum.err
	}
	v := sum.keep(diff.Mul(t.opened)) // no balance: where the money unit does not fit, 19 digits do
	return v, sum.err
}

// average is value / quantity to 15 significant digits.
func average(value, quantity dec) (dec, error) {
	q, err := value.Quo(quantity)
	if err != nil {
		return dec{}, err
	}
	return mulPrice(q, decOne)
}

func exitReason(r market.Role) market.ExitReason {
	switch r {
	case market.RoleEntry, market.RoleExit:
		return market.ExitSignal
	}
	return market.ExitReason(r.String())
}
