package drive_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// reader looks back as it is told to.
type reader struct {
	lookback sdk.Lookback
	look     func(sdk.View)
}

func (r reader) Lookback() sdk.Lookback { return r.lookback }

func (r reader) OnCandle(v sdk.View) (sdk.Intents, error) {
	r.look(v)
	return nil, nil
}

// driven returns a function that makes a step of a strategy over the candles of a test, and the candles.
func driven(t testing.TB, r reader, extra ...string) (step func() error, series *market.Series) {
	t.Helper()
	series = candles(3000)
	series.Timeframe = market.MustTimeframe("1h")
	kept, err := drive.KeptBy(r)
	if err == nil {
		kept, err = kept.Within(sdk.Timeframes(extra...))
	}
	if err != nil {
		t.Fatal(err)
	}
	e := engine(t, series)
	a := drive.New(r, drive.Setup{Symbols: []market.Symbol{series.Symbol}, Timeframe: series.Timeframe,
		Kept: kept})
	feed := sim.NewSeriesFeed([]*market.Series{series})
	b := sim.Batch{Candles: make([]market.Candle, 1), Closed: make([]bool, 1)}
	return func() error {
		if more, err := feed.Next(&b); err != nil || !more {
			t.Fatal(more, err)
		}
		if err := e.Match(&b); err != nil {
			t.Fatal(err)
		}
		_, err := a.Decide(e)
		return err
	}, series
}

func TestHistory(t *testing.T) {
	var series *market.Series
	n := 0
	look := func(v sdk.View) {
		n++
		h := v.History(7)
		if h.Len() != min(n, 7) || v.Close(0) != v.Candle().Close || h.At(h.Len()-1) != v.Candle() ||
			v.Timeframe().String() != "1h" {
			t.Fatalf("at candle %d: %d in the history, %v, %+v", n, h.Len(), v.Close(0), v.Candle())
		}
		for i := range h.Len() {
			row := n - h.Len() + i
			want := series.At(row)
			if h.At(i) != want || h.Close(i) != want.Close || h.Open(i) != want.Open ||
				h.High(i) != want.High || h.Low(i) != want.Low || h.Volume(i) != want.Volume {
				t.Fatalf("at candle %d: candle %d is %+v", n, i, h.At(i))
			}
		}
		for _, column := range [][]float64{h.Opens(), h.Highs(), h.Lows(), h.Closes(), h.Volumes()} {
			if len(column) != h.Len() || cap(column) != len(column) {
				t.Fatalf("a column of %d and %d for %d candles", len(column), cap(column), h.Len())
			}
		}
		if got := v.Close(6); n < 7 != math.IsNaN(got) || n >= 7 && got != series.Close[n-7] {
			t.Fatalf("at candle %d: Close(6) is %v", n, got)
		}
	}
	step, s := driven(t, reader{sdk.Lookback{"": 7}, look})
	series = s
	for range 200 {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMoreThanLookback: what Lookback does not ask for ends the run, with the numbers.
func TestMoreThanLookback(t *testing.T) {
	for _, c := range []struct {
		look func(sdk.View)
		want string
	}{
		{func(v sdk.View) { v.History(8) }, "History(8) of 1h is more than Lookback asks for: 7"},
		{func(v sdk.View) { v.History(-1) }, "History(-1)"},
		{func(v sdk.View) { v.Close(7) }, "Close(7) is one of 8 candles of 1h, Lookback asks for 7"},
		{func(v sdk.View) { v.At("1d").History(3) }, "History(3) of 1d is more than Lookback asks for: 2"},
		{func(v sdk.View) { v.At("1d").Close(2) }, "Close(2) is one of 3 candles of 1d"},
		{func(v sdk.View) { v.At("1w").Close(1) }, "Close(1) is one of 2 candles of 1w, Lookback asks for 0"},
		{func(v sdk.View) { v.At("4h") }, `At("4h"): Spec.Extra does not list this timeframe, it has`},
		{func(v sdk.View) { _ = v.History(3).Close(1) }, "index out of range"},
	} {
		step, _ := driven(t, reader{sdk.Lookback{"": 7, "1d": 2}, c.look}, "1d", "1w")
		var failed *wire.Failure
		if err := step(); !errors.As(err, &failed) || failed.Code != wire.StrategyError ||
			!strings.Contains(failed.Message, c.want) {
			t.Errorf("want %s, got %v", c.want, err)
		}
	}
}

func TestBadLookback(t *testing.T) {
	for _, c := range []struct {
		lookback sdk.Lookback
		want     string
	}{
		{sdk.Lookback{"": -1}, `Lookback of "" is -1`},
		{sdk.Lookback{"day": 1}, "\"day\" is not a timeframe"},
		{sdk.Lookback{"1w": 1}, "the Lookback names 1w, which Spec.Extra does not list"},
	} {
		kept, err := drive.KeptBy(reader{lookback: c.lookback})
		if err == nil {
			_, err = kept.Within(sdk.Timeframes("1d"))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %s, got %v", c.want, err)
		}
	}
	kept, err := drive.Kept{}.With(sdk.Timeframes("1d")), error(nil)
	if err = kept.Check(market.MustTimeframe("5h")); err == nil ||
		!strings.Contains(err.Error(), "1d is no exact multiple of the run's timeframe 5h") {
		t.Error(err)
	}
}

// TestOwnTimeframeIsTheView: of an Extra that is the run's own timeframe At is the view itself.
func TestOwnTimeframeIsTheView(t *testing.T) {
	step, _ := driven(t, reader{sdk.Lookback{"1h": 3}, func(v sdk.View) {
		own := v.At("1h")
		if own.Candle() != v.Candle() || !own.Closed() || own.Close(2) != v.Close(2) && v.Index() > 1 ||
			own.History(3).Len() != v.History(3).Len() || own.Timeframe() != v.Timeframe() {
			t.Errorf("%+v differs from %+v", own.Candle(), v.Candle())
		}
	}}, "1h")
	for range 10 {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoAllocationPerCandleOfHistory(t *testing.T) {
	sum := 0.0
	step, _ := driven(t, reader{sdk.Lookback{"": 20, "1d": 5}, func(v sdk.View) {
		sum += v.Close(3) + v.History(20).Close(0) + v.At("1d").Close(4)
	}}, "1d")
	for range 500 {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, func() { _ = step() }); n != 0 {
		t.Errorf("%v allocations per candle", n)
	}
}
