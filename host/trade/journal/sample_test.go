package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const hour = 3600_000

var start = market.FromTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))

func fixedNow() time.Time { return start.Time() }

func openAt(t testing.TB, dir string) *Opened {
	t.Helper()
	o, err := Open(t.Context(), dir, Options{Now: fixedNow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func dec(text string) decimal.Decimal { return decimal.MustParse(text) }

// cents returns a decimal without zeros at its end, as the journal gives it back.
func cents(n, scale int) decimal.Decimal { return decimal.MustNew(int64(n), scale).Trim(0) }

func sampleInfo(n int) Info {
	return Info{
		RunID: fmt.Sprintf("svc_%026d", n), RunTag: fmt.Sprintf("t%05d", n), Mode: Live, Exchange: "binance",
		AccountID: "acc",
		Symbols:   []market.Symbol{"BTC/USDT", "ETH/USDT"}, Timeframe: market.MustTimeframe("1h"),
		Request:        json.RawMessage(`{"mode":"live","exchange_config":{"secret":"[redacted]"}}`),
		StrategySHA256: "ab",
		Risk:           json.RawMessage(`{"price_collar":0.05}`),
	}
}

func begin(t testing.TB, j *Journal, n int) *Run {
	t.Helper()
	r, err := j.Begin(t.Context(), sampleInfo(n))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func clientID(run, seq int) string { return fmt.Sprintf("as%06d%010d", run, seq) }

// The rows of step i: everything follows from i, so that a reader can tell what must be
// there.
func sampleCandle(i int) Candle {
	open := start.Add(time.Duration(i) * time.Hour)
	p := 100 + float64(i%997)/100
	return Candle{Symbol: "BTC/USDT", Step: int64(i), Source: Stream,
		Candle: market.Candle{OpenTime: open, CloseTime: open.Add(time.Hour), Open: p, High: p + 1,
			Low: p - 1, Close: p + 0.25, Volume: float64(i%31) * 0.1}}
}

func sampleEquity(i int) Equity {
	return Equity{At: start.Add(time.Duration(i+1) * time.Hour), Equity: cents(1000000+i, 2),
		Cash: cents(900000+i, 2)}
}

func sampleIntent(run, i int) Intent {
	return Intent{Seq: int64(i + 1), ClientOrderID: clientID(run, i+1), Step: int64(i), Symbol: "BTC/USDT",
		Body:      json.RawMessage(fmt.Sprintf(`{"quantity":"0.%03d","side":"buy"}`, i%1000)),
		CreatedAt: start.Add(time.Duration(i) * time.Hour)}
}

func sampleEvent(run, i int, kind order.State) Event {
	return Event{ClientOrderID: clientID(run, i+1), Kind: string(kind), Source: "reply", Outcome: "ACCEPTED",
		VenueOrderID: fmt.Sprint(7000 + i),
		CumQuantity:  cents(i%1000, 3), RawSHA256: "cd",
		At: start.Add(time.Duration(i)*time.Hour + time.Second)}
}

func sampleFill(run, i int) Fill {
	return Fill{Symbol: "BTC/USDT", TradeID: fmt.Sprintf("%d-%d", run, i), ClientOrderID: clientID(run, i+1),
		Side:     market.Buy,
		Quantity: cents(i%1000+1, 3), Price: cents(10000+i, 2), Fee: dec("0.001"), FeeAsset: "BNB",
		Liquidity: market.Maker, Time: start.Add(time.Duration(i)*time.Hour + 2*time.Second)}
}

// operations are the commits of one step, in order.
const operations = 5

// operate does operation k of step i of a run.
func operate(ctx context.Context, r *Run, run, i, k int) error {
	switch k {
	case 0:
		return r.Step(ctx, int64(i), []Candle{sampleCandle(i)}, []Equity{sampleEquity(i)})
	case 1:
		return r.Intent(ctx, sampleIntent(run, i))
	case 2:
		return r.Events(ctx, sampleEvent(run, i, order.Sent), sampleEvent(run, i, order.Open))
	case 3:
		_, err := r.Fill(ctx, sampleFill(run, i), sampleEvent(run, i, order.Filled))
		return err
	default:
		return r.Log(ctx, "alarm", map[string]any{"code": "LATE_FILL", "i": i})
	}
}

func fill(t testing.TB, r *Run, run, steps int) {
	t.Helper()
	for i := range steps {
		for k := range operations {
			if err := operate(t.Context(), r, run, i, k); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Step writes the candles of a step with the account before it, which must be on disk
// before the strategy is asked. It sets Step of the candles.
func (r *Run) Step(ctx context.Context, step int64, candles []Candle, equity []Equity,
	entries ...Entry) error {
	candles = slices.Clone(candles)
	for i := range candles {
		candles[i].Step = step
	}
	_, err := r.Commit(ctx, Batch{Candles: candles, Equity: equity, Entries: entries})
	return err
}
