// Package ledger is the mathematics of the control plane's log: what a leaf is, the
// Merkle tree over the leaves, the signed checkpoint of its head, and the proof that
// one statement is in it, in the three forms that are handed out (seal, Sigstore
// bundle, tlog-proof).
//
// A statement comes in as a signed DSSE envelope (Entry). Its leaf is the canonical
// JSON of a Rekor v2 hashedrekord, so that stock Sigstore tools can recompute it from
// the envelope and the statement key alone; the tree is that of RFC 6962, the
// checkpoint a C2SP signed note, the proof text a C2SP tlog-proof. Nothing here reads a
// clock, a file or the network, and nothing trusts bytes that it can compute itself:
// the leaf of a bundle is always made again from its envelope.
//
// The log of a running plane is driven by its store: Log.Prepare reports which tree nodes
// and which checkpoint a batch of entries makes, the store commits them to disk, then
// Log.Commit adopts them. The offline verifier is the package verify below.
package ledger

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

// Log is the log of a running plane in memory: tree, head and the keys that sign. One
// writer prepares and commits; any number of readers take views.
type Log struct {
	private crypto.Signer

	mu       sync.RWMutex
	view     View
	prepared *Batch // the batch that may be committed
}

// View is the log at one size: it does not change when the log grows.
type View struct {
	// Key is the one that has signed Note.
	Key  LogKey
	Head Checkpoint
	// Note is the signed checkpoint of Head, "" while the log is empty.
	Note string

	ring Ring
	tree Tree
}

// NewLog takes the tree over. It continues a log from its tree and the note of its last checkpoint, or begins
// one with an empty tree and no note. The error reports that the keys do not fit or that
// the note is not the log's signature of exactly this tree.
func NewLog(origin string, ring Ring, private crypto.Signer, tree *Tree, noteText string) (*Log, error) {
	if private == nil || len(ring) == 0 {
		return nil, errors.New("a log needs an Ed25519 key and a statement key")
	}
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("a log needs an Ed25519 key and a statement key")
	}
	newest, err := translog.NewLogKey(origin, public)
	if err != nil {
		return nil, err
	}
	if ring.Last().Log.VKey() != newest.VKey() {
		return nil, errors.New("the log key is not the one that the log has changed to")
	}
	key := ring.NoteKey(tree.size)
	root, err := tree.Root(tree.size)
	if err != nil {
		return nil, err
	}
	head := Checkpoint{Origin: origin, Size: tree.size, Root: root}
	if noteText != "" || tree.size > 0 {
		last, err := translog.OpenCheckpoint(noteText, key)
		if err != nil {
			return nil, fmt.Errorf("last checkpoint: %w", err)
		}
		if *last != head {
			return nil, fmt.Errorf("the last checkpoint is %s, the entries make %s", last, head)
		}
	}
	view := View{Key: key, Head: head, Note: noteText, ring: ring, tree: *tree}
	return &Log{private: private, view: view}, nil
}

// View is the log as it was committed last.
func (l *Log) View() View {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.view
}

// Batch is what a number of entries adds to the log: to be stored, then committed.
type Batch struct {
	Leaves []NewLeaf
	Nodes  []Node
	// View is the log after the batch, with the one checkpoint that it makes.
	View View
	base Checkpoint
}

// NewLeaf is an entry's place: its index and the hash of its leaf.
type NewLeaf struct {
	Index int64
	Hash  tlog.Hash
}

// Node is a stored hash of the tree with its index by x/mod.
type Node struct {
	Index int64
	Hash  tlog.Hash
}

// Prepare computes what the entries add without changing the log; it is for one writer,
// and voids the batch that was prepared before and not committed. An entry that the
// statement key has not signed is an error: it would make every proof of it worthless.
func (l *Log) Prepare(entries ...Entry) (*Batch, error) {
	if len(entries) == 0 {
		return nil, errors.New("a batch of no entries")
	}
	l.mu.Lock()
	view := l.view
	batch := &Batch{base: view.Head}
	// Nodes are appended behind those that views hold, where a batch that was dropped
	// may have left its own: only the last one prepared has its nodes there.
	l.prepared = batch
	l.mu.Unlock()
	for i, e := range entries {
		index := view.tree.size
		key := view.ring.At(index).Statement
		if !key.Signed(e) {
			return nil, fmt.Errorf("entry %d of the batch is not signed by the statement key", i)
		}
		leaf := LeafHash(Leaf(e, key))
		fresh, err := view.tree.Append(leaf)
		if err != nil {
			return nil, err
		}
		batch.Leaves = append(batch.Leaves, NewLeaf{Index: index, Hash: leaf})
		first := tlog.StoredHashIndex(0, index)
		for k, h := range fresh {
			batch.Nodes = append(batch.Nodes, Node{Index: first + int64(k), Hash: h})
		}
	}
	root, err := view.tree.Root(view.tree.size)
	if err != nil {
		return nil, err
	}
	view.Head = Checkpoint{Origin: view.Key.Origin, Size: view.tree.size, Root: root}
	view.Key = view.ring.NoteKey(view.tree.size)
	if view.Note, err = translog.SignCheckpoint(view.Head, l.private); err != nil {
		return nil, err
	}
	batch.View = view
	return batch, nil
}

