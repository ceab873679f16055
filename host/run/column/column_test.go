package column_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/assay-run/assay/host/run/column"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

func close0() *strategypb.Source { return &strategypb.Source{Field: 4} }

// TestColumns: a column has the values of the indicator at the steps that feed it, and what a host cannot
// compute is left to the strategy.
func TestColumns(t *testing.T) {
	c, err := column.New([]*strategypb.Indicator{
		{Name: "New", Args: []float64{1}, Sources: []*strategypb.Source{close0()}},
		{Name: "SMA", Args: []float64{2.5}, Sources: []*strategypb.Source{close0()}},
		{Name: "SMA", Args: []float64{2, 3}, Sources: []*strategypb.Source{close0()}},
		{Name: "KAMA", Args: []float64{10, 30, 2}, Sources: []*strategypb.Source{close0()}},
		{Name: "ATR", Args: []float64{2}, Sources: []*strategypb.Source{close0()}},
		{Name: "SMA", Args: []float64{3}, Sources: []*strategypb.Source{{Symbol: 1, Field: 2}}},
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if c.Lines() != 1 {
		t.Fatalf("%d lines", c.Lines())
	}
	candles, want := make([]market.Candle, 2), indicator.NewSMA(3)
	for chunk := range 3 {
		var values []float64
		for i := range 10 {
			candles[1].High = float64(chunk*10+i) * 1.1
			closed := []bool{true, i%3 != 0}
			c.Add(candles, closed)
			if closed[1] {
				if want.Add(candles[1].High); want.Ready() {
					values = append(values, want.Value())
				}
			}
		}
		list := c.Message()
		if len(list) != 1 || list[0].Indicator != 5 || len(list[0].Lines) != 1 {
			t.Fatalf("%v", list)
		}
		line := list[0].Lines[0]
		if got := len(line.Values) / 8; got != len(values) || (len(line.Present) > 0) != (chunk == 0) {
			t.Fatalf("chunk %d has %d values, want %d; present %v", chunk, got, len(values), line.Present)
		}
		for i, x := range values {
			if got := binary.LittleEndian.Uint64(line.Values[8*i:]); got != math.Float64bits(x) {
				t.Errorf("value %d is %g, want %g", i, math.Float64frombits(got), x)
			}
		}
	}
	if _, err := column.New([]*strategypb.Indicator{{Name: "SMA", Args: []float64{2},
		Sources: []*strategypb.Source{{Symbol: 2, Field: 4}}}}, 2); err == nil ||
		err.Error() != "indicators[0].sources[0].symbol: 2 is none of 2 symbols" {
		t.Error(err)
	}
	if _, err := column.New(make([]*strategypb.Indicator, column.MaxIndicators+1), 2); err == nil {
		t.Error("65 indicators are taken")
	}
}

// TestEveryIndicator: the host makes all that the tests of the Python package compare, with as many lines.
func TestEveryIndicator(t *testing.T) {
	text, err := os.ReadFile("../../../plugin-sdk/python/tests/golden/indicators.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Name, Feed string
			Args       []any
			Parts      []string
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	for _, g := range golden.Cases {
		name, _, _ := strings.Cut(g.Name, "/")
		a, lines := &strategypb.Indicator{Name: name, Sources: []*strategypb.Source{close0()}}, 1+len(g.Parts)
		for _, arg := range g.Args {
			switch arg := arg.(type) {
			case float64:
				a.Args = append(a.Args, arg)
			case string:
				if a.Shape = arg; arg == "day" {
					a.Args, a.Shape = append(a.Args, 86_400_000), ""
				}
			}
		}
		switch g.Feed {
		case "candle":
			a.Sources[0].Field = 0
		case "pair":
			a.Sources = append(a.Sources, close0())
		}
		if name == "HeikinAshi" {
			lines++ // the volume of its bar
		}
		c, err := column.New([]*strategypb.Indicator{a}, 1)
		if err != nil || c.Lines() != lines {
			t.Errorf("%s has %d lines, want %d: %v", g.Name, c.Lines(), lines, err)
		}
	}
}

// Whatever a strategy asks for, it gets columns or an error.
func FuzzColumns(f *testing.F) {
	seed, err := proto.Marshal(&strategypb.Ready{Indicators: []*strategypb.Indicator{
		{Name: "Pattern", Shape: "hammer", Sources: []*strategypb.Source{{}}},
		{Name: "Beta", Args: []float64{5}, Sources: []*strategypb.Source{close0(), {Symbol: 1, Field: 1}}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, text []byte) {
		p := &strategypb.Ready{}
		if proto.Unmarshal(text, p) != nil {
			return
		}
		c, err := column.New(p.GetIndicators(), 2)
		if err != nil {
			return
		}
		for i := range 20 {
			x := 1 + float64(i%7)
			candle := market.Candle{OpenTime: market.Time(i), Open: x, High: x + 1, Low: x / 2, Close: x,
				Volume: x}
			c.Add([]market.Candle{candle, candle}, []bool{true, i%2 == 0})
		}
		lines := 0
		for _, m := range c.Message() {
			lines += len(m.Lines)
		}
		if lines != c.Lines() {
			t.Errorf("%d lines of %d", lines, c.Lines())
		}
	})
}
