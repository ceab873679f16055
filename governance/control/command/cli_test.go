package command_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// commands are all of the command line.
var commands = []string{
	"serve", "approve", "reject", "suspend", "retire", "incident", "verify", "rebuild", "keys new",
	"keys show", "keys trust",
}

// TestHelp: every command says what it does, with an example, and exits with 0.
func TestHelp(t *testing.T) {
	for _, name := range commands {
		code, out, errs := run(t, time.Now, "", append(strings.Fields(name), "--help")...)
		if code != 0 || !strings.Contains(out, "Examples:\n  governance "+name) || errs != "" {
			t.Errorf("%s: exit %d %s%s", name, code, out, errs)
		}
		if name != "serve" && !strings.Contains(out, "--json") {
			t.Errorf("%s has no --json", name)
		}
	}
	code, out, _ := run(t, time.Now, "")
	if code != 0 || !strings.Contains(out, "Exit codes: 0 done, 1 refused, 2 usage or configuration, 3") {
		t.Errorf("exit %d %s", code, out)
	}
	if code, out, _ := run(t, time.Now, "", "completion", "bash"); code != 0 ||
		!strings.Contains(out, "__governance") {
		t.Errorf("completion: exit %d", code)
	}
	for args, want := range map[string]string{
		"approve cr-x --stage ": "canary", "approve cr-x --role ": "approver",
		"suspend cr-x --to ": "research", "incident cr-x --severity ": "critical",
		"incident cr-x --result ": "fail", "keys trust --role ": "operator", "serve --log-level ": "debug",
	} {
		if _, out, _ := run(t, time.Now, "",
			append([]string{"__complete"}, strings.Split(args, " ")...)...); !strings.Contains(out,
			want+"\n") {
			t.Errorf("%s: completes to %q", args, out)
		}
	}
}

// TestJSON: with --json the output is one value, and questions go elsewhere.
func TestJSON(t *testing.T) {
	d := newDesk(t)
	id := d.submit()
	common := []string{"--control-url", d.p.URL, "--json"}
	code, out, errs := run(t, d.p.Now, "y\n",
		append([]string{"suspend", id, "--reason", "x", "--key", d.key("otto")}, common...)...)
	var rec struct {
		Schema string
		State  struct{ Stage, Href string } `json:"promotion_state"`
	}
	if err := json.Unmarshal([]byte(out), &rec); err != nil || code != 0 ||
		rec.Schema != "ingest-receipt/v1" || rec.State.Stage != "paper" {
		t.Errorf("suspend: exit %d %v %s", code, err, out)
	}
	if !strings.Contains(errs, "[y/N]") {
		t.Errorf("nobody was asked: %s", errs)
	}
	code, out, errs = run(t, d.p.Now, "",
		append([]string{"approve", id, "--resume", "--role", "risk", "--key", d.key("rita"), "--yes"},
			common...)...)
	if err := json.Unmarshal([]byte(out), &rec); err != nil || code != 0 ||
		!strings.Contains(errs, "plan for paper: pass") {
		t.Errorf("approve: exit %d %v %s%s", code, err, out, errs)
	}
	name := filepath.Join(t.TempDir(), "new")
	var made, entered map[string]any
	if _, out, _ = run(t, time.Now, "", "keys", "new", name, "--json"); json.Unmarshal([]byte(out),
		&made) != nil || len(made["key_id"].(string)) != 64 {
		t.Errorf("keys new: %s", out)
	}
	_, out, _ = run(t, time.Now, "", "keys", "trust", "--pub", name+".pub", "--principal", "n", "--role",
		"lab", "--state-dir", t.TempDir(), "--json")
	if json.Unmarshal([]byte(out), &entered) != nil || entered["version"] != 1.0 {
		t.Errorf("keys trust: %s", out)
	}
}

