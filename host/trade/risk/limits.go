package risk

import (
	"encoding/json"
	"math/big"

	"github.com/govalues/decimal"
)

// dec is short for what prices, quantities and amounts are.
type dec = decimal.Decimal

// Limits is what a run may do. A breach is more than the limit, unless it says otherwise. A nil
// amount is no limit; a number that is not above 0 allows nothing.
type Limits struct {
	// MaxOrderNotional bounds one order, in quote.
	MaxOrderNotional *dec
	// MaxPositionNotional and MaxGrossNotional bound the position in one symbol and all of them
	// together, in quote; only a deployment entry sets them.
	MaxPositionNotional, MaxGrossNotional *dec
	// MaxDailyLossAmount is MaxDailyLoss in quote; only a deployment entry sets it.
	MaxDailyLossAmount *dec
	// Fractions of the equity that the run started with.
	MaxOrderFraction, MaxPositionFraction, MaxGrossFraction dec
	// PriceCollar is how far a limit or stop price may be from the last close, a fraction of it.
	PriceCollar dec
	// MaxCandleAge of the last candle, in timeframes.
	MaxCandleAge dec
	// OrdersPerSecond with Burst, and OrdersPerMinute, are of one symbol; cancels are free.
	OrdersPerSecond dec
	Burst           int
	OrdersPerMinute int
	// DuplicatesPerCandle is how many orders with equal symbol, side, quantity and price one candle may cause.
	DuplicatesPerCandle int
	// FillsPerHour is how many orders of a symbol may fill within an hour.
	FillsPerHour int
	// MaxRejectsInRow and MaxRejects (within 10 minutes) trip when they are reached.
	MaxRejectsInRow, MaxRejects int
	// MaxDailyLoss is a fraction of the equity at 00:00 UTC, MaxDrawdown of the highest equity.
	MaxDailyLoss, MaxDrawdown dec
	// StaleCandles and HaltCandles are timeframes (plus 10 s) without a candle.
	StaleCandles, HaltCandles dec
}

// Defaults are the limits without any option. Without real money the fractions of size let a run use all its cash.
func Defaults(realMoney bool) Limits {
	l := Limits{
		MaxOrderFraction: decimal.One, MaxPositionFraction: decimal.One, MaxGrossFraction: decimal.One,
		PriceCollar: decimal.MustNew(5, 2), MaxCandleAge: decimal.Two,
		OrdersPerSecond: decimal.MustNew(5, 0), Burst: 10, OrdersPerMinute: 60,
		DuplicatesPerCandle: 2, FillsPerHour: 20, MaxRejectsInRow: 3, MaxRejects: 5,
		MaxDailyLoss: decimal.MustNew(3, 2), MaxDrawdown: decimal.MustNew(1, 1),
		StaleCandles: decimal.MustNew(3, 0), HaltCandles: decimal.MustNew(10, 0),
	}
	if realMoney {
		l.MaxOrderFraction, l.MaxPositionFraction = decimal.MustNew(5, 2), decimal.MustNew(25, 2)
	}
	return l
}

// Capped says that one order is bounded by an amount: without it real money is refused.
func (l Limits) Capped() bool { return l.MaxOrderNotional != nil }

// Entry is the limits of a deployment entry. What is nil does not restrict; a 0 allows nothing.
type Entry struct {
	// Amounts in quote.
	MaxOrderNotional, MaxPositionNotional, MaxGrossNotional, MaxDailyLossAmount *dec
	// Fractions of the highest equity and of the last close.
	MaxDrawdown, PriceCollar *dec
	OrdersPerMinute          *int64
}

