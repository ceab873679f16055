package deploy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/translog"
)

// Registry is the signed payload of a deployable registry: what a host may run of a family.
type Registry struct {
	Schema   string `json:"schema"`
	FamilyID string `json:"family_id"`
	// Version is the size of the control plane's log; it never falls.
	Version   int64     `json:"registry_version"`
	IssuedAt  time.Time `json:"issued_at"`
	ExpiresAt time.Time `json:"expires_at"`
	Entries   []Entry   `json:"entries"`
	// Log is the log that has the registry as an entry; nil in registries of earlier versions.
	Log *LogName `json:"log,omitempty"`

	sealed        []byte // schema and attestation, to be kept and opened again
	payloadSHA256 string
	proof         *Proof // of the answer, unread
	// key has signed the registry: the pinned one, or the one that changes of keys lead to.
	key       *ecdsa.PublicKey
	rotations []rotated
}

// ValidAt reports whether the registry has not expired.
func (r *Registry) ValidAt(now time.Time) bool { return now.Before(r.ExpiresAt) }

// The statuses of entries that are understood; any other does not let anything run.
const (
	StatusActive    = "active"
	StatusSuspended = "suspended"
	StatusRevoked   = "revoked"
)

// Entry is one deployment. What it lacks does not restrict: an empty list, a zero time, an
// absent limit.
type Entry struct {
	DeployableID        string   `json:"deployable_id,omitempty"`
	CandidateRevisionID string   `json:"candidate_revision_id,omitempty"`
	Status              string   `json:"status"`
	Reason              string   `json:"reason,omitempty"`
	Stage               string   `json:"stage,omitempty"`
	Owner               string   `json:"owner,omitempty"`
	PluginSHA256        string   `json:"plugin_sha256" is:"sha256"`
	ParamsSHA256        string   `json:"params_sha256" is:"sha256"`
	Symbols             []string `json:"symbols,omitempty"`
	Timeframes          []string `json:"timeframes,omitempty"`
	Exchanges           []string `json:"exchanges,omitempty"`
	// Modes is nil where the entry has none; an empty list allows no mode.
	Modes     []string  `json:"modes,omitempty"`
	Limits    Limits    `json:"limits,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitempty"`
	// Kill ends what runs.
	Kill bool `json:"kill,omitempty"`
}

// Allows reports whether the entry's modes hold a mode.
func (e *Entry) Allows(mode string) bool { return e.Modes == nil || slices.Contains(e.Modes, mode) }

// decode reads a payload. Members that are not known are left out: what restricts a deployment
// without being understood stands in its limits.
func decode(payload []byte) (*Registry, error) {
	v, refused := field.Parse(payload)
	if refused != nil {
		return nil, refused
	}
	r, reg := &field.Reader{Lax: true}, &Registry{}
	r.Struct(v, "", reg).Schema("schema", Schema)
	if r.Failed() {
		return nil, r.Err()
	}
	return reg, nil
}

// PayloadType is the DSSE payload type of a deployable registry.
const PayloadType = dsse.TypeRegistry

// Schema is the schema of a deployable registry.
const Schema = "deployable-registry/v1"

