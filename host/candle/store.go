// Package candle is the candle store: immutable, content-addressed column files and a
// catalogue of which of them is which.
//
// Import reads files from elsewhere (package importer), Put stores candles that are
// at hand, and the sample that comes with the program is installed by the first Open.
// Each becomes a file <state_dir>/data/candles/<sha256>.candles (package candlefile)
// and a row in <state_dir>/data/catalog.sqlite3, with the gaps, the calendar and the
// price step found in it. A later import of the same series becomes the current
// dataset; the earlier one stays, for runs that pinned its hash.
//
// Lookup answers a request for exchange, symbol and timeframe; a timeframe that is
// not stored is resampled from the largest stored one that divides it, and kept.
// OpenSeries maps the file and checks it, every time. Several processes may share
// one store: files appear complete or not at all, and the catalogue is read anew for
// each request.
//
// A run of a plugin gets a Folder with a file of exactly the rows that it may see. The
// files are kept below <state_dir>/data/windows for the next run that may see the same.
//
// It imports digest, sqlite, file, importer and sample beside the SDK. Runs get their
// candles from here; nothing here knows of runs.
package candle

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/sqlite"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// CatalogName is the name of the catalogue in the folder data of a state directory.
	CatalogName = "catalog.sqlite3"

	fileSuffix = ".candles"
	// tempAge is how old a temporary file of a crash is at least.
	tempAge = time.Hour
)

// Store is an open candle store. Its methods may be called from several goroutines.
type Store struct {
	dir string
	db  *sqlite.DB // nil: the catalogue is memory

	resampling sync.Mutex // one at a time: two callers often ask for the same
	windows    windows

	mu       sync.Mutex
	verified map[string]bool   // hashes whose file this process has hashed
	damaged  map[string]string // by hash: the newest look at the file has found this
	gaps     map[string][]Gap  // by hash and calendar: of files with more than the catalogue lists
	memory   []Dataset
}

// Open opens or creates the store below the state directory and installs the sample
// candles where they are missing.
func Open(ctx context.Context, stateDir string) (*Store, error) {
	dir := filepath.Join(stateDir, "data")
	files := filepath.Join(dir, "candles")
	if err := os.MkdirAll(files, 0o700); err != nil {
		return nil, err
	}
	schema, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, CatalogName)
	explain := func(err error) error {
		return sqlite.ExplainDamage(err, path, "The bundled candles come back by themselves. "+
			"Import the others again (lab data import): equal candles have the same hash as before, "+
			"so that earlier runs find them.")
	}
	db, err := sqlite.Open(ctx, path, schema, sqlite.Normal)
	if err != nil {
		return nil, explain(err)
	}
	s := &Store{dir: files, db: db, verified: map[string]bool{}, damaged: map[string]string{},
		gaps: map[string][]Gap{}}
	s.windows.dir = filepath.Join(dir, "windows")
	if err := errors.Join(removeLeftovers(files), s.installSample(ctx)); err != nil {
		return nil, errors.Join(explain(err), db.Close())
	}
	return s, nil
}

// Close closes the catalogue and removes the folders of runs. Files opened by OpenSeries
// stay open.
func (s *Store) Close() error {
	err := s.windows.close()
	if s.db == nil {
		return err
	}
	return errors.Join(err, s.db.Close())
}

// Path returns where the candle file with this hash is.
func (s *Store) Path(sha256 string) string { return filepath.Join(s.dir, fileName(sha256)) }

func fileName(sha256 string) string { return sha256 + fileSuffix }

