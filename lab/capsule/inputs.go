package capsule

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// MaxInputRows is how many rows of all inputs together a capsule has, the newest.
const MaxInputRows = 2000

// SliceInput is the rows of an input that were known at a failure.
type SliceInput struct {
	Name string `json:"name"`
	// SHA256 is of all rows.
	SHA256 string `json:"sha256"`
	// Cut reports that there were earlier rows, too many for a capsule.
	Cut  bool       `json:"cut,omitempty"`
	Rows []InputRow `json:"rows"`
}

// InputRow is a row as [time in Unix ms, time at which it became known, value], the value as text so that
// it is exact.
type InputRow market.InputRow

// MarshalJSON writes the list.
func (r InputRow) MarshalJSON() ([]byte, error) {
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		return nil, fmt.Errorf("a row holds %v", r.Value)
	}
	b := strconv.AppendInt([]byte{'['}, int64(r.Time), 10)
	b = append(strconv.AppendInt(append(b, ','), int64(r.Known), 10), `,"`...)
	return append(strconv.AppendFloat(b, r.Value, 'g', -1, 64), `"]`...), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *InputRow) UnmarshalJSON(b []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if len(raw) != 3 {
		return fmt.Errorf("a row of an input has %d values, not 3", len(raw))
	}
	var text string
	for i, to := range []any{(*int64)(&r.Time), (*int64)(&r.Known), &text} {
		if err := json.Unmarshal(raw[i], to); err != nil {
			return err
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("%.40q in a row of an input is not a number", text)
	}
	r.Value = x
	return nil
}

// inputRefs are the inputs that a request pins; none where it cannot be read.
func inputRefs(request json.RawMessage) []artifact.DataRef {
	var r artifact.Request
	if json.Unmarshal(request, &r) != nil {
		return nil
	}
	return slices.DeleteFunc(r.Inputs.Data, func(d artifact.DataRef) bool {
		return !candle.IsInput(d.Symbol)
	})
}

// nameOf is the name of an input without what makes it a symbol.
func nameOf(in artifact.DataRef) string {
	return strings.TrimPrefix(in.Symbol, string(candle.InputSymbol("")))
}

// cutInputs takes the rows that were known by a time out of the store, of each input as many as of the
// others at most.
func cutInputs(store *candle.Inputs, refs []artifact.DataRef, at market.Time) ([]SliceInput, error) {
	var out []SliceInput
	for _, ref := range refs {
		rows, err := store.Open(ref.SHA256)
		if err != nil {
			return nil, err
		}
		to := sort.Search(len(rows), func(i int) bool { return rows[i].Known > at })
		to = max(to, min(1, len(rows))) // a file has a row: one that nobody sees yet
		from := max(0, to-MaxInputRows/len(refs))
		one := SliceInput{Name: nameOf(ref), SHA256: ref.SHA256, Cut: from > 0}
		for _, row := range rows[from:to] {
			one.Rows = append(one.Rows, InputRow(row))
		}
		out = append(out, one)
	}
	return out, nil
}

// checkInputs checks the inputs of a capsule that may come from anywhere.
func (s *Slice) checkInputs() *FormatError {
	rows := 0
	for i, in := range s.Inputs {
		at := fmt.Sprintf("/data_slice/inputs/%d", i)
		switch {
		case !market.ValidInputName(in.Name):
			return &FormatError{at + "/name", "is not the name of an input"}
		case !digest.IsSHA256(in.SHA256):
			return &FormatError{at + "/sha256", "is not a SHA-256"}
		}
		if rows += len(in.Rows); rows > MaxInputRows {
			return &FormatError{"/data_slice/inputs", fmt.Sprintf("has more than %d rows", MaxInputRows)}
		}
	}
	return nil
}

// inputs finds the rows of the inputs to play with: the host's if it has all of them, else a store of
// those and of what the capsule has. It returns what to pin.
func (h *Host) inputs(ctx context.Context, p *production, refs []artifact.DataRef, r *Result,
	missing *MissingError) (map[market.Symbol]string, error) {
	p.inputs = h.Candles.Inputs()
	pins, rows, own := map[market.Symbol]string{}, map[string][]market.InputRow{}, false
	for _, ref := range refs {
		pins[market.Symbol(ref.Symbol)] = ref.SHA256
		stored, err := p.inputs.Open(ref.SHA256)
		if err != nil {
			held := p.capsule.DataSlice.input(ref)
			if held == nil {
				missing.What = append(missing.What, fmt.Sprintf("%s: %v", ref.Symbol, err))
				continue
			}
			own, p.short = true, p.short || held.Cut
			for _, row := range held.Rows {
				stored = append(stored, market.InputRow(row))
			}
			r.Remarks = append(r.Remarks, "the rows of the input "+held.Name+" are those of the capsule")
		}
		rows[ref.Symbol] = stored
	}
	if !own || len(missing.What) > 0 {
		return pins, nil
	}
	store, remove, err := ownStore(ctx, filepath.Join(h.StateDir, "tmp"))
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, remove, store.Close)
	p.inputs = store.Inputs()
	for _, ref := range refs {
		var text bytes.Buffer
		if err := importer.WriteInput(&text, rows[ref.Symbol]); err != nil {
			return nil, err
		}
		in, err := p.inputs.Import(ctx, candle.InputImport{Name: nameOf(ref),
			File: importer.Bytes(nameOf(ref)+".csv", text.Bytes())})
		if err != nil {
			return nil, fmt.Errorf("the input %s of the capsule: %w", nameOf(ref), err)
		}
		pins[market.Symbol(ref.Symbol)] = in.SHA256
	}
	return pins, nil
}

// input is what a slice has of an input, nil for nothing.
func (s *Slice) input(ref artifact.DataRef) *SliceInput {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.Inputs, func(in SliceInput) bool {
		return in.Name == nameOf(ref) && in.SHA256 == ref.SHA256 && len(in.Rows) > 0
	})
	if i < 0 {
		return nil
	}
	return &s.Inputs[i]
}
