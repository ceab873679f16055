package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/postgres"
)

// Tx is one write under way. It holds the store's write lock.
type Tx struct {
	s       *Store
	now     time.Time
	entries []appended
	bodies  [][]any // rows of submissions
	proofs  [][]any // rows of attestations
	changed map[string]bool
}

// appended is one new entry, signed.
type appended struct {
	entry  *promotion.Entry
	signed ledger.Entry
	facts  []promotion.Fact
}

// Outcome is what a write has come to, on disk. It is empty where nothing was to be written.
type Outcome struct {
	Facts []promotion.Fact
	// Entries are the new ones, from First on.
	Entries []ledger.Entry
	First   int64
	// View is the log with the write's own checkpoint.
	View ledger.View
}

// Update runs f, lets the machine decide what follows, and writes all of it in one
// transaction with one checkpoint. When f returns an error, or appends nothing, nothing is
// written. The error is a *DamageError when the log cannot be continued.
func (s *Store) Update(ctx context.Context, f func(*Tx) error) (*Outcome, error) {
	return s.update(ctx, false, f)
}

// update is Update. What settles a new writer may be written before anything else.
func (s *Store) update(ctx context.Context, settles bool, f func(*Tx) error) (*Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.At.Reach("update.locked")
	if err := s.mayWrite(ctx, settles); err != nil {
		return nil, err
	}
	t := &Tx{s: s, now: s.opts.Now().UTC().Truncate(time.Millisecond), changed: map[string]bool{}}
	// A write is not broken off half way because its client has gone.
	ctx = context.WithoutCancel(ctx)
	written := false
	defer func() {
		if !written && len(t.entries) > 0 { // also after a panic
			s.reload(ctx)
		}
	}()
	if err := s.perform(ctx, t, f); err != nil {
		return nil, err
	}
	written = true
	out := &Outcome{View: s.log.View(), First: s.d.size - int64(len(t.entries))}
	for _, a := range t.entries {
		out.Entries = append(out.Entries, a.signed)
		out.Facts = append(out.Facts, a.facts...)
	}
	return out, nil
}

func (s *Store) perform(ctx context.Context, t *Tx, f func(*Tx) error) error {
	if err := f(t); err != nil {
		return err
	}
	s.opts.At.Reach("update.said")
	if len(t.entries) == 0 {
		return nil
	}
	if err := t.Settle(); err != nil {
		return err
	}
	s.opts.At.Reach("update.decided")
	return s.commit(ctx, t)
}

// reload forgets what a failed write has left in memory.
func (s *Store) reload(ctx context.Context) {
	s.away = nil
	switch err := s.load(ctx); {
	case err == nil:
	case s.shared != nil && postgres.IsPostgres(err):
		s.away = &UnavailableError{err}
	default:
		s.damage = &DamageError{Corrupt, err.Error()}
	}
}

// mayWrite reports why nothing can be written.
func (s *Store) mayWrite(ctx context.Context, settles bool) error {
	switch {
	case s.damage != nil:
		return s.damage
	case s.shared == nil:
		return nil
	case s.away != nil:
		return s.away
	}
	if s.shared.writer.Load() == nil || !settles && !s.shared.settled.Load() {
		return s.shared.refuse(ctx)
	}
	// It may have become the writer just now, behind what another plane has written.
	if err := (member{s}).catchUp(ctx); err != nil {
		return err
	}
	if s.damage != nil {
		return s.damage
	}
	return nil
}

// World is what the log comes to, with what this write has appended.
func (t *Tx) World() *promotion.World { return t.s.d.world }

// Now is the time of the write, Stamp as entries have it.
func (t *Tx) Now() time.Time { return t.now }

// Stamp is Now in RFC 3339.
func (t *Tx) Stamp() string { return t.now.Format(time.RFC3339Nano) }

// Submission reports at which entry a bundle was taken, by the SHA-256 of its file.
func (t *Tx) Submission(fileSHA256 string) (seq int64, ok bool) {
	seq, ok = t.s.d.files[fileSHA256]
	return seq, ok
}

// Attested reports at which entry an attestation was recorded.
func (t *Tx) Attested(a *bundle.Attestation) (seq int64, ok bool) {
	seq, ok = t.s.d.attested[attestationKey{a.PAESHA256, a.KeyID}]
	return seq, ok
}

