package promotion

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/host/deploy"
)

// RegistryLifetime is how long a registry is valid, RegistryReissue how old it may get
// before another one is signed although nothing has changed. Retired entries stay for
// RegistryMemory.
const (
	RegistryLifetime = 24 * time.Hour
	RegistryReissue  = time.Hour
	RegistryMemory   = 30 * 24 * time.Hour
)

// Registry is deployable-registry/v1: what a host may run of a family, as it is before it
// is signed. Version is the size of the log. Times are RFC 3339.
type Registry struct {
	Schema    string          `json:"schema"`
	FamilyID  string          `json:"family_id"`
	Version   int64           `json:"registry_version"`
	IssuedAt  string          `json:"issued_at"`
	ExpiresAt string          `json:"expires_at"`
	Entries   []RegistryEntry `json:"entries"`
	// Log names the log that has the registry as an entry, nil in registries of earlier versions.
	Log *deploy.LogName `json:"log,omitempty"`
	// Attestation is the signature over Payload, Proof shows that the log has it.
	Attestation *dsse.Envelope `json:"attestation,omitempty"`
	Proof       *deploy.Proof  `json:"log_proof,omitempty"`
	// Rotations are the changes of the log's keys, the oldest first.
	Rotations []deploy.Rotation `json:"key_rotations,omitempty"`
}

// RegistryIssued is the predicate registry/v1: a registry was signed. Its subject is the signed payload.
// The entry's place is one below RegistryVersion. It changes nothing that the log comes to.
type RegistryIssued struct {
	FamilyID        string `json:"family_id" is:"id"`
	RegistryVersion int64  `json:"registry_version" min:"1"`
	IssuedAt        string `json:"issued_at" is:"time"`
	ExpiresAt       string `json:"expires_at" is:"time"`
	RecordedAt      string `json:"recorded_at" is:"time"`
}

// Check implements [field.Checker].
func (r *RegistryIssued) Check(o field.Object) {
	from, _ := field.ParseTime(r.IssuedAt)
	if to, _ := field.ParseTime(r.ExpiresAt); !to.After(from) {
		o.Fail(field.InvalidTimestamp, "expires_at", "is not after issued_at")
	}
}

// Issued is the entry of the log about the registry, which takes the place Version-1.
func (r *Registry) Issued(recordedAt string) (*Entry, error) {
	payload, err := r.Payload()
	if err != nil {
		return nil, err
	}
	return &Entry{Type: bundle.TypeRegistry,
		Subject: []bundle.Subject{bundle.FileSubject(deploy.SubjectRegistry, digest.SHA256Hex(payload))},
		Predicate: &RegistryIssued{FamilyID: r.FamilyID, RegistryVersion: r.Version, IssuedAt: r.IssuedAt,
			ExpiresAt: r.ExpiresAt, RecordedAt: recordedAt}}, nil
}

