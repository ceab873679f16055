// Package registry keeps one row per run in <state_dir>/runs/registry.sqlite3: what
// was asked, how it stands, and a copy of its metadata.json. A team shares one in PostgreSQL: what was
// tried, looked at and held out then counts for all of them, while the files of a run stay where it was made.
//
// A run's rows are made when it begins (status running) and completed in one
// transaction after package artifact has put its files in place. ListMetadata is the
// one way to enumerate runs, for CLI, comparison, API and packing.
//
// It also counts what people should not have to be asked: Trials is what has been tried
// in a family, Peeks who has looked at the locked test metrics, PostPeek whether a trial
// comes after such a look.
//
// A crash can come between any two of these steps. The next Open settles it: a
// folder that is whole but whose row is still running is verified and adopted, one
// that does not verify moves to runs/.orphan/, and InterruptService marks the runs
// of the service that will never end. Several processes may use the file at once.
//
// Every exported method is one transaction. The package imports sqlite, artifact and
// result.
package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/sqlite"
)

//go:embed schema/*.sql schema/postgres/*.sql
var schema embed.FS

// FileName is the database's name in the folder of runs.
const FileName = "registry.sqlite3"

// ErrNotFound means that there is no such run or request.
var ErrNotFound = errors.New("not in the registry")

// ExistsError means that a run id is taken.
type ExistsError struct{ RunID string }

// Error names the run.
func (e *ExistsError) Error() string { return "run " + e.RunID + " is in the registry already" }

// Registry is the open registry of one state directory.
type Registry struct {
	db database
	// place is the state directory's name among those that share the registry, "" where none does.
	place string
	store *artifact.Store
	log   hclog.Logger
	now   func() time.Time
	// warnings are what a person should know since the registry was opened.
	warnings []Warning
}

// Warning is something that a person should mend.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Warnings returns what was found amiss when the registry was opened. Commands show it.
func (r *Registry) Warnings() []Warning { return r.warnings }

func (r *Registry) warn(code, message string) {
	r.warnings = append(r.warnings, Warning{code, message})
	r.log.Warn(message, "code", code)
}

// Open opens or creates the registry of a store and settles what a crash left
// behind. The logger may be nil.
func Open(ctx context.Context, store *artifact.Store, log hclog.Logger) (*Registry, error) {
	return OpenAt(ctx, "", store, log)
}

// OpenAt is Open of the registry in a database of PostgreSQL at an address, or in the store's own file where
// that is empty.
func OpenAt(ctx context.Context, address string, store *artifact.Store,
	log hclog.Logger) (_ *Registry, err error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	r := &Registry{store: store, log: log, now: time.Now}
	if r.db, err = openDatabase(ctx, address, store.Root()); err == nil && address != "" {
		r.place, err = placeOf(store.Root())
	}
	if err == nil {
		err = errors.Join(r.importLegacy(ctx), settler{r}.settle(ctx), r.recallWindows(ctx))
	}
	if err != nil {
		err = fmt.Errorf("registry: %w", because(explain(err, store), store.Root()))
		if r.db != nil {
			err = errors.Join(err, r.db.Close())
		}
		return nil, err
	}
	return r, nil
}

// explain adds the way out to an error of a damaged file. It is not taken without a
// person: what would be lost counts against strategies.
func explain(err error, store *artifact.Store) error {
	return sqlite.ExplainDamage(err, filepath.Join(store.Root(), FileName),
		"The registry is then made anew from the folders of the runs. "+
			"Lost are the runs without a whole folder (failed before they could write, interrupted), "+
			"the plans of families and the looks at test splits.")
}

