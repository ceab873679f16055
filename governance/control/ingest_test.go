package control_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

type receipt struct {
	Schema     string
	Revision   string `json:"candidate_revision_id"`
	Duplicate  bool
	Assurance  string
	Rungs      []string
	Facts      []map[string]any
	FactsTotal int `json:"facts_total"`
	Seal       *ledger.Seal
	State      struct {
		Stage, Href string
		Status      string `json:"stage_status"`
	} `json:"promotion_state"`
	Pending  *int `json:"pending_experiments"`
	Warnings []struct{ Code, Message, Pointer string }
}

func read(t *testing.T, a planetest.Answer) receipt {
	t.Helper()
	var r receipt
	if err := a.Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r receipt) warned() (codes []string) {
	for _, w := range r.Warnings {
		codes = append(codes, w.Code)
	}
	return codes
}

// TestOpenMode: without trust.json all works up to paper, and attestations are refused.
func TestOpenMode(t *testing.T) {
	p := plane(t, planetest.Options{})
	doc := planetest.Good(planetest.Start)
	if a := submit(t, p, http.StatusBadRequest, doc, planetest.Signed()); a.Code() != "INVALID_SIGNATURE" {
		t.Errorf("an attestation in open mode: %s", a.Body)
	}
	a := submit(t, p, http.StatusCreated, doc)
	r := read(t, a)
	if r.Schema != "ingest-receipt/v1" || r.Duplicate || r.Assurance != "hash_verified" ||
		r.State.Stage != "paper" || r.State.Status != "active" || r.Pending == nil ||
		a.Header.Get("Location") != "/promotion-state/candidate_revision/"+r.Revision ||
		r.State.Href != a.Header.Get("Location") {
		t.Errorf("%s", a.Body)
	}
	again := submit(t, p, http.StatusOK, doc)
	if d := read(t, again); !d.Duplicate || d.Seal.LogIndex != r.Seal.LogIndex ||
		d.Seal.LeafSHA256 != r.Seal.LeafSHA256 {
		t.Errorf("%s", again.Body)
	}
	var plan struct{ Verdict string }
	get(t, p, "/promotion-plans/candidate_revision/"+r.Revision+"/canary", &plan)
	if plan.Verdict != "pending" {
		t.Errorf("plan for canary: %s", plan.Verdict)
	}
}

