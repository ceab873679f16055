package deploy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
)

// Registry is the signed payload of a deployable registry: what a host may run of a family.
type Registry struct {
	FamilyID string
	// Version is the size of the control plane's log; it never falls.
	Version             int64
	IssuedAt, ExpiresAt time.Time
	Entries             []Entry

	sealed []byte // schema and attestation, to be kept and opened again
}

// ValidAt says whether the registry has not expired.
func (r *Registry) ValidAt(now time.Time) bool { return now.Before(r.ExpiresAt) }

// The statuses of entries that are understood; any other does not let anything run.
const (
	StatusActive    = "active"
	StatusSuspended = "suspended"
	StatusRevoked   = "revoked"
)

// Entry is one deployment. What it lacks does not restrict: an empty list, a zero time, an
// absent limit.
type Entry struct {
	DeployableID, CandidateRevisionID string
	Status, Reason, Stage, Owner      string
	PluginSHA256, ParamsSHA256        string
	Symbols, Timeframes, Exchanges    []string
	// Modes is nil where the entry has none; an empty list allows no mode.
	Modes     []string
	Limits    Limits
	ExpiresAt time.Time
	// Kill ends what runs.
	Kill bool
}

// Allows says whether the entry's modes hold a mode.
func (e *Entry) Allows(mode string) bool { return e.Modes == nil || slices.Contains(e.Modes, mode) }

// formatError is what is wrong with a payload; the pointer is RFC 6901.
type formatError struct{ pointer, reason string }

func (e *formatError) Error() string {
	if e.pointer == "" {
		return e.reason
	}
	return e.pointer + ": " + e.reason
}

