// Package bundle is the contract of the control plane: the candidate bundle and its
// strict reading, digests and ids, DSSE envelopes, in-toto statements and the
// predicates that people and programs sign.
//
// Everything that the lab, the service and the control plane exchange is defined here
// and nowhere else. Bytes decide: a value is read strictly first (Decode), and whatever
// is hashed or signed is its canonical form (RFC 8785).
package bundle

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
)

// Code is why something is refused: a code of the control plane's table. Those of documents in
// general are in package field.
type Code = field.Code

// The codes of bundles, seal requests and attestations.
const (
	InvalidBundle          Code = "INVALID_BUNDLE"
	SecretInBundle         Code = "SECRET_IN_BUNDLE"
	UnknownRunReference    Code = "UNKNOWN_RUN_REFERENCE"
	InvalidArtifactPath    Code = "INVALID_ARTIFACT_PATH"
	RevisionMismatch       Code = "CANDIDATE_REVISION_MISMATCH"
	RevisionConflict       Code = "CANDIDATE_REVISION_CONFLICT"
	RevisionRejected       Code = "CANDIDATE_REVISION_REJECTED"
	ParamsHashMismatch     Code = "PARAMS_HASH_MISMATCH"
	InvalidSubjectType     Code = "INVALID_SUBJECT_TYPE"
	SealSubjectMismatch    Code = "SEAL_SUBJECT_MISMATCH"
	SealDigestMismatch     Code = "SEAL_DIGEST_MISMATCH"
	SealAudienceMismatch   Code = "SEAL_AUDIENCE_MISMATCH"
	SealRequestExpired     Code = "SEAL_REQUEST_EXPIRED"
	SealRequestNotYetValid Code = "SEAL_REQUEST_NOT_YET_VALID"
	InvalidAttestation     Code = "INVALID_ATTESTATION"
	InvalidSignature       Code = "INVALID_SIGNATURE"
	AttestationMismatch    Code = "ATTESTATION_SUBJECT_MISMATCH"
	SignatureRequired      Code = "SIGNATURE_REQUIRED"
	InvalidDrill           Code = "INVALID_DRILL"
	InvalidShadow          Code = "INVALID_SHADOW"
	InvalidChallenge       Code = "INVALID_CHALLENGE"
	InvalidDispute         Code = "INVALID_DISPUTE"
	InvalidCommitment      Code = "INVALID_COMMITMENT"
	ArtifactMismatch       Code = "ARTIFACT_HASH_MISMATCH"
	ArtifactInvalid        Code = "ARTIFACT_INVALID"
	SummaryMismatch        Code = "SUMMARY_MISMATCH"
)

// The reasons of an InvalidAttestation.
const (
	ReasonAudience     = "audience"
	ReasonExpired      = "expired"
	ReasonRole         = "role"
	ReasonSelfApproval = "self_approval"
	ReasonTrust        = "trust"
)

// The reasons of an InvalidDrill.
const (
	ReasonNoRecord     = "no_record"
	ReasonRecord       = "record"
	ReasonMode         = "mode"
	ReasonOtherProgram = "other_program"
	ReasonNotOver      = "not_over"
	ReasonAhead        = "ahead"
	ReasonOutside      = "outside"
	ReasonNotKilled    = "not_killed"
)

// The reasons of an InvalidShadow, beside ReasonAhead.
const (
	ReasonUnknown     = "unknown"
	ReasonOtherMarket = "other_market"
	ReasonPlayed      = "played"
	ReasonOrder       = "order"
	ReasonUnfetched   = "unfetched"
	ReasonUnsigned    = "unsigned"
	ReasonOwn         = "own"
)

// ReasonWindow is that of an InvalidChallenge, beside ReasonUnknown.
const ReasonWindow = "window"

// The reasons of an InvalidDispute, beside ReasonUnknown and ReasonOtherMarket.
const (
	ReasonOwnChunk = "own_chunk"
	ReasonRepeated = "repeated"
)

// The reasons of an InvalidCommitment, beside ReasonUnknown and ReasonOrder.
const (
	ReasonShown  = "shown"
	ReasonCopied = "copied"
	ReasonDiffer = "differs"
	ReasonNonce  = "nonce"
)

// Error is a refusal with code and JSON pointer.
type Error = field.Error

// URIBase begins every predicate type.
const URIBase = dsse.TypeBase

// The schemas of the contract.
const (
	SchemaBundle       = "candidate-bundle/v1"
	SchemaSealRequest  = "seal-request/v1"
	SubjectRevision    = "candidate_revision"
	SubjectCandidate   = "candidate"
	SubjectFamily      = "family"
	SubjectStrategy    = "strategy"
	DigestPrefix       = "sha256:"
	RevisionPrefix     = "cr-"
	ChangeInitial      = "initial"
	ChangeMaterial     = "material"
	ChangeNonMaterial  = "non_material"
	ChangeEvidenceOnly = "evidence_only" // computed, never declared
)

// Stage is a place on the promotion path.
type Stage string

// The stages, none of which is skipped.
const (
	Research Stage = "research"
	Paper    Stage = "paper"
	Canary   Stage = "canary"
	Live     Stage = "live"
	Retired  Stage = "retired"
)