// Commit adopts the batch prepared last, once it is on disk. Another batch is an error:
// two heads of one size would fork the log.
func (l *Log) Commit(b *Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b != l.prepared || b.base != l.view.Head {
		return fmt.Errorf("the batch continues %s, the log is at %s or has prepared another", b.base,
			l.view.Head)
	}
	l.view, l.prepared = b.View, nil
	return nil
}

// Inclusion is the proof that the entry of this index is in the view.
func (v View) Inclusion(index int64) ([]tlog.Hash, error) {
	return v.tree.Inclusion(index, v.Head.Size)
}

// Root is the root of the first size entries.
func (v View) Root(size int64) (tlog.Hash, error) { return v.tree.Root(size) }

// InclusionAt is the proof that the entry of this index is in the tree of the first size entries.
func (v View) InclusionAt(index, size int64) ([]tlog.Hash, error) {
	return v.tree.Inclusion(index, size)
}

// ConsistencyAt is the proof that the tree of size leaves continues the one of old leaves. There is nothing
// to prove about an empty tree, an equal one, and one that is longer than the view.
func (v View) ConsistencyAt(old, size int64) ([]tlog.Hash, error) {
	if old == 0 || old >= size {
		return nil, nil
	}
	return v.tree.Consistency(old, size)
}

// Consistency is the proof that the view continues the log of old leaves.
func (v View) Consistency(old int64) ([]tlog.Hash, error) {
	return v.tree.Consistency(old, v.Head.Size)
}

// Tree is the stored hashes of a Merkle tree by RFC 6962 in the order of x/mod's
// tlog.StoredHashIndex: the hashes of complete subtrees, each written once and never
// changed. The zero value is the empty tree.
type Tree struct {
	nodes []tlog.Hash
	size  int64
}

// Size is the number of leaves.
func (t *Tree) Size() int64 { return t.size }

// ReadHashes is the tlog.HashReader of the tree.
func (t *Tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		if at < 0 || at >= int64(len(t.nodes)) {
			return nil, fmt.Errorf("the tree has no stored hash %d", at)
		}
		out[i] = t.nodes[at]
	}
	return out, nil
}

// Append adds a leaf hash and returns the hashes to store; the first has the index
// tlog.StoredHashIndex(0, its leaf).
func (t *Tree) Append(leaf tlog.Hash) ([]tlog.Hash, error) {
	fresh, err := tlog.StoredHashesForRecordHash(t.size, leaf, t)
	if err != nil {
		return nil, err
	}
	t.nodes = append(t.nodes, fresh...)
	t.size++
	return fresh, nil
}

// Root is the root of the first size leaves.
func (t *Tree) Root(size int64) (tlog.Hash, error) {
	if size < 0 || size > t.size {
		return tlog.Hash{}, fmt.Errorf("the tree has %d leaves, not %d", t.size, size)
	}
	return tlog.TreeHash(size, t)
}

// Inclusion is the proof that leaf index is in the tree of the first size leaves: the
// sibling hashes from the leaf up.
func (t *Tree) Inclusion(index, size int64) ([]tlog.Hash, error) {
	if index < 0 || index >= size || size > t.size {
		return nil, fmt.Errorf("leaf %d of %d is not in a tree of %d", index, size, t.size)
	}
	return tlog.ProveRecord(size, index, t)
}

// Consistency is the proof that the tree of the first old leaves is the beginning of
// the tree of the first size leaves; old is at least 1.
func (t *Tree) Consistency(old, size int64) ([]tlog.Hash, error) {
	if old < 1 || old > size || size > t.size {
		return nil, fmt.Errorf("no proof from %d to %d in a tree of %d", old, size, t.size)
	}
	return tlog.ProveTree(size, old, t)
}

