package api_test

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/api/v1/apitest"
)

const controlPath = "/api/v1/run/controls"

// TestControlsAreChecked: what a control lacks, or has too much, is named by its path; without a run, and in
// a backtest, there is nothing to control.
func TestControlsAreChecked(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	post := func(name, body, code string, status int, headers ...string) exchange {
		return exchange{name, "POST", controlPath, body, headers, status, code}
	}
	play(t, s, []exchange{
		post("nothing", "", "INVALID_JSON", 400),
		post("no action", `{}`, "VALIDATION_FAILED", 400),
		post("unknown action", `{"action":"panic"}`, "VALIDATION_FAILED", 400),
		post("unknown field", `{"action":"pause","force":true}`, "VALIDATION_FAILED", 400),
		post("close what", `{"action":"close"}`, "VALIDATION_FAILED", 400),
		post("close a word", `{"action":"close","symbol":"BTC"}`, "VALIDATION_FAILED", 400),
		post("pause a symbol", `{"action":"pause","symbol":"BTC/USDT"}`, "VALIDATION_FAILED", 400),
		post("acknowledge what", `{"action":"acknowledge"}`, "VALIDATION_FAILED", 400),
		post("stop how", `{"action":"stop","positions":"burn"}`, "VALIDATION_FAILED", 400),
		post("long reason", `{"action":"pause","why":"`+strings.Repeat("x", 1025)+`"}`, "VALIDATION_FAILED",
			400),
		post("text", `{"action":"pause"}`, "UNSUPPORTED_MEDIA_TYPE", 415, "Content-Type: text/plain"),
		post("another page", `{"action":"pause"}`, "ORIGIN_FORBIDDEN", 403, "Origin: https://example.com"),
		post("another host", `{"action":"pause"}`, "HOST_FORBIDDEN", 403, "Host: example.com"),
		{"wrong method", "GET", controlPath, "", nil, 405, "METHOD_NOT_ALLOWED"},
		post("for later", `{"action":"release"}`, "MODE_NOT_SUPPORTED", 400),
		post("for later", `{"action":"adopt"}`, "MODE_NOT_SUPPORTED", 400),
		post("idle", `{"action":"pause"}`, "RUN_NOT_ACTIVE", 409),
		post("idle stop", `{"action":"stop"}`, "RUN_NOT_ACTIVE", 409),
	})
	a := s.Do(t, "POST", controlPath, `{"action":"pause","order_id":"o-000001","alarm_id":"a-000001"}`)
	list := a.JSON(t)["error"].(map[string]any)["details"].(map[string]any)["errors"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["pointer"] != "/alarm_id" ||
		list[1].(map[string]any)["pointer"] != "/order_id" {
		t.Errorf("%v", list)
	}
	s.Do(t, "POST", startPath, apitest.Backtest)
	run := <-s.Runs
	play(t, s, []exchange{
		post("backtest", `{"action":"pause"}`, "MODE_NOT_SUPPORTED", 400),
		post("backtest", `{"action":"stop","positions":"flatten"}`, "MODE_NOT_SUPPORTED", 400),
	})
	if a := s.Do(t, "POST", controlPath,
		`{"action":"stop","who":"me","why":"enough"}`); a.JSON(t)["status"] != "completed" {
		t.Errorf("%s", a.Body)
	}
	_ = run
}
