package cmd_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSecretsLeaveNoTrace sends a random secret in every way that a mistaken client
// may, and looks for it in the answers, in the log at its most talkative, in the
// process list and in everything below the state folder.
func TestSecretsLeaveNoTrace(t *testing.T) {
	canary := "canary" + rand.Text()
	state := t.TempDir()
	s := serve(t, state, "--log-level", "trace")
	base := `{"strategy_name":"sma_cross","symbols":["BTC/USDT"],"timeframe":"1h",`
	for name, body := range map[string]string{
		"paper": base + `"exchange_config":{"api_key":"%s"}}`,
		"live": base +
			`"mode":"live","exchange":"sample","exchange_config":{"api_key":"%s","api_secret":"x"}}`,
		"no exchange":   base + `"mode":"live","exchange_config":{"api_key":"%s"}}`,
		"as a key":      base + `"mode":"live","exchange":"sample","exchange_config":{"%s":1}}`,
		"as the config": base + `"exchange_config":"%s"}`,
		"in a list":     base + `"exchange_config":["%s"]}`,
		"twice":         base + `"exchange_config":{"a":"%[1]s","a":"%[1]s"}}`,
		"cut off":       base + `"exchange_config":{"api_key":"%s`,
		"too deep":      base + `"exchange_config":` + strings.Repeat("[", 70) + `"%s"`,
		"bad text":      base + `"exchange_config":{"api_key":"%s` + "\xff\"}}",
		"a backtest":    base + `"exchange_config":{"api_key":"%s"}}`,
	} {
		path := "/api/v1/run/live"
		if name == "a backtest" {
			path = "/api/v1/run/backtest"
		}
		for _, key := range []string{"", "key-of-" + strings.ReplaceAll(name, " ", "-")} {
			req, err := http.NewRequest("POST", s.url+path, strings.NewReader(fmt.Sprintf(body, canary)))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			if key != "" {
				req.Header.Set("Idempotency-Key", key)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || bytes.Contains(answer, []byte(canary)) ||
				strings.Contains(fmt.Sprint(resp.Header), canary) {
				t.Errorf("%s: %v, the answer repeats the secret: %s", name, err, answer)
			}
			if resp.StatusCode >= 500 {
				t.Errorf("%s: %d %s", name, resp.StatusCode, answer)
			}
			s.call("POST", "/run/stop", nil, nil) // a mode that is offered has begun to run
			s.call("DELETE", "/run/reset", nil, nil)
		}
	}
	for _, path := range []string{"/status/detailed", "/meta", "/exchanges", "/strategies", "/health"} {
		var raw any
		s.call("GET", path, nil, &raw)
		if strings.Contains(fmt.Sprint(raw), canary) {
			t.Errorf("%s shows the secret", path)
		}
	}
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.cmd.Process.Pid)); err == nil &&
		bytes.Contains(line, []byte(canary)) {
		t.Error("the process list shows the secret")
	}
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if log := s.stderr.String(); strings.Contains(log, canary) || log == "" {
		t.Errorf("the log shows the secret, or nothing at all (%d bytes)", len(log))
	}
	err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(canary)) {
			t.Errorf("%s holds the secret", path)
		}
		// A strategy under another user reads candles and its program, which are no secret; the state
		// directory keeps others out.
		shared := filepath.Ext(path) == ".candles" || filepath.Dir(path) == filepath.Join(state, "plugins")
		if info, e := d.Info(); e == nil && info.Mode().Perm()&0o077 != 0 && !shared {
			t.Errorf("%s can be read by others: %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
