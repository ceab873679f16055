package ledger

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Tree is the stored hashes of a Merkle tree by RFC 6962 in the order of x/mod's
// tlog.StoredHashIndex: the hashes of complete subtrees, each written once and never
// changed. The zero value is the empty tree.
type Tree struct {
	nodes []tlog.Hash
	size  int64
}

// NewTree takes stored hashes over: those of size leaves, in order of their index.
func NewTree(size int64, nodes []tlog.Hash) (*Tree, error) {
	if size < 0 || int64(len(nodes)) != tlog.StoredHashCount(size) {
		return nil, fmt.Errorf("a tree of %d leaves has %d stored hashes, not %d", size, tlog.StoredHashCount(max(size, 0)), len(nodes))
	}
	return &Tree{nodes: nodes, size: size}, nil
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

// CheckInclusion says whether the proof leads from a leaf hash to a checkpoint's root.
func CheckInclusion(proof []tlog.Hash, head Checkpoint, index int64, leaf tlog.Hash) error {
	if index < 0 || index >= head.Size {
		return fmt.Errorf("index %d is outside of a tree of %d", index, head.Size)
	}
	return tlog.CheckRecord(proof, head.Size, head.Root, index, leaf)
}

// CheckConsistency says whether the proof shows that head continues old.
func CheckConsistency(proof []tlog.Hash, old, head Checkpoint) error {
	if old.Origin != head.Origin {
		return fmt.Errorf("%s and %s are two logs", old.Origin, head.Origin)
	}
	if old.Size < 1 || old.Size > head.Size {
		return fmt.Errorf("a tree of %d does not continue one of %d", head.Size, old.Size)
	}
	return tlog.CheckTree(proof, head.Size, head.Root, old.Size, old.Root)
}
