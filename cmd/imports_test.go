package cmd_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// upload sends a file and returns its id.
func (s *service) upload(text string) string {
	s.t.Helper()
	resp, err := http.Post(s.url+"/api/v1/uploads", "application/octet-stream", strings.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var u struct {
		ID string `json:"upload_id"`
	}
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, &u)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%d %v %s", resp.StatusCode, err, body)
	}
	return u.ID
}

// hours are candles of an hour each.
func hours(n int) string {
	var b strings.Builder
	b.WriteString("time,open,high,low,close,volume\n")
	for i := range n {
		price := 100 + i%7
		fmt.Fprintf(&b, "%d,%d,%d,%d,%d,5\n", 1_700_002_800_000+int64(i)*3_600_000, price, price+2, price-2,
			price+1)
	}
	return b.String()
}

func imported(dryRun bool, ids []string, options object) object {
	options["exchange"] = "here"
	return object{"upload_ids": ids, "options": options, "dry_run": dryRun}
}

func failure(job object) (code, flag string) {
	e, _ := job["error"].(object)
	details, _ := e["details"].(object)
	code, _ = e["code"].(string)
	flag, _ = details["flag"].(string)
	return code, flag
}

func TestImportIsAJob(t *testing.T) {
	ring.Slow(t, "the lab starts five times")
	state := t.TempDir()
	s := serve(t, state)
	file := s.upload(hours(300))
	ids := []string{file}
	// What the file does not say is asked; the answer is an option.
	asked := s.awaitJob(s.begin("/datasets/imports", imported(true, ids, object{})), "completed", "failed")
	if code, flag := failure(asked); code != "SYMBOL_REQUIRED" || flag != "--symbol" {
		t.Fatalf("%v\n%s", asked, s.stderr)
	}
	options := object{"symbol": "ABC/USDT"}
	checked := s.awaitJob(s.begin("/datasets/imports", imported(true, ids, options)), "completed", "failed")
	reports, _ := checked["reports"].([]any)
	if checked["kind"] != "import_check" || len(reports) != 1 {
		t.Fatalf("%v\n%s", checked, s.stderr)
	}
	told := reports[0].(object)
	if told["rows"] != 300.0 || told["timeframe"] != "1h" || told["stored"] != false ||
		told["report"].(object)["rows_read"] != 300.0 {
		t.Errorf("%v", told)
	}
	var list object
	if s.call("GET", "/datasets?exchange=here", nil, &list); list["total"] != 0.0 {
		t.Errorf("a dry run has stored %v", list)
	}
	stored := s.awaitJob(s.begin("/datasets/imports", imported(false, ids, options)), "completed", "failed")
	if reports, _ = stored["reports"].([]any); len(reports) != 1 || reports[0].(object)["stored"] != true {
		t.Fatalf("%v\n%s", stored, s.stderr)
	}
	// The service sees it without a restart, with its hold-out, and a backtest runs on it.
	s.call("GET", "/datasets?exchange=here", nil, &list)
	items, _ := list["items"].([]any)
	if len(items) != 1 || items[0].(object)["dataset_id"] != reports[0].(object)["dataset_id"] ||
		items[0].(object)["holdout_start"] == nil {
		t.Fatalf("%v", list)
	}
	results := s.backtest(object{"strategy_name": "sma_cross", "strategy_params": object{"fast": 2, "slow": 5},
		"symbols": []string{"ABC/USDT"}, "timeframe": "1h", "exchange": "here"})
	if results["status"] != "completed" {
		t.Errorf("%v", results["error"])
	}
	// What was stored needs no upload any more.
	var refused object
	if resp := s.call("POST", "/datasets/imports", imported(false, ids, options), &refused); resp.StatusCode !=
		400 || !strings.Contains(fmt.Sprint(refused), "/upload_ids/0") {
		t.Errorf("%d %v", resp.StatusCode, refused)
	}
	if left, err := os.ReadDir(filepath.Join(state, "tmp", "uploads")); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
	for path, body := range map[string]object{
		"/datasets/imports": imported(false, []string{"../../catalog.sqlite3"}, options),
		"/datasets/fetches": {"exchange": "nobody", "symbols": []string{"A/B"}, "timeframe": "1h"},
	} {
		if resp := s.call("POST", path, body, &refused); resp.StatusCode != 400 {
			t.Errorf("%s: %d %v", path, resp.StatusCode, refused)
		}
	}
	reserved := object{"upload_ids": ids, "options": object{"exchange": "sample"}}
	if resp := s.call("POST", "/datasets/imports", reserved, &refused); resp.StatusCode != 400 ||
		!strings.Contains(fmt.Sprint(refused), "/options/exchange") {
		t.Errorf("%d %v", resp.StatusCode, refused)
	}
}

