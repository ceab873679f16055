package bundle

import (
	"encoding/json"
	"time"

	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/host/base/digest"
)

// maxSubjects is how many subjects a statement may have.
const maxSubjects = 1024

// maxMetadata is how long the metadata.json of a drill may be, in bytes.
const maxMetadata = 256 << 10

// MaxWaiver is how long a waiver may hold.
const MaxWaiver = 7 * 24 * time.Hour

// Said is the content of a statement, read strictly.
type Said struct {
	Statement Statement
	// Predicate is *Replay, *Approval, *Waiver, *Drill, *Incident, *Suspension or
	// *Ending; nil for candidate-bundle and for types that are not known here.
	Predicate any
	// Common points into Predicate; nil where that is nil.
	Common *Common
}

// Known reports whether the statement's type counts for something.
func (s *Said) Known() bool { return s.Common != nil || s.Statement.PredicateType == TypeBundle }

// Names reports whether one of the subjects has this SHA-256.
func (s *Said) Names(sha256 string) bool {
	for _, subject := range s.Statement.Subject {
		if subject.Digest["sha256"] == sha256 {
			return true
		}
	}
	return false
}

// ReadStatement reads the payload of an attestation: an in-toto statement, whose
// predicate is checked where its type is known. Every refusal is an InvalidAttestation
// whose pointer is one inside the payload. No signature is looked at here.
func ReadStatement(payload []byte) (*Said, *Error) {
	v, err := field.Parse(payload)
	if err != nil {
		err.Code = field.InvalidAttestation
		return nil, err
	}
	r := &field.Reader{As: field.InvalidAttestation}
	o := r.Object(v, "", field.Names("_type subject predicateType"), field.Names("predicate"))
	said := &Said{Statement: Statement{
		Type: o.OneOf("_type", field.InvalidAttestation, StatementType), PredicateType: o.Filled("predicateType"),
	}}
	n := o.Each("subject", maxSubjects, func(_ int, v any, at string) {
		said.Statement.Subject = append(said.Statement.Subject, readSubject(r, v, at))
	})
	if n == 0 {
		o.Fail(field.InvalidAttestation, "subject", "must not be empty")
	}
	if o.Has("predicate") && !r.Failed() {
		said.Statement.Predicate = digest.Tree(o.Raw("predicate"))
	}
	readPredicate(r, o, said)
	if r.Failed() {
		return nil, r.Err()
	}
	return said, nil
}

func readSubject(r *field.Reader, v any, at string) Subject {
	o := r.Object(v, at, field.Names("digest"), field.Names("name"))
	s := Subject{Name: o.Text("name"), Digest: map[string]string{}}
	digests, _ := o.Raw("digest").(map[string]any)
	if len(digests) == 0 {
		o.Fail(field.InvalidAttestation, "digest", "must be an object with digests")
	}
	all := o.Open("digest")
	for name := range digests {
		s.Digest[name] = all.Text(name)
	}
	return s
}

var commonNeed = field.Names("log_origin candidate_revision_id made_at expires_at reason")

// predicate opens the predicate: common members, and those of its own.
func predicate(r *field.Reader, statement field.Object, need, may string) (field.Object, Common) {
	if !statement.Has("predicate") {
		statement.Fail(field.MissingField, "predicate", "this field is required")
	}
	o := statement.Child("predicate", append(field.Names(need), commonNeed...), field.Names(may))
	c := Common{LogOrigin: o.Text("log_origin"), CandidateRevisionID: o.Revision("candidate_revision_id"), Reason: o.Text("reason")}
	var from, to time.Time
	c.MadeAt, from = o.Time("made_at")
	c.ExpiresAt, to = o.Time("expires_at")
	if !to.After(from) {
		o.Fail(field.InvalidTimestamp, "expires_at", "is not after made_at")
	}
	return o, c
}

func readPredicate(r *field.Reader, s field.Object, said *Said) {
	switch said.Statement.PredicateType {
	case TypeReplay:
		o, c := predicate(r, s, "runs", "parent_revision_id")
		p := &Replay{Common: c, Runs: readReplayed(r, o)}
		if o.Raw("parent_revision_id") != nil {
			parent := o.Revision("parent_revision_id")
			p.ParentRevisionID = &parent
		}
		said.Predicate, said.Common = p, &p.Common
	case TypeApproval:
		p := readApproval(r, s)
		said.Predicate, said.Common = p, &p.Common
	case TypeWaiver:
		o, c := predicate(r, s, "stage gate_id", "")
		p := &Waiver{Common: c, Stage: stage(o, "stage", Paper, Canary, Live), GateID: o.Identifier("gate_id")}
		said.Predicate, said.Common = p, &p.Common
	case TypeDrill:
		o, c := predicate(r, s, "drill result run_id done_at", "metadata")
		p := &Drill{
			Common: c, Drill: o.OneOf("drill", field.InvalidField, "kill_switch"),
			Result: o.OneOf("result", field.InvalidField, "pass", "fail"), RunID: o.Identifier("run_id"),
		}
		p.DoneAt, _ = o.Time("done_at")
		if o.Has("metadata") {
			p.Metadata, _ = o.Raw("metadata").(string) // may be longer than other texts
			if len(p.Metadata) == 0 || len(p.Metadata) > maxMetadata {
				o.Fail(field.InvalidField, "metadata", "must be a text of 1 to %d bytes", maxMetadata)
			}
		}
		said.Predicate, said.Common = p, &p.Common
	case TypeIncident:
		o, c := predicate(r, s, "incident_id event", "severity")
		p := &Incident{
			Common: c, IncidentID: o.Identifier("incident_id"), Event: o.OneOf("event", field.InvalidField, "open", "close"),
			Severity: o.OneOf("severity", field.InvalidField, "warning", "critical"),
		}
		if p.Event == "open" && !o.Has("severity") {
			o.Fail(field.MissingField, "severity", "this field is required")
		}
		said.Predicate, said.Common = p, &p.Common
	case TypeSuspension:
		o, c := predicate(r, s, "kill", "to_stage")
		p := &Suspension{Common: c, ToStage: stage(o, "to_stage", Research, Paper, Canary)}
		if kill := o.Bool("kill"); kill != nil {
			p.Kill = *kill
		}
		said.Predicate, said.Common = p, &p.Common
	case TypeRejection, TypeRetirement:
		o, c := predicate(r, s, "", "replaced_by")
		p := &Ending{Common: c, ReplacedBy: o.Revision("replaced_by")}
		said.Predicate, said.Common = p, &p.Common
	}
}

