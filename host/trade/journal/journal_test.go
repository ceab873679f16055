package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestFileAndPragmas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "live")
	o := openAt(t, dir)
	if !o.New || o.Quarantined != nil {
		t.Errorf("new %v, quarantined %+v", o.New, o.Quarantined)
	}
	begin(t, o.Journal, 1)
	for name, want := range map[string]os.FileMode{dir: 0o700, FileName: 0o600, FileName + "-wal": 0o600,
		FileName + "-shm": 0o600, witnessName: 0o600, lockName: 0o600} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "fullfsync": "1",
		"busy_timeout": "5000", "foreign_keys": "1"} {
		var got string
		if err := o.db.Read().QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", pragma, got, want, err)
		}
	}
}

// TestSchema holds the tables to the page.
func TestSchema(t *testing.T) {
	o := openAt(t, t.TempDir())
	for table, want := range map[string]string{
		"runs": "run_id* run_tag mode exchange account_id symbols timeframe request " +
			"strategy_sha256 markets risk start_cash started_at ended_at status stop_reason error",
		"intents": "run_id* seq* client_order_id step symbol body created_at",
		"order_events": "id* run_id client_order_id kind source outcome venue_order_id cum_quantity " +
			"raw_sha256 at",
		"fills": "exchange* account_id* symbol* trade_id* run_id client_order_id side quantity price " +
			"fee fee_asset liquidity at",
		"candles": "run_id* symbol* open_time* o h l c v step source",
		"equity":  "run_id* at* equity cash",
		"log":     "run_id* n* kind body prev hash",
	} {
		var got string
		err := o.db.Read().QueryRow(
			`SELECT group_concat(name || CASE WHEN pk > 0 THEN '*' ELSE '' END, ' ') FROM (SELECT * FROM pragma_table_info(?) ORDER BY cid)`, table).Scan(&got)
		if err != nil || got != want {
			t.Errorf("%s: %s\nwant %s (%v)", table, got, want, err)
		}
		var strict int
		if err := o.db.Read().QueryRow("SELECT strict FROM pragma_table_list WHERE name = ?",
			table).Scan(&strict); err != nil || strict != 1 {
			t.Errorf("%s is not strict (%v)", table, err)
		}
	}
	if sum, _, err := schemaDigest(t.Context(), o.db.Read()); err != nil || sum != schemas[len(schemas)-1] {
		t.Errorf("the schema's digest is %s (%v): a new migration adds one to schemas", sum, err)
	}
}

func TestLifeOfARun(t *testing.T) {
	dir := t.TempDir()
	o := openAt(t, dir)
	ctx := t.Context()
	info := sampleInfo(1)
	info.AccountID = ""
	r, err := o.Begin(ctx, info, Entry{Kind: "phase", Data: "starting"})
	if err != nil {
		t.Fatal(err)
	}
	same := sampleInfo(2)
	same.RunTag = info.RunTag
	for _, again := range []Info{info, same} {
		if _, err := o.Begin(ctx, again); !errors.Is(err, ErrExists) {
			t.Errorf("again: %v", err)
		}
	}
	if _, err := r.Fill(ctx, sampleFill(1, 0)); !isInvalid(err) {
		t.Errorf("a fill without an account: %v", err)
	}
	must(t, r.Connected(ctx, Connected{AccountID: "42", Markets: json.RawMessage(`[ {"tick":"0.01"} ]`)}))
	must(t, r.Connected(ctx, Connected{StartCash: decimal.NullDecimal{Decimal: dec("10000.50"), Valid: true}},
		Entry{Kind: "phase", Data: "trading"}))
	if err := r.Connected(ctx, Connected{AccountID: "43"}); !isInvalid(err) {
		t.Errorf("another account: %v", err)
	}
	fill(t, r, 1, 2)
	must(t, o.Close())

	o = openAt(t, dir)
	if o.Quarantined != nil {
		t.Fatalf("%+v", o.Quarantined)
	}
	interrupted, err := o.Interrupted(ctx)
	if err != nil || len(interrupted) != 1 {
		t.Fatalf("%+v %v", interrupted, err)
	}
	got := interrupted[0]
	if got.AccountID != "42" || string(got.Markets) != `[{"tick":"0.01"}]` ||
		got.StartCash.Decimal.String() != "10000.5" || got.Status != Running || got.StartedAt != start ||
		got.EndedAt != 0 {
		t.Errorf("%+v", got)
	}
	if phase, ok, err := o.LastLog(ctx, got.RunID, "phase"); err != nil || !ok ||
		string(phase.Data.(json.RawMessage)) != `"trading"` {
		t.Errorf("phase %+v %v %v", phase, ok, err)
	}
	if r, err = o.Resume(ctx, got.RunID); err != nil {
		t.Fatal(err)
	}
	end := End{Status: Failed, Error: json.RawMessage(`{"code":"RUN_INTERRUPTED"}`), At: start + hour}
	must(t, r.End(ctx, end, Entry{Kind: "phase", Data: "ended"}))
	if err := r.End(ctx, end); !errors.Is(err, ErrEnded) {
		t.Errorf("a second end: %v", err)
	}
	if err := r.Intent(ctx, sampleIntent(1, 9)); !errors.Is(err, ErrEnded) {
		t.Errorf("an intent after the end: %v", err)
	}
	must(t, r.Events(ctx, sampleEvent(1, 1, order.Canceled)))
	if r.Failed() != nil {
		t.Errorf("refusals failed the run: %v", r.Failed())
	}
	if runs, err := o.Runs(ctx); err != nil || len(runs) != 1 || runs[0].EndedAt != start+hour ||
		string(runs[0].Error) != string(end.Error) || runs[0].StopReason != "" {
		t.Errorf("%+v %v", runs, err)
	}
	must(t, o.Close())
	if o = openAt(t, dir); o.Quarantined != nil {
		t.Errorf("%+v", o.Quarantined)
	}
	if runs, err := o.Interrupted(ctx); err != nil || len(runs) > 0 {
		t.Errorf("interrupted: %v %v", runs, err)
	}
}

