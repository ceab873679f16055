package v1

import (
	"net/http/httptest"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestChooseSeries: a name and a symbol find the series of the symbol, else that of the run; a name that
// several symbols have asks for one.
func TestChooseSeries(t *testing.T) {
	of := func(name string, symbol market.Symbol, value float64) artifact.Annotation {
		return artifact.Annotation{Name: name, Symbol: symbol, Time: []market.Time{1},
			Values: []float64{value}}
	}
	all := library.Published{Symbols: []string{"A/X", "B/X", "C/X"}}
	all.Annotations = []artifact.Annotation{of("rsi", "A/X", 1), of("rsi", "B/X", 2), of("best", "", 3),
		of("both", "B/X", 4), of("both", "", 5)}
	for query, want := range map[string]struct {
		value   float64 // 0: no points
		pointer string  // of a refusal
	}{
		"name=rsi&symbol=A/X":  {value: 1},
		"name=rsi&symbol=B/X":  {value: 2},
		"name=rsi&symbol=C/X":  {},
		"name=rsi":             {pointer: "/query/symbol"},
		"name=best":            {value: 3},
		"name=best&symbol=C/X": {value: 3},
		"name=both":            {value: 5},
		"name=both&symbol=B/X": {value: 4},
		"name=none":            {pointer: "/query/name"},
		"name=":                {pointer: "/query/name"},
	} {
		q := readQuery(httptest.NewRequest("GET", "/?"+query, nil), "name", "symbol")
		s, found := choose(q, all)
		if want.pointer != "" {
			if found || len(q.bad) != 1 || q.bad[0].Pointer != want.pointer {
				t.Errorf("%s: %v, %+v, want a refusal of %s", query, found, q.bad, want.pointer)
			}
		} else if !found || len(s.Values) != min(1, int(want.value)) ||
			want.value > 0 && s.Values[0] != want.value {
			t.Errorf("%s: %+v, %v, want %v", query, s, found, want.value)
		}
	}
	one := library.Published{Symbols: []string{"A/X"}}
	one.Annotations = all.Annotations[:1]
	q := readQuery(httptest.NewRequest("GET", "/?name=rsi", nil), "name")
	if s, found := choose(q, one); !found || len(s.Values) != 1 {
		t.Errorf("the series of the only symbol: %+v, %v", s, found)
	}
}
