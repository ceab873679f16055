package verify

import (
	"fmt"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/host/base/translog"
)

// grown is a checkpoint with the proof that it continues an older one: the answer to /log/consistency.
type grown struct {
	name string
	*translog.Extension
}

func readGrown(f File) (*grown, error) {
	e, err := translog.ParseExtension(string(f.Data))
	return &grown{f.Name, e}, err
}

// continues reports why a log is not the continuation of a checkpoint that was kept earlier.
func continues(tree *ledger.Tree, f File, keys ...translog.LogKey) error {
	old, err := translog.OpenCheckpoint(string(f.Data), keys...)
	if err != nil {
		return mismatch("", "a checkpoint signed by "+keys[len(keys)-1].VKey(), err.Error())
	}
	if old.Size > tree.Size() {
		return mismatch("size", fmt.Sprintf("at least %d", old.Size), fmt.Sprint(tree.Size()))
	}
	root, err := tree.Root(old.Size)
	if err != nil {
		return err
	}
	return same(fmt.Sprintf("root of size %d", old.Size), ledger.Hex(old.Root), ledger.Hex(root))
}

// checkSince reports whether the log of the seals continues each checkpoint that was kept earlier, and is
// cosigned. A proof leads from the kept size to a later checkpoint; the checkpoint of a seal must be one of
// the two.
func (v *verifier) checkSince() {
	for _, f := range v.opts.Since {
		v.step("the log continues "+f.Name, v.continues(f))
	}
	if v.opts.Witnesses.Need == 0 {
		return
	}
	checked := false
	for _, s := range v.seals {
		if s.head != nil {
			v.step("witnesses of "+s.name, v.witnessed(s.sigstore.Note()))
			checked = true
		}
	}
	for _, g := range v.grown {
		v.step("witnesses of "+g.name, v.witnessed(g.Note))
		checked = true
	}
	if !checked {
		v.step("witnesses", mismatch("", "a checkpoint that a trusted log has signed", "none"))
	}
}

func (v *verifier) witnessed(note string) error {
	_, log, err := ledger.OpenTrusted(note, v.logs)
	if err == nil {
		err = v.opts.Witnesses.Check(note, log.LogKey)
	}
	if err != nil {
		return mismatch("", fmt.Sprintf("%d of %d cosignatures", v.opts.Witnesses.Need,
			len(v.opts.Witnesses.Keys)), err.Error())
	}
	return nil
}

func (v *verifier) continues(f File) error {
	old, _, err := ledger.OpenTrusted(string(f.Data), v.logs)
	if err != nil {
		return err
	}
	var heads []*translog.Checkpoint
	for _, g := range v.grown {
		head, _, err := ledger.OpenTrusted(g.Note, v.logs)
		if err != nil {
			return err
		}
		if g.Old != old.Size {
			continue
		}
		if err := translog.Continues(g.Hashes, *old, *head); err != nil {
			return mismatch("", "a continuation of "+old.String(), err.Error())
		}
		heads = append(heads, head)
	}
	if len(heads) == 0 {
		return mismatch("", fmt.Sprintf("the answer to /log/consistency?from=%d among the files", old.Size),
			"none")
	}
	for _, s := range v.seals {
		if s.head == nil {
			continue
		}
		if err := sealBetween(s.head, old, heads[0]); err != nil {
			return err
		}
	}
	return nil
}

// sealBetween reports why a seal's checkpoint is neither of the two that the proof is about.
func sealBetween(seal, old, head *translog.Checkpoint) error {
	switch {
	case *seal == *old || *seal == *head:
		return nil
	case seal.Size == old.Size || seal.Size == head.Size:
		return mismatch("checkpoint of the seal", head.String(), seal.String())
	}
	return mismatch("checkpoint of the seal", fmt.Sprintf("size %d or %d (see /facts/SEQ for a newer seal)",
		old.Size, head.Size), fmt.Sprintf("size %d", seal.Size))
}
