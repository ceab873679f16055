package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The commands that show days which may be those of a test: what test_peeks names them.
const (
	LookRun      = "days of a run"
	LookFamily   = "days of a family"
	LookBacktest = "days of a backtest"
)

// Days are the candles with closes in [From, To].
type Days struct{ From, To market.Time }

// Windows say which days somebody is shown by a run, or by the trials of a plan, and which
// it keeps locked as its test.
type Windows struct {
	// ID is that of the run or the plan.
	ID, FamilyID  string
	Symbols       []string
	Shown, Locked []Days
	// Command is what shows them, Author who called it.
	Command, Author string
}

// roleTest is the role of the split that is locked.
const roleTest = "test"

// SplitDays are the days of splits: of those that are shown, and of the test.
func SplitDays(s *artifact.Splits) (shown, locked []Days) {
	for _, r := range s.Splits {
		if days := (Days{r.TSFrom, r.TSTo}); r.Role == roleTest {
			locked = append(locked, days)
		} else {
			shown = append(shown, days)
		}
	}
	return shown, locked
}

// Look notes which days are shown and which are locked. It is told before anything is
// shown. Where days that one run or plan shows are in the test of another, whichever came
// first, test_peeks gets a row for the family of that test: once for each that shows them.
func (r *Registry) Look(ctx context.Context, w Windows) error {
	err := r.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := insertWindows(ctx, tx, w); err != nil {
			return err
		}
		return r.meet(ctx, tx, w.ID)
	})
	return because(err, r.store.Root())
}

func insertWindows(ctx context.Context, tx *sql.Tx, w Windows) error {
	for locked, list := range [][]Days{w.Shown, w.Locked} {
		for _, days := range list {
			for _, symbol := range w.Symbols {
				if _, err := tx.ExecContext(ctx, `INSERT INTO windows (source_id, family_id, symbol, locked, from_at, to_at, command, author)
					VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
					w.ID, w.FamilyID, symbol, locked, int64(days.From), int64(days.To), w.Command, w.Author); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// meet notes the looks that a run or plan takes and those at its own test; of all with an
// empty id.
func (r *Registry) meet(ctx context.Context, tx *sql.Tx, id string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO test_peeks (at, run_id, family_id, command, author)
		SELECT DISTINCT ?1, s.source_id, t.family_id, s.command, s.author
		FROM windows s JOIN windows t ON t.symbol = s.symbol AND t.source_id <> s.source_id
			AND s.from_at <= t.to_at AND t.from_at <= s.to_at
		WHERE s.locked = 0 AND t.locked = 1 AND (?2 = '' OR s.source_id = ?2 OR t.source_id = ?2)
			AND NOT EXISTS (SELECT 1 FROM test_peeks p
				WHERE p.run_id = s.source_id AND p.family_id = t.family_id AND p.command = s.command)
		ORDER BY s.source_id, t.family_id`, market.FromTime(r.now()).String(), id)
	return err
}

// Lookers are the runs and plans through which somebody has seen days of a test: their
// own, revealed, or that of another.
func (r *Registry) Lookers(ctx context.Context) (ids map[string]bool, err error) {
	rows, err := r.db.Read().QueryContext(ctx, `SELECT DISTINCT run_id FROM test_peeks`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	ids = map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return ids, rows.Err()
}

// recallWindows notes the days of runs that were made before there was a table of them,
// once. Runs with equal splits have equal files, so that few are read.
func (r *Registry) recallWindows(ctx context.Context) error {
	const done = `SELECT EXISTS (SELECT 1 FROM registry_info WHERE key = 'windows_recalled')`
	var recalled bool
	if err := r.db.Read().QueryRowContext(ctx, done).Scan(&recalled); err != nil || recalled {
		return err
	}
	trials, err := r.Trials(ctx)
	if err != nil {
		return err
	}
	known := map[string]*artifact.Splits{}
	seen := map[string]bool{}
	var list []Windows
	for _, t := range trials {
		w := Windows{ID: t.RunID, FamilyID: t.FamilyID, Symbols: t.Meta.Symbols, Command: LookRun}
		switch t.Meta.Kind {
		case artifact.KindTrial:
			if t.Meta.PlanID != nil {
				w.ID = *t.Meta.PlanID
			}
			w.Command = LookFamily
		case artifact.KindService:
			w.Command = LookBacktest
		}
		s := r.splitsOf(t.Meta, known)
		if s == nil || seen[w.ID] {
			continue
		}
		seen[w.ID] = true
		w.Shown, w.Locked = SplitDays(s)
		list = append(list, w)
	}
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, w := range list {
			if err := insertWindows(ctx, tx, w); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO registry_info (key, value) VALUES ('windows_recalled', '1') ON CONFLICT DO NOTHING`)
		return errors.Join(err, r.meet(ctx, tx, ""))
	})
}

// splitsOf is the splits of a run, from its folder or that of one with the same; nil where
// there are none any more.
func (r *Registry) splitsOf(m *artifact.Metadata, known map[string]*artifact.Splits) *artifact.Splits {
	if s := known[m.SplitsSHA256]; s != nil {
		return s
	}
	text, err := os.ReadFile(filepath.Join(r.store.Dir(m.RunID), "splits.json"))
	s := &artifact.Splits{}
	if err != nil || json.Unmarshal(text, s) != nil {
		return nil
	}
	known[m.SplitsSHA256] = s
	return s
}
