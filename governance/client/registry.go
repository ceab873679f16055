package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/bundle/dsse"
	"github.com/assay-run/assay/host/digest"
)

// SchemaRegistry is the schema of a deployable registry.
const SchemaRegistry = "deployable-registry/v1"

// Registry is deployable-registry/v1 as its signed payload has it. Times are RFC 3339.
type Registry struct {
	Schema    string          `json:"schema"`
	FamilyID  string          `json:"family_id"`
	Version   int64           `json:"registry_version"`
	IssuedAt  string          `json:"issued_at"`
	ExpiresAt string          `json:"expires_at"`
	Entries   []RegistryEntry `json:"entries"`
}

// RegistryEntry is one thing that may run, or no longer.
type RegistryEntry struct {
	DeployableID        string          `json:"deployable_id"`
	CandidateRevisionID string          `json:"candidate_revision_id"`
	Status              string          `json:"status"`
	Reason              string          `json:"reason"`
	Stage               string          `json:"stage"`
	Modes               []string        `json:"modes"`
	StrategyName        string          `json:"strategy_name"`
	PluginSHA256        string          `json:"plugin_sha256"`
	ParamsSHA256        string          `json:"params_sha256"`
	Params              json.RawMessage `json:"params"`
	Symbols             []string        `json:"symbols"`
	Timeframes          []string        `json:"timeframes"`
	Exchanges           []string        `json:"exchanges"`
	Limits              bundle.Limits   `json:"limits"`
	Owner               string          `json:"owner"`
	ApprovedAt          *string         `json:"approved_at"`
	ApprovedBy          []string        `json:"approved_by"`
	ExpiresAt           *string         `json:"expires_at"`
	Kill                bool            `json:"kill"`
	SealLogIndex        int64           `json:"seal_log_index"`
}

// Registry is the answer of the registry's route as it came: a host keeps these bytes, and
// OpenRegistry reads them.
func (c *Client) Registry(ctx context.Context, family string) ([]byte, error) {
	return c.call(ctx, http.MethodGet, nil, "deployable-registry", family)
}

// OpenRegistry reads the payload of a registry that the key, governance.pub, has signed.
// The members outside of the payload are not looked at. The error is an *UntrustedError.
func OpenRegistry(body, key []byte) (*Registry, error) {
	untrusted := func(format string, args ...any) error {
		return &UntrustedError{What: "the registry", Problems: []string{fmt.Sprintf(format, args...)}}
	}
	pub, err := dsse.ParseP256(key)
	if err != nil {
		return nil, untrusted("the key: %v", err)
	}
	canonical, err := digest.CanonicalJSON(body)
	if err != nil {
		return nil, untrusted("%v", err)
	}
	var outer struct {
		Attestation json.RawMessage `json:"attestation"`
	}
	if err := json.Unmarshal(canonical, &outer); err != nil || len(outer.Attestation) == 0 {
		return nil, untrusted("it is not signed")
	}
	signed, refused := dsse.Decode(outer.Attestation)
	switch {
	case refused != nil:
		return nil, untrusted("attestation: %v", refused)
	case signed.Envelope.PayloadType != bundle.PayloadRegistry:
		return nil, untrusted("its payload is %.80q", signed.Envelope.PayloadType)
	case len(signed.Verify(pub)) == 0:
		return nil, untrusted("its signature is not of the key")
	}
	payload, err := digest.CanonicalJSON(signed.Payload)
	if err != nil {
		return nil, untrusted("payload: %v", err)
	}
	r := &Registry{}
	if err := json.Unmarshal(payload, r); err != nil || r.Schema != SchemaRegistry {
		return nil, untrusted("its payload is not %s", SchemaRegistry)
	}
	return r, nil
}
