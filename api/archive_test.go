package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// archive is a service over a registry with three runs: run_lab, whose test is locked, svc_a and
// svc_b.
type archive struct {
	*apitest.Service
	store *artifact.Store
	runs  *registry.Registry
}

func newArchive(t testing.TB) *archive {
	t.Helper()
	store := artifact.NewStore(filepath.Join(t.TempDir(), "runs"))
	runs, err := registry.Open(context.Background(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runs.Close() })
	a := &archive{store: store, runs: runs}
	for i, id := range []string{"svc_a", "svc_b", "run_lab"} {
		apitest.AddRun(t, store, runs, id, i+1)
	}
	a.Service = apitest.Start(t, apitest.Options{Library: library.New(store, runs, nil)})
	return a
}

func TestArchiveLists(t *testing.T) {
	a := newArchive(t)
	ids := func(path string) string {
		got := a.Do(t, "GET", path, "")
		var page struct {
			Items []struct {
				RunID string `json:"run_id"`
			}
			NextCursor *string `json:"next_cursor"`
			Total      int
		}
		if err := json.Unmarshal(got.Body, &page); err != nil || got.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.StatusCode, got.Body)
		}
		var out []string
		for _, r := range page.Items {
			out = append(out, r.RunID)
		}
		if page.NextCursor != nil {
			out = append(out, *page.NextCursor)
		}
		return strings.Join(out, " ")
	}
	for path, want := range map[string]string{
		"/api/v1/runs":                     "run_lab svc_b svc_a",
		"/api/v1/runs?sort=completed_at":   "svc_a svc_b run_lab",
		"/api/v1/runs?kind=service":        "svc_b svc_a",
		"/api/v1/runs?origin=lab":          "run_lab",
		"/api/v1/runs?origin=imported":     "",
		"/api/v1/runs?q=RUN_LAB":           "run_lab",
		"/api/v1/runs?symbol=ETH%2FUSDT":   "",
		"/api/v1/runs?from=2100-01-01":     "",
		"/api/v1/runs?slug=sma_cross&tag=": "run_lab svc_b svc_a",
		"/api/v1/falsifications":           "",
		"/api/v1/families":                 "",
	} {
		if got := ids(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	first := strings.Fields(ids("/api/v1/runs?limit=2"))
	if len(first) != 3 || ids("/api/v1/runs?limit=2&cursor="+first[2]) != "svc_a" {
		t.Errorf("pages: %v", first)
	}
	other := a.Do(t, "GET", "/api/v1/runs?kind=service&cursor="+first[2], "")
	if other.StatusCode != http.StatusBadRequest || !strings.Contains(string(other.Body), `"/query/cursor"`) {
		t.Errorf("a cursor of another question: %d %s", other.StatusCode, other.Body)
	}
	apitest.AddRun(t, a.store, a.runs, "svc_c", 9) // the newest: it moves everything by one
	if got := ids("/api/v1/runs?limit=2&cursor=" + first[2]); got != "svc_a" {
		t.Errorf("a page after a run has come: %q", got)
	}
	tag := a.Do(t, "GET", "/api/v1/runs", "").Header.Get("ETag")
	if same := a.Do(t, "GET", "/api/v1/runs", "", "If-None-Match: "+tag); same.StatusCode != 304 {
		t.Errorf("the list has not changed, but the answer is %d", same.StatusCode)
	}
}

func TestArchiveRefusals(t *testing.T) {
	a := newArchive(t)
	apitest.AddRun(t, a.store, a.runs, "run_trial", 4)
	const lab, file = "/api/v1/runs/run_lab", "/api/v1/runs/run_lab/files/"
	get := func(path string, status int, code string) exchange {
		return exchange{path, "GET", path, "", nil, status, code}
	}
	play(t, a.Service, []exchange{
		get("/api/v1/runs?x=1", 400, "VALIDATION_FAILED"), get("/api/v1/runs?limit=0", 400, "VALIDATION_FAILED"),
		get("/api/v1/runs?limit=201", 400, "VALIDATION_FAILED"), get("/api/v1/runs?%zz", 400, "VALIDATION_FAILED"),
		get("/api/v1/runs?kind=x", 400, "VALIDATION_FAILED"), get("/api/v1/runs?sort=test", 400, "VALIDATION_FAILED"),
		get("/api/v1/runs?kind=run&kind=run", 400, "VALIDATION_FAILED"),
		get("/api/v1/runs?from=never", 400, "VALIDATION_FAILED"),
		get("/api/v1/runs?cursor=e30", 400, "VALIDATION_FAILED"),
		get("/api/v1/runs/nobody", 404, "RUN_NOT_FOUND"), get("/api/v1/runs/..", 404, "RUN_NOT_FOUND"),
		get("/api/v1/runs/%2e%2e%2fsvc_a", 404, "RUN_NOT_FOUND"), get("/api/v1/runs/", 404, "NOT_FOUND"),
		get("/api/v1/families/nobody", 404, "FAMILY_NOT_FOUND"),
		get("/api/v1/families/nobody/trials", 404, "FAMILY_NOT_FOUND"),
		get("/api/v1/families?status=failed", 400, "VALIDATION_FAILED"), get("/api/v1/families?status=planned", 200, ""),
		get("/api/v1/families/nobody/trials?sort=fast", 400, "VALIDATION_FAILED"),
		{"a look without a reason", "POST", lab + "/reveal", `{"reason":" \t"}`, nil, 400, "VALIDATION_FAILED"},
		get("/api/v1/falsifications/svc_a", 404, "RUN_NOT_FOUND"),
		get(lab+"/equity", 200, ""), get(lab+"/trades", 200, ""),
		get(lab+"/equity?split=nowhere", 400, "VALIDATION_FAILED"),
		get(lab+"/equity?split=..%2F..%2Fsvc_a%2Fsplits%2Ffull", 400, "VALIDATION_FAILED"),
		get(lab+"/equity?split=test", 409, "SPLIT_LOCKED"), get(lab+"/trades?split=test", 409, "SPLIT_LOCKED"),
		get(lab+"/orders?split=test", 409, "SPLIT_LOCKED"), get(lab+"/fills?split=test", 409, "SPLIT_LOCKED"),
		get("/api/v1/runs/run_trial/orders?split=validation", 409, "RUN_COMPACT"),
		get("/api/v1/runs/run_trial/fills?split=validation", 409, "RUN_COMPACT"),
		get(lab+"/marks?split=test", 409, "SPLIT_LOCKED"),
		get("/api/v1/runs/run_trial/marks?split=validation", 409, "RUN_COMPACT"),
		get(lab+"/equity?split=test&from=2024-01-01T02:00:00Z&to=2024-01-01T04:00:00Z", 409, "SPLIT_LOCKED"),
		get(lab+"/trades?split=test&from=2024-01-01", 409, "SPLIT_LOCKED"),
		get(lab+"/marks?split=test&to=2030-01-01", 409, "SPLIT_LOCKED"),
		get(lab+"/trades?split=validation&points=2&limit=5", 400, "VALIDATION_FAILED"),
		get(lab+"/fills?sort=split", 400, "VALIDATION_FAILED"), get(lab+"/orders?limit=501", 400, "VALIDATION_FAILED"),
		get(lab+"/candles?symbol=ETH%2FUSDT", 400, "VALIDATION_FAILED"),
		get(lab+"/series?split=test", 409, "SPLIT_LOCKED"), get(lab+"/series?split=validation&name=slow", 400, "VALIDATION_FAILED"),
		get(lab+"/series?symbol=NO%2FSUCH", 400, "VALIDATION_FAILED"),
		get("/api/v1/runs/run_trial/series?split=validation", 409, "RUN_COMPACT"),
		get(file+"splits%2Ftest%2Fseries.columns", 409, "SPLIT_LOCKED"),
		get("/api/v1/datasets/nothing", 404, "DATASET_NOT_FOUND"),
		get("/api/v1/datasets/nothing/gaps", 404, "DATASET_NOT_FOUND"),
		get("/api/v1/datasets?sort=rows", 400, "VALIDATION_FAILED"),
		get(lab+"/log", 409, "SPLIT_LOCKED"), get(file+"log.jsonl", 409, "SPLIT_LOCKED"),
		get(file+"splits%2Ftest%2Fmetrics.json", 409, "SPLIT_LOCKED"),
		get(file+"splits%2Ftest%2Fequity_curve.csv", 409, "SPLIT_LOCKED"),
		get(file+"splits%2F.%2Ftest%2Fmetrics.json", 404, "FILE_NOT_FOUND"),
		get(file+"..%2Fsvc_a%2Freport.json", 404, "FILE_NOT_FOUND"),
		get(file+"metadata.json", 404, "FILE_NOT_FOUND"), get(file+"%2Fetc%2Fpasswd", 404, "FILE_NOT_FOUND"),
		{"reveal without reason", "POST", lab + "/reveal", `{"reason":""}`, nil, 400, "VALIDATION_FAILED"},
		{"reveal of nobody", "POST", "/api/v1/runs/nobody/reveal", `{"reason":"x"}`, nil, 404, "RUN_NOT_FOUND"},
		{"note without If-Match", "PUT", lab + "/note", `{"tags":[],"note":""}`, nil, 400, "MALFORMED_REQUEST"},
		{"note of later", "PUT", lab + "/note", `{"tags":[],"note":""}`, []string{`If-Match: "7"`}, 409,
			"NOTE_CHANGED"},
		{"cross-site note", "PUT", lab + "/note", `{"tags":[],"note":""}`,
			[]string{"Origin: http://evil.example", `If-Match: "0"`}, 403, "ORIGIN_FORBIDDEN"},
	})
}

// TestPublishedSeries asks for the series of a run, and for the points of one.
func TestPublishedSeries(t *testing.T) {
	a := newArchive(t)
	const series = "/api/v1/runs/run_lab/series?split=validation"
	for path, want := range map[string]string{
		series: `{"split":"validation","items":[{"name":"fast","symbol":null,"pane":"","kind":"line","of":2},` +
			`{"name":"gain","symbol":"BTC/USDT","pane":"","kind":"line","of":1}],"next_cursor":null,` +
			`"total":2,"left_out":0,"name":null,"symbol":null,"pane":null,"kind":null,"points":[],"of":0}`,
		series + "&name=fast":                               `"points":[[1704074400000,1],[1704078000000,2]],"of":2}`,
		series + "&name=fast&from=2024-01-01T03:00:00Z":     `"points":[[1704078000000,2]],"of":1}`,
		series + "&name=fast&to=2024-01-01T03:00:00Z":       `"points":[[1704074400000,1]],"of":1}`,
		series + "&name=fast&from=2030-01-01&to=2029-01-01": `"name":"fast","symbol":null,"pane":"","kind":"line","points":[],"of":0}`,
		series + "&name=gain&symbol=BTC%2FUSDT":             `"name":"gain","symbol":"BTC/USDT","pane":"","kind":"line","points":[[1704074400000,0]],"of":1}`,
		"/api/v1/runs/svc_a/series":                         `{"split":"full","items":[],"next_cursor":null,"total":0,`,
	} {
		got := a.Do(t, "GET", path, "")
		if got.StatusCode != http.StatusOK || !strings.Contains(string(got.Body), want) {
			t.Errorf("%s: %d %s, want %s", path, got.StatusCode, got.Body, want)
		}
	}
}

// TestLockedTestStaysLocked: no answer about a run says anything of its locked test, which has a
// value of its own, and looking leaves no trace; the reveal is written first and shows it then.
func TestLockedTestStaysLocked(t *testing.T) {
	a := newArchive(t)
	const lab = "/api/v1/runs/run_lab"
	var hidden []string
	meta, _, err := artifact.Verify(a.store.Dir("run_lab"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range meta.Artifacts {
		if strings.HasPrefix(f.Name, "splits/test/") || f.Name == "log.jsonl" {
			hidden = append(hidden, f.SHA256)
		}
	}
	paths := []string{"/api/v1/runs", "/api/v1/runs?sort=total_return", lab, lab + "/equity", lab + "/trades",
		lab + "/equity?split=validation",
		lab + "/trades?split=validation", lab + "/orders?split=validation", lab + "/fills?split=validation", lab + "/files",
		lab + "/marks?split=validation", lab + "/equity?split=validation&from=2000-01-01&to=2100-01-01",
		lab + "/trades?split=validation&to=2100-01-01", lab + "/orders?split=validation&from=2000-01-01",
		lab + "/fills?from=2000-01-01", lab + "/equity?split=test&from=2000-01-01", lab + "/marks?split=test&from=2000-01-01",
		lab + "/series?split=validation", lab + "/equity?split=test", lab + "/series?split=test&name=fast", lab + "/log",
		lab + "/files/report.json"}
	for _, path := range paths {
		body := string(a.Do(t, "GET", path, "").Body)
		for _, secret := range append(hidden, "98765") {
			if strings.Contains(body, secret) {
				t.Errorf("%s tells %s of the locked test: %.300s", path, secret, body)
			}
		}
	}
	if looks, err := a.runs.Overview().Reveals(t.Context()); err != nil || len(looks) != 0 {
		t.Errorf("reading has left looks: %v, %v", looks, err)
	}
	shown := a.Do(t, "POST", lab+"/reveal", `{"reason":"the idea is final"}`)
	if shown.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", shown.StatusCode, shown.Body)
	}
	peeks, err := a.runs.Peeks(t.Context(), meta.FamilyID)
	if err != nil || len(peeks) != 1 || peeks[0].Reason != "the idea is final" || peeks[0].Command != "reveal" {
		t.Errorf("%+v, %v", peeks, err)
	}
	if got := a.Do(t, "GET", lab+"/equity?split=test", ""); !strings.Contains(string(got.Body), "98765.4321") {
		t.Errorf("revealed, but %d %s", got.StatusCode, got.Body)
	}
	if got := a.Do(t, "GET", lab+"/log", ""); got.StatusCode != http.StatusOK {
		t.Errorf("revealed, but %d %s", got.StatusCode, got.Body)
	}
}

func TestArchiveFiles(t *testing.T) {
	a := newArchive(t)
	const files = "/api/v1/runs/svc_a/files"
	var list struct{ Items []library.File }
	if err := json.Unmarshal(a.Do(t, "GET", files, "").Body, &list); err != nil || len(list.Items) < 4 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, f := range list.Items {
		got := a.Do(t, "GET", files+"/"+url.PathEscape(f.Name), "")
		want, err := os.ReadFile(filepath.Join(a.store.Dir("svc_a"), f.Name))
		if err != nil || string(got.Body) != string(want) || got.Header.Get("Content-Disposition") != "attachment" ||
			got.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" ||
			got.Header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%s: %d %v, %v", f.Name, got.StatusCode, got.Header, err)
		}
	}
	report := filepath.Join(a.store.Dir("svc_a"), "report.json")
	kept, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "same.json")
	for _, err := range []error{os.WriteFile(outside, kept, 0o600), os.Remove(report), os.Symlink(outside, report)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := a.Do(t, "GET", files+"/report.json", ""); got.Code() != "ARTIFACT_MISMATCH" {
		t.Errorf("a link is followed: %d %s", got.StatusCode, got.Body)
	}
	changed := slices.Clone(kept)
	changed[len(changed)/2] ^= 1
	for _, err := range []error{os.Remove(report), os.WriteFile(report, changed, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := a.Do(t, "GET", files+"/report.json", ""); got.Code() != "ARTIFACT_MISMATCH" {
		t.Errorf("a changed file is shown: %d %s", got.StatusCode, got.Body)
	}
}

func TestNotes(t *testing.T) {
	a := newArchive(t)
	const run = "/api/v1/runs/svc_a"
	body := `{"tags":["keep","<img src=x>"],"note":"why"}`
	if got := a.Do(t, "PUT", run+"/note", body, `If-Match: "0"`); got.StatusCode != 200 ||
		got.JSON(t)["note_version"] != 1.0 {
		t.Fatalf("%d %s", got.StatusCode, got.Body)
	}
	if got := a.Do(t, "PUT", run+"/note", body, `If-Match: "0"`); got.Code() != "NOTE_CHANGED" {
		t.Errorf("%d %s", got.StatusCode, got.Body)
	}
	if got := a.Do(t, "GET", run, "").JSON(t); got["note"] != "why" || got["note_version"] != 1.0 {
		t.Errorf("%v", got)
	}
	if got := a.Do(t, "GET", "/api/v1/runs?tag=keep", "").JSON(t); got["total"] != 1.0 {
		t.Errorf("%v", got)
	}
}

// FuzzQuery sends any query to the lists: it is answered or refused, never a fault.
func FuzzQuery(f *testing.F) {
	for _, text := range []string{"", "limit=1", "cursor=e30", "kind=run&sort=-total_return", "%zz", "a=1;b=2",
		"from=2024-01-01&to=9999-12-31T23:59:59Z", "q=%00", "limit=99999999999999999999"} {
		f.Add(uint8(0), text)
	}
	a := newArchive(f)
	lists := []string{"/api/v1/runs", "/api/v1/runs/svc_a/equity", "/api/v1/runs/svc_a/trades",
		"/api/v1/runs/run_lab/log", "/api/v1/families", "/api/v1/runs/svc_a/marks"}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		path := lists[int(which)%len(lists)]
		req, err := http.NewRequest("GET", a.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.URL.RawQuery = strings.Map(func(c rune) rune {
			if c <= ' ' || c >= 0x7f || c == '#' {
				return -1 // ends the request line, or is no part of it
			}
			return c
		}, text)
		if got := a.Send(t, req); got.StatusCode >= 500 {
			t.Errorf("%s?%s: %d %s", path, text, got.StatusCode, got.Body)
		}
	})
}

// TestCandlesOfALockedTest: prices from the locked test on are shown once somebody has looked, which is a look.
func TestCandlesOfALockedTest(t *testing.T) {
	a := newArchive(t)
	candles, err := candle.Temporary(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { candles.Close() })
	hours := sdktest.Synth(1, 4, time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour)
	hours.Symbol, hours.Timeframe = "BTC/USDT", market.MustTimeframe("1h")
	set, err := candles.Put(t.Context(), candle.PutRequest{Exchange: "made", Series: hours})
	if err != nil {
		t.Fatal(err)
	}
	apitest.AddRun(t, a.store, a.runs, "run_candles", 5, func(m *artifact.Manifest, _ *artifact.Run) {
		m.Request.Exchange = "made"
		m.Data = []artifact.Dataset{{Symbol: "BTC/USDT", Timeframe: "1h", SHA256: set.SHA256, Rows: 4,
			Start: set.Start(), End: set.End()}}
	})
	a.Service = apitest.Start(t, apitest.Options{Library: library.New(a.store, a.runs, nil),
		Data: holdout.Ledger{Candles: candles, Registry: a.runs}})
	ask := func(query string, status int, what string) {
		t.Helper()
		got := a.Do(t, "GET", "/api/v1/runs/run_candles/candles"+query, "")
		if got.StatusCode != status || !strings.Contains(string(got.Body), what) {
			t.Errorf("%s: %d %s, want %d %s", query, got.StatusCode, got.Body, status, what)
		}
	}
	ask("", 200, `"of":2}`)
	ask("?from=2024-01-01T01:00:00Z", 200, `"points":[[1704070800000,`)
	ask("?from=2024-01-01T02:00:00Z", 409, "SPLIT_LOCKED")
	ask("?from=2024-01-01T03:00:00Z&to=2024-01-01T04:00:00Z", 409, "SPLIT_LOCKED")
	if got := a.Do(t, "POST", "/api/v1/runs/run_candles/reveal", `{"reason":"it is chosen"}`); got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, got.Body)
	}
	ask("", 200, `"of":4}`)
	ask("?from=2024-01-01T02:00:00Z", 200, `"of":2}`)
}
