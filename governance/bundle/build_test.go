package bundle_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/hosttest/ring"
)

func TestSealFillsInWhatFollows(t *testing.T) {
	before := unsealed()
	d, err := bundle.Seal(before)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, unsealed()) {
		t.Error("the given bundle was changed")
	}
	core := treeOf(t, d.Canonical)
	core.drop("candidate_revision_id")
	core.drop("seal_request")
	sum := digest.SHA256Hex(core.text())
	b := d.Bundle
	if b.CandidateRevisionID != "cr-"+sum || b.SealRequest.SubjectID != "cr-"+sum ||
		b.SealRequest.BundleDigest != "sha256:"+sum {
		t.Errorf("core %s, bundle %s, request %+v", sum, b.CandidateRevisionID, b.SealRequest)
	}
	const params = `{"deep":{"list":[1,"two",null,true]},"fast":10,"slow":30}`
	if string(b.Strategy.Params) != params || b.Strategy.ParamsSHA256 != digest.SHA256Hex([]byte(params)) {
		t.Errorf("params %s, %s", b.Strategy.Params, b.Strategy.ParamsSHA256)
	}
	if d.FileSHA256 != digest.SHA256Hex(d.Canonical) {
		t.Errorf("file %s", d.FileSHA256)
	}

	// Another request is other bytes of the same revision.
	again := unsealed()
	again.SealRequest.RequestedStage = bundle.Live
	next, err := bundle.Seal(again)
	if err != nil || next.Bundle.CandidateRevisionID != b.CandidateRevisionID ||
		next.FileSHA256 == d.FileSHA256 {
		t.Errorf("%s, %s, %v", next.Bundle.CandidateRevisionID, next.FileSHA256, err)
	}
}

func TestSealRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bundle.Bundle)
		code   field.Code
		at     string
	}{
		"owner": {func(b *bundle.Bundle) {
			b.Candidate.Owner = ""
		}, field.InvalidField, "/candidate/owner"},
		"runs": {func(b *bundle.Bundle) { b.Runs = nil }, field.MissingField, "/runs"},
		"symbols": {func(b *bundle.Bundle) {
			b.Strategy.Symbols = nil
		}, field.InvalidField, "/strategy/symbols"},
		"params": {func(b *bundle.Bundle) { b.Strategy.Params = json.RawMessage(`{"a":1,"a":2}`) },
			field.DuplicateKey, "/strategy/params/a"},
		"secret": {func(b *bundle.Bundle) { b.Strategy.Params = json.RawMessage(`{"token":"x"}`) },
			bundle.SecretInBundle, "/strategy/params/token"},
		"stage": {func(b *bundle.Bundle) {
			b.SealRequest.RequestedStage = bundle.Retired
		}, field.InvalidStage, "/seal_request/requested_stage"},
	} {
		b := unsealed()
		c.change(&b)
		_, err := bundle.Seal(b)
		refused, _ := err.(*bundle.Error)
		wants(t, name, refused, c.code, c.at)
	}
	b := unsealed()
	b.Runs[0].Summary["x"] = math.NaN()
	if _, err := bundle.Seal(b); err == nil {
		t.Error("NaN was sealed")
	}
}

// TestSealRoundTrip: what is built is read back as the same value, and its canonical
// form stays the same through reading and sealing again.
func TestSealRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBundle(t)
		d, err := bundle.Seal(b)
		if err != nil {
			t.Fatalf("%+v: %v", b, err)
		}
		again, refused := bundle.Decode(d.Canonical)
		if refused != nil || !reflect.DeepEqual(again, d) {
			t.Fatalf("%s is read as %+v, %v", d.Canonical, again, refused)
		}
		sealedAgain, err := bundle.Seal(d.Bundle)
		if err != nil || string(sealedAgain.Canonical) != string(d.Canonical) {
			t.Fatalf("%s, sealed again %s, %v", d.Canonical, sealedAgain.Canonical, err)
		}
		var spaced map[string]any
		if err := json.Unmarshal(d.Canonical, &spaced); err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(map[string]any{"bundle": spaced, "attestations": []any{}}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		p, refused := bundle.ReadPost(text)
		if refused != nil || p.FileSHA256 != d.FileSHA256 {
			t.Fatalf("%s: %v", text, refused)
		}
	})
}