// Drop removes the earlier datasets with this hash from the catalogue, and then their file, which
// has no row any more if a crash comes in between. It removes nothing and reports false where one
// of them is current.
func (s *Store) Drop(ctx context.Context, sha256 string) (dropped bool, err error) {
	if s.db == nil {
		return false, errors.New("a temporary store drops nothing")
	}
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		var current int
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM datasets WHERE sha256 = ? AND current = 1`,
			sha256).Scan(&current)
		if err != nil || current > 0 {
			return err
		}
		dropped = true
		_, err = tx.ExecContext(ctx, `DELETE FROM datasets WHERE sha256 = ?`, sha256)
		return err
	})
	if err != nil || !dropped {
		return false, err
	}
	s.mu.Lock()
	delete(s.verified, sha256)
	s.mu.Unlock()
	if err := os.Remove(s.Path(sha256)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	return true, file.SyncDir(s.dir)
}

// removeLeftovers removes the temporary files that a crash has left in a folder.
func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), file.TempPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > tempAge {
			_ = os.Remove(filepath.Join(dir, e.Name())) // the next call tries again
		}
	}
	return nil
}

// OpenSeries maps the candles of a dataset. Header and checksum are checked each
// time, the hash of the whole file once per process. What does not fit is a
// *candlefile.CorruptError; a missing file is one, too. The Series of the File has no
// Symbol: take it from the dataset.
func (s *Store) OpenSeries(d Dataset) (*candlefile.File, error) {
	f, err := s.openSeries(d)
	corrupt, damaged := errors.AsType[*candlefile.CorruptError](err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if damaged {
		s.damaged[d.SHA256] = fmt.Sprintf("the candles %s are damaged: %s", d.ID, corrupt.Reason)
	} else if err == nil {
		delete(s.damaged, d.SHA256)
	}
	return f, err
}

// Damaged names the datasets whose files were found damaged when they were last opened.
func (s *Store) Damaged() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Values(s.damaged))
}

func (s *Store) openSeries(d Dataset) (*candlefile.File, error) {
	path := s.Path(d.SHA256)
	f, err := candlefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &candlefile.CorruptError{Path: path, Reason: "the file is gone: import the candles again"}
	}
	if err != nil {
		return nil, err
	}
	if err := s.verify(f, d); err != nil {
		return nil, errors.Join(&candlefile.CorruptError{Path: path, Reason: err.Error()}, f.Close())
	}
	return f, nil
}

// verify holds an open file against its row in the catalogue.
func (s *Store) verify(f *candlefile.File, d Dataset) error {
	c := f.Series()
	if c.Len() != d.Rows || c.Timeframe != d.Timeframe || c.Time[0] != d.First ||
		c.Time[c.Len()-1] != d.Last {
		return fmt.Errorf(
			"it holds %d candles of %s from %s to %s, the catalogue says %d of %s from %s to %s",
			c.Len(), c.Timeframe, c.Time[0], c.Time[c.Len()-1], d.Rows, d.Timeframe, d.First, d.Last)
	}
	s.mu.Lock()
	known := s.verified[d.SHA256]
	s.mu.Unlock()
	if known {
		return nil
	}
	if got := f.SHA256(); got != d.SHA256 {
		return fmt.Errorf("its SHA-256 is %s", got)
	}
	s.mu.Lock()
	s.verified[d.SHA256] = true
	s.mu.Unlock()
	return nil
}

// Temporary makes a store of exactly these candles for as long as a few runs last:
// their files in the existing folder dir, which the caller removes after Close, and the
// catalogue in memory. Nothing is synced to disk and no sample is installed; any
// exchange may be named. To a run it is like any other store. The errors are those
// of Put.
func Temporary(ctx context.Context, dir string, sets []PutRequest) (*Store, error) {
	s := &Store{dir: dir, verified: map[string]bool{}, damaged: map[string]string{},
		gaps: map[string][]Gap{}}
	s.windows.dir = filepath.Join(dir, "windows")
	for _, set := range sets {
		if _, err := s.put(ctx, set, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// held returns the datasets of a catalogue in memory that keep picks.
func (s *Store) held(keep func(*Dataset) bool) []Dataset {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Dataset{}
	for _, d := range s.memory {
		if keep(&d) {
			list = append(list, d)
		}
	}
	return list
}

// hold is insert for a catalogue in memory, where nothing arrives at once.
func (s *Store) hold(d Dataset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.memory[:0:0]
	for _, old := range s.memory {
		if old.Exchange == d.Exchange && old.Symbol == d.Symbol && old.Timeframe == d.Timeframe {
			if old.SHA256 == d.SHA256 {
				continue
			}
			old.Current = false
		}
		kept = append(kept, old)
	}
	s.memory = append(kept, d)
}

// Checked is what Check found out about one dataset.
type Checked struct {
	// Problem is empty for a sound file.
	Problem string
	// Gaps as counted now; empty when there is a problem.
	Gaps GapReport
}

// Check hashes the file of a dataset again, holds it against the catalogue and counts
// its gaps. A damaged file is a Problem, not an error.
func (s *Store) Check(ctx context.Context, d Dataset) (Checked, error) {
	if ctx.Err() != nil {
		return Checked{}, context.Cause(ctx)
	}
	s.mu.Lock()
	delete(s.verified, d.SHA256)
	s.mu.Unlock()
	f, err := s.OpenSeries(d)
	if corrupt, ok := errors.AsType[*candlefile.CorruptError](err); ok {
		return Checked{Problem: corrupt.Reason}, nil
	}
	if err != nil {
		return Checked{}, err
	}
	c := Checked{Gaps: Gaps(f.Series(), d.Calendar)}
	return c, f.Close()
}