// TestSealVerifies: what a receipt carries can be checked with the published keys alone.
func TestSealVerifies(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	doc := planetest.Good(planetest.Start)
	r := read(t, submit(t, p, http.StatusCreated, doc, planetest.Signed()))
	if !slices.Equal(r.Rungs, []string{"hash_claimed", "hash_verified", "signed"}) ||
		r.Seal.Assurance != "signed" {
		t.Errorf("rungs %v, seal %s", r.Rungs, r.Seal.Assurance)
	}
	key := must[*ledger.Key](t)(ledger.ParseKey(get(t, p, "/trust/governance.pub", nil).Body))
	logs := must[[]ledger.TrustedLog](t)(
		ledger.ParseTrustedRoot(get(t, p, "/trust/trusted_root.json", nil).Body))
	s := &r.Seal.Sigstore
	head, _, err := s.CheckCheckpoint(logs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.CheckSignature(key), s.CheckLeaf(key), s.CheckInclusion(key, head),
		s.CheckProof(r.Seal.TlogProof, key, head, logs...), r.Seal.CheckSummary(key, head)} {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestFurtherSubmission: the same core may ask for another stage, and attestations may come
// later; each makes the log grow once.
func TestFurtherSubmission(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	first := planetest.Good(planetest.Start, planetest.Target(bundle.Research))
	submit(t, p, http.StatusCreated, first)
	stands(t, p, first, "research/pending")
	second := planetest.Good(planetest.Start, planetest.Target(bundle.Paper))
	if second.Bundle.CandidateRevisionID != first.Bundle.CandidateRevisionID {
		t.Fatal("another core")
	}
	submit(t, p, http.StatusCreated, second, planetest.Signed())
	stands(t, p, first, "paper/active")
	size := p.Store.Size()
	drill := planetest.Statement{By: "otto", Type: bundle.TypeDrill,
		Predicate: planetest.Drill(second, p.Now(), "pass")}
	submit(t, p, http.StatusCreated, second, drill)
	submit(t, p, http.StatusOK, second, drill, planetest.Signed())
	if got := p.Store.Size(); got != size+1 {
		t.Errorf("the log has %d entries, want %d", got, size+1)
	}
	p.Advance(60 * 24 * time.Hour)
	submit(t, p, http.StatusOK, second) // also when its request has expired
	late := planetest.Good(planetest.Start, planetest.Title("late"))
	if a := submit(t, p, http.StatusBadRequest, late); a.Code() != "SEAL_REQUEST_EXPIRED" {
		t.Errorf("%s", a.Body)
	}
	early := planetest.Good(p.Now().Add(time.Hour), planetest.Title("early"))
	if a := submit(t, p, http.StatusBadRequest, early); a.Code() != "SEAL_REQUEST_NOT_YET_VALID" {
		t.Errorf("%s", a.Body)
	}
	other := planetest.Good(p.Now(), func(b *bundle.Bundle) { b.SealRequest.LogOrigin = "other.example" })
	if a := submit(t, p, http.StatusBadRequest, other); a.Code() != "SEAL_AUDIENCE_MISMATCH" {
		t.Errorf("%s", a.Body)
	}
}

func TestSignatureRequired(t *testing.T) {
	p := plane(t,
		planetest.Options{Trust: planetest.Trust(1, func(tr *bundle.Trust) { tr.RequireSignature = true })})
	doc := planetest.Good(planetest.Start)
	if a := submit(t, p, http.StatusBadRequest, doc); a.Code() != "SIGNATURE_REQUIRED" {
		t.Errorf("%s", a.Body)
	}
	submit(t, p, http.StatusCreated, doc, planetest.Signed())
	submit(t, p, http.StatusOK, doc)
}

// TestEndedRevisions: after a rejection nothing of the revision is taken but statements.
func TestEndedRevisions(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	doc := planetest.Good(planetest.Start)
	submit(t, p, http.StatusCreated, doc, planetest.Signed())
	submit(t, p, http.StatusCreated, doc,
		planetest.Statement{By: "anna", Type: bundle.TypeRejection,
			Predicate: bundle.Ending{Common: planetest.Common(doc, p.Now())}})
	stands(t, p, doc, "paper/rejected")
	again := planetest.Good(planetest.Start, planetest.Target(bundle.Paper))
	a := submit(t, p, http.StatusConflict, again)
	if a.Code() != "CANDIDATE_REVISION_REJECTED" {
		t.Errorf("%s", a.Body)
	}
	submit(t, p, http.StatusOK, doc)
}

func TestWarnings(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	doc := planetest.Good(planetest.Start, func(b *bundle.Bundle) {
		b.Candidate.Lineage = bundle.Lineage{
			ParentRevisionID: new("cr-" + digest.SHA256Hex([]byte("unknown"))),
			ChangeClass:      bundle.ChangeNonMaterial}
	})
	now := p.Now()
	r := read(t, submit(t, p, http.StatusCreated, doc,
		planetest.Statement{By: "otto", Type: "https://example.com/other/v1",
			Predicate: map[string]any{"a": 1}},
		planetest.Statement{By: "rita", Type: bundle.TypeApproval, Predicate: bundle.Approval{
			Common: planetest.Common(doc, now), Action: "promote", Stage: bundle.Canary, Role: "risk",
			PlanDigest: "sha256:" + digest.SHA256Hex(nil),
		}}))
	for _, want := range []string{"CHANGE_CLASS_DIFFERS", "UNKNOWN_PREDICATE_TYPE", "APPROVAL_PLAN_DIFFERS"} {
		if !slices.Contains(r.warned(), want) {
			t.Errorf("no %s in %v", want, r.Warnings)
		}
	}
}

// artifactBundle lists some files and writes them below root.
func artifactBundle(t *testing.T, root string, n int) *bundle.Document {
	t.Helper()
	dir := filepath.Join(root, "runs", "base")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return planetest.Good(planetest.Start, func(b *bundle.Bundle) {
		for i := range n {
			name := "file-" + string(rune('a'+i%26)) + digest.SHA256Hex([]byte{byte(i), byte(i >> 8)})[:8]
			text := []byte("content of " + name)
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
			b.Artifacts = append(b.Artifacts,
				bundle.Artifact{Name: "runs/base/" + name, SHA256: digest.SHA256Hex(text),
					Size: int64(len(text)), RunID: "base"})
		}
	})
}

func TestArtifacts(t *testing.T) {
	root := t.TempDir()
	p := plane(t, planetest.Options{ArtifactRoot: root})
	doc := artifactBundle(t, root, 3)
	at := func(i int) string { return filepath.Join(root, filepath.FromSlash(doc.Bundle.Artifacts[i].Name)) }
	whole := must[[]byte](t)(os.ReadFile(at(1)))
	if err := os.WriteFile(at(1), []byte("Content"+string(whole[7:])), 0o600); err != nil {
		t.Fatal(err)
	}
	a := submit(t, p, http.StatusBadRequest, doc)
	if a.Code() != "ARTIFACT_HASH_MISMATCH" {
		t.Errorf("another file: %s", a.Body)
	}
	// A link out of the folder is no file of it, even if its bytes are right.
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(at(1))
	if err := os.Symlink(outside, at(1)); err != nil {
		t.Fatal(err)
	}
	r := read(t, submit(t, p, http.StatusCreated, doc))
	if !slices.Equal(r.Rungs, []string{"hash_claimed"}) ||
		!slices.Equal(r.warned(), []string{"ARTIFACT_NOT_FOUND", "EVIDENCE_NOT_READ"}) ||
		r.Warnings[0].Pointer != "/bundle/artifacts/1" {
		t.Errorf("a link: %v %v", r.Rungs, r.Warnings)
	}
	if r.FactsTotal != len(r.Facts)+len(doc.Bundle.Artifacts) {
		t.Errorf("%d facts of %d", len(r.Facts), r.FactsTotal)
	}
	_ = os.Remove(at(1))
	if err := os.WriteFile(at(1), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	again := doc.Bundle
	again.SealRequest.RequestedStage = bundle.Paper
	r = read(t, submit(t, p, http.StatusCreated, must[*bundle.Document](t)(bundle.Seal(again))))
	if !slices.Equal(r.Rungs, []string{"hash_claimed", "hash_verified"}) || len(r.Warnings) > 0 {
		t.Errorf("all there: %v %v", r.Rungs, r.Warnings)
	}
}

// TestArtifactsInABucket: a plane reads from a bucket what it would read from a folder.
func TestArtifactsInABucket(t *testing.T) {
	ring.Proof(t, "builds an S3 store")
	store := hosttest.OpenBucket(t)
	for name, value := range store.Env() {
		t.Setenv(name, value)
	}
	p := plane(t, planetest.Options{ArtifactRoot: store.Address()})
	root := t.TempDir()
	doc := artifactBundle(t, root, 3)
	put := func(i int, change string) {
		t.Helper()
		name := doc.Bundle.Artifacts[i].Name
		text := must[[]byte](t)(os.ReadFile(filepath.Join(root, filepath.FromSlash(name))))
		text = append([]byte(change), text[len(change):]...)
		if err := planetest.Put(p.Root, map[string][]byte{name: text}); err != nil {
			t.Fatal(err)
		}
	}
	put(0, "")
	put(1, "C")
	if a := submit(t, p, http.StatusBadRequest, doc); a.Code() != "ARTIFACT_HASH_MISMATCH" {
		t.Errorf("another file: %s", a.Body)
	}
	put(1, "")
	r := read(t, submit(t, p, http.StatusCreated, doc))
	if !slices.Equal(r.Rungs, []string{"hash_claimed"}) || r.Warnings[0].Pointer != "/bundle/artifacts/2" {
		t.Errorf("one is missing: %v %v", r.Rungs, r.Warnings)
	}
	put(2, "")
	again := doc.Bundle
	again.SealRequest.RequestedStage = bundle.Paper
	r = read(t, submit(t, p, http.StatusCreated, must[*bundle.Document](t)(bundle.Seal(again))))
	if !slices.Equal(r.Rungs, []string{"hash_claimed", "hash_verified"}) || len(r.Warnings) > 0 {
		t.Errorf("all there: %v %v", r.Rungs, r.Warnings)
	}
}

// TestManyArtifacts: a seal names at most 1,024 subjects, and comes in parts.
func TestManyArtifacts(t *testing.T) {
	root := t.TempDir()
	p := plane(t, planetest.Options{ArtifactRoot: root})
	doc := artifactBundle(t, root, 1500)
	before := p.Store.Size()
	r := read(t, submit(t, p, http.StatusCreated, doc))
	total := 0
	for seq := before; seq < before+2; seq++ {
		var body struct{ Seal ledger.Seal }
		get(t, p, "/facts/"+string(rune('0'+seq)), &body)
		e := must[ledger.Entry](t)(body.Seal.Sigstore.Entry())
		var st bundle.Statement
		if err := json.Unmarshal(e.Payload, &st); err != nil || st.PredicateType != bundle.TypeSeal ||
			len(st.Subject) > 1024 {
			t.Fatalf("entry %d: %v %s with %d subjects", seq, err, st.PredicateType, len(st.Subject))
		}
		if st.Subject[0].Name != bundle.FileName {
			t.Errorf("part without the bundle: %s", st.Subject[0].Name)
		}
		total += len(st.Subject) - 1
	}
	if total != len(doc.Bundle.Artifacts) || r.Assurance != "hash_verified" || r.Seal.LogIndex != before {
		t.Errorf("%d artifacts sealed, %s, at %d", total, r.Assurance, r.Seal.LogIndex)
	}
}

// TestRace: 400 posts of one id by 8 clients, half of them with another core under it: one
// is taken, and sealed once.
func TestRace(t *testing.T) {
	p := plane(t, planetest.Options{})
	doc := planetest.Good(planetest.Start)
	var other map[string]any
	if err := json.Unmarshal(doc.Canonical, &other); err != nil {
		t.Fatal(err)
	}
	other["engine"].(map[string]any)["version"] = "2"
	forged := must[[]byte](t)(json.Marshal(other))
	before := p.Store.Size()
	var mu sync.Mutex
	counts, sealed := map[int]int{}, map[int64]bool{}
	var wg sync.WaitGroup
	for client := range 8 {
		wg.Go(func() {
			for i := range 50 {
				body, want := doc.Canonical, []int{http.StatusOK, http.StatusCreated}
				if (client+i)%2 == 1 {
					body, want = forged, []int{http.StatusBadRequest, http.StatusConflict}
				}
				a, err := p.Post(body)
				if err != nil || !slices.Contains(want, a.Status) {
					t.Errorf("%v %d %s", err, a.Status, a.Body)
					return
				}
				mu.Lock()
				counts[a.Status]++
				if a.Status/100 == 2 {
					sealed[read(t, a).Seal.LogIndex] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if counts[http.StatusCreated] != 1 || counts[http.StatusOK] != 199 || len(sealed) != 1 {
		t.Errorf("%v, sealed at %v", counts, sealed)
	}
	if p.Store.Size()-before != 3 { // the seal, research, paper
		t.Errorf("the log grew by %d", p.Store.Size()-before)
	}
}
