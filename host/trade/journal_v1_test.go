package trade

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// oldJournal opens a copy of a journal that version 1 wrote until its run was cut off.
func oldJournal(t *testing.T, folder string) *journal.Journal {
	t.Helper()
	dir := t.TempDir()
	packed, err := os.Open(filepath.Join(folder, "journal.sqlite3.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	file, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := os.ReadFile(filepath.Join(folder, "journal.head"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{journal.FileName: file, "journal.head": seen} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	book, err := journal.Open(t.Context(), dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := book.Close(); err != nil {
			t.Error(err)
		}
	})
	if book.Quarantined != nil {
		t.Fatalf("set aside: %+v", book.Quarantined)
	}
	return book.Journal
}

// TestJournalOfVersion1IsRead: runs that the version before wrote and a crash cut off have the orders,
// fills, round trips and books that this version read of them when it was that one.
func TestJournalOfVersion1IsRead(t *testing.T) {
	d := newTestHost(t, 400, "good", "randomly")
	for _, mode := range []string{runner.ModeLive, runner.ModePaper} {
		folder := filepath.Join("testdata", "journal_v1_"+mode)
		d.launcher.opts.Journal = oldJournal(t, folder)
		rep, cleared, err := d.launcher.Interrupted(t.Context())
		if err != nil || rep == nil {
			t.Fatal(mode, rep, err)
		}
		text, err := os.ReadFile(filepath.Join(folder, "want.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			RunID  string          `json:"run_id"`
			Orders []market.Order  `json:"orders"`
			Fills  []market.Fill   `json:"fills"`
			Trades []market.Trade  `json:"trades"`
			Final  decimal.Decimal `json:"final_value"`
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if rep.Snapshot.RunID != want.RunID || len(want.Orders) < 10 || len(want.Fills) < 10 ||
			len(want.Trades) < 2 {
			t.Errorf("%s: %+v", mode, rep.Snapshot)
		}
		for name, part := range map[string][2]any{
			"orders": {rep.Results.Orders, want.Orders}, "fills": {rep.Results.Fills, want.Fills},
			"trades": {rep.Results.Trades, want.Trades}, "final value": {rep.Results.FinalValue, want.Final},
		} {
			if got, want := plainly(t, part[0]), plainly(t, part[1]); got != want {
				t.Errorf("%s: %s\n%s\nwant\n%s", mode, name, got, want)
			}
		}
		if err := cleared(); err != nil {
			t.Error(err)
		}
	}
}
