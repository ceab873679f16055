package candidate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The shares of the initial cash that a candidate may use where nobody says otherwise, in
// percent, and the other limits of section 3 of the governance page.
const (
	orderPercent    = 5
	positionPercent = 25
	dayLossPercent  = 3

	ordersPerMinute = 10
	drawdown        = "0.25"
)

// defaultLimits follow from the initial cash, a JSON number, and the symbols.
func defaultLimits(cash json.RawMessage, symbols []string) (bundle.Limits, error) {
	all, err := decimal.Parse(string(cash))
	if err != nil {
		return bundle.Limits{}, fmt.Errorf("initial cash: %w", err)
	}
	share := func(percent int64) (string, error) {
		rate, err := decimal.New(percent, 2)
		if err != nil {
			return "", err
		}
		part, err := all.Mul(rate)
		return amount(part), err
	}
	l := bundle.Limits{
		MaxCapital: amount(all), MaxOrdersPerMinute: ordersPerMinute, MaxInstruments: int64(len(symbols)), MaxVenues: 1, MaxDrawdown: drawdown,
	}
	if len(symbols) > 0 {
		l.QuoteCurrency = market.Symbol(symbols[0]).Quote()
	}
	var errs [3]error
	l.MaxOrderValue, errs[0] = share(orderPercent)
	l.MaxPositionValue, errs[1] = share(positionPercent)
	l.MaxDailyLoss, errs[2] = share(dayLossPercent)
	return l, errors.Join(errs[:]...)
}

// amount writes money as the contract does: no exponent, no needless zeros.
func amount(d decimal.Decimal) string { return d.Trim(0).String() }

// LimitsOver is limits with what a file of --limits names; other members are refused. The
// values are checked when the bundle is sealed.
func LimitsOver(base bundle.Limits, text []byte) (bundle.Limits, error) {
	bad := func(pointer, format string, args ...any) error {
		return &evaluate.Error{
			Code: "USAGE", Message: "--limits: " + fmt.Sprintf(format, args...), Details: map[string]any{"flag": "--limits", "pointer": pointer},
		}
	}
	canonical, err := digest.CanonicalJSON(text)
	var at *digest.JSONError
	switch {
	case errors.As(err, &at):
		return base, bad(at.Pointer, "%v", err)
	case err != nil:
		return base, bad("", "%v", err)
	case len(canonical) == 0 || canonical[0] != '{':
		return base, bad("", "the file must hold an object such as {\"max_capital\":\"10000\"}")
	}
	d := json.NewDecoder(bytes.NewReader(canonical))
	d.DisallowUnknownFields()
	out := base
	if err := d.Decode(&out); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return base, bad("/"+strings.ReplaceAll(wrong.Field, ".", "/"), "%s must not be a %s: money is a decimal in quotes, counts are numbers", wrong.Field, wrong.Value)
		}
		return base, bad("", "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return out, nil
}

// looser says whether limits a allow anything that limits b do not.
func looser(a, b *bundle.Limits) bool {
	above := func(x, y string) bool {
		if y == "" {
			return false
		}
		dx, errX := decimal.Parse(x)
		dy, errY := decimal.Parse(y)
		return errX != nil || errY != nil || dx.Cmp(dy) > 0
	}
	collar := b.PriceCollarBps != nil && (a.PriceCollarBps == nil || *a.PriceCollarBps > *b.PriceCollarBps)
	return collar || above(a.MaxCapital, b.MaxCapital) || above(a.MaxOrderValue, b.MaxOrderValue) || above(a.MaxPositionValue, b.MaxPositionValue) ||
		above(a.MaxDrawdown, b.MaxDrawdown) || above(a.MaxDailyLoss, b.MaxDailyLoss) || a.MaxOrdersPerMinute > b.MaxOrdersPerMinute ||
		a.MaxInstruments > b.MaxInstruments || a.MaxVenues > b.MaxVenues || b.QuoteCurrency != "" && a.QuoteCurrency != b.QuoteCurrency
}