// RegistryEntry is one deployable_id that ever reached paper. Only status active lets it
// start; Kill stops what runs.
type RegistryEntry struct {
	DeployableID        string          `json:"deployable_id"`
	CandidateRevisionID string          `json:"candidate_revision_id"`
	Status              string          `json:"status"`
	Reason              string          `json:"reason"`
	Stage               bundle.Stage    `json:"stage"`
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

// Payload is what is signed: the canonical JSON of the registry without its attestation.
func (r *Registry) Payload() ([]byte, error) {
	bare := *r
	bare.Attestation, bare.Proof, bare.Rotations = nil, nil, nil
	return digest.JCS(bare)
}

// NameLog names the log that is to have the registry as an entry.
func (r *Registry) NameLog(key translog.LogKey) {
	r.Log = &deploy.LogName{Origin: key.Origin, Key: key.VKey()}
}

// WithProof is the registry as it is answered: with the entry about it, the proof that the log has that,
// and the proof that the log continues an older checkpoint.
func (r *Registry) WithProof(entry dsse.Envelope, in translog.Proof, since translog.Extension) *Registry {
	proven := *r
	proven.Proof = &deploy.Proof{Entry: entry, TlogProof: in.Format(), From: since.Old,
		Consistency: []string{}}
	for _, h := range since.Hashes {
		proven.Proof.Consistency = append(proven.Proof.Consistency, h.String())
	}
	return &proven
}

// Registry is the registry of a family at the moment it is issued. Its version is the
// number of entries that the facts come from.
func (w *World) Registry(family string, issued time.Time) (*Registry, *bundle.Error) {
	if !field.IsIdentifier(family) {
		return nil, field.Refuse(field.InvalidIdentifier, "", "this is no id of a family")
	}
	list, ok := w.byFamily[family]
	if !ok {
		return nil, field.Refuse(FamilyNotFound, "", "no family with this id is in the log")
	}
	issued = issued.UTC()
	v := viewAt(w, issued)
	reg := &Registry{
		Schema: deploy.Schema, FamilyID: family, Version: w.seq + 1, IssuedAt: stamp(issued),
		ExpiresAt: stamp(issued.Add(RegistryLifetime)), Entries: []RegistryEntry{},
	}
	best := map[string]*revision{}
	for _, r := range list {
		if r.wasPaper && (best[r.bundle.DeployableID] == nil || v.outranks(r, best[r.bundle.DeployableID])) {
			best[r.bundle.DeployableID] = r
		}
	}
	for _, r := range best {
		if r.Status == Retired && issued.Sub(r.endedAt) > RegistryMemory {
			continue
		}
		reg.Entries = append(reg.Entries, v.entry(r))
	}
	slices.SortFunc(reg.Entries, func(a, b RegistryEntry) int {
		return cmp.Compare(a.DeployableID, b.DeployableID)
	})
	return reg, nil
}

// precedence of what revisions that would run the same thing say about it: what is active,
// then why it may not run, the firmer word first.
func (r *revision) precedence() int {
	switch {
	case r.active() && !r.demoted:
		return 6
	case r.Status == Rejected:
		return 5
	case r.Status == Suspended:
		return 4
	case r.demoted:
		return 3
	case r.Status == Retired:
		return 1
	}
	return 2
}

// outranks reports whether r, not o, represents the deployable. A revision that no lab has
// signed never replaces one that a lab has signed: it cannot undo what was lowered or ended.
func (v views) outranks(r, o *revision) bool {
	switch a, b := r.precedence(), o.precedence(); {
	case v.w.isSigned(r) != v.w.isSigned(o):
		return v.w.isSigned(r)
	case a != b:
		return a > b
	case r.Stage != o.Stage:
		return bundle.Rank(r.Stage) > bundle.Rank(o.Stage)
	}
	return r.enteredSeq >= o.enteredSeq
}

func (v views) entry(r *revision) RegistryEntry {
	s := r.bundle.Strategy
	e := RegistryEntry{
		DeployableID: r.bundle.DeployableID, CandidateRevisionID: r.id, Stage: r.Stage, Modes: modes(r.Stage),
		StrategyName: s.Name, PluginSHA256: s.Plugin.SHA256, ParamsSHA256: s.ParamsSHA256, Params: s.Params,
		Symbols: append([]string{}, s.Symbols...), Timeframes: append([]string{}, s.Timeframes...),
		Exchanges:  append([]string{}, s.Exchanges...),
		Limits:     policy.Scale(r.limits, v.w.policy.Stage(r.Stage).CapitalScale),
		Owner:      r.bundle.Candidate.Owner,
		ApprovedAt: timeOrNull(r.approvedAt), ApprovedBy: append([]string{}, r.approvedBy...),
		SealLogIndex: r.sealSeq,
	}
	own := v.judgePlan(r, r.Stage)
	e.ExpiresAt = timeOrNull(v.holdsUntil(r, own))
	if e.ApprovedAt == nil {
		e.ApprovedAt = timeOrNull(r.entered[r.Stage])
	}
	e.Status, e.Reason = r.entryStatus()
	if e.Status == deploy.StatusActive {
		e.Reason = v.lapseReason(r, own)
	}
	d := v.w.deployable(e.DeployableID)
	e.Kill = d.openCritical() || d.kill
	return e
}

func (r *revision) entryStatus() (status, reason string) {
	switch {
	case r.Status == Rejected:
		return deploy.StatusRevoked, "rejected: " + r.endReason
	case r.Status == Retired:
		return deploy.StatusRevoked, "retired: " + r.endReason
	case r.demoted:
		return deploy.StatusRevoked, "demoted to " + string(r.Stage) + r.stopReason()
	case r.active():
		return deploy.StatusActive, ""
	case r.Status == Suspended:
		return deploy.StatusSuspended, "suspended" + r.stopReason()
	case r.Status == Superseded:
		return deploy.StatusSuspended, "superseded" + r.stopReason()
	}
	return deploy.StatusSuspended, "back in " + string(r.Stage)
}

func (r *revision) stopReason() string {
	if r.stop == nil || r.stop.reason == "" {
		return ""
	}
	return ": " + r.stop.reason
}

// AddRotation adds a change of the log's keys: its entry, the proof of it in the last checkpoint of the old
// key, and the path from it to the checkpoint of the answer.
func (r *Registry) AddRotation(entry dsse.Envelope, in translog.Proof, path []tlog.Hash) {
	one := deploy.Rotation{Entry: entry, TlogProof: in.Format(), Inclusion: []string{}}
	for _, h := range path {
		one.Inclusion = append(one.Inclusion, h.String())
	}
	r.Rotations = append(r.Rotations, one)
}
