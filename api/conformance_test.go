package api_test

import (
	"bytes"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/host/base/edge"
)

const (
	status    = "/api/v1/status"
	startPath = "/api/v1/run/backtest"
	livePath  = "/api/v1/run/live"
	stopPath  = "/api/v1/run/stop"
	resetPath = "/api/v1/run/reset"
	results   = "/api/v1/results"
)

// exchange is one request and what must come back.
type exchange struct {
	name, method, path, body string
	headers                  []string
	status                   int
	code                     string
}

func play(t *testing.T, s *apitest.Service, cases []exchange) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := s.Do(t, c.method, c.path, c.body, c.headers...)
			if !problem.Coded(c.path) {
				c.code = "" // the body of a path outside of the API has none
			}
			if a.StatusCode != c.status || a.Code() != c.code {
				t.Fatalf("%s %s: got %d %s, want %d %s\n%.400s", c.method, c.path, a.StatusCode, a.Code(),
					c.status, c.code, a.Body)
			}
		})
	}
}

func with(field string) string {
	return strings.TrimSuffix(apitest.Backtest, "}") + "," + field + "}"
}

func TestBadBody(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	bad := func(name, body, code string, status int, headers ...string) exchange {
		return exchange{name, "POST", startPath, body, headers, status, code}
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	cases := []exchange{
		bad("truncated", apitest.Backtest[:20], "INVALID_JSON", 400),
		bad("trailing value", apitest.Backtest+" {}", "INVALID_JSON", 400),
		bad("duplicate key", with(`"symbols":["A/B"]`), "INVALID_JSON", 400),
		bad("empty", "", "INVALID_JSON", 400),
		bad("blank", " \n", "INVALID_JSON", 400),
		bad("null", "null", "VALIDATION_FAILED", 400),
		bad("array", "[]", "VALIDATION_FAILED", 400),
		bad("byte order mark", "\xef\xbb\xbf"+apitest.Backtest, "INVALID_JSON", 400),
		bad("lone surrogate", with(`"exchange":"\ud800"`), "INVALID_JSON", 400),
		bad("bad UTF-8", with("\"exchange\":\"\xff\""), "INVALID_JSON", 400),
		bad("depth 65", deep(65), "INVALID_JSON", 400),
		bad("depth 64", deep(64), "VALIDATION_FAILED", 400),
		bad("infinite", with(`"initial_cash":1e999`), "INVALID_JSON", 400),
		bad("giant exponent", with(`"initial_cash":1e-999999999`), "INVALID_JSON", 400),
		bad("33 characters", with(`"initial_cash":1.`+strings.Repeat("0", 31)), "INVALID_JSON", 400),
		bad("32 characters", with(`"initial_cash":0.`+strings.Repeat("0", 30)), "VALIDATION_FAILED", 400),
		bad("2 MiB", `{"strategy_name":"`+strings.Repeat("x", 2<<20)+`"}`, "BODY_TOO_LARGE", 413),
		bad("text", apitest.Backtest, "UNSUPPORTED_MEDIA_TYPE", 415, "Content-Type: text/plain"),
		bad("no content type", apitest.Backtest, "UNSUPPORTED_MEDIA_TYPE", 415, "Content-Type: "),
		bad("gzip", apitest.Backtest, "UNSUPPORTED_MEDIA_TYPE", 415, "Content-Encoding: gzip"),
		bad("gzip type", apitest.Backtest, "UNSUPPORTED_MEDIA_TYPE", 415, "Content-Type: application/gzip"),
		{"stop with a field", "POST", stopPath, `{"x":1}`, nil, 400, "VALIDATION_FAILED"},
		{"stop with text", "POST", stopPath, `x`, nil, 400, "INVALID_JSON"},
		{"reset with a list", "DELETE", resetPath, `[]`, nil, 400, "VALIDATION_FAILED"},
		bad("bad key", apitest.Backtest, "MALFORMED_REQUEST", 400, "Idempotency-Key: a b"),
		bad("long key", apitest.Backtest, "MALFORMED_REQUEST", 400,
			"Idempotency-Key: "+strings.Repeat("k", 129)),
	}
	play(t, s, cases)
	a := s.Do(t, "POST", startPath, "{\n\"a\": 1,\n\"a\": 2}")
	d := a.JSON(t)["error"].(map[string]any)["details"].(map[string]any)
	if d["line"] != 3.0 || d["reason"] != "duplicate_key" || d["offset"] != 10.0 {
		t.Errorf("details of INVALID_JSON: %v", d)
	}
}

func TestBadField(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	many := make([]string, 257)
	for i := range many {
		many[i] = `"A` + strings.Repeat("X", i%20) + string(rune('A'+i%26)) + string(rune('A'+i/26)) + `/B"`
	}
	base := func(symbols string) string {
		return `{"strategy_name":"x","timeframe":"1h","symbols":` + symbols + `}`
	}
	cases := map[string]struct{ path, body, pointers string }{
		"unknown":     {startPath, with(`"leverage":2`), "/leverage"},
		"wrong case":  {startPath, with(`"Exchange":"sample"`), "/Exchange"},
		"all missing": {startPath, `{}`, "/strategy_name /symbols /timeframe"},
		"five at once": {startPath,
			`{"strategy_name":1,"timeframe":"1x","symbols":["BTC/USDT",2],"initial_cash":"1","x~/y":0}`,
			"/initial_cash /strategy_name /symbols/1 /timeframe /x~0~1y"},
		"null params":        {startPath, with(`"strategy_params":null`), "/strategy_params"},
		"null cash":          {startPath, with(`"initial_cash":null`), "/initial_cash"},
		"null exchange":      {startPath, with(`"exchange":null`), "/exchange"},
		"null execution":     {startPath, with(`"execution":null`), "/execution"},
		"no symbols":         {startPath, base(`[]`), "/symbols"},
		"duplicate symbols":  {startPath, base(`["A/B","A/B"]`), "/symbols"},
		"257 symbols":        {startPath, base("[" + strings.Join(many, ",") + "]"), "/symbols"},
		"no quote":           {startPath, base(`["BTCUSDT"]`), "/symbols/0"},
		"bad start":          {startPath, with(`"start_date":"yesterday"`), "/start_date"},
		"bad end":            {startPath, with(`"end_date":"2024-13-01"`), "/end_date"},
		"cash 0":             {startPath, with(`"initial_cash":0`), "/initial_cash"},
		"cash negative":      {startPath, with(`"initial_cash":-5`), "/initial_cash"},
		"cash 1e16":          {startPath, with(`"initial_cash":1e16`), "/initial_cash"},
		"cash rounds to 0":   {startPath, with(`"initial_cash":0.00000000001`), "/initial_cash"},
		"tiny cash":          {startPath, with(`"initial_cash":1e-300`), "/initial_cash"},
		"tiny cash on paper": {livePath, with(`"initial_cash":1e-11`), "/initial_cash"},
		"blanks in symbols": {startPath, base(`["A\u00a0B/C","A/\u2003","\ufeffA/B"]`),
			"/symbols/0 /symbols/1 /symbols/2"},
		"comma in a time": {startPath, with(`"start_date":"2024-01-01T00:00:00,5Z"`), "/start_date"},
		"unknown execution": {startPath, with(`"execution":{"delay_candles":1}`),
			"/execution/delay_candles"},
		"bad execution": {startPath, with(`"execution":{"slippage_bps":1001,"intrabar":"x"}`),
			"/execution/intrabar /execution/slippage_bps"},
		"execution in live": {livePath, with(`"mode":"live","exchange":"x","execution":{}`), "/execution"},
		"cash in live": {livePath, with(`"mode":"live","exchange":"x","initial_cash":1`),
			"/initial_cash"},
		"live no exchange":    {livePath, with(`"mode":"live"`), "/exchange"},
		"adopt":               {livePath, with(`"mode":"live","exchange":"x","resume":"adopt"`), "/resume"},
		"adopt on paper":      {livePath, with(`"resume":"adopt"`), "/resume"},
		"unknown resume":      {livePath, with(`"resume":"keep"`), "/resume"},
		"resume a backtest":   {startPath, with(`"resume":"flat"`), "/resume"},
		"dates in live":       {livePath, with(`"start_date":null`), "/start_date"},
		"bad mode":            {livePath, with(`"mode":"demo"`), "/mode"},
		"exchange_config":     {startPath, with(`"exchange_config":{}`), "/exchange_config"},
		"bad exchange_config": {livePath, with(`"exchange_config":[]`), "/exchange_config"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := s.Do(t, "POST", c.path, c.body)
			if a.StatusCode != 400 || a.Code() != "VALIDATION_FAILED" {
				t.Fatalf("got %d %s", a.StatusCode, a.Body)
			}
			var got []string
			for _, e := range a.JSON(t)["error"].(map[string]any)["details"].(map[string]any)["errors"].([]any) {
				got = append(got, e.(map[string]any)["pointer"].(string))
			}
			if strings.Join(got, " ") != c.pointers {
				t.Errorf("pointers %v, want %s", got, c.pointers)
			}
		})
	}
}

