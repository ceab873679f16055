package cmd_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// canaries are secrets that must be nowhere.
type canaries struct {
	t     *testing.T
	mu    sync.Mutex
	forms map[string]string // what to look for, and what it is
	seen  int               // bytes that were looked through
}

// hatch makes one. It has what escapes differently everywhere.
func (c *canaries) hatch(name string) string {
	secret := "cnr" + rand.Text()[:10] + "+/" + rand.Text()[:10] + "&?"
	c.mu.Lock()
	defer c.mu.Unlock()
	for form, text := range map[string]string{"plain": secret, "query": url.QueryEscape(secret),
		"path": url.PathEscape(secret), "reversed": reversed(secret)} {
		c.forms[text] = name + ", " + form
	}
	quoted, _ := json.Marshal(secret)
	c.forms[string(quoted[1:len(quoted)-1])] = name + ", JSON"
	for shift, from := range []int{0, 2, 3} {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString(append(make([]byte, shift), secret...))
			c.forms[text[from:len(text)-1]] = name + ", base64"
		}
	}
	return secret
}

func reversed(s string) string {
	b := []byte(s)
	for i := range len(b) / 2 {
		b[i], b[len(b)-1-i] = b[len(b)-1-i], b[i]
	}
	return string(b)
}

// look looks through a text.
func (c *canaries) look(where string, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen += len(text)
	for form, name := range c.forms {
		if bytes.Contains(text, []byte(form)) {
			c.t.Errorf("%s holds a secret: %s", where, name)
		}
	}
}

// processes looks at what everybody may see of every process.
func (c *canaries) processes() {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	more, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range append(files, more...) {
		if text, err := os.ReadFile(name); err == nil { // it may be gone, or somebody else's
			c.look(name, text)
		}
	}
}

// do makes a request and looks at all of the answer.
func (c *canaries) do(s *service, method, path string, body any) object {
	c.t.Helper()
	resp, answer := s.request(method, path, body)
	c.look(method+" "+path, answer)
	c.look(method+" "+path+", header", []byte(fmt.Sprint(resp.Header)))
	var out object
	_ = json.Unmarshal(answer, &out) // some answers are no objects
	return out
}

// listen looks at every message of the status stream until the service ends.
func (c *canaries) listen(s *service) func() {
	c.t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.url, "http")+"/api/v1/ws/status",
		nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			_, text, err := ws.ReadMessage()
			if err != nil {
				return
			}
			c.look("the stream", text)
		}
	})
	return func() { ws.Close(); wg.Wait() }
}

// play starts a run, waits until it has come as far as wanted or has ended, looks everywhere,
// and clears it.
func (c *canaries) play(s *service, name string, body object, wanted func(object) bool) object {
	c.t.Helper()
	if answer := c.do(s, "POST", "/api/v1/run/live", body); answer["run_id"] == nil {
		c.t.Fatalf("%s: %v", name, answer)
	}
	var status object
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		status = c.do(s, "GET", "/api/v1/status", nil)
		if status["status"] != "running" || wanted(status) {
			break
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: %v\n%s", name, status, s.stderr)
		}
	}
	c.processes()
	c.do(s, "POST", "/api/v1/run/stop", nil)
	s.await("completed", "failed")
	for _, path := range []string{"/api/v1/status/detailed", "/api/v1/results", "/api/v1/health",
		"/api/v1/exchanges", "/api/v1/meta", "/metrics"} {
		c.do(s, "GET", path, nil)
	}
	c.do(s, "DELETE", "/api/v1/run/reset", nil)
	return status
}

func failedWith(t *testing.T, name string, status object, code, reason string) {
	t.Helper()
	details, _ := status["error_details"].(object)
	data, _ := details["data"].(object)
	if status["status"] != "failed" || details["code"] != code || reason != "" && data["reason"] != reason {
		t.Errorf("%s: %v %v %v", name, status["status"], status["error"], details)
	}
}