func TestPaperIsItsOwnAccount(t *testing.T) {
	o := openAt(t, t.TempDir())
	info := sampleInfo(1)
	info.Mode, info.AccountID = Paper, ""
	if r, err := o.Begin(t.Context(), info); err != nil || r.Info().AccountID != info.RunID {
		t.Errorf("%v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func isInvalid(err error) bool {
	var invalid *InvalidError
	return errors.As(err, &invalid)
}

func TestBadRuns(t *testing.T) {
	o := openAt(t, t.TempDir())
	for field, spoil := range map[string]func(*Info){
		"run_id": func(i *Info) {
			i.RunID = `a"b`
		}, "run_tag": func(i *Info) { i.RunTag = "" }, "mode": func(i *Info) { i.Mode = "backtest" },
		"exchange": func(i *Info) {
			i.Exchange = ""
		}, "symbols": func(i *Info) {
			i.Symbols = nil
		}, "timeframe": func(i *Info) { i.Timeframe = market.Timeframe{} },
		"request": func(i *Info) {
			i.Request = json.RawMessage(`{`)
		}, "risk": func(i *Info) { i.Risk = json.RawMessage(`1e999`) },
	} {
		info := sampleInfo(1)
		spoil(&info)
		var invalid *InvalidError
		if _, err := o.Begin(t.Context(), info); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if runs, err := o.Runs(t.Context()); err != nil || len(runs) > 0 {
		t.Errorf("%v %v", runs, err)
	}
	if _, err := o.Resume(t.Context(), "nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestClosed(t *testing.T) {
	o := openAt(t, t.TempDir())
	r := begin(t, o.Journal, 1)
	must(t, o.Close())
	if err := r.Log(t.Context(), "a", 1); !errors.Is(err, ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if _, err := o.Runs(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("read: %v", err)
	}
	must(t, o.Close())
}

// TestContext: a write whose context is over is not begun; one that began is finished.
func TestContext(t *testing.T) {
	o := openAt(t, t.TempDir())
	r := begin(t, o.Journal, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stopped")
	cancel(why)
	if err := r.Intent(ctx, sampleIntent(1, 0)); !errors.Is(err, ErrNotBegun) || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	must(t, r.Intent(t.Context(), sampleIntent(1, 0)))
}

// TestManyWritersAndReaders is for the race detector and the chain.
func TestManyWritersAndReaders(t *testing.T) {
	dir := t.TempDir()
	o := openAt(t, dir)
	var wg sync.WaitGroup
	for run := range 3 {
		r := begin(t, o.Journal, run)
		for part := range 2 {
			wg.Go(func() {
				for i := range 5 {
					i = 2*i + part
					for k := range operations {
						if err := operate(t.Context(), r, run, i, k); err != nil {
							t.Error(err)
						}
					}
					if _, err := dump(t.Context(), o.Journal, r.Info().RunID, 7); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	must(t, o.Close())
	if o = openAt(t, dir); o.Quarantined != nil {
		t.Fatalf("%+v", o.Quarantined)
	}
	for run := range 3 {
		if rows, err := o.Fills(t.Context(), sampleInfo(run).RunID, Page{}); err != nil ||
			len(rows.Items) != 10 {
			t.Errorf("%d fills, %v", len(rows.Items), err)
		}
	}
}

func TestPages(t *testing.T) {
	o := openAt(t, t.TempDir())
	fill(t, begin(t, o.Journal, 1), 1, 7)
	id := sampleInfo(1).RunID
	want := mustDump(t, o.Journal, id)
	for _, size := range []int{1, 2, 3, 7, 100} {
		if got, err := dump(t.Context(), o.Journal, id, size); err != nil || withoutIDs(got) != want {
			t.Errorf("pages of %d: %v\n%s", size, err, got)
		}
	}
	if rows, err := o.Log(t.Context(), id, Page{}, "phase", "alarm"); err != nil || len(rows.Items) != 7 {
		t.Errorf("%d of the kinds, %v", len(rows.Items), err)
	}
	if rows, err := o.Log(t.Context(), id, Page{}, "phase"); err != nil || len(rows.Items) != 0 ||
		rows.Next != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
	if strings.Contains(want, fmt.Sprintf("%q", kindRows)) {
		t.Error("the log shows what is not meant for people")
	}
}
