//go:build unix

package command_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/governance/control/command"
	"github.com/assay-run/assay/governance/control/planetest"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion/policy"
)

// serving runs the command serve until stop.
func serving(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		code := command.Run(ctx, append([]string{"serve", "--port", "0"}, args...), command.World{
			Env: func(string) (string, bool) {
				return "", false
			}, In: strings.NewReader(""), Out: write, Err: &errs, Now: time.Now, Version: "1",
		})
		_ = write.Close()
		ended <- code
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("exit %d: %s", <-ended, errs.String())
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "governance listening on ")), func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("exit %d: %s", code, errs.String())
		}
	}
}

func fetch(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v %s", url, err, body)
	}
	return body
}

func write(t *testing.T, path string, text []byte) string {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestServe runs a plane from its first start in open mode to the check of its whole log.
func TestServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "governance")
	files := t.TempDir()
	url, stop := serving(t, "--state-dir", dir, "--log-origin", planetest.Origin)
	if health := string(fetch(t, url+"/health")); !strings.Contains(health, "open mode") {
		t.Errorf("%s", health)
	}
	doc := planetest.Good(time.Now())
	resp, err := http.Post(url+"/candidate-bundles/ingest", "application/json",
		bytes.NewReader(doc.Canonical))
	if err != nil {
		t.Fatal(err)
	}
	var rec struct{ Seal *ledger.Seal }
	if err := json.NewDecoder(resp.Body).Decode(&rec); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("%v %s", err, resp.Status)
	}
	_ = resp.Body.Close()

	trustSomebody(t, dir, files, url)
	if code, _, errs := run(t, time.Now, "", "serve", "--port", "0", "--state-dir", dir); code != 1 ||
		!strings.Contains(errs, "in use") {
		t.Errorf("a second plane: exit %d %s", code, errs)
	}
	if code, _, _ := run(t, time.Now, "", "rebuild", "--check", "--state-dir", dir); code != 1 {
		t.Errorf("rebuild beside a plane: exit %d", code)
	}
	if code, out, _ := run(t, time.Now, "", "keys", "show", "--state-dir", dir); code != 0 ||
		!strings.Contains(out, "log_origin "+planetest.Origin) {
		t.Errorf("keys show: exit %d %s", code, out)
	}
	handedOver(t, url, files, doc.Canonical, rec.Seal)
	stop()

	whole(t, dir, files)
	for _, args := range [][]string{{"rebuild", "--check"}, {"rebuild"}, {"verify", "--log"}} {
		if code, out, errs := run(t, time.Now, "", append(args, "--state-dir", dir)...); code != 0 {
			t.Errorf("%v: exit %d %s%s", args, code, out, errs)
		}
	}
	lostWitness(t, dir)
	if code, _, errs := run(t, time.Now, "", "serve", "--port", "0", "--state-dir", dir, "--log-origin",
		"other.example"); code != 2 {
		t.Errorf("another name: exit %d %s", code, errs)
	}
	if err := os.Remove(filepath.Join(dir, "trust.json")); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, time.Now, "", "serve", "--port", "0", "--state-dir", dir); code != 2 ||
		!strings.Contains(errs, "trust.json") {
		t.Errorf("back to open mode: exit %d %s", code, errs)
	}
	if code, _, errs := run(t, time.Now, "", "keys", "trust", "--restore", "--pub", "x", "--state-dir",
		dir); code != 2 {
		t.Errorf("restore with a key: exit %d %s", code, errs)
	}
	if code, out, errs := run(t, time.Now, "", "keys", "trust", "--restore", "--state-dir", dir); code != 0 ||
		!strings.Contains(out, "version 2, 1 keys") {
		t.Errorf("restore: exit %d %s%s", code, out, errs)
	}
	if code, _, errs := run(t, time.Now, "", "keys", "trust", "--restore", "--state-dir", dir); code != 1 {
		t.Errorf("restore over a file: exit %d %s", code, errs)
	}
	_, stop = serving(t, "--state-dir", dir)
	stop()
}

