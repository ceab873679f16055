package control

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/translog"
)

// issued is a registry that was signed and logged.
type issued struct {
	registry *promotion.Registry
	entry    ledger.Entry // of the log, at the place registry.Version-1
	seq      int64        // the newest entry that it takes into account
	at       time.Time

	mu   sync.Mutex
	body []byte // the last answer, and the checkpoint and older size that it was made for
	note string
	from int64
}

// fresh reports whether a registry may be given out again.
func (i *issued) fresh(seq int64, now time.Time) bool {
	age := now.Sub(i.at)
	return i.seq == seq && age >= 0 && age < promotion.RegistryReissue
}

// getRegistry answers with the registry of a family and the proof that the log has it. The one that was
// signed last is given again until the log has come to something else or it is an hour old; its proof is of
// the newest checkpoint that enough is known of.
func (p *Plane) getRegistry(r *request) (*edge.Answer, error) {
	if err := p.damaged(); err != nil {
		return nil, err
	}
	from, err := sizeQuery(r, "from")
	if err != nil {
		return nil, err
	}
	family, now := r.Params[0], p.opts.Now().UTC().Truncate(time.Second)
	one, err := p.issuedRegistry(r.Context(), family, now)
	if err != nil {
		return nil, err
	}
	// Another request may have been answered with a newer one meanwhile.
	body, err := p.proven(r.Context(), p.newest(family, one), from)
	return tagged(body, ""), err
}

// newest keeps a registry unless another request has come first with one of a longer log: that one is given
// then, since who has seen it takes an older one for a rollback. It holds no lock of the store, which is
// taken before this one.
func (p *Plane) newest(family string, one *issued) *issued {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.registries[family]; old != nil && old.registry.Version >= one.registry.Version {
		return old
	}
	p.registries[family] = one
	return one
}

// sizeQuery is a size of the log in the query of a request, 0 if there is none.
func sizeQuery(r *request, name string) (int64, error) {
	q := r.URL.Query()
	if !q.Has(name) {
		return 0, nil
	}
	n, err := translog.ParseSize(q.Get(name))
	if err != nil {
		return 0, field.Refuse(field.InvalidField, "",
			"%s: write a number of entries of the log, from 0, without sign and leading zeroes", name)
	}
	return n, nil
}

// issuedRegistry is the registry that was signed last, or a new one.
func (p *Plane) issuedRegistry(ctx context.Context, family string, now time.Time) (*issued, error) {
	one, fresh, err := p.keptOrIssued(ctx, family, now)
	if fresh {
		p.opts.At.Reach("registry.signed")
		p.cosign(ctx)
	}
	return one, err
}

// keptOrIssued reports whether the registry was issued just now. One request at a time issues: of several
// that come at once the others get what the first has issued.
func (p *Plane) keptOrIssued(ctx context.Context, family string, now time.Time) (*issued, bool, error) {
	seq, err := look(p, func(w *promotion.World, _ ledger.View) int64 { return w.Seq() })
	if err != nil {
		return nil, false, err
	}
	kept := p.kept(family, seq, now)
	if kept != nil {
		return kept, false, nil
	}
	p.issuing.Lock()
	defer p.issuing.Unlock()
	err = p.store.Look(func(w *promotion.World, _ ledger.View) error {
		if kept = p.kept(family, w.Seq(), now); kept != nil {
			return nil
		}
		if _, refused := w.Registry(family, now); refused != nil {
			return refused
		}
		return nil
	})
	if err != nil || kept != nil {
		return kept, false, err
	}
	one := &issued{at: now}
	out, err := p.store.Update(ctx, func(tx *store.Tx) error { return p.issue(tx, family, one) })
	if err != nil {
		return nil, false, err
	}
	one.entry = out.Entries[one.registry.Version-1-out.First]
	return p.newest(family, one), true, nil
}

// issue signs a registry and logs it, behind what the machine still has to decide.
func (p *Plane) issue(tx *store.Tx, family string, one *issued) error {
	if err := tx.Settle(); err != nil {
		return err
	}
	reg, refused := tx.World().Registry(family, one.at)
	if refused != nil {
		return refused
	}
	reg.Version = tx.Next() + 1
	reg.NameLog(p.store.LogKey())
	entry, err := reg.Issued(tx.Stamp())
	if err != nil {
		return err
	}
	if _, err := tx.Append(entry); err != nil {
		return err
	}
	payload, err := reg.Payload()
	if err != nil {
		return err
	}
	env, err := dsse.Sign(bundle.PayloadRegistry, payload, p.store.Keys().Statement)
	if err != nil {
		return err
	}
	reg.Attestation = &env
	one.registry, one.seq = reg, tx.World().Seq()
	return nil
}

