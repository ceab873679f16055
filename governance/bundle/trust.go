package bundle

import (
	"crypto/ecdsa"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
)

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

// maxKeys is how many keys trust.json may have.
const maxKeys = 1000

// Trust is trust.json: whose signature counts for what. A nil *Trust is open mode:
// nobody's does. Times are RFC 3339.
type Trust struct {
	Schema           string     `json:"schema"`
	Version          int64      `json:"version"`
	ExpiresAt        string     `json:"expires_at"`
	RequireSignature bool       `json:"require_signature"`
	Keys             []TrustKey `json:"keys"`
}

// TrustKey is one key of a principal, the person or program that holds it. The key
// counts from ValidFrom until just before ValidUntil, unless it is revoked.
type TrustKey struct {
	KeyID      string   `json:"key_id"`
	PublicKey  string   `json:"public_key"` // PEM
	Principal  string   `json:"principal"`
	Roles      []string `json:"roles"`
	ValidFrom  string   `json:"valid_from"`
	ValidUntil string   `json:"valid_until"`
	Status     string   `json:"status"`

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
	r := &field.Reader{}
	r.Free(v, "").Schema("schema", SchemaTrust)
	o := r.Object(v, "", field.Names("schema version expires_at require_signature keys"), nil)
	t := &Trust{Schema: SchemaTrust, Version: o.Integer("version", 1, maxCount)}
	t.ExpiresAt, _ = o.Time("expires_at")
	if require := o.Bool("require_signature"); require != nil {
		t.RequireSignature = *require
	}
	t.Keys = []TrustKey{}
	ids, principals := map[string]bool{}, map[string]string{}
	o.Each("keys", maxKeys, func(_ int, v any, at string) {
		one := r.Object(v, at, field.Names("key_id public_key principal roles valid_from valid_until status"), nil)
		k := readTrustKey(r, one)
		if ids[k.KeyID] {
			one.Fail(field.DuplicateItem, "key_id", "this key stands twice in the list")
		}
		ids[k.KeyID] = true
		folded := strings.ToLower(k.Principal)
		if other, ok := principals[folded]; ok && other != k.Principal {
			one.Fail(field.InvalidField, "principal", "differs from another principal in case only")
		}
		principals[folded] = k.Principal
		t.Keys = append(t.Keys, k)
	})
	if r.Failed() {
		return nil, r.Err()
	}
	return t, nil
}

func readTrustKey(r *field.Reader, o field.Object) TrustKey {
	k := TrustKey{KeyID: o.SHA256("key_id"), PublicKey: o.Text("public_key"), Principal: o.Filled("principal")}
	if k.Principal != strings.TrimSpace(k.Principal) {
		o.Fail(field.InvalidField, "principal", "begins or ends with a blank")
	}
	k.Roles = o.Texts("roles", 0, must(func(s string) bool {
		return slices.Contains([]string{TrustLab, TrustReplay, TrustRisk, TrustApprover, TrustOperator, TrustHost}, s)
	}, "must be lab, replay, risk, approver, operator or host"))
	if len(k.Roles) == 0 {
		o.Fail(field.InvalidField, "roles", "must not be empty")
	}
	k.ValidFrom, k.from = o.Time("valid_from")
	k.ValidUntil, k.until = o.Time("valid_until")
	if !k.until.After(k.from) {
		o.Fail(field.InvalidTimestamp, "valid_until", "is not after valid_from")
	}
	k.Status = o.OneOf("status", field.InvalidField, KeyActive, KeyRevoked)
	if r.Failed() {
		return k
	}
	key, err := dsse.ParseP256([]byte(k.PublicKey))
	if err != nil {
		o.Fail(field.InvalidField, "public_key", "is not a P-256 key in PEM")
		return k
	}
	if id, err := dsse.KeyID(key); err != nil || id != k.KeyID {
		o.Fail(field.InvalidField, "key_id", "is not the SHA-256 of the key")
	}
	k.key = key
	return k
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

// Follows says why t may not replace a trust.json of this version and digest: a change
// needs a higher version.
func (t *Trust) Follows(version int64, oldDigest string) error {
	if t.Digest() == oldDigest || t.Version > version {
		return nil
	}
	return fmt.Errorf("trust.json has changed, but its version %d is not above %d", t.Version, version)
}

// Expired says whether nothing but stops is taken any more.
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

// signers are the keys that are wanted and signed.
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
