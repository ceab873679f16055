package deploy

import (
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/field"
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
	PriceCollar     *decimal.Decimal
	OrdersPerMinute *int64 `json:"max_orders_per_minute,omitempty"`
	Instruments     *int64 `json:"max_instruments,omitempty"`
	Venues          *int64 `json:"max_venues,omitempty"`
	// QuoteCurrency is the only one in which money may be traded; "" is any.
	QuoteCurrency string `json:"quote_currency,omitempty"`

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

// Check reads the amounts. Names that are not known are remembered: to trade as if they were not
// there would be to trade beyond what was approved.
func (l *Limits) Check(o field.Object) {
	known := field.Names("max_orders_per_minute max_instruments max_venues quote_currency price_collar_bps")
	for _, m := range []struct {
		name string
		into **decimal.Decimal
	}{
		{"max_capital", &l.Capital}, {"max_order_value", &l.OrderValue}, {"max_position_value", &l.PositionValue},
		{"max_daily_loss", &l.DailyLoss}, {"max_drawdown", &l.Drawdown},
	} {
		known = append(known, m.name)
		*m.into = bound(o, m.name)
	}
	if o.Has("price_collar_bps") {
		d, err := decimal.NewFromFloat64(o.Number("price_collar_bps", 0))
		if err == nil {
			d, err = d.Quo(decimal.MustNew(bpsUnit, 0))
		}
		if err != nil {
			o.Fail(field.InvalidField, "price_collar_bps", "must be a number of at least 0")
		}
		l.PriceCollar = &d
	}
	l.unknown = slices.DeleteFunc(o.Members(), func(name string) bool {
		return slices.Contains(known, name) || !o.Has(name)
	})
}

// bound is an amount that is not exceeded. A decimal holds 19 digits, the contract writes up
// to 36: what does not fit is cut off, never rounded up.
func bound(o field.Object, name string) *decimal.Decimal {
	if !o.Has(name) {
		return nil
	}
	whole, part, _ := strings.Cut(o.Form("decimal", name), ".")
	if room := max(0, decimal.MaxPrec-len(whole)); len(part) > room {
		part = part[:room]
	}
	d, err := decimal.Parse(strings.TrimSuffix(whole+"."+part, "."))
	if err != nil {
		o.Fail(field.InvalidDecimal, name, "must be a plain decimal")
		return nil
	}
	return &d
}
