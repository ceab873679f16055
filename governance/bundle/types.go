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

	"github.com/assay-run/assay/governance/bundle/field"
)

// Code is why something is refused: a code of the control plane's table. The codes
// themselves are in package field.
type Code = field.Code

// Error is a refusal with code and JSON pointer.
type Error = field.Error

// URIBase begins every predicate type. It is a placeholder, and stands only here.
const URIBase = "https://assay.example/"

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

// Bundle is candidate_bundle.json: candidate-bundle/v1. Optional fields are pointers or
// have omitempty; which are needed is checked when one is decoded.
type Bundle struct {
	Schema              string          `json:"schema"`
	CandidateRevisionID string          `json:"candidate_revision_id"`
	Candidate           Candidate       `json:"candidate"`
	Strategy            Strategy        `json:"strategy"`
	Engine              Engine          `json:"engine"`
	Data                []Dataset       `json:"data"`
	Runs                []Run           `json:"runs"`
	Trials              *Trials         `json:"trials,omitempty"`
	Artifacts           []Artifact      `json:"artifacts"`
	Limits              Limits          `json:"limits"`
	KnownLimitations    []string        `json:"known_limitations,omitempty"`
	Extensions          json.RawMessage `json:"extensions,omitempty"`
	SealRequest         SealRequest     `json:"seal_request"`
}

// Candidate names what is to be promoted.
type Candidate struct {
	CandidateID string  `json:"candidate_id"`
	FamilyID    string  `json:"family_id"`
	Slug        string  `json:"slug"`
	Owner       string  `json:"owner"`
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description,omitempty"`
	Lineage     Lineage `json:"lineage"`
}

// Lineage is what a revision came from; a null parent is the first.
type Lineage struct {
	ParentRevisionID *string `json:"parent_revision_id"`
	ChangeClass      string  `json:"change_class"`
	ChangeNote       string  `json:"change_note,omitempty"`
	FamilyRunID      string  `json:"family_run_id,omitempty"`
}

// Strategy is the program with its parameters and markets.
type Strategy struct {
	Name         string          `json:"name"`
	Version      string          `json:"version"`
	Plugin       Plugin          `json:"plugin"`
	Params       json.RawMessage `json:"params"`
	ParamsSHA256 string          `json:"params_sha256"`
	Symbols      []string        `json:"symbols"`
	Timeframes   []string        `json:"timeframes"`
	Exchanges    []string        `json:"exchanges,omitempty"`
}

// Plugin is the program file.
type Plugin struct {
	SHA256          string `json:"sha256"`
	Size            int64  `json:"size"`
	OS              string `json:"os"`
	Arch            string `json:"arch"`
	ProtocolVersion int    `json:"protocol_version"`
	SDKVersion      string `json:"sdk_version,omitempty"`
	GoVersion       string `json:"go_version,omitempty"`
	VCSRevision     string `json:"vcs_revision,omitempty"`
	VCSModified     *bool  `json:"vcs_modified,omitempty"`
	SourceSHA256    string `json:"source_sha256,omitempty"`
}

// Engine is the program that made the runs.
type Engine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Dataset is the candles of one symbol; Start and End are RFC 3339.
type Dataset struct {
	DatasetID string `json:"dataset_id"`
	SHA256    string `json:"sha256"`
	Rows      int64  `json:"rows"`
	Start     string `json:"start"`
	End       string `json:"end"`
}

// Run is one piece of evidence.
type Run struct {
	RunID          string `json:"run_id"`
	Role           Role   `json:"role"`
	RequestHash    string `json:"request_hash"`
	ReportSHA256   string `json:"report_sha256"`
	MetadataSHA256 string `json:"metadata_sha256,omitempty"`
	StartedAt      string `json:"started_at,omitempty"`
	CompletedAt    string `json:"completed_at"`
	// CoveredSeconds is how long a paper, canary or live run was really running.
	CoveredSeconds *float64           `json:"covered_seconds,omitempty"`
	Summary        map[string]float64 `json:"summary"`
	Splits         []Split            `json:"splits,omitempty"`
}

// Split is the metrics of one split of a run.
type Split struct {
	SplitID string             `json:"split_id"`
	Kind    string             `json:"kind"`
	Metrics map[string]float64 `json:"metrics"`
}

// Trials is how many parameter settings of the family were tried.
type Trials struct {
	FamilyTrials int64 `json:"family_trials"`
}

// Artifact is one file of a run.
type Artifact struct {
	Name      string `json:"name"`
	SHA256    string `json:"sha256"`
	Size      int64  `json:"size"`
	RunID     string `json:"run_id"`
	MediaType string `json:"media_type,omitempty"`
	Required  *bool  `json:"required,omitempty"`
}

// Limits are what the owner declares: money as decimals in quote currency.
type Limits struct {
	MaxCapital         string   `json:"max_capital"`
	MaxOrderValue      string   `json:"max_order_value"`
	MaxPositionValue   string   `json:"max_position_value"`
	MaxOrdersPerMinute int64    `json:"max_orders_per_minute"`
	MaxInstruments     int64    `json:"max_instruments"`
	MaxVenues          int64    `json:"max_venues"`
	MaxDrawdown        string   `json:"max_drawdown"` // a fraction
	MaxDailyLoss       string   `json:"max_daily_loss,omitempty"`
	PriceCollarBps     *float64 `json:"price_collar_bps,omitempty"`
	QuoteCurrency      string   `json:"quote_currency,omitempty"`
}

// SealRequest asks the control plane to accept exactly these bytes. It is outside the
// core: the same core can be submitted again with another one.
type SealRequest struct {
	Schema         string `json:"schema"`
	SubjectType    string `json:"subject_type"`
	SubjectID      string `json:"subject_id"`
	BundleDigest   string `json:"bundle_digest"`
	RequestedStage Stage  `json:"requested_stage"`
	RequestedBy    string `json:"requested_by"`
	RequestedAt    string `json:"requested_at"`
	ExpiresAt      string `json:"expires_at"`
	LogOrigin      string `json:"log_origin"`
}

// maxPath is how many bytes the name of an artifact may have.
const maxPath = 255

func readArtifacts(r *field.Reader, top field.Object, runs []Run) []Artifact {
	known := make(map[string]bool, len(runs))
	for _, run := range runs {
		known[run.RunID] = true
	}
	list, seen := []Artifact{}, map[string]bool{}
	top.Each("artifacts", MaxArtifacts, func(_ int, v any, at string) {
		o := r.Object(v, at, field.Names("name sha256 size run_id"), field.Names("media_type required"))
		a := Artifact{RunID: o.Identifier("run_id")}
		if !known[a.RunID] {
			o.Fail(field.UnknownRunReference, "run_id", "is not a run of this bundle")
		}
		under := func(name string) bool { return ValidArtifactPath(name, a.RunID) }
		a.Name = o.Match("name", field.InvalidArtifactPath, under, "a plain relative path under runs/<its run_id>/")
		// Disks that ignore case would keep one file for two hashes.
		if folded := strings.ToLower(a.Name); seen[folded] {
			o.Fail(field.DuplicateItem, "name", "this artifact stands twice in the bundle, case ignored")
		} else {
			seen[folded] = true
		}
		a.SHA256, a.Size = o.SHA256("sha256"), o.Integer("size", 0, field.MaxSize)
		a.MediaType, a.Required = o.Text("media_type"), o.Bool("required")
		list = append(list, a)
	})
	return list
}

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