// TestTrustSettings: what is of no one key is changed without naming one.
func TestTrustSettings(t *testing.T) {
	dir, now := t.TempDir(), func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }
	trust := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := run(t, now, "", append([]string{"keys", "trust", "--state-dir", dir}, args...)...)
		if code != want {
			t.Fatalf("%v: exit %d, want %d\n%s%s", args, code, want, out, errs)
		}
		return out + errs
	}
	if out := trust(2, "--require-signature", "true"); !strings.Contains(out, "enter a key first") {
		t.Errorf("%s", out)
	}
	name := filepath.Join(dir, "new")
	run(t, now, "", "keys", "new", name)
	trust(0, "--pub", name+".pub", "--principal", "n", "--role", "lab")
	trust(0, "--require-signature", "true")
	if out := trust(0, "--expires", "10d", "--valid", "20d"); !strings.Contains(out,
		"version 3, 1 keys, expires 2026-03-11T00:00:00Z") {
		t.Errorf("%s", out)
	}
	trust(2, "--require-signature", "yes")
	trust(2, "--expires", "soon")
	trust(2, "--restore", "--expires", "10d")
	trust(2, "--principal", "n", "--expires", "10d")
	text, err := os.ReadFile(filepath.Join(dir, "trust.json"))
	if err != nil || !strings.Contains(string(text), `"require_signature":true`) ||
		!strings.Contains(string(text), `"version":3`) {
		t.Errorf("%v %s", err, text)
	}
}

// TestKeysNeedAFolder: a key is not put into a folder that nobody has made.
func TestKeysNeedAFolder(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys", "olga")
	if code, _, errs := run(t, time.Now, "", "keys", "new", name); code != 2 ||
		!strings.Contains(errs, "mkdir -p "+filepath.Dir(name)) {
		t.Errorf("exit %d %s", code, errs)
	}
}

// TestHints: a refusal says what to do about it.
func TestHints(t *testing.T) {
	d := newDesk(t)
	id := d.submit()
	for args, want := range map[string]string{
		"approve " + id + " --stage canary --role risk":    "another person has to sign",
		"approve " + id + " --stage canary --role buddy":   "--role: risk or approver",
		"approve " + id + " --stage retired --role risk":   "--stage: paper, canary or live",
		"suspend " + id + " --to live --reason x":          "--to: research, paper or canary",
		"retire " + id + " --replaced-by other --reason x": "begins with cr-",
		"approve " + id + " --resume --role risk":          "nothing to resume from",
		"reject " + id: "a stop says why",
		"approve " + id[:20] + " --stage canary --role risk": "begins with cr-",
	} {
		full := append(strings.Fields(args), "--control-url", d.p.URL, "--yes", "--key",
			d.key("owner@example.com"))
		if code, _, errs := run(t, d.p.Now, "", full...); code != 1 && code != 2 ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: exit %d %s", args, code, errs)
		}
	}
}

// lying is a plane in front of the real one that changes what it says.
func lying(t *testing.T, real, path string, change func(string) string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Error("something was signed and posted")
		}
		resp, err := http.Get(real + r.URL.Path)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		text := string(body)
		if strings.HasPrefix(r.URL.Path, path) {
			text = change(text)
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestLyingPlane: nobody signs a plan that is not the one they are shown, nor for another
// bundle or stage.
func TestLyingPlane(t *testing.T) {
	d := newDesk(t)
	id := d.submit()
	for name, c := range map[string]struct {
		path   string
		change func(string) string
	}{
		"another verdict": {"/promotion-plans", func(s string) string {
			return strings.Replace(s, `"verdict":"pending","observed"`, `"verdict":"pass","observed"`, 1)
		}},
		"a gate less": {"/promotion-plans", func(s string) string {
			return strings.Replace(s, `"gate_id":"incidents.none"`, `"gate_id":"incidents.other"`, 1)
		}},
		"another digest": {"/promotion-plans", func(s string) string {
			return strings.Replace(s, `"plan_digest":"sha256:`, `"plan_digest":"sha256:0`, 1)
		}},
		"another stage": {"/promotion-plans", func(s string) string {
			return strings.Replace(s, `"stage":"canary"`, `"stage":"live"`, 1)
		}},
		"another bundle": {"/candidate-bundles", func(s string) string {
			return strings.Replace(s, `"fast":10`, `"fast":11`, 1)
		}},
		"no plan at all": {"/promotion-plans", func(string) string { return "<html>" }},
		"no log":         {"/trust/log.json", func(string) string { return "{}" }},
		"another's owner": {"/candidate-bundles", func(s string) string {
			return strings.Replace(s, `"owner":"`, `"owner":"not-`, 1)
		}},
	} {
		url := lying(t, d.p.URL, c.path, c.change)
		code, out, errs := run(t, d.p.Now, "", "approve", id, "--stage", "canary", "--role", "risk", "--key",
			d.key("rita"), "--yes", "--control-url", url)
		if code != 1 && code != 3 {
			t.Errorf("%s: exit %d %s%s", name, code, out, errs)
		}
	}
}
