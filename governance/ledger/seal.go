package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

// SchemaSeal is the schema of a seal.
const SchemaSeal = "seal/v1"

// Seal is the plane's signed acceptance: the place of one statement in the log with
// everything that proves it. IntegratedAt is the time in the statement's predicate, and
// Assurance the highest of its rungs, so that nothing in a seal is unsigned.
type Seal struct {
	Schema       string   `json:"schema"`
	LogOrigin    string   `json:"log_origin"`
	LogIndex     int64    `json:"log_index"`
	LeafSHA256   string   `json:"leaf_sha256"` // of the tree: SHA-256(0x00 || leaf)
	TreeSize     int64    `json:"tree_size"`
	RootSHA256   string   `json:"root_sha256"`
	IntegratedAt string   `json:"integrated_at"`
	Assurance    string   `json:"assurance"`
	TlogProof    string   `json:"tlog_proof"`
	Sigstore     Sigstore `json:"sigstore_bundle"`
}

// Rungs are the rungs of assurance from the lowest.
var rungs = []string{"hash_claimed", "hash_verified", "signed", "reproduced"}

// Highest is the assurance of a set of rungs: the highest of them, "" of none.
func Highest(held []string) string {
	best := ""
	for _, rung := range rungs {
		for _, h := range held {
			if h == rung {
				best = rung
			}
		}
	}
	return best
}

// Seal is the seal of the entry that has this index in the view. The error reports that it
// has another one, or is no statement of the log.
func (v View) Seal(index int64, e Entry) (*Seal, error) {
	integratedAt, assurance, err := summary(e.Payload)
	if err != nil {
		return nil, err
	}
	sigstore, err := v.Sigstore(index, e)
	if err != nil {
		return nil, err
	}
	proof, err := v.Proof(index)
	if err != nil {
		return nil, err
	}
	return &Seal{Schema: SchemaSeal, LogOrigin: v.Head.Origin, LogIndex: index,
		LeafSHA256: Hex(LeafHash(Leaf(e, v.ring.At(index).Statement))),
		TreeSize:   v.Head.Size, RootSHA256: Hex(v.Head.Root), IntegratedAt: integratedAt,
		Assurance: assurance,
		TlogProof: proof.Format(), Sigstore: *sigstore}, nil
}

// times is what the predicates of the log call the time at which they were made.
var times = []string{"received_at", "recorded_at", "evaluated_at"}

// summary is the time and the highest rung that a statement's predicate names.
func summary(payload []byte) (at, assurance string, err error) {
	v, refused := field.Parse(payload)
	if refused != nil {
		return "", "", fmt.Errorf("statement: %w", refused)
	}
	statement, _ := v.(map[string]any)
	predicate, _ := statement["predicate"].(map[string]any)
	var held []string
	list, _ := predicate["rungs"].([]any)
	for _, rung := range list {
		text, _ := rung.(string)
		held = append(held, text)
	}
	for _, name := range times {
		if text, ok := predicate[name].(string); ok {
			return text, Highest(held), nil
		}
	}
	return "", "", errors.New("statement: its predicate has no time")
}

// Proof is the tlog-proof of the entry that has this index in the view.
func (v View) Proof(index int64) (*Proof, error) {
	path, err := v.Inclusion(index)
	if err != nil {
		return nil, err
	}
	return &Proof{Index: index, Hashes: path, Note: v.Note}, nil
}

// ParseSeal reads a seal strictly: exactly its fields, each in its only form. Nothing is
// verified yet.
func ParseSeal(text []byte) (*Seal, error) {
	s := &Seal{}
	if err := decodeExact(text, s); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return s, s.check()
}

func (s *Seal) check() error {
	if s.Schema != SchemaSeal {
		return fmt.Errorf("seal: schema %q, not %q", s.Schema, SchemaSeal)
	}
	if _, err := translog.ParseHex(s.LeafSHA256); err != nil {
		return fmt.Errorf("seal, leaf_sha256: %w", err)
	}
	if _, err := translog.ParseHex(s.RootSHA256); err != nil {
		return fmt.Errorf("seal, root_sha256: %w", err)
	}
	if s.LogIndex < 0 || s.TreeSize < 0 {
		return errors.New("seal: negative index or size")
	}
	if _, ok := field.ParseTime(s.IntegratedAt); !ok {
		return fmt.Errorf("seal: integrated_at %q is not a time in UTC", s.IntegratedAt)
	}
	if _, err := translog.ParseProof(s.TlogProof); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	_, err := s.Sigstore.read()
	return err
}

