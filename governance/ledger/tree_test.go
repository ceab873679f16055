package ledger

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/translog"
)

// merkle is the Merkle tree hash as RFC 6962 section 2.1 writes it.
func merkle(leaves []tlog.Hash) tlog.Hash {
	switch n := len(leaves); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaves[0]
	default:
		k := 1
		for k*2 < n {
			k *= 2
		}
		left, right := merkle(leaves[:k]), merkle(leaves[k:])
		return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
	}
}

func leavesOf(n int) []tlog.Hash {
	out := make([]tlog.Hash, n)
	for i := range out {
		out[i] = LeafHash(fmt.Appendf(nil, "leaf %d", i))
	}
	return out
}

func treeOf(t interface{ Fatal(...any) }, leaves []tlog.Hash) *Tree {
	tree := &Tree{}
	for _, leaf := range leaves {
		if _, err := tree.Append(leaf); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves := leavesOf(rapid.IntRange(1, 70).Draw(t, "leaves"))
		tree := treeOf(t, leaves)
		size := int64(rapid.IntRange(1, len(leaves)).Draw(t, "size"))
		root, err := tree.Root(size)
		if err != nil || root != merkle(leaves[:size]) {
			t.Fatalf("root of %d: %v, %v", size, root, err)
		}
		head := Checkpoint{Origin: testOrigin, Size: size, Root: root}
		at := rapid.Int64Range(0, size-1).Draw(t, "index")
		path, err := tree.Inclusion(at, size)
		if err != nil || translog.CheckInclusion(path, head, at, leaves[at]) != nil {
			t.Fatalf("inclusion of %d in %d: %v", at, size, err)
		}
		other := rapid.Int64Range(-1, size+1).Draw(t, "other")
		if other != at && translog.CheckInclusion(path, head, other, leaves[at]) == nil {
			t.Fatalf("the proof of %d also proves %d", at, other)
		}
		if len(path) > 0 {
			path[rapid.IntRange(0, len(path)-1).Draw(t, "hash")][0] ^= 1
			if translog.CheckInclusion(path, head, at, leaves[at]) == nil {
				t.Fatal("a spoilt proof proves")
			}
		}
		old := rapid.Int64Range(1, size).Draw(t, "old")
		before, _ := tree.Root(old)
		proof, err := tree.Consistency(old, size)
		if err != nil || translog.CheckConsistency(proof, Checkpoint{Origin: testOrigin, Size: old, Root: before}, head) != nil {
			t.Fatalf("consistency from %d to %d: %v", old, size, err)
		}
		before[0] ^= 1
		if translog.CheckConsistency(proof, Checkpoint{Origin: testOrigin, Size: old, Root: before}, head) == nil {
			t.Fatal("another beginning is consistent")
		}
	})
}

func TestEmptyTree(t *testing.T) {
	tree := &Tree{}
	if root, err := tree.Root(0); err != nil || root != merkle(nil) {
		t.Errorf("%v, %v", root, err)
	}
	if _, err := tree.Root(1); err == nil {
		t.Error("a root of more leaves than there are")
	}
	if _, err := tree.Inclusion(0, 0); err == nil {
		t.Error("a proof in an empty tree")
	}
	if _, err := tree.Consistency(0, 0); err == nil {
		t.Error("a proof from an empty tree")
	}
	if translog.CheckConsistency(nil, Checkpoint{Origin: "a"}, Checkpoint{Origin: "b"}) == nil {
		t.Error("two logs are consistent")
	}
}

func TestNewTree(t *testing.T) {
	tree := treeOf(t, leavesOf(5))
	again, err := newTree(5, tree.nodes)
	must(t, err)
	a, _ := again.Root(5)
	if b, _ := tree.Root(5); a != b {
		t.Error("another root")
	}
	for _, size := range []int64{-1, 4, 6} {
		if _, err := newTree(size, tree.nodes); err == nil {
			t.Errorf("the nodes of 5 leaves are those of %d", size)
		}
	}
	if _, err := tree.ReadHashes([]int64{-1}); err == nil {
		t.Error("there is a hash -1")
	}
}

// newTree takes stored hashes over: those of size leaves, in order of their index.
func newTree(size int64, nodes []tlog.Hash) (*Tree, error) {
	if size < 0 || int64(len(nodes)) != tlog.StoredHashCount(size) {
		return nil, fmt.Errorf("a tree of %d leaves has %d stored hashes, not %d", size,
			tlog.StoredHashCount(max(size, 0)), len(nodes))
	}
	return &Tree{nodes: nodes, size: size}, nil
}