// because adds the system's error where the folder of a database cannot be written to:
// SQLite only reports that it could not.
func because(err error, dir string) error {
	if err == nil {
		return nil
	}
	f, cause := os.CreateTemp(dir, ".tmp-")
	if cause == nil {
		_, cause = f.Write(make([]byte, 4096)) // a full disk may still have room for a name
		cause = errors.Join(cause, f.Close(), os.Remove(f.Name()))
	}
	if cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// Close closes the database.
func (r *Registry) Close() error { return r.db.Close() }

// SchemaVersion reads the version of the tables: a cheap check that the registry answers.
func (r *Registry) SchemaVersion(ctx context.Context) (version int, err error) {
	err = r.db.Read().QueryRowContext(ctx,
		`SELECT value FROM registry_info WHERE key = 'schema_version'`).Scan(&version)
	return version, err
}

// NewOwner names this process as the holder of a lease, each time differently:
// <host>:<pid>:<process>-<random>, where <process> distinguishes it from another one that gets
// the same number later, or has it in another container.
func NewOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var unique [4]byte
	_, _ = rand.Read(unique[:]) // never fails
	birth, _ := processBirth(os.Getpid())
	return fmt.Sprintf("%s:%d:%s.%s-%s", host, os.Getpid(), pidSpace(), birth, hex.EncodeToString(unique[:]))
}

// gone reports whether the process that holds a lease has certainly ended, so that there is no need
// to wait for the lease to run out. Of a process on another machine or in another
// container, and where there is no /proc, nothing is certain.
func gone(owner string) bool {
	parts := strings.Split(owner, ":")
	if len(parts) != 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	host, hostErr := os.Hostname()
	if err != nil || hostErr != nil || parts[0] != host {
		return false
	}
	process, _, _ := strings.Cut(parts[2], "-")
	space, birth, ok := strings.Cut(process, ".")
	if !ok || space == "" || birth == "" || space != pidSpace() {
		return false
	}
	if _, err := processBirth(1); err != nil {
		return false // the processes of others are hidden
	}
	now, err := processBirth(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return err == nil && now != birth
}

// pidSpace returns the namespace that process numbers count in, "" where there is none.
func pidSpace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
}

// processBirth is when a process began, in ticks since the machine did: the 22nd field of
// its stat, counted behind the name, which may hold anything.
func processBirth(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return "", errors.New("stat of a process is too short")
	}
	if fields[0] == "Z" {
		return "", fs.ErrNotExist // it has ended, only its parent has not waited for it
	}
	return fields[19], nil
}

// Run is a row of run_metadata.
type Run struct {
	RunID, RequestHash, Slug, FamilyID, Kind, Status string
	// TrialKey, PlanID and CompletedAt are empty where there is none.
	TrialKey, PlanID string
	TrialIndex       sql.NullInt64
	CompletedAt      string
	// Payload is the bytes of metadata.json; artifact.DecodeMetadata reads them.
	Payload []byte
}

// Request is a row of request_runs.
type Request struct {
	RequestHash, RunID, Kind, Status string
	Attempt                          int
	Owner, LeaseUntil                string // empty where there is none
	CreatedAt, UpdatedAt             string
}

// Filter narrows ListMetadata; empty fields mean everything.
type Filter struct {
	Slug, FamilyID, Kind, Status string
}

const selectRun = `SELECT run_id, request_hash, slug, family_id, kind, status, COALESCE(trial_key, ''),
	COALESCE(plan_id, ''), trial_index, COALESCE(completed_at, ''), payload FROM run_metadata `

// runFields are where the columns of selectRun go.
func runFields(m *Run) []any {
	return []any{&m.RunID, &m.RequestHash, &m.Slug, &m.FamilyID, &m.Kind, &m.Status, &m.TrialKey,
		&m.PlanID, &m.TrialIndex, &m.CompletedAt, &m.Payload}
}

// ListMetadata lists runs by completed_at, then run_id; running ones come last.
func (r *Registry) ListMetadata(ctx context.Context, f Filter) ([]Run, error) {
	return collect(ctx, r.db.Read(), runFields, selectRun+`
		WHERE ?1 IN ('', slug) AND ?2 IN ('', family_id) AND ?3 IN ('', kind) AND ?4 IN ('', status)
		ORDER BY completed_at IS NULL, completed_at, run_id`, f.Slug, f.FamilyID, f.Kind, f.Status)
}

// Get returns one run. The error is ErrNotFound if there is none.
func (r *Registry) Get(ctx context.Context, runID string) (Run, error) {
	runs, err := collect(ctx, r.db.Read(), runFields, selectRun+`WHERE run_id = ?`, runID)
	if err != nil {
		return Run{}, err
	}
	if len(runs) == 0 {
		return Run{}, fmt.Errorf("run %s: %w", runID, ErrNotFound)
	}
	return runs[0], nil
}

