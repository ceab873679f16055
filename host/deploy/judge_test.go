package deploy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestReferenceCases plays the host's part of the shared bad inputs.
func TestReferenceCases(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "oracles", "governance-badinputs.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs the folder shared, with the reference results, beside the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	var ref struct {
		Cases []struct {
			Name, Target, Body string
			Expect             struct {
				Status    int
				ErrorCode string `json:"error_code"`
			}
		}
	}
	if err := json.Unmarshal(raw, &ref); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, c := range ref.Cases {
		if c.Target != "host" {
			continue
		}
		seen++
		s := &source{}
		p := policyOf(t, s)
		s.answers(t, registryOf(nil, entryOf(nil)))
		if _, err := p.Admit(t.Context(), request()); err != nil { // version 7 has been seen
			t.Fatal(err)
		}
		s.body = []byte(c.Body)
		if _, err := p.Admit(t.Context(), request()); string(codeOf(err)) != c.Expect.ErrorCode {
			t.Errorf("%s: %v, want %s", c.Name, err, c.Expect.ErrorCode)
		}
	}
	if seen < 5 {
		t.Errorf("%d cases", seen)
	}
}

// verdict is a start that must end with a code; "" admits it.
type verdict struct {
	name  string
	reg   tree           // of the registry; nil takes all that is good
	entry tree           // of the entry
	more  []tree         // further entries, in front of it
	req   func(*Request) // of the start
	want  Code           //
	say   string         // stands in the message
}