func drawBundle(t *rapid.T) bundle.Bundle {
	b := unsealed()
	id := rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,20}[a-z0-9_-]`)
	text := rapid.StringMatching(`[ -~é😀]{0,30}`)
	metrics := rapid.MapOfN(rapid.StringMatching(`[a-z_/~]{1,6}x`), rapid.Float64Range(-1e6, 1e6), 0, 4)
	b.Candidate.Title, b.Candidate.Description = text.Draw(t, "title"), text.Draw(t, "description")
	b.Candidate.Owner = "o" + text.Draw(t, "owner")
	if rapid.Bool().Draw(t, "first") {
		b.Candidate.Lineage = bundle.Lineage{ChangeClass: bundle.ChangeInitial}
	}
	n := rapid.IntRange(1, 4).Draw(t, "runs")
	b.Runs, b.Artifacts = nil, nil
	for i := range n {
		run := bundle.Run{
			RunID: fmt.Sprintf("%d-%s", i, id.Draw(t, "run")), Role: bundle.RoleOOS, RequestHash: hex64("q"),
			ReportSHA256: hex64("r"),
			CompletedAt:  bundle.FormatTime(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "completed"), 0)),
			Summary:      metrics.Draw(t, "summary"),
		}
		for k := range rapid.IntRange(0, 2).Draw(t, "splits") {
			run.Splits = append(run.Splits,
				bundle.Split{SplitID: fmt.Sprint(k), Kind: "walk_forward",
					Metrics: metrics.Draw(t, "metrics")})
		}
		b.Runs = append(b.Runs, run)
		b.Artifacts = append(b.Artifacts, bundle.Artifact{
			Name: "runs/" + run.RunID + "/report.json", SHA256: hex64(run.RunID),
			Size: rapid.Int64Range(0, 1<<32).Draw(t, "size"), RunID: run.RunID,
		})
	}
	b.Strategy.Params = json.RawMessage(fmt.Sprintf(`{"x": %v, "y": [%q]}`,
		rapid.Float64Range(-1e9, 1e9).Draw(t, "x"), id.Draw(t, "y")))
	if rapid.Bool().Draw(t, "bare") {
		b.Trials, b.Extensions, b.KnownLimitations, b.Strategy.Exchanges = nil, nil, nil, nil
		b.Limits.PriceCollarBps, b.Limits.MaxDailyLoss, b.Limits.QuoteCurrency = nil, "", ""
	}
	b.SealRequest.RequestedStage = rapid.SampledFrom([]bundle.Stage{bundle.Research, bundle.Paper,
		bundle.Canary, bundle.Live}).Draw(t, "stage")
	return b
}

func TestDeployableID(t *testing.T) {
	s := unsealed().Strategy
	s.ParamsSHA256 = hex64("params")
	sum := digest.SHA256Hex(
		[]byte(`{"exchanges":["binance"],"params_sha256":"` + hex64("params") + `","plugin_sha256":"` + hex64(
			"plugin") +
			`","symbols":["BTC/USDT"],"timeframes":["1h"]}`))
	id := bundle.DeployableID(s)
	if id != "dep-"+sum[:32] {
		t.Errorf("got %s", id)
	}
	s.Version, s.Plugin.Size = "9", 1
	if bundle.DeployableID(s) != id {
		t.Error("it depends on more than what runs")
	}
	s.Exchanges = nil
	empty := s
	empty.Exchanges = []string{}
	if bundle.DeployableID(s) == id || bundle.DeployableID(s) != bundle.DeployableID(empty) {
		t.Error("no exchanges are not the empty list")
	}
}

