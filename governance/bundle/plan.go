package bundle

import (
	"encoding/base32"
	"encoding/hex"
	"strings"

	"github.com/assay-run/assay/host/base/field"
)

// SchemaPlan is the schema of the registration of a search.
const SchemaPlan = "plan-registration/v1"

// PlanRegistration names a search of a lab before it runs: which plan it is and how many
// trials it has. The plan itself stays with the lab.
type PlanRegistration struct {
	Schema     string `json:"schema"`
	PlanID     string `json:"plan_id" is:"id"`
	PlanSHA256 string `json:"plan_sha256" is:"sha256"`
	FamilyID   string `json:"family_id" is:"id"`
	Slug       string `json:"slug" is:"id"`
	Trials     int64  `json:"trials" min:"1" max:"1000000"`
}

// PlanID is plan_ and the first 10 bytes of the hash of a plan in lower-case base32.
func PlanID(sha256 string) string {
	sum, err := hex.DecodeString(sha256)
	if err != nil || len(sum) < 10 {
		return ""
	}
	return "plan_" + strings.ToLower(
		base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// ParsePlan reads the registration of a search strictly.
func ParsePlan(text []byte) (*PlanRegistration, *Error) {
	v, err := field.Parse(text)
	if err != nil {
		return nil, err
	}
	r, p := &field.Reader{}, &PlanRegistration{}
	r.Free(v, "").Schema("schema", SchemaPlan)
	if r.Struct(v, "", p); r.Failed() {
		return nil, r.Err()
	}
	return p, nil
}

// Check implements [field.Checker].
func (p *PlanRegistration) Check(o field.Object) {
	if p.PlanID != PlanID(p.PlanSHA256) {
		o.Fail(field.InvalidField, "plan_id", "is not made of plan_sha256")
	}
}
