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
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/mod/sumdb/tlog"
)

// Log is the log of a running plane in memory: tree, head and the keys that sign. One
// writer prepares and commits; any number of readers take views.
type Log struct {
	statement *Key
	private   ed25519.PrivateKey

	mu       sync.RWMutex
	view     View
	prepared *Batch // the batch that may be committed
}

// View is the log at one size: it does not change when the log grows.
type View struct {
	Key  LogKey
	Head Checkpoint
	// Note is the signed checkpoint of Head, "" while the log is empty.
	Note string

	statement *Key
	tree      Tree
}

// NewLog takes the tree over. It continues a log from its tree and the note of its last checkpoint, or begins
// one with an empty tree and no note. The error reports that the keys do not fit or that
// the note is not the log's signature of exactly this tree.
func NewLog(origin string, statement *Key, private ed25519.PrivateKey, tree *Tree, noteText string) (*Log, error) {
	if len(private) != ed25519.PrivateKeySize || statement == nil {
		return nil, errors.New("a log needs an Ed25519 key and a statement key")
	}
	key, err := NewLogKey(origin, private.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	root, err := tree.Root(tree.size)
	if err != nil {
		return nil, err
	}
	head := Checkpoint{Origin: origin, Size: tree.size, Root: root}
	if noteText != "" || tree.size > 0 {
		last, err := OpenCheckpoint(noteText, key)
		if err != nil {
			return nil, fmt.Errorf("last checkpoint: %w", err)
		}
		if *last != head {
			return nil, fmt.Errorf("the last checkpoint is %s, the entries make %s", last, head)
		}
	}
	view := View{Key: key, Head: head, Note: noteText, statement: statement, tree: *tree}
	return &Log{statement: statement, private: private, view: view}, nil
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
		if !l.statement.Signed(e) {
			return nil, fmt.Errorf("entry %d of the batch is not signed by the statement key", i)
		}
		index := view.tree.size
		leaf := LeafHash(Leaf(e, l.statement))
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
	if view.Note, err = SignCheckpoint(view.Head, l.private); err != nil {
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
		return fmt.Errorf("the batch continues %s, the log is at %s or has prepared another", b.base, l.view.Head)
	}
	l.view, l.prepared = b.View, nil
	return nil
}

// Inclusion is the proof that the entry of this index is in the view.
func (v View) Inclusion(index int64) ([]tlog.Hash, error) {
	return v.tree.Inclusion(index, v.Head.Size)
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

// CheckInclusion reports whether the proof leads from a leaf hash to a checkpoint's root.
func CheckInclusion(proof []tlog.Hash, head Checkpoint, index int64, leaf tlog.Hash) error {
	if index < 0 || index >= head.Size {
		return fmt.Errorf("index %d is outside of a tree of %d", index, head.Size)
	}
	return tlog.CheckRecord(proof, head.Size, head.Root, index, leaf)
}

// CheckConsistency reports whether the proof shows that head continues old.
func CheckConsistency(proof []tlog.Hash, old, head Checkpoint) error {
	if old.Origin != head.Origin {
		return fmt.Errorf("%s and %s are two logs", old.Origin, head.Origin)
	}
	if old.Size < 1 || old.Size > head.Size {
		return fmt.Errorf("a tree of %d does not continue one of %d", head.Size, old.Size)
	}
	return tlog.CheckTree(proof, head.Size, head.Root, old.Size, old.Root)
}
