package ledger

import (
	"crypto"
	"errors"
	"fmt"

	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

// SchemaChain is the schema of /trust/rotations.json.
const SchemaChain = "key-rotations/v1"

// Chain is every change of a log's keys, the oldest first. It leads from any key that a log has had to all
// others, so that whoever has one of them can verify what each has signed.
type Chain struct {
	Schema string `json:"schema"`
	Origin string `json:"log_origin"`
	// Checkpoint is the newest, signed by the newest log key also where it ends with a change of keys.
	Checkpoint string   `json:"checkpoint"`
	Changes    []Change `json:"rotations"`
}

// Change is one change of keys: its entry in the newest checkpoint, and a tlog-proof of it in the last
// checkpoint of the old log key, with the cosignatures that it has.
type Change struct {
	Entry     Sigstore `json:"sigstore_bundle"`
	TlogProof string   `json:"tlog_proof"`
}

// ParseChain reads a chain strictly. Nothing is verified yet.
func ParseChain(text []byte) (*Chain, error) {
	c := &Chain{}
	if err := decodeExact(text, c); err != nil {
		return nil, fmt.Errorf("rotations.json: %w", err)
	}
	if c.Schema != SchemaChain || !translog.ValidOrigin(c.Origin) || c.Changes == nil {
		return nil, fmt.Errorf("rotations.json: not %s of a log", SchemaChain)
	}
	for i := range c.Changes {
		if _, _, err := c.Changes[i].read(); err != nil {
			return nil, fmt.Errorf("rotations.json, change %d: %w", i, err)
		}
	}
	return c, nil
}

// read is the entry and what it says of the keys.
func (c *Change) read() (*claim, *translog.Rotation, error) {
	entry, err := c.Entry.read()
	if err != nil {
		return nil, nil, err
	}
	v, refused := field.Parse(entry.entry.Payload)
	if refused != nil {
		return nil, nil, refused
	}
	r := &field.Reader{Lax: true}
	o, rotation := r.Object(v, "", nil, nil), &translog.Rotation{}
	if o.Text("predicateType") != translog.TypeRotation {
		return nil, nil, errors.New("it is not a change of keys")
	}
	if r.Struct(o.Raw("predicate"), "/predicate", rotation); r.Failed() {
		return nil, nil, r.Err()
	}
	return entry, rotation, nil
}

// Known is all keys of a log that are known by one of them.
type Known struct {
	Ring Ring
	// Head is a checkpoint that the newest log key has signed, with all changes of keys.
	Head Checkpoint
}

// Key is the one that signs the entry of an index.
func (k *Known) Key(index int64) *Key { return k.Ring.At(index).Statement }

// Stands reports why a checkpoint may be of another tree than the newest log key's: a thief of an earlier key
// can sign any.
func (k *Known) Stands(note string, head *Checkpoint) error {
	last := k.Ring.Last().Log
	if _, err := translog.OpenCheckpoint(note, last); err == nil || *head == k.Head {
		return nil
	}
	return &Mismatch{"checkpoint", "one that the log key signs which it has now, " + last.VKey(),
		fmt.Sprintf("%s by an earlier key", head)}
}

// Keys is all keys of the log, where key is one of them. Each change is signed by the keys before and has the
// consent of those behind it, is the last entry of a checkpoint of the old log key, and stands in one tree
// that the newest log key has signed. A change to keys that are newer than key needs the witnesses as well:
// whoever has stolen key could make it. The newest log key must be one of logs, where they name any.
func (c *Chain) Keys(key *Key, witnesses translog.Quorum, logs ...TrustedLog) (*Known, error) {
	if len(c.Changes) == 0 {
		return nil, errors.New("the log has not changed its keys")
	}
	var ring Ring
	known := false
	for i := range c.Changes {
		entry, rotation, err := c.Changes[i].read()
		if err == nil && i == 0 {
			ring, err = begin(rotation)
		}
		if err == nil {
			known = known || ring.Last().Statement.ID() == key.ID()
			need := translog.Quorum{}
			if known {
				need = witnesses
			}
			ring, err = c.Changes[i].follow(ring, entry, rotation, need)
		}
		if err != nil {
			return nil, fmt.Errorf("change of keys %d: %w", i, err)
		}
	}
	last := TrustedLog{LogKey: ring.Last().Log}
	trusted := len(logs) == 0
	for _, l := range logs {
		trusted = trusted || l.VKey() == last.VKey()
	}
	switch {
	case !known && ring.Last().Statement.ID() != key.ID():
		return nil, &Mismatch{"keys", "the key " + key.ID() + " among those of the log", "none of them is"}
	case !trusted:
		return nil, &Mismatch{"log key", "one of the trusted root", last.VKey()}
	case c.Origin != last.Origin:
		return nil, &Mismatch{"log_origin", last.Origin, c.Origin}
	}
	head, err := translog.OpenCheckpoint(c.Checkpoint, last.LogKey)
	if err != nil {
		return nil, err
	}
	for i := range c.Changes {
		if err := c.Changes[i].Entry.CheckInclusion(ring[i].Statement, head); err != nil {
			return nil, fmt.Errorf("change of keys %d: %w", i, err)
		}
	}
	return &Known{ring, *head}, nil
}

// begin is the ring of the keys before the first change.
func begin(rotation *translog.Rotation) (Ring, error) {
	key, err := ParseKey([]byte(rotation.Old.Statement))
	if err != nil {
		return nil, err
	}
	log, err := translog.ParseLogKey(rotation.Old.Log)
	return Ring{{Statement: key, Log: log}}, err
}

// follow is the ring behind a change that the old keys have made.
func (c *Change) follow(
	ring Ring, entry *claim, rotation *translog.Rotation, witnesses translog.Quorum,
) (Ring, error) {
	old := ring.Last()
	if entry.index < old.From {
		return nil, errors.New("it does not follow the one before")
	}
	if err := c.Entry.CheckSignature(old.Statement); err != nil {
		return nil, err
	}
	if err := c.Entry.CheckLeaf(old.Statement); err != nil {
		return nil, err
	}
	next, err := ring.Rotate(entry.index, rotation)
	if err != nil {
		return nil, err
	}
	p, err := translog.ParseProof(c.TlogProof)
	if err != nil {
		return nil, err
	}
	then, err := translog.OpenCheckpoint(p.Note, old.Log)
	if err != nil {
		return nil, fmt.Errorf("the old log key has not signed it: %w", err)
	}
	if p.Index != entry.index || then.Size != p.Index+1 {
		return nil, errors.New("it is not the last entry under the old keys")
	}
	leaf := LeafHash(Leaf(entry.entry, old.Statement))
	if err := translog.CheckInclusion(p.Hashes, *then, p.Index, leaf); err != nil {
		return nil, err
	}
	return next, witnesses.Check(p.Note, old.Log)
}

// Chain is the changes of the log's keys in the view: their entries, and of each the last checkpoint of the
// old log key. The newest log key signs the head.
func (v View) Chain(entries []Entry, notes []string, newest crypto.Signer) (*Chain, error) {
	c := &Chain{Schema: SchemaChain, Origin: v.Head.Origin, Changes: []Change{}}
	for i, e := range entries {
		index := v.ring[i+1].From - 1
		entry, err := v.Sigstore(index, e)
		if err != nil {
			return nil, err
		}
		path, err := v.InclusionAt(index, index+1)
		if err != nil {
			return nil, err
		}
		proof := Proof{Index: index, Hashes: path, Note: notes[i]}
		c.Changes = append(c.Changes, Change{*entry, proof.Format()})
	}
	if len(entries) == 0 {
		c.Checkpoint = v.Note
		return c, nil
	}
	var err error
	c.Checkpoint, err = translog.SignCheckpoint(v.Head, newest)
	return c, err
}

// By reports whether a bundle claims to be signed by a key.
func (s *Sigstore) By(key *Key) bool { return s.Material.PublicKey.Hint == key.hint() }
