package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Trial is a run by which a strategy could have been chosen: a run of the lab, a trial of a
// search, or a backtest of the service.
type Trial struct {
	// Key is equal for runs that try the same thing, whatever the seed and the engine.
	Key             string
	RunID, FamilyID string
	CompletedAt     string
	Meta            *artifact.Metadata
}

// Trials lists what has been tried, in every family, by every command and through the
// service, oldest first. What has failed, or was stopped, counts if it has metrics:
// they have been seen. Falsifications with their replays, paper and live runs, legacy
// rows, and rows that cannot be read do not.
func (r *Registry) Trials(ctx context.Context) ([]Trial, error) {
	type row struct {
		Trial
		status  string
		payload []byte
	}
	fields := func(t *row) []any {
		return []any{&t.Key, &t.RunID, &t.FamilyID, &t.status, &t.CompletedAt, &t.payload}
	}
	rows, err := collect(ctx, r.db.Read(), fields,
		`SELECT trial_key, run_id, family_id, status, completed_at, payload FROM run_metadata
		WHERE trial_key IS NOT NULL AND kind IN ('run', 'trial',
		'service') AND status <> 'running' AND completed_at IS NOT NULL
		ORDER BY completed_at, run_id`)
	var trials []Trial
	for _, t := range rows {
		t.Meta = &artifact.Metadata{}
		if json.Unmarshal(t.payload, t.Meta) == nil && tried(t.Meta, t.status) {
			trials = append(trials, t.Trial)
		}
	}
	return trials, err
}

// tried reports whether a run that has ended could have served a choice.
func tried(m *artifact.Metadata, status string) bool {
	if m.Kind == artifact.KindService && (m.Service == nil || m.Service.Mode != modeBacktest) {
		return false
	}
	measured := func(s artifact.SplitSummary) bool { return s.Metrics != artifact.Summary{} }
	return status == artifact.StatusCompleted || slices.ContainsFunc(m.Splits, measured)
}

// modeBacktest is the mode of runs of the service that play stored candles.
const modeBacktest = "backtest"

// Place is which trial a run was among all that were tried on its days, whatever the
// strategy, symbol, timeframe, exchange and command. Trials with the same daily returns
// are one.
type Place struct {
	// N counts the trials, Family those of the run's own family, Position those that there
	// were when the run ended, itself included.
	N        int `json:"n"`
	Family   int `json:"n_family"`
	Position int `json:"position"`
	// LookedAtTest reports whether the run has shown days that are the test of another, or that
	// its own test was revealed.
	LookedAtTest bool `json:"looked_at_test"`
	// HoldoutLooks counts the looks, through any run, at held out days of the run's markets.
	HoldoutLooks int `json:"holdout_looks"`
}

// NotCounted is the limit of every N, as it is shown beside it.
const NotCounted = "searches elsewhere and charts seen before are not in it"

// String returns the place in a phrase, as it is shown beside a Sharpe ratio.
func (p Place) String() string {
	text := fmt.Sprintf("trial %d of %d on these days", p.Position, p.N)
	if p.Family < p.N {
		text += fmt.Sprintf(", %d of them of its family", p.Family)
	}
	if p.LookedAtTest {
		text += "; a test was seen through it"
	}
	switch {
	case p.HoldoutLooks == 1:
		text += "; 1 look at the hold-out so far"
	case p.HoldoutLooks > 1:
		text += fmt.Sprintf("; %d looks at the hold-out so far", p.HoldoutLooks)
	}
	return text + " (" + NotCounted + ")"
}

// PlannedTrial is a trial of a registered plan.
type PlannedTrial struct {
	// PlanID names the plan of the strategy Slug, Index the trial in it.
	PlanID, Slug string
	Index        int64
}

// Planned lists the trials of a family's plans that have a trial key, oldest first: each
// that was begun, however it went.
func (r *Registry) Planned(ctx context.Context, familyID, trialKey string) ([]PlannedTrial, error) {
	fields := func(t *PlannedTrial) []any { return []any{&t.PlanID, &t.Slug, &t.Index} }
	return collect(ctx, r.db.Read(), fields, `SELECT m.plan_id, m.slug, m.trial_index FROM run_metadata m
		WHERE m.family_id = ? AND m.trial_key = ? AND m.kind = 'trial' AND m.trial_index IS NOT NULL
			AND m.plan_id IN (SELECT plan_id FROM plans)
		ORDER BY m.completed_at, m.run_id`, familyID, trialKey)
}