func verdicts() []verdict {
	symbols := func(list ...market.Symbol) func(*Request) { return func(r *Request) { r.Symbols = list } }
	return []verdict{
		{name: "good"},
		{name: "an entry that lacks everything",
			entry: tree{"modes": nil, "symbols": nil, "timeframes": nil, "exchanges": nil, "limits": nil,
				"expires_at": nil, "kill": nil,
				"deployable_id": nil, "candidate_revision_id": nil, "stage": nil, "reason": nil},
			req: symbols("ETH/EUR", "BTC/EUR")},
		{name: "empty lists", entry: tree{"symbols": []any{}, "timeframes": []any{}, "exchanges": []any{}},
			req: func(r *Request) {
				r.Exchange = "other"
			}},
		{name: "members of a later version", reg: tree{"note": "x"}, entry: tree{"note": tree{}}},
		{name: "no schema", reg: tree{"schema": nil}, want: RegistryInvalid, say: "/schema"},
		{name: "another schema", reg: tree{"schema": "deployable-registry/v2"}, want: RegistryInvalid},
		{name: "no version", reg: tree{"registry_version": nil}, want: RegistryInvalid},
		{name: "half a version", reg: tree{"registry_version": 7.5}, want: RegistryInvalid},
		{name: "no entries", reg: tree{"entries": nil}, want: RegistryInvalid},
		{name: "an entry that is none", reg: tree{"entries": []any{1.0}}, want: RegistryInvalid,
			say: "/entries/0"},
		{name: "no time of expiry", reg: tree{"expires_at": nil}, want: RegistryInvalid},
		{name: "a time without Z", reg: tree{"expires_at": "2026-11-21T12:00:00+00:00"},
			want: RegistryInvalid},
		{name: "a hash in capitals", entry: tree{"plugin_sha256": strings.Repeat("A", 64)},
			want: RegistryInvalid, say: "/entries/0/plugin_sha256"},
		{name: "no status", entry: tree{"status": nil}, want: RegistryInvalid},
		{name: "a limit that is no decimal", entry: tree{"limits": tree{"max_capital": "1e3"}},
			want: RegistryInvalid, say: "/entries/0/limits/max_capital"},
		{name: "a limit below zero", entry: tree{"limits": tree{"max_capital": "-1"}}, want: RegistryInvalid},
		{name: "modes that are no list", entry: tree{"modes": "live"}, want: RegistryInvalid},
		{name: "another family", reg: tree{"family_id": "other", "expires_at": "2020-01-01T00:00:00Z"},
			want: RegistryFamilyMismatch},
		{name: "expired", reg: tree{"expires_at": "2026-11-20T12:30:00Z", "registry_version": 1.0},
			want: RegistryExpired},
		{name: "older than the one seen", reg: tree{"registry_version": 6.0},
			entry: tree{"params_sha256": strings.Repeat("0", 64)}, want: RegistryRollback},
		{name: "the same version", reg: tree{"issued_at": "2026-11-20T12:20:00Z"}},
		{name: "nothing", reg: tree{"entries": []any{}}, want: DeploymentNotApproved},
		{name: "other parameters", entry: tree{"params_sha256": strings.Repeat("0", 64), "status": "revoked"},
			want: DeploymentNotApproved},
		{name: "another program", req: func(r *Request) {
			r.PluginSHA256 = strings.Repeat("0", 64)
		}, want: DeploymentNotApproved},
		{name: "another symbol", entry: tree{"status": "revoked"}, req: symbols("ETH/USDT"),
			want: DeploymentNotApproved, say: "but not for ETH/USDT"},
		{name: "one symbol more", req: symbols("BTC/USDT", "ETH/USDT"), want: DeploymentNotApproved},
		{name: "another timeframe", req: func(r *Request) {
			r.Timeframe = market.MustTimeframe("60m")
		}, want: DeploymentNotApproved},
		{name: "another exchange", req: func(r *Request) {
			r.Exchange = "kraken"
		}, want: DeploymentNotApproved},
		{name: "suspended",
			entry: tree{"status": "suspended", "reason": "odd fills", "expires_at": "2020-01-01T00:00:00Z"},
			want:  DeploymentRevoked, say: "suspended (odd fills)"},
		{name: "revoked", entry: tree{"status": "revoked"}, want: DeploymentRevoked},
		{name: "a status of a later version", entry: tree{"status": "paused"}, want: DeploymentRevoked},
		{name: "killed", entry: tree{"kill": true}, want: DeploymentRevoked, say: "killed"},
		{name: "old evidence", entry: tree{"expires_at": "2026-11-20T12:30:00Z", "modes": []any{"paper"}},
			want: DeploymentExpired},
		{name: "paper only",
			entry: tree{"modes": []any{"paper"}, "stage": "paper", "limits": tree{"max_instruments": 0.0}},
			want:  DeploymentModeNotAllowed},
		{name: "no mode", entry: tree{"modes": []any{}}, want: DeploymentModeNotAllowed},
		{name: "too many symbols", entry: tree{"symbols": nil}, req: symbols("BTC/USDT", "ETH/USDT"),
			want: DeploymentLimitExceeded, say: "max_instruments"},
		{name: "another quote", entry: tree{"symbols": nil}, req: symbols("BTC/EUR"),
			want: DeploymentLimitExceeded, say: "EUR"},
		{name: "no venue", entry: tree{"limits": tree{"max_venues": 0.0}}, want: DeploymentLimitExceeded},
		{name: "a limit of a later version", entry: tree{"limits": tree{"max_leverage": "1"}},
			want: DeploymentLimitExceeded, say: "max_leverage"},
		{name: "active first", more: []tree{{"status": "revoked", "deployable_id": "dep-0"}}},
		{name: "the active one is elsewhere", entry: tree{"symbols": []any{"ETH/USDT"}},
			more: []tree{{"status": "suspended"}}, want: DeploymentRevoked},
		{name: "the second active one lets it", more: []tree{{"modes": []any{"paper"}, "symbols": []any{}}}},
	}
}

func TestVerdicts(t *testing.T) {
	// in other tests
	reached := map[Code]bool{RegistryUnsigned: true, RegistrySignatureInvalid: true,
		RegistryUnavailable: true}
	for _, c := range verdicts() {
		reached[c.want] = true
		s := &source{}
		p := policyOf(t, s)
		s.answers(t, registryOf(tree{"registry_version": 7.0}))
		if _, err := p.ask(t.Context(), "sma-cross"); err != nil {
			t.Fatal(err)
		}
		var entries []tree
		for _, e := range append(c.more, c.entry) {
			entries = append(entries, entryOf(e))
		}
		s.answers(t, registryOf(c.reg, entries...))
		r := request()
		if c.req != nil {
			c.req(&r)
		}
		a, err := p.Admit(t.Context(), r)
		switch {
		case c.want == "" && (err != nil || !a.Gated() || a.Family != "sma-cross" || a.RegistryVersion != 7):
			t.Errorf("%s: %+v, %v", c.name, a, err)
		case codeOf(err) != c.want || err != nil && !strings.Contains(err.Error(), c.say):
			t.Errorf("%s: %v, want %s %s", c.name, err, c.want, c.say)
		case c.want != "" && (a.Gated() || a.Limits.Capital != nil):
			t.Errorf("%s: %+v beside a refusal", c.name, a)
		}
	}
	for _, code := range Codes() {
		if !reached[code] {
			t.Errorf("no case ends with %s", code)
		}
	}
}