// Naming calls visit with every text of the registry that may name a dataset or a program by its
// hash: what runs and plans say, and the datasets that were shown.
func (r *Registry) Naming(ctx context.Context, visit func(text []byte)) error {
	fields := func(text *[]byte) []any { return []any{text} }
	for _, query := range []string{`SELECT payload FROM run_metadata UNION ALL SELECT payload FROM plans`,
		`SELECT DISTINCT dataset FROM windows`} {
		texts, err := collect(ctx, r.db.Read(), fields, query)
		if err != nil {
			return err
		}
		for _, text := range texts {
			visit(text)
		}
	}
	return nil
}

const selectRequest = `SELECT request_hash, run_id, kind, status, attempt, COALESCE(owner, ''),
	COALESCE(lease_until, ''), created_at, updated_at FROM request_runs WHERE request_hash = ?`

func requestFields(q *Request) []any {
	return []any{&q.RequestHash, &q.RunID, &q.Kind, &q.Status, &q.Attempt, &q.Owner, &q.LeaseUntil,
		&q.CreatedAt, &q.UpdatedAt}
}

// GetRequest returns the row of a request. The error is ErrNotFound if it was never asked.
func (r *Registry) GetRequest(ctx context.Context, requestHash string) (Request, error) {
	q := Request{}
	err := r.db.Read().QueryRowContext(ctx, selectRequest, requestHash).Scan(requestFields(&q)...)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("request %s: %w", requestHash, ErrNotFound)
	}
	return q, err
}

// collect reads every row of a query into the fields of a value each.
func collect[T any](ctx context.Context, q sqlite.Querier, fields func(*T) []any, query string,
	args ...any) (list []T, err error) {
	err = sqlite.Query(ctx, q, func(scan sqlite.Scanner) error {
		var v T
		err := scan(fields(&v)...)
		list = append(list, v)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// exec returns a transaction of one statement.
func (r *Registry) exec(ctx context.Context, query string, args ...any) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// Begin makes the rows of a run that begins, from artifact.Begun. The error is an
// *ExistsError when the run id is taken. The first run of a request stays the one
// that answers it.
func (r *Registry) Begin(ctx context.Context, m *artifact.Metadata) error {
	payload, err := m.Encode()
	if err != nil {
		return err
	}
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		added, err := affected(insertMetadata(ctx, tx, m, payload, `ON CONFLICT (run_id) DO NOTHING`))
		if err != nil {
			return err
		}
		if added == 0 {
			return &ExistsError{RunID: m.RunID}
		}
		if r.place != "" {
			if _, err := tx.ExecContext(ctx, `UPDATE run_metadata SET place = ? WHERE run_id = ?`, r.place,
				m.RunID); err != nil {
				return err
			}
		}
		_, err = insertRequest(ctx, tx, requestOf(m), `ON CONFLICT (request_hash) DO NOTHING`)
		return err
	})
}

// Complete ends both rows of a run whose files are in place; payload is the bytes of
// its metadata.json. Rows that are missing are made.
func (r *Registry) Complete(ctx context.Context, m *artifact.Metadata, payload []byte) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error { return end(ctx, tx, m, payload) })
}

// Fail ends both rows of a run that has no files.
func (r *Registry) Fail(ctx context.Context, m *artifact.Metadata, why *artifact.Failure) error {
	failed := *m
	failed.Fail(why, r.now())
	payload, err := failed.Encode()
	if err != nil {
		return err
	}
	return r.db.Tx(ctx, func(tx *sql.Tx) error { return end(ctx, tx, &failed, payload) })
}

func end(ctx context.Context, tx *sql.Tx, m *artifact.Metadata, payload []byte) error {
	_, err := insertMetadata(ctx, tx, m, payload, `ON CONFLICT (run_id) DO UPDATE
		SET status = excluded.status, completed_at = excluded.completed_at, payload = excluded.payload,
		plan_id = excluded.plan_id, trial_index = excluded.trial_index`)
	if err != nil {
		return err
	}
	// Rows of the same request that belong to another run keep their state.
	_, err = insertRequest(ctx, tx, requestOf(m), `ON CONFLICT (request_hash) DO UPDATE
		SET status = excluded.status, owner = NULL, lease_until = NULL, updated_at = excluded.updated_at
		WHERE request_runs.run_id = excluded.run_id`)
	return err
}