// TestBodiesOfReads: a GET or HEAD accepts nothing, {} or null, whatever the route.
func TestBodiesOfReads(t *testing.T) {
	s := apitest.Start(t,
		apitest.Options{Routes: []edge.Route{{Method: "GET", Path: "/other", Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) { _ = edge.Send(w, r, &edge.Answer{Body: 1}) })}}})
	var cases []exchange
	for path, right := range map[string]int{
		"/api/v1/health": 200, status: 200, "/api/v1/status/detailed": 200, "/api/v1/strategies": 200,
		"/api/v1/exchanges": 200,
		"/api/v1/meta":      200, "/openapi.json": 200, "/api/v1/openapi.json": 200, "/": 307, "/other": 200,
	} {
		cases = append(cases,
			exchange{"{} to " + path, "GET", path, "{}", nil, right, ""},
			exchange{"null to " + path, "GET", path, "null", nil, right, ""},
			exchange{"a field to " + path, "GET", path, `{"x":1}`, nil, 400, "VALIDATION_FAILED"},
			exchange{"half to " + path, "GET", path, `{`, nil, 400, "INVALID_JSON"},
			exchange{"text to " + path, "GET", path, `x`, []string{"Content-Type: text/plain"}, 415,
				"UNSUPPORTED_MEDIA_TYPE"},
			exchange{"much to " + path, "GET", path, strings.Repeat(" ", 2<<20), nil, 413, "BODY_TOO_LARGE"},
			exchange{"HEAD of " + path, "HEAD", path, `[]`, nil, 400, ""},
		)
	}
	play(t, s, cases)
}

