package ledger

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// proofHeader begins a proof text.
const proofHeader = "c2sp.org/tlog-proof@v1"

// maxPath is more sibling hashes than any tree has levels.
const maxPath = 63

// Proof is a C2SP tlog-proof: an index, the sibling hashes from the leaf up, and the
// note of the checkpoint that they lead to. It proves a leaf that its reader computes.
type Proof struct {
	Index  int64
	Hashes []tlog.Hash
	Note   string
}

// Format is the text of a proof. It has no extra line: nothing would authenticate it.
func (p Proof) Format() string {
	var out strings.Builder
	out.WriteString(proofHeader + "\nindex " + strconv.FormatInt(p.Index, 10) + "\n")
	for _, h := range p.Hashes {
		out.WriteString(h.String() + "\n")
	}
	out.WriteString("\n" + p.Note)
	return out.String()
}

// ParseProof reads a proof text strictly: what is accepted is what Format writes. The
// note is not opened, see OpenCheckpoint.
func ParseProof(text string) (*Proof, error) {
	head, noteText, found := strings.Cut(text, "\n\n")
	if !found {
		return nil, errors.New("a tlog-proof has an empty line before its checkpoint")
	}
	lines := strings.Split(head, "\n")
	if lines[0] != proofHeader {
		return nil, fmt.Errorf("a tlog-proof begins with %s", proofHeader)
	}
	if len(lines) < 2 {
		return nil, errors.New("the tlog-proof has no index")
	}
	digits, is := strings.CutPrefix(lines[1], "index ")
	if !is {
		return nil, fmt.Errorf("the second line of a tlog-proof is its index, not %q", cut([]byte(lines[1])))
	}
	index, err := parseSize(digits)
	if err != nil {
		return nil, fmt.Errorf("tlog-proof index: %w", err)
	}
	if len(lines)-2 > maxPath {
		return nil, fmt.Errorf("a tlog-proof of %d hashes", len(lines)-2)
	}
	p := &Proof{Index: index, Note: noteText}
	for i, line := range lines[2:] {
		h, err := decodeHash(line)
		if err != nil {
			return nil, fmt.Errorf("tlog-proof hash %d: %w", i, err)
		}
		p.Hashes = append(p.Hashes, h)
	}
	if _, err := peekCheckpoint(noteText); err != nil {
		return nil, fmt.Errorf("tlog-proof: %w", err)
	}
	return p, nil
}
