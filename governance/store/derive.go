package store

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"database/sql"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/sqlite"
	"github.com/assay-run/assay/host/base/translog"
)

// attestationKey names an attestation: the same payload by the same key is the same.
type attestationKey struct{ pae, key string }

// derived is everything that follows from the truth, in memory.
type derived struct {
	tree  *ledger.Tree
	world *promotion.World
	size  int64
	last  string // recorded_at of the newest entry
	note  string // of the newest checkpoint
	roots map[int64]tlog.Hash
	// files and attested say at which entry something was taken.
	files     map[string]int64
	attested  map[attestationKey]int64
	revisions map[string]*revision
	twins     map[string][]string // revisions by deployable_id
}

func newDerived() *derived {
	return &derived{
		tree: &ledger.Tree{}, world: promotion.New(), roots: map[int64]tlog.Hash{}, files: map[string]int64{},
		attested: map[attestationKey]int64{}, revisions: map[string]*revision{}, twins: map[string][]string{},
	}
}

// add indexes an entry, after its facts were applied.
func (d *derived) add(e *promotion.Entry, facts []promotion.Fact) {
	d.size, d.last = e.Seq+1, e.Stamp()
	for i := range facts {
		in, ok := facts[i].Fields.(*promotion.Ingested)
		if !ok {
			continue
		}
		d.files[in.FileSHA256] = e.Seq
		r := d.revisions[facts[i].Revision]
		if r == nil {
			r = &revision{
				id: facts[i].Revision, candidate: in.Candidate.CandidateID, family: in.Candidate.FamilyID,
				strategy:   in.Strategy.Name,
				deployable: in.DeployableID, first: e.Seq,
			}
			d.revisions[r.id] = r
			d.twins[r.deployable] = append(d.twins[r.deployable], r.id)
		}
		r.newest = e.Seq
	}
	if p, ok := e.Predicate.(*promotion.Recorded); ok {
		d.attested[attestationKey{p.PAESHA256, p.KeyID}] = e.Seq
	}
}

// chunkSize is how many entries are read at a time.
const chunkSize = 512

// observer gets the rows of the facts of each entry, in order.
type observer func(facts [][]any) error

// chunk is some entries with their proofs, read and checked by themselves.
type chunk struct {
	rows   []*row
	proofs *proofs
	err    error
}

// derive goes through the truth from its beginning, checks each column of it against what
// the payloads say, and folds the facts. The error is what does not hold together.
func derive(ctx context.Context, db *sql.DB, origin string, keys *Keys, observe observer) (*derived, error) {
	d := newDerived()
	if err := d.extend(ctx, db, origin, keys, math.MaxInt64, observe); err != nil {
		return d, err
	}
	return d, d.checkCounts(ctx, db)
}

// extend goes on with the entries up to one.
func (d *derived) extend(
	ctx context.Context, db *sql.DB, origin string, keys *Keys, until int64, observe observer,
) error {
	ctx, cancel := context.WithCancel(ctx)
	chunks := make(chan chunk, 1)
	go readChunks(ctx, db, origin, keys, d.size, until, chunks)
	defer func() {
		cancel()
		for range chunks { // until the reader has ended
		}
	}()
	for c := range chunks {
		if c.err != nil {
			return c.err
		}
		for _, r := range c.rows {
			if err := d.fold(r, keys, origin, c.proofs, observe); err != nil {
				return fmt.Errorf("entry %d: %w", r.seq, err)
			}
		}
	}
	return nil
}

// readChunks reads ahead of the fold, until there is nothing left.
func readChunks(
	ctx context.Context, db *sql.DB, origin string, keys *Keys, from, until int64, out chan<- chunk,
) {
	defer close(out)
	for ; from < until; from += chunkSize {
		var c chunk
		end := min(until, from+chunkSize)
		if c.rows, c.err = readRows(ctx, db, from, end); c.err == nil && len(c.rows) == 0 {
			return
		}
		if c.err == nil {
			eachRow(c.rows, func(r *row) { r.read(origin, keys.Ring.At(r.seq).Statement) })
			c.proofs, c.err = readProofs(ctx, db, from, end)
		}
		select {
		case out <- c:
		case <-ctx.Done():
			return
		}
		if c.err != nil {
			return
		}
	}
}

