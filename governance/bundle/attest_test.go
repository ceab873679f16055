package bundle_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

// desk is a plane's trust with one person for each role.
func desk(t testing.TB) *bundle.Trust {
	t.Helper()
	return trusting(t,
		keyOf(t, "lab", "packer@example.com", bundle.TrustLab),
		keyOf(t, "replay", "rita@example.com", bundle.TrustReplay),
		keyOf(t, "risk", "rob@example.com", bundle.TrustRisk),
		keyOf(t, "approver", "anna@example.com", bundle.TrustApprover),
		keyOf(t, "operator", "olaf@example.com", bundle.TrustOperator),
		keyOf(t, "host", "host-1", bundle.TrustHost),
		keyOf(t, "alice", "Alice@Example.com", bundle.TrustLab, bundle.TrustRisk, bundle.TrustApprover),
	)
}

func judge(t testing.TB) bundle.Judge {
	t.Helper()
	return bundle.Judge{Trust: desk(t), Now: clock, Origin: origin}
}

func common(d *bundle.Document) bundle.Common {
	return bundle.Common{
		LogOrigin: origin, CandidateRevisionID: d.Bundle.CandidateRevisionID, Reason: "a test",
		MadeAt: "2026-11-20T12:00:00Z", ExpiresAt: "2026-11-27T12:00:00Z",
	}
}

// statements is one valid predicate of each type that carries the common fields.
func statements(d *bundle.Document) map[string]any {
	c, parent := common(d), "cr-"+hex64("parent")
	return map[string]any{
		bundle.TypeReplay: &bundle.Replay{Common: c, ParentRevisionID: &parent, Runs: []bundle.ReplayedRun{{
			RunID: "run-0001", RequestHash: hex64("request"), ReportSHA256: hex64("report"),
			Trades: []bundle.SplitTrades{{SplitID: "test", SHA256: hex64("trades")}},
		}}},
		bundle.TypeApproval: &bundle.Approval{Common: c, Action: "promote", Stage: bundle.Canary,
			Role: "risk", PlanDigest: "sha256:" + hex64("plan")},
		bundle.TypeWaiver: &bundle.Waiver{Common: c, Stage: bundle.Canary, GateID: "soak.paper"},
		bundle.TypeDrill: &bundle.Drill{Common: c, Drill: "kill_switch", Result: "pass", RunID: "svc_01",
			DoneAt: "2026-11-20T11:00:00Z"},
		bundle.TypeRun: &bundle.HostedRun{Common: c, RunID: "svc_01", ReportSHA256: hex64("report"),
			MetadataSHA256: hex64("metadata")},
		bundle.TypeIncident: &bundle.Incident{Common: c, IncidentID: "inc-1", Event: "open",
			Severity: "critical"},
		bundle.TypeSuspension: &bundle.Suspension{Common: c, ToStage: bundle.Paper, Kill: true},
		bundle.TypeRejection:  &bundle.Ending{Common: c},
		bundle.TypeRetirement: &bundle.Ending{Common: c, ReplacedBy: "cr-" + hex64("next")},
	}
}

func sign(t testing.TB, d *bundle.Document, predicateType string, predicate any, key string) dsse.Envelope {
	t.Helper()
	e, err := d.Attest(predicateType, predicate, testKey(t, key))
	if err != nil {
		t.Fatalf("%s: %v", predicateType, err)
	}
	return e
}

// judged posts a bundle with attestations.
func judged(t testing.TB, j bundle.Judge, d *bundle.Document,
	envelopes ...dsse.Envelope) ([]bundle.Attestation, *bundle.Error) {
	t.Helper()
	body, err := bundle.EncodePost(d.Canonical, envelopes...)
	if err != nil {
		t.Fatal(err)
	}
	p, refused := bundle.ReadPost(body)
	if refused != nil {
		t.Fatal(refused)
	}
	return p.Attestations(j)
}