// Seal accepts a bundle: a seal in as many parts as its verified artifacts need. evidence is
// what the files of its runs came to, nil where they were not all read.
func (t *Tx) Seal(
	doc *bundle.Document, rungs []string, verified []bundle.Subject, evidence []bundle.RunEvidence,
) error {
	b := &doc.Bundle
	const most = 1023 // subjects beside the bundle
	parts := max(1, (len(verified)+most-1)/most)
	t.bodies = append(t.bodies, []any{doc.FileSHA256, b.CandidateRevisionID, t.s.d.size, doc.Canonical})
	for part := 1; part <= parts; part++ {
		subjects := append([]bundle.Subject{bundle.FileSubject(bundle.FileName, doc.FileSHA256)},
			verified[:min(most, len(verified))]...)
		verified = verified[min(most, len(verified)):]
		_, err := t.Append(&promotion.Entry{Type: bundle.TypeSeal, Subject: subjects, Document: doc,
			Predicate: &promotion.Seal{
				CandidateRevisionID: b.CandidateRevisionID, FamilyID: b.Candidate.FamilyID,
				RequestedStage: b.SealRequest.RequestedStage,
				ReceivedAt:     t.Stamp(), Rungs: rungs, PolicyDigest: t.World().Policy().Digest,
				TrustDigest: promotion.SealTrust(t.World()),
				SealRequest: b.SealRequest, Part: part, Parts: parts, Evidence: evidence,
			}})
		evidence = nil // only in the first part
		if err != nil {
			return err
		}
	}
	return nil
}

// Record records an attestation about a revision that is in the log.
func (t *Tx) Record(revision string, a *bundle.Attestation) error {
	own, err := onlySignature(a, t.World().Trust())
	if err != nil {
		return err
	}
	text, err := digest.JCS(own)
	if err != nil {
		return err
	}
	t.proofs = append(t.proofs, []any{a.PAESHA256, a.KeyID, t.s.d.size, string(text)})
	_, err = t.Append(&promotion.Entry{Type: bundle.TypeRecorded,
		Subject: []bundle.Subject{promotion.RevisionSubject(revision)}, Attested: a.Parsed,
		Predicate: &promotion.Recorded{
			PAESHA256: a.PAESHA256, Type: a.Parsed.Statement.PredicateType, KeyID: a.KeyID,
			Principal: a.Principal, Roles: a.Roles, RecordedAt: t.Stamp(),
			TrustDigest: promotion.TrustNamed(t.World()),
		}})
	return err
}

// onlySignature is the envelope with nothing but the signature that counts, so that no
// byte of what is kept is unproven.
func onlySignature(a *bundle.Attestation, trust *bundle.Trust) (dsse.Envelope, error) {
	key := trustedKey(trust, a.KeyID)
	for _, sig := range a.Envelope.Signatures {
		one := dsse.Envelope{Payload: a.Envelope.Payload, PayloadType: a.Envelope.PayloadType,
			Signatures: []dsse.Signature{{Sig: sig.Sig}}}
		text, err := digest.JCS(one)
		if err != nil {
			return one, err
		}
		if signed, refused := bundle.DecodeEnvelope(text); refused == nil && key != nil &&
			len(signed.Verify(key)) == 1 {
			return one, nil
		}
	}
	return dsse.Envelope{}, fmt.Errorf("no signature of the attestation is by key %s", a.KeyID)
}

// Append signs an entry and folds its facts. After an error the write is to be given up.
func (t *Tx) Append(e *promotion.Entry) ([]promotion.Fact, error) {
	s := t.s
	e.Seq = s.d.size
	if err := promotion.CheckTrust(s.d.world, e); err != nil {
		return nil, err
	}
	if err := s.d.checkCosigned(e, s.keys, s.origin); err != nil {
		return nil, err
	}
	payload, err := e.Payload()
	if err != nil {
		return nil, err
	}
	env, err := dsse.Sign(bundle.PayloadInToto, payload, s.keys.Statement)
	if err != nil {
		return nil, err
	}
	signed, err := ledger.EntryOf(env)
	if err != nil {
		return nil, err
	}
	e.Leaf = ledger.Hex(ledger.LeafHash(ledger.Leaf(signed, s.keys.Public)))
	facts, err := promotion.FactsOf(e)
	if err != nil {
		return nil, err
	}
	t.entries = append(t.entries, appended{e, signed, facts})
	if err := s.d.world.Apply(facts...); err != nil {
		return nil, err
	}
	s.d.add(e, facts)
	t.touch(e.Revision(), facts)
	s.opts.At.Reach("append." + kindOf(e.Type))
	return facts, nil
}

// kindOf is the last word but one of a predicate type: what it is, without its version.
func kindOf(predicateType string) string {
	kind := predicateType[len(bundle.URIBase):]
	return kind[:len(kind)-len("/v1")]
}

// touch notes which revisions may stand elsewhere now: an incident or a stop concerns all
// that would run the same thing.
func (t *Tx) touch(id string, facts []promotion.Fact) {
	if id == "" {
		return
	}
	t.changed[id] = true
	for i := range facts {
		switch facts[i].Type {
		case promotion.IncidentOpened, promotion.RevisionSuspended, promotion.RevisionDemoted,
			promotion.RevisionDrifted:
			for _, twin := range t.s.d.twins[t.s.d.revisions[id].deployable] {
				t.changed[twin] = true
			}
		}
	}
}

// Settle logs what the machine decides until it has nothing more to decide. Every write ends with it.
func (t *Tx) Settle() error {
	for {
		d, ok := t.World().Next(t.now)
		if !ok {
			return nil
		}
		if _, err := t.Append(d.Entry(t.s.d.size)); err != nil {
			return err
		}
	}
}

