package planetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/dsse"
)

// people are the principals that a test can sign as, and their roles.
var people = map[string][]string{
	"packer": {bundle.TrustLab}, "replayer": {bundle.TrustReplay}, "rita": {bundle.TrustRisk}, "anna": {bundle.TrustApprover},
	"ruth": {bundle.TrustRisk, bundle.TrustApprover}, "otto": {bundle.TrustOperator}, "host": {bundle.TrustHost},
	Owner: {bundle.TrustRisk, bundle.TrustApprover},
}

// Owner owns the bundles of Good.
const Owner = "owner@example.com"

// Key is a principal's key, made from the name alone: it is worth nothing but in tests.
func Key(name string) *ecdsa.PrivateKey {
	sum := sha256.Sum256([]byte("TEST ONLY " + name))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), sum[:])
	if err != nil {
		panic(err) // a scalar beyond the order: not of these names
	}
	return key
}

// TrustKey is an entry of trust.json for a name and its roles.
func TrustKey(principal, name string, roles ...string) bundle.TrustKey {
	pub := Key(name).Public()
	pem, err := dsse.PublicPEM(pub)
	if err != nil {
		panic(err)
	}
	id, err := dsse.KeyID(pub)
	if err != nil {
		panic(err)
	}
	return bundle.TrustKey{
		KeyID: id, PublicKey: string(pem), Principal: principal, Roles: roles, Status: bundle.KeyActive,
		ValidFrom: "2020-01-01T00:00:00Z", ValidUntil: "2040-01-01T00:00:00Z",
	}
}

// Trust is a trust.json with everybody in it, and with what edit makes of it.
func Trust(version int64, edit ...func(*bundle.Trust)) *bundle.Trust {
	t := &bundle.Trust{Schema: bundle.SchemaTrust, Version: version, ExpiresAt: "2039-01-01T00:00:00Z", Keys: []bundle.TrustKey{}}
	for name, roles := range people {
		t.Keys = append(t.Keys, TrustKey(name, name, roles...))
	}
	slices.SortFunc(t.Keys, func(a, b bundle.TrustKey) int { return strings.Compare(a.Principal, b.Principal) })
	for _, e := range edit {
		e(t)
	}
	text, err := t.Encode()
	if err != nil {
		panic(err)
	}
	read, refused := bundle.ParseTrust(text)
	if refused != nil {
		panic(refused)
	}
	return read
}

// Common is what a statement about a bundle carries at this time.
func Common(doc *bundle.Document, now time.Time) bundle.Common {
	return bundle.Common{
		LogOrigin: Origin, CandidateRevisionID: doc.Bundle.CandidateRevisionID, MadeAt: bundle.FormatTime(now),
		ExpiresAt: bundle.FormatTime(now.Add(5 * 24 * time.Hour)), Reason: "because",
	}
}
