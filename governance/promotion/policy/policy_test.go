package policy_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/translog"
)

func TestTheFirstPolicy(t *testing.T) {
	p := policy.First()
	if p.Name() != "policy:default-v1" || !strings.HasPrefix(p.Digest, "sha256:") || len(p.Digest) != 71 {
		t.Error(p.Name(), p.Digest)
	}
	paper, canary, live := p.Stage(bundle.Paper), p.Stage(bundle.Canary), p.Stage(bundle.Live)
	if len(paper.Gates) != 12 || len(canary.Gates) != 17 || len(live.Gates) != 18 {
		t.Error(len(paper.Gates), len(canary.Gates), len(live.Gates))
	}
	if !paper.Auto || canary.Auto || live.Auto || len(paper.Approvals) != 0 || len(live.Approvals) != 2 {
		t.Errorf("%+v", live.Approvals)
	}
	if paper.CapitalScale != "1" || canary.CapitalScale != "0.10" || live.CapitalScale != "1" {
		t.Error("what is not inherited is inherited")
	}
	if g := live.Gates[4]; g.ID != "evidence.age" || g.MaxAge != 365*24*time.Hour ||
		canary.Gates[4].MaxAge != 90*24*time.Hour {
		t.Errorf("%+v", g)
	}
	if g := paper.Gates[4]; string(g.Spec) != `{"max_age":"90d","roles":["baseline","falsification"]}` {
		t.Errorf("%s", g.Spec)
	}
	if p.SoakSeconds(bundle.Paper) != 1209600 || p.SoakSeconds(bundle.Live) != 0 ||
		len(p.Stage(bundle.Research).Gates) != 0 {
		t.Error("soak or research")
	}
	again, err := policy.Parse(p.Text)
	if err != nil || again.Digest != p.Digest {
		t.Error(err)
	}
}

// TestTheFirstPolicyIsThatOfThePage holds the text to the page, character by character.
func TestTheFirstPolicyIsThatOfThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "design", "governance.md"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("needs the folder shared, with the design pages, beside the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), strings.TrimSpace(string(text))) {
		t.Error("the policy that is built in is not the page's")
	}
}

// edited is the default policy with a part of its text replaced.
func edited(t *testing.T, from, to string) []byte {
	t.Helper()
	text := string(policy.First().Text)
	if !strings.Contains(text, from) {
		t.Fatalf("the policy has no %s", from)
	}
	return []byte(strings.Replace(text, from, to, 1))
}