func readRows(ctx context.Context, db *sql.DB, from, until int64) (rows []*row, err error) {
	err = sqlite.Query(ctx, db, func(scan sqlite.Scanner) error {
		r := &row{}
		rows = append(rows, r)
		return r.scan(scan)
	}, rowsQuery, from, until)
	return rows, err
}

// eachRow works on all processors.
func eachRow(rows []*row, work func(*row)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(rows)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(rows)); i = next.Add(1) - 1 {
				work(rows[i])
			}
		})
	}
	wg.Wait()
}

// fold takes one entry in.
func (d *derived) fold(r *row, keys *Keys, origin string, proofs *proofs, observe observer) error {
	if r.fault != nil {
		return r.fault
	}
	if r.seq != d.size {
		return fmt.Errorf("entry %d is missing", d.size)
	}
	if err := r.checkSigner(d.world.Trust()); err != nil {
		return err
	}
	if err := promotion.CheckTrust(d.world, r.entry); err != nil {
		return err
	}
	if err := d.judge(r.entry); err != nil {
		return err
	}
	if err := d.checkCosigned(r.entry, keys, origin); err != nil {
		return err
	}
	if err := d.world.Apply(r.facts...); err != nil {
		return err
	}
	fresh, err := d.tree.Append(r.hash)
	if err != nil {
		return err
	}
	d.add(r.entry, r.facts)
	if err := proofs.checkNodes(r.seq, fresh); err != nil {
		return err
	}
	if err := d.checkCheckpoint(proofs, keys, origin); err != nil {
		return err
	}
	if observe == nil {
		return nil
	}
	return observe(r.factRows)
}

// judge makes a decision of the log again, by the policy and the facts of its moment.
func (d *derived) judge(e *promotion.Entry) error {
	stated, ok := e.Predicate.(*promotion.StageDecision)
	if !ok {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, stated.EvaluatedAt)
	if err != nil {
		return err
	}
	made, ok := d.world.NextFor(e.Revision(), at)
	if !ok || !reflect.DeepEqual(made.StageDecision, *stated) {
		return fmt.Errorf("the decision is not the one that the facts before it lead to")
	}
	return nil
}

// checkCosigned refuses cosignatures of another log, of no checkpoint of this one, and by a key of the
// log itself.
func (d *derived) checkCosigned(e *promotion.Entry, keys *Keys, origin string) error {
	stated, ok := e.Predicate.(*promotion.Cosigned)
	if !ok {
		return nil
	}
	head, err := stated.Checkpoint()
	if err != nil {
		return err
	}
	if root, ok := d.roots[head.Size]; !ok || root != head.Root || head.Origin != origin {
		return fmt.Errorf("witnesses have cosigned %s, which is not a checkpoint of this log", head)
	}
	for _, c := range stated.Cosignatures {
		key, err := translog.ParseWitnessKey(c.Witness)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(keys.Ring, func(k ledger.Epoch) bool {
			return k.Log.Public.Equal(key.Public)
		}) {
			return fmt.Errorf("witness %s has the key of the log", key.Witness)
		}
	}
	return nil
}

// proofs are tree nodes and checkpoints of some entries.
type proofs struct {
	nodes       map[int64][]byte
	checkpoints map[int64]checkpointRow
}

type checkpointRow struct {
	root            []byte
	note, createdAt string
}

func readProofs(ctx context.Context, db *sql.DB, from, until int64) (*proofs, error) {
	p := &proofs{nodes: map[int64][]byte{}, checkpoints: map[int64]checkpointRow{}}
	err := sqlite.Query(ctx, db, func(scan sqlite.Scanner) error {
		var idx int64
		var hash []byte
		err := scan(&idx, &hash)
		p.nodes[idx] = hash
		return err
	}, `SELECT idx, hash FROM tree_nodes WHERE idx >= ? AND idx < ?`, tlog.StoredHashCount(from),
		tlog.StoredHashCount(until))
	if err != nil {
		return nil, err
	}
	return p, sqlite.Query(ctx, db, func(scan sqlite.Scanner) error {
		var size int64
		var c checkpointRow
		err := scan(&size, &c.root, &c.note, &c.createdAt)
		p.checkpoints[size] = c
		return err
	}, `SELECT size, root, note, created_at FROM checkpoints WHERE size > ? AND size <= ?`, from, until)
}

