// Package lines compares what two plays have decided, from their decision lines: whether
// they agree up to a cut, how many decisions differ, and where the first difference is.
//
// Lines are those of package host/run/decision, joined by line feeds: canonical JSON
// objects with the fields kind and time among others. A decision is a line of kind intent
// or reject: what the strategy decided. Orders and fills follow from it.
//
// A View takes the lines of a market that was seen otherwise back to the market as it was.
//
// It imports host/base/digest, host/metric for its rounding, and the market nouns.
package lines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Inside a JSON string quotes are escaped, so these stand for nothing else.
var (
	intent = []byte(`"kind":"intent"`)
	reject = []byte(`"kind":"reject"`)
	moment = []byte(`"time":"`)
)

// split is the lines of a text; none of an empty one.
func split(text []byte) [][]byte {
	text = bytes.TrimSuffix(text, []byte("\n"))
	if len(text) == 0 {
		return nil
	}
	return bytes.Split(text, []byte("\n"))
}

func isDecision(line []byte) bool {
	return bytes.Contains(line, intent) || bytes.Contains(line, reject)
}

func timeOf(line []byte) (market.Time, error) {
	at := bytes.Index(line, moment)
	if at < 0 {
		return 0, fmt.Errorf("a decision line without a time: %.100q", line)
	}
	text := line[at+len(moment):]
	end := bytes.IndexByte(text, '"')
	if end < 0 {
		return 0, fmt.Errorf("a decision line that is cut off: %.100q", line)
	}
	return market.ParseTime(string(text[:end]))
}

// decisions are the lines of decisions in [from, to], in their order.
func decisions(text []byte, from, to market.Time) ([][]byte, []market.Time, error) {
	var out [][]byte
	var times []market.Time
	for _, line := range split(text) {
		if !isDecision(line) {
			continue
		}
		t, err := timeOf(line)
		if err != nil {
			return nil, nil, err
		}
		if t >= from && t <= to {
			out, times = append(out, line), append(times, t)
		}
	}
	return out, times, nil
}

const forever = market.Time(1<<63 - 1)

// Times are the distinct times of the decisions from a time on, ascending.
func Times(text []byte, from market.Time) ([]market.Time, error) {
	_, times, err := decisions(text, from, forever)
	slices.Sort(times)
	return slices.Compact(times), err
}

// Prefix is the SHA-256 of the decisions up to and at the cut, the close time of a step.
// How the run ends is not in it: orders cancelled at the end of the data are no decisions.
func Prefix(text []byte, cut market.Time) (string, error) {
	list, _, err := decisions(text, -forever, cut)
	if err != nil {
		return "", err
	}
	return digest.SHA256Hex(bytes.Join(list, []byte("\n"))), nil
}

// Differing compares the decisions of two plays from a time on, whatever came before: how
// many the first makes, and how many of either are not the other's, the larger of both
// counts. What merely numbers a decision (seq, candle, client_ref, ref) does not count.
func Differing(want, got []byte, from market.Time) (all, differing int, err error) {
	a, err := essence(want, from)
	if err != nil {
		return 0, 0, err
	}
	b, err := essence(got, from)
	if err != nil {
		return 0, 0, err
	}
	return len(a), max(surplus(a, b), surplus(b, a)), nil
}

// essence is the decisions without their numbers, sorted.
func essence(text []byte, from market.Time) ([]string, error) {
	list, _, err := decisions(text, from, forever)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(list))
	for i, line := range list {
		text, err := without(line, "seq", "candle", "client_ref", "ref")
		if err != nil {
			return nil, err
		}
		out[i] = string(text)
	}
	slices.Sort(out)
	return out, nil
}

// surplus counts what of a sorted list is not in another, equal entries one by one.
func surplus(a, b []string) int {
	n := 0
	for _, x := range a {
		for len(b) > 0 && b[0] < x {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == x {
			b = b[1:]
			continue
		}
		n++
	}
	return n
}

// Diff is the first difference of two texts with its surroundings.
type Diff struct {
	// Line is the number of the first line that differs, from 0.
	Line int
	// Want and Got are up to ten lines of each: five before, then from Line on.
	Want, Got [][]byte
}

const (
	context = 10
	leading = 5
)

// First is where two texts begin to differ; false if they do not.
func First(want, got []byte) (Diff, bool) {
	a, b := split(want), split(got)
	at := 0
	for at < len(a) && at < len(b) && bytes.Equal(a[at], b[at]) {
		at++
	}
	if at == len(a) && at == len(b) {
		return Diff{}, false
	}
	part := func(list [][]byte) [][]byte {
		from := max(at-leading, 0)
		return list[from:min(from+context, len(list))]
	}
	return Diff{Line: at, Want: part(a), Got: part(b)}, true
}

// Until is the lines of decisions up to a time: what becomes of orders after it is another
// matter.
func Until(text []byte, cut market.Time) ([]byte, error) {
	list, _, err := decisions(text, -forever, cut)
	return ended(list), err
}

// Bare is the lines of decisions from a time on without what only numbers them, so that plays
// with other warm-ups can be laid side by side.
func Bare(text []byte, from market.Time) ([]byte, error) {
	list, _, err := decisions(text, from, forever)
	for i := range list {
		if err == nil {
			list[i], err = without(list[i], "seq", "candle")
		}
	}
	return ended(list), err
}

// ended is lines with their ends.
func ended(list [][]byte) (out []byte) {
	for _, line := range list {
		out = append(append(out, line...), '\n')
	}
	return out
}

// without is a line without some of its fields; the others are sorted.
func without(line []byte, names ...string) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &fields); err != nil {
		return nil, fmt.Errorf("a decision line that is not JSON: %w", err)
	}
	for _, name := range names {
		delete(fields, name)
	}
	return json.Marshal(fields)
}

// View is how the market of a play was changed; the zero value is no change.
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
// difference, but of a number with more digits, halfway between two of 12, either may be left. The error is
// that of a line that is no decision line.
func (v View) Restored(text []byte) ([]byte, error) {
	var out bytes.Buffer
	for _, line := range split(text) {
		var fields map[string]any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			return nil, fmt.Errorf("a decision line that is not JSON: %w", err)
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