// Entry is one statement of the log: a DSSE payload and the one signature over it.
type Entry struct {
	PayloadType string
	Payload     []byte
	Signature   []byte // ECDSA P-256 over SHA-256 of the PAE, ASN.1 DER
}

// EntryOf is the entry of an envelope that the plane has signed: exactly one signature,
// without a key id.
func EntryOf(env dsse.Envelope) (Entry, error) {
	if len(env.Signatures) != 1 || env.Signatures[0].KeyID != "" {
		return Entry{}, errors.New("an entry has one signature and no keyid")
	}
	payload, err := translog.Decode64(env.Payload)
	if err != nil {
		return Entry{}, fmt.Errorf("payload: %w", err)
	}
	sig, err := translog.Decode64(env.Signatures[0].Sig)
	if err != nil {
		return Entry{}, fmt.Errorf("sig: %w", err)
	}
	return Entry{PayloadType: env.PayloadType, Payload: payload, Signature: sig}, nil
}

// DSSE is the entry as an envelope.
func (e Entry) DSSE() dsse.Envelope {
	return dsse.Envelope{Payload: encode64(e.Payload), PayloadType: e.PayloadType,
		Signatures: []dsse.Signature{{Sig: encode64(e.Signature)}}}
}

// Digest is the SHA-256 of the entry's PAE.
func (e Entry) Digest() [sha256.Size]byte { return sha256.Sum256(dsse.PAE(e.PayloadType, e.Payload)) }

// Key is the public key of statements: P-256, with its SubjectPublicKeyInfo.
type Key struct {
	Public *ecdsa.PublicKey
	DER    []byte
}

// NewKey is a key with its DER form. The error reports that it is not on P-256.
func NewKey(public *ecdsa.PublicKey) (*Key, error) {
	if public == nil || public.Curve != elliptic.P256() {
		return nil, errors.New("the statement key is not a P-256 key")
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, err
	}
	return &Key{Public: public, DER: der}, nil
}

// ParseKey reads governance.pub: one PEM block with a P-256 key in its only DER form.
func ParseKey(text []byte) (*Key, error) {
	public, err := dsse.ParseP256(text)
	if err != nil {
		return nil, err
	}
	return NewKey(public)
}

// PEM is the key as governance.pub holds it.
func (k *Key) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.DER})
}

// ID is the SHA-256 of the DER form in lower-case hex.
func (k *Key) ID() string {
	sum := sha256.Sum256(k.DER)
	return hex.EncodeToString(sum[:])
}

// hint is the key's id as a Sigstore bundle writes it.
func (k *Key) hint() string {
	sum := sha256.Sum256(k.DER)
	return encode64(sum[:])
}

// Signed reports whether the key made the entry's signature.
func (k *Key) Signed(e Entry) bool {
	sum := e.Digest()
	return ecdsa.VerifyASN1(k.Public, sum[:], e.Signature)
}

// Leaf is the text of an entry's leaf, see [translog.Leaf].
func Leaf(e Entry, key *Key) []byte { return translog.Leaf(e.Digest(), e.Signature, key.DER) }

// LeafHash is the hash that stands for a leaf in the tree. leaf_sha256 and leaf_hash are this, not the
// plain SHA-256.
func LeafHash(leaf []byte) tlog.Hash { return translog.LeafHash(leaf) }

// Hex is a hash as seals and tables write it.
func Hex(h tlog.Hash) string { return translog.Hex(h) }

func encode64(b []byte) string { return translog.Encode64(b) }

// decodeExact reads one JSON document into v and demands that v is all of it: the text
// is read strictly, and its canonical form is what v marshals to, so that nothing is
// missing, added, null or written in another type.
func decodeExact(text []byte, v any) error {
	tree, refused := field.Parse(text)
	if refused != nil {
		return refused
	}
	canonical := digest.Tree(tree)
	if err := json.Unmarshal(canonical, v, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	again, err := digest.JCS(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, canonical) {
		return fmt.Errorf("the document is not of the form that is expected: %s",
			firstDifference(again, canonical))
	}
	return nil
}

// firstDifference shows where two texts part.
func firstDifference(want, got []byte) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	from := max(0, i-20)
	return fmt.Sprintf("at byte %d expected %q, found %q", i, cut(want[from:]), cut(got[from:]))
}

func cut(b []byte) string { return string(b[:min(len(b), 48)]) }