func (p *Plane) kept(family string, seq int64, now time.Time) *issued {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.registries[family]; old != nil && old.fresh(seq, now) {
		return old
	}
	return nil
}

// proven is the answer with a registry for a host that has seen the log up to a size.
func (p *Plane) proven(ctx context.Context, one *issued, from int64) (body []byte, err error) {
	err = p.store.Look(func(_ *promotion.World, log ledger.View) error {
		index := one.registry.Version - 1
		at, note := p.headFor(ctx, log, max(index+1, from))
		one.mu.Lock()
		defer one.mu.Unlock()
		if one.body != nil && one.note == note && one.from == from {
			body = one.body
			return nil
		}
		path, err := log.InclusionAt(index, at)
		if err != nil {
			return err
		}
		hashes, err := log.ConsistencyAt(from, at)
		if err != nil {
			return err
		}
		reg := one.registry.WithProof(one.entry.DSSE(),
			translog.Proof{Index: index, Hashes: path, Note: note},
			translog.Extension{Old: from, Hashes: hashes})
		if err := p.addRotations(ctx, reg, log, at); err != nil {
			return err
		}
		if body, err = edge.Encode(reg); err == nil {
			one.body, one.note, one.from = body, note, from
		}
		return err
	})
	return body, err
}

// addRotations adds the changes of the log's keys for a host that pinned earlier ones: each with the last
// checkpoint that the old key has signed, under the cosignatures that it has, and with its path to the
// checkpoint of a size.
func (p *Plane) addRotations(
	ctx context.Context, reg *promotion.Registry, log ledger.View, at int64,
) error {
	seqs, entries, err := p.store.Rotations(ctx)
	if err != nil {
		return err
	}
	for i, seq := range seqs {
		note, err := lastNote(ctx, p, log, seq+1)
		if err != nil {
			return err
		}
		path, err := log.InclusionAt(seq, seq+1)
		if err != nil {
			return err
		}
		later, err := log.InclusionAt(seq, at)
		if err != nil {
			return err
		}
		reg.AddRotation(entries[i].DSSE(), translog.Proof{Index: seq, Hashes: path, Note: note}, later)
	}
	return nil
}

// lastNote is the checkpoint of a size that ends with a change of keys, with the cosignatures that it has.
func lastNote(ctx context.Context, p *Plane, log ledger.View, size int64) (string, error) {
	note, err := p.store.Note(ctx, size)
	if err != nil {
		return "", err
	}
	root, err := log.Root(size)
	if w := p.opts.Witnesses; w != nil && err == nil {
		note = w.Note(translog.Checkpoint{Origin: log.Head.Origin, Size: size, Root: root}, note)
	}
	return note, err
}

// rotations is every change of the log's keys, so that a client with any of them can verify what the
// others have signed.
func rotations(p *Plane, r *request) (*edge.Answer, error) {
	seqs, entries, err := p.store.Rotations(r.Context())
	if err != nil {
		return nil, err
	}
	var chain *ledger.Chain
	err = p.store.Look(func(_ *promotion.World, log ledger.View) (err error) {
		notes := make([]string, len(seqs))
		for i, seq := range seqs {
			if notes[i], err = lastNote(r.Context(), p, log, seq+1); err != nil {
				return err
			}
		}
		chain, err = log.Chain(entries, notes, p.store.Keys().Log)
		return err
	})
	return encoded(chain, err)
}

// getConsistency is the newest checkpoint with the proof that it continues the log of the first from
// entries, as the text that a witness takes.
func (p *Plane) getConsistency(r *request) (*edge.Answer, error) {
	if err := p.damaged(); err != nil {
		return nil, err
	}
	from, err := sizeQuery(r, "from")
	if err != nil {
		return nil, err
	}
	var text string
	ctx := r.Context()
	err = p.store.Look(func(_ *promotion.World, log ledger.View) error {
		if from > log.Head.Size {
			return field.Refuse(field.InvalidField, "", "from: the log has %s entries only",
				strconv.FormatInt(log.Head.Size, 10))
		}
		at, note := p.headFor(ctx, log, from)
		hashes, err := log.ConsistencyAt(from, at)
		text = translog.Extension{Old: from, Hashes: hashes, Note: note}.Format()
		return err
	})
	return tagged([]byte(text), "text/plain; charset=utf-8"), err
}
