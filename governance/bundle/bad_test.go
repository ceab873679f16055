package bundle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/field"
)

// badTexts are bodies that are wrong before anything is known of them.
var badTexts = []struct {
	body    string
	code    field.Code
	pointer string
}{
	{"", field.MalformedJSON, ""},
	{"\xef\xbb\xbf{}", field.MalformedJSON, ""},
	{`{"schema":"candidate-bundle/v1"`, field.MalformedJSON, ""},
	{`{"bundle":{"runs":[{"summary":{"x":-Infinity}}]}}`, field.MalformedJSON, "/bundle/runs/0/summary/x"},
	{`{"schema":"candidate-bundle/v1"}{}`, field.MalformedJSON, ""},
	{`{"schema":1,"\u0073chema":2}`, field.DuplicateKey, "/schema"},
	{`{"schema":"\ud800"}`, field.InvalidUnicode, "/schema"},
	{`{"schema":"a\u0000"}`, field.InvalidUnicode, "/schema"},
	{`{"schema":9007199254740992}`, field.NumberOutOfRange, "/schema"},
	{`{"schema":1e999}`, field.NumberOutOfRange, "/schema"},
	{`{"schema":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}`, field.JSONTooDeep,
		"/schema" + strings.Repeat("/0", 32)},
	{`[]`, bundle.InvalidBundle, ""},
	{`null`, bundle.InvalidBundle, ""},
	{`"candidate-bundle/v1"`, bundle.InvalidBundle, ""},
	{`{"bundle":[]}`, bundle.InvalidBundle, "/bundle"},
	{`{"bundle":null,"attestations":[]}`, bundle.InvalidBundle, "/bundle"},
	{`{"attestations":[]}`, field.MissingField, "/bundle"},
	{`{"bundle":{},"attestation":[]}`, field.UnknownField, "/attestation"},
	{`{"bundle":{},"schema":"candidate-bundle/v1"}`, field.UnknownField, "/schema"},
	{`{}`, field.MissingField, "/schema"},
	{`{"bundle":{}}`, field.MissingField, "/bundle/schema"},
	{`{"schema":["candidate-bundle/v1"]}`, field.UnsupportedSchema, "/schema"},
	{`{"bundle":{"schema":"candidate-bundle/v2","x":1}}`, field.UnsupportedSchema, "/bundle/schema"},
	{`{"schema":"candidate-bundle/v1","Candidate":{}}`, field.UnknownField, "/Candidate"},
	{`{"schema":"candidate-bundle/v1","attestations":[]}`, field.UnknownField, "/attestations"},
	{`{"schema":"candidate-bundle/v1","a/b":{}}`, field.UnknownField, "/a~1b"},
}

func TestBadTexts(t *testing.T) {
	for _, c := range badTexts {
		_, err := bundle.ReadPost([]byte(c.body))
		wants(t, fmt.Sprintf("%.60q", c.body), err, c.code, c.pointer)
	}
}

