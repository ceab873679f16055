package control_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/promotion"
)

// TestReadsFollowTheLog: an answer that is kept is never that of another log or moment.
func TestReadsFollowTheLog(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	const path = "/promotion-state/family/sma-cross"
	if a := must[planetest.Answer](t)(p.Get(path)); a.Code() != "SUBJECT_NOT_FOUND" {
		t.Errorf("before anything was posted: %s", a.Body)
	}
	last := ""
	for i := range 5 {
		doc := planetest.Good(p.Now(), planetest.Params(fmt.Sprintf(`{"fast":%d}`, i)))
		submit(t, p, http.StatusCreated, doc, planetest.Signed())
		var s promotion.State
		a := get(t, p, path, &s)
		if s.AsOfSeq != p.Store.Size()-1 || len(s.Revisions) != i+1 {
			t.Errorf("after post %d: as of %d, %d revisions", i, s.AsOfSeq, len(s.Revisions))
		}
		if again := get(t, p, path, nil); string(again.Body) != string(a.Body) || string(a.Body) == last {
			t.Errorf("after post %d: not the same for two readers, or the same as before", i)
		}
		last = string(a.Body)
	}
	p.Advance(59 * time.Second)
	p.Advance(time.Second)
	var s promotion.State
	get(t, p, path, &s)
	if want := planetest.Start.Add(time.Minute).Format(time.RFC3339); s.AsOf != want {
		t.Errorf("a minute later: as of %s, want %s", s.AsOf, want)
	}
	p.Advance(100 * 24 * time.Hour)
	get(t, p, path, &s)
	if s.StageStatus != "expired" || len(s.DeployableModes) > 0 {
		t.Errorf("100 days later: %s, modes %v", s.StageStatus, s.DeployableModes)
	}
}

// TestReadersAndWriters: reads beside posts are each of one log, and never of half a post.
func TestReadersAndWriters(t *testing.T) {
	p := plane(t, planetest.Options{})
	submit(t, p, http.StatusCreated, planetest.Good(p.Now()))
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			seen := int64(-1)
			for {
				select {
				case <-done:
					return
				default:
				}
				var s promotion.State
				a, err := p.Get("/promotion-state/strategy/sma_cross")
				if err == nil {
					err = a.Decode(&s)
				}
				// policy, then three for each post
				if err != nil || a.Status != 200 || s.AsOfSeq < seen || s.AsOfSeq%3 != 1 {
					t.Errorf("%v %d: as of %d after %d", err, a.Status, s.AsOfSeq, seen)
					return
				}
				seen = s.AsOfSeq
			}
		})
	}
	for i := range 20 {
		doc := planetest.Good(p.Now(), func(b *bundle.Bundle) {
			b.Candidate.CandidateID = fmt.Sprintf("sma-cross.c%d", i)
		})
		submit(t, p, http.StatusCreated, doc)
	}
	close(done)
	wg.Wait()
}

// TestIdle: 400 days promote nothing, neither by reads nor by what happens to others.
func TestIdle(t *testing.T) {
	p, doc := ready(t, planetest.Trust(1))
	submit(t, p, http.StatusCreated, doc, approval(t, p, doc, "rita", "risk"))
	waiting := planetest.Good(p.Now(), planetest.Params(`{"fast":99}`), func(b *bundle.Bundle) {
		b.Candidate.CandidateID = "sma-cross.waiting"
		b.Runs[0].Summary["total_trades"] = 3 // fails, and so waits in research
	})
	submit(t, p, http.StatusCreated, waiting)
	for range 40 {
		p.Advance(10 * 24 * time.Hour)
		size := p.Store.Size()
		for _, d := range []*bundle.Document{doc, waiting} {
			state(t, p, d)
			plan(t, p, d, "live")
		}
		if p.Store.Size() != size {
			t.Fatal("reads made the log grow")
		}
		submit(t, p, http.StatusCreated,
			planetest.Good(p.Now(), planetest.Title(p.Now().String()), func(b *bundle.Bundle) {
				b.Candidate.CandidateID, b.Candidate.FamilyID = "other.one", "other"
			}))
	}
	if s := state(t, p, doc); s.Stage != bundle.Paper || s.StageStatus != "expired" {
		t.Errorf("%s/%s", s.Stage, s.StageStatus)
	}
	stands(t, p, waiting, "research/pending")
	var reg promotion.Registry
	get(t, p, "/deployable-registry/sma-cross", &reg)
	if len(reg.Entries) != 1 || slices.Contains(reg.Entries[0].Modes, "live") {
		t.Errorf("%+v", reg.Entries)
	}
}

// TestTagNamesContent: one ETag for a body, however it is coded.
func TestTagNamesContent(t *testing.T) {
	p := plane(t, planetest.Options{})
	doc := planetest.Good(planetest.Start)
	submit(t, p, http.StatusCreated, doc)
	path := "/candidate-bundles/" + doc.Bundle.CandidateRevisionID
	plain := get(t, p, path, nil)
	zipped := must[planetest.Answer](t)(p.Do("GET", path, nil, http.Header{"Accept-Encoding": {"gzip"}}))
	tag := `"` + doc.FileSHA256[:16] + `"`
	if plain.Header.Get("ETag") != tag || zipped.Header.Get("ETag") != tag ||
		zipped.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%s and %s, want %s", plain.Header.Get("ETag"), zipped.Header.Get("ETag"), tag)
	}
	for _, sent := range []string{tag, "W/" + tag, strings.Replace(tag, `"`, "", 2), `"x", ` + tag, "*",
		strings.TrimSuffix(tag, `"`) + `-gzip"`} {
		if a := must[planetest.Answer](t)(p.Do("GET", path, nil,
			http.Header{"If-None-Match": {sent}})); a.Status != http.StatusNotModified {
			t.Errorf("If-None-Match %s: %d", sent, a.Status)
		}
	}
}

// TestArtifactRootGone: bundles are taken while the folder is away, with what is known.
func TestArtifactRootGone(t *testing.T) {
	root := t.TempDir()
	p := plane(t, planetest.Options{ArtifactRoot: root})
	doc := artifactBundle(t, root, 2)
	if err := os.RemoveAll(filepath.Join(root, "runs")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	a := must[planetest.Answer](t)(p.Do("POST", "/candidate-bundles/ingest", doc.Canonical,
		http.Header{"Content-Type": {"application/json"}}))
	r, want := read(t, a),
		append(slices.Repeat([]string{"ARTIFACT_NOT_FOUND"}, len(doc.Bundle.Artifacts)), "EVIDENCE_NOT_READ")
	if !slices.Equal(r.Rungs, []string{"hash_claimed"}) || !slices.Equal(r.warned(), want) {
		t.Errorf("%v %v", r.Rungs, r.Warnings)
	}
}
