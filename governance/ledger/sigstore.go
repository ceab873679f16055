package ledger

import (
	"fmt"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/host/base/digest"
)

// SigstoreMediaType is the media type of a Sigstore bundle v0.3.
const SigstoreMediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// Sigstore is a Sigstore bundle v0.3 (protobuf-specs sigstore_bundle.proto, as JSON) of
// one statement with its inclusion in the log. Whatever it says about itself is checked
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

// Signature is one of an envelope; KeyID is a hint that nobody trusts.
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
	leaf := Leaf(e, v.statement)
	if err := CheckInclusion(path, v.Head, index, LeafHash(leaf)); err != nil {
		return nil, fmt.Errorf("the entry is not the log's entry %d", index)
	}
	id, at := v.Key.ID(), strconv.FormatInt(index, 10)
	entry := LogEntry{LogIndex: at, LogID: LogID{encode64(id[:])}, Kind: KindVersion{entryKind, entryVersion}, Body: encode64(leaf)}
	entry.Proof = LogProof{LogIndex: at, RootHash: v.Head.Root.String(), TreeSize: strconv.FormatInt(v.Head.Size, 10), Hashes: make([]string, len(path))}
	for i, h := range path {
		entry.Proof.Hashes[i] = h.String()
	}
	entry.Proof.Checkpoint.Envelope = v.Note
	out := &Sigstore{MediaType: SigstoreMediaType, Envelope: e.envelope()}
	out.Material.PublicKey.Hint = v.statement.hint()
	out.Material.Entries = []LogEntry{entry}
	return out, nil
}

// envelope is the entry as DSSE JSON.
func (e Entry) envelope() Envelope {
	return Envelope{Payload: encode64(e.Payload), PayloadType: e.PayloadType, Signatures: []Signature{{Sig: encode64(e.Signature)}}}
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

// claim is what a bundle says, decoded and not believed.
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
		return nil, fmt.Errorf("Sigstore bundle: %d log entries and %d signatures, not one of each", len(s.Material.Entries), len(s.Envelope.Signatures))
	}
	if s.Envelope.Signatures[0].KeyID != "" {
		return nil, fmt.Errorf("Sigstore bundle: keyid %q, not empty", s.Envelope.Signatures[0].KeyID)
	}
	d := decoder{}
	e, c := s.Material.Entries[0], &claim{}
	c.entry = Entry{PayloadType: s.Envelope.PayloadType, Payload: d.bytes("payload", s.Envelope.Payload), Signature: d.bytes("sig", s.Envelope.Signatures[0].Sig)}
	c.index = d.count("logIndex", e.LogIndex)
	if e.Proof.LogIndex != e.LogIndex {
		d.fail("inclusionProof.logIndex", fmt.Errorf("%q is not the entry's %q", e.Proof.LogIndex, e.LogIndex))
	}
	c.head.Size = d.count("treeSize", e.Proof.TreeSize)
	c.head.Root = d.hash("rootHash", e.Proof.RootHash)
	c.body = d.bytes("canonicalizedBody", e.Body)
	if e.Proof.Hashes == nil || len(e.Proof.Hashes) > maxPath {
		d.fail("hashes", fmt.Errorf("null or more than %d", maxPath))
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
	b, err := decode64(s)
	d.fail(name, err)
	return b
}

func (d *decoder) hash(name, s string) tlog.Hash {
	h, err := decodeHash(s)
	d.fail(name, err)
	return h
}

func (d *decoder) count(name, s string) int64 {
	n, err := parseSize(s)
	d.fail(name, err)
	return n
}
