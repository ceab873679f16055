package risk

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/govalues/decimal"
)

// dec is short for what prices, quantities and amounts are.
type dec = decimal.Decimal

// Limits is what a run may do. A breach is more than the limit, but where noted. A nil
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
	// DuplicatesPerCandle is how many orders with equal symbol, side, quantity and price one candle may
	// cause.
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

// Defaults are the limits without any option. Without real money the fractions of size let a run use all its
// cash.
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

// Capped reports whether one order is bounded by an amount: without it real money is refused.
func (l Limits) Capped() bool { return l.MaxOrderNotional != nil }

// Entry is the limits of a deployment entry. What is nil does not restrict; a 0 allows nothing.
type Entry struct {
	// Amounts in quote.
	MaxOrderNotional, MaxPositionNotional, MaxGrossNotional, MaxDailyLossAmount *dec
	// Fractions of the highest equity and of the last close.
	MaxDrawdown, PriceCollar *dec
	OrdersPerMinute          *int64
}

// Tighten joins the limits of a deployment entry: of each bound the smaller. An order is never larger than a
// position, and no position than the capital.
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

// MarshalJSON writes the effective values under the names of the options with _ for -, numbers plain, null
// for none.
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
		amount(l.MaxOrderNotional), amount(l.MaxPositionNotional), amount(l.MaxGrossNotional),
		amount(l.MaxDailyLossAmount),
		number(l.MaxOrderFraction), number(l.MaxPositionFraction), number(l.MaxGrossFraction),
		number(l.PriceCollar),
		number(l.MaxCandleAge), number(l.OrdersPerSecond), l.Burst, l.OrdersPerMinute, l.DuplicatesPerCandle,
		l.FillsPerHour,
		pair{l.MaxRejectsInRow, l.MaxRejects}, number(l.MaxDailyLoss), number(l.MaxDrawdown),
		stale{number(l.StaleCandles), number(l.HaltCandles)},
	})
}

// exact returns a decimal as a fraction.
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

// atLeast and atMost return an amount for people: from 1 on in hundredths, rounded to the side on which what
// has passed a limit still passes it.
func atLeast(r *big.Rat) string { return rounded(r, true) }
func atMost(r *big.Rat) string  { return rounded(r, false) }

func rounded(r *big.Rat, up bool) string {
	if r.Cmp(big.NewRat(1, 1)) < 0 {
		return text(r)
	}
	scaled := times(r, big.NewRat(100, 1))
	whole, rest := new(big.Int).QuoRem(scaled.Num(), scaled.Denom(), new(big.Int))
	if up && rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return text(new(big.Rat).SetFrac(whole, big.NewInt(100)))
}

// text returns a number exactly to eight decimals.
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

// Mode is what a breach does.
type Mode string

// The modes.
const (
	Enforce Mode = "enforce"
	Shadow  Mode = "shadow"
)

// Option is one server option.
type Option struct {
	// Name without --risk-.
	Name, Default, Help string
	set                 func(*Limits, string) error
}

// Flag and Env are how it is given.
func (o Option) Flag() string { return "--risk-" + o.Name }

// Env returns the environment variable.
func (o Option) Env() string {
	return "SERVICE_RISK_" + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_"))
}

// List returns every option but paper, in the order of the documentation.
func List() []Option {
	return []Option{
		{"max-order-notional", "none", "largest order in quote currency; real money is refused without it",
			func(l *Limits, s string) error {
				d, err := number(s, "1000000000000")
				l.MaxOrderNotional = &d
				return err
			}},
		{"max-order-fraction", "0.05; 1 without real money",
			"largest order as a fraction of the start equity", fraction(func(l *Limits) *dec {
				return &l.MaxOrderFraction
			}, "1000")},
		{"max-position-fraction", "0.25; 1 without real money",
			"largest position of a symbol, a fraction of the start equity", fraction(func(l *Limits) *dec {
				return &l.MaxPositionFraction
			}, "1000")},
		{"max-gross-fraction", "1", "largest sum of all positions, a fraction of the start equity",
			fraction(func(l *Limits) *dec { return &l.MaxGrossFraction }, "1000")},
		{"price-collar", "0.05", "how far limit and stop prices may be from the last close, a fraction of it",
			fraction(func(l *Limits) *dec { return &l.PriceCollar }, "1000")},
		{"max-candle-age", "2", "timeframes after which the last candle is too old to trade on",
			fraction(func(l *Limits) *dec { return &l.MaxCandleAge }, "1000000")},
		{"orders-per-second", "5", "orders of a symbol per second",
			fraction(func(l *Limits) *dec { return &l.OrdersPerSecond }, "1000")},
		{"burst", "10", "orders of a symbol at once", whole(func(l *Limits) *int { return &l.Burst })},
		{"orders-per-minute", "60", "orders of a symbol within 60 s",
			whole(func(l *Limits) *int { return &l.OrdersPerMinute })},
		{"duplicates-per-candle", "2", "equal orders that one candle may cause",
			whole(func(l *Limits) *int { return &l.DuplicatesPerCandle })},
		{"fills-per-hour", "20", "filled orders of a symbol within an hour",
			whole(func(l *Limits) *int { return &l.FillsPerHour })},
		{"max-rejects", "3/5", "rejects in a row / within 10 minutes after which no position grows any more",
			twoCounts},
		{"max-daily-loss", "0.03", "loss since 00:00 UTC, a fraction of the equity then",
			fraction(func(l *Limits) *dec { return &l.MaxDailyLoss }, "1")},
		{"max-drawdown", "0.10", "loss since the highest equity, a fraction of it, that ends the run",
			fraction(func(l *Limits) *dec { return &l.MaxDrawdown }, "1")},
		{"stale-candles", "3/10",
			"timeframes without a candle after which positions only shrink / nothing but cancels leaves",
			twoAges},
	}
}