// Open reads an answer of a control plane and returns the registry in it, once the pinned key
// has signed it as the registry of this family. The refusals are RegistryInvalid,
// RegistryUnsigned, RegistrySignatureInvalid and RegistryFamilyMismatch. Whether the registry
// is still valid, or older than one seen before, is not asked here.
func Open(body []byte, key *ecdsa.PublicKey, family string) (*Registry, *Refusal) {
	v, fault := field.Parse(body)
	if fault != nil {
		return nil, invalid("the answer is not JSON with one meaning: %v", fault)
	}
	outer, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("the answer is not a JSON object")
	}
	envelope, _ := outer["attestation"].(map[string]any)
	text, _ := envelope["payload"].(string)
	if text == "" {
		return nil, refuse(RegistryUnsigned,
			"The registry of %s has no signed payload. Only what the control plane has signed counts: "+
				"is --control-url the address of a control plane?", family)
	}
	rotations, err := rotationsOf(outer, key)
	if err != nil {
		return nil, invalid("the changes of keys: %v", err)
	}
	payload, reason := verify(envelope, text, key)
	for i := 0; reason != "" && i < len(rotations); i++ {
		if payload, reason = verify(envelope, text, rotations[i].key); reason == "" {
			key = rotations[i].key
		}
	}
	if reason != "" {
		return nil, refuse(RegistrySignatureInvalid,
			"The registry of %s is not signed by the pinned key: %s. "+
				"Compare --control-key with the control plane's governance.pub, over a way that you trust.",
			family, reason).with("reason", reason)
	}
	r, err := decode(payload)
	if err != nil {
		return nil, invalid("the signed payload: %v", err)
	}
	if r.FamilyID != family {
		return nil, refuse(RegistryFamilyMismatch,
			"The registry is that of family %q, not of %q. Name the family with --strategy-family, "+
				"or find out what answers in the control plane's place.", r.FamilyID, family).with("family",
			family)
	}
	r.payloadSHA256, r.proof = digest.SHA256Hex(payload), proofOf(outer)
	// Of the answer only this is kept.
	kept := map[string]any{"schema": Schema, "attestation": envelope}
	if len(rotations) > 0 {
		kept["key_rotations"] = outer["key_rotations"]
	}
	r.sealed, r.key, r.rotations = digest.Tree(kept), key, rotations
	return r, nil
}

// proofOf is the proof beside the signed payload, nil where it has not the form of one.
func proofOf(outer map[string]any) *Proof {
	v, ok := outer["log_proof"].(map[string]any)
	if !ok {
		return nil
	}
	p, r := &Proof{}, &field.Reader{Lax: true}
	o := r.Object(v, "/log_proof", nil, nil)
	p.TlogProof, p.From = o.Form("free", "tlog_proof"), o.Integer("from", 0, maxLogSize)
	p.Consistency = o.Texts("consistency", translog.MaxPath, nil)
	p.Entry = readEnvelope(r, o.Open("entry"))
	if r.Failed() {
		return nil
	}
	return p
}

// readEnvelope reads an envelope with one signature.
func readEnvelope(r *field.Reader, o field.Object) (env dsse.Envelope) {
	env.Payload, env.PayloadType = o.Form("free", "payload"), o.Text("payloadType")
	o.Each("signatures", 1, func(_ int, one any, at string) {
		sig := r.Object(one, at, nil, nil)
		env.Signatures = append(env.Signatures, dsse.Signature{Sig: sig.Text("sig")})
	})
	return env
}

// maxLogSize is more entries than a log can have, the largest whole number of a document.
const maxLogSize = 1<<53 - 1

func invalid(format string, args ...any) *Refusal {
	reason := fmt.Sprintf(format, args...)
	return refuse(RegistryInvalid, "The registry cannot be read: %s. Find out what answers at --control-url.",
		reason).with("reason", reason)
}

// verify returns the payload of a DSSE envelope that the key has signed as a registry, or why
// it has not.
func verify(envelope map[string]any, text string, key *ecdsa.PublicKey) (payload []byte, reason string) {
	kind, _ := envelope["payloadType"].(string)
	if dsse.PermanentType(kind) != PayloadType {
		return nil, "its payloadType differs"
	}
	if payload = dsse.Base64(text); payload == nil {
		return nil, "its payload is not strict base64"
	}
	if key == nil || key.Curve != elliptic.P256() {
		return nil, "no P-256 key is pinned"
	}
	signed := dsse.Signed{Envelope: dsse.Envelope{PayloadType: kind}, Payload: payload}
	signatures, _ := envelope["signatures"].([]any)
	for _, v := range signatures[:min(len(signatures), dsse.MaxSignatures)] {
		one, _ := v.(map[string]any)
		text, _ := one["sig"].(string)
		if sig := dsse.Base64(text); sig != nil {
			signed.Signatures = append(signed.Signatures, sig)
		}
	}
	if len(signed.Verify(key)) == 0 {
		return nil, "no signature verifies"
	}
	return payload, ""
}

const schemaMemory = "registry-memory/v1"

// maxMemory bounds what is read of a file, in bytes.
const maxMemory = 64 << 20