// readApproval reads an approval. Who promotes names the plan, who resumes the stop.
func readApproval(r *field.Reader, s field.Object) *Approval {
	o, c := predicate(r, s, "action stage role", "plan_digest suspension_id")
	p := &Approval{
		Common: c, Action: o.OneOf("action", field.InvalidField, "promote", "resume"), Stage: stage(o, "stage", Paper, Canary, Live),
		Role: o.OneOf("role", field.InvalidField, TrustRisk, TrustApprover), PlanDigest: o.Digest("plan_digest"),
		SuspensionID: o.Match("suspension_id", field.InvalidDigest,
			func(s string) bool { return field.IsSHA256(s) || field.IsDigest(s) }, "a fact_id"),
	}
	switch {
	case p.Action == "promote" && !o.Has("plan_digest"):
		o.Fail(field.MissingField, "plan_digest", "this field is required")
	case p.Action == "promote" && o.Has("suspension_id"):
		o.Fail(field.UnknownField, "suspension_id", "only a resumption names a stop")
	case p.Action == "resume" && !o.Has("suspension_id"):
		o.Fail(field.MissingField, "suspension_id", "this field is required")
	}
	return p
}

func readReplayed(r *field.Reader, o field.Object) []ReplayedRun {
	var runs []ReplayedRun
	n := o.Each("runs", MaxRuns, func(_ int, v any, at string) {
		one := r.Object(v, at, field.Names("run_id request_hash report_sha256 trades"), field.Names("inputs"))
		run := ReplayedRun{
			RunID: one.Identifier("run_id"), RequestHash: one.SHA256("request_hash"), ReportSHA256: one.SHA256("report_sha256"),
			Trades: []SplitTrades{},
		}
		one.Each("trades", 0, func(_ int, v any, at string) {
			split := r.Object(v, at, field.Names("split_id sha256"), nil)
			run.Trades = append(run.Trades, SplitTrades{SplitID: split.Identifier("split_id"), SHA256: split.SHA256("sha256")})
		})
		if one.Has("inputs") {
			run.Inputs = readInputs(r, one)
		}
		for _, before := range runs {
			if before.RunID == run.RunID {
				one.Fail(field.DuplicateItem, "run_id", "this run stands twice in the replay")
			}
		}
		runs = append(runs, run)
	})
	if n == 0 {
		o.Fail(field.MissingField, "runs", "at least one run is required")
	}
	return runs
}

func readInputs(r *field.Reader, run field.Object) *Inputs {
	o := run.Child("inputs", field.Names("summary splits"), field.Names("falsification"))
	in := &Inputs{Summary: o.Numbers("summary"), Splits: readSplits(r, o)}
	if o.Has("falsification") {
		in.Falsification = ReadFalsification(r, o)
	}
	return in
}

// maxTests is how many tests a falsification may have.
const maxTests = 1000

// ReadFalsification reads the member falsification of an object.
func ReadFalsification(r *field.Reader, o field.Object) *Falsification {
	f := o.Child("falsification", field.Names("base_run_id overall n_trials tests"), nil)
	out := &Falsification{
		BaseRunID: f.Identifier("base_run_id"), Overall: f.Filled("overall"),
		Trials: f.Integer("n_trials", 0, maxCount), Tests: []TestVerdict{},
	}
	f.Each("tests", maxTests, func(_ int, v any, at string) {
		t := r.Object(v, at, field.Names("id class verdict"), nil)
		one := TestVerdict{ID: t.Filled("id"), Class: t.Text("class"), Verdict: t.Filled("verdict")}
		out.Tests = append(out.Tests, one)
	})
	return out
}

func stage(o field.Object, name string, allowed ...Stage) Stage {
	names := make([]string, len(allowed))
	for i, s := range allowed {
		names[i] = string(s)
	}
	return Stage(o.OneOf(name, field.InvalidStage, names...))
}

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

// Replay states that another principal ran the pinned runs again.
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
	text, err := digest.JCS(&whole)
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

// RunEvidence is what the files of a run that was read came to: the numbers
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