// NewestPlan returns the id of the plan that was registered last for a strategy, "" if none
// was.
func (r *Registry) NewestPlan(ctx context.Context, slug string) (planID string, err error) {
	err = r.db.Read().QueryRowContext(ctx, `SELECT COALESCE((SELECT plan_id FROM plans WHERE slug = ?
		ORDER BY registered_at DESC, plan_id DESC LIMIT 1), '')`, slug).Scan(&planID)
	return planID, err
}

// Peek is one look at the locked test metrics of a run: a row of test_peeks.
type Peek struct {
	// At is when the look was noted, like 2024-01-01T00:00:00.000Z; Peek sets it.
	At string
	// FamilyID is that of the test that was looked at, RunID the run through which.
	RunID, FamilyID string
	// Command is what was called, Author who called it, Reason why, empty where it was not asked.
	Command, Author, Reason string
}

// Peek notes a look at test metrics. It comes before they are shown, so that a
// crash between the two counts one look too many and never one too few.
func (r *Registry) Peek(ctx context.Context, p Peek) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO test_peeks (at, run_id, family_id, command, author, reason)
			VALUES (?, ?, ?, ?, ?, ?)`, market.FromTime(r.now()).String(), p.RunID, p.FamilyID, p.Command,
			p.Author, p.Reason); err != nil {
			return err
		}
		return r.Markets().noteLooks(ctx, tx, p.RunID, 1, p.Command, p.Author)
	})
}

// Peeks lists the looks at the test metrics of a family, oldest first.
func (r *Registry) Peeks(ctx context.Context, familyID string) ([]Peek, error) {
	fields := func(p *Peek) []any {
		return []any{&p.At, &p.RunID, &p.FamilyID, &p.Command, &p.Author, &p.Reason}
	}
	return collect(ctx, r.db.Read(), fields, `SELECT at, run_id, family_id, command, author, reason
		FROM test_peeks
		WHERE family_id = ? ORDER BY id`, familyID)
}

// PostPeek reports whether a trial would be new to a family whose test metrics
// have been seen: no request with its trial key was made before the first look. A request
// keeps the time at which it was first made however often it is executed again, so the
// answer for a run does not change. Looks through own, the run itself or its plan, do not
// count: none comes before it.
func (r *Registry) PostPeek(ctx context.Context, familyID, trialKey string,
	own ...string) (post bool, err error) {
	names, err := json.Marshal(append([]string{}, own...))
	if err != nil {
		return false, err
	}
	err = r.db.Read().QueryRowContext(ctx,
		`WITH looks AS (SELECT at FROM test_peeks WHERE family_id = ?1
			AND run_id NOT IN `+r.each("?3")+`)
		SELECT EXISTS (SELECT 1 FROM looks) AND NOT EXISTS (
			SELECT 1 FROM run_metadata m JOIN request_runs q ON q.request_hash = m.request_hash
			WHERE m.family_id = ?1 AND m.trial_key = ?2 AND m.kind IN ('run', 'trial')
			AND q.created_at < (SELECT MIN(at) FROM looks)
		)`, familyID, trialKey, string(names)).Scan(&post)
	return post, err
}

// The commands that show days which may be those of a test: what test_peeks names them.
const (
	LookRun      = "days of a run"
	LookFamily   = "days of a family"
	LookBacktest = "days of a backtest"
)

// Days are the candles with closes in [From, To].
type Days struct{ From, To market.Time }

// Windows are the days that a run, or the trials of a plan, shows, and those that
// it keeps locked as its test.
type Windows struct {
	// ID is that of the run or the plan.
	ID, FamilyID  string
	Symbols       []string
	Shown, Locked []Days
	// Data are the candles of the symbols.
	Data []artifact.Dataset
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

// Look notes which days are shown and which are locked. It comes before anything is
// shown. Where days that one run or plan shows are in the test of another, whichever came
// first, test_peeks gets a row for the family of that test: once for each that shows them;
// where they are held out, looks gets one.
func (r *Registry) Look(ctx context.Context, w Windows) error {
	err := r.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := insertWindows(ctx, tx, w); err != nil {
			return err
		}
		return errors.Join(r.meet(ctx, tx, w.ID), r.Markets().noteLooks(ctx, tx, w.ID, 0, "", ""))
	})
	return because(err, r.store.Root())
}

func insertWindows(ctx context.Context, tx *sql.Tx, w Windows) error {
	datasets := map[string]string{}
	for _, d := range w.Data {
		datasets[d.Symbol] = d.SHA256
	}
	for locked, list := range [][]Days{w.Shown, w.Locked} {
		for _, days := range list {
			for _, symbol := range w.Symbols {
				if _, err := tx.ExecContext(ctx,
					`INSERT INTO windows (source_id, family_id, symbol, locked, from_at, to_at, command,
						author, dataset)
					VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
					w.ID, w.FamilyID, symbol, locked, int64(days.From), int64(days.To), w.Command,
					w.Author, datasets[symbol]); err != nil {
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

// Lookers are the runs and plans through which days of a test have been seen: their
// own, revealed, or that of another.
func (r *Registry) Lookers(ctx context.Context) (map[string]bool, error) {
	list, err := collect(ctx, r.db.Read(), func(id *string) []any {
		return []any{id}
	}, `SELECT DISTINCT run_id FROM test_peeks`)
	ids := map[string]bool{}
	for _, id := range list {
		ids[id] = true
	}
	return ids, err
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
		w := Windows{ID: t.RunID, FamilyID: t.FamilyID, Symbols: t.Meta.Symbols, Data: t.Meta.Data,
			Command: LookRun}
		switch t.Meta.Kind {
		case artifact.KindTrial:
			if t.Meta.PlanID != nil {
				w.ID = *t.Meta.PlanID
			}
			w.Command = LookFamily
		case artifact.KindService:
			w.Command = LookBacktest
		}
		s := splitsOf(r.store, t.Meta, known)
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
		_, err := tx.ExecContext(ctx,
			`INSERT INTO registry_info (key, value) VALUES ('windows_recalled', '1') ON CONFLICT DO NOTHING`)
		return errors.Join(err, r.meet(ctx, tx, ""))
	})
}