// commit brings a write to disk and adopts it.
func (s *Store) commit(ctx context.Context, t *Tx) error {
	entries := make([]ledger.Entry, len(t.entries))
	for i, a := range t.entries {
		entries[i] = a.signed
	}
	batch, err := s.log.Prepare(entries...)
	if err != nil {
		return err
	}
	s.opts.At.Reach("commit.prepared")
	if err := s.db.Tx(ctx, func(tx *sql.Tx) error { return t.write(ctx, tx, batch) }); err != nil {
		return err
	}
	s.opts.At.Reach("commit.done")
	if err := s.log.Commit(batch); err != nil {
		return err
	}
	s.d.roots[batch.View.Head.Size], s.d.note = batch.View.Head.Root, batch.View.Note
	s.opts.At.Reach("commit.adopted")
	if err := s.heads.write(batch.View.Head, t.now); err != nil {
		return errors.Join(err, errWitness)
	}
	s.opts.At.Reach("commit.witnessed")
	return nil
}

// errWitness reports that a write is on disk although its answer is an error.
var errWitness = errors.New("the checkpoint is on disk, but not in " + checkpointFile)

// write is the rows of a write.
func (t *Tx) write(ctx context.Context, tx *sql.Tx, batch *ledger.Batch) error {
	var rows, nodes, facts [][]any
	for i, a := range t.entries {
		subjectType, subjectID := subjectOf(a.entry, t.s.origin)
		rows = append(rows,
			[]any{a.entry.Seq, a.entry.Type, subjectType, subjectID, a.signed.Payload, a.signed.Signature,
				batch.Leaves[i].Hash[:], a.entry.Stamp()})
		more, err := factRows(a.facts)
		if err != nil {
			return err
		}
		facts = append(facts, more...)
	}
	for _, n := range batch.Nodes {
		nodes = append(nodes, []any{n.Index, n.Hash[:]})
	}
	head := batch.View.Head
	checkpoint := [][]any{{head.Size, head.Root[:], batch.View.Note,
		t.entries[len(t.entries)-1].entry.Stamp()}}
	var revisions, states [][]any
	for id := range t.changed {
		revisions = append(revisions, t.s.d.revisions[id].row())
		states = append(states, stateRow(t.World(), id))
	}
	t.s.opts.At.Reach("write.begun")
	for _, part := range []struct {
		table string
		rows  [][]any
	}{
		{"ledger", rows}, {"tree_nodes", nodes}, {"checkpoints", checkpoint}, {"submissions", t.bodies},
		{"attestations", t.proofs},
		{"facts", facts}, {"revisions", revisions}, {"promotion_state", states},
		{"projection", t.s.d.heads()},
	} {
		if err := put(ctx, tx, part.table, part.rows); err != nil {
			return err
		}
		t.s.opts.At.Reach("write." + part.table)
	}
	return nil
}

// Next is the place of the entry that is appended next.
func (t *Tx) Next() int64 { return t.s.d.size }

// existing is a store of a log that has been begun.
func existing(at Place, unlock []dsse.Unlock) *Store {
	return &Store{opts: Options{Dir: at.Dir, Database: at.Database, Now: time.Now, Unlock: firstOf(unlock)}}
}

// openExisting opens a log that has been begun, for what needs no running plane. Whoever writes needs that
// no plane is running elsewhere, either.
func (s *Store) openExisting(ctx context.Context, write bool) (err error) {
	at := Place{s.opts.Dir, s.opts.Database}
	if err := at.checkBegun(); err != nil {
		return err
	}
	if s.lock, err = file.LockState(s.opts.Dir, lockFile); err != nil {
		return err
	}
	if s.db, err = openBegun(ctx, at); err != nil {
		return err
	}
	if s.shared, _ = s.db.(*shared); s.shared != nil && write {
		alone := func() string { return "a command, which writes alone" }
		if err := s.shared.elect(ctx, false, alone); err != nil {
			return err
		}
		s.shared.settled.Store(true) // a command has no policy of its own
	}
	return s.identify(ctx)
}

// rewrite replaces all projections.
func (s *Store) rewrite(ctx context.Context, d *derived) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, t := range tables {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+t.name); err != nil {
				return err
			}
		}
		want := d.standing()
		for _, t := range tables[1:] {
			if err := put(ctx, tx, t.name, want[t.name]); err != nil {
				return err
			}
		}
		// The facts come from the log once more, because they need not fit into memory; the
		// reading connection sees the log as it is, which this transaction does not touch.
		_, err := derive(ctx, s.db.Read(), s.origin, s.keys, func(facts [][]any) error {
			return put(ctx, tx, "facts", facts)
		})
		return err
	})
}

func factRows(facts []promotion.Fact) ([][]any, error) {
	rows := make([][]any, len(facts))
	for i := range facts {
		var err error
		if rows[i], err = factRow(i, &facts[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
