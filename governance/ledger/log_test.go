package ledger

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"iter"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/host/base/translog"
)

func sequence(entries []Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func TestLogGrows(t *testing.T) {
	log, entries := newLog(t, 9)
	view := log.View()
	if view.Head.Size != 9 || view.Info().Size != 9 || view.Info().Root != "sha256:"+Hex(view.Head.Root) {
		t.Errorf("%+v", view.Head)
	}
	tree, err := recompute(sequence(entries), public(t))
	must(t, err)
	if root, _ := tree.Root(9); root != view.Head.Root {
		t.Error("the entries make another root")
	}
	again, err := NewLog(testOrigin, ringOf(t), checkpointKey("log key"), tree, view.Note)
	must(t, err)
	if again.View().Head != view.Head {
		t.Error("another head after a restart")
	}
	proof, err := view.Consistency(4)
	must(t, err)
	old, _ := tree.Root(4)
	must(t, translog.CheckConsistency(proof, Checkpoint{Origin: testOrigin, Size: 4, Root: old}, view.Head))
}

// TestBatch: several entries make one checkpoint, and nodes under their own indexes.
func TestBatch(t *testing.T) {
	log, entries := newLog(t, 5)
	before := log.View()
	more := []Entry{entry(t, 5), entry(t, 6), entry(t, 7)}
	batch, err := log.Prepare(more...)
	must(t, err)
	if log.View().Head != before.Head {
		t.Error("the log has moved before the commit")
	}
	stored := map[int64]tlog.Hash{}
	for _, n := range batch.Nodes {
		stored[n.Index] = n.Hash
	}
	for i, leaf := range batch.Leaves {
		if leaf.Index != int64(5+i) || stored[tlog.StoredHashIndex(0, leaf.Index)] != leaf.Hash {
			t.Errorf("leaf %d: %+v", i, leaf)
		}
	}
	if batch.Nodes[0].Index != tlog.StoredHashCount(5) ||
		int64(len(batch.Nodes)) != tlog.StoredHashCount(8)-tlog.StoredHashCount(5) {
		t.Errorf("%d nodes from %d", len(batch.Nodes), batch.Nodes[0].Index)
	}
	must(t, log.Commit(batch))
	tree, err := recompute(sequence(append(entries, more...)), public(t))
	must(t, err)
	if root, _ := tree.Root(8); root != log.View().Head.Root {
		t.Error("the batch makes another root than its entries")
	}
	// What was taken before still proves in the tree of then.
	path, err := before.Inclusion(2)
	must(t, err)
	must(t, translog.CheckInclusion(path, before.Head, 2, LeafHash(Leaf(entries[2], public(t)))))
}

// TestTheLogDoesNotFork: of the batches that were prepared only the last can be
// committed, once.
func TestTheLogDoesNotFork(t *testing.T) {
	log, _ := newLog(t, 3)
	dropped, err := log.Prepare(entry(t, 10))
	must(t, err)
	batch, err := log.Prepare(entry(t, 11))
	must(t, err)
	if log.Commit(dropped) == nil {
		t.Error("a batch was committed that another replaced")
	}
	must(t, log.Commit(batch))
	if log.Commit(batch) == nil {
		t.Error("a batch was committed twice")
	}
	tree, err := recompute(sequence([]Entry{entry(t, 0), entry(t, 1), entry(t, 2), entry(t, 11)}), public(t))
	must(t, err)
	if root, _ := tree.Root(4); root != log.View().Head.Root {
		t.Error("the dropped batch is in the tree")
	}
}

func TestPrepareRefuses(t *testing.T) {
	log, _ := newLog(t, 1)
	if _, err := log.Prepare(); err == nil {
		t.Error("nothing was prepared")
	}
	bad := entry(t, 2)
	bad.Payload = []byte("{}")
	if _, err := log.Prepare(entry(t, 1), bad); err == nil {
		t.Error("an entry was prepared that the key has not signed")
	}
}

func TestNewLogRefuses(t *testing.T) {
	log, entries := newLog(t, 3)
	note := log.View().Note
	short, err := recompute(sequence(entries[:2]), public(t))
	must(t, err)
	whole, err := recompute(sequence(entries), public(t))
	must(t, err)
	forged, err := translog.SignCheckpoint(log.View().Head, checkpointKey("other key"))
	must(t, err)
	for what, open := range map[string]func() (*Log, error){
		"an entry lost": func() (*Log, error) {
			return NewLog(testOrigin, ringOf(t), checkpointKey("log key"), short, note)
		},
		"no checkpoint": func() (*Log, error) {
			return NewLog(testOrigin, ringOf(t), checkpointKey("log key"), whole, "")
		},
		"entries lost": func() (*Log, error) {
			return NewLog(testOrigin, ringOf(t), checkpointKey("log key"), &Tree{}, note)
		},
		"another origin": func() (*Log, error) {
			return NewLog("other", ringOf(t), checkpointKey("log key"), whole, note)
		},
		"another key": func() (*Log, error) {
			return NewLog(testOrigin, ringOf(t), checkpointKey("other key"), whole, note)
		},
		"a forged note": func() (*Log, error) {
			return NewLog(testOrigin, ringOf(t), checkpointKey("log key"), whole, forged)
		},
		"no key": func() (*Log, error) { return NewLog(testOrigin, ringOf(t), nil, &Tree{}, "") },
		"no statementkey": func() (*Log, error) {
			return NewLog(testOrigin, nil, checkpointKey("log key"), &Tree{}, "")
		},
		"no name": func() (*Log, error) {
			return NewLog("", ringOf(t), checkpointKey("log key"), &Tree{}, "")
		},
	} {
		if _, err := open(); err == nil {
			t.Errorf("%s: the log opens", what)
		}
	}
}

func TestRecomputeStops(t *testing.T) {
	broken := func(yield func(Entry, error) bool) { yield(Entry{}, errors.New("disk")) }
	if _, err := recompute(broken, public(t)); err == nil {
		t.Error("a tree of entries that cannot be read")
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	key, err := NewKey(&other.PublicKey)
	must(t, err)
	_, entries := newLog(t, 2)
	a, _ := recompute(sequence(entries), key)
	b, _ := recompute(sequence(entries), public(t))
	rootA, _ := a.Root(2)
	if rootB, _ := b.Root(2); rootA == rootB {
		t.Error("the key is not in the leaf")
	}
}

// TestReadersAndWriter run under the race detector.
func TestReadersAndWriter(t *testing.T) {
	log, entries := newLog(t, 1)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				view := log.View()
				if _, err := view.Seal(0, entries[0]); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 50 {
		if i%3 == 0 {
			_, err := log.Prepare(entry(t, 1000+i), entry(t, 2000+i)) // dropped
			must(t, err)
		}
		batch, err := log.Prepare(entry(t, i+1))
		must(t, err)
		must(t, log.Commit(batch))
	}
	close(stop)
	readers.Wait()
}

func BenchmarkPrepare(b *testing.B) {
	log, _ := newLog(b, 1)
	e := entry(b, 1)
	for b.Loop() {
		batch, err := log.Prepare(e)
		must(b, err)
		must(b, log.Commit(batch))
	}
}

// recompute makes the tree again from nothing but the entries: their stored leaf hashes
// and nodes are not asked.
func recompute(entries iter.Seq2[Entry, error], statement *Key) (*Tree, error) {
	tree := &Tree{}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if _, err := tree.Append(LeafHash(Leaf(e, statement))); err != nil {
			return nil, err
		}
	}
	return tree, nil
}
