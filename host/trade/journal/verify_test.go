package journal

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/sqlite"
)

// closedJournal returns a journal of two runs, one of which has ended.
func closedJournal(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	o := openAt(t, dir)
	r := begin(t, o.Journal, 1)
	fill(t, r, 1, 3)
	if err := r.End(t.Context(),
		End{Status: Completed, StopReason: "stopped", At: start.Add(1)}); err != nil {
		t.Fatal(err)
	}
	fill(t, begin(t, o.Journal, 2), 2, 3)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ddl are statements that change no rows.
var ddl = regexp.MustCompile(`^(PRAGMA|ALTER|CREATE|DROP) `)

// edit changes a closed journal by SQL, as somebody with a tool might.
func edit(t *testing.T, dir string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		done, err := db.Exec(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 && ddl.FindString(s) == "" {
			t.Fatalf("%s: nothing changed (%v)", s, err)
		}
	}
}

// found returns the damage that Open would set the journal aside for.
func found(t *testing.T, dir string) (damage *damageError) {
	t.Helper()
	if _, _, err := inspect(t.Context(), filepath.Join(dir, FileName)); err != nil &&
		!errors.As(err, &damage) {
		t.Error(err)
	}
	return damage
}

func TestIntactIsIntact(t *testing.T) {
	dir := closedJournal(t)
	for range 2 {
		o := openAt(t, dir)
		if o.Quarantined != nil || o.New {
			t.Fatalf("%+v %v", o.Quarantined, o.New)
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEditedColumns changes every column of every table in one row.
func TestEditedColumns(t *testing.T) {
	tables := map[string]string{"runs": runColumns, "log": logColumns}
	for _, table := range digested {
		tables[table.name] = table.columns
	}
	base := takeImage(t, "closed", closedJournal(t))
	for name, columns := range tables {
		for column := range strings.SplitSeq(columns, ", ") {
			value := "'" + map[string]string{"mode": "paper", "side": "sell", "liquidity": "taker",
				"source": "backfill", "status": "failed"}[column] + "'"
			if value == "''" {
				value = "CASE typeof(" + column + ") WHEN 'text' THEN " + column +
					" || '0' WHEN 'null' THEN " + map[bool]string{true: "1",
					false: "'1'"}[column == "ended_at"] + " ELSE " + column + " + 1 END"
			}
			t.Run(name+"."+column, func(t *testing.T) {
				dir := base.restore(t)
				edit(t, dir,
					fmt.Sprintf("UPDATE %s SET %s = %s WHERE rowid = (SELECT max(rowid) FROM %s)", name,
						column, value, name))
				if found(t, dir) == nil {
					t.Error("not found")
				}
			})
		}
	}
}

func TestOtherEdits(t *testing.T) {
	base := takeImage(t, "closed", closedJournal(t))
	for name, statements := range map[string][]string{
		"row lost":      {"DELETE FROM equity WHERE rowid = 3"},
		"last row lost": {"DELETE FROM candles WHERE rowid = (SELECT max(rowid) FROM candles)"},
		"row added":     {"INSERT INTO equity SELECT run_id, at + 999, equity, cash FROM equity LIMIT 1"},
		"rows swapped": {"UPDATE order_events SET id = 999 WHERE id = 1",
			"UPDATE order_events SET id = 1 WHERE id = 2", "UPDATE order_events SET id = 2 WHERE id = 999"},
		"entry lost":      {"DELETE FROM log WHERE rowid = 7"},
		"last entry lost": {"DELETE FROM log WHERE rowid = (SELECT max(rowid) FROM log)"},
		"run lost":        {"DELETE FROM runs WHERE run_id LIKE '%1'"},
		"run added": {
			"INSERT INTO runs SELECT run_id || 'x', 'other', mode, exchange, account_id, symbols, " +
				"timeframe, request, strategy_sha256, markets, risk, start_cash, started_at, ended_at, " +
				"status, stop_reason, error FROM runs LIMIT 1"},
		"newer program":  {"PRAGMA user_version = 9"},
		"no version":     {"PRAGMA user_version = 0"},
		"column renamed": {"ALTER TABLE fills RENAME COLUMN fee_asset TO fees"},
		"index dropped":  {"DROP INDEX fills_by_run"},
		"tail of all": {"DELETE FROM fills WHERE client_order_id = '" + clientID(2, 3) + "'",
			"DELETE FROM order_events WHERE kind = 'filled' AND client_order_id = '" + clientID(2, 3) + "'",
			"DELETE FROM log WHERE run_id LIKE '%2' AND n > (SELECT max(n) FROM log WHERE run_id LIKE " +
				"'%2') - 2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := base.restore(t)
			edit(t, dir, statements...)
			if damage := found(t, dir); damage == nil {
				t.Error("not found")
			} else {
				t.Log(damage.reason)
			}
		})
	}
}

// TestOlderCopy: a journal that was put back from a copy has forgotten orders.
func TestOlderCopy(t *testing.T) {
	dir := closedJournal(t)
	old := takeImage(t, "old", dir)
	o := openAt(t, dir)
	r, err := o.Resume(t.Context(), sampleInfo(2).RunID)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Log(t.Context(), "phase", "trading"); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		apply func() error
		aside bool
	}{
		{"with its witness", func() error {
			return os.WriteFile(filepath.Join(dir, witnessName), old.files[witnessName], 0o600)
		}, false},
		{"without a witness", func() error { return os.Remove(filepath.Join(dir, witnessName)) }, false},
		{"the database alone", func() error {
			return os.WriteFile(filepath.Join(dir, FileName), old.files[FileName], 0o600)
		}, true},
		{"removed", func() error { return os.Remove(filepath.Join(dir, FileName)) }, false},
	} {
		if err := c.apply(); err != nil {
			t.Fatal(err)
		}
		o := openAt(t, dir)
		if (o.Quarantined != nil) != c.aside {
			t.Errorf("%s: %+v", c.name, o.Quarantined)
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMissingJournalIsNoticed(t *testing.T) {
	dir := closedJournal(t)
	if err := os.Remove(filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	if o := openAt(t, dir); o.Quarantined == nil || o.New {
		t.Errorf("%+v", o.Quarantined)
	}
}

func TestQuarantine(t *testing.T) {
	dir := closedJournal(t)
	edit(t, dir, "UPDATE fills SET price = '1' WHERE rowid = 2")
	before, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"journal-20261120T120000Z.damaged", "journal-20261120T120000Z-2.damaged"} {
		o := openAt(t, dir)
		q := o.Quarantined
		if q == nil || filepath.Base(q.Path) != want {
			t.Fatalf("%+v", q)
		}
		if runs, err := o.Runs(t.Context()); err != nil || len(runs) > 0 {
			t.Errorf("%v %v", runs, err)
		}
		if n == 0 {
			if fmt.Sprint(q.Runs, q.Interrupted) != fmt.Sprintf("[%s %s] [%[2]s]", sampleInfo(1).RunID,
				sampleInfo(2).RunID) || !strings.Contains(q.Reason, "has changed") {
				t.Errorf("%+v", q)
			}
			after, err := os.ReadFile(q.Path)
			if err != nil || string(after) != string(before) {
				t.Errorf("the damaged file was changed (%v)", err)
			}
		}
		begin(t, o.Journal, 1)
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		edit(t, dir, "UPDATE runs SET request = '{}'")
	}
}

func TestNoRightIsNoDamage(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("needs another user than root, who may write everything")
	}
	dir := closedJournal(t)
	if err := os.Chmod(filepath.Join(dir, FileName), 0o400); err != nil {
		t.Fatal(err)
	}
	if o, err := Open(t.Context(), dir, Options{}); err == nil {
		t.Errorf("%+v", o.Quarantined)
	}
}

// TestChainByHand computes the chain from the page's words alone.
func TestChainByHand(t *testing.T) {
	dir := closedJournal(t)
	db, err := sqlite.OpenReadOnly(t.Context(), filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT body, prev, hash FROM log ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	last, n := strings.Repeat("0", 64), 0
	for ; rows.Next(); n++ {
		var body, prev, hash string
		if err := rows.Scan(&body, &prev, &hash); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(prev + "\n" + body))
		if prev != last || hash != hex.EncodeToString(sum[:]) {
			t.Errorf("entry %d", n)
		}
		last = hash
	}
	if want := 2 + 1 + 2*3*operations; n != want {
		t.Errorf("%d entries, want %d", n, want)
	}
	if seen, err := readWitness(dir); err != nil || seen != (head{int64(n), last}) {
		t.Errorf("%+v %v", seen, err)
	}
	// What is hashed can never change: journals that exist would all be set aside. Another Version ends
	// elsewhere.
	if last != "9cd1b327c82c2f5e83561c6aaf410e125208844ddb377ef402659f3e76fcfae9" {
		t.Errorf("the chain ends in %s", last)
	}
}

func FuzzWitness(f *testing.F) {
	good := head{3, strings.Repeat("ab", 32)}.line()
	for _, s := range []string{"", good, good + good, good[:40], strings.Replace(good, "3", "4", 1),
		"1 x y\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if h := parseWitness(text); h != (head{}) && h.line() != text {
			t.Errorf("%q is read as %+v", text, h)
		}
	})
}
