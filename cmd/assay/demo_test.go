package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

// ask sends a request and holds the answer against the OpenAPI document.
func ask(t *testing.T, r *apitest.Recorder, method, base, path, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.Check(t, method, path, resp, data)
	var v map[string]any
	if !bytes.HasPrefix(data, []byte("[")) {
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
	}
	return resp.StatusCode, v
}

func TestDemonstration(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	p := launch(t, state, "--demo")
	p.await(t, "dashboard: "+p.url+"/ui")
	recorder, err := apitest.NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/health", "/api/v1/status", "/api/v1/status/detailed",
		"/api/v1/strategies", "/api/v1/exchanges", "/api/v1/meta", "/openapi.json"} {
		if status, v := ask(t, recorder, "GET", p.url, path, ""); status != 200 {
			t.Errorf("%s: %d %v", path, status, v)
		}
	}
	_, first := ask(t, recorder, "GET", p.url, "/api/v1/results", "")
	if first["status"] != "completed" || first["result_hash"] == "" || len(first["trades"].([]any)) == 0 {
		t.Errorf("results: %v", first["status"])
	}
	id := first["run_id"].(string)
	if _, err := os.Stat(filepath.Join(state, first["artifacts"].(string), "report.json")); err != nil {
		t.Error(err)
	}
	if status, v := ask(t, recorder, "DELETE", p.url, "/api/v1/run/reset", ""); status != 200 ||
		v["run_id"] != id {
		t.Errorf("reset: %v", v)
	}
	badFields(t, recorder, p.url)
	if code := p.end(t, syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d: %s", code, p.output)
	}
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("state directory: %v %v", info.Mode(), err)
	}
	demonstrationIsALook(t, state, id)
	again := launch(t, state)
	if _, v := ask(t, recorder, "GET", again.url, "/api/v1/status", ""); v["status"] != "idle" {
		t.Errorf("after a restart: %v", v["status"])
	}
	if code := again.end(t, syscall.SIGINT); code != exitDone {
		t.Errorf("exit code %d: %s", code, again.output)
	}
}

// demonstrationIsALook: it plays the held out candles of the sample, once, and the registry has it.
func demonstrationIsALook(t *testing.T, state, runID string) {
	t.Helper()
	reg, err := registry.Open(t.Context(), artifact.NewStore(filepath.Join(state, "runs")), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	looks, err := reg.Markets().Looks(t.Context())
	if err != nil || len(looks) != 1 || looks[0].SourceID != runID || looks[0].Command != registry.LookBacktest {
		t.Errorf("%+v, %v", looks, err)
	}
}

// badFields asks for things that are well formed and do not exist here.
func badFields(t *testing.T, recorder *apitest.Recorder, base string) {
	t.Helper()
	with := func(field string) string {
		return `{"strategy_name":"sma_cross","symbols":["BTC/USDT"],"timeframe":"1h",` + field + `}`
	}
	for body, want := range map[string]string{
		strings.Replace(with(`"exchange":"sample"`), "sma_cross", "none", 1): "STRATEGY_NOT_FOUND",
		with(`"strategy_params":{"fast":50,"slow":30}`):                      "INVALID_STRATEGY_PARAMS",
		with(`"strategy_params":{"fast":"x","y":1}`):                         "INVALID_STRATEGY_PARAMS",
		with(`"exchange":"none"`):                                            "EXCHANGE_NOT_FOUND",
		strings.Replace(with(`"execution":{}`), "BTC/USDT", "X/Y", 1):        "UNSUPPORTED_SYMBOL",
		strings.Replace(with(`"execution":{}`), "1h", "1m", 1):               "UNSUPPORTED_TIMEFRAME",
		with(`"start_date":"2020-01-02","end_date":"2020-01-01"`):            "INVALID_DATE_RANGE",
		with(`"start_date":"2030-01-01"`):                                    "DATA_UNAVAILABLE",
	} {
		status, v := ask(t, recorder, "POST", base, "/api/v1/run/backtest", body)
		if e, _ := v["error"].(map[string]any); status != 400 || e["code"] != want {
			t.Errorf("%s: %d %v, want %s", body, status, v, want)
		}
	}
}

func TestOneServicePerStateDirectory(t *testing.T) {
	state := t.TempDir()
	p := launch(t, state)
	var out, errs bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	if code := runCommand([]string{"--port", "0", "--state-dir", state},
		world{none, &out, &errs}); code != exitFailed ||
		!strings.Contains(errs.String(), "in use by another service") {
		t.Errorf("second service: %d %s", code, errs.String())
	}
	errs.Reset()
	port := p.url[strings.LastIndexByte(p.url, ':')+1:]
	if code := runCommand([]string{"--port", port, "--state-dir", t.TempDir()},
		world{none, &out, &errs}); code != exitFailed ||
		!strings.Contains(errs.String(), "address already in use") {
		t.Errorf("port in use: %d %s", code, errs.String())
	}
	if out.Len() > 0 {
		t.Errorf("stdout: %s", out.String())
	}
}