// small is a bundle with nothing in it that could be left out, for tests of every bit.
func small(t testing.TB) *bundle.Document {
	t.Helper()
	b := unsealed()
	b.Candidate = bundle.Candidate{
		CandidateID: "a.b", FamilyID: "a", Slug: "a", Owner: "alice",
		Lineage: bundle.Lineage{ChangeClass: bundle.ChangeInitial},
	}
	b.Strategy.Params, b.Strategy.Exchanges, b.Data, b.Artifacts, b.Trials = nil, nil, nil, b.Artifacts[1:],
		nil
	b.Strategy.Plugin = bundle.Plugin{SHA256: hex64("plugin"), Size: 1, OS: "linux", Arch: "amd64",
		ProtocolVersion: 1}
	b.Runs = b.Runs[:1]
	b.Runs[0] = bundle.Run{
		RunID: "run-0001", Role: bundle.RoleBaseline, RequestHash: hex64("q"), ReportSHA256: hex64("r"),
		CompletedAt: "2026-11-01T10:00:00Z",
		Summary:     map[string]float64{"x": 1.5},
	}
	b.Limits.PriceCollarBps, b.Limits.MaxDailyLoss, b.Limits.QuoteCurrency = nil, "", ""
	b.KnownLimitations, b.Extensions = nil, nil
	d, err := bundle.Seal(b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEveryBitCounts flips each bit of a signed post: none of the results is accepted.
func TestEveryBitCounts(t *testing.T) {
	t.Parallel()
	d, j := small(t), judge(t)
	body, err := bundle.EncodePost(d.Canonical, sign(t, d, bundle.TypeBundle, nil, "lab"))
	if err != nil {
		t.Fatal(err)
	}
	accepted := func(body []byte) bool {
		p, refused := bundle.ReadPost(body)
		if refused == nil {
			refused = p.CheckSeal(clock, origin)
		}
		if refused == nil {
			_, refused = p.Attestations(j)
		}
		return refused == nil
	}
	if !accepted(body) {
		t.Fatal("the body itself is refused")
	}
	every := ring.Size(37, 1, 1)
	for i := range body {
		for bit := range 8 {
			if (8*i+bit)%every != 0 {
				continue
			}
			body[i] ^= 1 << bit
			if accepted(body) {
				t.Errorf("bit %d of byte %d: accepted: %q", bit, i, body[max(0, i-20):min(len(body), i+20)])
			}
			body[i] ^= 1 << bit
		}
	}
}

// TestUnsignedBits flips each bit of an unsigned bundle: only what is outside the core
// and not bound to it otherwise may change.
func TestUnsignedBits(t *testing.T) {
	t.Parallel()
	d := small(t)
	request := treeOf(t, d.Canonical)["seal_request"].(map[string]any)
	for _, name := range []string{"requested_at", "expires_at", "requested_by", "requested_stage",
		"log_origin"} {
		delete(request, name)
	}
	want := digest.Tree(request)
	text := append([]byte{}, d.Canonical...)
	changed, every := 0, ring.Size(5, 1, 1)
	for i := range text {
		for bit := range 8 {
			if (8*i+bit)%every != 0 {
				continue
			}
			text[i] ^= 1 << bit
			p, refused := bundle.ReadPost(text)
			if refused == nil && p.CheckSeal(clock, origin) == nil {
				changed++
				now := treeOf(t, p.Canonical)
				got := now["seal_request"].(map[string]any)
				stage := got["requested_stage"]
				for _, name := range []string{"requested_at", "expires_at", "requested_by", "requested_stage",
					"log_origin"} {
					delete(got, name)
				}
				if p.Bundle.CandidateRevisionID != d.Bundle.CandidateRevisionID ||
					string(digest.Tree(got)) != string(want) ||
					stage != "paper" || p.Bundle.SealRequest.LogOrigin != origin {
					t.Errorf("bit %d of byte %d was accepted", bit, i)
				}
			}
			text[i] ^= 1 << bit
		}
	}
	if changed == 0 {
		t.Error("nothing can be changed at all: does this test look?")
	}
}

func FuzzPost(f *testing.F) {
	d := sealed(f)
	f.Add(d.Canonical)
	body, err := bundle.EncodePost(d.Canonical, sign(f, d, bundle.TypeBundle, nil, "lab"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	for _, bad := range badTexts {
		if len(bad.body) < 1000 {
			f.Add([]byte(bad.body))
		}
	}
	j := judge(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		p, refused := bundle.ReadPost(in)
		if refused != nil {
			if refused.Code == "" || refused.Message == "" {
				t.Fatalf("%+v", refused)
			}
			return
		}
		again, refused := bundle.Decode(p.Canonical)
		if refused != nil || again.FileSHA256 != p.FileSHA256 {
			t.Fatalf("%s: %v", p.Canonical, refused)
		}
		_, _ = p.Attestations(j)
	})
}

// TestAccepted: what was taken once reads the same by its hash alone, and nothing else
// reads by it.
func TestAccepted(t *testing.T) {
	doc := sealed(t)
	again, refused := bundle.Accepted(doc.Canonical, doc.FileSHA256)
	if refused != nil {
		t.Fatal(refused)
	}
	if !reflect.DeepEqual(again, doc) {
		t.Errorf("%+v\n%+v", again, doc)
	}
	for i := range doc.Canonical {
		bad := slices.Clone(doc.Canonical)
		bad[i] ^= 1
		if _, refused := bundle.Accepted(bad, doc.FileSHA256); refused == nil {
			t.Fatalf("byte %d can be another one", i)
		}
	}
	other := []byte(`{"schema":"candidate-bundle/v1"}`)
	if _, refused := bundle.Accepted(other, digest.SHA256Hex(other)); refused == nil {
		t.Error("what is no bundle was read by its hash")
	}
}
