package store

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion"
)

// ErrNotFound says that the log has no such thing.
var ErrNotFound = errors.New("not in the log")

// EntryAt is one entry as it was signed, with its facts.
type EntryAt struct {
	Entry ledger.Entry
	Facts []promotion.Fact
}

// Entry reads an entry by its place. The error is ErrNotFound where there is none.
func (s *Store) Entry(ctx context.Context, seq int64) (*EntryAt, error) {
	rows, err := s.db.Read().QueryContext(ctx, rowsQuery, seq, seq+1)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, errors.Join(rows.Err(), ErrNotFound)
	}
	r := &row{}
	if err := r.scan(rows.Scan); err != nil {
		return nil, err
	}
	if err := r.check(s.origin, s.keys.Public); err != nil {
		return nil, &DamageError{Corrupt, err.Error()}
	}
	facts, err := promotion.FactsOf(r.entry)
	return &EntryAt{Entry: r.ledgerEntry(), Facts: facts}, err
}

// Signed reads only what was signed of an entry.
func (s *Store) Signed(ctx context.Context, seq int64) (ledger.Entry, error) {
	e := ledger.Entry{PayloadType: bundle.PayloadInToto}
	err := s.db.Read().QueryRowContext(ctx, `SELECT payload, signature FROM ledger WHERE seq = ?`, seq).Scan(&e.Payload, &e.Signature)
	if errors.Is(err, sql.ErrNoRows) {
		return e, ErrNotFound
	}
	return e, err
}

// FactName is a fact without what it says.
type FactName struct {
	Seq  int64          `json:"seq"`
	Type promotion.Type `json:"type"`
	ID   string         `json:"fact_id"`
	Run  string         `json:"run_id,omitempty"`
}

// FactNames are the facts of an entry.
func (s *Store) FactNames(ctx context.Context, seq int64) ([]FactName, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT seq, type, fact_id, run_id FROM facts WHERE seq = ? ORDER BY ord`, seq)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []FactName
	for rows.Next() {
		var f FactName
		if err := rows.Scan(&f.Seq, &f.Type, &f.ID, &f.Run); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, rows.Err()
}

// Bundle is the newest submission of a revision, as candidate_bundle.json has it.
func (s *Store) Bundle(ctx context.Context, revision string) ([]byte, error) {
	var body []byte
	err := s.db.Read().QueryRowContext(ctx,
		`SELECT body FROM submissions WHERE candidate_revision_id = ? ORDER BY seq DESC LIMIT 1`, revision).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNotFound
	}
	return body, err
}

// Started is when the log began, RFC 3339.
func (s *Store) Started(ctx context.Context) (at string, err error) {
	err = s.db.Read().QueryRowContext(ctx, `SELECT recorded_at FROM ledger WHERE seq = 0`).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNotFound
	}
	return at, err
}

// Audit is a log on disk for verification: nothing about it has been checked.
type Audit struct {
	s *Store
	// Statement and Log are the public keys that the state directory has.
	Statement *ledger.Key
	Log       ledger.LogKey
}

// OpenAudit opens the log of a state directory; no plane may be running on it.
func OpenAudit(ctx context.Context, dir string) (*Audit, error) {
	s := &Store{opts: Options{Dir: dir}}
	if err := s.openExisting(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Audit{s: s, Statement: s.keys.Public, Log: s.LogKey()}, nil
}

// Close gives the log back.
func (a *Audit) Close() error { return a.s.Close() }

// Compare says where the projections differ from what the log makes. The error is a
// *DamageError when the log itself does not hold together.
func (a *Audit) Compare(ctx context.Context) (different []string, err error) {
	_, different, err = a.s.compareAll(ctx)
	return different, err
}

// Entries are all entries in their order.
func (a *Audit) Entries(ctx context.Context) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		rows, err := a.s.db.Read().QueryContext(ctx, `SELECT payload, signature FROM ledger ORDER BY seq`)
		if err != nil {
			yield(ledger.Entry{}, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			e := ledger.Entry{PayloadType: bundle.PayloadInToto}
			if err := rows.Scan(&e.Payload, &e.Signature); !yield(e, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(ledger.Entry{}, err)
		}
	}
}

// Notes are all checkpoints in their order.
func (a *Audit) Notes(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		rows, err := a.s.db.Read().QueryContext(ctx, `SELECT note FROM checkpoints ORDER BY size`)
		if err != nil {
			yield("", err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var note string
			if err := rows.Scan(&note); !yield(note, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield("", err)
		}
	}
}