func TestWhoMaySayWhat(t *testing.T) {
	d := sealed(t)
	keys := []string{"lab", "replay", "risk", "approver", "operator", "host"}
	may := map[string]string{
		bundle.TypeBundle: "lab", bundle.TypeReplay: "lab replay", bundle.TypeApproval: "risk",
		bundle.TypeWaiver: "risk approver",
		bundle.TypeRun:    "host",
		bundle.TypeDrill:  "operator host", bundle.TypeIncident: "lab replay risk approver operator host",
		bundle.TypeSuspension: "lab replay risk approver operator host",
		bundle.TypeRejection:  "risk approver operator",
		bundle.TypeRetirement: "risk approver operator", "https://example.com/other/v1": "lab replay risk approver operator host",
	}
	all := statements(d)
	all[bundle.TypeBundle] = map[string]any{"anything": []int{1}}
	all["https://example.com/other/v1"] = "anything"
	for predicateType, predicate := range all {
		for _, key := range keys {
			list, err := judged(t, judge(t), d, sign(t, d, predicateType, predicate, key))
			name := predicateType + " by " + key
			if !strings.Contains(may[predicateType], key) {
				wants(t, name, err, bundle.InvalidAttestation, "/attestations/0/payload")
				if err != nil && err.Reason != bundle.ReasonRole {
					t.Errorf("%s: reason %q", name, err.Reason)
				}
				continue
			}
			if err != nil || len(list) != 1 {
				t.Errorf("%s: %v, %v", name, list, err)
				continue
			}
			a := list[0]
			if a.KeyID != keyOf(t, key, "").KeyID || a.Principal == "" || len(a.Roles) != 1 ||
				a.Parsed.Statement.PredicateType != predicateType {
				t.Errorf("%s: %+v", name, a)
			}
			if known := !strings.Contains(predicateType, "other"); a.Parsed.Known() != known {
				t.Errorf("%s: known is %v", name, a.Parsed.Known())
			}
			if a.Parsed.Common != nil && !reflect.DeepEqual(a.Parsed.Predicate, predicate) {
				t.Errorf("%s: %+v, want %+v", name, a.Parsed.Predicate, predicate)
			}
		}
	}
}