func (p *proofs) checkNodes(seq int64, fresh []tlog.Hash) error {
	first := tlog.StoredHashIndex(0, seq)
	for i, h := range fresh {
		if !bytes.Equal(p.nodes[first+int64(i)], h[:]) {
			return fmt.Errorf("tree node %d differs", first+int64(i))
		}
	}
	return nil
}

// checkCheckpoint compares the checkpoint at this size, if there is one, with the one that
// the entries make, and checks that the log key has signed it.
func (d *derived) checkCheckpoint(p *proofs, keys *Keys, origin string) error {
	c, ok := p.checkpoints[d.size]
	if !ok {
		return nil
	}
	root, err := d.tree.Root(d.size)
	if err != nil {
		return err
	}
	head := translog.Checkpoint{Origin: origin, Size: d.size, Root: root}
	if !bytes.Equal(c.root, root[:]) || !translog.IsNote(c.note, head, keys.Ring.NoteKey(d.size)) ||
		c.createdAt != d.last {
		return fmt.Errorf("the checkpoint of %d entries differs", d.size)
	}
	d.roots[d.size], d.note = root, c.note
	return d.checkSettled()
}

// checkSettled ends what was written at once: a plane decides all there is to decide before it
// signs a checkpoint, so a decision that is still due has been held back.
func (d *derived) checkSettled() error {
	at, err := time.Parse(time.RFC3339Nano, d.last)
	if err != nil {
		return err
	}
	if due, ok := d.world.Next(at); ok {
		return fmt.Errorf("%s had to become %s here, and did not", due.Revision, due.To)
	}
	return nil
}

