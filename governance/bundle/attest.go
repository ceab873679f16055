package bundle

import (
	"crypto/ecdsa"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

// Attestation is a statement that a trusted key signed. One envelope with the
// signatures of two trusted keys is two attestations.
type Attestation struct {
	Envelope dsse.Envelope
	// PAESHA256 and KeyID name the attestation: the same payload by the same key is
	// the same.
	PAESHA256 string
	KeyID     string
	Principal string
	Roles     []string // of the key, at this time
	Parsed    *ParsedStatement
	Pointer   string // of its envelope in the body
	// Known marks one that was recorded before.
	Known bool
}

// Judge is what attestations are judged by.
type Judge struct {
	Trust  *Trust // nil: open mode
	Now    time.Time
	Origin string // the name of this log
	// Excluded are principals that may not approve besides owner, requested_by and
	// whoever signs the bundle in the same body: those that packed it before.
	Excluded []string
	// Interested are principals that, like those, vouch for nothing that the bundle runs: by days after the
	// seal, or by a drill that passed. Alone lets them: they are everybody there is.
	Interested []string
	Alone      bool
	// Recorded reports whether an attestation of this bundle was taken before, by its
	// PAESHA256 and KeyID; nil where none was. What was taken is not judged again: who
	// posts the same body later gets the same answer.
	Recorded func(paeSHA256, keyID string) bool
}

// Attestations is step 5 of the ingest: each attestation of the body is read and judged
// in order, and the first fault refuses the body.
func (p *Post) Attestations(j Judge) ([]Attestation, *Error) {
	if !p.signed {
		return nil, nil
	}
	r := &field.Reader{}
	var all []Attestation
	body := r.Free(map[string]any{"attestations": p.envelopes}, "")
	body.Each("attestations", MaxAttestations, func(_ int, v any, at string) {
		if r.Failed() {
			return
		}
		list, err := j.attestation(p, v, at)
		if err != nil {
			r.Stop(err)
			return
		}
		all = append(all, list...)
	})
	if r.Failed() {
		return nil, r.Err()
	}
	if err := j.ownStatements(p, all); err != nil {
		return nil, err
	}
	return all, nil
}

func (j Judge) attestation(p *Post, v any, at string) ([]Attestation, *Error) {
	r := &field.Reader{As: InvalidAttestation}
	signed := readEnvelope(r, v, at)
	if r.Failed() {
		return nil, r.Err()
	}
	if signed.Envelope.PayloadType != PayloadInToto {
		return nil, field.Refuse(InvalidAttestation, at+"/payloadType", "must be %s", PayloadInToto)
	}
	sum := digest.SHA256Hex(signed.PAE())
	known := j.known(signed, sum)
	signers := j.Trust.Signers(signed, j.Now)
	signers = slices.DeleteFunc(signers, func(k TrustKey) bool { return within(known, k.KeyID) })
	if len(signers)+len(known) == 0 {
		return nil, field.Refuse(InvalidSignature, at+"/signatures",
			"no trusted key made any of the signatures")
	}
	inside := at + "/payload"
	statement, err := ReadStatement(signed.Payload)
	if err != nil {
		// The pointer inside of the payload is no pointer of the body.
		return nil, field.Refuse(InvalidAttestation, inside, "the statement: %s", err.Error())
	}
	if run, ok := statement.Predicate.(*ServiceRun); ok {
		if !run.In(&p.Bundle) {
			return nil, field.Refuse(AttestationMismatch, inside,
				"the bundle of this body has no run %s with these files", run.RunID)
		}
	} else if !statement.Names(p.FileSHA256) {
		return nil, field.Refuse(AttestationMismatch, inside,
			"the bundle of this body is none of the subjects")
	}
	if len(signers) > 0 && j.Trust.Expired(j.Now) && !statement.stops() {
		return nil, field.Refuse(InvalidSignature, at+"/signatures",
			"trust.json has expired: only stops are taken")
	}
	if err := j.common(statement, p.Bundle.CandidateRevisionID, inside, len(signers) > 0); err != nil {
		return nil, err
	}
	var list []Attestation
	for i, k := range append(known, signers...) {
		old := i < len(known)
		if !old && !statement.within(k.Roles) {
			return nil, refuseAttestation(ReasonRole, inside,
				"the key of %s has only the role %s, which does not sign this", k.Principal,
				strings.Join(k.Roles, " and "))
		}
		list = append(list, Attestation{
			Envelope: signed.Envelope, PAESHA256: sum, KeyID: k.KeyID, Principal: k.Principal,
			Roles: slices.Clone(k.Roles), Parsed: statement, Pointer: at, Known: old,
		})
	}
	return list, nil
}

// known are the signers whose attestation was recorded before, also where their keys have
// run out since. A revoked key no longer counts, not even for a repeated post.
func (j Judge) known(signed *dsse.Signed, sum string) []TrustKey {
	if j.Recorded == nil {
		return nil
	}
	return j.Trust.signers(signed, func(k *TrustKey) bool {
		return k.Status == KeyActive && j.Recorded(sum, k.KeyID)
	})
}

func within(keys []TrustKey, id string) bool {
	return slices.ContainsFunc(keys, func(k TrustKey) bool { return k.KeyID == id })
}

func refuseAttestation(reason, at, format string, args ...any) *Error {
	err := field.Refuse(InvalidAttestation, at, format, args...)
	err.Reason = reason
	return err
}

// common checks what all statements but that about a bundle carry: for whom it is, and,
// where it is new, from when until when it holds.
func (j Judge) common(statement *ParsedStatement, id, at string, fresh bool) *Error {
	c := statement.Common
	if c == nil {
		return nil
	}
	if c.LogOrigin != j.Origin || c.CandidateRevisionID != id {
		return refuseAttestation(ReasonAudience, at, "the statement is for another log or revision")
	}
	if !fresh {
		return nil
	}
	if a, ok := statement.Predicate.(*Approval); ok && a.TrustDigest != "" &&
		a.TrustDigest != j.Trust.Digest() {
		return refuseAttestation(ReasonTrust, at,
			"the approval was given under another trust.json than counts now: look at the plan again")
	}
	made, _ := field.ParseTime(c.MadeAt)
	until, _ := field.ParseTime(c.ExpiresAt)
	switch _, waiver := statement.Predicate.(*Waiver); {
	case !j.Now.Before(until):
		return refuseAttestation(ReasonExpired, at, "the statement has expired")
	case made.Sub(j.Now) > MaxAhead:
		return refuseAttestation(ReasonExpired, at, "the statement is dated more than 5 minutes ahead")
	case waiver && until.Sub(made) > MaxWaiver:
		return refuseAttestation(ReasonExpired, at, "a waiver holds for at most 7 days")
	}
	return nil
}

// stops reports whether the statement only stops something: that works also when trust.json
// has expired.
func (s *ParsedStatement) stops() bool {
	switch p := s.Predicate.(type) {
	case *Suspension, *Ending:
		return true
	case *Incident:
		return p.Event == "open"
	}
	return false
}

// within reports whether a key with these roles may make the statement. Types that count
// for nothing may come from any key.
func (s *ParsedStatement) within(roles []string) bool {
	any := func(of ...string) bool {
		return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(of, r) })
	}
	switch p := s.Predicate.(type) {
	case *Replay, *Commitment, *Reveal:
		return any(TrustLab, TrustReplay)
	case *Dispute:
		return any(TrustShadow, TrustReplay)
	case *Approval:
		return slices.Contains(roles, p.Role)
	case *Waiver:
		return any(TrustRisk, TrustApprover)
	case *Drill:
		return any(TrustOperator, TrustHost)
	case *Incident:
		return p.Event == "open" || any(TrustRisk, TrustOperator)
	case *Ending:
		return any(TrustRisk, TrustApprover, TrustOperator)
	case *Shadow:
		return any(TrustShadow)
	case *HostedRun, *ServiceRun:
		return any(TrustHost)
	}
	return s.Statement.PredicateType != TypeBundle || any(TrustLab)
}

