package shadow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// account plays a bundled program from six in the morning of a day to noon eight days later, with a fee, and
// leaves what a paper run leaves.
func account(t *testing.T, p *player, id, fee string) {
	t.Helper()
	asked := *p.rules
	asked.Execution = json.RawMessage(`{"fee_taker":` + fee + `}`)
	begin := time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)
	got, err := p.w.Stage.play(t.Context(), p.c, playRequest{b: p.b, rules: &asked, cash: "10000", start: begin,
		end: begin.AddDate(0, 0, 8).Add(6 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.fills) < 4 {
		t.Fatalf("it has %d fills", len(got.fills))
	}
	tf := market.MustTimeframe("1h")
	rows := &artifact.EquityCurve{}
	none := make([]float64, len(got.curve.opens))
	for _, open := range got.curve.opens {
		rows.Time = append(rows.Time, tf.Next(open))
	}
	rows.Equity, rows.Cash, rows.PositionValue, rows.Drawdown, rows.Exposure = got.curve.equity, none, none, none, none
	var equity, lines bytes.Buffer
	if err := artifact.WriteEquity(&equity, rows); err != nil {
		t.Fatal(err)
	}
	for _, f := range got.fills {
		fmt.Fprintf(&lines, `{"kind":"fill","symbol":%q,"side":%q,"quantity":%q,"time":%q}`+"\n", f.Symbol, f.Side,
			f.Quantity, f.Time)
	}
	asked.Execution = p.rules.Execution // what it says that it was asked
	request, err := json.Marshal(&asked)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"request.json": request, "splits/full/equity_curve.csv": equity.Bytes(),
		"splits/full/decisions.jsonl": lines.Bytes()} {
		path := filepath.Join(p.w.Stage.opts.Root, "runs", id, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		p.b.Artifacts = append(p.b.Artifacts, bundle.Artifact{Name: "runs/" + id + "/" + name, RunID: id,
			SHA256: digest.SHA256Hex(text)})
	}
	p.b.Runs = append(p.b.Runs, bundle.Run{RunID: id, Role: bundle.RolePaper, RequestHash: digest.SHA256Hex(request)})
}

// TestARunBesideItsShadow: a run that traded as the simulator does has the days of its shadow to the last digit;
// one that paid a higher fee than it says shows it day by day.
func TestARunBesideItsShadow(t *testing.T) {
	ring.Slow(t, "it builds a strategy and plays it")
	root := t.TempDir()
	store, err := candle.Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	hours := sdktest.Synth(42, 1000, time.Date(2026, 10, 10, 0, 0, 0, 0, time.UTC), time.Hour)
	hours.Symbol, hours.Timeframe = "SYNTH42/USD", market.MustTimeframe("1h")
	if _, err := store.Put(t.Context(), candle.PutRequest{Exchange: "synth", Series: hours}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	plugins := filepath.Join(root, "plugins")
	if err := os.MkdirAll(plugins, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := hosttest.Build(plugins, "v1", "strategies/sma_cross"); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(plugins, "sma_cross"))
	if err != nil {
		t.Fatal(err)
	}
	sum := digest.SHA256Hex(program)
	if err := os.Rename(filepath.Join(plugins, "sma_cross"), filepath.Join(plugins, sum)); err != nil {
		t.Fatal(err)
	}
	stage, err := OpenStage(t.Context(), Options{Root: root, Source: bundle.SourceImport, Sandbox: "off",
		Now: time.Now, Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	b := &bundle.Bundle{Strategy: bundle.Strategy{Name: "sma_cross", Params: json.RawMessage(`{"fast":3,"slow":8}`),
		Symbols: []string{"SYNTH42/USD"}, Timeframes: []string{"1h"}, Plugin: bundle.Plugin{SHA256: sum}}}
	c, err := stage.program(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := &player{w: &Worker{Stage: stage}, c: c, b: b, reported: &bundle.Shadow{}, rules: &artifact.Request{
		Exchange: "synth", Symbols: b.Strategy.Symbols, Timeframe: "1h", Seed: "1",
		InitialCash: json.RawMessage("10000"), Execution: json.RawMessage(`{"fee_taker":0.001}`),
	}}
	account(t, p, "svc_same", "0.001")
	account(t, p, "svc_dear", "0.004")

	same, err := p.compare(t.Context(), "svc_same")
	if err != nil {
		t.Fatal(err)
	}
	s := same.Beside()
	if same.Diverging != 0 || s.Whole != 7 || s.Largest != nil || *s.Return != *s.ShadowReturn || *s.Return == 0 ||
		strings.Join(s.Partial, " ") != "2026-11-01 2026-11-09" {
		t.Errorf("%+v: %s", same, s)
	}
	dear, err := p.compare(t.Context(), "svc_dear")
	if err != nil {
		t.Fatal(err)
	}
	if s := dear.Beside(); s.Whole != 7 || *s.MeanDifference >= 0 || s.Largest == nil || s.Largest.Difference >= 0 ||
		*s.ShadowReturn <= *s.Return {
		t.Errorf("%+v: %s", dear, s)
	}
}