// Memory keeps, for each family, the highest registry version ever seen and the newest
// registry, in <dir>/<family>.json, and the last checkpoint of the control plane's log, in
// <dir>/log/checkpoint.json. It is what keeps an old registry, signed as it is, or one of a
// log that was rewritten, from bringing back what was revoked, also after a restart.
type Memory struct {
	dir string

	mu      sync.Mutex
	known   map[string]kept
	log     *translog.Kept // nil where there is none, or while the file was not read
	readLog bool
}

// kept is what is remembered of a family.
type kept struct {
	version int64
	sealed  []byte // the newest registry as Open takes it
	stored  bool
}

// NewMemory keeps files in a folder, which is made when it is needed.
func NewMemory(dir string) *Memory { return &Memory{dir: dir, known: map[string]kept{}} }

// rollbackError: the registry is older than one that was seen.
type rollbackError struct{ seen int64 }

func (e *rollbackError) Error() string { return fmt.Sprintf("version %d was seen before", e.seen) }

// damagedError: a file is there and does not say what was seen.
type damagedError struct {
	file   string
	reason string
}

func (e *damagedError) Error() string { return e.file + " is damaged: " + e.reason }

// keepError: what was seen could not be written. The registry itself is good.
type keepError struct{ cause error }

func (e *keepError) Error() string {
	return fmt.Sprintf("the registry's version could not be kept: %v", e.cause)
}
func (e *keepError) Unwrap() error { return e.cause }

// Last returns the newest registry of a family as Open takes it, nil if there is none.
func (m *Memory) Last(family string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.load(family)
	return k.sealed, err
}

// See remembers a registry. It is on disk when See returns without an error. The error is a
// *rollbackError if a higher version was seen, *damagedError, or *keepError: then the version
// is remembered for as long as the process lives.
func (m *Memory) See(r *Registry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.load(r.FamilyID)
	if err != nil {
		return err
	}
	if r.Version < k.version {
		return &rollbackError{k.version}
	}
	if r.Version == k.version && k.stored && bytes.Equal(k.sealed, r.sealed) {
		return nil
	}
	k = kept{version: r.Version, sealed: r.sealed}
	m.known[r.FamilyID] = k
	if err := m.store(r); err != nil {
		return &keepError{err}
	}
	k.stored = true
	m.known[r.FamilyID] = k
	return nil
}

// load returns what is known of a family; the file is read once.
func (m *Memory) load(family string) (kept, error) {
	if k, ok := m.known[family]; ok {
		return k, nil
	}
	k, err := m.read(family)
	if err == nil {
		m.known[family] = k
	}
	return k, err
}

func (m *Memory) path(family string) string { return filepath.Join(m.dir, family+".json") }

func (m *Memory) read(family string) (kept, error) {
	f, err := os.Open(m.path(family))
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, nil
	}
	bad := &damagedError{file: filepath.Join(filepath.Base(m.dir), family+".json"),
		reason: "it cannot be read"}
	if err != nil {
		return kept{}, bad
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMemory))
	if err != nil {
		return kept{}, bad
	}
	k, err := parseMemory(text, family)
	if err != nil {
		bad.reason = err.Error()
		return kept{}, bad
	}
	return k, nil
}

// parseMemory reads a file of the memory.
func parseMemory(text []byte, family string) (kept, error) {
	v, refused := field.Parse(text)
	if refused != nil {
		return kept{}, refused
	}
	var known struct {
		Schema   string          `json:"schema"`
		FamilyID string          `json:"family_id"`
		Version  int64           `json:"registry_version"`
		Registry json.RawMessage `json:"registry"`
	}
	r := &field.Reader{Lax: true}
	if r.Struct(v, "", &known); r.Failed() {
		return kept{}, r.Err()
	}
	if known.Schema != schemaMemory || known.FamilyID != family {
		return kept{}, errors.New("it is another file")
	}
	return kept{version: known.Version, sealed: known.Registry, stored: true}, nil
}

// store replaces the file as a whole: after a crash it is the old one or the new one, and the
// new one is on disk when store returns.
func (m *Memory) store(r *Registry) error {
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return err
	}
	sealed, err := digest.Strict(r.sealed, field.MaxDepth)
	if err != nil {
		return err
	}
	text := digest.Tree(map[string]any{
		"schema": schemaMemory, "family_id": r.FamilyID, "registry_version": float64(r.Version),
		"registry": sealed,
	})
	return file.Write(m.path(r.FamilyID), text, 0o600)
}
