package bundle

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

// maxSubjects is how many subjects a statement may have.
const maxSubjects = 1024

// maxMetadata is how long the metadata.json of a drill may be, in bytes.
const maxMetadata = 256 << 10

// MaxWaiver is how long a waiver may hold.
const MaxWaiver = 7 * 24 * time.Hour

// ParsedStatement is the content of a statement, read strictly.
type ParsedStatement struct {
	Statement Statement
	// Predicate is *Replay, *Approval, *Waiver, *Drill, *Incident, *Suspension, *Ending, *Shadow,
	// *HostedRun, *Dispute, *Commitment, *Reveal or *ServiceRun; nil for candidate-bundle and for types that
	// are not known here.
	Predicate any
	// Common points into Predicate; nil where that is nil, and of a *ServiceRun.
	Common *Common
}

// Known reports whether the statement's type counts for something.
func (s *ParsedStatement) Known() bool {
	return s.Predicate != nil || s.Statement.PredicateType == TypeBundle
}

// Names reports whether one of the subjects has this SHA-256.
func (s *ParsedStatement) Names(sha256 string) bool {
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
func ReadStatement(payload []byte) (*ParsedStatement, *Error) {
	v, err := field.Parse(payload)
	if err != nil {
		err.Code = InvalidAttestation
		return nil, err
	}
	r := &field.Reader{As: InvalidAttestation}
	o := r.Object(v, "", field.Names("_type subject predicateType"), field.Names("predicate"))
	statement := &ParsedStatement{Statement: Statement{
		Type:          o.OneOf("_type", InvalidAttestation, StatementType),
		PredicateType: dsse.PermanentType(o.Form("filled", "predicateType")),
	}}
	n := o.Each("subject", maxSubjects, func(_ int, v any, at string) {
		statement.Statement.Subject = append(statement.Statement.Subject, readSubject(r, v, at))
	})
	if n == 0 {
		o.Fail(InvalidAttestation, "subject", "must not be empty")
	}
	if o.Has("predicate") && !r.Failed() {
		statement.Statement.Predicate = digest.Tree(o.Raw("predicate"))
	}
	if makeOne, ok := predicates[statement.Statement.PredicateType]; ok && o.Has("predicate") {
		p := makeOne()
		r.Struct(o.Raw("predicate"), o.At("predicate"), p)
		statement.Predicate, statement.Common = p, p.common()
	} else if ok {
		o.Fail(field.MissingField, "predicate", "this field is required")
	}
	if r.Failed() {
		return nil, r.Err()
	}
	return statement, nil
}

func readSubject(r *field.Reader, v any, at string) Subject {
	o := r.Object(v, at, field.Names("digest"), field.Names("name"))
	s := Subject{Name: o.Text("name"), Digest: map[string]string{}}
	digests, _ := o.Raw("digest").(map[string]any)
	if len(digests) == 0 {
		o.Fail(InvalidAttestation, "digest", "must be an object with digests")
	}
	all := o.Open("digest")
	for name := range digests {
		s.Digest[name] = all.Text(name)
	}
	return s
}

// predicate is the content of a statement of a known type.
type predicate interface{ common() *Common }

func newOf[T any, P interface {
	*T
	predicate
}]() predicate {
	return P(new(T))
}

var predicates = map[string]func() predicate{
	TypeReplay: newOf[Replay], TypeApproval: newOf[Approval], TypeWaiver: newOf[Waiver],
	TypeDrill: newOf[Drill], TypeIncident: newOf[Incident], TypeSuspension: newOf[Suspension],
	TypeRejection: newOf[Ending], TypeRetirement: newOf[Ending], TypeShadow: newOf[Shadow],
	TypeRun: newOf[HostedRun], TypeDispute: newOf[Dispute], TypeCommitment: newOf[Commitment],
	TypeReveal: newOf[Reveal], TypeServiceRun: newOf[ServiceRun],
}

func (c *Common) common() *Common { return c }

// Check implements [field.Checker], as do the types below.
func (c *Common) Check(o field.Object) {
	from, _ := field.ParseTime(c.MadeAt)
	if to, _ := field.ParseTime(c.ExpiresAt); !to.After(from) {
		o.Fail(field.InvalidTimestamp, "expires_at", "is not after made_at")
	}
}

// Check implements [field.Checker].
func (p *Replay) Check(o field.Object) {
	p.Common.Check(o)
	distinctRuns(o, "replay", p.Runs, func(r *ReplayedRun) string { return r.RunID })
}

// Check keeps an empty list as none: its text is part of facts.
func (i *Inputs) Check(field.Object) {
	if len(i.Splits) == 0 {
		i.Splits = nil
	}
}

// Check implements [field.Checker]. Who promotes names the plan, who resumes the stop.
func (p *Approval) Check(o field.Object) {
	p.Common.Check(o)
	if id := p.SuspensionID; o.Has("suspension_id") && !field.IsSHA256(id) && !field.IsDigest(id) {
		o.Fail(field.InvalidDigest, "suspension_id", "is not a fact_id")
	}
	switch {
	case p.Action == "promote" && !o.Has("plan_digest"):
		o.Fail(field.MissingField, "plan_digest", "this field is required")
	case p.Action == "promote" && o.Has("suspension_id"):
		o.Fail(field.UnknownField, "suspension_id", "only a resumption names a stop")
	case p.Action == "resume" && !o.Has("suspension_id"):
		o.Fail(field.MissingField, "suspension_id", "this field is required")
	}
}

// Check implements [field.Checker].
func (p *Drill) Check(o field.Object) {
	p.Common.Check(o)
	if n := len(p.Metadata); o.Has("metadata") && (n == 0 || n > maxMetadata) {
		o.Fail(field.InvalidField, "metadata", "must be a text of 1 to %d bytes", maxMetadata)
	}
}

// Check implements [field.Checker].
func (p *Incident) Check(o field.Object) {
	p.Common.Check(o)
	if p.Event == "open" && !o.Has("severity") {
		o.Fail(field.MissingField, "severity", "this field is required")
	}
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
	TypeRegistry      = URIBase + "registry/v1"
	TypePlan          = URIBase + "plan/v1"
	TypeCosigned      = URIBase + "cosigned/v1"
)

// StatementType is the type of an in-toto statement.
const StatementType = "https://in-toto.io/Statement/v1"

// PayloadInToto is the DSSE payload type of statements, PayloadRegistry that of a
// deployable registry.
const (
	PayloadInToto   = "application/vnd.in-toto+json"
	PayloadRegistry = dsse.TypeRegistry
)

// Statement is an in-toto statement v1.
type Statement struct {
	Type    string    `json:"_type"`
	Subject []Subject `json:"subject"`
	// PredicateType is the permanent name, also of a statement that was made with an earlier one.
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
	CandidateRevisionID string `json:"candidate_revision_id" is:"revision"`
	MadeAt              string `json:"made_at" is:"time"`
	ExpiresAt           string `json:"expires_at" is:"time"`
	Reason              string `json:"reason"`
}

// Replay states that another principal ran the pinned runs again.
type Replay struct {
	Common
	Runs             []ReplayedRun `json:"runs" max:"1000"`
	ParentRevisionID *string       `json:"parent_revision_id,omitempty" is:"?revision"`
	// Challenge is what the program decides in the window that the seal draws; nil in statements of
	// earlier versions, and where it could not be played.
	Challenge *ChallengeAnswer `json:"challenge,omitempty"`
	// Candles are where the replayer has its candles from, by its own word; absent in statements of
	// earlier versions.
	Candles []CandleSource `json:"candles,omitempty" max:"1000"`
}

// CandleSource is where whoever replays has the candles of a dataset from.
type CandleSource struct {
	SHA256 string `json:"sha256" is:"sha256"`
	Source string `json:"source" is:"oneof fetched imported resampled bundled unknown"`
	// From is the connector that fetched them, or the SHA-256 of the file or dataset that they were made
	// from; of several files that of the first.
	From string `json:"from,omitempty"`
}

// ReplayedRun is what one run came to; Trades are the hashes of trades.csv by split.
type ReplayedRun struct {
	RunID        string        `json:"run_id" is:"id"`
	RequestHash  string        `json:"request_hash" is:"sha256"`
	ReportSHA256 string        `json:"report_sha256" is:"sha256"`
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
	// Derived is nil in statements of earlier versions.
	Derived *Derived `json:"derived,omitempty"`
}

// SHA256 is the hash of the canonical form without what is derived and why tests warn, which earlier
// versions do not have; a list that is missing is an empty one.
func (i *Inputs) SHA256() (string, error) {
	whole := *i
	whole.Derived = nil
	whole.Splits = append([]Split{}, i.Splits...)
	if f := i.Falsification; f != nil {
		own := *f
		own.Tests = append([]TestVerdict{}, f.Tests...)
		for i := range own.Tests {
			own.Tests[i].Reason = ""
		}
		whole.Falsification = &own
	}
	text, err := digest.JCS(&whole)
	return digest.SHA256Hex(text), err
}

// Falsification is what an attack on a run has come to.
type Falsification struct {
	BaseRunID string `json:"base_run_id" is:"id"`
	Overall   string `json:"overall" is:"filled"` // pass, warn, fail or inconclusive
	// Trials is how many trials were counted against the claim.
	Trials int64         `json:"n_trials"`
	Tests  []TestVerdict `json:"tests" max:"1000"`
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

// testPlausibility is the test that refutes what is too good to be true.
const testPlausibility = "plausibility"

// TooGood reports whether it refutes nothing but that the result can be true.
func (f *Falsification) TooGood() bool {
	failed := f.Failed()
	return len(failed) == 1 && failed[0] == testPlausibility
}

// Open reports whether a gate of it is neither passed, failed nor a warning.
func (f *Falsification) Open() bool {
	return slices.ContainsFunc(f.Tests, func(t TestVerdict) bool {
		return t.Class == TestGate && (t.Verdict == "inconclusive" || t.Verdict == "error")
	})
}

// Warned are the tests that warn, in their order: of class W also those that failed.
func (f *Falsification) Warned() []TestVerdict {
	var list []TestVerdict
	for _, t := range f.Tests {
		if t.Warns() {
			list = append(list, t)
		}
	}
	return list
}

// Reasons are why its tests warn, in their order; none of what is no falsification.
func (f *Falsification) Reasons() []string {
	if f == nil {
		return nil
	}
	var list []string
	for _, t := range f.Tests {
		list = append(list, t.Reason)
	}
	return list
}

// Explains reports whether it says of any test why it warns.
func (f *Falsification) Explains() bool {
	return slices.ContainsFunc(f.Reasons(), func(s string) bool { return s != "" })
}

// TestGate is the class of those tests of a falsification that refute, testDescription that
// of those that count for nothing.
const (
	TestGate        = "G"
	testDescription = "D"
)

// TestVerdict is the verdict of one test of a falsification.
type TestVerdict struct {
	ID      string `json:"id" is:"filled"`
	Class   string `json:"class"`
	Verdict string `json:"verdict" is:"filled"`
	// Reason says what warns, "" of a test that does not, and in files of earlier versions.
	Reason string `json:"reason,omitempty" is:"filled"`
}

// Warns reports whether the test warns.
func (t *TestVerdict) Warns() bool {
	return t.Class != testDescription && (t.Verdict == "warn" || t.Class != TestGate && t.Verdict == "fail")
}

// RunEvidence is what the files of a run that was read came to: the numbers
// that the bundle declares, by the hash of the Inputs.
type RunEvidence struct {
	RunID         string         `json:"run_id" is:"id"`
	InputsSHA256  string         `json:"inputs_sha256" is:"sha256"`
	Falsification *Falsification `json:"falsification,omitempty"`
	// Timeframe is that of a baseline, "" where the bundle claims one only, and in seals of earlier
	// versions.
	Timeframe string `json:"timeframe,omitempty" is:"filled"`
	// Derived is nil in seals of earlier versions, and of paper and live runs.
	Derived *Derived `json:"derived,omitempty"`
	// Edge is nil where the tables of trades are not all there, or nothing was traded; Impact of what is
	// no falsification, and where its capacity test has come to none. Both are nil in seals of earlier
	// versions. No gate judges them.
	Edge   *Edge   `json:"edge,omitempty"`
	Impact *Impact `json:"impact,omitempty"`
	// Returns are, of a falsification, the places in /trials/tried whose daily returns are those in
	// its record of trials; none in seals of earlier versions.
	Returns []Places `json:"returns,omitempty" max:"100000"`
}

// Places are places of a list, from From to before To.
type Places struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Edge is what the closed trades of the walk-forward windows and the test have earned, after fees
// and slippage, in basis points of what they bought and sold.
type Edge struct {
	Trades int64   `json:"trades"`
	Bps    float64 `json:"bps" min:"-9000000000000000"`
}

// Impact is what the market's reaction to its orders costs on average, in basis points of what is
// bought and sold, at a capital in quote currency; it grows with the square root of the capital.
type Impact struct {
	Capital float64 `json:"capital"`
	Bps     float64 `json:"bps"`
}

// Derived are numbers that gates judge and that no bundle declares: they are worked out of the
// daily results in the files of a lab run, with + - * / and the square root only.
type Derived struct {
	// EngineSHA256 is the program that made the run, "" in requests of earlier versions.
	EngineSHA256 string `json:"engine_sha256,omitempty"`
	// Figures are numbers by name; one that is undefined is not there.
	Figures map[string]float64 `json:"figures,omitempty"`
	// Days are the net returns of the walk-forward windows and the test, each day once.
	Days []DailyReturns `json:"days,omitempty" max:"10000"`
}

// SHA256 is the hash of the canonical form, "" of none.
func (d *Derived) SHA256() string {
	if d == nil {
		return ""
	}
	sum, err := digest.Of(d)
	if err != nil {
		return ""
	}
	return sum
}

// DailyReturns are the returns of consecutive UTC days, as fractions.
type DailyReturns struct {
	Kind    string    `json:"kind" is:"oneof walk_forward test"`
	From    string    `json:"from" is:"filled"` // the first day, such as 2024-03-01
	Returns []float64 `json:"returns" max:"100000"`
}

// Check implements [field.Checker].
func (d *DailyReturns) Check(o field.Object) {
	if _, err := time.Parse(time.DateOnly, d.From); err != nil {
		o.Fail(field.InvalidTimestamp, "from", "must be a day such as 2024-03-01")
	}
}

// Day is the day of a return by its index, counted from 1970-01-01.
func (d *DailyReturns) Day(i int) int64 {
	from, err := time.Parse(time.DateOnly, d.From)
	if err != nil {
		return -1
	}
	return from.Unix()/(24*60*60) + int64(i)
}

// SplitTrades is the hash of trades.csv of a split.
type SplitTrades struct {
	SplitID string `json:"split_id" is:"id"`
	SHA256  string `json:"sha256" is:"sha256"`
}

// Approval lets a revision into a stage, or resumes it.
type Approval struct {
	Common
	Action string `json:"action" is:"oneof promote resume"` // promote or resume
	Stage  Stage  `json:"stage" is:"stage paper canary live"`
	Role   string `json:"role" is:"oneof risk approver"`
	// PlanDigest is the plan that was approved; a resumption need not name one.
	PlanDigest string `json:"plan_digest,omitempty" is:"digest"`
	// SuspensionID is the fact_id of the stop that is resumed from.
	SuspensionID string `json:"suspension_id,omitempty" is:"free"`
	// TrustDigest is the trust.json under which the plan was shown; "" in statements of earlier
	// versions.
	TrustDigest string `json:"trust_digest,omitempty" is:"digest"`
}

// Waiver lets a gate pass for at most seven days.
type Waiver struct {
	Common
	Stage  Stage  `json:"stage" is:"stage paper canary live"`
	GateID string `json:"gate_id" is:"id"`
}

// Drill is a rehearsal of the kill switch.
type Drill struct {
	Common
	Drill  string `json:"drill" is:"oneof kill_switch"` // kill_switch
	Result string `json:"result" is:"oneof pass fail"`  // pass or fail
	RunID  string `json:"run_id" is:"id"`
	DoneAt string `json:"done_at" is:"time"`
	// Metadata is the text of the run's metadata.json; "" in statements of earlier versions.
	Metadata string `json:"metadata,omitempty" is:"free"`
}

// Passed reports whether the kill switch worked.
func (d *Drill) Passed() bool { return d.Result == "pass" }

// Incident opens or closes one.
type Incident struct {
	Common
	IncidentID string `json:"incident_id" is:"id"`
	Event      string `json:"event" is:"oneof open close"` // open or close
	// warning or critical; not needed to close
	Severity string `json:"severity,omitempty" is:"oneof warning critical"`
}

// Suspension stops a revision, and lowers it where ToStage is given.
type Suspension struct {
	Common
	ToStage Stage `json:"to_stage,omitempty" is:"stage research paper canary"`
	Kill    bool  `json:"kill"`
}

// Ending is a rejection or a retirement: permanent.
type Ending struct {
	Common
	ReplacedBy string `json:"replaced_by,omitempty" is:"revision"`
}
