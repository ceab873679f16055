package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/assay-run/assay/host/base/file"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/sqlite"
)

// schemas are the digests of the tables by schema version, from 1: a name or a rule that
// rotted in the file is damage like any other.
var schemas = []string{
	"4c5f7aeadadbd887ff29a95bff2c9153f58b0e8ffe98d2f219076ba21a597ccd",
	"4c5f7aeadadbd887ff29a95bff2c9153f58b0e8ffe98d2f219076ba21a597ccd", // the tables are those of 1
}

// noise is what does not matter in the text of a table.
var noise = regexp.MustCompile(`(--[^\n]*|\s)+`)

// damageError is why a journal is not to be trusted.
type damageError struct{ reason string }

func (e *damageError) Error() string { return e.reason }

func damaged(format string, args ...any) error {
	return &damageError{fmt.Sprintf(format, args...)}
}

// inspect reads the journal at path from end to end, without writing to it. The error is
// a *damageError when the journal is to be set aside.
func inspect(ctx context.Context, path string) (exists bool, at head, err error) {
	seen, err := readWitness(filepath.Dir(path))
	if err != nil {
		return false, head{}, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if seen.count > 0 || isFile(path+"-wal") {
			return false, head{}, damaged("%s is missing", FileName)
		}
		return false, head{}, nil
	}
	if err != nil {
		return false, head{}, err
	}
	if info.Size() == 0 { // its creation was interrupted, or it lost everything
		if seen.count > 0 {
			return false, head{}, damaged("%s is empty", FileName)
		}
		return false, head{}, nil
	}
	// A file that this user may not write is not damaged.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false, head{}, err
	}
	if err := f.Close(); err != nil {
		return false, head{}, err
	}
	db, err := sqlite.OpenReadOnly(ctx, path)
	if err == nil {
		defer db.Close()
		if at, err = verify(ctx, db, seen); err == nil {
			return true, at, nil
		}
	}
	switch {
	case ctx.Err() != nil:
		return false, head{}, context.Cause(ctx)
	case sqlite.IsSurroundings(err):
		return false, head{}, err
	}
	return false, head{}, &damageError{err.Error()}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// isDamage reports whether an error of opening for writing is the file's fault.
func isDamage(err error) bool {
	var newer *sqlite.NewerSchemaError
	return errors.As(err, &newer) || (sqlite.IsSQLite(err) && !sqlite.IsSurroundings(err))
}

// verify checks the structure of the file, its schema, the chain and every row.
func verify(ctx context.Context, db *sql.DB, seen head) (head, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return head{}, err
	}
	defer func() { _ = tx.Rollback() }()
	var answer string
	// It does what quick_check does and compares the indexes as well, through which rows are found.
	if err := tx.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&answer); err != nil {
		return head{}, err
	}
	if answer != "ok" {
		return head{}, damaged("integrity_check: %s", answer)
	}
	if fresh, err := checkSchema(ctx, tx); err != nil || fresh {
		if err == nil && seen.count > 0 {
			err = damaged("the tables are missing")
		}
		return head{}, err
	}
	return verifyChain(ctx, tx, seen)
}

// checkSchema compares the tables with what this program makes. fresh: there are none yet.
func checkSchema(ctx context.Context, q querier) (fresh bool, err error) {
	var version int
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return false, err
	}
	sum, tables, err := schemaDigest(ctx, q)
	switch {
	case err != nil:
		return false, err
	case version == 0 && tables == 0:
		return true, nil
	case version > len(schemas):
		return false,
			damaged("its schema version %d is newer than %d, the newest that this program knows: with the "+
				"newer program it can be put back", version, len(schemas))
	case version < 1 || sum != schemas[version-1]:
		return false, damaged("the tables are not those of this program (schema version %d)", version)
	}
	return false, nil
}

// schemaDigest is of the whole schema.
func schemaDigest(ctx context.Context, q querier) (sum string, tables int, err error) {
	rows, err := q.QueryContext(ctx,
		"SELECT type || char(10) || name || char(10) || tbl_name || char(10) || coalesce(sql, '') FROM "+
			"sqlite_schema ORDER BY name")
	if err != nil {
		return "", 0, err
	}
	defer rows.Close()
	var all []byte
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return "", 0, err
		}
		all = append(append(all, noise.ReplaceAllString(s, " ")...), 0)
		tables++
	}
	return digest.SHA256Hex(all), tables, rows.Err()
}