// TestHostileImports: whatever a file or an option is, it is a refusal of the importer or of the
// request, and values never become flags of the lab.
func TestHostileImports(t *testing.T) {
	ring.Proof(t, "the lab starts for each of many files")
	s := serve(t, t.TempDir())
	for name, c := range map[string]struct {
		text    string
		options object
		code    string
	}{
		"nothing":        {"\n\n", object{"symbol": "A/B"}, "NO_ROWS"},
		"a program":      {"\x7fELF\x02\x01\x01\x00" + strings.Repeat("\x00", 100), object{"symbol": "A/B"}, ""},
		"half a zip":     {"PK\x03\x04" + strings.Repeat("\xff", 100), object{"symbol": "A/B"}, "ENCODING"},
		"half a parquet": {"PAR1" + strings.Repeat("\xff", 100), object{"symbol": "A/B"}, ""},
		"a zone":         {hours(5), object{"symbol": "A/B", "tz": "../../../etc/passwd"}, "USAGE"},
		"a flag":         {hours(5), object{"symbol": "A/B", "profile": "--state-dir=/"}, ""},
		"columns":        {hours(5), object{"symbol": "A/B", "columns": "time,open"}, "USAGE"},
		"two candles": {hours(2) + "1700002800000,1,3,1,2,5\n", object{"symbol": "A/B"},
			"CONFLICTING_DUPLICATES"},
		"upside down": {"time,open,high,low,close,volume\n1700002800000,5,1,9,5,1\n1700006400000,5,1,9,5,1\n",
			object{"symbol": "A/B"}, "OHLC_VIOLATIONS"},
		"markup": {hours(5) + "<script>alert(1)</script>,1,1,1,1,1\n", object{"symbol": "A/B"}, ""},
	} {
		job := s.awaitJob(s.begin("/datasets/imports", imported(false, []string{s.upload(c.text)}, c.options)),
			"completed", "failed")
		if code, _ := failure(job); job["status"] != "failed" || c.code != "" && code != c.code ||
			code == "INTERNAL_ERROR" || code == "LAB_FAILED" {
			t.Errorf("%s: %v", name, job)
		}
	}
	var list object
	if s.call("GET", "/datasets?exchange=here", nil, &list); list["total"] != 0.0 {
		t.Errorf("%v", list)
	}
}

func TestFetchIsAJob(t *testing.T) {
	ring.Proof(t, "the lab fetches from a venue, three times")
	v := liveVenue(t, testvenue.Options{Start: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC), History: 2500})
	s := serveLive(t, t.TempDir(), v)
	request := object{"exchange": "binance", "symbols": []string{"BTC/USDT"}, "timeframe": "1m"}
	fetch := func(change object) object {
		body := object{}
		for _, part := range []object{request, change} {
			for k, value := range part {
				body[k] = value
			}
		}
		return s.awaitJob(s.begin("/datasets/fetches", body), "completed", "failed")
	}
	if code, _ := failure(fetch(nil)); code != "DATA_UNAVAILABLE" {
		t.Errorf("an update of nothing: %s", code)
	}
	// The second symbol is none of the venue: what came before it stays.
	job := fetch(object{"from": "2039-12-31", "symbols": []string{"BTC/USDT", "NONE/USDT"}})
	if reports, _ := job["reports"].([]any); job["status"] != "failed" || len(reports) != 1 ||
		reports[0].(object)["symbol"] != "BTC/USDT" {
		t.Errorf("%v\n%s", job, s.stderr)
	}
	var list object
	s.call("GET", "/datasets?exchange=binance", nil, &list)
	items, _ := list["items"].([]any)
	if len(items) != 1 || items[0].(object)["provenance"].(object)["source"] != "fetched" {
		t.Fatalf("%v", list)
	}
	before := items[0].(object)["rows"].(float64)
	if err := v.Step(); err != nil {
		t.Fatal(err)
	}
	if job = fetch(nil); job["status"] != "completed" ||
		job["reports"].([]any)[0].(object)["rows"].(float64) <= before {
		t.Errorf("an update: %v\n%s", job, s.stderr)
	}
	if err := v.Do(testvenue.Script{Action: "candle_amend", Args: []string{"BTCUSDT"}}); err != nil {
		t.Fatal(err)
	}
	if code, flag := failure(fetch(nil)); code != "CONFLICTING_DUPLICATES" || flag != "--duplicates" {
		t.Errorf("a changed candle: %s %s", code, flag)
	}
	if job = fetch(object{"duplicates": "last"}); job["status"] != "completed" {
		t.Errorf("a changed candle that is taken: %v", job)
	}
}