// broken are single faults in a bundle which is otherwise right and has the id that
// belongs to it. A nil value drops the field.
var broken = []struct {
	path  string
	value any
	code  field.Code
	at    string // where it is found, when not at the path
}{
	{"runs", nil, field.MissingField, ""},
	{"runs", []any{}, field.MissingField, ""},
	{"seal_request", nil, field.MissingField, ""},
	{"extra", 1.0, field.UnknownField, ""},
	{"strategy/params/API_Key", "x", bundle.SecretInBundle, ""},
	{"strategy/params/deep/apikey", "x", bundle.SecretInBundle, ""},
	{"extensions/note/any/0", tree{"private_key": nil}, bundle.SecretInBundle,
		"/extensions/note/any/0/private_key"},
	{"extensions/PassPhrase", true, bundle.SecretInBundle, ""},
	{"candidate/token", "x", bundle.SecretInBundle, ""},
	{"seal_request/secret", "x", bundle.SecretInBundle, ""},
	{"runs/0/summary/api_secret", 1.0, bundle.SecretInBundle, ""},
	{"candidate/description", "see -----BEGIN EC PRIVATE KEY----- MHc", bundle.SecretInBundle, ""},
	{"extensions/note/any/1", "-----BEGIN PRIVATE KEY-----", bundle.SecretInBundle, ""},
	{"candidate_revision_id", "cr-123", field.InvalidIdentifier, ""},
	{"candidate_revision_id", 7.0, field.InvalidField, ""},
	{"candidate_revision_id", "CR-" + strings.Repeat("a", 64), field.InvalidIdentifier, ""},
	{"candidate_revision_id", "cr-" + strings.Repeat("a", 64), bundle.RevisionMismatch, ""},

	{"candidate", "sma", field.InvalidField, ""},
	{"candidate/owner", nil, field.MissingField, ""},
	{"candidate/owner", " ", field.InvalidField, ""},
	{"candidate/Owner", "bob", field.UnknownField, ""},
	{"candidate/candidate_id", "Sma", field.InvalidIdentifier, ""},
	{"candidate/family_id", "-sma", field.InvalidIdentifier, ""},
	{"candidate/slug", "sma/cross", field.InvalidIdentifier, ""},
	{"candidate/slug", strings.Repeat("a", 129), field.InvalidIdentifier, ""},
	{"candidate/slug", "sma\n", field.InvalidIdentifier, ""},
	{"candidate/title", strings.Repeat("é", 2049), field.InvalidField, ""},
	{"candidate/title", false, field.InvalidField, ""},
	{"candidate/lineage/parent_revision_id", "sma", field.InvalidIdentifier, ""},
	{"candidate/lineage/change_class", "evidence_only", field.InvalidField, ""},
	{"candidate/lineage/since", "x", field.UnknownField, ""},
	{"strategy/name", "SMA", field.InvalidIdentifier, ""},
	{"strategy/plugin/sha256", strings.Repeat("A", 64), field.InvalidDigest, ""},
	{"strategy/plugin/source_sha256", "sha256:" + strings.Repeat("a", 64), field.InvalidDigest, ""},
	{"strategy/plugin/size", float64(1<<32 + 1), field.InvalidField, ""},
	{"strategy/plugin/size", 0.5, field.InvalidField, ""},
	{"strategy/plugin/size", "4", field.InvalidField, ""},
	{"strategy/plugin/vcs_modified", "no", field.InvalidField, ""},
	{"strategy/params", []any{}, field.InvalidField, ""},
	{"strategy/params/fast", 11.0, bundle.ParamsHashMismatch, "/strategy/params_sha256"},
	{"strategy/params/fast", strings.Repeat("x", 4097), field.InvalidField, ""},
	{"strategy/params_sha256", "abc", field.InvalidDigest, ""},
	{"strategy/symbols", []any{}, field.InvalidField, ""},
	{"strategy/symbols/0", "BTCUSDT", field.InvalidField, ""},
	{"strategy/symbols/0", "BTC/US DT", field.InvalidField, ""},
	{"strategy/symbols/0", "BTC/USDT/X", field.InvalidField, ""},
	{"strategy/symbols", slices.Repeat([]any{"A/B"}, 1001), field.TooManyItems, ""},
	{"strategy/timeframes", "1h", field.InvalidField, ""},
	{"strategy/timeframes/0", "60", field.InvalidField, ""},
	{"strategy/exchanges/0", 1.0, field.InvalidField, ""},
	{"engine/commit", "x", field.UnknownField, ""},
	{"data/0/dataset_id", "BTC", field.InvalidIdentifier, ""},
	{"data/0/rows", -1.0, field.InvalidField, ""},
	{"data/0/start", "2021-01-01", field.InvalidTimestamp, ""},
	{"data/0/end", "2025-01-01T00:00:00+00:00", field.InvalidTimestamp, ""},
	{"data/0/end", "2025-02-30T00:00:00Z", field.InvalidTimestamp, ""},
	{"data/0/end", "2025-02-03T0:00:00Z", field.InvalidTimestamp, ""},
	{"data/0/end", "2025-02-03t00:00:00z", field.InvalidTimestamp, ""},
	{"data/0/end", "2025-02-03T00:00:00,5Z", field.InvalidTimestamp, ""},
	{"data", slices.Repeat([]any{nil}, 1001), field.TooManyItems, ""},
	{"runs", slices.Repeat([]any{nil}, 1001), field.TooManyItems, ""},
	{"runs/1/run_id", "run-0001", field.DuplicateItem, ""},
	{"runs/1/run_id", "Run-0002", field.InvalidIdentifier, ""},
	{"runs/0/role", "demo", field.InvalidField, ""},
	{"runs/0/request_hash", "0x12", field.InvalidDigest, ""},
	{"runs/0/started_at", "yesterday", field.InvalidTimestamp, ""},
	{"runs/0/covered_seconds", -1.0, field.InvalidField, ""},
	{"runs/0/summary", nil, field.MissingField, ""},
	{"runs/0/summary/sharpe_ratio", "1.42", field.InvalidField, ""},
	{"runs/0/summary/sharpe_ratio", tree{}, field.InvalidField, ""},
	{"runs/0/splits/0/kind", "oos", field.InvalidField, ""},
	{"runs/0/splits/0/metrics/total_trades", true, field.InvalidField, ""},
	{"trials/family_trials", 1.5, field.InvalidField, ""},
	{"trials", tree{}, field.MissingField, "/trials/family_trials"},
	{"artifacts/0/run_id", "run-0003", bundle.UnknownRunReference, ""},
	{"artifacts", slices.Repeat([]any{nil}, 10_001), field.TooManyItems, ""},
	{"artifacts/1/name", "runs/run-0001/Report.json", field.DuplicateItem, ""},
	{"artifacts/0/sha256", strings.Repeat("g", 64), field.InvalidDigest, ""},
	{"artifacts/0/size", -1.0, field.InvalidField, ""},
	{"artifacts/0/required", 1.0, field.InvalidField, ""},
	{"limits/max_capital", "1e9", field.InvalidDecimal, ""},
	{"limits/max_capital", "-1", field.InvalidDecimal, ""},
	{"limits/max_capital", "007", field.InvalidDecimal, ""},
	{"limits/max_capital", "1.", field.InvalidDecimal, ""},
	{"limits/max_capital", "1" + strings.Repeat("0", 18), field.InvalidDecimal, ""},
	{"limits/max_daily_loss", "0." + strings.Repeat("1", 19), field.InvalidDecimal, ""},
	{"limits/max_drawdown", 0.25, field.InvalidField, ""},
	{"limits/max_drawdown", nil, field.MissingField, ""},
	{"limits/max_venues", -1.0, field.InvalidField, ""},
	{"limits/max_leverage", "3", field.UnknownField, ""},
	{"known_limitations/0", strings.Repeat("x", 4097), field.InvalidField, ""},
	{"extensions", "x", field.InvalidField, ""},

	{"seal_request/subject_type", "candidate", bundle.InvalidSubjectType, ""},
	{"seal_request/requested_stage", "retired", field.InvalidStage, ""},
	{"seal_request/schema", "seal-request/v2", field.UnsupportedSchema, ""},
	{"seal_request/subject_id", "cr-" + strings.Repeat("a", 64), bundle.SealSubjectMismatch, ""},
	{"seal_request/subject_id", "sma-cross", field.InvalidIdentifier, ""},
	{"seal_request/bundle_digest", "sha256:" + strings.Repeat("a", 64), bundle.SealDigestMismatch, ""},
	{"seal_request/bundle_digest", strings.Repeat("a", 64), field.InvalidDigest, ""},
	{"seal_request/requested_by", "", field.InvalidField, ""},
	{"seal_request/requested_at", "2026-12-20T12:00:00Z", field.InvalidTimestamp, "/seal_request/expires_at"},
	{"seal_request/expires_at", "2027-02-18T12:00:01Z", field.InvalidTimestamp, ""},
	{"seal_request/expires_at", "2026-12-20T12:00:00", field.InvalidTimestamp, ""},
	{"seal_request/Requested_Stage", "live", field.UnknownField, ""},
}