// lostWitness takes checkpoints.log away, and brings the log back as an operator does.
func lostWitness(t *testing.T, dir string) {
	t.Helper()
	rebuild := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := run(t, time.Now, "", append([]string{"rebuild", "--state-dir", dir}, args...)...)
		if code != want {
			t.Errorf("rebuild %v: exit %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out + errs
	}
	rebuild(2, "--accept-checkpoints") // it is there
	if err := os.Remove(filepath.Join(dir, "checkpoints.log")); err != nil {
		t.Fatal(err)
	}
	if out := rebuild(1, "--check"); !strings.Contains(out, "LEDGER_ROLLBACK") ||
		!strings.Contains(out, "--accept-checkpoints") {
		t.Errorf("%s", out)
	}
	rebuild(2, "--check", "--accept-checkpoints")
	if out := rebuild(0, "--accept-checkpoints"); !strings.Contains(out, "begins anew at") {
		t.Errorf("%s", out)
	}
	rebuild(0, "--check")
}

// whole checks a log by keys that were fetched before, and by those of another plane.
func whole(t *testing.T, dir, files string) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "other")
	url, stop := serving(t, "--state-dir", other, "--log-origin", planetest.Origin)
	foreign := write(t, filepath.Join(files, "foreign.pub"), fetch(t, url+"/trust/governance.pub"))
	foreignRoot := write(t, filepath.Join(files, "foreign.root.json"),
		fetch(t, url+"/trust/trusted_root.json"))
	stop()
	key, root := filepath.Join(files, "governance.pub"), filepath.Join(files, "trusted_root.json")
	for _, c := range []struct {
		key, root string
		want      int
		says      string
	}{
		{key, root, 0, `"ok": true`}, {foreign, root, 1, `"name": "signature of entry 0"`},
		{key, foreignRoot, 1, `"name": "checkpoint 0"`},
		{root, root, 2, ""}, {key, key, 2, ""},
	} {
		code, out, errs := run(t, time.Now, "", "verify", "--log", "--json", "--state-dir", dir, "--key",
			c.key, "--trusted-root", c.root)
		if code != c.want || !strings.Contains(out, c.says) {
			t.Errorf("%s %s: exit %d %s%s", filepath.Base(c.key), filepath.Base(c.root), code, out, errs)
		}
	}
	if code, out, _ := run(t, time.Now, "", "verify", "--log", "--state-dir", dir); code != 0 ||
		!strings.Contains(out, "not checked: that the keys") {
		t.Errorf("by its own keys: exit %d %s", code, out)
	}
}

// trustSomebody makes a key, enters it, and has the plane read it.
func trustSomebody(t *testing.T, dir, files, url string) {
	t.Helper()
	name := filepath.Join(files, "rita")
	if code, _, errs := run(t, time.Now, "", "keys", "new", name); code != 0 {
		t.Fatalf("keys new: exit %d %s", code, errs)
	}
	if code, _, _ := run(t, time.Now, "", "keys", "new", name); code != 1 {
		t.Errorf("a key was overwritten: exit %d", code)
	}
	for _, role := range []string{"risk", "approver"} {
		code, out, errs := run(t, time.Now, "", "keys", "trust", "--state-dir", dir, "--pub", name+".pub",
			"--principal", "rita", "--role", role)
		if code != 0 {
			t.Fatalf("keys trust: exit %d %s%s", code, out, errs)
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if strings.Contains(string(fetch(t, url+"/health")), `"healthy"`) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("SIGHUP: trust.json is not in force")
}

// handedOver verifies what a client has got, and then the same with one byte changed.
func handedOver(t *testing.T, url, files string, bundleText []byte, seal *ledger.Seal) {
	t.Helper()
	sigstore, err := seal.Sigstore.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"verify", write(t, filepath.Join(files, "candidate_bundle.json"), bundleText),
		write(t, filepath.Join(files, "candidate_bundle.sigstore.json"), sigstore),
		write(t, filepath.Join(files, "candidate_bundle.tlog-proof"), []byte(seal.TlogProof)),
		"--key", write(t, filepath.Join(files, "governance.pub"), fetch(t, url+"/trust/governance.pub")),
		"--trusted-root",
		write(t, filepath.Join(files, "trusted_root.json"), fetch(t, url+"/trust/trusted_root.json")),
	}
	if code, out, errs := run(t, time.Now, "", args...); code != 0 {
		t.Errorf("verify: exit %d\n%s%s", code, out, errs)
	}
	write(t, args[1], bytes.Replace(bundleText, []byte(`"fast":10`), []byte(`"fast":11`), 1))
	if code, out, _ := run(t, time.Now, "", args...); code != 1 || !strings.Contains(out, "FAIL") {
		t.Errorf("verify of a changed bundle: exit %d\n%s", code, out)
	}
}

func TestServeRefusals(t *testing.T) {
	dir := t.TempDir()
	weak := strings.Replace(string(policy.Default().Text), `"count":1,"role":"any"`, `"count":0,"role":"any"`,
		1)
	for _, args := range [][]string{
		{"--port", "x"}, {"--port", "70000"}, {"--log-level", "loud"}, {"--host", ""}, {"--host", "0.0.0.0"},
		{"--behind-proxy=maybe"}, {"--nothing"},
		{"--policy", filepath.Join(dir, "none")}, {"--trust", filepath.Join(dir, "none")},
		{"--artifact-root", filepath.Join(dir, "none")},
		{"--policy", write(t, filepath.Join(dir, "weak.json"), []byte(weak))},
		{"--policy", write(t, filepath.Join(dir, "p.json"), []byte(`{"schema":"x"}`))},
		{"--trust", write(t, filepath.Join(dir, "t.json"), []byte(`{}`))}, {"--log-origin", "Not A Name"},
	} {
		state := filepath.Join(t.TempDir(), "g")
		if code, out,
			errs := run(t, time.Now, "",
			append([]string{"serve", "--state-dir", state}, args...)...); code != 2 || out != "" {
			t.Errorf("%v: exit %d %s%s", args, code, out, errs)
		}
	}
	for _, args := range [][]string{{"verify"}, {"verify", filepath.Join(dir, "none")},
		{"verify", "--log", "x"}, {"verify", "--log", "--trust", "x"}, {"keys", "x"}, {"keys", "trust"},
		{"rebuild", "x"}} {
		if code, _, errs := run(t, time.Now, "", args...); code != 2 {
			t.Errorf("%v: exit %d %s", args, code, errs)
		}
	}
}
