package deploy

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/translog"
)

// LogName names the log that a registry is an entry of: its origin, and the verifier key of its checkpoints.
type LogName struct {
	Origin string `json:"origin"`
	Key    string `json:"key"`
}

// Proof shows that the log has a registry as an entry, and that its checkpoint continues an older one.
type Proof struct {
	// Entry is the statement about the registry, signed by the key that signs registries.
	Entry dsse.Envelope `json:"entry"`
	// TlogProof is a C2SP tlog-proof of the entry, with a checkpoint and its cosignatures.
	TlogProof string `json:"tlog_proof"`
	// Consistency are the hashes in base64 that lead from the first From leaves to the checkpoint.
	From        int64    `json:"from"`
	Consistency []string `json:"consistency"`
}

const (
	// TypeIssued is the predicate type of the statement about a registry.
	TypeIssued = dsse.TypeBase + "registry/v1"
	// SubjectRegistry is the name of its subject, whose digest is that of the registry's payload.
	SubjectRegistry = "deployable_registry.json"

	statementType = "https://in-toto.io/Statement/v1"
	payloadInToto = "application/vnd.in-toto+json"
)

// head is a checkpoint of a log that was proven to have a registry.
type head struct {
	translog.Checkpoint
	key  translog.LogKey
	note string
	// from and hashes are the claim that the checkpoint continues the tree of the first from leaves.
	from      int64
	hashes    []tlog.Hash
	rotations []rotated
}

// proofError is why a registry is not shown to be in the log of its control plane.
type proofError struct{ reason, what string }

func (e *proofError) Error() string { return e.what }

// The reasons of refusals about the log, details.reason of RegistryRollback.
const (
	reasonNoProof     = "no_proof"
	reasonNotInLog    = "not_in_log"
	reasonForked      = "forked"
	reasonOtherLog    = "other_log"
	reasonUnwitnessed = "not_witnessed"
)

func unproven(reason, format string, args ...any) error {
	return &proofError{reason, fmt.Sprintf(format, args...)}
}

// prove checks that the registry is an entry of the log that it names, whose key has signed it. It
// returns nil for a registry of an earlier version, which names none.
func (r *Registry) prove(witnesses translog.Quorum) (*head, error) {
	if r.Log == nil {
		return nil, nil
	}
	if r.proof == nil {
		return nil, unproven(reasonNoProof, "the answer has no proof that the log has this registry")
	}
	log, err := translog.ParseLogKey(r.Log.Key)
	if err != nil || log.Origin != r.Log.Origin {
		return nil, unproven(reasonNotInLog, "the registry names no log that can be checked")
	}
	leaf, err := r.leaf(r.key)
	if err != nil {
		return nil, unproven(reasonNotInLog, "the entry of the log is not about this registry: %v", err)
	}
	inclusion, err := translog.ParseProof(r.proof.TlogProof)
	if err != nil {
		return nil, unproven(reasonNotInLog, "%v", err)
	}
	at, err := translog.OpenCheckpoint(inclusion.Note, log)
	if err != nil {
		return nil, unproven(reasonNotInLog, "the checkpoint is not signed by the key of the log: %v", err)
	}
	if inclusion.Index != r.Version-1 {
		return nil, unproven(reasonNotInLog, "the entry is %d, of version %d it is %d", inclusion.Index,
			r.Version, r.Version-1)
	}
	if err := translog.CheckInclusion(inclusion.Hashes, *at, inclusion.Index, leaf); err != nil {
		return nil, unproven(reasonNotInLog, "entry %d is not in %s", inclusion.Index, at)
	}
	hashes, err := translog.ParseHashes(r.proof.Consistency)
	if err != nil {
		return nil, unproven(reasonForked, "consistency proof: %v", err)
	}
	for i := range r.rotations {
		if err := r.rotations[i].prove(*at, witnesses); err != nil {
			return nil, err
		}
	}
	return &head{Checkpoint: *at, key: log, note: inclusion.Note, from: r.proof.From, hashes: hashes,
		rotations: r.rotations}, nil
}

// leaf is the hash of the log's entry about the registry, after the pinned key's signature was checked.
func (r *Registry) leaf(key *ecdsa.PublicKey) (tlog.Hash, error) {
	env := r.proof.Entry
	payload := dsse.Base64(env.Payload)
	if env.PayloadType != payloadInToto || payload == nil || len(env.Signatures) != 1 {
		return tlog.Hash{}, errors.New("it is not a signed statement")
	}
	sig := dsse.Base64(env.Signatures[0].Sig)
	signed := dsse.Signed{Envelope: dsse.Envelope{PayloadType: payloadInToto}, Payload: payload,
		Signatures: [][]byte{sig}}
	if sig == nil || len(signed.Verify(key)) == 0 {
		return tlog.Hash{}, errors.New("the pinned key has not signed it")
	}
	if err := r.named(payload); err != nil {
		return tlog.Hash{}, err
	}
	der, err := dsse.PublicDER(key)
	if err != nil {
		return tlog.Hash{}, err
	}
	sum := sha256.Sum256(signed.PAE())
	return translog.LeafHash(translog.Leaf(sum, sig, der)), nil
}

