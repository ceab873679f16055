package candidate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/evidence"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var now = time.Date(2026, 11, 20, 12, 30, 0, 987_000_000, time.UTC)

func at(s string) market.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return market.FromTime(t)
}

func sum(s string) string { return digest.SHA256Hex([]byte(s)) }

func number(x float64) *float64 { return &x }

func count(n int64) *int64 { return &n }

// values are defined metrics and, with a reason, one that is not.
func values(trades, drawdown float64) metric.Values {
	return metric.Values{
		{Key: "total_trades", Number: trades}, {Key: "max_drawdown", Number: drawdown},
		{Key: "sharpe_ratio", Reason: "insufficient_trades"},
	}
}

// metadata is a completed run of kind run.
func metadata(id string) *artifact.Metadata {
	hash := sum("result " + id)
	return &artifact.Metadata{
		Schema: "run-metadata/v1", RunID: id, RequestHash: sum("request " + id), ResultHash: &hash,
		Kind: artifact.KindRun, Slug: "sma_cross",
		FamilyID: "sma-cross", Status: artifact.StatusCompleted, Params: json.RawMessage(`{"fast":10}`),
		Symbols: []string{"BTC/USDT"}, Timeframe: "1h",
		Exchange: "sample", StartDate: at("2023-01-01T00:00:00Z"), EndDate: at("2023-07-01T00:00:00Z"),
		Data: []artifact.Dataset{{
			Symbol: "BTC/USDT", Timeframe: "1h", SHA256: sum("candles"), Rows: 4344,
			Start: at("2023-01-01T00:00:00Z"), End: at("2023-07-01T00:00:00Z"),
			ID: "sample-btc-usdt-1h-" + sum("candles")[:12],
		}},
		Plugin: artifact.Plugin{
			SHA256: sum("plugin"), Size: 9123456, OS: "linux", Arch: "amd64", ProtocolVersion: 1,
			SDKVersion: "1.0.0", GoVersion: "go1.26", SourceSHA256: sum("source"),
		},
		Engine:  artifact.Engine{Name: "lab", Version: "1.2.3", Commit: "abc", SHA256: sum("engine")},
		Summary: artifact.Summary{StressFailed: count(1)},
		Artifacts: []artifact.File{
			{Name: "report.json", SHA256: sum("report " + id), Size: 10, MediaType: "application/json"},
			{Name: "splits/test/trades.csv", SHA256: sum("trades " + id), Size: 20, MediaType: "text/csv"},
		},
		Volatile: artifact.Volatile{StartedAt: at("2026-11-19T10:00:00Z"),
			CompletedAt: at("2026-11-19T10:00:05Z")},
	}
}

func reportOf(splits ...artifact.SplitReport) *artifact.Report {
	r := &artifact.Report{Splits: splits, Stress: []artifact.Stress{{Verdict: "fail"}},
		Assumptions: []artifact.Note{{Code: "NO_BORROW_COSTS", Message: "Shorts are free."}}}
	r.Strategy.Name, r.Strategy.Version = "sma_cross", "2.0.0"
	return r
}

// read works out what gates judge of the files that a lab would have written.
func read(x *item, locked *artifact.LockedMetrics) *item {
	x.report.RunID, x.report.RequestHash, x.report.Kind, x.report.Status = x.meta.RunID, x.meta.RequestHash,
		x.meta.Kind, x.meta.Status
	files := map[string]any{
		evidence.ReportName: x.report, evidence.MetadataName: x.meta, evidence.LockedName: locked,
		evidence.AttackName: x.summary,
		evidence.RequestName: artifact.Request{
			Kind: x.meta.Kind, StrategyParams: json.RawMessage("{}"), InitialCash: json.RawMessage("1"),
			Execution: json.RawMessage("{}"), Falsification: json.RawMessage("null"),
		},
	}
	var err error
	if x.found, err = evidence.Read(x.role, func(name string) ([]byte, error) {
		if file, ok := files[name]; ok {
			return json.Marshal(file)
		}
		return nil, fs.ErrNotExist
	}); err != nil {
		panic(err)
	}
	return x
}

// baseline is a run with a locked test that was revealed.
func baseline() *item {
	return read(&item{
		role: bundle.RoleBaseline, meta: metadata("run_base"), metaHash: sum("metadata"),
		request: &artifact.Request{InitialCash: json.RawMessage("10000")},
		report: reportOf(
			artifact.SplitReport{ID: "train", Role: "train", Metrics: values(100, 0.1)},
			artifact.SplitReport{ID: "test", Role: "test", Metrics: metric.Values{}},
			artifact.SplitReport{ID: "wf-00", Role: "walk_forward", Metrics: values(31, 0.2)},
		),
	}, &artifact.LockedMetrics{SplitID: "test", Status: "ok", Metrics: values(40, 0.05)})
}

func falsification(overall judge.Verdict) *item {
	m := metadata("run_attack")
	m.Kind, m.Summary = artifact.KindFalsification,
		artifact.Summary{Headline: artifact.Headline{TotalTrades: number(7)}, GatesFailed: count(0)}
	s := &falsify.Summary{BaseRunID: "run_base", Overall: overall, Ledger: selection.Digest{NTrials: 4}}
	if overall == "fail" {
		s.Tests = []*judge.Test{{ID: "costs", Class: judge.Gate, Verdict: judge.Fail}}
		s.Refuted = []string{"survives costs"}
	}
	s.Profile.ID, s.Profile.SHA256 = "falsify-profile/1", sum("profile")
	r := reportOf(artifact.SplitReport{ID: "search", Role: "search", Metrics: values(100, 0.1)})
	r.Falsification = map[string]any{"base_run_id": s.BaseRunID, "overall": s.Overall}
	return read(&item{role: bundle.RoleFalsification, meta: m, metaHash: sum("metadata 2"), report: r,
		summary: s}, nil)
}

func paperRun() *item {
	m := metadata("svc_paper")
	m.Kind, m.Summary = artifact.KindService, artifact.Summary{}
	m.Service = &artifact.ServiceNote{Mode: "paper", Stage: "canary", CoveredSeconds: number(3.5),
		DivergingFills: count(2)}
	return read(&item{
		role: bundle.RoleCanary, meta: m, metaHash: sum("metadata 3"),
		report: reportOf(artifact.SplitReport{ID: "full", Role: "full", Metrics: values(9, 0.3)}),
	}, nil)
}

func gathered() *collected {
	base := baseline()
	return &collected{base: base, items: []*item{base, falsification("warn"), paperRun()}}
}

func ledger() selection.Digest {
	return selection.Digest{NTrials: 128, NEff: 31.5, TestPeeks: 2, ReturnsSHA256: sum("returns")}
}

func limits() bundle.Limits {
	l, err := defaultLimits(json.RawMessage("10000"), []string{"BTC/USDT"})
	if err != nil {
		panic(err)
	}
	return l
}

func composed(t *testing.T, edit ...func(*collected)) bundle.Bundle {
	t.Helper()
	e := gathered()
	for _, f := range edit {
		f(e)
	}
	b, err := compose(e,
		subject{family: "sma-cross", owner: "olga", title: "SMA cross", description: "Trends last.",
			limits: limits()}, listOf(128), ledger())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func key(name string) *ecdsa.PrivateKey {
	s := sha256.Sum256([]byte("TEST ONLY " + name))
	k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), s[:])
	if err != nil {
		panic(err)
	}
	return k
}

func has(t *testing.T, err error, code string, words ...string) {
	t.Helper()
	if codeOf(err) != code {
		t.Fatalf("code %s, want %s: %v", codeOf(err), code, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in: %v", w, err)
		}
	}
}
