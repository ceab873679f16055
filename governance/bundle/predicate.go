package bundle

import (
	"encoding/json"

	"github.com/assay-run/assay/host/base/digest"
)

// The predicate types that this version understands, below URIBase. Others are stored
// and count for nothing.
const (
	TypeBundle     = URIBase + "candidate-bundle/v1"
	TypeReplay     = URIBase + "replay/v1"
	TypeApproval   = URIBase + "approval/v1"
	TypeWaiver     = URIBase + "waiver/v1"
	TypeDrill      = URIBase + "drill/v1"
	TypeIncident   = URIBase + "incident/v1"
	TypeSuspension = URIBase + "suspension/v1"
	TypeRejection  = URIBase + "rejection/v1"
	TypeRetirement = URIBase + "retirement/v1"

	TypeSeal          = URIBase + "seal/v1"
	TypeLogStart      = URIBase + "log-start/v1"
	TypeRecorded      = URIBase + "attestation-recorded/v1"
	TypeStageDecision = URIBase + "stage-decision/v1"
	TypePolicy        = URIBase + "policy/v1"
	TypeTrust         = URIBase + "trust/v1"
)

// StatementType is the type of an in-toto statement.
const StatementType = "https://in-toto.io/Statement/v1"

// PayloadInToto is the DSSE payload type of statements, PayloadRegistry that of a
// deployable registry.
const (
	PayloadInToto   = "application/vnd.in-toto+json"
	PayloadRegistry = "application/vnd.run-control.deployable-registry+json"
)

// Statement is an in-toto statement v1.
type Statement struct {
	Type          string          `json:"_type"`
	Subject       []Subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

// Subject is what a statement is about: a name and its digests by algorithm.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Common is what every attestation but candidate-bundle carries. Times are RFC 3339.
type Common struct {
	LogOrigin           string `json:"log_origin"`
	CandidateRevisionID string `json:"candidate_revision_id"`
	MadeAt              string `json:"made_at"`
	ExpiresAt           string `json:"expires_at"`
	Reason              string `json:"reason"`
}

// Replay says that somebody else ran the pinned runs again.
type Replay struct {
	Common
	Runs             []ReplayedRun `json:"runs"`
	ParentRevisionID *string       `json:"parent_revision_id,omitempty"`
}

// ReplayedRun is what one run came to; Trades are the hashes of trades.csv by split.
type ReplayedRun struct {
	RunID        string        `json:"run_id"`
	RequestHash  string        `json:"request_hash"`
	ReportSHA256 string        `json:"report_sha256"`
	Trades       []SplitTrades `json:"trades"`
	// Inputs are worked out from the files that the replay has made; nil in statements of
	// earlier versions, and where a run failed.
	Inputs *Inputs `json:"inputs,omitempty"`
}

// Inputs are what gates judge of one run, worked out from its files.
type Inputs struct {
	Summary       map[string]float64 `json:"summary"`
	Splits        []Split            `json:"splits"`
	Falsification *Falsification     `json:"falsification,omitempty"`
}

// SHA256 is the hash of the canonical form; a list that is missing is an empty one.
func (i *Inputs) SHA256() (string, error) {
	whole := *i
	whole.Splits = append([]Split{}, i.Splits...)
	if f := i.Falsification; f != nil {
		own := *f
		own.Tests = append([]TestVerdict{}, f.Tests...)
		whole.Falsification = &own
	}
	text, err := digest.Value(&whole)
	return digest.SHA256Hex(text), err
}

// Falsification is what an attack on a run has come to.
type Falsification struct {
	BaseRunID string `json:"base_run_id"`
	Overall   string `json:"overall"` // pass, warn, fail or inconclusive
	// Trials is how many trials were counted against the claim.
	Trials int64         `json:"n_trials"`
	Tests  []TestVerdict `json:"tests"`
}

// Failed are the tests that refute, in their order.
func (f *Falsification) Failed() []string {
	var list []string
	for _, t := range f.Tests {
		if t.Class == TestGate && t.Verdict == "fail" {
			list = append(list, t.ID)
		}
	}
	return list
}

// TestGate is the class of those tests of a falsification that refute.
const TestGate = "G"

// TestVerdict is the verdict of one test of a falsification.
type TestVerdict struct {
	ID      string `json:"id"`
	Class   string `json:"class"`
	Verdict string `json:"verdict"`
}

// RunEvidence says that the files of a run were read, and what they came to: the numbers
// that the bundle declares, by the hash of the Inputs.
type RunEvidence struct {
	RunID         string         `json:"run_id"`
	InputsSHA256  string         `json:"inputs_sha256"`
	Falsification *Falsification `json:"falsification,omitempty"`
}

// SplitTrades is the hash of trades.csv of a split.
type SplitTrades struct {
	SplitID string `json:"split_id"`
	SHA256  string `json:"sha256"`
}

// Approval lets a revision into a stage, or resumes it.
type Approval struct {
	Common
	Action string `json:"action"` // promote or resume
	Stage  Stage  `json:"stage"`
	Role   string `json:"role"`
	// PlanDigest is the plan that was approved; a resumption need not name one.
	PlanDigest string `json:"plan_digest,omitempty"`
	// SuspensionID is the fact_id of the stop that is resumed from.
	SuspensionID string `json:"suspension_id,omitempty"`
}

// Waiver lets a gate pass for at most seven days.
type Waiver struct {
	Common
	Stage  Stage  `json:"stage"`
	GateID string `json:"gate_id"`
}

// Drill is a rehearsal of the kill switch.
type Drill struct {
	Common
	Drill  string `json:"drill"`  // kill_switch
	Result string `json:"result"` // pass or fail
	RunID  string `json:"run_id"`
	DoneAt string `json:"done_at"`
	// Metadata is the text of the run's metadata.json; "" in statements of earlier versions.
	Metadata string `json:"metadata,omitempty"`
}

// Incident opens or closes one.
type Incident struct {
	Common
	IncidentID string `json:"incident_id"`
	Event      string `json:"event"`              // open or close
	Severity   string `json:"severity,omitempty"` // warning or critical; not needed to close
}

// Suspension stops a revision, and lowers it where ToStage is given.
type Suspension struct {
	Common
	ToStage Stage `json:"to_stage,omitempty"`
	Kill    bool  `json:"kill"`
}

// Ending is a rejection or a retirement: permanent.
type Ending struct {
	Common
	ReplacedBy string `json:"replaced_by,omitempty"`
}
