package bundle_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

const origin = "governance.lab.example"

var clock = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// hex64 is a digest that stands for something called name.
func hex64(name string) string { return digest.SHA256Hex([]byte(name)) }

// testKey is the P-256 key whose scalar is the SHA-256 of "TEST ONLY <name> key".
func testKey(t testing.TB, name string) *ecdsa.PrivateKey {
	t.Helper()
	scalar := sha256.Sum256([]byte("TEST ONLY " + name + " key"))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// unsealed is a bundle in which every field is used, before it has hashes and an id.
func unsealed() bundle.Bundle {
	yes, no, collar, covered := true, false, 500.0, 86400.0
	parent := "cr-" + hex64("parent")
	return bundle.Bundle{
		Candidate: bundle.Candidate{
			CandidateID: "sma-cross.btc-usdt-1h", FamilyID: "sma-cross", Slug: "sma-cross",
			Owner: "alice@example.com",
			Title: "SMA cross", Description: "Two averages: when they cross, it trades.",
			Lineage: bundle.Lineage{ParentRevisionID: &parent, ChangeClass: bundle.ChangeMaterial,
				ChangeNote: "faster", FamilyRunID: "fr-01"},
		},
		Strategy: bundle.Strategy{
			Name: "sma_cross", Version: "1.2.0",
			Plugin: bundle.Plugin{
				SHA256: hex64("plugin"), Size: 9123456, OS: "linux", Arch: "amd64", ProtocolVersion: 1,
				SDKVersion: "1.0.0",
				GoVersion:  "go1.26.8", VCSRevision: "abc", VCSModified: &no, SourceSHA256: hex64("source"),
			},
			Params: json.RawMessage(
				`{"slow": 30, "fast": 1e1, "deep": {"list": [1, "two", null, true]}}`),
			Symbols:    []string{"BTC/USDT"},
			Timeframes: []string{"1h"}, Exchanges: []string{"binance"},
		},
		Engine: bundle.Engine{Name: "assay", Version: "1.0.0"},
		Data: []bundle.Dataset{{
			DatasetID: "btc-1h", SHA256: hex64("data"), Rows: 35064, Start: "2021-01-01T00:00:00Z",
			End: "2025-01-01T00:00:00Z",
		}},
		Runs: []bundle.Run{{
			RunID: "run-0001", Role: bundle.RoleBaseline, RequestHash: hex64("request"),
			ReportSHA256:   hex64("report"),
			MetadataSHA256: hex64("metadata"), StartedAt: "2026-11-01T09:00:00Z",
			CompletedAt:    "2026-11-01T10:00:00.5Z",
			CoveredSeconds: &covered, Summary: map[string]float64{"sharpe_ratio": 1.42},
			Splits: []bundle.Split{{SplitID: "test", Kind: "test",
				Metrics: map[string]float64{"total_trades": 412}}},
		}, {
			RunID: "run-0002", Role: bundle.RoleFalsification, RequestHash: hex64("request 2"),
			ReportSHA256: hex64("report 2"),
			CompletedAt:  "2026-11-01T11:00:00Z", Summary: map[string]float64{},
		}},
		Trials: &bundle.Trials{FamilyTrials: 128},
		Artifacts: []bundle.Artifact{
			{Name: "runs/run-0001/report.json", SHA256: hex64("report"), Size: 4, RunID: "run-0001",
				MediaType: "application/json", Required: &yes},
			{Name: "runs/run-0001/splits/test/trades.csv", SHA256: hex64("trades"), Size: 2,
				RunID: "run-0001"},
		},
		Limits: bundle.Limits{
			MaxCapital: "10000", MaxOrderValue: "500", MaxPositionValue: "2500.5", MaxOrdersPerMinute: 10,
			MaxInstruments: 1, MaxVenues: 1,
			MaxDrawdown: "0.25", MaxDailyLoss: "300", PriceCollarBps: &collar, QuoteCurrency: "USDT",
		},
		KnownLimitations: []string{"spot only"}, Extensions: json.RawMessage(`{"note":{"any":[1,2]}}`),
		SealRequest: bundle.SealRequest{
			RequestedStage: bundle.Paper, RequestedBy: "alice@example.com", LogOrigin: origin,
			RequestedAt: "2026-11-20T12:00:00Z", ExpiresAt: "2026-12-20T12:00:00Z",
		},
	}
}

func sealed(t testing.TB) *bundle.Document {
	t.Helper()
	d, err := bundle.Seal(unsealed())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tree is a document that tests change before it is posted.
type tree map[string]any

func treeOf(t testing.TB, text []byte) tree {
	t.Helper()
	v, err := digest.Strict(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// at finds what contains the last step of a path like runs/0/role.
func (d tree) at(path string) (in any, last string) {
	steps := strings.Split(path, "/")
	in = map[string]any(d)
	for _, step := range steps[:len(steps)-1] {
		switch v := in.(type) {
		case map[string]any:
			in = v[step]
		case []any:
			i, _ := strconv.Atoi(step)
			in = v[i]
		}
	}
	return in, steps[len(steps)-1]
}

func (d tree) set(path string, value any) {
	switch in, last := d.at(path); in := in.(type) {
	case map[string]any:
		in[last] = value
	case []any:
		i, _ := strconv.Atoi(last)
		in[i] = value
	}
}

func (d tree) get(path string) any {
	in, last := d.at(path)
	if list, ok := in.([]any); ok {
		i, _ := strconv.Atoi(last)
		return list[i]
	}
	return in.(map[string]any)[last]
}

func (d tree) drop(path string) {
	in, last := d.at(path)
	delete(in.(map[string]any), last)
}

// reseal gives a changed bundle the id that belongs to it.
func (d tree) reseal() {
	core := maps.Clone(d)
	delete(core, "candidate_revision_id")
	delete(core, "seal_request")
	sum := digest.SHA256Hex(digest.Tree(map[string]any(core)))
	if _, ok := d["candidate_revision_id"]; ok {
		d["candidate_revision_id"] = "cr-" + sum
	}
	if request, ok := d["seal_request"].(map[string]any); ok {
		if request["subject_id"] != nil {
			request["subject_id"] = "cr-" + sum
		}
		if request["bundle_digest"] != nil {
			request["bundle_digest"] = "sha256:" + sum
		}
	}
}

func (d tree) text() []byte { return digest.Tree(map[string]any(d)) }

// keyOf is an entry of trust.json.
func keyOf(t testing.TB, name, principal string, roles ...string) bundle.TrustKey {
	t.Helper()
	pub := testKey(t, name).Public()
	text, err := dsse.PublicPEM(pub)
	if err != nil {
		t.Fatal(err)
	}
	id, err := dsse.KeyID(pub)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.TrustKey{
		KeyID: id, PublicKey: string(text), Principal: principal, Roles: roles,
		ValidFrom: "2026-01-01T00:00:00Z", ValidUntil: "2027-01-01T00:00:00Z", Status: bundle.KeyActive,
	}
}

// trusting is a trust.json with these keys.
func trusting(t testing.TB, keys ...bundle.TrustKey) *bundle.Trust {
	t.Helper()
	raw := &bundle.Trust{Schema: bundle.SchemaTrust, Version: 1, ExpiresAt: "2026-12-31T00:00:00Z",
		Keys: keys}
	text, err := raw.Encode()
	if err != nil {
		t.Fatal(err)
	}
	trust, refused := bundle.ParseTrust(text)
	if refused != nil {
		t.Fatal(refused)
	}
	return trust
}

// wants holds an error to code and pointer.
func wants(t testing.TB, name string, err *bundle.Error, code field.Code, pointer string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s: accepted, want %s at %q", name, code, pointer)
	case err.Code != code || err.Pointer != pointer:
		t.Errorf("%s: %s at %q (%v), want %s at %q", name, err.Code, err.Pointer, err, code, pointer)
	case err.Message == "":
		t.Errorf("%s: no message", name)
	}
}