func insertMetadata(ctx context.Context, tx *sql.Tx, m *artifact.Metadata, payload []byte,
	conflict string) (sql.Result, error) {
	row := Run{
		RunID: m.RunID, RequestHash: m.RequestHash, Slug: m.Slug, FamilyID: m.FamilyID, Kind: m.Kind,
		Status: m.Status, TrialKey: m.TrialKey, Payload: payload,
	}
	if m.PlanID != nil {
		row.PlanID = *m.PlanID
	}
	if m.TrialIndex != nil {
		row.TrialIndex = sql.NullInt64{Int64: int64(*m.TrialIndex), Valid: true}
	}
	if m.Volatile.CompletedAt != 0 {
		row.CompletedAt = m.Volatile.CompletedAt.String()
	}
	return insertRun(ctx, tx, row, conflict)
}

func insertRun(ctx context.Context, tx *sql.Tx, m Run, conflict string) (sql.Result, error) {
	return tx.ExecContext(ctx, `INSERT INTO run_metadata
		(run_id, request_hash, slug, family_id, kind, status, trial_key, plan_id, trial_index,
		completed_at, payload)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) `+conflict,
		m.RunID, m.RequestHash, m.Slug, m.FamilyID, m.Kind, m.Status, orNull(m.TrialKey), orNull(m.PlanID),
		m.TrialIndex, orNull(m.CompletedAt), m.Payload)
}

// requestOf returns the row of the request that a run answers, without a lease.
func requestOf(m *artifact.Metadata) Request {
	return Request{
		RequestHash: m.RequestHash, RunID: m.RunID, Kind: m.Kind, Status: m.Status, Attempt: m.Attempt,
		CreatedAt: m.Volatile.StartedAt.String(),
		UpdatedAt: cmp.Or(m.Volatile.CompletedAt, m.Volatile.StartedAt).String(),
	}
}

func insertRequest(ctx context.Context, tx *sql.Tx, q Request, conflict string) (sql.Result, error) {
	return tx.ExecContext(ctx, `INSERT INTO request_runs
		(request_hash, run_id, kind, status, attempt, owner, lease_until, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) `+conflict,
		q.RequestHash, q.RunID, q.Kind, q.Status, q.Attempt, orNull(q.Owner), orNull(q.LeaseUntil),
		q.CreatedAt, q.UpdatedAt)
}

// CodeRunInterrupted is the code of a run that ended with the service, without warning.
const CodeRunInterrupted = "RUN_INTERRUPTED"

// InterruptService marks the runs of the service that are still running as failed,
// CodeRunInterrupted, and returns them. Call it when the service starts, before its
// first run: whoever had them is gone. Where several services share the registry, they are those of this
// state directory.
func (r *Registry) InterruptService(ctx context.Context) ([]*artifact.Metadata, error) {
	var marked []*artifact.Metadata
	now := r.now()
	err := r.db.Tx(ctx, func(tx *sql.Tx) error {
		query, args := selectRun+`WHERE status = 'running' AND kind = 'service'`, []any{}
		if r.place != "" {
			query, args = query+` AND place = ?`, append(args, r.place)
		}
		rows, err := collect(ctx, tx, runFields, query+` ORDER BY run_id`, args...)
		if err != nil {
			return err
		}
		for _, row := range rows {
			m, err := artifact.DecodeMetadata(row.Payload)
			if err != nil {
				return err
			}
			m.Fail(&artifact.Failure{
				Code: CodeRunInterrupted, Message: "The service ended without warning while the run was on.",
				LogTail: []string{}, Data: map[string]any{},
			}, now)
			payload, err := m.Encode()
			if err != nil {
				return err
			}
			if err := end(ctx, tx, m, payload); err != nil {
				return err
			}
			marked = append(marked, m)
		}
		return nil
	})
	if err != nil {
		return nil, explain(err, r.store)
	}
	for _, m := range marked {
		r.log.Warn("a run was cut short when the service ended", "run_id", m.RunID, "slug", m.Slug)
	}
	return marked, nil
}

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func orNull(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }
