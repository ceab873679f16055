package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/sim/simtest"
)

// hours is a series with candles that open at these hours.
func hours(symbol market.Symbol, timeframe string, at ...int) *market.Series {
	s := &market.Series{Symbol: symbol, Timeframe: market.MustTimeframe(timeframe)}
	for _, h := range at {
		s.Append(market.Candle{OpenTime: simtest.Start + market.Time(h)*3600_000, Open: float64(h),
			High: float64(h), Low: float64(h), Close: float64(h)})
	}
	return s
}

// steps writes a feed as the hours of each step's close and its candles.
func stepsOf(t *testing.T, series ...*market.Series) string {
	t.Helper()
	b := sim.Batch{Candles: make([]market.Candle, len(series)), Closed: make([]bool, len(series))}
	feed := sim.NewSeriesFeed(series)
	var out []string
	for {
		more, err := feed.Next(&b)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return strings.Join(out, " ")
		}
		text := fmt.Sprint(int64(b.CloseTime-simtest.Start)/3600_000, ":")
		for i := range series {
			if b.Closed[i] {
				if b.Candles[i].CloseTime != b.CloseTime {
					t.Fatalf("a candle that closes at %s in a step at %s", b.Candles[i].CloseTime,
						b.CloseTime)
				}
				text += fmt.Sprint(string(rune('a'+i)), b.Candles[i].Open)
			}
		}
		out = append(out, text)
	}
}

func TestSeriesFeed(t *testing.T) {
	for _, c := range []struct {
		what   string
		series []*market.Series
		want   string
	}{
		{"one symbol", []*market.Series{hours("A/X", "1h", 0, 1, 5)}, "1:a0 2:a1 6:a5"},
		{"two symbols with gaps", []*market.Series{hours("A/X", "1h", 0, 1, 5), hours("B/X", "1h", 1, 2, 5)},
			"1:a0 2:a1b1 3:b2 6:a5b5"},
		{"one after the other", []*market.Series{hours("A/X", "1h", 7, 8), hours("B/X", "1h", 1)},
			"2:b1 8:a7 9:a8"},
		{"an empty one", []*market.Series{hours("A/X", "1h"), hours("B/X", "1h", 1)}, "2:b1"},
		{"nothing", []*market.Series{hours("A/X", "1h")}, ""},
		{"nothing twice", []*market.Series{hours("A/X", "1h"), hours("B/X", "1h")}, ""},
		{"a short day", []*market.Series{hours("A/X", "1d", 0, 23, 47)}, "23:a0 47:a23 71:a47"},
		{"short days of one symbol only",
			[]*market.Series{hours("A/X", "1d", 0, 23), hours("B/X", "1d", 0, 24)},
			"23:a0 24:b0 47:a23 48:b24"},
		{"months", []*market.Series{hours("A/X", "1M", 0, 31*24)}, "744:a0 1440:a744"},
		{"months of two", []*market.Series{hours("A/X", "1M", 0), hours("B/X", "1M", 0)}, "744:a0b0"},
	} {
		if got := stepsOf(t, c.series...); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if n := sim.Steps(c.series); n != int64(len(strings.Fields(c.want))) {
			t.Errorf("%s: %d steps counted", c.what, n)
		}
	}
}

// TestOneOfTwoRunsLikeOneAlone: a second symbol that is never traded changes nothing.
func TestOneOfTwoRunsLikeOneAlone(t *testing.T) {
	s := sdktest.Synth(42, 3000, synthStart, time.Hour)
	other := sdktest.Synth(43, 3000, synthStart, time.Hour)
	other.Symbol = "OTHER/USD"
	var alone, both journal
	runSeries(t, s, 10000, options(t, ""), &limitEntry{}, &alone)
	cfg := config(t, s.Symbol, other.Symbol)
	cfg.Options = options(t, "")
	e := engine(t, cfg, &both)
	if err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{s, other}),
		&ownCandles{d: &limitEntry{}}); err != nil {
		t.Fatal(err)
	}
	if len(alone.trades) == 0 || len(alone.trades) != len(both.trades) {
		t.Fatalf("%d and %d trades", len(alone.trades), len(both.trades))
	}
	for i := range alone.trades {
		if a, b := alone.trades[i], both.trades[i]; a.PnL != b.PnL || a.ExitTime != b.ExitTime ||
			a.MAE != b.MAE || a.MFE != b.MFE {
			t.Fatalf("%+v\n%+v", a, b)
		}
	}
}

// ownCandles asks only where the first symbol has a candle.
type ownCandles struct{ d sim.Decider }

func (o *ownCandles) Decide(e *sim.Engine) ([]market.Intent, error) {
	if !e.Closed(0) {
		return nil, nil
	}
	return o.d.Decide(e)
}

// TestCandleThatOpenedBefore: on a day that is short for one symbol only, the other
// one's candle has opened already when the decision is taken.
func TestCandleThatOpenedBefore(t *testing.T) {
	a, b := hours("A/USD", "1d", 0, 23), hours("B/USD", "1d", 0, 24)
	for i := range a.Time {
		a.Open[i], a.High[i], a.Low[i], a.Close[i] = 1, 1, 1, 1
		b.Open[i], b.High[i], b.Low[i], b.Close[i] = 1, 1, 1, 1
	}
	var j journal
	e := engine(t, config(t, "A/USD", "B/USD"), &j)
	if err := sim.Run(e, sim.NewSeriesFeed([]*market.Series{a, b}), &buyBoth{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range j.fills {
		if want := map[market.Symbol]market.Time{"A/USD": a.Time[1],
			"B/USD": b.Time[1]}[f.Symbol]; f.Time != want {
			t.Errorf("%s fills on the candle of %s, want %s", f.Symbol, f.Time, want)
		}
	}
	if len(j.fills) != 2 {
		t.Errorf("%d fills", len(j.fills))
	}
}

// buyBoth buys one of each at the first step.
type buyBoth struct{}

func (buyBoth) Decide(e *sim.Engine) ([]market.Intent, error) {
	if e.Step() > 0 {
		return nil, nil
	}
	a, b := buy(1), buy(1)
	a.Symbol, b.Symbol = "A/USD", "B/USD"
	return []market.Intent{a, b}, nil
}
