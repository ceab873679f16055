package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/govalues/decimal"
)

// The names of the profiles: what a run is compatible with.
const (
	ProfileBarV1         = "bar-v1"
	ProfileBacktestingPy = "compat:backtesting.py"
	ProfileBacktrader    = "compat:backtrader"
	ProfileFreqtrade     = "compat:freqtrade"
)

var profiles = []string{ProfileBarV1, ProfileBacktestingPy, ProfileBacktrader, ProfileFreqtrade}

var (
	decOne      = decimal.MustNew(1, 0)
	decTenThou  = decimal.MustNew(10000, 0)
	defaultTick = decimal.MustNew(1, 8)
)

// Fees are what a venue charges as a fraction of notional, paid in quote currency.
type Fees struct{ Maker, Taker decimal.Decimal }

// DefaultFees are 0.001 for both.
func DefaultFees() Fees {
	return Fees{Maker: decimal.MustNew(1, 3), Taker: decimal.MustNew(1, 3)}
}

// Options is the resolved execution object: explicit values, then the profile's,
// then the defaults. It is part of a run's identity.
type Options struct {
	Profile            string
	FeeMaker, FeeTaker decimal.Decimal // fractions of notional
	SlippageBps        decimal.Decimal // 1/100 of a percent on every taker fill
	ProtectFrom        string          // entry_candle or next_candle
	Intrabar           string          // stop_first, target_first or ohlc_color
	RestingGap         string          // limit or open
	LimitTouch         string          // touch or through_tick
	QuantityStep       decimal.Decimal // units of the base
	AllowShort         bool
	CloseAtEnd         bool
}

// compat reports whether the profile reproduces another engine, which fixes two more rules.
func (o *Options) compat() bool { return o.Profile != ProfileBarV1 }

// keepsLevels reports whether a candle that opens beyond an order fills it at its own price, as far as the
// candle has it, and not at the open.
func (o *Options) keepsLevels() bool { return o.Profile == ProfileFreqtrade }

// trailsInside reports whether a candle moves trailing stops before it reaches them.
func (o *Options) trailsInside() bool { return o.Profile == ProfileFreqtrade }

// FieldError is one bad option, by JSON pointer within the execution object.
type FieldError struct{ Pointer, Message, Rule string }

// OptionError lists every bad option.
type OptionError struct{ Fields []FieldError }

// Error is the message.
func (e *OptionError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Pointer + ": " + f.Message
	}
	return "execution: " + strings.Join(parts, "; ")
}

type number struct {
	into     *dec
	min, max string
}

type choice struct {
	into   *string
	values []string
}

// fields are the fields of the execution object: a number with its bounds, a choice or a *bool.
func (o *Options) fields() map[string]any {
	return map[string]any{
		"fee_maker":     number{&o.FeeMaker, "-0.01", "0.1"},
		"fee_taker":     number{&o.FeeTaker, "0", "0.1"},
		"slippage_bps":  number{&o.SlippageBps, "0", "1000"},
		"quantity_step": number{&o.QuantityStep, "0.0000000001", "1000000"},
		"profile":       choice{&o.Profile, profiles},
		"protect_from":  choice{&o.ProtectFrom, []string{"entry_candle", "next_candle"}},
		"intrabar":      choice{&o.Intrabar, []string{"stop_first", "target_first", "ohlc_color"}},
		"resting_gap":   choice{&o.RestingGap, []string{"limit", "open"}},
		"limit_touch":   choice{&o.LimitTouch, []string{"touch", "through_tick"}},
		"allow_short":   &o.AllowShort,
		"close_at_end":  &o.CloseAtEnd,
	}
}