// decode reads a payload strictly. Members that are not known are left out: what restricts a
// deployment without being understood stands in its limits, see readLimits.
func decode(payload []byte) (*Registry, error) {
	v, err := digest.Strict(payload, maxDepth)
	if err != nil {
		return nil, err
	}
	d := &decoder{}
	o := d.object(v, "")
	r := &Registry{FamilyID: o.need("family_id").str()}
	if schema := o.need("schema").str(); schema != Schema {
		d.fail("/schema", "must be "+Schema)
	}
	r.Version = o.need("registry_version").integer()
	r.IssuedAt, r.ExpiresAt = o.need("issued_at").time(), o.need("expires_at").time()
	for _, e := range o.need("entries").list() {
		r.Entries = append(r.Entries, readEntry(d.object(e.v, e.at)))
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

func readEntry(o object) Entry {
	return Entry{
		DeployableID: o.get("deployable_id").str(), CandidateRevisionID: o.get("candidate_revision_id").str(),
		Status: o.need("status").str(), Reason: o.get("reason").str(), Stage: o.get("stage").str(), Owner: o.get("owner").str(),
		PluginSHA256: o.need("plugin_sha256").sha256(), ParamsSHA256: o.need("params_sha256").sha256(),
		Symbols: o.get("symbols").strings(), Timeframes: o.get("timeframes").strings(), Exchanges: o.get("exchanges").strings(),
		Modes: o.get("modes").strings(), Limits: readLimits(o.get("limits")),
		ExpiresAt: o.get("expires_at").time(), Kill: o.get("kill").boolean(),
	}
}

// decoder keeps the first fault of a payload.
type decoder struct{ err error }

func (d *decoder) fail(pointer, reason string) {
	if d.err == nil {
		d.err = &formatError{pointer, reason}
	}
}

func (d *decoder) object(v any, at string) object {
	members, ok := v.(map[string]any)
	if !ok {
		d.fail(at, "must be an object")
	}
	return object{d, at, members}
}

// object is a JSON object whose members are asked for by name.
type object struct {
	d       *decoder
	at      string
	members map[string]any
}

// value is a member with its place; null counts as absent.
type value struct {
	d  *decoder
	at string
	v  any
}

func (o object) get(name string) value {
	return value{o.d, o.at + "/" + digest.PointerStep(name), o.members[name]}
}

func (o object) need(name string) value {
	v := o.get(name)
	if v.v == nil {
		o.d.fail(v.at, "is missing")
	}
	return v
}

func (v value) absent() bool { return v.v == nil }

func (v value) str() string {
	s, ok := v.v.(string)
	if !ok && !v.absent() {
		v.d.fail(v.at, "must be a string")
	}
	return s
}

var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (v value) sha256() string {
	s := v.str()
	if !sha256Hex.MatchString(s) {
		v.d.fail(v.at, "must be a SHA-256 in lower-case hex")
	}
	return s
}

// timestamp is RFC 3339 in UTC with the letter Z. Go's own parser takes a comma for the point
// and an hour of one digit.
var timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`)

func (v value) time() time.Time {
	if v.absent() {
		return time.Time{}
	}
	s := v.str()
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || !timestamp.MatchString(s) {
		v.d.fail(v.at, "must be a time in RFC 3339 with Z")
	}
	return t
}

func (v value) integer() int64 {
	if v.absent() {
		return 0
	}
	x, ok := v.v.(float64)
	if !ok || x != math.Trunc(x) || x < 0 || x > 1<<53-1 {
		v.d.fail(v.at, "must be a whole number of at least 0")
		return 0
	}
	return int64(x)
}

func (v value) boolean() bool {
	b, ok := v.v.(bool)
	if !ok && !v.absent() {
		v.d.fail(v.at, "must be true or false")
	}
	return b
}

// list is nil where the member is absent, and empty where it is empty.
func (v value) list() []value {
	if v.absent() {
		return nil
	}
	list, ok := v.v.([]any)
	if !ok {
		v.d.fail(v.at, "must be a list")
	}
	out := make([]value, len(list))
	for i, e := range list {
		out[i] = value{v.d, v.at + "/" + strconv.Itoa(i), e}
	}
	return out
}

func (v value) strings() []string {
	if v.absent() {
		return nil
	}
	out := []string{}
	for _, e := range v.list() {
		if e.absent() {
			v.d.fail(e.at, "must be a string")
		}
		out = append(out, e.str())
	}
	return out
}

var decimalForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?$`)

// amount is a decimal of the contract: no sign, no exponent.
func (v value) amount() string {
	s := v.str()
	if !v.absent() && !decimalForm.MatchString(s) {
		v.d.fail(v.at, fmt.Sprintf("must be a plain decimal, such as %q", "2500.5"))
	}
	return s
}

// PayloadType is the DSSE payload type of a deployable registry.
const PayloadType = "application/vnd.run-control.deployable-registry+json"

// Schema is the schema of a deployable registry.
const Schema = "deployable-registry/v1"

// maxDepth is how deep JSON may be nested; the value at the top has depth 0.
const maxDepth = 32

// Open reads an answer of a control plane and returns the registry in it, once the pinned key
// has signed it as the registry of this family. The refusals are RegistryInvalid,
// RegistryUnsigned, RegistrySignatureInvalid and RegistryFamilyMismatch. Whether the registry
// is still valid, or older than one seen before, is not asked here.
func Open(body []byte, key *ecdsa.PublicKey, family string) (*Registry, *Refusal) {
	v, err := digest.Strict(body, maxDepth)
	if err != nil {
		return nil, invalid("the answer is no JSON that has one meaning: %v", err)
	}
	outer, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("the answer is no JSON object")
	}
	envelope, _ := outer["attestation"].(map[string]any)
	text, _ := envelope["payload"].(string)
	if text == "" {
		return nil, refuse(RegistryUnsigned, "The registry of %s has no signed payload. Only what the control plane has signed counts: "+
			"is --control-url the address of a control plane?", family)
	}
	payload, reason := verify(envelope, text, key)
	if reason != "" {
		return nil, refuse(RegistrySignatureInvalid, "The registry of %s is not signed by the pinned key: %s. "+
			"Compare --control-key with the control plane's governance.pub, over a way that you trust.", family, reason).with("reason", reason)
	}
	r, fault := decode(payload)
	if fault != nil {
		return nil, invalid("the signed payload: %v", fault)
	}
	if r.FamilyID != family {
		return nil, refuse(RegistryFamilyMismatch, "The registry is that of family %q, not of %q. Name the family with --strategy-family, "+
			"or find out what answers in the control plane's place.", r.FamilyID, family).with("family", family)
	}
	// Of the answer only this is kept.
	r.sealed = digest.Tree(map[string]any{"schema": Schema, "attestation": envelope})
	return r, nil
}

func invalid(format string, args ...any) *Refusal {
	reason := fmt.Sprintf(format, args...)
	return refuse(RegistryInvalid, "The registry cannot be read: %s. Find out what answers at --control-url.", reason).with("reason", reason)
}

// verify returns the payload of a DSSE envelope that the key has signed as a registry, or why
// it has not.
func verify(envelope map[string]any, text string, key *ecdsa.PublicKey) (payload []byte, reason string) {
	if kind, _ := envelope["payloadType"].(string); kind != PayloadType {
		return nil, "its payloadType is another one"
	}
	if payload = dsse.Base64(text); payload == nil {
		return nil, "its payload is not strict base64"
	}
	if key == nil || key.Curve != elliptic.P256() {
		return nil, "no P-256 key is pinned"
	}
	signed := dsse.Signed{Envelope: dsse.Envelope{PayloadType: PayloadType}, Payload: payload}
	signatures, _ := envelope["signatures"].([]any)
	for _, v := range signatures[:min(len(signatures), dsse.MaxSignatures)] {
		one, _ := v.(map[string]any)
		text, _ := one["sig"].(string)
		if sig := dsse.Base64(text); sig != nil {
			signed.Signatures = append(signed.Signatures, sig)
		}
	}
	if len(signed.Verify(key)) == 0 {
		return nil, "no signature verifies"
	}
	return payload, ""
}