func TestRefusals(t *testing.T) {
	cases := []struct{ name, from, to, code, pointer string }{
		{"another schema", `promotion-policy/v1`, `promotion-policy/v2`, "UNSUPPORTED_SCHEMA", "/schema"},
		{"no version", `,"version":1}`, `}`, "MISSING_FIELD", "/version"},
		{"version 0", `"version":1`, `"version":0`, "INVALID_FIELD", "/version"},
		{"unknown key", `"version":1`, `"version":1,"owner":"x"`, "UNKNOWN_FIELD", "/owner"},
		{"unknown key in a stage", `"auto":true`, `"auto":true,"quorum":1`, "UNKNOWN_FIELD",
			"/stages/paper/quorum"},
		{"unknown key in a gate", `"kind":"integrity"`, `"kind":"integrity","required":false`,
			"UNKNOWN_FIELD", "/stages/paper/gates/0/required"},
		{"key of another kind", `"kind":"integrity"`, `"kind":"integrity","min":2`, "UNKNOWN_FIELD",
			"/stages/paper/gates/0/min"},
		{"unknown kind", `"kind":"integrity"`, `"kind":"cel"`, "INVALID_FIELD", "/stages/paper/gates/0/kind"},
		{"unknown stage", `"paper":{`, `"dev":{},"paper":{`, "UNKNOWN_FIELD", "/stages/dev"},
		{"one approval", `[{"count":1,"role":"risk"},{"count":1,"role":"any"}]`,
			`[{"count":1,"role":"risk"}]`, "INVALID_FIELD", "/stages/canary/approvals"},
		{"no approvals", `"inherit":"canary"`, `"inherit":"paper"`, "INVALID_FIELD",
			"/stages/live/approvals"},
		{"count 0", `{"count":1,"role":"any"}`, `{"count":0,"role":"any"}`, "INVALID_FIELD",
			"/stages/canary/approvals/1/count"},
		{"unknown role", `{"count":1,"role":"any"}`, `{"count":1,"role":"lab"}`, "INVALID_FIELD",
			"/stages/canary/approvals/1/role"},
		{"a role twice", `{"count":1,"role":"any"}`, `{"count":1,"role":"risk"}`, "DUPLICATE_ITEM",
			"/stages/canary/approvals/1/role"},
		{"a gate twice", `"id":"request.stage"`, `"id":"integrity.bundle"`, "DUPLICATE_ITEM", ""},
		{"inherits from itself", `"inherit":"canary"`, `"inherit":"live"`, "INVALID_STAGE",
			"/stages/live/inherit"},
		{"unknown op", `"op":"<="`, `"op":"=<"`, "INVALID_FIELD", ""},
		{"value and pointer", `"value_from":"/limits/max_drawdown"`,
			`"value":1,"value_from":"/limits/max_drawdown"`, "INVALID_FIELD", ""},
		{"neither", `,"value_from":"/limits/max_drawdown"`, ``, "INVALID_FIELD", ""},
		{"pointer into runs", `/trials/family_trials`, `/runs/0`, "INVALID_FIELD", ""},
		{"no pointer", `/trials/family_trials`, `trials`, "INVALID_FIELD", ""},
		{"age without unit", `"90d"`, `"90"`, "INVALID_FIELD", ""},
		{"age of nothing", `"90d"`, `"0d"`, "INVALID_FIELD", ""},
		{"too long an age", `"90d"`, `"999999d"`, "INVALID_FIELD", ""},
		{"unknown role of runs", `"roles":["falsification"]`, `"roles":["falsify"]`, "INVALID_FIELD", ""},
		{"no roles", `"roles":["falsification"]`, `"roles":[]`, "INVALID_FIELD", ""},
		{"unknown rung", `"reproduced"`, `"witnessed"`, "INVALID_FIELD", ""},
		{"two rules for many claims", `"kind":"integrity"`,
			`"kind":"shadow","days":1,"trades":1,"evidence":20,"per_claim":true,"e_bh":"plane"`,
			"INVALID_FIELD", "/stages/paper/gates/0/e_bh"},
		{"claims of nobody", `"kind":"integrity"`,
			`"kind":"shadow","days":1,"trades":1,"evidence":20,"e_bh":"owner"`,
			"INVALID_FIELD", "/stages/paper/gates/0/e_bh"},
		{"unknown drill", `"drill":"kill_switch"`, `"drill":"fire"`, "INVALID_FIELD", ""},
		{"more than all capital", `"0.10"`, `"1.01"`, "INVALID_FIELD", "/stages/canary/capital_scale"},
		{"no capital", `"0.10"`, `"0.00"`, "INVALID_FIELD", "/stages/canary/capital_scale"},
		{"capital with an exponent", `"0.10"`, `"1e-1"`, "INVALID_DECIMAL", "/stages/canary/capital_scale"},
		{"a key twice", `"version":1`, `"version":1,"version":2`, "DUPLICATE_KEY", "/version"},
		{"a second document", `"schema":"promotion-policy/v1"`, `"schema":"promotion-policy/v1"}{`,
			"MALFORMED_JSON", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := policy.Parse(edited(t, c.from, c.to))
			var refused *bundle.Error
			if !errors.As(err, &refused) {
				t.Fatalf("not refused: %v", err)
			}
			if string(refused.Code) != c.code || c.pointer != "" && refused.Pointer != c.pointer {
				t.Errorf("%s at %s", refused.Code, refused.Pointer)
			}
		})
	}
}

