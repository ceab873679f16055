package promotion_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
)

// TestEditedEntriesAreRefused changes one thing in the text of an entry. The log's
// signatures would tell too; but nothing here relies on that.
func TestEditedEntriesAreRefused(t *testing.T) {
	cases := []struct{ name, of, from, to string }{
		{"not JSON", "seal", `{`, `[`},
		{"not canonical", "seal", `{"_type"`, `{ "_type"`},
		{"a second value", "seal", `"part":1,`, `"part":1,"part":1,`},
		{"another statement type", "seal", `https://in-toto.io/Statement/v1`, `https://in-toto.io/Statement/v2`},
		{"unknown predicate type", "seal", bundle.TypeSeal, bundle.URIBase + "seal/v2"},
		{"an attestation's type", "seal", bundle.TypeSeal, bundle.TypeApproval},
		{"unknown member", "seal", `"part":1,`, `"part":1,"party":1,`},
		{"missing member", "seal", `"part":1,`, ``},
		{"part 0", "seal", `"part":1,`, `"part":0,`},
		{"too many parts", "seal", `"parts":1`, `"parts":1025`},
		{"no stage", "seal", `"requested_stage":"paper","run`, `"requested_stage":"dev","run`},
		{"bare policy digest", "seal", `"policy_digest":"sha256:`, `"policy_digest":"`},
		{"another revision's request", "seal", `"subject_id":"cr-`, `"subject_id":"cr-0`},
		{"no time", "seal", at, "2026-11-20"},
		{"no such trust", "seal", `"trust_digest":null`, `"trust_digest":"none"`},
		{"long hash", "recorded", `"pae_sha256":"`, `"pae_sha256":"a`},
		{"a number for a name", "recorded", `"principal":"p"`, `"principal":1`},
		{"no key", "recorded", `"key_id":"ab`, `"key_id":"xy`},
		{"unknown cause", "decision", `"cause":"promoted"`, `"cause":"asked"`},
		{"no status", "decision", `"to":"paper/active"`, `"to":"paper"`},
		{"a derived status", "decision", `"to":"paper/active"`, `"to":"paper/eligible"`},
		{"from nowhere", "decision", `"from":"research/pending"`, `"from":"x/y"`},
		{"a bare trust digest", "decision", `"to":"paper/active"`, `"to":"paper/active","trust_digest":"ab"`},
		{"from a number", "decision", `"from":"research/pending"`, `"from":1`},
		{"another text", "policy", `"text":"{}"`, `"text":"{ }"`},
		{"no version", "policy", `"version":1`, `"version":-1`},
		{"a fraction", "policy", `"version":1`, `"version":1.5`},
	}
	of := map[string]*promotion.Entry{
		"seal": seal(t), "recorded": recorded(t, bundle.TypeBundle, nil),
		"decision": decision(t, "research/pending", "paper/active", promotion.CausePromoted),
		"policy":   entries(t)["policy_loaded"],
	}
	for _, c := range cases {
		payload, err := of[c.of].Payload()
		if err != nil {
			t.Fatal(err)
		}
		edited := bytes.Replace(payload, []byte(c.from), []byte(c.to), 1)
		if bytes.Equal(edited, payload) && c.name != "no stage" {
			t.Fatalf("%s: the text has no %s\n%s", c.name, c.from, payload)
		}
		if c.name == "no stage" {
			edited = bytes.ReplaceAll(payload, []byte(`"requested_stage":"paper"`),
				[]byte(`"requested_stage":"dev"`))
		}
		if e, err := promotion.ReadEntry(3, edited); err == nil {
			t.Errorf("%s: read as %+v", c.name, e)
		} else if !strings.HasPrefix(err.Error(), "entry 3: ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestCheckTrust: an entry names the newest trust.json of the log, seals at any time, decisions and
// attestations by the rules that ask for it.
func TestCheckTrust(t *testing.T) {
	for _, rules := range []int64{promotion.RulesProspective, promotion.RulesTrusted} {
		p := trusted(t)
		p.adoptRules(rules)
		named := promotion.TrustNamed(p.w)
		if (named != nil) != (rules == promotion.RulesTrusted) {
			t.Fatalf("rules %d: %v", rules, named)
		}
		other, current := "sha256:"+sum, promotion.SealTrust(p.w)
		for name, c := range map[string]struct {
			trust *string
			entry func(*string) *promotion.Entry
			good  bool
		}{
			"a decision":             {named, decided, true},
			"a decision by another":  {&other, decided, false},
			"an attestation":         {named, noted, true},
			"a seal":                 {current, sealed, true},
			"a seal by another":      {&other, sealed, false},
			"a seal by none":         {nil, sealed, false},
			"a decision by none":     {nil, decided, named == nil},
			"an attestation by none": {nil, noted, named == nil},
		} {
			if err := promotion.CheckTrust(p.w, c.entry(c.trust)); (err == nil) != c.good {
				t.Errorf("rules %d: %s: %v", rules, name, err)
			}
		}
		said := noted(named)
		said.Attested = &bundle.ParsedStatement{Predicate: &bundle.Approval{TrustDigest: other}}
		if err := promotion.CheckTrust(p.w, said); err == nil {
			t.Error("an approval under another trust.json")
		}
	}
}

func decided(trust *string) *promotion.Entry {
	return &promotion.Entry{Predicate: &promotion.StageDecision{TrustDigest: trust}}
}

func noted(trust *string) *promotion.Entry {
	return &promotion.Entry{Predicate: &promotion.Recorded{TrustDigest: trust}}
}

func sealed(trust *string) *promotion.Entry {
	return &promotion.Entry{Predicate: &promotion.Seal{TrustDigest: trust}}
}

func TestEditedFactsAreRefused(t *testing.T) {
	facts, err := promotion.FactsOf(seal(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := facts[1].Encode() // of a run
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string][2]string{
		"not JSON": {`{`, `[`}, "twice": {`"seq":7`, `"seq":7,"seq":7`},
		"unknown member": {`"seq":7`, `"seq":7,"x":1`}, "unknown field": {`"role":`, `"rule":`},
		"other type":   {`"type":"run_linked"`, `"type":"limits_declared"`},
		"no type":      {`"type":"run_linked"`, `"type":"run"`},
		"other run":    {`"run_id":"r1"`, `"run_id":"r2"`},
		"other number": {`"x":1.5`, `"x":1.6`}, "no time": {`"at":"2026`, `"at":"x`},
		"another id":            {`"fact_id":"sha256:`, `"fact_id":"sha256:0`},
		"a string for a number": {`"seq":7`, `"seq":"7"`},
	} {
		edited := bytes.Replace(text, []byte(edit[0]), []byte(edit[1]), 1)
		if bytes.Equal(edited, text) {
			t.Fatalf("%s: the text has no %s\n%s", name, edit[0], text)
		}
		if f, err := promotion.Decode(edited); err == nil {
			t.Errorf("%s: read as %+v", name, f)
		}
	}
}

// TestEachFieldCountsForTheID: two facts that differ in anything have different ids.
func TestEachFieldCountsForTheID(t *testing.T) {
	base := recorded(t, bundle.TypeIncident,
		&bundle.Incident{IncidentID: "i", Event: "open", Severity: "critical"})
	seen := map[string]string{}
	note := func(name string, e *promotion.Entry) {
		t.Helper()
		facts, err := promotion.FactsOf(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range facts {
			if other, ok := seen[f.ID]; ok {
				t.Errorf("%s has the id of %s", name, other)
			}
			seen[f.ID] = name + " " + string(f.Type)
		}
	}
	note("base", base)
	change := func(name string, edit func(e *promotion.Entry, p *promotion.Recorded)) {
		t.Helper()
		e, p := *base, *base.Predicate.(*promotion.Recorded)
		edit(&e, &p)
		e.Predicate = &p
		note(name, &e)
	}
	change("later", func(e *promotion.Entry, _ *promotion.Recorded) { e.Seq++ })
	change("at another time", func(_ *promotion.Entry, p *promotion.Recorded) {
		p.RecordedAt = "2026-11-20T12:30:01Z"
	})
	change("by another key", func(_ *promotion.Entry, p *promotion.Recorded) {
		p.KeyID = strings.Repeat("cd", 32)
	})
	change("by somebody else", func(_ *promotion.Entry, p *promotion.Recorded) { p.Principal = "q" })
	change("in another role", func(_ *promotion.Entry, p *promotion.Recorded) { p.Roles = []string{"host"} })
	change("other bytes", func(_ *promotion.Entry, p *promotion.Recorded) {
		p.PAESHA256 = strings.Repeat("ef", 32)
	})
	change("about another revision", func(e *promotion.Entry, _ *promotion.Recorded) {
		e.Subject = []bundle.Subject{promotion.RevisionSubject("cr-" + strings.Repeat("12", 32))}
	})
	// What the statement says changes the specific fact only: attestation_added names its bytes.
	for name, said := range map[string]*bundle.Incident{
		"a warning":        {IncidentID: "i", Event: "open", Severity: "warning"},
		"another incident": {IncidentID: "j", Event: "open", Severity: "critical"},
	} {
		e := *base
		e.Attested = &bundle.ParsedStatement{Statement: base.Attested.Statement, Predicate: said}
		facts, err := promotion.FactsOf(&e)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := seen[facts[0].ID]; !ok {
			t.Errorf("%s: attestation_added has another id", name)
		}
		if other, ok := seen[facts[1].ID]; ok {
			t.Errorf("%s has the id of %s", name, other)
		}
	}
}

func TestRanks(t *testing.T) {
	last := -1
	for _, s := range append(bundle.PromotionStages(), bundle.Retired) {
		if bundle.Rank(s) != last+1 {
			t.Errorf("%s has rank %d", s, bundle.Rank(s))
		}
		last++
	}
	if bundle.Rank("dev") != -1 || bundle.Rank("") != -1 {
		t.Error("what is no stage has a rank")
	}
	for s, want := range map[promotion.Status]bool{promotion.Rejected: true, promotion.Retired: true,
		promotion.Superseded: false, promotion.Suspended: false, promotion.Active: false,
		promotion.Pending: false} {
		if s.Terminal() != want {
			t.Errorf("%s: %v", s, s.Terminal())
		}
	}
}
