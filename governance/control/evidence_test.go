package control_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// refuted is a bundle whose files say that the candidate is refuted.
func refuted(now time.Time) *bundle.Document {
	return planetest.Good(now, planetest.WithSoaks(now), func(b *bundle.Bundle) {
		b.Runs[0].Summary["stress_failed"], b.Runs[0].Summary["max_drawdown"],
			b.Runs[1].Summary["gates_failed"] = 1, 0.40, 1
	})
}

// forge changes what a bundle declares and makes its id again, as whoever packs it can.
func forge(t *testing.T, doc *bundle.Document, edit func(*bundle.Bundle)) *bundle.Document {
	t.Helper()
	copied := must[*bundle.Document](t)(bundle.Seal(doc.Bundle)).Bundle
	copied.Runs = slices.Clone(copied.Runs)
	for i := range copied.Runs {
		r := &copied.Runs[i]
		summary := map[string]float64{}
		for name, v := range r.Summary {
			summary[name] = v
		}
		r.Summary = summary
	}
	edit(&copied)
	return must[*bundle.Document](t)(bundle.Seal(copied))
}

// sma is the forgery that ends live where declared numbers are believed.
func sma(b *bundle.Bundle) {
	b.Runs[0].Summary["stress_failed"], b.Runs[0].Summary["max_drawdown"],
		b.Runs[1].Summary["gates_failed"] = 0, 0.11, 0
}

type mismatch struct {
	Error struct {
		Code    string
		Details struct {
			Pointer            string
			Declared, Computed any
		}
	}
}

// TestForgedNumbersAreRefused: signed by the packer and replayed by another key; the log does
// not grow.
func TestForgedNumbersAreRefused(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	now := p.Now()
	honest := refuted(now)
	submit(t, p, http.StatusCreated, honest, planetest.Signed())
	stands(t, p, honest, "research/pending")
	size := p.Store.Size()
	for name, c := range map[string]struct {
		edit    func(*bundle.Bundle)
		pointer string
	}{
		"the refuted run as survived": {sma, "/bundle/runs/0/summary/max_drawdown"},
		"one verdict alone": {func(b *bundle.Bundle) {
			b.Runs[1].Summary["gates_failed"] = 0
		}, "/bundle/runs/1/summary/gates_failed"},
		"a Sharpe ratio of 99": {func(b *bundle.Bundle) {
			b.Runs[0].Summary["sharpe_ratio"], b.Runs[0].Summary["max_drawdown"] = 99, 0.01
		}, "/bundle/runs/0/summary/max_drawdown"},
		"fewer trials": {func(b *bundle.Bundle) {
			b.Trials = &bundle.Trials{FamilyTrials: 1}
		}, "/bundle/trials/family_trials"},
		"paper that was a lab run": {func(b *bundle.Bundle) {
			b.Runs[0].Role = bundle.RolePaper
		}, "/bundle/runs/0/role"},
	} {
		forged := forge(t, honest, c.edit)
		a := submit(t, p, http.StatusBadRequest, forged, planetest.Signed(),
			planetest.Statement{By: "replayer", Type: bundle.TypeReplay, Predicate: hashes(forged, now)})
		var m mismatch
		if err := a.Decode(&m); err != nil || m.Error.Code != "SUMMARY_MISMATCH" ||
			m.Error.Details.Pointer != c.pointer || m.Error.Details.Declared == m.Error.Details.Computed {
			t.Errorf("%s: %s", name, a.Body)
		}
		if p.Store.Size() != size {
			t.Fatalf("%s: the log grew", name)
		}
	}
}

// hashes is a replay that repeats what stands in the bundle, as one that never ran could.
func hashes(doc *bundle.Document, now time.Time) bundle.Replay {
	r := bundle.Replay{Common: planetest.Common(doc, now)}
	for _, run := range doc.Bundle.Runs {
		r.Runs = append(r.Runs,
			bundle.ReplayedRun{RunID: run.RunID, RequestHash: run.RequestHash, ReportSHA256: run.ReportSHA256,
				Trades: []bundle.SplitTrades{}})
	}
	return r
}

