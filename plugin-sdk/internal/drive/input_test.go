package drive_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// A value shows at the first step that closes when it is known or later, whether the steps come
// from a simulator or as messages; one that is known a millisecond after the close does not.
func TestInputsShowWhenTheyAreKnown(t *testing.T) {
	series := candles(40)
	series.Timeframe = market.MustTimeframe("1h")
	closes := series.CloseTime
	rows := []sdk.InputRow{
		{Time: 1, Known: closes(0) - 5000, Value: 1}, // before the run's first close
		{Time: 2, Known: closes(3), Value: 2},
		{Time: 3, Known: closes(5) + 1, Value: 3},
		{Time: 2, Known: closes(8) - 1, Value: 20}, // revised: not the newest time
		{Time: 3, Known: closes(9), Value: 30},     // the newest time, revised
	}
	want := func(step int) []float64 {
		switch {
		case step < 3:
			return []float64{1}
		case step < 6:
			return []float64{1, 2}
		case step < 8:
			return []float64{1, 2, 3}
		case step < 9:
			return []float64{1, 20, 3}
		}
		return []float64{1, 20, 30}
	}
	step := 0
	look := func(v sdk.View) {
		in := v.Input("rate")
		var got []float64
		for _, r := range in.History(10) {
			got = append(got, r.Value)
		}
		if w := want(step); !slices.Equal(got, w) || in.Value() != w[len(w)-1] {
			t.Errorf("step %d shows %v, want %v", step, got, w)
		}
		if k := in.Known(); k.After(v.Time()) {
			t.Errorf("step %d: known at %s, after the close at %s", step, k, v.Time())
		}
		if !math.IsNaN(v.Input("none").Value()) || !v.Input("none").Known().IsZero() ||
			!v.Input("none").Time().IsZero() || len(v.Input("none").History(3)) != 0 {
			t.Error("an input without rows has a value")
		}
		step++
	}
	setup := drive.Setup{Symbols: []market.Symbol{series.Symbol}, Timeframe: series.Timeframe,
		Inputs: []string{"rate", "none"}}
	simulated := drive.New(reader{look: look}, setup)
	simulated.ReadInputs([][]market.InputRow{rows, nil})
	if err := sim.Run(engine(t, series), sim.NewSeriesFeed([]*market.Series{series}), simulated); err != nil {
		t.Fatal(err)
	}
	if step != series.Len() {
		t.Fatalf("%d steps were seen", step)
	}
	step = 0
	stepwise, reading := drive.New(reader{look: look}, setup), market.NewInputReader(rows)
	for i := range series.Len() {
		in := &wire.Step{Index: int64(i), CloseTime: closes(i), Candles: []market.Candle{series.At(i)},
			Closed: []bool{true}, Positions: make([]sdk.Position, 1),
			Inputs: [][]market.InputRow{reading.Until(closes(i))}}
		if _, err := stepwise.DecideStep(in); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInputsThatAreNotThere(t *testing.T) {
	series := candles(3)
	for text, look := range map[string]func(sdk.View){
		"does not list this input": func(v sdk.View) { v.Input("other") },
		"0 to 10000 are possible":  func(v sdk.View) { v.Input("rate").History(10_001) },
	} {
		a := drive.New(reader{look: look}, drive.Setup{Symbols: []market.Symbol{series.Symbol},
			Timeframe: series.Timeframe, Inputs: []string{"rate"}})
		err := sim.Run(engine(t, series), sim.NewSeriesFeed([]*market.Series{series}), a)
		var f *wire.Failure
		if !errors.As(err, &f) || f.Code != wire.StrategyError || !strings.Contains(f.Message, text) {
			t.Errorf("got %v, want a failure that says %q", err, text)
		}
	}
}
