package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// canary is the equity that the locked test of a run ends with.
const canary = 98765.4321

// AddRun stores a run, as change makes it; one whose id begins with run_ has a validation and a locked test.
func AddRun(t testing.TB, store *artifact.Store, runs *registry.Registry, id string, seed int,
	change ...func(*artifact.Manifest, *artifact.Run)) {
	t.Helper()
	closes := []market.Time{1704070800000, 1704074400000, 1704078000000, 1704081600000}
	m := artifact.Manifest{
		Request: artifact.Request{StrategyParams: json.RawMessage(`{"fast":3}`),
			Symbols: []string{"BTC/USDT"}, Timeframe: "1h", Exchange: "sample",
			InitialCash: json.RawMessage("10000"), Seed: string(rune('0' + seed))},
		Splits:   artifact.FullSplit(slices.Values(closes)),
		Strategy: artifact.Strategy{Name: "<script>", Version: "1.0.0", Slug: "sma_cross"},
	}
	run := &artifact.Run{ID: id, Status: artifact.StatusCompleted, Origin: artifact.OriginService,
		StartedAt:   time.UnixMilli(1795000000000),
		CompletedAt: time.UnixMilli(1795000000000 + int64(seed)*1000),
		Service:     &artifact.ServiceNote{Mode: "backtest"},
		Splits:      []artifact.Split{{ID: artifact.FullSplitID, Results: picture(10000)}}}
	if strings.HasPrefix(id, "run_") {
		full := m.Splits.Splits[0]
		validation, test := full, full
		validation.ID, validation.Role = "validation", "validation"
		validation.To, validation.TSTo = 2, closes[1]
		test.ID, test.Role, test.From, test.TSFrom = "test", "test", 2, closes[2]
		m.Splits.Splits = []artifact.SplitRange{validation, test}
		m.Request.Kind = artifact.KindRun
		run.Origin, run.Service = artifact.OriginLab, nil
		run.Splits = []artifact.Split{{ID: "validation", Results: picture(10000), Published: published(1, 2)},
			{ID: "test", Results: picture(canary), Published: published(canary, canary), Locked: true,
				Log: []byte(`{"time":null,"level":"info","source":"plugin","message":"98765.4321",` +
					`"fields":null}` + "\n")}}
	}
	if id == "run_trial" {
		m.Request.Kind, run.Compact = artifact.KindTrial, true
	}
	for _, f := range change {
		f(&m, run)
	}
	var err error
	if run.Manifest, err = m.Complete(); err != nil {
		t.Fatal(err)
	}
	begun, err := artifact.Begun(run)
	if err != nil {
		t.Fatal(err)
	}
	if err := runs.Begin(context.Background(), begun); err != nil {
		t.Fatal(err)
	}
	written, err := store.Write(run)
	if err != nil {
		t.Fatal(err)
	}
	if err := runs.Complete(context.Background(), written.Metadata, written.Payload); err != nil {
		t.Fatal(err)
	}
}

// published is a series of two points of the run, and one of its symbol.
func published(values ...float64) artifact.Published {
	return artifact.Published{Annotations: []artifact.Annotation{
		{Name: "fast", Time: []market.Time{1704074400000, 1704078000000}, Values: values},
		{Name: "gain", Symbol: "BTC/USDT", Time: []market.Time{1704074400000}, Values: []float64{0}}}}
}

// picture is a result of two candles that ends with an equity.
func picture(end float64) *artifact.Results {
	r := SampleResults(2)
	r.Equity.Equity[1] = end
	if end == canary {
		r.Trades[0].EntryTag, r.Orders[0].Tag, r.Fills[0].Tag = "98765", "98765", "98765"
	}
	return r
}

// AddRuns stores n runs like run_lab, which is there, with what a list reads of their folders: 40 strategies,
// three timeframes, and as many Sharpe ratios as runs.
func AddRuns(t testing.TB, store *artifact.Store, runs *registry.Registry, n int) {
	t.Helper()
	original, err := artifact.DecodeMetadata(func() []byte {
		row, err := runs.Get(t.Context(), "run_lab")
		if err != nil {
			t.Fatal(err)
		}
		return row.Payload
	}())
	if err != nil {
		t.Fatal(err)
	}
	from := store.Dir("run_lab")
	for i := range n {
		m := *original
		m.RunID, m.RequestHash = fmt.Sprintf("run_%06d", i), fmt.Sprintf("%064x", i)
		m.Slug, m.Timeframe = fmt.Sprintf("idea_%d", i%40), []string{"1h", "4h", "1d"}[i%3]
		sharpe := float64(i*7919%n)/float64(n)*4 - 2
		m.Summary.SharpeRatio = &sharpe
		m.Volatile.CompletedAt += market.Time(i) * 1000
		payload, err := m.Encode()
		if err == nil {
			err = runs.Complete(t.Context(), &m, payload)
		}
		dir := store.Dir(m.RunID)
		if err == nil {
			err = os.Mkdir(dir, 0o700)
		}
		for _, name := range []string{"request.json", "report.json", "splits.json"} {
			if err == nil {
				err = os.Link(filepath.Join(from, name), filepath.Join(dir, name))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