// TestForgedNumbersWithoutFilesGoNowhere: where the plane cannot read, the bundle is kept as
// claimed; signatures, replays and waivers do not move it.
func TestForgedNumbersWithoutFilesGoNowhere(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	now := p.Now()
	honest := refuted(now)
	forged := forge(t, honest, sma)
	r := read(t, submit(t, p, http.StatusCreated, forged, planetest.Signed(),
		planetest.Statement{By: "replayer", Type: bundle.TypeReplay, Predicate: hashes(forged, now)}))
	if !slices.Equal(r.Rungs, []string{"hash_claimed", "signed"}) ||
		!slices.Contains(r.warned(), "EVIDENCE_NOT_READ") {
		t.Errorf("%v %v", r.Rungs, r.warned())
	}
	for _, g := range []string{"falsification.survived", "stress.survived", "drawdown.limit"} {
		submit(t, p, http.StatusCreated, forged,
			planetest.Statement{By: "rita", Type: bundle.TypeWaiver, Predicate: bundle.Waiver{
				Common: planetest.Common(forged, now), Stage: bundle.Paper, GateID: g,
			}})
	}
	stands(t, p, forged, "research/pending")
	for _, stage := range []string{"paper", "canary", "live"} {
		for _, g := range plan(t, p, forged, stage).Gates {
			if g.Verdict == policy.Pass && g.GateID != "incidents.none" && g.GateID != "bundle.signed" {
				t.Errorf("%s passes for %s", g.GateID, stage)
			}
		}
	}
}

// TestSharpe99Unsigned is refused with the files, and stays in research without.
func TestSharpe99Unsigned(t *testing.T) {
	for _, trust := range []*bundle.Trust{nil, planetest.Trust(1)} {
		p := plane(t, planetest.Options{Trust: trust})
		honest := planetest.Good(p.Now())
		boast := forge(t, honest, func(b *bundle.Bundle) {
			b.Runs[0].Summary["sharpe_ratio"], b.Runs[0].Summary["max_drawdown"] = 99, 0.01
		})
		submit(t, p, http.StatusCreated, boast) // nobody has given the plane the files yet
		stands(t, p, boast, "research/pending")
		submit(t, p, http.StatusCreated, honest)
		again := boast.Bundle
		again.SealRequest.RequestedStage = bundle.Paper
		if a := submit(t, p, http.StatusBadRequest,
			must[*bundle.Document](t)(bundle.Seal(again))); a.Code() != "SUMMARY_MISMATCH" {
			t.Errorf("%s", a.Body)
		}
		stands(t, p, boast, "research/pending")
		want := "research/pending" // whoever is trusted signs
		if trust == nil {
			want = "paper/active"
		}
		stands(t, p, honest, want)
	}
}

