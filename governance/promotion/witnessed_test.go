package promotion_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/translog"
)

// asksShadow is a policy of shadows for canary and live, with more of its members.
func (p *plane) asksShadow(version int64, more string) {
	p.t.Helper()
	p.text(bundle.TypePolicy, version, fmt.Appendf(nil, `{"schema":"promotion-policy/v1","id":"shadow",
		"version":%d,%s"stages":{"paper":{"auto":true,"gates":[]},
		"canary":{"approvals":[{"role":"risk","count":1},{"role":"any","count":1}],
			"gates":[{"id":"shadow.evidence","kind":"shadow","days":60,"trades":10,"evidence":3}]},
		"live":{"inherit":"canary","gates":[
			{"id":"shadow.evidence","kind":"shadow","days":60,"trades":60,"evidence":3}]}}}`, version, more))
}

// ruled is a plane of such a policy by some rules.
func ruled(t tb, rules int64, more string) *plane {
	p := established(t, rules)
	p.asksShadow(2, more)
	return p
}

func witnessKey(name string) ed25519.PrivateKey {
	d := sha256.Sum256([]byte("TEST ONLY " + name))
	return ed25519.NewKeyFromSeed(d[:])
}

func vkey(t tb, name string) string {
	t.Helper()
	key, err := translog.NewWitnessKey(name, witnessKey(name).Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return key.VKey()
}

// cosignature is that of a witness at a time, over all entries so far.
func (p *plane) cosignature(name string, at time.Time) promotion.Given {
	p.t.Helper()
	c := translog.Checkpoint{Origin: origin, Size: p.seq, Root: tlog.Hash{1}}
	line, err := translog.Cosign(c, name, witnessKey(name), at)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	key, err := translog.ParseWitnessKey(vkey(p.t, name))
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	return promotion.Given{Checkpoint: c, Cosignature: translog.Cosignature{Key: key, At: at, Line: line}}
}

// cosign logs what is new of cosignatures, and returns how many entries that takes.
func (p *plane) cosign(given ...promotion.Given) int {
	p.t.Helper()
	list := promotion.ListUnseen(p.w, given, p.stamp())
	for _, e := range list {
		p.append(e)
	}
	p.settle()
	return len(list)
}

// TestLateDaysFillNoGate: who fetches days when it is known how they ended has fewer than sixty.
func TestLateDaysFillNoGate(t *testing.T) {
	for rules, want := range map[int64]struct {
		verdict policy.Verdict
		words   string
	}{
		promotion.RulesEstablished: {policy.Pass, "after 160 days and 160 trades"},
		promotion.RulesWitnessed: {policy.Pending, "51 of 60 days: E is 9.392 after 51 days and 51 trades " +
			"by own clock; 109 late, which count only where they lose"},
	} {
		p := ruled(t, rules, "")
		id := p.submit(p.good(), signature("packer"))
		p.play(id, bundle.SourceExchange, same(50, 0.012, -0.004))
		first, _ := bundle.Day(p.work(id).NextDay)
		p.now = first.AddDate(0, 0, 112)
		p.say(id, shadow(bundle.SourceExchange, days(first, same(110, 0.009, 0)...)))
		p.gateIs(id, bundle.Canary, want.verdict, want.words)
		s := p.state(id).Shadow
		if s.Days != 160 || s.LateDays < 108 {
			t.Errorf("rules %d: %+v", rules, s)
		}
		// What the log had by the earlier rules keeps its effect.
		p.adoptRules(promotion.RulesWitnessed)
		p.asksShadow(3, "")
		p.gateIs(id, bundle.Canary, want.verdict, "days and ")
	}
}

// TestASealThatIsDatedBack: an owner whose clock is behind seals what was fitted to the days since;
// a witness's time is the truth, and only later days count.
func TestASealThatIsDatedBack(t *testing.T) {
	for rules, want := range map[int64]policy.Verdict{
		promotion.RulesEstablished: policy.Pass, promotion.RulesWitnessed: policy.Pending,
	} {
		p := ruled(t, rules, "")
		id := p.submit(p.good(), signature("packer"))
		sealed := p.seq
		p.play(id, bundle.SourceExchange, same(160, 0.012, -0.004))
		p.gateIs(id, bundle.Canary, policy.Pass, "E is ")
		if sealed >= p.seq {
			t.Fatal("nothing was logged")
		}
		before := p.state(id).Shadow.E
		p.cosign(p.cosignature("w1", p.now))
		p.gateIs(id, bundle.Canary, want, "E is ")
		if s := p.state(id).Shadow; (s.E < 1) != (rules == promotion.RulesWitnessed) || s.Days != 160 {
			t.Errorf("rules %d: E was %v and is %v", rules, before, s.E)
		}
		if rules == promotion.RulesWitnessed {
			p.gateIs(id, bundle.Canary, policy.Pending, "0 of 60 days")
			p.gateIs(id, bundle.Canary, policy.Pending, "160 before its seal was witnessed")
			p.play(id, bundle.SourceExchange, same(160, 0.02, -0.004))
			p.gateIs(id, bundle.Canary, policy.Pass, "after 159 days and 159 trades; 161 before its seal")
		}
	}
}

// TestWitnessedInTime: seconds later nothing changes but who says so.
func TestWitnessedInTime(t *testing.T) {
	p := ruled(t, promotion.RulesWitnessed, "")
	id := p.submit(p.good(), signature("packer"))
	given := p.cosignature("w1", p.now.Add(-time.Minute)) // its clock is a little behind
	if n := p.cosign(given); n != 1 {
		t.Fatalf("%d entries", n)
	}
	if n := p.cosign(given, p.cosignature("w1", p.now.Add(time.Hour))); n != 0 {
		t.Fatalf("%d entries of what is known", n)
	}
	p.play(id, bundle.SourceExchange, same(60, 0.02, -0.004))
	p.gateIs(id, bundle.Canary, policy.Pass, "after 60 days and 60 trades")
	if g := p.gate(id, bundle.Canary); strings.Contains(g.Reason, "clock") || strings.Contains(g.Reason, "before") {
		t.Error(g.Reason)
	}
	early := ruled(t, promotion.RulesWitnessed, "")
	id = early.submit(early.good(), signature("packer"))
	early.cosign(early.cosignature("w1", early.now.AddDate(-1, 0, 0)))
	if s := early.state(id).Shadow; s.FirstDay != "2026-11-21" {
		t.Errorf("a witness whose clock is a year behind has made days older: %+v", s)
	}
}

// TestWitnessesOfAPolicy: live asks for k of n; own witnesses count as none, two of one principal as
// one, and the gate names those that are missing.
func TestWitnessesOfAPolicy(t *testing.T) {
	witnesses := func(need int, list ...string) string {
		var of []string
		for _, one := range list {
			name, principal, _ := strings.Cut(one, "=")
			text := fmt.Sprintf(`{"key":%q}`, vkey(t, name))
			if principal != "" {
				text = fmt.Sprintf(`{"key":%q,"principal":%q}`, vkey(t, name), principal)
			}
			of = append(of, text)
		}
		return fmt.Sprintf(`"witnesses":{"need":%d,"plane":"Pia","of":[%s]},`, need, strings.Join(of, ","))
	}
	for _, c := range []struct {
		name      string
		witnesses string
		cosign    string
		want      policy.Verdict
		words     string
	}{
		{"none has", witnesses(2, "w1", "w2", "w3"), "", policy.Pending, "no cosignature counts of w1, w2, w3: "},
		{"one of two", witnesses(2, "w1", "w2", "w3"), "w2", policy.Pending, "no cosignature counts of w1, w3: "},
		{"two of three", witnesses(2, "w1", "w2", "w3"), "w3 w1", policy.Pass, "E is "},
		{"unknown ones", witnesses(1, "w1"), "w8 w9", policy.Pending, "no cosignature counts of w1: "},
		{"the plane's own", witnesses(1, "w1", "w2=pia"), "w2", policy.Pending,
			"no cosignature counts of w1, w2 (the plane's own): "},
		{"the packer's own", witnesses(1, "w1", "w2=Packer"), "w2", policy.Pending, "whose revision it is"},
		{"the owner's own", witnesses(1, "w1", "w2=owner@example.com"), "w2", policy.Pending, "whose revision it is"},
		{"two of one principal", witnesses(2, "w1=wanda", "w2=Wanda", "w3"), "w1 w2", policy.Pending,
			"no cosignature counts of w3: "},
	} {
		p := ruled(t, promotion.RulesWitnessed, c.witnesses)
		id := p.submit(p.good(), signature("packer"))
		var given []promotion.Given
		for i, name := range strings.Fields(c.cosign) {
			given = append(given, p.cosignature(name, p.now.Add(time.Duration(i)*time.Minute)))
		}
		p.cosign(given...)
		p.play(id, bundle.SourceExchange, same(70, 0.02, -0.004))
		if g := p.gate(id, bundle.Live); g.Verdict != c.want || !strings.Contains(g.Reason, c.words) {
			t.Errorf("%s: %s %s", c.name, g.Verdict, g.Reason)
		}
		// Canary says it only.
		own := strings.Contains(p.gate(id, bundle.Canary).Reason, "by own clock")
		if g := p.gate(id, bundle.Canary); g.Verdict != policy.Pass || own != (c.want == policy.Pending) {
			t.Errorf("%s: canary: %s %s", c.name, g.Verdict, g.Reason)
		}
	}
}

// TestAPolicyThatAsksLater: days are weighed again when witnesses are named, the same way whenever the
// log is read.
func TestAPolicyThatAsksLater(t *testing.T) {
	p := ruled(t, promotion.RulesWitnessed, "")
	id := p.submit(p.good(), signature("packer"))
	p.cosign(p.cosignature("w1", p.now))
	p.play(id, bundle.SourceExchange, same(70, 0.02, -0.004))
	p.cosign(p.cosignature("w2", p.now))
	p.gateIs(id, bundle.Live, policy.Pass, "after 70 days and 70 trades")
	e := p.state(id).Shadow.E
	p.asksShadow(3, fmt.Sprintf(`"witnesses":{"need":2,"of":[{"key":%q},{"key":%q}]},`, vkey(t, "w1"), vkey(t, "w2")))
	p.gateIs(id, bundle.Live, policy.Pending, "70 before its seal was witnessed")
	p.asksShadow(4, "")
	p.gateIs(id, bundle.Live, policy.Pass, "after 70 days and 70 trades")
	if got := p.state(id).Shadow.E; got != e {
		t.Errorf("E is %v, was %v", got, e)
	}
	again := promotion.New()
	if err := again.Apply(p.facts...); err != nil {
		t.Fatal(err)
	}
	if s, err := again.State(bundle.SubjectRevision, id, p.now); err != nil || s.Shadow.E != e {
		t.Errorf("%+v %v", s, err)
	}
}

// TestForgedCosignatures are no facts.
func TestForgedCosignatures(t *testing.T) {
	p := ruled(t, promotion.RulesWitnessed, "")
	p.submit(p.good(), signature("packer"))
	good := p.cosignature("w1", p.now)
	entry := func(edit func(*promotion.Cosigned)) *promotion.Entry {
		e := promotion.ListUnseen(p.w, []promotion.Given{good}, p.stamp())[0]
		e.Seq = p.seq
		edit(e.Predicate.(*promotion.Cosigned))
		return e
	}
	if _, err := promotion.FactsOf(entry(func(*promotion.Cosigned) {})); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*promotion.Cosigned){
		"another size":   func(c *promotion.Cosigned) { c.Size-- },
		"of the future":  func(c *promotion.Cosigned) { c.Size = p.seq + 1 },
		"another log":    func(c *promotion.Cosigned) { c.Origin = "other" },
		"another key":    func(c *promotion.Cosigned) { c.Cosignatures[0].Witness = vkey(t, "w2") },
		"no key":         func(c *promotion.Cosigned) { c.Cosignatures[0].Witness = "w1" },
		"no line":        func(c *promotion.Cosigned) { c.Cosignatures[0].Line = "x" },
		"two lines":      func(c *promotion.Cosigned) { c.Cosignatures[0].Line += c.Cosignatures[0].Line },
		"another root":   func(c *promotion.Cosigned) { c.Root = strings.Repeat("a", 64) },
		"no time":        func(c *promotion.Cosigned) { c.Cosignatures[0].Line = p.cosignature("w1", time.Unix(1<<40, 0)).Line },
		"text before it": func(c *promotion.Cosigned) { c.Cosignatures[0].Line = "x\n" + c.Cosignatures[0].Line },
	} {
		if _, err := promotion.FactsOf(entry(edit)); err == nil {
			t.Error(name)
		}
	}
	if n := p.cosign(p.cosignature("w3", time.Unix(1<<40, 0))); n != 0 {
		t.Errorf("%d entries of a time that cannot be written", n)
	}
	old := ruled(t, promotion.RulesEstablished, "")
	old.submit(old.good(), signature("packer"))
	if n := old.cosign(old.cosignature("w1", old.now)); n != 0 {
		t.Errorf("%d entries by the rules before", n)
	}
}
