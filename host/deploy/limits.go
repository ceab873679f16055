package deploy

import (
	"maps"
	"slices"
	"strings"

	"github.com/govalues/decimal"
)

// Limits bound what a run may do. A nil pointer does not bound. Money is in the run's Quote.
type Limits struct {
	// Capital bounds the gross notional of all positions and of orders that may still fill.
	Capital *decimal.Decimal
	// OrderValue and PositionValue bound one order and the position in one symbol.
	OrderValue, PositionValue *decimal.Decimal
	// DailyLoss bounds what a day may lose, from 00:00 UTC.
	DailyLoss *decimal.Decimal
	// Drawdown is a fraction of the highest equity.
	Drawdown *decimal.Decimal
	// PriceCollar is how far a limit or stop price may be from the last close, a fraction of it.
	PriceCollar *decimal.Decimal
	// OrdersPerMinute, Instruments and Venues are counts.
	OrdersPerMinute, Instruments, Venues *int64
	// QuoteCurrency is the only one in which money may be traded; "" is any.
	QuoteCurrency string

	// unknown are limits that this version cannot keep.
	unknown []string
}

// Tighten is what holds where both do: of each bound the smaller. An order is never larger
// than a position, and no position than the capital. The currency is that of l, else of other.
func (l Limits) Tighten(other Limits) Limits {
	t := Limits{
		Capital: smaller(l.Capital, other.Capital), OrderValue: smaller(l.OrderValue, other.OrderValue),
		PositionValue: smaller(l.PositionValue, other.PositionValue), DailyLoss: smaller(l.DailyLoss, other.DailyLoss),
		Drawdown: smaller(l.Drawdown, other.Drawdown), PriceCollar: smaller(l.PriceCollar, other.PriceCollar),
		OrdersPerMinute: fewer(l.OrdersPerMinute, other.OrdersPerMinute), Instruments: fewer(l.Instruments, other.Instruments),
		Venues: fewer(l.Venues, other.Venues), QuoteCurrency: l.QuoteCurrency,
		unknown: append(slices.Clone(l.unknown), other.unknown...),
	}
	if t.QuoteCurrency == "" {
		t.QuoteCurrency = other.QuoteCurrency
	}
	t.PositionValue = smaller(t.PositionValue, t.Capital)
	t.OrderValue = smaller(t.OrderValue, t.PositionValue)
	return t
}

func smaller(a, b *decimal.Decimal) *decimal.Decimal {
	if a == nil || b != nil && b.Cmp(*a) < 0 {
		return b
	}
	return a
}

func fewer(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// bpsUnit is how many basis points are one.
const bpsUnit = 10_000

// readLimits reads an entry's limits. Names that are not known are remembered: to trade as if
// they were not there would be to trade beyond what was approved.
func readLimits(v value) Limits {
	if v.absent() {
		return Limits{}
	}
	o := v.d.object(v.v, v.at)
	l := Limits{
		Capital: o.get("max_capital").bound(), OrderValue: o.get("max_order_value").bound(), PositionValue: o.get("max_position_value").bound(),
		DailyLoss: o.get("max_daily_loss").bound(), Drawdown: o.get("max_drawdown").bound(), PriceCollar: o.get("price_collar_bps").bps(),
		OrdersPerMinute: o.get("max_orders_per_minute").count(), Instruments: o.get("max_instruments").count(), Venues: o.get("max_venues").count(),
		QuoteCurrency: o.get("quote_currency").str(),
	}
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		if !slices.Contains(strings.Fields(known), name) && o.members[name] != nil {
			l.unknown = append(l.unknown, name)
		}
	}
	return l
}

const known = "max_capital max_order_value max_position_value max_daily_loss max_drawdown price_collar_bps " +
	"max_orders_per_minute max_instruments max_venues quote_currency"

// bound is an amount that is not exceeded. A decimal holds 19 digits, the contract writes up
// to 36: what does not fit is cut off, never rounded up.
func (v value) bound() *decimal.Decimal {
	if v.absent() {
		return nil
	}
	s := v.amount()
	whole, part, _ := strings.Cut(s, ".")
	if room := max(0, decimal.MaxPrec-len(whole)); len(part) > room {
		part = part[:room]
	}
	d, err := decimal.Parse(strings.TrimSuffix(whole+"."+part, "."))
	if err != nil {
		v.d.fail(v.at, "must be a plain decimal")
		return nil
	}
	return &d
}

func (v value) count() *int64 {
	if v.absent() {
		return nil
	}
	n := v.integer()
	return &n
}

// bps is a number of basis points as a fraction.
func (v value) bps() *decimal.Decimal {
	if v.absent() {
		return nil
	}
	x, ok := v.v.(float64)
	d, err := decimal.NewFromFloat64(x)
	if ok && err == nil && !d.IsNeg() {
		if d, err = d.Quo(decimal.MustNew(bpsUnit, 0)); err == nil {
			return &d
		}
	}
	v.d.fail(v.at, "must be a number of at least 0")
	return nil
}