// PromotionStages are the stages that can be asked for, lowest first.
func PromotionStages() []Stage { return []Stage{Research, Paper, Canary, Live} }

// Rank is the place of a stage on the path: 0 for research, 4 for retired, -1 for any other text.
func Rank(s Stage) int { return slices.Index(append(PromotionStages(), Retired), s) }

// The rungs of assurance, lowest first.
const (
	RungClaimed    = "hash_claimed"
	RungVerified   = "hash_verified"
	RungSigned     = "signed"
	RungReproduced = "reproduced"
)

// Rungs are all rungs of assurance, lowest first.
func Rungs() []string { return []string{RungClaimed, RungVerified, RungSigned, RungReproduced} }

// Role is what a run in a bundle is evidence of.
type Role string

// The roles of runs.
const (
	RoleBaseline      Role = "baseline"
	RoleOOS           Role = "oos"
	RoleStress        Role = "stress"
	RoleFalsification Role = "falsification"
	RoleReplay        Role = "replay"
	RolePaper         Role = "paper"
	RoleCanary        Role = "canary"
	RoleLive          Role = "live"
)

// Venue reports whether runs with this role traded at a venue, real or simulated.
func (r Role) Venue() bool { return r == RolePaper || r == RoleCanary || r == RoleLive }

// Bundle is candidate_bundle.json: candidate-bundle/v1. Optional fields are pointers or
// have omitempty; which are needed is checked when one is decoded.
type Bundle struct {
	Schema              string          `json:"schema"`
	CandidateRevisionID string          `json:"candidate_revision_id" is:"revision"`
	Candidate           Candidate       `json:"candidate"`
	Strategy            Strategy        `json:"strategy"`
	Engine              Engine          `json:"engine"`
	Data                []Dataset       `json:"data" max:"1000"`
	Runs                []Run           `json:"runs" max:"1000"`
	Trials              *Trials         `json:"trials,omitempty"`
	Artifacts           []Artifact      `json:"artifacts" max:"10000"`
	Limits              Limits          `json:"limits"`
	KnownLimitations    []string        `json:"known_limitations,omitempty"`
	Extensions          json.RawMessage `json:"extensions,omitempty"`
	SealRequest         SealRequest     `json:"seal_request"`
}

// Candidate names what is to be promoted.
type Candidate struct {
	CandidateID string  `json:"candidate_id" is:"id"`
	FamilyID    string  `json:"family_id" is:"id"`
	Slug        string  `json:"slug" is:"id"`
	Owner       string  `json:"owner" is:"filled"`
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description,omitempty"`
	Lineage     Lineage `json:"lineage"`
}

// Lineage is what a revision came from; a null parent is the first.
type Lineage struct {
	ParentRevisionID *string `json:"parent_revision_id" is:"?revision"`
	ChangeClass      string  `json:"change_class" is:"oneof initial material non_material"`
	ChangeNote       string  `json:"change_note,omitempty"`
	FamilyRunID      string  `json:"family_run_id,omitempty" is:"id"`
}

// Strategy is the program with its parameters and markets.
type Strategy struct {
	Name         string          `json:"name" is:"id"`
	Version      string          `json:"version"`
	Plugin       Plugin          `json:"plugin"`
	Params       json.RawMessage `json:"params"`
	ParamsSHA256 string          `json:"params_sha256" is:"sha256"`
	Symbols      []string        `json:"symbols" is:"symbol" max:"1000"`
	Timeframes   []string        `json:"timeframes" is:"timeframe"`
	Exchanges    []string        `json:"exchanges,omitempty"`
}

// Plugin is the program file.
type Plugin struct {
	SHA256          string `json:"sha256" is:"sha256"`
	Size            int64  `json:"size" max:"4294967296"`
	OS              string `json:"os"`
	Arch            string `json:"arch"`
	ProtocolVersion int    `json:"protocol_version" max:"2147483647"`
	SDKVersion      string `json:"sdk_version,omitempty"`
	GoVersion       string `json:"go_version,omitempty"`
	VCSRevision     string `json:"vcs_revision,omitempty"`
	VCSModified     *bool  `json:"vcs_modified,omitempty"`
	SourceSHA256    string `json:"source_sha256,omitempty" is:"sha256"`
}

// Engine is the program that made the runs.
type Engine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Dataset is the candles of one symbol; Start and End are RFC 3339.
type Dataset struct {
	DatasetID string `json:"dataset_id" is:"id"`
	SHA256    string `json:"sha256" is:"sha256"`
	Rows      int64  `json:"rows"`
	Start     string `json:"start" is:"time"`
	End       string `json:"end" is:"time"`
}

// Run is one piece of evidence.
type Run struct {
	RunID          string `json:"run_id" is:"id"`
	Role           Role   `json:"role" is:"oneof baseline oos stress falsification replay paper canary live"`
	RequestHash    string `json:"request_hash" is:"sha256"`
	ReportSHA256   string `json:"report_sha256" is:"sha256"`
	MetadataSHA256 string `json:"metadata_sha256,omitempty" is:"sha256"`
	StartedAt      string `json:"started_at,omitempty" is:"time"`
	CompletedAt    string `json:"completed_at" is:"time"`
	// CoveredSeconds is how long a paper, canary or live run was really running.
	CoveredSeconds *float64           `json:"covered_seconds,omitempty"`
	Summary        map[string]float64 `json:"summary"`
	Splits         []Split            `json:"splits,omitempty"`
}