// verifier walks the log and, in step with it, every other table.
type verifier struct {
	cursors map[string]*cursor
	sum     *rowDigest
	runs    map[string]string // digests of rows of runs
	n       map[string]int64
	at      head
	seen    head
}

// verifyChain returns the proof that no row was changed, added or lost.
func verifyChain(ctx context.Context, q querier, seen head) (head, error) {
	v := &verifier{cursors: map[string]*cursor{}, sum: newRowDigest(), runs: map[string]string{},
		n: map[string]int64{}, at: head{hash: genesis}, seen: seen}
	quiet := context.WithoutCancel(ctx) // a context that can end costs a goroutine a row
	for _, t := range digested {
		cur, err := openCursor(quiet, q, t.name, t.columns)
		if err != nil {
			return head{}, err
		}
		defer cur.close()
		v.cursors[t.name] = cur
	}
	log, err := openCursor(quiet, q, "log", "rowid, "+logColumns)
	if err != nil {
		return head{}, err
	}
	defer log.close()
	for {
		ok, err := log.next()
		if err == nil && ok && v.at.count%1024 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return head{}, err
		}
		if !ok {
			break
		}
		if err := v.entry(log.values); err != nil {
			return head{}, err
		}
	}
	return v.at, v.rest(quiet, q)
}

// entry checks one entry of the log and the rows that it vouches for.
func (v *verifier) entry(values []any) error {
	rowid, _ := values[0].(int64)
	runID, kind, text_, prev, hash := text(values[1]), text(values[3]), text(values[4]), text(values[5]),
		text(values[6])
	n, _ := values[2].(int64)
	where := fmt.Sprintf("log entry %d of run %s", n, runID)
	if rowid != v.at.count+1 {
		return damaged("%s: entries before it are missing", where)
	}
	if prev != v.at.hash || hash != chain(prev, text_) {
		return damaged("%s: the hash chain is broken", where)
	}
	b, err := decodeBody(text_)
	if err != nil {
		return damaged("%s: %v", where, err)
	}
	if b.RunID != runID || b.Kind != kind || b.N != n || n != v.n[runID]+1 {
		return damaged("%s: its columns are not those of its body", where)
	}
	v.n[runID], v.at = n, head{v.at.count + 1, hash}
	if v.at.count == v.seen.count && hash != v.seen.hash {
		return damaged("%s: %s knows another entry here", where, witnessName)
	}
	if b.Run != "" {
		v.runs[runID] = b.Run
	}
	if len(b.Rows) == 0 {
		return nil
	}
	v.sum.reset()
	for _, t := range digested {
		for range b.Rows[t.name] {
			ok, err := v.cursors[t.name].next()
			if err != nil {
				return err
			}
			if !ok {
				return damaged("%s: rows of %s are missing", where, t.name)
			}
			v.sum.add(t.name, v.cursors[t.name].values)
		}
	}
	if v.sum.hex() != b.SHA {
		return damaged("%s: a row that was written with it has changed", where)
	}
	return nil
}

// rest checks that there is nothing that no entry vouches for, and the rows of runs.
func (v *verifier) rest(ctx context.Context, q querier) error {
	for _, t := range digested {
		if ok, err := v.cursors[t.name].next(); err != nil || ok {
			return errors.Join(err, damaged("%s has rows that the log does not know", t.name))
		}
	}
	if v.at.count < v.seen.count {
		return damaged("the last %d entries of the log are missing", v.seen.count-v.at.count)
	}
	cur, err := openCursor(ctx, q, "runs", runColumns)
	if err != nil {
		return err
	}
	defer cur.close()
	for {
		ok, err := cur.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		id := text(cur.values[0])
		if v.runs[id] != runDigest(cur.values) {
			return damaged("run %s: its row has changed", id)
		}
		delete(v.runs, id)
	}
	for id := range v.runs {
		return damaged("run %s: its row is missing", id)
	}
	return nil
}

// head is how far the chain has come: entries, and the hash of the last.
type head struct {
	count int64
	hash  string
}

