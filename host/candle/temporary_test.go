package candle_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// A temporary store answers like one with a catalogue, under any exchange, and leaves
// nothing but the files.
func TestTemporary(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	hour, four := market.MustTimeframe("1h"), market.MustTimeframe("4h")
	first := sdktest.Synth(1, 500, y2020.Time(), time.Hour)
	first.Symbol = "BTC/USDT"
	second := sdktest.Synth(2, 300, y2020.Time(), time.Hour)
	second.Symbol = "ETH/USDT"
	step := decimal.MustParse("0.5")
	sets := []candle.PutRequest{{Exchange: "sample", Series: first, PriceStep: step,
		Calendar: candle.Weekdays}, {Exchange: "sample", Series: second}}
	s, err := candle.Temporary(ctx, dir, sets)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := s.Lookup(ctx, "sample", "BTC/USDT", hour)
	if err != nil || d.Rows != 500 || d.PriceStep != step || d.Calendar != candle.Weekdays || !d.Current {
		t.Fatalf("%+v, %v", d, err)
	}
	f, err := s.OpenSeries(d)
	if err != nil || f.SHA256() != d.SHA256 || !slices.Equal(f.Series().Close, first.Close) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if same, err := s.Pinned(ctx, "sample", "BTC/USDT", hour, d.SHA256); err != nil || same.ID != d.ID {
		t.Errorf("%+v, %v", same, err)
	}
	if _, err := s.Pinned(ctx, "sample", "ETH/USDT", hour, d.SHA256); err == nil {
		t.Error("a hash of another symbol is found")
	}
	if wide, err := s.Lookup(ctx, "sample", "ETH/USDT", four); err != nil || wide.DerivedFrom == "" {
		t.Errorf("%+v, %v", wide, err)
	}
	var none *candle.NotFoundError
	if _, err := s.Lookup(ctx, "other", "BTC/USDT", hour); !errors.As(err, &none) ||
		none.What != "exchange" || !slices.Equal(none.Have, []string{"sample"}) {
		t.Error(err)
	}
	if again, err := s.Put(ctx, candle.PutRequest{Exchange: "other", Series: second}); err != nil ||
		!again.Current {
		t.Error(err)
	}
	list, err := s.List(ctx)
	if err != nil || len(list) != 4 {
		t.Errorf("%d datasets, %v", len(list), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 { // equal candles are one file
		t.Errorf("%d files, %v", len(entries), err)
	}
	if _, err := candle.Temporary(ctx, t.TempDir(),
		[]candle.PutRequest{{Exchange: "sample", Series: &market.Series{}}}); err == nil {
		t.Error("no candles are stored")
	}
}

// Of one series the newest candles are the current ones, here as in a catalogue.
func TestTemporaryReplaces(t *testing.T) {
	ctx := context.Background()
	old, young := sdktest.Synth(1, 50, y2020.Time(), time.Hour), sdktest.Synth(2, 50, y2020.Time(), time.Hour)
	old.Symbol, young.Symbol = "A/B", "A/B"
	s, err := candle.Temporary(ctx, t.TempDir(),
		[]candle.PutRequest{{Exchange: "x", Series: old}, {Exchange: "x", Series: young},
			{Exchange: "x", Series: young}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Lookup(ctx, "x", "A/B", market.MustTimeframe("1h"))
	list, lerr := s.List(ctx)
	if err != nil || lerr != nil || len(list) != 2 {
		t.Fatal(len(list), err, lerr)
	}
	f, err := s.OpenSeries(d)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !slices.Equal(f.Series().Open, young.Open) {
		t.Error("the older candles are current")
	}
}