// profileDefaults are the options of a profile before anything explicit.
func profileDefaults(profile string, fees Fees) Options {
	o := Options{
		Profile: profile, FeeMaker: fees.Maker, FeeTaker: fees.Taker, SlippageBps: decimal.MustNew(5, 0),
		ProtectFrom: "entry_candle", Intrabar: "stop_first", RestingGap: "limit", LimitTouch: "touch",
		QuantityStep: decimal.MustNew(1, 8),
	}
	if profile != ProfileBarV1 {
		o.SlippageBps = decimal.Decimal{}
	}
	if profile == ProfileBacktestingPy || profile == ProfileBacktrader {
		o.RestingGap = "open"
	}
	if profile == ProfileBacktrader {
		o.ProtectFrom = "next_candle"
	}
	return o
}

// ResolveOptions reads an execution object (nil or empty: all defaults). Unknown
// fields and bad values are listed all at once in an *OptionError.
func ResolveOptions(raw []byte, fees Fees) (Options, error) {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		if err := d.Decode(&given); err != nil || given == nil {
			return Options{}, &OptionError{[]FieldError{{"", "must be a JSON object", "type"}}}
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return Options{}, &OptionError{[]FieldError{{"", "must be one JSON object", "type"}}}
		}
	}
	profile := ProfileBarV1
	if p, ok := given["profile"]; ok {
		// A bad profile is reported with the other fields below.
		_ = json.Unmarshal(p, &profile)
	}
	o := profileDefaults(profile, fees)
	var bad []FieldError
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if f := o.apply(name, given[name]); f != nil {
			bad = append(bad, *f)
		}
	}
	if len(bad) > 0 {
		return Options{}, &OptionError{bad}
	}
	return o, nil
}

func (o *Options) apply(name string, raw json.RawMessage) *FieldError {
	pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	switch f := o.fields()[name].(type) {
	case number:
		v, ok := numberIn(raw)
		if !ok || v.Cmp(decimal.MustParse(f.min)) < 0 || v.Cmp(decimal.MustParse(f.max)) > 0 {
			return &FieldError{pointer, "must be a number from " + f.min + " to " + f.max, "range"}
		}
		*f.into = v
	case choice:
		var s string
		if json.Unmarshal(raw, &s) != nil || !slices.Contains(f.values, s) {
			return &FieldError{pointer, "must be one of " + strings.Join(f.values, ", "), "enum"}
		}
		*f.into = s
	case *bool:
		var b *bool
		if json.Unmarshal(raw, &b) != nil || b == nil {
			return &FieldError{pointer, "must be true or false", "type"}
		}
		*f = *b
	default:
		return &FieldError{pointer, "is not an execution option", "additionalProperties"}
	}
	return nil
}

func numberIn(raw json.RawMessage) (dec, bool) {
	var n json.Number
	if len(raw) == 0 || raw[0] == '"' || json.Unmarshal(raw, &n) != nil {
		return dec{}, false
	}
	f, err := n.Float64()
	if err != nil {
		return dec{}, false
	}
	v, err := Decimal(f)
	return v, err == nil
}

// MarshalJSON writes all fields, in the order of the documentation, numbers plain.
func (o Options) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Profile      string      `json:"profile"`
		FeeMaker     json.Number `json:"fee_maker"`
		FeeTaker     json.Number `json:"fee_taker"`
		SlippageBps  json.Number `json:"slippage_bps"`
		ProtectFrom  string      `json:"protect_from"`
		Intrabar     string      `json:"intrabar"`
		RestingGap   string      `json:"resting_gap"`
		LimitTouch   string      `json:"limit_touch"`
		QuantityStep json.Number `json:"quantity_step"`
		AllowShort   bool        `json:"allow_short"`
		CloseAtEnd   bool        `json:"close_at_end"`
	}{
		o.Profile, plain(o.FeeMaker), plain(o.FeeTaker), plain(o.SlippageBps), o.ProtectFrom, o.Intrabar,
		o.RestingGap, o.LimitTouch, plain(o.QuantityStep), o.AllowShort, o.CloseAtEnd,
	})
}

func plain(d dec) json.Number { return json.Number(d.Trim(0).String()) }