// witnessName is the file that remembers the head outside of the database. SQLite drops
// what follows a damaged frame of its write-ahead log without a word; the witness shows
// that something is gone. It is written after each commit and not synced: after a power
// cut it may be behind, which proves nothing, and never ahead.
const witnessName = "journal.head"

// line returns the witness's text: the head and a check of it, so that a torn one is no
// witness. It has one length for all heads and is overwritten in place, which a full disk
// allows.
func (h head) line() string {
	text := fmt.Sprintf("%020d %s", h.count, h.hash)
	return text + " " + digest.SHA256Hex([]byte(text)) + "\n"
}

// openWitness opens the witness for [writeWitness].
func openWitness(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, witnessName), os.O_CREATE|os.O_WRONLY, 0o600)
}

// writeWitness remembers a head. A failure leaves the witness behind, which does no harm.
func writeWitness(f *os.File, at head) { _, _ = f.WriteAt([]byte(at.line()), 0) }

// readWitness reads what the witness knows; nothing when it is missing or torn.
func readWitness(dir string) (head, error) {
	text, err := os.ReadFile(filepath.Join(dir, witnessName))
	if errors.Is(err, fs.ErrNotExist) {
		return head{}, nil
	}
	if err != nil {
		return head{}, err
	}
	return parseWitness(string(text)), nil
}

func parseWitness(text string) head {
	var h head
	if n, err := fmt.Sscanf(text, "%d %64s", &h.count, &h.hash); n != 2 || err != nil || h.line() != text {
		return head{}
	}
	return h
}

// Quarantined is a damaged journal that was set aside. What it knew of open orders is not
// known any more: the reconciliation of the next live run finds them at the venue.
type Quarantined struct {
	// Path is the file now; its side files are beside it, with -wal, -shm and -head.
	Path string
	// Reason is what was found, for people.
	Reason string
	// Runs are the ids that could be read, Interrupted those of them without an end.
	Runs, Interrupted []string
	// Left are the rows of interrupted runs that could be read whole.
	Left []Info
}

// quarantine renames the journal with its side files. Nothing of it is changed.
func quarantine(ctx context.Context, path string, why *damageError, now time.Time) (*Quarantined, error) {
	q := &Quarantined{Reason: why.reason}
	q.salvage(ctx, path)
	dir := filepath.Dir(path)
	base := filepath.Join(dir, "journal-"+now.UTC().Format("20060102T150405Z"))
	for n := 1; ; n++ {
		q.Path = base + ".damaged"
		if n > 1 {
			q.Path = fmt.Sprintf("%s-%d.damaged", base, n)
		}
		if taken, err := filepath.Glob(q.Path + "*"); err != nil || len(taken) == 0 {
			break
		}
	}
	for _, f := range []struct{ from, to string }{
		{path, q.Path}, {path + "-wal", q.Path + "-wal"}, {path + "-shm", q.Path + "-shm"},
		{filepath.Join(dir, witnessName), q.Path + "-head"},
	} {
		if err := os.Rename(f.from, f.to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("set the damaged journal aside (%s): %w", why.reason, err)
		}
	}
	_ = file.SyncDir(dir)
	return q, nil
}

// salvage reads runs from a damaged file as far as it goes: first the ids, of which most can be read, then
// the rows of those without an end.
func (q *Quarantined) salvage(ctx context.Context, path string) {
	if !isFile(path) {
		return
	}
	db, err := sqlite.OpenReadOnly(ctx, path)
	if err != nil {
		return
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT run_id, ended_at FROM runs ORDER BY rowid")
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id, ended any
		if rows.Scan(&id, &ended) != nil {
			break
		}
		if s := text(id); runIDForm.MatchString(s) {
			q.Runs = append(q.Runs, s)
			if ended == nil {
				q.Interrupted = append(q.Interrupted, s)
			}
		}
	}
	for _, id := range q.Interrupted {
		one, err := db.QueryContext(ctx, "SELECT "+runColumns+" FROM runs WHERE run_id = ?", id)
		if err != nil {
			continue
		}
		if one.Next() {
			if info, err := scanRun(one); err == nil && info.check() == nil {
				q.Left = append(q.Left, info)
			}
		}
		_ = one.Close() // what can be read of a damaged file was read
	}
}
