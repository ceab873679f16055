package promotion

import (
	"encoding/json"

	"github.com/assay-run/assay/governance/bundle"
)

// Ingested are the fields of bundle_ingested: a submission, and all of its bundle but
// runs, artifacts and limits, which are facts of their own.
type Ingested struct {
	FileSHA256   string   `json:"file_sha256"`
	DeployableID string   `json:"deployable_id"`
	Rungs        []string `json:"rungs"` // as of this submission
	// Evidence is that of the seal.
	Evidence    []bundle.RunEvidence `json:"evidence,omitempty"`
	SealRequest bundle.SealRequest   `json:"seal_request"`
	Candidate   bundle.Candidate     `json:"candidate"`
	Strategy    bundle.Strategy      `json:"strategy"`
	Engine      bundle.Engine        `json:"engine"`
	Data        []bundle.Dataset     `json:"data"`
	Trials      *bundle.Trials       `json:"trials,omitempty"`
	Limitations []string             `json:"known_limitations,omitempty"`
	Extensions  json.RawMessage      `json:"extensions,omitempty"`
}

// Lineage are the fields of lineage_computed.
type Lineage struct {
	DeployableID        string  `json:"deployable_id"`
	ParentRevisionID    *string `json:"parent_revision_id"`
	DeclaredChangeClass string  `json:"declared_change_class"`
}

// By is who signed an attestation.
type By struct {
	PAESHA256 string   `json:"pae_sha256"`
	KeyID     string   `json:"key_id"`
	Principal string   `json:"principal"`
	Roles     []string `json:"roles"`
}

// Signature are the fields of bundle_signed. Files are the SHA-256 of the files that the
// statement names, sorted: a revision may be submitted in several, and which of them
// somebody stands for matters.
type Signature struct {
	By
	Files []string `json:"files"`
}

// Replay are the fields of replay_verified, Approval of approval_granted, and so on: the
// predicate that was signed, and who signed it.
type Replay struct {
	By
	bundle.Replay
}

// Approval are the fields of approval_granted.
type Approval struct {
	By
	bundle.Approval
}

// Waiver are the fields of waiver_granted.
type Waiver struct {
	By
	bundle.Waiver
}

// Drill are the fields of drill_recorded.
type Drill struct {
	By
	bundle.Drill
}

// Incident are the fields of incident_opened and incident_closed.
type Incident struct {
	By
	bundle.Incident
}

// Suspension are the fields of suspended and, with a stage to go to, of demoted.
type Suspension struct {
	By
	bundle.Suspension
}

// Ending are the fields of rejected and retired.
type Ending struct {
	By
	bundle.Ending
}
