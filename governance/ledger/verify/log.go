package verify

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/translog"
)

// LogOptions are the trusted values of the verification of a whole log.
type LogOptions struct {
	// Statement and Log are the keys that the log was begun with; it may have changed them since.
	Statement *ledger.Key
	Log       ledger.LogKey
	// Projections reports what differs between what follows from the log and what was kept of
	// it; nil to leave that unchecked.
	Projections func() (different []string, err error)
	// Since are checkpoints that were kept earlier, each of which the log must continue.
	Since []File
}

// maxReported is how many failures of one kind get a line of their own.
const maxReported = 10

// Log checks a log from its beginning: every statement is signed by the statement key,
// the first one starts this log with these keys, and every checkpoint is signed by the
// log key and has the root that the entries before it make. Checkpoints come in the
// order in which they were made; each must continue the one before, which is also shown
// by a consistency proof, and the last must cover all entries. Leaves and tree are made
// again from the entries alone.
func Log(entries iter.Seq2[ledger.Entry, error], notes iter.Seq2[string, error], opts LogOptions) *Report {
	r := &Report{}
	tree, ring := r.logEntries(entries, opts)
	r.logCheckpoints(tree, notes, ring)
	for _, f := range opts.Since {
		r.step("the log continues "+f.Name, continues(tree, f, ring.Logs()...))
	}
	if opts.Projections == nil {
		r.skip("that facts, states and decisions are those that the log makes")
	} else {
		different, err := opts.Projections()
		if err == nil && len(different) > 0 {
			err = mismatch("", "no difference", strings.Join(different, "; "))
		}
		r.step("facts, states and decisions are those that the log makes", err)
	}
	r.skip("that others see the same log")
	r.skip("that the runs are true: the log says what was accepted, not that it is right")
	return r
}

// logEntries checks the statements, makes the tree, and follows the changes of keys.
func (r *Report) logEntries(
	entries iter.Seq2[ledger.Entry, error], opts LogOptions,
) (*ledger.Tree, ledger.Ring) {
	tree, bad := &ledger.Tree{}, 0
	follow := follower{Report: r, ring: ledger.Ring{{Statement: opts.Statement, Log: opts.Log}}}
	for e, err := range entries {
		at := tree.Size()
		if err != nil {
			r.step(fmt.Sprintf("read entry %d", at), err)
			return tree, follow.ring
		}
		if at == 0 {
			r.step("log start", checkStart(e, opts))
		}
		key := follow.ring.At(at).Statement
		if !key.Signed(e) {
			if bad++; bad <= maxReported {
				r.step(fmt.Sprintf("signature of entry %d", at),
					mismatch("", "one of key "+key.ID(), "none that verifies"))
			}
		} else if err := follow.entry(at, e); err != nil {
			r.step(fmt.Sprintf("entry %d", at), err)
		}
		if _, err := tree.Append(ledger.LeafHash(ledger.Leaf(e, key))); err != nil {
			r.step(fmt.Sprintf("leaf of entry %d", at), err)
			return tree, follow.ring
		}
	}
	var err error
	if n := tree.Size(); n == 0 {
		err = mismatch("", "at least the start of the log", "no entry")
	} else if bad > 0 {
		err = mismatch("", fmt.Sprintf("%d that verify", n), fmt.Sprintf("%d that do not", bad))
	}
	r.step(fmt.Sprintf("signatures of %s", plural(int(tree.Size()), "statement")), err)
	follow.end()
	return tree, follow.ring
}

// checkStart reports whether the first entry starts this log with these keys.
func checkStart(e ledger.Entry, opts LogOptions) error {
	st, err := parse(e.Payload)
	if err != nil {
		return err
	}
	predicate := st.object("predicate")
	keys := predicate.object("public_keys")
	return cmp.Or(
		same("payloadType", bundle.PayloadInToto, e.PayloadType),
		same("predicateType", bundle.TypeLogStart, dsse.PermanentType(st.text("predicateType"))),
		same("origin", opts.Log.Origin, predicate.text("origin")),
		same("statement key", string(opts.Statement.PEM()), keys.text("statement")),
		same("log key", opts.Log.VKey(), keys.text("log")))
}

// logCheckpoints checks the notes against the tree.
func (r *Report) logCheckpoints(tree *ledger.Tree, notes iter.Seq2[string, error], ring ledger.Ring) {
	var last *ledger.Checkpoint
	count, bad := 0, 0
	for note, err := range notes {
		var head *ledger.Checkpoint
		if err == nil {
			head, err = checkNote(tree, note, last, ring)
		}
		if err != nil {
			if bad++; bad <= maxReported {
				r.step(fmt.Sprintf("checkpoint %d", count), err)
			}
		}
		if head != nil {
			last = head
		}
		count++
	}
	var err error
	if count == 0 || bad > 0 {
		err = mismatch("", "checkpoints that are signed and consistent",
			fmt.Sprintf("%d of %d that are not", bad, count))
	}
	r.step(fmt.Sprintf("%s signed and consistent", plural(count, "checkpoint")), err)
	found := "none"
	if last != nil {
		found = fmt.Sprintf("size %d", last.Size)
	}
	r.step("the last checkpoint covers the log", same("", fmt.Sprintf("size %d", tree.Size()), found))
}

// checkNote opens one checkpoint and compares it with the tree and with the one before.
// The checkpoint is nil unless all of it holds.
func checkNote(tree *ledger.Tree, note string, last *ledger.Checkpoint,
	ring ledger.Ring) (*ledger.Checkpoint, error) {
	claimed, err := translog.PeekCheckpoint(note)
	if err != nil {
		return nil, mismatch("", "a checkpoint", err.Error())
	}
	key := ring.NoteKey(claimed.Size)
	head, err := translog.OpenCheckpoint(note, key)
	if err != nil {
		return nil, mismatch("", "a checkpoint signed by "+key.VKey(), err.Error())
	}
	if head.Size > tree.Size() {
		return nil, mismatch("size", fmt.Sprintf("at most %d", tree.Size()), fmt.Sprint(head.Size))
	}
	root, err := tree.Root(head.Size)
	if err != nil {
		return nil, err
	}
	if err := same(fmt.Sprintf("root of size %d", head.Size), ledger.Hex(root),
		ledger.Hex(head.Root)); err != nil {
		return nil, err
	}
	if last == nil || last.Size == 0 {
		return head, nil
	}
	if head.Size <= last.Size {
		return nil, mismatch("size", fmt.Sprintf("more than %d", last.Size), fmt.Sprint(head.Size))
	}
	proof, err := tree.Consistency(last.Size, head.Size)
	if err != nil {
		return nil, err
	}
	return head, translog.CheckConsistency(proof, *last, *head)
}