func TestBadBundles(t *testing.T) {
	good := sealed(t)
	for _, c := range broken {
		d := treeOf(t, good.Canonical)
		if inner, ok := c.value.(tree); ok {
			c.value = map[string]any(inner)
		}
		if c.value == nil {
			d.drop(c.path)
		}
		// An own id or request stays as it is set; everything else is given its new id.
		switch {
		case c.value == nil:
			d.reseal()
		case strings.HasPrefix(c.path, "seal_request/") || c.path == "candidate_revision_id":
			d.set(c.path, c.value)
		default:
			d.set(c.path, c.value)
			d.reseal()
		}
		at := c.at
		if at == "" {
			at = "/" + c.path
		}
		name := fmt.Sprintf("%s=%.30v", c.path, c.value)
		_, err := bundle.Decode(d.text())
		wants(t, name, err, c.code, at)
		_, err = bundle.ReadPost(append(append([]byte(`{"attestations":[1],"bundle":`), d.text()...), '}'))
		wants(t, name+" wrapped", err, c.code, "/bundle"+at)
	}
	if n := len(broken) + len(badTexts); n < 60 {
		t.Errorf("only %d bad posts", n)
	}
}

func TestTheClaimedIDIsTold(t *testing.T) {
	d := treeOf(t, sealed(t).Canonical)
	d.set("runs/0/summary/sharpe_ratio", 3.9)
	_, err := bundle.Decode(d.text())
	wants(t, "tampered", err, bundle.RevisionMismatch, "/candidate_revision_id")
	if err.Declared != d["candidate_revision_id"] {
		t.Errorf("got %q", err.Declared)
	}
}