// named reports why a statement is not about this registry.
func (r *Registry) named(statement []byte) error {
	v, refused := field.Parse(statement)
	if refused != nil {
		return refused
	}
	var st struct {
		Type          string `json:"_type" is:"filled"`
		PredicateType string `json:"predicateType" is:"filled"`
		Subject       []struct {
			Name   string `json:"name"`
			Digest struct {
				SHA256 string `json:"sha256" is:"sha256"`
			} `json:"digest"`
		} `json:"subject" max:"16"`
		Predicate struct {
			FamilyID string `json:"family_id" is:"id"`
			Version  int64  `json:"registry_version"`
		} `json:"predicate"`
	}
	read := &field.Reader{Lax: true}
	if read.Struct(v, "", &st); read.Failed() {
		return read.Err()
	}
	kind := dsse.PermanentType(st.PredicateType)
	if st.Type != statementType || kind != TypeIssued || len(st.Subject) != 1 ||
		st.Subject[0].Digest.SHA256 != r.payloadSHA256 || st.Predicate.FamilyID != r.FamilyID ||
		st.Predicate.Version != r.Version {
		return errors.New("it is about something else")
	}
	return nil
}

// logFolder is the folder of the memory of the log, beside the files of families.
const logFolder = "log"

// errMoved is for a proof that leads from an older checkpoint than the one that is kept by now.
var errMoved = errors.New("another checkpoint was kept meanwhile")

// Seen is the last checkpoint that was accepted, nil before the first one. The error is a *damagedError.
func (m *Memory) Seen() (*translog.Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loadLog()
}

// follow accepts a checkpoint that continues the one that is kept, and keeps it. The first one is pinned.
// The error is errMoved, a *proofError, a *damagedError or a *keepError.
func (m *Memory) follow(h *head) (pinned bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.loadLog()
	if err != nil {
		return false, err
	}
	if k == nil {
		return true, m.keepLog(h)
	}
	if k.Origin != h.Origin || !leads(h.rotations, k.Key, h.key.VKey()) {
		return false, unproven(reasonOtherLog,
			"the log %s has another name or key than %s, which was seen before", h.Origin, k.Origin)
	}
	old, err := k.Checkpoint()
	if err != nil {
		return false, err
	}
	if h.from != old.Size && h.Size > old.Size {
		return false, errMoved
	}
	hashes := h.hashes
	if h.Size == old.Size {
		hashes = nil
	}
	if err := translog.Continues(hashes, old, h.Checkpoint); err != nil {
		return false, unproven(reasonForked,
			"its log does not continue the one that was seen before, up to %d entries: %v", old.Size, err)
	}
	if h.Size == old.Size && h.note == k.Note {
		return false, nil
	}
	return false, m.keepLog(h)
}

func (m *Memory) loadLog() (*translog.Kept, error) {
	if m.readLog {
		return m.log, nil
	}
	text, err := os.ReadFile(m.logPath())
	if errors.Is(err, fs.ErrNotExist) {
		m.readLog = true
		return nil, nil
	}
	bad := &damagedError{file: filepath.Join(filepath.Base(m.dir), logFolder, "checkpoint.json"),
		reason: "it cannot be read"}
	if err != nil {
		return nil, bad
	}
	k, err := translog.ParseKept(text)
	if err != nil {
		bad.reason = err.Error()
		return nil, bad
	}
	m.log, m.readLog = k, true
	return k, nil
}

func (m *Memory) logPath() string { return filepath.Join(m.dir, logFolder, "checkpoint.json") }

// keepLog replaces the file as a whole. In memory it counts also when it cannot be written.
func (m *Memory) keepLog(h *head) error {
	k := translog.Keep(h.Checkpoint, h.key, h.note)
	m.log, m.readLog = k, true
	text, err := k.Encode()
	if err == nil {
		err = os.MkdirAll(filepath.Join(m.dir, logFolder), 0o700)
	}
	if err == nil {
		err = file.Write(m.logPath(), text, 0o600)
	}
	if err != nil {
		return &keepError{err}
	}
	return nil
}
