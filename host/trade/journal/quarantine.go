package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/sqlite"
)

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
		{path, q.Path}, {path + "-wal", q.Path + "-wal"}, {path + "-shm", q.Path + "-shm"}, {filepath.Join(dir, witnessName), q.Path + "-head"},
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