// SplitKinds are the kinds of splits that a bundle knows.
func SplitKinds() []string { return field.Names("train validation test search walk_forward full") }

// Split is the metrics of one split of a run.
type Split struct {
	SplitID string             `json:"split_id" is:"id"`
	Kind    string             `json:"kind" is:"oneof train validation test search walk_forward full"`
	Metrics map[string]float64 `json:"metrics"`
}

// Trials is what was tried on the days of the candidate, by the count of its lab.
type Trials struct {
	FamilyTrials int64 `json:"family_trials"`
	// Tried lists the trials, and Looks who was shown held out candles of their markets; both
	// are absent in bundles of earlier versions.
	Tried []Trial `json:"tried,omitempty" max:"100000"`
	Looks []Look  `json:"looks,omitempty" max:"100000"`
}

// Trial is one thing that was tried.
type Trial struct {
	// Key is equal for runs that try the same thing. ReturnsSHA256 is the hash of its daily
	// returns, by which copies under other keys are known; "" if it has none.
	Key           string `json:"key" is:"sha256"`
	ReturnsSHA256 string `json:"returns_sha256,omitempty" is:"sha256"`
	// Copies are the other keys under which the same was tried.
	Copies []string `json:"copies,omitempty" is:"sha256" max:"100000"`
	RunID  string   `json:"run_id" is:"id"`
	// Candles are the SHA-256 of the datasets that it was played on, From and To their time.
	Candles []string `json:"candles" is:"sha256" max:"1000"`
	From    string   `json:"from" is:"time"`
	To      string   `json:"to" is:"time"`
	Family  bool     `json:"family"`
}

// Look is one look at held out candles, through a run or a plan.
type Look struct {
	Market   string `json:"market" is:"id"`
	SourceID string `json:"source_id" is:"id"`
	From     string `json:"from" is:"time"`
	To       string `json:"to" is:"time"`
	Command  string `json:"command" is:"filled"`
}

// Artifact is one file of a run.
type Artifact struct {
	Name      string `json:"name" is:"free"`
	SHA256    string `json:"sha256" is:"sha256"`
	Size      int64  `json:"size" max:"4294967296"`
	RunID     string `json:"run_id" is:"id"`
	MediaType string `json:"media_type,omitempty"`
	Required  *bool  `json:"required,omitempty"`
}

// Limits are what the owner declares: money as decimals in quote currency.
type Limits struct {
	MaxCapital         string   `json:"max_capital" is:"decimal"`
	MaxOrderValue      string   `json:"max_order_value" is:"decimal"`
	MaxPositionValue   string   `json:"max_position_value" is:"decimal"`
	MaxOrdersPerMinute int64    `json:"max_orders_per_minute"`
	MaxInstruments     int64    `json:"max_instruments"`
	MaxVenues          int64    `json:"max_venues"`
	MaxDrawdown        string   `json:"max_drawdown" is:"decimal"` // a fraction
	MaxDailyLoss       string   `json:"max_daily_loss,omitempty" is:"decimal"`
	PriceCollarBps     *float64 `json:"price_collar_bps,omitempty"`
	QuoteCurrency      string   `json:"quote_currency,omitempty"`
}

// SealRequest asks the control plane to accept exactly these bytes. It is outside the
// core: the same core can be submitted again with another one.
type SealRequest struct {
	Schema         string `json:"schema"`
	SubjectType    string `json:"subject_type"`
	SubjectID      string `json:"subject_id" is:"revision"`
	BundleDigest   string `json:"bundle_digest" is:"digest"`
	RequestedStage Stage  `json:"requested_stage" is:"stage research paper canary live"`
	RequestedBy    string `json:"requested_by" is:"filled"`
	RequestedAt    string `json:"requested_at" is:"time"`
	ExpiresAt      string `json:"expires_at" is:"time"`
	LogOrigin      string `json:"log_origin"`
}

// maxPath is how many bytes the name of an artifact may have.
const maxPath = 255

var segment = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ValidArtifactPath reports whether a path names a file of a run on every system: plain
// segments below runs/<run_id>/, no way up, no drive, no device, nothing to decode.
func ValidArtifactPath(path, runID string) bool {
	rest, ok := strings.CutPrefix(path, "runs/"+runID+"/")
	if !ok || len(path) > maxPath || !validSegment(runID) {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		if !validSegment(part) {
			return false
		}
	}
	return true
}

func validSegment(s string) bool {
	return segment.MatchString(s) && !strings.HasSuffix(s, ".") && !device(s)
}

// device knows the names that Windows keeps for devices, with any extension.
func device(s string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(s), ".")
	switch stem {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(stem) == 4 && (stem[:3] == "COM" || stem[:3] == "LPT") && stem[3] >= '0' && stem[3] <= '9'
}