// TestEnvelopes: nothing counts that the pinned key has not signed as a registry.
func TestEnvelopes(t *testing.T) {
	governance := key(t, "governance")
	good := sign(t, registryOf(nil, entryOf(nil)), governance, PayloadType)
	edit := func(change func(body, envelope tree)) []byte {
		var body tree
		if err := json.Unmarshal(good, &body); err != nil {
			t.Fatal(err)
		}
		change(body, body["attestation"].(tree))
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	sig := func(e tree) string { return e["signatures"].([]any)[0].(tree)["sig"].(string) }
	for name, c := range map[string]struct {
		body []byte
		want Code
	}{
		"good": {good, ""},
		"a lie outside": {edit(func(b, _ tree) {
			b["entries"], b["registry_version"], b["family_id"], b["schema"] = []any{}, 99.0, "other", 1.0
		}), ""},
		"a forged one first": {
			edit(func(_, e tree) {
				e["signatures"] = []any{tree{"sig": "YQ=="}, nil, tree{"sig": sig(e), "keyid": "x"}}
			}), ""},
		"empty":         {nil, RegistryInvalid},
		"a page":        {[]byte("<html>"), RegistryInvalid},
		"a list":        {[]byte("[]"), RegistryInvalid},
		"two documents": {append(bytes.Clone(good), good...), RegistryInvalid},
		"a key twice": {[]byte(`{"attestation":{"payload":"YQ=="},"attestation":{}}`),
			RegistryInvalid},
		"an error":       {[]byte(`{"error":{"code":"X"}}`), RegistryUnsigned},
		"no attestation": {edit(func(b, _ tree) { delete(b, "attestation") }), RegistryUnsigned},
		"null":           {edit(func(b, _ tree) { b["attestation"] = nil }), RegistryUnsigned},
		"another case": {edit(func(b, e tree) { b["Attestation"] = e; delete(b, "attestation") }),
			RegistryUnsigned},
		"no payload":       {edit(func(_, e tree) { delete(e, "payload") }), RegistryUnsigned},
		"an empty payload": {edit(func(_, e tree) { e["payload"] = "" }), RegistryUnsigned},
		"another type": {edit(func(_, e tree) { e["payloadType"] = "application/vnd.in-toto+json" }),
			RegistrySignatureInvalid},
		"signed as another": {sign(t, registryOf(nil), governance, "application/vnd.in-toto+json"),
			RegistrySignatureInvalid},
		"no signature":       {edit(func(_, e tree) { e["signatures"] = []any{} }), RegistrySignatureInvalid},
		"signatures no list": {edit(func(_, e tree) { e["signatures"] = "x" }), RegistrySignatureInvalid},
		"behind 16 others": {edit(func(_, e tree) {
			e["signatures"] = append(slices.Repeat([]any{tree{"sig": "YQ=="}}, 16), tree{"sig": sig(e)})
		}), RegistrySignatureInvalid},
		"another key": {sign(t, registryOf(nil), key(t, "lab"), PayloadType),
			RegistrySignatureInvalid},
		"a line break": {
			edit(func(_, e tree) {
				e["payload"] = e["payload"].(string)[:8] + "\n" + e["payload"].(string)[8:]
			}), RegistrySignatureInvalid},
		"payload changed": {
			edit(func(_, e tree) {
				e["payload"] = base64.StdEncoding.EncodeToString(digest.Tree(registryOf(nil)))
			}), RegistrySignatureInvalid},
		"signed, no JSON": {sign(t, []byte("hello"), governance, PayloadType), RegistryInvalid},
		"signed, a key twice": {sign(t, []byte(`{"schema":"a","schema":"b"}`), governance, PayloadType),
			RegistryInvalid},
		"signed, too deep": {sign(t, []byte(strings.Repeat("[", 99)+strings.Repeat("]", 99)), governance,
			PayloadType), RegistryInvalid},
	} {
		r, err := Open(c.body, &governance.PublicKey, "sma-cross")
		switch {
		case c.want == "" && (err != nil || len(r.Entries) != 1):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || err.Code != c.want || r != nil):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := Open(good, nil, "sma-cross"); err == nil || err.Code != RegistrySignatureInvalid {
		t.Errorf("no key: %v", err)
	}
}

// TestEachBitIsSigned flips every bit of payload and signature.
func TestEachBitIsSigned(t *testing.T) {
	governance := key(t, "governance")
	payload := digest.Tree(registryOf(nil, entryOf(nil)))
	body := sign(t, payload, governance, PayloadType)
	for i := range payload {
		changed := bytes.Clone(payload)
		changed[i] ^= 1 << (i % 8)
		forged := bytes.Replace(body, []byte(base64.StdEncoding.EncodeToString(payload)),
			[]byte(base64.StdEncoding.EncodeToString(changed)), 1)
		if _, err := Open(forged, &governance.PublicKey, "sma-cross"); err == nil ||
			err.Code != RegistrySignatureInvalid {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

func TestRealMoney(t *testing.T) {
	for _, c := range []struct {
		mode    string
		pretend bool
		want    bool
	}{{"backtest", false, false}, {"paper", false, false}, {"live", true, false}, {"live", false, true},
		{"", false, true}} {
		s := &source{err: errAway}
		a, err := policyOf(t, s).Admit(t.Context(),
			request(func(r *Request) { r.Mode, r.Pretend = c.mode, c.pretend }))
		if got := codeOf(err) == RegistryUnavailable; got != c.want || c.want != (s.asked == 1) ||
			a.Ungated != "" {
			t.Errorf("%q, pretend %v: %v, asked %d times", c.mode, c.pretend, err, s.asked)
		}
	}
}

func TestDetailsOfRefusals(t *testing.T) {
	s := &source{}
	s.answers(t, registryOf(nil, entryOf(tree{"expires_at": "2026-11-01T00:00:00Z"})))
	_, err := policyOf(t, s).Admit(t.Context(), request())
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"family": "sma-cross", "registry_version": int64(7), "deployable_id": "dep-1",
		"candidate_revision_id": "cr-1",
		"expires_at":            market.FromTime(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)),
		"params_sha256":         digest.SHA256Hex([]byte(params)),
	} {
		if r.Details[name] != want {
			t.Errorf("%s is %v, want %v", name, r.Details[name], want)
		}
	}
	if _, err := policyOf(t, s).Admit(t.Context(),
		request(func(r *Request) {
			r.Params = json.RawMessage(`{"a":1,"a":2}`)
		})); err == nil || codeOf(err) != "" {
		t.Errorf("parameters with two meanings: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	governance := key(f, "governance")
	f.Add([]byte(`{}`), true)
	f.Add(digest.Tree(registryOf(nil, entryOf(nil))), true)
	f.Add(digest.Tree(registryOf(tree{"registry_version": -1.0},
		entryOf(tree{"limits": tree{"price_collar_bps": 1e300}}))), true)
	f.Add(sign(f, registryOf(nil, entryOf(nil)), governance, PayloadType), false)
	f.Fuzz(func(t *testing.T, text []byte, signed bool) {
		if signed {
			text = sign(t, text, governance, PayloadType)
		}
		r, refused := Open(text, &governance.PublicKey, "sma-cross")
		if (r == nil) == (refused == nil) {
			t.Fatalf("%v, %v", r, refused)
		}
		if refused != nil {
			if !slices.Contains(Codes(), refused.Code) || refused.Message == "" {
				t.Fatalf("%+v", refused)
			}
			return
		}
		again, refused := Open(r.sealed, &governance.PublicKey, "sma-cross")
		if refused != nil || again.Version != r.Version || len(again.Entries) != len(r.Entries) {
			t.Fatalf("kept, it reads as %v, %v", again, refused)
		}
		req := request()
		if err := req.prepare(); err != nil {
			t.Fatal(err)
		}
		if e, refused := r.judge(&req, now); refused == nil &&
			(e.Status != StatusActive || e.Kill || !e.Allows("live")) {
			t.Fatalf("%+v lets it run", e)
		}
	})
}