// paperOption is the one option that is no limit.
const paperOption = "paper"

// Options are the values that the operator gave; what was not given follows the defaults.
type Options struct {
	// Paper is what breaches do in paper.
	Paper Mode
	given []func(*Limits) error
}

// OptionError names an option with a bad value.
type OptionError struct{ Option, Value, Want string }

// Error returns the message.
func (e *OptionError) Error() string {
	return fmt.Sprintf("%s: %q: %s", e.Option, e.Value, e.Want)
}

// Parse reads the options. The function looks a value up by Option: it is "" when it was not
// given, and source is how it was (the flag or the variable), for the error.
func Parse(lookup func(o Option) (value, source string)) (Options, error) {
	opts := Options{Paper: Shadow}
	value, source := lookup(Option{Name: paperOption, Default: string(Shadow),
		Help: "what the limits do in paper: shadow or enforce"})
	switch Mode(value) {
	case "":
	case Shadow, Enforce:
		opts.Paper = Mode(value)
	default:
		return Options{}, &OptionError{source, value, "want shadow or enforce"}
	}
	for _, o := range List() {
		value, source := lookup(o)
		if value == "" {
			continue
		}
		trial := Defaults(false)
		if err := o.set(&trial, value); err != nil {
			return Options{}, &OptionError{source, value, err.Error()}
		}
		opts.given = append(opts.given, func(l *Limits) error { return o.set(l, value) })
	}
	return opts, nil
}

// For returns the limits of a run.
func (o Options) For(realMoney bool) Limits {
	l := Defaults(realMoney)
	for _, set := range o.given {
		_ = set(&l) // was tried when it was parsed
	}
	return l
}

func number(s, most string) (dec, error) {
	d, err := decimal.Parse(s)
	if err != nil || strings.ContainsAny(s, "eE") || !d.IsPos() || d.Cmp(decimal.MustParse(most)) > 0 {
		return dec{}, fmt.Errorf("want a number above 0 and at most %s", most)
	}
	return d, nil
}

func fraction(field func(*Limits) *dec, most string) func(*Limits, string) error {
	return func(l *Limits, s string) error {
		d, err := number(s, most)
		if err == nil {
			*field(l) = d
		}
		return err
	}
}

func count(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, fmt.Errorf("want a whole number from 1 to 1000000")
	}
	return n, nil
}

func whole(field func(*Limits) *int) func(*Limits, string) error {
	return func(l *Limits, s string) error {
		n, err := count(s)
		if err == nil {
			*field(l) = n
		}
		return err
	}
}

// twoCounts reads "3/5", or "3" for the first alone.
func twoCounts(l *Limits, s string) error {
	first, second, both := strings.Cut(s, "/")
	n, err := count(first)
	if err != nil {
		return fmt.Errorf(
			"want two whole numbers such as 3/5, in a row and within 10 minutes, or the first alone")
	}
	l.MaxRejectsInRow = n
	if !both {
		return nil
	}
	if l.MaxRejects, err = count(second); err != nil {
		return fmt.Errorf("want two whole numbers such as 3/5, in a row and within 10 minutes")
	}
	return nil
}

// twoAges reads "3/10", or "3" for the first alone.
func twoAges(l *Limits, s string) error {
	first, second, both := strings.Cut(s, "/")
	d, err := number(first, "1000000")
	if err != nil {
		return fmt.Errorf("want two numbers of timeframes such as 3/10, or the first alone")
	}
	l.StaleCandles = d
	if !both {
		second = l.HaltCandles.Max(d).String()
	}
	if l.HaltCandles, err = number(second, "1000000"); err != nil || l.HaltCandles.Cmp(d) < 0 {
		return fmt.Errorf("want two numbers of timeframes such as 3/10, the second not below the first")
	}
	return nil
}