// Canonical is the seal's canonical JSON.
func (s *Seal) Canonical() ([]byte, error) { return digest.JCS(s) }

// Mismatch is a check that failed: what was checked, what was to be expected from
// trusted or computed values, and what was found.
type Mismatch struct{ What, Expected, Found string }

// Error names all three.
func (m *Mismatch) Error() string {
	return fmt.Sprintf("%s: expected %s, found %s", m.What, m.Expected, m.Found)
}

func differ(what, expected, found string) error {
	if expected == found {
		return nil
	}
	return &Mismatch{what, expected, found}
}

// CheckSignature reports whether the statement key signed the bundle's envelope, and that
// the bundle's hint is this key's.
func (s *Sigstore) CheckSignature(key *Key) error {
	c, err := s.read()
	if err != nil {
		return err
	}
	if !key.Signed(c.entry) {
		return &Mismatch{"signature", "one of key " + key.ID(), "none that verifies"}
	}
	return differ("publicKey.hint", key.hint(), s.Material.PublicKey.Hint)
}

// CheckLeaf makes the leaf again from the envelope and the key and compares what the
// bundle claims it to be. The claim is never used.
func (s *Sigstore) CheckLeaf(key *Key) error {
	c, err := s.read()
	if err != nil {
		return err
	}
	if err := differ("kindVersion", translog.EntryKind+"/"+translog.EntryVersion,
		s.Material.Entries[0].Kind.Kind+"/"+s.Material.Entries[0].Kind.Version); err != nil {
		return err
	}
	leaf := Leaf(c.entry, key)
	if !bytes.Equal(leaf, c.body) {
		return &Mismatch{"canonicalizedBody", Hex(LeafHash(leaf)), Hex(LeafHash(c.body))}
	}
	return nil
}

// CheckCheckpoint opens the bundle's checkpoint with the trusted log keys and compares
// its other members with it. The checkpoint is nil when no trusted key signed it.
func (s *Sigstore) CheckCheckpoint(logs ...TrustedLog) (*Checkpoint, *TrustedLog, error) {
	c, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	entry := s.Material.Entries[0]
	head, log, err := OpenTrusted(entry.Proof.Checkpoint.Envelope, logs)
	if err != nil {
		return nil, nil, err
	}
	id := log.ID()
	for _, err := range []error{
		differ("logId", encode64(id[:]), entry.LogID.KeyID),
		differ("rootHash", head.Root.String(), c.head.Root.String()),
		differ("treeSize", fmt.Sprint(head.Size), fmt.Sprint(c.head.Size)),
	} {
		if err != nil {
			return head, log, err
		}
	}
	return head, log, nil
}

// OpenTrusted opens a note with the first trusted log key that signed it.
func OpenTrusted(noteText string, logs []TrustedLog) (*Checkpoint, *TrustedLog, error) {
	claimed, err := translog.PeekCheckpoint(noteText)
	if err != nil {
		return nil, nil, err
	}
	found := errors.New("no log key is trusted")
	for i := range logs {
		var head *Checkpoint
		if head, found = translog.OpenCheckpoint(noteText, logs[i].LogKey); found == nil {
			return head, &logs[i], nil
		}
	}
	return nil, nil,
		&Mismatch{"checkpoint", "a checkpoint signed by a log of the trusted root",
			claimed.String() + ": " + found.Error()}
}

// CheckInclusion reports whether the bundle's path leads from the leaf, made again from
// the envelope, to a checkpoint that was verified.
func (s *Sigstore) CheckInclusion(key *Key, head *Checkpoint) error {
	c, err := s.read()
	if err != nil {
		return err
	}
	if err := translog.CheckInclusion(c.path, *head, c.index, LeafHash(Leaf(c.entry, key))); err != nil {
		return &Mismatch{"inclusion", fmt.Sprintf("entry %d in %s", c.index, head), err.Error()}
	}
	return nil
}

// CheckProof reports whether a tlog-proof proves the same entry in the same checkpoint as
// the bundle: index and path equal, and its note signed and of the same origin, size
// and root. Its note's bytes may differ.
func (s *Sigstore) CheckProof(text string, key *Key, head *Checkpoint, logs ...TrustedLog) error {
	c, err := s.read()
	if err != nil {
		return err
	}
	p, err := translog.ParseProof(text)
	if err != nil {
		return err
	}
	if err := differ("tlog-proof index", fmt.Sprint(c.index), fmt.Sprint(p.Index)); err != nil {
		return err
	}
	own, _, err := OpenTrusted(p.Note, logs)
	if err != nil {
		return err
	}
	if err := differ("tlog-proof checkpoint", head.String(), own.String()); err != nil {
		return err
	}
	if err := translog.CheckInclusion(p.Hashes, *own, p.Index, LeafHash(Leaf(c.entry, key))); err != nil {
		return &Mismatch{"tlog-proof", fmt.Sprintf("entry %d in %s", p.Index, own), err.Error()}
	}
	return nil
}