// TestReportBytesThatChanged: a report that is not the pinned one is refused, one that is away
// leaves the rung, and one that lies in files of its own making contradicts the others.
func TestReportBytesThatChanged(t *testing.T) {
	p := plane(t, planetest.Options{})
	doc := planetest.Good(p.Now())
	post := func() planetest.Answer {
		return must[planetest.Answer](t)(p.Do("POST", "/candidate-bundles/ingest", doc.Canonical,
			http.Header{"Content-Type": {"application/json"}}))
	}
	files := planetest.Files(&doc.Bundle)
	const name = "runs/base/report.json"
	files[name] = []byte(strings.Replace(string(files[name]), `"pass"`, `"fail"`, 1))
	if err := planetest.Put(p.Root, files); err != nil {
		t.Fatal(err)
	}
	if a := post(); a.Code() != "ARTIFACT_HASH_MISMATCH" {
		t.Errorf("%s", a.Body)
	}
	if err := os.Remove(filepath.Join(p.Root, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
	if r := read(t, post()); !slices.Equal(r.Rungs, []string{"hash_claimed"}) || r.State.Stage != "research" {
		t.Errorf("%v %s", r.Rungs, r.State.Stage)
	}
}

// TestPlanShowsTheNumbers: values and bounds of the gates, the results that the files came to,
// the number of trials, the verdicts, and what has changed since people last agreed.
func TestPlanShowsTheNumbers(t *testing.T) {
	p, doc := ready(t, planetest.Trust(1))
	now := p.Now()
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "rita", "risk"),
		approval(t, p, doc, "anna", "approver"))
	next := planetest.Good(now, planetest.WithSoaks(now), planetest.Params(`{"fast":12}`),
		func(b *bundle.Bundle) {
			b.Candidate.Lineage = bundle.Lineage{ParentRevisionID: &doc.Bundle.CandidateRevisionID,
				ChangeClass: bundle.ChangeMaterial}
			b.Limits.MaxCapital = "20000"
		})
	submit(t, p, http.StatusCreated, next, planetest.Signed())
	n := plan(t, p, next, "canary").Numbers
	if n.Trials != (promotion.TrialNumbers{Declared: 12, Counted: 12, Plane: 12, SameCandles: 2,
		Limit: n.Trials.Limit}) || len(n.Runs) != 3 ||
		*n.Runs[0].Splits[0].MaxDrawdown != 0.2 || n.Runs[0].Splits[0].SharpeRatio != nil {
		t.Errorf("%+v", n)
	}
	if len(n.Falsifications) != 1 || n.Falsifications[0].Overall != "pass" ||
		n.Falsifications[0].Tests[0].ID != "determinism" {
		t.Errorf("%+v", n.Falsifications)
	}
	want := []string{"/limits/max_capital", "/strategy/params/fast", "/strategy/params_sha256"}
	var got []string
	for _, c := range n.Changes {
		got = append(got, c.Pointer)
	}
	if n.Since == nil || *n.Since != doc.Bundle.CandidateRevisionID || !slices.Equal(got, want) ||
		n.Changes[1].Before != 10.0 || n.Changes[1].Now != 12.0 {
		t.Errorf("since %v: %+v", n.Since, n.Changes)
	}
	for _, g := range plan(t, p, next, "paper").Gates {
		if g.GateID == "drawdown.limit" && (g.Observed != 0.2 || *g.Op != "<=" || g.Threshold != 0.25) {
			t.Errorf("%+v", g)
		}
	}
}

// TestDrillsNameARunThatIsOver: the plane holds the record of the run against the bundle and,
// where it can, against the state directory.
func TestDrillsNameARunThatIsOver(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	now := p.Now()
	doc := planetest.Good(now)
	submit(t, p, http.StatusCreated, doc, planetest.Signed())
	say := func(d bundle.Drill, status int, reason string) {
		t.Helper()
		a := submit(t, p, status, doc, planetest.Statement{By: "otto", Type: bundle.TypeDrill, Predicate: d})
		var e struct {
			Error struct {
				Code    string
				Details struct{ Reason, Pointer string }
			}
		}
		if err := a.Decode(&e); err != nil || status != http.StatusCreated &&
			(e.Error.Code != "INVALID_DRILL" || e.Error.Details.Reason != reason ||
				e.Error.Details.Pointer != "/attestations/0/payload") {
			t.Errorf("%s: %s", reason, a.Body)
		}
	}
	d := planetest.Drill(doc, now, "pass")
	d.Metadata = ""
	say(d, http.StatusBadRequest, "no_record")
	d = planetest.Drill(doc, now.Add(5*24*time.Hour), "pass")
	d.Common = planetest.Common(doc, now)
	say(d, http.StatusBadRequest, "ahead")
	d = planetest.Drill(doc, now, "pass")
	if err := planetest.Put(p.Root,
		map[string][]byte{
			"runs/drill-1/metadata.json": []byte(strings.Replace(d.Metadata, "RISK_KILL", "RISK_KILX",
				1))}); err != nil {
		t.Fatal(err)
	}
	say(d, http.StatusBadRequest, "record")
	if err := planetest.Put(p.Root,
		map[string][]byte{"runs/drill-1/metadata.json": []byte(d.Metadata)}); err != nil {
		t.Fatal(err)
	}
	say(d, http.StatusCreated, "")
}
