package risk

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/govalues/decimal"
)

// Mode says what a breach does.
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

// Env is the environment variable.
func (o Option) Env() string {
	return "SERVICE_RISK_" + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_"))
}

// List is every option but paper, in the order of the documentation.
func List() []Option {
	return []Option{
		{"max-order-notional", "none", "largest order in quote currency; real money is refused without it",
			func(l *Limits, s string) error {
				d, err := number(s, "1000000000000")
				l.MaxOrderNotional = &d
				return err
			}},
		{"max-order-fraction", "0.05; 1 without real money", "largest order as a fraction of the start equity", fraction(func(l *Limits) *dec { return &l.MaxOrderFraction }, "1000")},
		{"max-position-fraction", "0.25; 1 without real money", "largest position of a symbol, a fraction of the start equity", fraction(func(l *Limits) *dec { return &l.MaxPositionFraction }, "1000")},
		{"max-gross-fraction", "1", "largest sum of all positions, a fraction of the start equity", fraction(func(l *Limits) *dec { return &l.MaxGrossFraction }, "1000")},
		{"price-collar", "0.05", "how far limit and stop prices may be from the last close, a fraction of it", fraction(func(l *Limits) *dec { return &l.PriceCollar }, "1000")},
		{"max-candle-age", "2", "timeframes after which the last candle is too old to trade on", fraction(func(l *Limits) *dec { return &l.MaxCandleAge }, "1000000")},
		{"orders-per-second", "5", "orders of a symbol per second", fraction(func(l *Limits) *dec { return &l.OrdersPerSecond }, "1000")},
		{"burst", "10", "orders of a symbol at once", whole(func(l *Limits) *int { return &l.Burst })},
		{"orders-per-minute", "60", "orders of a symbol within 60 s", whole(func(l *Limits) *int { return &l.OrdersPerMinute })},
		{"duplicates-per-candle", "2", "equal orders that one candle may cause", whole(func(l *Limits) *int { return &l.DuplicatesPerCandle })},
		{"fills-per-hour", "20", "filled orders of a symbol within an hour", whole(func(l *Limits) *int { return &l.FillsPerHour })},
		{"max-rejects", "3/5", "rejects in a row / within 10 minutes after which no position grows any more", twoCounts},
		{"max-daily-loss", "0.03", "loss since 00:00 UTC, a fraction of the equity then", fraction(func(l *Limits) *dec { return &l.MaxDailyLoss }, "1")},
		{"max-drawdown", "0.10", "loss since the highest equity, a fraction of it, that ends the run", fraction(func(l *Limits) *dec { return &l.MaxDrawdown }, "1")},
		{"stale-candles", "3/10", "timeframes without a candle after which positions only shrink / nothing but cancels leaves", twoAges},
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

// OptionError says which option has a bad value.
type OptionError struct{ Option, Value, Want string }

// Error is the message.
func (e *OptionError) Error() string {
	return fmt.Sprintf("%s: %q: %s", e.Option, e.Value, e.Want)
}

// Parse reads the options. The function looks a value up by Option: it is "" when it was not
// given, and source is how it was (the flag or the variable), for the error.
func Parse(lookup func(o Option) (value, source string)) (Options, error) {
	opts := Options{Paper: Shadow}
	value, source := lookup(Option{Name: paperOption, Default: string(Shadow), Help: "what the limits do in paper: shadow or enforce"})
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

// For is the limits of a run.
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
		return fmt.Errorf("want two whole numbers such as 3/5, in a row and within 10 minutes, or the first alone")
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
