package control_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/client"
	"github.com/assay-run/assay/governance/control/planetest"
)

// TestAWindowOfOnesChoice: the plane draws the window again from its own log, and refuses an answer
// to another one with both values. Before there is a seal there is nothing to answer.
func TestAWindowOfOnesChoice(t *testing.T) {
	p := plane(t, planetest.Options{Trust: planetest.Trust(1)})
	doc := planetest.Good(p.Now())
	early := planetest.Replay(doc, p.Now())
	early.Challenge = &bundle.ChallengeAnswer{DecisionSHA256: doc.FileSHA256, Challenge: bundle.Challenge{
		Schema: bundle.SchemaChallenge, Leaf: doc.FileSHA256, Start: "2023-01-01T00:00:00.000Z", Candles: 2000}}
	refusedFor(t, p, doc, planetest.Statement{By: "replayer", Type: bundle.TypeReplay, Predicate: early},
		"INVALID_CHALLENGE", "unknown")
	submit(t, p, http.StatusCreated, doc, planetest.Signed())
	said := must[planetest.Statement](t)(p.Replayed(doc))
	came := said.Predicate.(bundle.Replay)
	came.Candles = []bundle.CandleSource{{SHA256: doc.Bundle.Data[0].SHA256, Source: "imported",
		From: doc.FileSHA256}}
	said.Predicate = came
	own := said.Predicate.(bundle.Replay)
	right := own.Challenge.Start
	chosen := *own.Challenge
	chosen.Start = "2023-06-01T00:00:00.000Z"
	own.Challenge = &chosen
	var body struct {
		Error struct {
			Details struct{ Reason, Declared, Computed string }
		}
	}
	a := submit(t, p, http.StatusBadRequest, doc,
		planetest.Statement{By: "replayer", Type: bundle.TypeReplay, Predicate: own})
	if err := a.Decode(&body); err != nil || a.Code() != "INVALID_CHALLENGE" ||
		body.Error.Details.Reason != "window" || body.Error.Details.Declared != chosen.Start ||
		body.Error.Details.Computed != right {
		t.Errorf("%s", a.Body)
	}
	came.Candles[0].Source = "somewhere"
	_, err := p.Submit(doc, said)
	if err == nil || !strings.Contains(err.Error(), "/predicate/candles/0/source") {
		t.Error(err)
	}
	came.Candles[0].Source = "imported"
	submit(t, p, http.StatusCreated, doc, said)
	if s := state(t, p, doc); len(s.Replays) != 1 || s.Replays[0].Principal != "replayer" ||
		!slices.Equal(s.Replays[0].Candles, came.Candles) {
		t.Errorf("%+v", s.Replays)
	}
}

// TestTheSameFromTheLog: a client draws the window from a seal that it has verified; a plane that
// reads its log again comes to the same state.
func TestTheSameFromTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "governance")
	trust := planetest.Trust(1)
	p := must[*planetest.Plane](t)(planetest.Open(planetest.Options{Dir: dir, Trust: trust}))
	doc := planetest.Good(p.Now())
	submit(t, p, http.StatusCreated, doc, planetest.Signed())
	c := must[*client.Client](t)(client.New(client.Options{URL: p.URL, Key: p.Store.Keys().Public.PEM()}))
	drawn := must[*bundle.Challenge](t)(c.Challenge(t.Context(), &doc.Bundle))
	said := must[planetest.Statement](t)(p.Replayed(doc))
	if *drawn != said.Predicate.(bundle.Replay).Challenge.Challenge {
		t.Errorf("%+v, the plane has %+v", drawn, said)
	}
	submit(t, p, http.StatusCreated, doc, said)
	// A further request for the same revision is a further seal; the first one draws the window.
	later := planetest.Good(p.Now(), planetest.Target(bundle.Canary))
	submit(t, p, http.StatusCreated, later, planetest.Signed())
	if again := must[*bundle.Challenge](t)(c.Challenge(t.Context(), &later.Bundle)); *again != *drawn {
		t.Errorf("%+v, after another seal %+v", drawn, again)
	}
	before := state(t, p, doc)
	if before.Challenge.Verdict != "unconfirmed" || len(before.Challenge.Answers) != 1 ||
		before.Challenge.Answers[0].Principal != "replayer" {
		t.Errorf("%+v", before.Challenge)
	}
	stranger := must[*client.Client](t)(client.New(client.Options{URL: p.URL,
		Key: plane(t, planetest.Options{}).Store.Keys().Public.PEM()}))
	var untrusted *client.UntrustedError
	if _, err := stranger.Challenge(t.Context(), &doc.Bundle); !errors.As(err, &untrusted) {
		t.Errorf("a seal by another key draws a window: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	after := state(t, plane(t, planetest.Options{Dir: dir, Trust: trust}), doc)
	if !reflect.DeepEqual(after, before) {
		t.Errorf("%+v, before %+v", after, before)
	}
}