// CheckSummary compares the members of a seal outside of its bundle with the entry and the
// checkpoint that were verified.
func (s *Seal) CheckSummary(key *Key, head *Checkpoint) error {
	c, err := s.Sigstore.read()
	if err != nil {
		return err
	}
	for _, err := range []error{
		differ("log_origin", head.Origin, s.LogOrigin),
		differ("log_index", fmt.Sprint(c.index), fmt.Sprint(s.LogIndex)),
		differ("leaf_sha256", Hex(LeafHash(Leaf(c.entry, key))), s.LeafSHA256),
		differ("tree_size", fmt.Sprint(head.Size), fmt.Sprint(s.TreeSize)),
		differ("root_sha256", Hex(head.Root), s.RootSHA256),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// SigstoreMediaType is the media type of a Sigstore bundle v0.3.
const SigstoreMediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// Sigstore is a Sigstore bundle v0.3 (protobuf-specs sigstore_bundle.proto, as JSON) of
// one statement with its inclusion in the log. Whatever it claims is checked
// against what can be computed; CanonicalizedBody is there for other tools only.
type Sigstore struct {
	MediaType string   `json:"mediaType"`
	Material  Material `json:"verificationMaterial"`
	Envelope  Envelope `json:"dsseEnvelope"`
}

// Material is what a bundle is verified with: which key, which log entry.
type Material struct {
	PublicKey struct {
		Hint string `json:"hint"` // base64 of SHA-256 of the statement key's DER form
	} `json:"publicKey"`
	Entries []LogEntry `json:"tlogEntries"`
}

// LogEntry is a TransparencyLogEntry without the fields of Rekor v1. Int64 are strings
// and bytes base64, as protobuf's JSON has them.
type LogEntry struct {
	LogIndex string      `json:"logIndex"`
	LogID    LogID       `json:"logId"`
	Kind     KindVersion `json:"kindVersion"`
	Body     string      `json:"canonicalizedBody"`
	Proof    LogProof    `json:"inclusionProof"`
}

// LogID names a log key by its full id in base64.
type LogID struct {
	KeyID string `json:"keyId"`
}

// KindVersion is the type of a Rekor entry.
type KindVersion struct {
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

// LogProof is an inclusion proof with its checkpoint.
type LogProof struct {
	LogIndex   string   `json:"logIndex"`
	RootHash   string   `json:"rootHash"`
	TreeSize   string   `json:"treeSize"`
	Hashes     []string `json:"hashes"`
	Checkpoint struct {
		Envelope string `json:"envelope"`
	} `json:"checkpoint"`
}

// Envelope is a DSSE envelope as Sigstore bundles have it: its signature's keyid is
// written even when it is empty.
type Envelope struct {
	Payload     string      `json:"payload"`
	PayloadType string      `json:"payloadType"`
	Signatures  []Signature `json:"signatures"`
}

// Signature is one of an envelope; KeyID is a hint that is not trusted.
type Signature struct {
	Sig   string `json:"sig"`
	KeyID string `json:"keyid"`
}

// Sigstore is the bundle of the entry that has this index in the view.
func (v View) Sigstore(index int64, e Entry) (*Sigstore, error) {
	path, err := v.Inclusion(index)
	if err != nil {
		return nil, err
	}
	leaf := Leaf(e, v.ring.At(index).Statement)
	if err := translog.CheckInclusion(path, v.Head, index, LeafHash(leaf)); err != nil {
		return nil, fmt.Errorf("the entry is not the log's entry %d", index)
	}
	id, at := v.Key.ID(), strconv.FormatInt(index, 10)
	entry := LogEntry{LogIndex: at, LogID: LogID{encode64(id[:])},
		Kind: KindVersion{translog.EntryKind, translog.EntryVersion}, Body: encode64(leaf)}
	entry.Proof = LogProof{LogIndex: at, RootHash: v.Head.Root.String(),
		TreeSize: strconv.FormatInt(v.Head.Size, 10), Hashes: make([]string, len(path))}
	for i, h := range path {
		entry.Proof.Hashes[i] = h.String()
	}
	entry.Proof.Checkpoint.Envelope = v.Note
	out := &Sigstore{MediaType: SigstoreMediaType, Envelope: e.envelope()}
	out.Material.PublicKey.Hint = v.ring.At(index).Statement.hint()
	out.Material.Entries = []LogEntry{entry}
	return out, nil
}

// envelope is the entry as DSSE JSON.
func (e Entry) envelope() Envelope {
	return Envelope{Payload: encode64(e.Payload), PayloadType: e.PayloadType,
		Signatures: []Signature{{Sig: encode64(e.Signature)}}}
}

// ParseSigstore reads a bundle: exactly these fields, one log entry, one signature,
// every number and base64 in its only form. Nothing is verified yet.
func ParseSigstore(text []byte) (*Sigstore, error) {
	s := &Sigstore{}
	if err := decodeExact(text, s); err != nil {
		return nil, fmt.Errorf("Sigstore bundle: %w", err)
	}
	if _, err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

// Note is the checkpoint that the bundle carries, unread.
func (s *Sigstore) Note() string {
	if len(s.Material.Entries) == 0 {
		return ""
	}
	return s.Material.Entries[0].Proof.Checkpoint.Envelope
}

// Index is the place that the bundle claims.
func (s *Sigstore) Index() (int64, error) {
	claim, err := s.read()
	if err != nil {
		return 0, err
	}
	return claim.index, nil
}

// Canonical is the bundle's canonical JSON.
func (s *Sigstore) Canonical() ([]byte, error) { return digest.JCS(s) }

// Entry is the statement that the bundle carries.
func (s *Sigstore) Entry() (Entry, error) {
	claim, err := s.read()
	if err != nil {
		return Entry{}, err
	}
	return claim.entry, nil
}

// claim is the content of a bundle, decoded and not believed.
type claim struct {
	entry Entry
	index int64
	head  Checkpoint // the bundle's own size and root; its origin is in the note
	path  []tlog.Hash
	body  []byte
}

// read decodes everything in a bundle that has an encoding.
func (s *Sigstore) read() (*claim, error) {
	if s.MediaType != SigstoreMediaType {
		return nil, fmt.Errorf("Sigstore bundle: media type %q, not %q", s.MediaType, SigstoreMediaType)
	}
	if len(s.Material.Entries) != 1 || len(s.Envelope.Signatures) != 1 {
		return nil, fmt.Errorf("Sigstore bundle: %d log entries and %d signatures, not one of each",
			len(s.Material.Entries), len(s.Envelope.Signatures))
	}
	if s.Envelope.Signatures[0].KeyID != "" {
		return nil, fmt.Errorf("Sigstore bundle: keyid %q, not empty", s.Envelope.Signatures[0].KeyID)
	}
	d := decoder{}
	e, c := s.Material.Entries[0], &claim{}
	c.entry = Entry{PayloadType: s.Envelope.PayloadType, Payload: d.bytes("payload", s.Envelope.Payload),
		Signature: d.bytes("sig", s.Envelope.Signatures[0].Sig)}
	c.index = d.count("logIndex", e.LogIndex)
	if e.Proof.LogIndex != e.LogIndex {
		d.fail("inclusionProof.logIndex",
			fmt.Errorf("%q is not the entry's %q", e.Proof.LogIndex, e.LogIndex))
	}
	c.head.Size = d.count("treeSize", e.Proof.TreeSize)
	c.head.Root = d.hash("rootHash", e.Proof.RootHash)
	c.body = d.bytes("canonicalizedBody", e.Body)
	if e.Proof.Hashes == nil || len(e.Proof.Hashes) > translog.MaxPath {
		d.fail("hashes", fmt.Errorf("null or more than %d", translog.MaxPath))
	}
	for _, h := range e.Proof.Hashes {
		c.path = append(c.path, d.hash("hashes", h))
	}
	return c, d.err
}

// decoder keeps the first error of a row of fields.
type decoder struct{ err error }

func (d *decoder) fail(name string, err error) {
	if d.err == nil && err != nil {
		d.err = fmt.Errorf("Sigstore bundle, %s: %w", name, err)
	}
}

func (d *decoder) bytes(name, s string) []byte {
	b, err := translog.Decode64(s)
	d.fail(name, err)
	return b
}

func (d *decoder) hash(name, s string) tlog.Hash {
	h, err := translog.ParseHash(s)
	d.fail(name, err)
	return h
}

func (d *decoder) count(name, s string) int64 {
	n, err := translog.ParseSize(s)
	d.fail(name, err)
	return n
}