func TestArtifactPaths(t *testing.T) {
	run := "run-0001"
	for path, want := range map[string]bool{
		"runs/run-0001/report.json":                        true,
		"runs/run-0001/splits/oos/Trades_1.csv":            true,
		"runs/run-0001/a..b":                               true,
		"runs/run-0001/console.txt":                        true,
		"runs/run-0001/com10":                              true,
		"runs/run-0001/" + strings.Repeat("a", 241):        true,
		"runs/run-0001/" + strings.Repeat("a", 242):        false,
		"runs/run-0001/" + strings.Repeat("abcdefgh/", 30): false,
		"runs/run-0001":                                    false,
		"runs/run-0001/":                                   false,
		"runs/run-0001//x":                                 false,
		"runs/run-0001/x/":                                 false,
		"runs/run-0001/./x":                                false,
		"runs/run-0001/../run-0002/x":                      false,
		"runs/run-0001/.hidden":                            false,
		"runs/run-0001/x.":                                 false,
		"runs/run-0001/x /y":                               false,
		"runs/run-0001/x:y":                                false,
		"runs/run-0001/%2e%2e/x":                           false,
		"runs/run-0001/é":                                  false,
		"runs/run-0001/x\n":                                false,
		"runs/run-0001/NUL":                                false,
		"runs/run-0001/con.txt":                            false,
		"runs/run-0001/Aux.tar.gz/x":                       false,
		"runs/run-0001/lpt1":                               false,
		"runs/run-0001/COM9.log":                           false,
		"runs/run-0002/report.json":                        false,
		"runs/run-00012/report.json":                       false,
		"Runs/run-0001/report.json":                        false,
		"/runs/run-0001/report.json":                       false,
		`runs\run-0001\report.json`:                        false,
		"C:/runs/run-0001/report.json":                     false,
		"":                                                 false,
	} {
		if got := bundle.ValidArtifactPath(path, run); got != want {
			t.Errorf("%q: %v", path, got)
		}
		if want {
			continue
		}
		d := treeOf(t, sealed(t).Canonical)
		d.set("artifacts/1/name", path)
		d.reseal()
		_, err := bundle.Decode(d.text())
		wants(t, path, err, bundle.InvalidArtifactPath, "/artifacts/1/name")
	}
	if bundle.ValidArtifactPath("runs/nul/x", "nul") || bundle.ValidArtifactPath("runs/a./x", "a.") {
		t.Error("a run that no folder can be named after has a path")
	}
}

func TestTheEdgesAreIn(t *testing.T) {
	for path, value := range map[string]any{
		"strategy/plugin/size":                 float64(1 << 32),
		"artifacts/0/size":                     0.0,
		"candidate/title":                      strings.Repeat("é", 2048),
		"candidate/slug":                       strings.Repeat("a", 128),
		"candidate/lineage/parent_revision_id": "cr-" + hex64("x"),
		"limits/max_capital":                   strings.Repeat("9", 18) + "." + strings.Repeat("9", 18),
		"limits/max_drawdown":                  "0",
		"limits/max_orders_per_minute":         0.0,
		"runs/0/summary/any name/at~all":       1e300,
		"extensions/Schema":                    nil,
		"strategy/symbols/0":                   "é" + strings.Repeat("b", 31) + "/" + strings.Repeat("c", 32),
		"data":                                 []any{},
		"artifacts":                            []any{},
		"strategy/exchanges":                   []any{},
		"data/0/end":                           "2025-01-01T00:00:00.123456789Z",
	} {
		d := treeOf(t, sealed(t).Canonical)
		d.set(path, value)
		d.reseal()
		if _, err := bundle.Decode(d.text()); err != nil {
			t.Errorf("%s=%.20v: %s %v", path, value, err.Code, err)
		}
	}
	d := treeOf(t, sealed(t).Canonical)
	d.set("seal_request/expires_at", "2027-02-18T12:00:00Z")
	if _, err := bundle.Decode(d.text()); err != nil {
		t.Errorf("90 days: %v", err)
	}
}
