package registry

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/sqlite"
)

//go:embed schema/*.sql
var schema embed.FS

// FileName is the database's name in the folder of runs.
const FileName = "registry.sqlite3"

// ErrNotFound says that there is no such run or request.
var ErrNotFound = errors.New("not in the registry")

// ExistsError says that a run id is taken.
type ExistsError struct{ RunID string }

// Error names the run.
func (e *ExistsError) Error() string { return "run " + e.RunID + " is in the registry already" }

// Registry is the open registry of one state directory.
type Registry struct {
	db    *sqlite.DB
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

// Warnings is what was found amiss when the registry was opened. Commands show it.
func (r *Registry) Warnings() []Warning { return r.warnings }

func (r *Registry) warn(code, message string) {
	r.warnings = append(r.warnings, Warning{code, message})
	r.log.Warn(message, "code", code)
}

// Open opens or creates the registry of a store and settles what a crash left
// behind. The logger may be nil.
func Open(ctx context.Context, store *artifact.Store, log hclog.Logger) (*Registry, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	migrations, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, filepath.Join(store.Root(), FileName), migrations, sqlite.Full)
	if err != nil {
		return nil, fmt.Errorf("registry: %w", because(explain(err, store), store.Root()))
	}
	r := &Registry{db: db, store: store, log: log, now: time.Now}
	if err := errors.Join(r.importLegacy(ctx), r.settle(ctx), r.recallWindows(ctx)); err != nil {
		return nil, errors.Join(fmt.Errorf("registry: %w", because(explain(err, store), store.Root())), db.Close())
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

// because adds what the system says where the folder of a database cannot be written to:
// SQLite only says that it could not.
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
	err = r.db.Read().QueryRowContext(ctx, `SELECT value FROM registry_info WHERE key = 'schema_version'`).Scan(&version)
	return version, err
}