// ownStatements refuses what nobody says of their own: approvals, days after the seal, and drills that
// passed. It looks at the whole body, so that the order of its attestations does not matter.
func (j Judge) ownStatements(p *Post, all []Attestation) *Error {
	own := append([]string{p.Bundle.Candidate.Owner, p.Bundle.SealRequest.RequestedBy}, j.Excluded...)
	for _, a := range all {
		if a.Parsed.Statement.PredicateType == TypeBundle {
			own = append(own, a.Principal)
		}
	}
	for i := range all {
		if all[i].Known {
			continue
		}
		if err := j.ownStatement(&all[i], own); err != nil {
			return err
		}
	}
	return nil
}

func (j Judge) ownStatement(a *Attestation, own []string) *Error {
	at := a.Pointer + "/payload"
	vouches := func(code Code, what string) *Error {
		if j.Alone || !Among(own, a.Principal) && !Among(j.Interested, a.Principal) {
			return nil
		}
		e := field.Refuse(code, at, "%s owns, asked for or packed what is played, or another revision of "+
			"its family: %s somebody else", a.Principal, what)
		e.Reason = ReasonOwn
		return e
	}
	switch statement := a.Parsed.Predicate.(type) {
	case *Approval:
		if Among(own, a.Principal) {
			return refuseAttestation(ReasonSelfApproval, at, "owner, requester and packer may not approve")
		}
	case *Shadow:
		return vouches(InvalidShadow, "its days are stated by")
	case *Drill:
		if statement.Passed() {
			return vouches(InvalidDrill, "that its kill switch has worked is said by")
		}
	}
	return nil
}

// Among reports whether a principal is one of a list.
func Among(list []string, principal string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return SamePrincipal(s, principal) })
}

// SamePrincipal reports whether two names are of one person: case and blanks around them
// make no difference.
func SamePrincipal(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

// CheckSigned holds a new bundle to trust.json's require_signature: a lab
// must have signed it.
func (t *Trust) CheckSigned(list []Attestation) *Error {
	if t == nil || !t.RequireSignature {
		return nil
	}
	for _, a := range list {
		if a.Parsed.Statement.PredicateType == TypeBundle {
			return nil
		}
	}
	return field.Refuse(SignatureRequired, "/attestations", "trust.json asks for a signed bundle")
}

// SchemaTrust is the schema of trust.json.
const SchemaTrust = "trust/v1"

// The roles of keys.
const (
	TrustLab      = "lab"
	TrustReplay   = "replay"
	TrustRisk     = "risk"
	TrustApprover = "approver"
	TrustOperator = "operator"
	TrustHost     = "host"
)

// The states of keys.
const (
	KeyActive  = "active"
	KeyRevoked = "revoked"
)

// Trust is trust.json: whose signature counts for what. A nil *Trust is open mode:
// none does. Times are RFC 3339.
type Trust struct {
	Schema           string     `json:"schema"`
	Version          int64      `json:"version" min:"1"`
	ExpiresAt        string     `json:"expires_at" is:"time"`
	RequireSignature bool       `json:"require_signature"`
	Keys             []TrustKey `json:"keys" max:"1000"`
}

// TrustKey is one key of a principal, the person or program that holds it. The key
// counts from ValidFrom until just before ValidUntil, unless it is revoked.
type TrustKey struct {
	KeyID      string   `json:"key_id" is:"sha256"`
	PublicKey  string   `json:"public_key"` // PEM
	Principal  string   `json:"principal" is:"filled"`
	Roles      []string `json:"roles" is:"oneof lab replay risk approver operator host shadow"`
	ValidFrom  string   `json:"valid_from" is:"time"`
	ValidUntil string   `json:"valid_until" is:"time"`
	Status     string   `json:"status" is:"oneof active revoked"`

	key         *ecdsa.PublicKey
	from, until time.Time
}

// ParseTrust reads trust.json strictly. Names of principals that differ only in case
// are refused: one person could be two.
func ParseTrust(text []byte) (*Trust, *Error) {
	v, err := field.Parse(text)
	if err != nil {
		return nil, err
	}
	r, t := &field.Reader{}, &Trust{}
	r.Free(v, "").Schema("schema", SchemaTrust)
	if r.Struct(v, "", t); r.Failed() {
		return nil, r.Err()
	}
	return t, nil
}

// Check implements [field.Checker].
func (t *Trust) Check(o field.Object) {
	ids, principals := map[string]bool{}, map[string]string{}
	for i, k := range t.Keys {
		at := fmt.Sprintf("keys/%d/", i)
		if ids[k.KeyID] {
			o.FailAt(field.DuplicateItem, at+"key_id", "this key stands twice in the list")
		}
		ids[k.KeyID] = true
		folded := strings.ToLower(k.Principal)
		if other, ok := principals[folded]; ok && other != k.Principal {
			o.FailAt(field.InvalidField, at+"principal", "differs from another principal in case only")
		}
		principals[folded] = k.Principal
	}
}

// Check implements [field.Checker].
func (k *TrustKey) Check(o field.Object) {
	if k.Principal != strings.TrimSpace(k.Principal) {
		o.Fail(field.InvalidField, "principal", "begins or ends with a blank")
	}
	if len(k.Roles) == 0 {
		o.Fail(field.InvalidField, "roles", "must not be empty")
	}
	k.from, _ = field.ParseTime(k.ValidFrom)
	if k.until, _ = field.ParseTime(k.ValidUntil); !k.until.After(k.from) {
		o.Fail(field.InvalidTimestamp, "valid_until", "is not after valid_from")
	}
	key, err := dsse.ParseP256([]byte(k.PublicKey))
	if err != nil {
		o.Fail(field.InvalidField, "public_key", "is not a P-256 key in PEM")
	} else if id, err := dsse.KeyID(key); err != nil || id != k.KeyID {
		o.Fail(field.InvalidField, "key_id", "is not the SHA-256 of the key")
	}
	k.key = key
}

// Encode is the canonical text of trust.json, which is read again to make sure that it
// is one.
func (t *Trust) Encode() ([]byte, error) {
	text, err := digest.JCS(t)
	if err != nil {
		return nil, err
	}
	if _, refused := ParseTrust(text); refused != nil {
		return nil, refused
	}
	return text, nil
}

// Digest is the digest of the canonical form with its prefix, "" in open mode.
func (t *Trust) Digest() string {
	if t == nil {
		return ""
	}
	sum, err := digest.Of(t)
	if err != nil {
		return "" // not of a Trust that ParseTrust made
	}
	return DigestPrefix + sum
}

// Follows reports why t may not replace a trust.json of this version and digest: a change
// needs a higher version.
func (t *Trust) Follows(version int64, oldDigest string) error {
	if t.Digest() == oldDigest || t.Version > version {
		return nil
	}
	return fmt.Errorf("trust.json has changed, but its version %d is not above %d", t.Version, version)
}

// Expired reports whether nothing but stops is taken any more.
func (t *Trust) Expired(now time.Time) bool {
	until, ok := field.ParseTime(t.ExpiresAt)
	return !ok || !now.Before(until)
}

// Signers are the keys that count at this time and signed, in the order of trust.json.
func (t *Trust) Signers(s *dsse.Signed, now time.Time) []TrustKey {
	return t.signers(s, func(k *TrustKey) bool {
		return k.Status == KeyActive && !now.Before(k.from) && now.Before(k.until)
	})
}

// signers are the keys that pass the filter and signed.
func (t *Trust) signers(s *dsse.Signed, wanted func(*TrustKey) bool) []TrustKey {
	if t == nil {
		return nil
	}
	var usable []TrustKey
	var keys []*ecdsa.PublicKey
	for i := range t.Keys {
		if k := &t.Keys[i]; wanted(k) {
			usable, keys = append(usable, *k), append(keys, k.key)
		}
	}
	var signers []TrustKey
	for _, i := range s.Verify(keys...) {
		signers = append(signers, usable[i])
	}
	return signers
}

// DecodeEnvelope reads the text of one envelope strictly.
func DecodeEnvelope(text []byte) (*dsse.Signed, *Error) {
	v, err := field.Parse(text)
	if err != nil {
		return nil, err
	}
	r := &field.Reader{}
	s := readEnvelope(r, v, "")
	return s, r.Err()
}

// readEnvelope reads an envelope from a value of [digest.Strict]. Refusals go to r.
func readEnvelope(r *field.Reader, v any, at string) *dsse.Signed {
	o := r.Object(v, at, field.Names("payload payloadType signatures"), nil)
	payload, _ := o.Raw("payload").(string)
	s := &dsse.Signed{Envelope: dsse.Envelope{Payload: payload, PayloadType: o.Text("payloadType")}}
	if s.Payload = dsse.Base64(payload); s.Payload == nil {
		o.Fail(field.InvalidField, "payload", "must be a payload in strict base64")
	}
	n := o.Each("signatures", 0, func(i int, v any, at string) {
		if i >= dsse.MaxSignatures {
			return
		}
		one := r.Object(v, at, field.Names("sig"), field.Names("keyid"))
		text := one.Text("sig")
		sig := dsse.Base64(text)
		if sig == nil {
			one.Fail(field.InvalidField, "sig", "must be a signature in strict base64")
		}
		s.Envelope.Signatures = append(s.Envelope.Signatures,
			dsse.Signature{Sig: text, KeyID: one.Text("keyid")})
		s.Signatures = append(s.Signatures, sig)
	})
	if n < 1 || n > dsse.MaxSignatures {
		o.Fail(field.InvalidField, "signatures", "must be 1 to %d signatures", dsse.MaxSignatures)
	}
	return s
}