// splitsOf returns the splits of a run, from its folder or that of one with the same; nil where
// there are none any more.
func splitsOf(store *artifact.Store, m *artifact.Metadata,
	known map[string]*artifact.Splits) *artifact.Splits {
	if s := known[m.SplitsSHA256]; s != nil {
		return s
	}
	text, err := os.ReadFile(filepath.Join(store.Dir(m.RunID), "splits.json"))
	s := &artifact.Splits{}
	if err != nil || json.Unmarshal(text, s) != nil {
		return nil
	}
	known[m.SplitsSHA256] = s
	return s
}

// Daily is the daily net returns of a run as they were derived once, so that thousands
// of curves need not be read again: a row of daily_returns.
type Daily struct {
	RunID string
	// Source is the SHA-256 of what they were derived from, in lower-case hex. Content is
	// theirs who derive them; empty means that there are no such returns.
	Source  string
	Content []byte
}

// KeptDaily returns the daily returns that are kept, by run id.
func (r *Registry) KeptDaily(ctx context.Context) (map[string]Daily, error) {
	fields := func(d *Daily) []any { return []any{&d.RunID, &d.Source, &d.Content} }
	list, err := collect(ctx, r.db.Read(), fields, `SELECT run_id, source_sha256, content FROM daily_returns`)
	kept := map[string]Daily{}
	for _, d := range list {
		kept[d.RunID] = d
	}
	return kept, err
}

// KeepDaily keeps daily returns, in the place of what was kept of the same runs.
func (r *Registry) KeepDaily(ctx context.Context, list []Daily) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, d := range list {
			if _, err := tx.ExecContext(ctx,
				`INSERT INTO daily_returns (run_id, source_sha256, content) VALUES (?, ?, ?)
				ON CONFLICT (run_id) DO UPDATE SET source_sha256 = excluded.source_sha256,
				content = excluded.content`,
				d.RunID, d.Source, append([]byte{}, d.Content...)); err != nil {
				return err
			}
		}
		return nil
	})
}