func TestClosingIncidents(t *testing.T) {
	d := sealed(t)
	closing := &bundle.Incident{Common: common(d), IncidentID: "inc-1", Event: "close"}
	for key, ok := range map[string]bool{"risk": true, "operator": true, "host": false, "approver": false,
		"lab": false} {
		if _, err := judged(t, judge(t), d,
			sign(t, d, bundle.TypeIncident, closing, key)); (err == nil) != ok || !ok &&
			err.Reason != bundle.ReasonRole {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestApprovalsAreInTheRoleOfTheKey(t *testing.T) {
	d := sealed(t)
	a := &bundle.Approval{Common: common(d), Action: "resume", Stage: bundle.Canary, Role: "approver",
		SuspensionID: hex64("stop")}
	if list, err := judged(t, judge(t), d, sign(t, d, bundle.TypeApproval, a, "approver")); err != nil ||
		len(list) != 1 {
		t.Errorf("got %v", err)
	}
	_, err := judged(t, judge(t), d, sign(t, d, bundle.TypeApproval, a, "risk"))
	if err == nil || err.Reason != bundle.ReasonRole {
		t.Errorf("got %v", err)
	}
}

func TestNobodyApprovesTheirOwn(t *testing.T) {
	d := sealed(t)
	approval := statements(d)[bundle.TypeApproval]
	self := func(name string, err *bundle.Error, at string) {
		t.Helper()
		wants(t, name, err, bundle.InvalidAttestation, at)
		if err != nil && err.Reason != bundle.ReasonSelfApproval {
			t.Errorf("%s: reason %q", name, err.Reason)
		}
	}
	_, err := judged(t, judge(t), d, sign(t, d, bundle.TypeApproval, approval, "alice"))
	self("owner, in other case", err, "/attestations/0/payload")

	other := unsealed()
	other.Candidate.Owner = "team"
	asked, failure := bundle.Seal(other)
	if failure != nil {
		t.Fatal(failure)
	}
	_, err = judged(t, judge(t), asked,
		sign(t, asked, bundle.TypeApproval, statements(asked)[bundle.TypeApproval], "alice"))
	self("requester", err, "/attestations/0/payload")

	j := judge(t)
	j.Excluded = []string{" Rob@example.com"}
	_, err = judged(t, j, d, sign(t, d, bundle.TypeApproval, approval, "risk"))
	self("packer of before", err, "/attestations/0/payload")

	// The packer of the same body, whichever stands first.
	j = judge(t)
	j.Trust = trusting(t, keyOf(t, "lab", "rob@example.com", bundle.TrustLab),
		keyOf(t, "risk", "rob@example.com", bundle.TrustRisk))
	pack, approve := sign(t, d, bundle.TypeBundle, nil, "lab"),
		sign(t, d, bundle.TypeApproval, approval, "risk")
	_, err = judged(t, j, d, pack, approve)
	self("packer first", err, "/attestations/1/payload")
	_, err = judged(t, j, d, approve, pack)
	self("packer second", err, "/attestations/0/payload")
	if _, err = judged(t, j, d, approve); err != nil {
		t.Errorf("without the packing: %v", err)
	}
	if _, err = judged(t, j, d, pack,
		sign(t, d, bundle.TypeWaiver, statements(d)[bundle.TypeWaiver], "risk")); err != nil {
		t.Errorf("a waiver is no approval: %v", err)
	}
}

func TestAudienceAndTimes(t *testing.T) {
	d := sealed(t)
	for name, c := range map[string]struct {
		change func(*bundle.Common)
		reason string
	}{
		"other log": {func(c *bundle.Common) {
			c.LogOrigin = "governance.other.example"
		}, bundle.ReasonAudience},
		"other revision": {func(c *bundle.Common) {
			c.CandidateRevisionID = "cr-" + hex64("x")
		}, bundle.ReasonAudience},
		"expired": {func(c *bundle.Common) {
			c.ExpiresAt = "2026-11-20T12:30:00Z"
		}, bundle.ReasonExpired},
		"just valid":    {func(c *bundle.Common) { c.ExpiresAt = "2026-11-20T12:30:01Z" }, ""},
		"ahead":         {func(c *bundle.Common) { c.MadeAt = "2026-11-20T12:35:01Z" }, bundle.ReasonExpired},
		"a clock ahead": {func(c *bundle.Common) { c.MadeAt = "2026-11-20T12:35:00Z" }, ""},
		"day 8": {func(c *bundle.Common) {
			c.ExpiresAt = "2026-11-27T12:00:01Z"
		}, bundle.ReasonExpired},
		"day 7":     {func(c *bundle.Common) {}, ""},
		"no reason": {func(c *bundle.Common) { c.Reason = "" }, ""},
	} {
		waiver := &bundle.Waiver{Common: common(d), Stage: bundle.Paper, GateID: "evidence.age"}
		c.change(&waiver.Common)
		_, err := judged(t, judge(t), d, sign(t, d, bundle.TypeWaiver, waiver, "risk"))
		if c.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		wants(t, name, err, bundle.InvalidAttestation, "/attestations/0/payload")
		if err != nil && err.Reason != c.reason {
			t.Errorf("%s: reason %q", name, err.Reason)
		}
	}
	long := &bundle.Suspension{Common: common(d)}
	long.ExpiresAt = "2036-11-20T12:00:00Z"
	if _, err := judged(t, judge(t), d, sign(t, d, bundle.TypeSuspension, long, "lab")); err != nil {
		t.Errorf("only waivers are bounded: %v", err)
	}
}

func TestSignaturesThatDoNotCount(t *testing.T) {
	d := sealed(t)
	e := sign(t, d, bundle.TypeBundle, map[string]any{}, "lab")
	change := func(edit func(*bundle.Trust, *bundle.TrustKey)) bundle.Judge {
		j := judge(t)
		trust := *j.Trust
		trust.Keys = append([]bundle.TrustKey{}, trust.Keys...)
		edit(&trust, &trust.Keys[0])
		text, err := trust.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var refused *bundle.Error
		if j.Trust, refused = bundle.ParseTrust(text); refused != nil {
			t.Fatal(refused)
		}
		return j
	}
	at := "/attestations/0/signatures"
	for name, j := range map[string]bundle.Judge{
		"open mode": {Now: clock, Origin: origin},
		"revoked":   change(func(_ *bundle.Trust, k *bundle.TrustKey) { k.Status = bundle.KeyRevoked }),
		"later": change(func(_ *bundle.Trust, k *bundle.TrustKey) {
			k.ValidFrom = "2026-11-20T12:30:01Z"
		}),
		"before": change(func(_ *bundle.Trust, k *bundle.TrustKey) {
			k.ValidUntil = "2026-11-20T12:30:00Z"
		}),
		"expired": change(func(t *bundle.Trust, _ *bundle.TrustKey) { t.ExpiresAt = "2026-11-20T12:30:00Z" }),
		"absent":  change(func(t *bundle.Trust, _ *bundle.TrustKey) { t.Keys = t.Keys[1:] }),
	} {
		_, err := judged(t, j, d, e)
		wants(t, name, err, bundle.InvalidSignature, at)
	}
	edge := change(func(_ *bundle.Trust, k *bundle.TrustKey) { k.ValidFrom = "2026-11-20T12:30:00Z" })
	if _, err := judged(t, edge, d, e); err != nil {
		t.Errorf("from now on: %v", err)
	}

	swapped := sign(t, d, bundle.TypeRejection, statements(d)[bundle.TypeRejection], "risk")
	swapped.Signatures = e.Signatures
	_, err := judged(t, judge(t), d, swapped)
	wants(t, "swapped payload", err, bundle.InvalidSignature, at)

	typed := e
	typed.PayloadType = "application/json"
	_, err = judged(t, judge(t), d, typed)
	wants(t, "swapped type", err, bundle.InvalidAttestation, "/attestations/0/payloadType")

	_, err = judged(t, judge(t), d, e, swapped)
	wants(t, "the second", err, bundle.InvalidSignature, "/attestations/1/signatures")
}

func TestStopsWorkWithExpiredTrust(t *testing.T) {
	d := sealed(t)
	j := judge(t)
	j.Now = time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	for predicateType, p := range statements(d) {
		fresh := reflect.ValueOf(p).Elem().FieldByName("Common")
		c := fresh.Interface().(bundle.Common)
		c.MadeAt, c.ExpiresAt = "2026-12-30T23:59:00Z", "2027-01-02T00:00:00Z"
		fresh.Set(reflect.ValueOf(c))
		key := map[string]string{bundle.TypeReplay: "replay", bundle.TypeDrill: "host",
			bundle.TypeRun: "host"}[predicateType]
		if key == "" {
			key = "risk"
		}
		_, err := judged(t, j, d, sign(t, d, predicateType, p, key))
		switch predicateType {
		case bundle.TypeSuspension, bundle.TypeRejection, bundle.TypeRetirement, bundle.TypeIncident:
			if err != nil {
				t.Errorf("%s: %v", predicateType, err)
			}
		default:
			wants(t, predicateType, err, bundle.InvalidSignature, "/attestations/0/signatures")
		}
	}
	closing := &bundle.Incident{Common: common(d), IncidentID: "inc-1", Event: "close"}
	closing.ExpiresAt = "2027-01-02T00:00:00Z"
	_, err := judged(t, j, d, sign(t, d, bundle.TypeIncident, closing, "risk"))
	wants(t, "closing", err, bundle.InvalidSignature, "/attestations/0/signatures")
}

func TestTwoSignaturesAreTwoAttestations(t *testing.T) {
	d := sealed(t)
	c := statements(d)[bundle.TypeRejection]
	e, by := sign(t, d, bundle.TypeRejection, c, "risk"), sign(t, d, bundle.TypeRejection, c, "operator")
	unknown, err := d.Attest(bundle.TypeRejection, c, testKey(t, "stranger"))
	if err != nil {
		t.Fatal(err)
	}
	e.Signatures = append(e.Signatures, unknown.Signatures[0], by.Signatures[0])
	list, refused := judged(t, judge(t), d, e)
	if refused != nil || len(list) != 2 || list[0].PAESHA256 != list[1].PAESHA256 ||
		list[0].KeyID == list[1].KeyID {
		t.Fatalf("%+v, %v", list, refused)
	}
	if want := digest.SHA256Hex(dsse.PAE(bundle.PayloadInToto, payload(t, e))); list[0].PAESHA256 != want {
		t.Errorf("named %s", list[0].PAESHA256)
	}
	// One of the trusted keys may not say this: then the whole is refused.
	lab := sign(t, d, bundle.TypeRejection, c, "lab")
	e.Signatures = append(e.Signatures, lab.Signatures[0])
	if _, refused = judged(t, judge(t), d, e); refused == nil || refused.Reason != bundle.ReasonRole {
		t.Errorf("got %v", refused)
	}
}

func payload(t testing.TB, e dsse.Envelope) []byte {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	s, refused := bundle.DecodeEnvelope(text)
	if refused != nil {
		t.Fatal(refused)
	}
	return s.Payload
}

func TestOtherSubjectsAndLists(t *testing.T) {
	d := sealed(t)
	other := unsealed()
	other.SealRequest.RequestedStage = bundle.Live
	next, err := bundle.Seal(other)
	if err != nil {
		t.Fatal(err)
	}
	// The same core, but other bytes.
	e := sign(t, d, bundle.TypeBundle, nil, "lab")
	_, refused := judged(t, judge(t), next, e)
	wants(t, "other bundle", refused, bundle.AttestationMismatch, "/attestations/0/payload")

	many := make([]dsse.Envelope, 65)
	for i := range many {
		many[i] = e
	}
	_, refused = judged(t, judge(t), d, many...)
	wants(t, "65", refused, field.TooManyItems, "/attestations")
	if list, refused := judged(t, judge(t), d, many[:64]...); refused != nil || len(list) != 64 {
		t.Errorf("64: %v", refused)
	}
	for text, want := range map[string]field.Code{
		`null`: field.InvalidField, `{}`: field.InvalidField, `[1]`: bundle.InvalidAttestation,
		`[{}]`: bundle.InvalidAttestation, `[]`: "",
		`[{"payload":"YQ=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"YQ=="}]}]`: bundle.InvalidAttestation,
	} {
		p, err := bundle.ReadPost(fmt.Appendf(nil, `{"attestations":%s,"bundle":%s}`, text, d.Canonical))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Attestations(judge(t))
		if want == "" && err != nil || want != "" && (err == nil || err.Code != want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	p, refused := bundle.ReadPost(d.Canonical)
	if refused != nil {
		t.Fatal(refused)
	}
	if list, err := p.Attestations(judge(t)); list != nil || err != nil {
		t.Errorf("a bare bundle: %v, %v", list, err)
	}
}

func TestRequiredSignature(t *testing.T) {
	d, trust := sealed(t), desk(t)
	trust.RequireSignature = true
	j := judge(t)
	j.Trust = trust
	pack, _ := judged(t, j, d, sign(t, d, bundle.TypeBundle, nil, "lab"))
	stop, _ := judged(t, j, d, sign(t, d, bundle.TypeSuspension, statements(d)[bundle.TypeSuspension], "lab"))
	if err := trust.CheckSigned(pack); err != nil {
		t.Error(err)
	}
	for name, list := range map[string][]bundle.Attestation{"none": nil, "another type": stop} {
		wants(t, name, trust.CheckSigned(list), bundle.SignatureRequired, "/attestations")
	}
	var open *bundle.Trust
	if open.CheckSigned(nil) != nil || desk(t).CheckSigned(nil) != nil {
		t.Error("a signature is asked for that nobody requires")
	}
}

func TestSealTimes(t *testing.T) {
	d := sealed(t)
	for name, c := range map[string]struct {
		now    string
		origin string
		code   field.Code
		at     string
	}{
		"now": {"2026-11-20T12:30:00Z", origin, "", ""},
		"other log": {"2036-01-01T00:00:00Z", "other.example", bundle.SealAudienceMismatch,
			"/seal_request/log_origin"},
		"expired": {"2026-12-20T12:00:00Z", origin, bundle.SealRequestExpired,
			"/seal_request/expires_at"},
		"last moment": {"2026-12-20T11:59:59Z", origin, "", ""},
		"5 min ahead": {"2026-11-20T11:55:00Z", origin, "", ""},
		"further ahead": {"2026-11-20T11:54:59Z", origin, bundle.SealRequestNotYetValid,
			"/seal_request/requested_at"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		for at, body := range map[string][]byte{"": d.Canonical,
			"/bundle": append(append([]byte(`{"bundle":`), d.Canonical...), '}')} {
			p, refused := bundle.ReadPost(body)
			if refused != nil {
				t.Fatal(refused)
			}
			if err := p.CheckSeal(now, c.origin); c.code != "" {
				wants(t, name, err, c.code, at+c.at)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
