package capsule

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// storedInput is a store with an input of n hourly rows, and what a request pins of it.
func storedInput(t *testing.T, n int) (*candle.Store, artifact.DataRef) {
	t.Helper()
	store, remove, err := ownStore(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	const hour = 3_600_000
	var rows []market.InputRow
	for i := range n {
		at := market.Time(1_600_000_000_000 + i*hour)
		rows = append(rows, market.InputRow{Time: at, Known: at + hour, Value: float64(i) / 7})
	}
	var text bytes.Buffer
	if err := importer.WriteInput(&text, rows); err != nil {
		t.Fatal(err)
	}
	in, err := store.Inputs().Import(context.Background(), candle.InputImport{Name: "funding",
		File: importer.Bytes("funding.csv", text.Bytes())})
	if err != nil {
		t.Fatal(err)
	}
	return store, artifact.DataRef{Symbol: string(candle.InputSymbol("funding")), SHA256: in.SHA256}
}

// TestInputsOfACapsule: the rows that were known at the failure come along as text, and where the store has
// none any more they are what is played with.
func TestInputsOfACapsule(t *testing.T) {
	store, ref := storedInput(t, 3000)
	all, err := store.Inputs().Open(ref.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		at   market.Time
		want []market.InputRow
		cut  bool
	}{
		"before the first": {all[0].Known - 1, all[:1], false},
		"at a row":         {all[9].Known, all[:10], false},
		"many":             {all[2999].Known, all[1000:], true},
	} {
		slice := &Slice{}
		if slice.Inputs, err = cutInputs(store.Inputs(), []artifact.DataRef{ref}, c.at); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(slice)
		if err != nil {
			t.Fatal(err)
		}
		again := &Slice{}
		if err := json.Unmarshal(text, again); err != nil || !reflect.DeepEqual(again.Inputs, slice.Inputs) {
			t.Fatalf("%s: %v", name, err)
		}
		empty, _ := storedInput(t, 1)
		h := &Host{StateDir: t.TempDir(), Candles: empty}
		p, r, missing := &production{capsule: &Capsule{DataSlice: again}}, &Result{}, &MissingError{}
		pins, err := h.inputs(t.Context(), p, []artifact.DataRef{ref}, r, missing)
		if err != nil || len(missing.What) > 0 || len(r.Remarks) != 1 || p.short != c.cut {
			t.Fatalf("%s: %v, %v, %v, cut short %t", name, err, missing.What, r.Remarks, p.short)
		}
		got, err := p.inputs.Open(pins[market.Symbol(ref.Symbol)])
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %d rows, want %d, %v", name, len(got), len(c.want), err)
		}
		p.log = nil
		for i := len(p.closers) - 1; i >= 0; i-- {
			if err := p.closers[i](); err != nil {
				t.Error(err)
			}
		}
		again.drop()
		if _, err = h.inputs(t.Context(), p, []artifact.DataRef{ref}, r, missing); err != nil ||
			len(missing.What) != 1 || !strings.Contains(missing.What[0], "input:funding") {
			t.Errorf("%s: without rows: %v, %v", name, missing.What, err)
		}
	}
}

// TestInputsThatAreNone: a capsule may come from anywhere.
func TestInputsThatAreNone(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	for want, in := range map[string]SliceInput{
		"/name":   {Name: "../x", SHA256: sum},
		"/sha256": {Name: "x", SHA256: "ab"},
		"/inputs": {Name: "x", SHA256: sum, Rows: make([]InputRow, MaxInputRows+1)},
	} {
		s := &Slice{Inputs: []SliceInput{in}}
		if err := s.checkInputs(); err == nil || !strings.HasSuffix(err.Pointer, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, text := range []string{`{}`, `[1,2]`, `[1,2,3]`, `[1,2,"x"]`, `[1,2,"NaN"]`, `["1",2,"3"]`} {
		if err := json.Unmarshal([]byte(text), &InputRow{}); err == nil {
			t.Errorf("%s is a row", text)
		}
	}
}
