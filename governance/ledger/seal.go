package ledger

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
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
	return &Seal{Schema: SchemaSeal, LogOrigin: v.Head.Origin, LogIndex: index, LeafSHA256: Hex(LeafHash(Leaf(e, v.statement))),
		TreeSize: v.Head.Size, RootSHA256: Hex(v.Head.Root), IntegratedAt: integratedAt, Assurance: assurance,
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
	if _, err := parseHex(s.LeafSHA256); err != nil {
		return fmt.Errorf("seal, leaf_sha256: %w", err)
	}
	if _, err := parseHex(s.RootSHA256); err != nil {
		return fmt.Errorf("seal, root_sha256: %w", err)
	}
	if s.LogIndex < 0 || s.TreeSize < 0 {
		return errors.New("seal: negative index or size")
	}
	if _, ok := field.ParseTime(s.IntegratedAt); !ok {
		return fmt.Errorf("seal: integrated_at %q is not a time in UTC", s.IntegratedAt)
	}
	if _, err := ParseProof(s.TlogProof); err != nil {
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
	if err := differ("kindVersion", entryKind+"/"+entryVersion, s.Material.Entries[0].Kind.Kind+"/"+s.Material.Entries[0].Kind.Version); err != nil {
		return err
	}
	leaf := Leaf(c.entry, key)
	if !bytes.Equal(leaf, c.body) {
		return &Mismatch{"canonicalizedBody", Hex(LeafHash(leaf)), Hex(LeafHash(c.body))}
	}
	return nil
}

// CheckCheckpoint opens the bundle's checkpoint with the trusted log keys and compares
// what the bundle says besides. The checkpoint is nil when no trusted key signed it.
func (s *Sigstore) CheckCheckpoint(logs ...TrustedLog) (*Checkpoint, *TrustedLog, error) {
	c, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	entry := s.Material.Entries[0]
	head, log, err := openTrusted(entry.Proof.Checkpoint.Envelope, logs)
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

// openTrusted opens a note with the first trusted log key that signed it.
func openTrusted(noteText string, logs []TrustedLog) (*Checkpoint, *TrustedLog, error) {
	claimed, err := peekCheckpoint(noteText)
	if err != nil {
		return nil, nil, err
	}
	found := errors.New("no log key is trusted")
	for i := range logs {
		var head *Checkpoint
		if head, found = OpenCheckpoint(noteText, logs[i].LogKey); found == nil {
			return head, &logs[i], nil
		}
	}
	return nil, nil, &Mismatch{"checkpoint", "a checkpoint signed by a log of the trusted root", claimed.String() + ": " + found.Error()}
}

// CheckInclusion reports whether the bundle's path leads from the leaf, made again from
// the envelope, to a checkpoint that was verified.
func (s *Sigstore) CheckInclusion(key *Key, head *Checkpoint) error {
	c, err := s.read()
	if err != nil {
		return err
	}
	if err := CheckInclusion(c.path, *head, c.index, LeafHash(Leaf(c.entry, key))); err != nil {
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
	p, err := ParseProof(text)
	if err != nil {
		return err
	}
	if err := differ("tlog-proof index", fmt.Sprint(c.index), fmt.Sprint(p.Index)); err != nil {
		return err
	}
	own, _, err := openTrusted(p.Note, logs)
	if err != nil {
		return err
	}
	if err := differ("tlog-proof checkpoint", head.String(), own.String()); err != nil {
		return err
	}
	if err := CheckInclusion(p.Hashes, *own, p.Index, LeafHash(Leaf(c.entry, key))); err != nil {
		return &Mismatch{"tlog-proof", fmt.Sprintf("entry %d in %s", p.Index, own), err.Error()}
	}
	return nil
}

// CheckSummary compares what a seal says outside of its bundle with the entry and the
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
