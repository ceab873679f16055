package trade

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// errPulled is a run that ends without writing it down, as a crash would.
var errPulled = errors.New("the plug was pulled")

// TestInterruptedRunIsReadBack cuts a run and reads from the journal what it had.
func TestInterruptedRunIsReadBack(t *testing.T) {
	d := newTestHost(t, 400, "randomly")
	req := request("randomly", map[string]any{"seed": 5},
		`{"candles_per_second":200,"start":"2020-01-03T00:00:00Z"}`, one, two)
	x := d.launch(req)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		for x.Progress().Fills < 10 {
			time.Sleep(2 * time.Millisecond)
		}
		cancel(errPulled)
	}()
	stop := x.plugin.Watch(ctx)
	defer stop()
	if err := x.beginJournal(); err != nil {
		t.Fatal(err)
	}
	_ = x.paper.runTrading(ctx) // and nobody writes the end
	x.plugin.Close("test")
	want := x.Results()
	rep, cleared, err := d.launcher.Interrupted(t.Context())
	if err != nil || rep == nil {
		t.Fatal(rep, err)
	}
	s := rep.Snapshot
	if s.RunID != x.runID || s.Mode != runner.ModePaper || s.Failure.Code != runner.CodeRunInterrupted ||
		s.Failure.Phase == "" {
		t.Errorf("%+v %+v", s, s.Failure)
	}
	for _, part := range []struct {
		name      string
		got, want any
	}{
		{"fills", rep.Results.Fills, want.Fills}, {"trades", rep.Results.Trades, want.Trades},
		{"equity", rep.Results.Equity, want.Equity}, {"final value", rep.Results.FinalValue, want.FinalValue},
	} {
		if !reflect.DeepEqual(part.got, part.want) {
			t.Errorf("%s: %v, want %v", part.name, part.got, part.want)
		}
	}
	if err := cleared(); err != nil {
		t.Fatal(err)
	}
	if rep, _, err = d.launcher.Interrupted(t.Context()); rep != nil || err != nil {
		t.Errorf("after the reset: %v %v", rep, err)
	}
}

func TestIntentsReadBack(t *testing.T) {
	number := rapid.Float64Range(-1e12, 1e12)
	child := rapid.Custom(func(t *rapid.T) *market.Child {
		if rapid.Bool().Draw(t, "none") {
			return nil
		}
		return &market.Child{Price: number.Draw(t, "p"), Percent: number.Draw(t, "q"),
			TrailPercent: number.Draw(t, "r"), TrailAmount: number.Draw(t, "s"),
			TightenTo: number.Draw(t, "to"), TightenAfter: number.Draw(t, "after")}
	})
	rapid.Check(t, func(t *rapid.T) {
		in := market.Intent{
			Action: market.Action(rapid.IntRange(0, 4).Draw(t, "action")),
			Symbol: market.Symbol(rapid.SampledFrom([]string{"", one}).Draw(t, "symbol")),
			Side:   market.Side(rapid.IntRange(0, 1).Draw(t, "side")),
			Type:   market.OrderType(rapid.IntRange(0, 4).Draw(t, "type")),
			Size: market.Size{Kind: market.SizeKind(rapid.IntRange(0, 7).Draw(t, "kind")),
				Value: number.Draw(t, "size")},
			LimitPrice: number.Draw(t, "limit"), StopPrice: number.Draw(t, "stop"),
			TrailPercent: number.Draw(t, "trail"),
			TimeInForce:  market.TimeInForce(rapid.IntRange(0, 2).Draw(t, "tif")),
			ExpireAfter:  rapid.IntRange(0, 9).Draw(t, "expire"),
			ReduceOnly:   rapid.Bool().Draw(t, "reduce"), StopLoss: child.Draw(t, "stop loss"),
			TakeProfit: child.Draw(t, "take profit"),
			Tag:        rapid.String().Draw(t, "tag"), ClientRef: "r",
			Ref: rapid.SampledFrom([]string{"", "o-000001"}).Draw(t, "ref"),
		}
		text, err := json.Marshal([]market.Intent{in})
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeIntents(journal.Version, string(text))
		if err != nil || !reflect.DeepEqual(got, []market.Intent{in}) {
			t.Fatalf("%+v %v, want %+v", got, err, in)
		}
	})
}

func FuzzIntent(f *testing.F) {
	f.Add(1, []byte(
		`[{"action":"submit","side":"buy","type":"market","size_kind":"quantity","size":1,"time_in_force":"gtc"}]`))
	f.Add(1, []byte(`[{"action":"submit","side":"buy","type":"market","size_kind":"","size":1e400}]`))
	f.Add(2, []byte(
		`[{"action":"submit","side":"buy","type":"market","size":{"kind":"quantity","value":1},"time_in_force":"gtc"}]`))
	f.Add(2, []byte(`[{"action":"submit","side":"buy","type":"market","size":{"kind":7}},null]`))
	f.Fuzz(func(t *testing.T, version int, text []byte) {
		intents, err := decodeIntents(version, string(text))
		if err != nil {
			return
		}
		for _, in := range intents {
			if math.IsNaN(in.Size.Value) || math.IsInf(in.Size.Value, 0) {
				t.Error("a number that is none")
			}
		}
		if _, err := json.Marshal(intents); err != nil {
			t.Errorf("%s was taken and cannot be written: %v", text, err)
		}
	})
}

// TestIntentsWithLargeNumbers: canonical JSON has no whole number beyond 2^53, and intents with one come
// back all the same.
func TestIntentsWithLargeNumbers(t *testing.T) {
	for _, size := range []float64{0.1, 1 << 53, 1e17, 1e300} {
		want := []market.Intent{{Symbol: "BTC/USDT", Type: market.Limit, LimitPrice: 5,
			Size: market.Size{Kind: market.SizeQuantity, Value: size}}}
		row, err := json.Marshal(intentsEntry(7, want).Data)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := digest.CanonicalJSON(row)
		if err != nil {
			t.Fatalf("%v: %v", size, err)
		}
		r := &recording{intents: map[int64][]market.Intent{}}
		if err := r.entry(journal.Entry{Kind: logIntents, Data: json.RawMessage(stored),
			Version: journal.Version}); err != nil {
			t.Fatal(err)
		}
		if got := r.intents[7]; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