// TestCanary trades with a key and a secret that are looked for afterwards in everything that
// the service, its strategy and its connector have said and written. The venue does what
// makes clients talk too much: it repeats credentials, signed URLs and bodies in its refusals.
func TestCanary(t *testing.T) {
	t.Parallel()
	c := &canaries{t: t, forms: map[string]string{}}
	key, secret := c.hatch("key"), c.hatch("secret")
	v := liveVenue(t, testvenue.Options{Speed: 120, Key: key, Secret: secret})
	script := func(match, action string, times int) {
		t.Helper()
		if err := v.Do(testvenue.Script{Match: match, Action: action, Times: times}); err != nil {
			t.Fatal(err)
		}
	}
	state := t.TempDir()
	s := serveLive(t, state, v, "--log-level", "trace")
	hangUp := c.listen(s)
	with := func(mode string, config object) object {
		body := crossing()
		body["mode"], body["exchange_config"] = mode, config
		return body
	}
	config := object{"apiKey": key, "secret": secret, "password": c.hatch("password")}

	// Paper needs none of it and says none of it to the venue.
	c.play(s, "paper", with("paper", config), func(status object) bool {
		return status["candles_done"].(float64) >= 3
	})
	if n := v.Count("credentials") + v.Count("keyed"); n > 0 || v.Count("GET /api/v3/klines") == 0 {
		t.Errorf("a paper run made %d requests with credentials", n)
	}

	never := func(object) bool { return false }
	failedWith(t, "a wrong key",
		c.play(s, "a wrong key", with("live", object{"apiKey": c.hatch("wrong key"), "secret": secret}),
			never), "EXCHANGE_AUTH_FAILED", "")
	c.play(s, "a wrong secret", with("live", object{"apiKey": key, "secret": c.hatch("wrong secret")}), never)
	script("GET /api/v3/account", "echo", 1)
	c.play(s, "a refusal that repeats the request", with("live", config), never)
	script("", "refuse_user_stream", 0)
	failedWith(t, "a refused stream", c.play(s, "a refused stream", with("live", config), never),
		"EXCHANGE_ERROR", "subscription_refused")

	for i, action := range []string{"html", "500", "truncated", "cut_after"} {
		script([]string{"GET /api/v3/account", "GET /api/v3/openOrders", "GET /api/v3/myTrades",
			"GET /api/v3/exchangeInfo"}[i], action, 1)
		script("POST /api/v3/order", action, 1)
	}
	script("POST /api/v3/order", "echo", 2) // three refusals in a row would end all buying
	script("DELETE /api/v3/order", "echo", 1)
	status := c.play(s, "trading", with("live", config), trades(1))
	if status["status"] != "running" && status["status"] != "completed" {
		t.Errorf("trading: %v %v", status["status"], status["error"])
	}

	// The connector is started again with credentials from the host's memory. The run before may have
	// bought again before it was stopped.
	again := with("live", config)
	again["resume"] = "flat"
	c.do(s, "POST", "/api/v1/run/live", again)
	s.until("trading", func(status object) bool { return status["phase"] == "trading" })
	s.killConnector()
	s.until("a new connector", func(status object) bool {
		return strings.Contains(fmt.Sprint(status["warnings"]), "CONNECTOR_RELAUNCHED")
	})
	c.processes()
	done := s.until("a trade through it", trades(1))
	c.look("the status", fmt.Append(nil, done))

	// A host that is killed leaves what its connector writes.
	s.end(syscall.SIGKILL)
	hangUp()
	c.look("the log", []byte(s.stderr.String()))
	s = serveLive(t, state, v, "--log-level", "trace")
	for _, path := range []string{"/api/v1/status/detailed", "/api/v1/results", "/api/v1/health"} {
		c.do(s, "GET", path, nil)
	}
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	c.look("the second log", []byte(s.stderr.String()))
	files := 0
	err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		c.look(path, text)
		files++
		return err
	})
	if err != nil || files < 20 || c.seen < 1<<20 {
		t.Errorf("%v: %d files, %d bytes were looked through", err, files, c.seen)
	}
	if v.Count("credentials") == 0 {
		t.Error("no request had credentials: this test looks in vain")
	}
}
