package request

import (
	"bytes"
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var update = flag.Bool("update", false, "rewrite golden files")

// aReplayed has one of everything.
func aReplayed() *Replayed {
	r := &Replayed{Results: &artifact.Results{DecisionHash: "ab", InitialCash: "10000", FinalValue: "9000.50",
		Fills:  []market.Fill{{ID: 1, Symbol: "BTC/USDT", Price: decimal.MustParse("1.50"), Time: 1_600_000_000_000}},
		Trades: []market.Trade{{ID: 1, Symbol: "BTC/USDT", PnL: decimal.MustParse("-1"), OrderIDs: []market.OrderID{1}}}},
		Trades: 1, Books: true, Metrics: metric.Values{{Key: "sharpe_ratio", Reason: metric.TooFewReturns}},
		Lines: []byte("{}\n"), Lead: 3, Short: 1, Sandbox: "full",
		Failure:   &artifact.Failure{Code: "STRATEGY_ERROR", CandleTime: 1_600_000_000_000},
		Published: run.Published{Series: map[string]run.Points{"a": {Time: []market.Time{1}, Values: []float64{2}}}}}
	r.Input = metric.Input{Timeframe: market.Timeframe{Count: 1, Unit: 'h'}, Calendar: metric.Calendar24x7,
		Curves: []metric.Curve{{OpenTime: []market.Time{1, 2}, CloseTime: []market.Time{2, 3},
			Equity: []float64{1, -1}, Exposure: []float64{0, math.Inf(1)},
			Closes: []metric.Closes{{Symbol: "BTC/USDT", First: 1, Last: 2}}}}}
	r.Input.Totals.FillNotional.Add(decimal.MustParse("-12.5"))
	return r
}

// TestReplayedFile holds the form in which a replay travels.
func TestReplayedFile(t *testing.T) {
	files, err := aReplayed().Pack()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "replayed.golden.json")
	if *update {
		if err := os.WriteFile(path, files[replayedName], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(files[replayedName], want) {
		t.Errorf("%v\n%s, not\n%s", err, files[replayedName], want)
	}
	back, err := UnpackReplayed(files)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.Pack()
	if err != nil || !maps.EqualFunc(files, again, bytes.Equal) {
		t.Errorf("%v\n%s, not\n%s", err, again[replayedName], files[replayedName])
	}
	if x := back.Input.Totals.FillNotional.Float64(); x != -12.5 || !math.IsInf(back.Input.Curves[0].Exposure[1], 1) {
		t.Errorf("%+v", back.Input)
	}
	text := string(files[replayedName])
	for _, bad := range []string{"", "{}", strings.Replace(text, "replayed/v1", "replayed/v9", 1),
		strings.Replace(text, `"open_time":"`, `"open_time":"AAAAAAAAAAA`, 1),
		strings.Replace(text, `"timeframe":"1h"`, `"timeframe":"h"`, 1)} {
		files[replayedName] = []byte(bad)
		if _, err := UnpackReplayed(files); err == nil {
			t.Errorf("%.60q was read", bad)
		}
	}
}

// FuzzUnpackReplayed: what is read can be written, and says the same then.
func FuzzUnpackReplayed(f *testing.F) {
	files, err := aReplayed().Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(files[replayedName], files[whereaboutsName])
	f.Fuzz(func(t *testing.T, text, where []byte) {
		r, err := UnpackReplayed(map[string][]byte{replayedName: text, whereaboutsName: where})
		if err != nil {
			return
		}
		one, err := r.Pack()
		if err != nil {
			t.Skip(err) // a decimal or a time that no run has
		}
		back, err := UnpackReplayed(one)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := SameReplay(r, back); err != nil || !same {
			t.Fatal("it is another one", err)
		}
	})
}