// checkCounts finds what no entry knows of.
func (d *derived) checkCounts(ctx context.Context, db *sql.DB) error {
	if _, ok := d.roots[d.size]; !ok && d.size > 0 {
		return fmt.Errorf("no checkpoint covers all %d entries", d.size)
	}
	for _, c := range []struct {
		table string
		want  int64
	}{
		{"ledger", d.size}, {"tree_nodes", tlog.StoredHashCount(d.size)},
		{"checkpoints", int64(len(d.roots))},
		{"submissions", int64(len(d.files))}, {"attestations", int64(len(d.attested))},
	} {
		var n int64
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM `+c.table).Scan(&n); err != nil {
			return err
		}
		if n != c.want {
			return fmt.Errorf("table %s has %d rows, the log makes %d", c.table, n, c.want)
		}
	}
	return nil
}

// SubjectLog is the subject type of entries about the log itself.
const SubjectLog = "log"

// row is one entry as the truth has it, with the submission or attestation that it names.
type row struct {
	seq                          int64
	kind, subjectType, subjectID string
	payload, signature, leaf     []byte
	recordedAt                   string
	fileSHA, submissionID        *string
	body                         []byte
	paeSHA, keyID, envelope      *string
	entry                        *promotion.Entry
	hash                         tlog.Hash
	signed                       *dsse.Signed // of a recorded attestation
	facts                        []promotion.Fact
	factRows                     [][]any
	fault                        error
}

const rowsQuery = `
SELECT l.seq, l.statement_type, l.subject_type, l.subject_id, l.payload, l.signature, l.leaf_hash,
l.recorded_at,
       s.file_sha256, s.candidate_revision_id, s.body, a.pae_sha256, a.key_id, a.envelope
FROM ledger l LEFT JOIN submissions s ON s.seq = l.seq LEFT JOIN attestations a ON a.seq = l.seq
WHERE l.seq >= ? AND l.seq < ? ORDER BY l.seq`

func (r *row) scan(scan sqlite.Scanner) error {
	return scan(&r.seq, &r.kind, &r.subjectType, &r.subjectID, &r.payload, &r.signature, &r.leaf,
		&r.recordedAt, &r.fileSHA, &r.submissionID, &r.body, &r.paeSHA, &r.keyID, &r.envelope)
}

// read takes the row for what its bytes say, compares the columns with that, and makes its
// facts: all that does not depend on the entries before it.
func (r *row) read(origin string, key *ledger.Key) {
	if r.fault = r.check(origin, key); r.fault != nil {
		return
	}
	if r.facts, r.fault = promotion.FactsOf(r.entry); r.fault != nil {
		return
	}
	r.factRows, r.fault = factRows(r.facts)
}

func (r *row) check(origin string, key *ledger.Key) error {
	e, err := promotion.ReadEntry(r.seq, r.payload)
	if err != nil {
		return err
	}
	r.entry = e
	r.hash = ledger.LeafHash(ledger.Leaf(r.ledgerEntry(), key))
	if !bytes.Equal(r.hash[:], r.leaf) {
		return fmt.Errorf("its leaf differs")
	}
	e.Leaf = ledger.Hex(r.hash)
	subjectType, subjectID := subjectOf(e, origin)
	switch {
	case e.Type != dsse.PermanentType(r.kind):
		return fmt.Errorf("its type differs")
	case subjectType != r.subjectType || subjectID != r.subjectID:
		return fmt.Errorf("its subject differs")
	case e.Stamp() != r.recordedAt:
		return fmt.Errorf("its time differs")
	}
	if err := r.checkSubmission(); err != nil {
		return err
	}
	return r.checkAttestation()
}

func (r *row) ledgerEntry() ledger.Entry {
	return ledger.Entry{PayloadType: bundle.PayloadInToto, Payload: r.payload, Signature: r.signature}
}

// checkSubmission reads the bundle that a seal accepts.
func (r *row) checkSubmission() error {
	seal, is := r.entry.Predicate.(*promotion.Seal)
	if is = is && seal.Part == 1; is != (r.fileSHA != nil) {
		return fmt.Errorf("a seal without its submission, or a submission without its seal")
	}
	if !is {
		return nil
	}
	// The payload, which the leaf proves, names the hash of the bytes that were accepted.
	if len(r.entry.Subject) == 0 || r.entry.Subject[0].Digest["sha256"] != *r.fileSHA {
		return fmt.Errorf("its submission is of another file")
	}
	doc, refused := bundle.Accepted(r.body, *r.fileSHA)
	if refused != nil {
		return fmt.Errorf("its submission: %w", refused)
	}
	if doc.Bundle.CandidateRevisionID != *r.submissionID || *r.submissionID != seal.CandidateRevisionID {
		return fmt.Errorf("its submission differs")
	}
	r.entry.Document = doc
	return nil
}

// checkAttestation reads the attestation that an entry records. Its signature is checked
// when the trust of its time is known.
func (r *row) checkAttestation() error {
	recorded, is := r.entry.Predicate.(*promotion.Recorded)
	if is != (r.envelope != nil) {
		return fmt.Errorf("a record without its attestation, or an attestation without its record")
	}
	if !is {
		return nil
	}
	signed, refused := bundle.DecodeEnvelope([]byte(*r.envelope))
	if refused != nil {
		return fmt.Errorf("its attestation: %w", refused)
	}
	text, err := digest.JCS(signed.Envelope)
	if err != nil {
		return err
	}
	sum := digest.SHA256Hex(signed.PAE())
	if string(text) != *r.envelope || sum != *r.paeSHA || sum != recorded.PAESHA256 ||
		*r.keyID != recorded.KeyID {
		return fmt.Errorf("its attestation differs")
	}
	stated, refused := bundle.ReadStatement(signed.Payload)
	if refused != nil {
		return fmt.Errorf("its attestation: %w", refused)
	}
	r.entry.Attested, r.signed = stated, signed
	return nil
}

// checkSigner reports whether the key that an attestation is recorded with made it: the key
// as trust.json had it then.
func (r *row) checkSigner(trust *bundle.Trust) error {
	if r.signed == nil {
		return nil
	}
	if key := trustedKey(trust, *r.keyID); key != nil && len(r.signed.Verify(key)) == 1 {
		return nil
	}
	return fmt.Errorf("its attestation is not signed by the recorded key")
}

func trustedKey(trust *bundle.Trust, id string) *ecdsa.PublicKey {
	if trust == nil {
		return nil
	}
	i := slices.IndexFunc(trust.Keys, func(k bundle.TrustKey) bool { return k.KeyID == id })
	if i < 0 {
		return nil
	}
	key, err := dsse.ParseP256([]byte(trust.Keys[i].PublicKey))
	if err != nil {
		return nil
	}
	return key
}

// subjectOf is how the ledger's columns name what an entry is about.
func subjectOf(e *promotion.Entry, origin string) (subjectType, subjectID string) {
	if id := e.Revision(); id != "" {
		return bundle.SubjectRevision, id
	}
	return SubjectLog, origin
}
