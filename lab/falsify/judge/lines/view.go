package lines

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// View says how a market was changed that a play has seen. The zero value is one that was
// not.
type View struct {
	// Time is what a moment was before, nil where none was moved.
	Time func(market.Time) market.Time
	// Names are the old symbols by the new ones.
	Names map[market.Symbol]market.Symbol
	// Scale is what prices were multiplied with and quantities divided by; 0 is 1.
	Scale float64
}

// What is scaled in a line, and in the children of an intent.
var (
	prices     = []string{"price", "limit_price", "stop_price", "trail_amount"}
	quantities = []string{"quantity"}
	amounts    = []string{"fee", "slippage", "quote_amount"} // are what they were, but for rounding
	children   = []string{"stop_loss", "take_profit"}
)

// Restored is decision lines as they would have been on the market before it was changed:
// with its times, names, prices and quantities. Lines of the market itself, put through
// the zero view or one that only scales by 1, can be laid beside them. Scaled numbers, and
// those of a Scale of 1, have 12 significant digits: what is left of a product is no
// difference, but of a number with more digits, halfway between two of 12, either may be left. The error is that of a line that is no decision line.
func (v View) Restored(text []byte) ([]byte, error) {
	var out bytes.Buffer
	for _, line := range split(text) {
		var fields map[string]any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			return nil, fmt.Errorf("a decision line that is no JSON: %w", err)
		}
		if err := v.restore(fields); err != nil {
			return nil, err
		}
		e := json.NewEncoder(&out) // sorts the keys and ends the line
		e.SetEscapeHTML(false)
		if err := e.Encode(fields); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

func (v View) restore(fields map[string]any) error {
	if text, ok := fields["time"].(string); ok && v.Time != nil {
		at, err := market.ParseTime(text)
		if err != nil {
			return err
		}
		fields["time"] = v.Time(at).String()
	}
	if name, ok := fields["symbol"].(string); ok {
		if old, changed := v.Names[market.Symbol(name)]; changed {
			fields["symbol"] = string(old)
		}
	}
	if v.Scale == 0 {
		return nil
	}
	if err := multiply(fields, prices, 1/v.Scale); err != nil {
		return err
	}
	for _, name := range children {
		if child, ok := fields[name].(map[string]any); ok {
			if err := multiply(child, prices, 1/v.Scale); err != nil {
				return err
			}
		}
	}
	if err := multiply(fields, amounts, 1); err != nil {
		return err
	}
	return multiply(fields, quantities, v.Scale)
}

func multiply(fields map[string]any, names []string, factor float64) error {
	for _, name := range names {
		text, ok := fields[name].(string)
		if !ok {
			continue
		}
		x, err := decimal.Parse(text)
		if err != nil {
			return fmt.Errorf("%s of a decision line: %w", name, err)
		}
		f, _ := x.Float64() // every decimal has a nearest one
		if x, err = decimal.NewFromFloat64(metric.Round(f * factor)); err != nil {
			return fmt.Errorf("%s of a decision line: %w", name, err)
		}
		fields[name] = x.Trim(0).String()
	}
	return nil
}
