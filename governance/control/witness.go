package control

import (
	"context"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/governance/witness"
)

const (
	// cosignTime bounds how long one question to all witnesses takes. An answer may wait for two, the one
	// under way and its own, and a host waits four seconds for the answer.
	cosignTime = 1500 * time.Millisecond
	// cosignEvery is how often witnesses are asked again that have not cosigned.
	cosignEvery = 30 * time.Second
)

// OpenWitnesses are the witnesses of a store's log, whose cosignatures its folder keeps. need is how many of
// them are waited for, 0 for all. The error is a *witness.ConfigError where they or their cosignatures do
// not fit the log.
func OpenWitnesses(s *store.Store, dir string, at []witness.At, need int) (w *witness.Witnesses, err error) {
	err = s.Look(func(_ *promotion.World, log ledger.View) (err error) {
		w, err = witness.NewWitnesses(dir, s.LogKey(), at, need, treeOf(log))
		return err
	})
	return w, err
}

// treeOf is a view of the log as witnesses are asked with it.
func treeOf(log ledger.View) witness.Tree {
	return witness.Tree{Head: log.Head, Note: log.Note, Root: log.Root,
		Consistency: func(old int64) ([]tlog.Hash, error) { return log.ConsistencyAt(old, log.Head.Size) }}
}

// AskWitnesses asks witnesses for the newest checkpoint of a store, whose size it returns.
func AskWitnesses(ctx context.Context, s *store.Store, list *witness.Witnesses) (size int64, err error) {
	var tree witness.Tree
	if err := s.Look(func(_ *promotion.World, log ledger.View) error {
		tree = treeOf(log)
		return nil
	}); err != nil {
		return 0, err
	}
	return tree.Head.Size, list.Ask(ctx, tree)
}

// cosign asks the witnesses for the newest checkpoint. Those that do not answer are asked again later.
func (p *Plane) cosign(ctx context.Context) {
	if p.opts.Witnesses == nil {
		return
	}
	log, err := look(p, func(_ *promotion.World, log ledger.View) ledger.View { return log })
	if err != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, cosignTime)
	defer cancel()
	if err := p.opts.Witnesses.Ask(limited, treeOf(log)); err != nil && ctx.Err() == nil {
		p.opts.Logger.Warn("the newest checkpoint is not cosigned by all witnesses",
			"log_size", log.Head.Size, "error", err)
	}
}

// recordWitnesses logs the first cosignature of each witness over a seal: from then on its days count.
func (p *Plane) recordWitnesses(ctx context.Context) error {
	if standing, shared := p.store.Standing(ctx); shared && !standing.Writer {
		return nil // the writer does
	}
	given := p.opts.Witnesses.Given()
	fresh, err := look(p, func(w *promotion.World, _ ledger.View) bool {
		return len(promotion.ListUnseen(w, given, "")) > 0
	})
	if err != nil || !fresh {
		return err
	}
	_, err = p.store.Update(ctx, func(t *store.Tx) error {
		for _, e := range promotion.ListUnseen(t.World(), given, t.Stamp()) {
			if _, err := t.Append(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		p.wake()
	}
	return err
}

// wake has the witnesses asked soon, without waiting for them.
func (p *Plane) wake() {
	select {
	case p.grown <- struct{}{}:
	default:
	}
}

// followGrowth asks the witnesses after each write, until ctx ends.
func (p *Plane) followGrowth(ctx context.Context) {
	again := time.NewTicker(cosignEvery)
	defer again.Stop()
	for {
		p.cosign(ctx)
		if err := p.recordWitnesses(ctx); err != nil && ctx.Err() == nil {
			p.opts.Logger.Error("the cosignatures of a seal are not in the log", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.grown:
		case <-again.C:
		}
	}
}

// headFor is the checkpoint to be given out to whoever needs one of at least so many entries: the newest
// that enough witnesses have cosigned, else the newest.
func (p *Plane) headFor(ctx context.Context, log ledger.View, least int64) (size int64, note string) {
	w := p.opts.Witnesses
	if w == nil {
		return log.Head.Size, log.Note
	}
	if c := w.Newest(); c != nil && c.Size >= least && c.Size < log.Head.Size {
		if note, err := p.store.Note(ctx, c.Size); err == nil {
			return c.Size, w.Note(*c, note)
		}
	}
	return log.Head.Size, w.Note(log.Head, log.Note)
}