// TestWitnesses reads the witnesses of a policy, and refuses those that could never be enough.
func TestWitnesses(t *testing.T) {
	vkey := func(name string, seed byte) string {
		private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
		key, err := translog.NewWitnessKey(name, private.Public().(ed25519.PublicKey))
		if err != nil {
			t.Fatal(err)
		}
		return key.VKey()
	}
	one := `{"key":"` + vkey("w1", 1) + `","principal":"wanda"}`
	two := `{"key":"` + vkey("w2", 2) + `","principal":"WANDA"}`
	three := `{"key":"` + vkey("w3", 3) + `"}`
	same := `{"key":"` + vkey("w4", 1) + `"}`
	for _, c := range []struct{ name, text, code, pointer string }{
		{"two", `{"need":2,"of":[` + one + `,` + three + `]}`, "", ""},
		{"one of two", `{"need":1,"of":[` + one + `,` + two + `]}`, "", ""},
		{"two of one principal", `{"need":2,"of":[` + one + `,` + two + `]}`, "INVALID_FIELD", "/witnesses/need"},
		{"the plane's", `{"need":2,"plane":"wanda","of":[` + one + `,` + three + `]}`, "INVALID_FIELD",
			"/witnesses/need"},
		{"more than there are", `{"need":2,"of":[` + one + `]}`, "INVALID_FIELD", "/witnesses/need"},
		{"none needed", `{"need":0,"of":[` + one + `]}`, "INVALID_FIELD", "/witnesses/need"},
		{"none named", `{"need":1,"of":[]}`, "INVALID_FIELD", "/witnesses/need"},
		{"no list", `{"need":1}`, "MISSING_FIELD", "/witnesses/of"},
		{"no number", `{"of":[` + one + `]}`, "MISSING_FIELD", "/witnesses/need"},
		{"no key", `{"need":1,"of":[{"principal":"x"}]}`, "MISSING_FIELD", "/witnesses/of/0/key"},
		{"not a key", `{"need":1,"of":[{"key":"w1+00000000+AAAA"}]}`, "INVALID_FIELD", "/witnesses/of/0/key"},
		{"one key twice", `{"need":1,"of":[` + one + `,` + same + `]}`, "DUPLICATE_ITEM", "/witnesses/of/1/key"},
		{"a further member", `{"need":1,"of":[` + one + `],"any":1}`, "UNKNOWN_FIELD", "/witnesses/any"},
		{"no object", `[]`, "INVALID_FIELD", "/witnesses"},
		{"null", `null`, "INVALID_FIELD", "/witnesses"},
	} {
		p, err := policy.Parse(edited(t, `"version":1`, `"version":1,"witnesses":`+c.text))
		var refused *bundle.Error
		switch {
		case c.code == "":
			if err != nil || p.Witnesses == nil || p.Witnesses.Of[0].Key == "" {
				t.Errorf("%s: %v", c.name, err)
			}
		case !errors.As(err, &refused) || string(refused.Code) != c.code || refused.Pointer != c.pointer:
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestInheriting(t *testing.T) {
	text := edited(t, `"inherit":"canary"`,
		`"inherit":"canary","approvals":[{"count":2,"role":"risk"},{"count":1,"role":"approver"}]`)
	p, err := policy.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	got := p.Stage(bundle.Live).Approvals
	want := []policy.Requirement{{Role: "risk", Count: 2}, {Role: "any", Count: 1},
		{Role: "approver", Count: 1}}
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%+v", got)
	}
	if p.Stage(bundle.Canary).Approvals[0].Count != 1 {
		t.Error("what live asks for has changed canary")
	}
	waivable := map[string]bool{}
	for _, g := range p.Stage(bundle.Live).Gates {
		waivable[g.Kind] = g.Waivable()
	}
	for kind, want := range map[string]bool{
		"integrity": false, "requested": false, "lineage": false, "assurance": false,
		"no_open_incident": false,
		"limits_declared":  true, "evidence_present": true, "metric": true, "freshness": true, "soak": true,
		"replay": true,
	} {
		if waivable[kind] != want {
			t.Errorf("%s: %v", kind, waivable[kind])
		}
	}
}

func TestScale(t *testing.T) {
	l := bundle.Limits{MaxCapital: "10000", MaxPositionValue: "2500.50", MaxOrderValue: "500",
		MaxDailyLoss: "0.000000000000000019", MaxDrawdown: "0.25"}
	got := policy.Scale(l, "0.10")
	want := bundle.Limits{MaxCapital: "1000", MaxPositionValue: "250.05", MaxOrderValue: "250.05",
		MaxDailyLoss: "0.000000000000000001", MaxDrawdown: "0.25"}
	if got != want {
		t.Errorf("%+v", got)
	}
	if got := policy.Scale(l, "1"); got.MaxPositionValue != "2500.5" || got.MaxOrderValue != "500" ||
		got.MaxDailyLoss != l.MaxDailyLoss {
		t.Errorf("%+v", got)
	}
	if got := policy.Scale(bundle.Limits{MaxCapital: "999999999999999999.999999999999999999",
		MaxOrderValue: "0", MaxPositionValue: "0"},
		"1"); got.MaxCapital != "999999999999999999.999999999999999999" {
		t.Error(got.MaxCapital)
	}
}

func number(t *rapid.T, text string) *big.Rat {
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return n
}

func TestScaleNeverGivesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.StringMatching(`(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?`).Draw(t, "amount")
		share := rapid.StringMatching(`0\.[0-9]{1,18}`).Draw(t, "share")
		in := bundle.Limits{MaxCapital: amount, MaxOrderValue: amount, MaxPositionValue: amount}
		out := policy.Scale(in, share)
		// A largest order that is no larger than a position stays as it is written: 0.0 is 0.
		if out.MaxCapital != out.MaxPositionValue ||
			number(t, out.MaxOrderValue).Cmp(number(t, out.MaxPositionValue)) != 0 {
			t.Fatalf("%+v", out)
		}
		// The share of a share is not more than the share.
		if twice := policy.Scale(out,
			share); policy.Scale(bundle.Limits{MaxCapital: "0", MaxPositionValue: out.MaxCapital,
			MaxOrderValue: twice.MaxCapital}, "1").MaxOrderValue != twice.MaxCapital {
			t.Fatalf("%s of %s is %s, then %s", share, amount, out.MaxCapital, twice.MaxCapital)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(policy.First().Text)
	f.Add(policy.Default().Text)
	f.Add([]byte(strings.Replace(string(policy.First().Text), `"version":1`, `"version":1,"witnesses":{"need":1,`+
		`"plane":"p","of":[{"key":"w1.example.com+118659ab+BBkOROK+sKGya5sVXIhAHGWJWWMKPmM0gqc8WjWeKlXy"}]}`, 1)))
	f.Add([]byte(
		`{"schema":"promotion-policy/v1","id":"x","version":1,"stages":{"paper":{},"canary":{"approvals":[{"role":"any","count":2}]},"live":{"inherit":"canary"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := policy.Parse(text)
		if err != nil {
			var refused *bundle.Error
			if !errors.As(err, &refused) || refused.Code == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := policy.Parse(p.Text)
		if err != nil || again.Digest != p.Digest {
			t.Fatalf("read again: %v", err)
		}
		for _, s := range []bundle.Stage{bundle.Canary, bundle.Live} {
			people := 0
			for _, a := range p.Stage(s).Approvals {
				people += a.Count
			}
			if people < 2 {
				t.Fatalf("%s takes %d people", s, people)
			}
		}
	})
}