// Tighten joins the limits of a deployment entry: of each bound the smaller. An order is never larger than a position,
// and no position than the capital.
func (l Limits) Tighten(entry Entry) Limits {
	l.MaxOrderNotional = smaller(l.MaxOrderNotional, entry.MaxOrderNotional)
	l.MaxPositionNotional = smaller(l.MaxPositionNotional, entry.MaxPositionNotional)
	l.MaxGrossNotional = smaller(l.MaxGrossNotional, entry.MaxGrossNotional)
	l.MaxDailyLossAmount = smaller(l.MaxDailyLossAmount, entry.MaxDailyLossAmount)
	l.MaxPositionNotional = smaller(l.MaxPositionNotional, l.MaxGrossNotional)
	l.MaxOrderNotional = smaller(l.MaxOrderNotional, l.MaxPositionNotional)
	l.MaxDrawdown = *smaller(&l.MaxDrawdown, entry.MaxDrawdown)
	l.PriceCollar = *smaller(&l.PriceCollar, entry.PriceCollar)
	if n := entry.OrdersPerMinute; n != nil && *n < int64(l.OrdersPerMinute) {
		l.OrdersPerMinute = int(*n)
	}
	return l
}

// smaller of two bounds; nil is none.
func smaller(a, b *dec) *dec {
	if a == nil || (b != nil && b.Cmp(*a) < 0) {
		return b
	}
	return a
}

// MarshalJSON writes the effective values under the names of the options with _ for -, numbers plain, null for none.
func (l Limits) MarshalJSON() ([]byte, error) {
	number := func(d dec) json.Number { return json.Number(d.String()) }
	amount := func(d *dec) *json.Number {
		if d == nil {
			return nil
		}
		n := number(*d)
		return &n
	}
	type pair struct {
		InRow   int `json:"in_row"`
		Minutes int `json:"in_10_minutes"`
	}
	type stale struct {
		Reducing json.Number `json:"reducing"`
		Halted   json.Number `json:"halted"`
	}
	return json.Marshal(struct {
		MaxOrderNotional    *json.Number `json:"max_order_notional"`
		MaxPositionNotional *json.Number `json:"max_position_notional"`
		MaxGrossNotional    *json.Number `json:"max_gross_notional"`
		MaxDailyLossAmount  *json.Number `json:"max_daily_loss_amount"`
		MaxOrderFraction    json.Number  `json:"max_order_fraction"`
		MaxPositionFraction json.Number  `json:"max_position_fraction"`
		MaxGrossFraction    json.Number  `json:"max_gross_fraction"`
		PriceCollar         json.Number  `json:"price_collar"`
		MaxCandleAge        json.Number  `json:"max_candle_age"`
		OrdersPerSecond     json.Number  `json:"orders_per_second"`
		Burst               int          `json:"burst"`
		OrdersPerMinute     int          `json:"orders_per_minute"`
		DuplicatesPerCandle int          `json:"duplicates_per_candle"`
		FillsPerHour        int          `json:"fills_per_hour"`
		MaxRejects          pair         `json:"max_rejects"`
		MaxDailyLoss        json.Number  `json:"max_daily_loss"`
		MaxDrawdown         json.Number  `json:"max_drawdown"`
		StaleCandles        stale        `json:"stale_candles"`
	}{
		amount(l.MaxOrderNotional), amount(l.MaxPositionNotional), amount(l.MaxGrossNotional), amount(l.MaxDailyLossAmount),
		number(l.MaxOrderFraction), number(l.MaxPositionFraction), number(l.MaxGrossFraction), number(l.PriceCollar),
		number(l.MaxCandleAge), number(l.OrdersPerSecond), l.Burst, l.OrdersPerMinute, l.DuplicatesPerCandle, l.FillsPerHour,
		pair{l.MaxRejectsInRow, l.MaxRejects}, number(l.MaxDailyLoss), number(l.MaxDrawdown), stale{number(l.StaleCandles), number(l.HaltCandles)},
	})
}

// exact is a decimal as a fraction.
func exact(d dec) *big.Rat {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale())), nil)
	r := new(big.Rat).SetFrac(new(big.Int).SetUint64(d.Coef()), unit)
	if d.IsNeg() {
		r.Neg(r)
	}
	return r
}

func times(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
func plus(a, b *big.Rat) *big.Rat  { return new(big.Rat).Add(a, b) }
func minus(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }

// text is a number for people.
func text(r *big.Rat) string {
	s := r.FloatString(8)
	for s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	if s[len(s)-1] == '.' {
		s = s[:len(s)-1]
	}
	return s
}