func TestManyErrorsStaySmall(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	body := `{"strategy_name":"x","timeframe":"1h","symbols":[` + strings.TrimSuffix(strings.Repeat("1,",
		400_000), ",") + `]}`
	a := s.Do(t, "POST", startPath, body)
	list := a.JSON(t)["error"].(map[string]any)["details"].(map[string]any)["errors"].([]any)
	if a.Code() != "VALIDATION_FAILED" || len(list) != 100 {
		t.Fatalf("%s with %d errors", a.Code(), len(list))
	}
	if first := list[0].(map[string]any); first["pointer"] != "/symbols" ||
		first["message"] != "has too many items, at most 256 are allowed" {
		t.Errorf("first error: %v", first)
	}
}

func TestRoutes(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	cases := []exchange{
		{"unknown in base", "GET", "/api/v1/nothing", "", nil, 404, "NOT_FOUND"},
		{"unknown in root", "GET", "/nothing", "", nil, 404, ""},
		{"trailing slash", "GET", "/api/v1/health/", "", nil, 404, "NOT_FOUND"},
		{"double slash", "GET", "//api/v1/health", "", nil, 404, ""},
		{"dot", "GET", "/api/./v1/health", "", nil, 404, ""},
		{"escaped", "GET", "/api/v1/%68ealth", "", nil, 404, "NOT_FOUND"},
		{"base", "GET", "/api/v1", "", nil, 404, "NOT_FOUND"},
		{"query", "GET", "/api/v1/health?x=1", "", nil, 200, ""},
		{"root", "GET", "/", "", nil, 307, ""},
		{"ui slash", "GET", "/ui/", "", nil, 307, ""},
		{"foreign path before method", "OPTIONS", "/nothing", "", nil, 404, ""},
		{"beside the base", "GET", "/api/v10", "", nil, 404, ""},
	}
	for path, right := range map[string]string{
		"/api/v1/health": "GET", status: "GET", "/api/v1/status/detailed": "GET", results: "GET",
		"/api/v1/strategies": "GET",
		"/api/v1/exchanges":  "GET", "/api/v1/meta": "GET", "/openapi.json": "GET", "/": "GET",
		startPath: "POST", livePath: "POST", stopPath: "POST", resetPath: "DELETE",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE",
			"BREW"} {
			if method != right && !(method == "HEAD" && right == "GET") {
				cases = append(cases,
					exchange{method + " " + path, method, path, "", nil, 405, "METHOD_NOT_ALLOWED"})
			}
		}
	}
	for i, c := range cases {
		if c.method == "HEAD" && c.status == 405 {
			cases[i].code = "" // no body
		}
	}
	play(t, s, cases)
	a := s.Do(t, "PUT", status, "")
	if got := a.Header.Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow is %q", got)
	}
	d := a.JSON(t)["error"].(map[string]any)["details"].(map[string]any)
	if d["path"] != status || d["status_code"] != 405.0 || len(d["allow"].([]any)) != 2 {
		t.Errorf("details of 405: %v", d)
	}
	e := s.Do(t, "GET", "/api/v1/%68ealth", "").JSON(t)["error"].(map[string]any)
	if got := e["details"].(map[string]any)["path"]; got != "/api/v1/%68ealth" {
		t.Errorf("the path was sent as /api/v1/%%68ealth, not %v", got)
	}
	plain := s.Do(t, "GET", "/nothing?secret=1", "").JSON(t)
	if want := map[string]any{"error": "There is nothing at this path.", "status_code": 404.0,
		"path": "/nothing"}; !reflect.DeepEqual(plain, want) {
		t.Errorf("outside of the API: %v", plain)
	}
	if got := s.Do(t, "GET", "/", "").Header.Get("Location"); got != "/ui" {
		t.Errorf("/ leads to %q", got)
	}
}

