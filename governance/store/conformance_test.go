package store_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/sqlite"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// conformance is what a log keeps to wherever it is.
var conformance = []struct {
	name string
	test func(*testing.T, home)
}{
	{"each column", testEachColumn}, {"triggers", testTriggers}, {"rebuild", testRebuild},
	{"configuration", testConfiguration}, {"keys", testKeys}, {"failed write", testFailedWrite},
	{"witness", testWitness}, {"missing witness", testMissingWitness},
	{"decision held back", testDecisionHeldBack}, {"database gone", testDatabaseGone},
	{"witness catches up", testWitnessCatchesUp}, {"trust is not forgotten", testTrustIsNotForgotten},
	{"audit", testAudit}, {"histories", testHistories},
}

func TestSQLite(t *testing.T) {
	for _, c := range conformance {
		t.Run(c.name, func(t *testing.T) { c.test(t, home{}) })
	}
}

func TestPostgres(t *testing.T) {
	ring.Proof(t, "it starts a server, which forks for each of some thousand connections")
	h := home{hosttest.PostgresOrSkip(t)}
	for _, c := range conformance {
		t.Run(c.name, func(t *testing.T) { c.test(t, h) })
	}
	for name, test := range map[string]func(*testing.T, home){
		"planes": testPlanes, "lost session": testLostSession, "fenced": testFenced, "migrate": testMigrate,
		"ended in a write": testEndedInWrite, "rotate": testRotate,
	} {
		t.Run(name, func(t *testing.T) { test(t, h) })
	}
}

// home is where logs are made: in files, or on a server.
type home struct{ server *hosttest.Postgres }

// place is one without a log.
func (h home) place(t *testing.T) store.Place {
	t.Helper()
	at := store.Place{Dir: filepath.Join(t.TempDir(), "g")}
	if h.server != nil {
		var err error
		if at.Database, err = h.server.NewSchema(); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// connect opens a database behind the plane's back.
func connect(t *testing.T, at store.Place) *sql.DB {
	t.Helper()
	driver, name := "sqlite", filepath.Join(at.Dir, store.DatabaseFile)
	if at.Database != "" {
		driver, name = "pgx", at.Database
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// edit changes a database behind the plane's back.
func edit(t *testing.T, at store.Place, queries ...string) {
	t.Helper()
	db := connect(t, at)
	defer db.Close()
	for _, q := range queries {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// list are the texts that a query gives.
func list(t *testing.T, at store.Place, query string) (texts []string) {
	t.Helper()
	db := connect(t, at)
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return texts
}

// column is a column of a table of the log, with its type where the database has strict ones.
type column struct{ table, name, kind string }

func columnsOf(t *testing.T, at store.Place) (columns []column) {
	t.Helper()
	query := `SELECT m.name || ' ' || c.name || ' any' FROM sqlite_schema m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'`
	if at.Database != "" {
		query = `SELECT table_name || ' ' || column_name || ' ' || data_type FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name NOT LIKE 'kept%'
			AND table_name NOT IN ('writer', 'schema_version')`
	}
	for _, text := range list(t, at, query) {
		f := strings.Fields(text)
		columns = append(columns, column{f[0], f[1], f[2]})
	}
	return columns
}

// flip gives the last row by this column another value of the same type.
func (c column) flip() string {
	value := map[string]string{
		"bigint": `%[2]s + 1000`,
		"bytea": `substring(%[2]s FROM 1 FOR length(%[2]s) - 1) ||
			CASE WHEN substring(%[2]s FROM length(%[2]s)) = '\x7d' THEN '\x20'::bytea ELSE '\x7d'::bytea END`,
		"text": `left(%[2]s, -1) || CASE WHEN right(%[2]s, 1) = '}' THEN 'x' ELSE '}' END`,
		"any": `CASE typeof(%[2]s)
			WHEN 'integer' THEN %[2]s + 1000
			WHEN 'blob' THEN CAST(substr(%[2]s, 1, length(%[2]s) - 1) ||
				CASE WHEN hex(substr(%[2]s, -1)) = '7D' THEN x'20' ELSE x'7D' END AS BLOB)
			ELSE substr(%[2]s, 1, length(%[2]s) - 1) || CASE WHEN substr(%[2]s, -1) = '}' THEN 'x' ELSE '}' END END`,
	}[c.kind]
	return fmt.Sprintf(`UPDATE %[1]s SET %[2]s = `+value+
		` WHERE %[2]s = (SELECT %[2]s FROM %[1]s ORDER BY %[2]s DESC LIMIT 1)`, c.table, c.name)
}

// unprotect lets the truth be changed, and returns what undoes the changes.
func unprotect(t *testing.T, at store.Place) (restore func()) {
	t.Helper()
	if at.Database == "" {
		for _, name := range list(t, at, `SELECT name FROM sqlite_schema WHERE type = 'trigger'`) {
			edit(t, at, "DROP TRIGGER "+name)
		}
		path := filepath.Join(at.Dir, store.DatabaseFile)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	edit(t, at, `ALTER TABLE submissions DROP CONSTRAINT submissions_seq_fkey`,
		`ALTER TABLE attestations DROP CONSTRAINT attestations_seq_fkey`)
	tables := list(t, at, `SELECT table_name FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_name NOT IN ('writer', 'schema_version')`)
	for _, name := range tables {
		edit(t, at, "ALTER TABLE "+name+" DISABLE TRIGGER USER", "CREATE TABLE kept_"+name+" AS TABLE "+name)
	}
	var undo []string
	for _, name := range tables {
		undo = append(undo, "DELETE FROM "+name, "INSERT INTO "+name+" TABLE kept_"+name)
	}
	return func() { edit(t, at, undo...) }
}

// changes are statements that would change a table.
func changes(at store.Place, table string) []string {
	if at.Database == "" {
		return []string{"DELETE FROM " + table, "UPDATE " + table + " SET rowid = rowid + 1",
			"INSERT OR REPLACE INTO " + table + " SELECT * FROM " + table}
	}
	key := map[string]string{"meta": "key", "tree_nodes": "idx", "checkpoints": "size"}[table]
	if key == "" {
		key = "seq"
	}
	return []string{"DELETE FROM " + table, "UPDATE " + table + " SET " + key + " = " + key,
		"TRUNCATE " + table + " CASCADE"}
}

// schemaOf is the schema that a test has for itself.
func schemaOf(t *testing.T, at store.Place) string {
	t.Helper()
	u, err := url.Parse(at.Database)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("search_path")
}

// rowsOf is all that a table holds.
func rowsOf(t *testing.T, at store.Place, table string) string {
	t.Helper()
	var names []string
	for _, c := range columnsOf(t, at) {
		if c.table == table {
			names = append(names, c.name)
		}
	}
	slices.Sort(names) // as the databases list them does not count
	db := connect(t, at)
	defer db.Close()
	var lines []string
	err := sqlite.Query(t.Context(), db, func(scan sqlite.Scanner) error {
		values, err := sqlite.ScanRow(scan, len(names))
		lines = append(lines, fmt.Sprintf("%T %v", values[0], values))
		return err
	}, "SELECT "+strings.Join(names, ", ")+" FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