func TestSecurity(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	play(t, s, []exchange{
		{"foreign host", "GET", status, "", []string{"Host: evil.example"}, 403, "HOST_FORBIDDEN"},
		{"localhost", "GET", status, "", []string{"Host: LOCALHOST:1"}, 200, ""},
		{"trailing dot", "GET", status, "", []string{"Host: localhost."}, 200, ""},
		{"below localhost", "GET", status, "", []string{"Host: assay.localhost:8000"}, 200, ""},
		{"literal", "GET", status, "", []string{"Host: [::1]:8000"}, 200, ""},
		{"host before path", "GET", "/nothing", "", []string{"Host: evil.example"}, 403, ""},
		{"cross-site", "POST", stopPath, "", []string{"Sec-Fetch-Site: cross-site"}, 403, "ORIGIN_FORBIDDEN"},
		{"foreign origin", "POST", stopPath, "", []string{"Origin: http://evil.example"}, 403, "ORIGIN_FORBIDDEN"},
		{"null origin", "DELETE", resetPath, "", []string{"Origin: null"}, 403, "ORIGIN_FORBIDDEN"},
		{"own origin", "POST", stopPath, "", []string{"Origin: " + s.URL}, 409, "RUN_NOT_ACTIVE"},
		{"origin before media type", "POST", startPath, "x", []string{"Content-Type: a/b", "Origin: http://evil.example"}, 403, "ORIGIN_FORBIDDEN"},
		{"method before origin", "PUT", stopPath, "", []string{"Origin: http://evil.example"}, 405, "METHOD_NOT_ALLOWED"},
		{"preflight", "OPTIONS", stopPath, "", []string{"Origin: http://evil.example", "Access-Control-Request-Method: POST"}, 405, "METHOD_NOT_ALLOWED"},
		{"forwarded host", "GET", status, "", []string{"X-Forwarded-Host: evil.example"}, 200, ""},
	})
	if id := s.Do(t, "GET", status, "",
		"X-Request-Id: my-1.Id_").Header.Get("X-Request-Id"); id != "my-1.Id_" {
		t.Errorf("request id %q was not echoed", id)
	}
	if id := s.Do(t, "GET", status, "", "X-Request-Id: my id").Header.Get("X-Request-Id"); id == "my id" ||
		id == "" {
		t.Errorf("request id %q", id)
	}
}

func TestPanic(t *testing.T) {
	var log bytes.Buffer
	s := apitest.Start(t, apitest.Options{Routes: panicking(), Log: &log})
	a := s.Do(t, "GET", "/panic", "")
	if a.StatusCode != http.StatusInternalServerError ||
		!bytes.Contains(a.Body, []byte(`"path":"/panic"}`)) || bytes.Contains(a.Body, []byte("hunter2")) {
		t.Errorf("got %d %s", a.StatusCode, a.Body)
	}
	if a := s.Do(t, "GET", status, ""); a.StatusCode != 200 {
		t.Errorf("after a panic: %d", a.StatusCode)
	}
	if text := log.String(); strings.Contains(text, "hunter2") ||
		!strings.Contains(text, "errors.errorString") {
		t.Errorf("log of a panic: %s", text)
	}
}
