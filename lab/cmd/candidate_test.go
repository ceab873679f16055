package cmd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/control/command"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/lab/cmd"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// governanceMain makes this binary the governance command of the scripts.
func governanceMain() {
	os.Exit(command.Run(context.Background(), os.Args[1:], command.World{
		Env: os.LookupEnv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: aheadNow, Version: "test",
	}))
}

// startPlane runs governance serve on a free port until the script ends, and sets
// SERVICE_CONTROL_URL: plane ARGS...
func startPlane(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: plane ARGS...")
	}
	program := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, "governance"); program == "" && isFile(path) {
			program = path
		}
	}
	cmd := exec.Command(program, append([]string{"serve", "--port", "0", "--log-level", "error"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = ts.MkAbs("."), append(os.Environ(), "HOME="+ts.MkAbs("."), clockVariable+"="+ts.Getenv(clockVariable)), ts.Stderr()
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			ts.Setenv("SERVICE_CONTROL_URL", url)
			go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the program
			return
		}
	}
	ts.Fatalf("governance serve said nothing of its address")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// makeKeys makes a key for each principal and enters it in trust.json:
// keys STATE_DIR NAME=ROLE...
func makeKeys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: keys STATE_DIR NAME=ROLE...")
	}
	for _, arg := range args[1:] {
		name, role, _ := strings.Cut(arg, "=")
		ts.Check(ts.Exec("governance", "keys", "new", name))
		ts.Check(ts.Exec("governance", "keys", "trust", "--state-dir", args[0], "--pub", name+".pub",
			"--principal", name, "--role", role))
	}
}

// fetchPath writes a body of the control plane to a file: fetch /trust/governance.pub FILE.
func fetchPath(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fetch PATH FILE")
	}
	resp, err := http.Get(ts.Getenv("SERVICE_CONTROL_URL") + args[0])
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s: %s", args[0], resp.Status, body)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o600))
}

// forgeBundle changes numbers of a packed bundle, makes its id again, signs it unless KEY is
// empty, and posts it: forge BUNDLE KEY POINTER=VALUE... It prints what the plane says.
func forgeBundle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: forge BUNDLE KEY POINTER=VALUE...")
	}
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	var tree any
	ts.Check(json.Unmarshal(text, &tree))
	for _, arg := range args[2:] {
		pointer, value, _ := strings.Cut(arg, "=")
		var v any = value
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			v = n
		}
		steps := strings.Split(pointer[1:], "/")
		at := tree
		for _, step := range steps[:len(steps)-1] {
			if list, ok := at.([]any); ok {
				i, err := strconv.Atoi(step)
				ts.Check(err)
				at = list[i]
				continue
			}
			at = at.(map[string]any)[step]
		}
		at.(map[string]any)[steps[len(steps)-1]] = v
	}
	text, err = json.Marshal(tree)
	ts.Check(err)
	var b bundle.Bundle
	ts.Check(json.Unmarshal(text, &b))
	doc, err := bundle.Seal(b)
	ts.Check(err)
	var signed []dsse.Envelope
	if args[1] != "" {
		key, err := dsse.ReadP256(ts.MkAbs(args[1]))
		ts.Check(err)
		envelope, err := doc.Attest(bundle.TypeBundle, map[string]any{}, key)
		ts.Check(err)
		signed = append(signed, envelope)
	}
	body, err := bundle.EncodePost(doc.Canonical, signed...)
	ts.Check(err)
	resp, err := http.Post(ts.Getenv("SERVICE_CONTROL_URL")+"/candidate-bundles/ingest", "application/json",
		bytes.NewReader(body))
	ts.Check(err)
	defer resp.Body.Close()
	var answer struct {
		Rungs []string
		State struct {
			Stage  string
			Status string `json:"stage_status"`
		} `json:"promotion_state"`
		Error struct {
			Code    string
			Details struct {
				Pointer            string
				Declared, Computed any
			}
		}
	}
	ts.Check(json.NewDecoder(resp.Body).Decode(&answer))
	if e := answer.Error; e.Code != "" {
		fmt.Fprintf(ts.Stdout(), "%d %s %s declared %v computed %v\n", resp.StatusCode, e.Code,
			e.Details.Pointer, e.Details.Declared, e.Details.Computed)
		return
	}
	fmt.Fprintf(ts.Stdout(), "%d %s/%s %s\n", resp.StatusCode, answer.State.Stage, answer.State.Status,
		strings.Join(answer.Rungs, " "))
}

// writeKilledRun writes the record of a paper run of the same program as a lab run, which the
// kill switch has ended, as the service would: killedrun RUN ID.
func writeKilledRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: killedrun RUN ID")
	}
	text, err := os.ReadFile(ts.MkAbs(filepath.Join(".assay", "runs", args[0], "metadata.json")))
	ts.Check(err)
	m, err := artifact.DecodeMetadata(text)
	ts.Check(err)
	ended := time.Now().Add(-time.Minute)
	m.RunID, m.Kind, m.Artifacts = args[1], artifact.KindService, nil
	m.Service = &artifact.ServiceNote{Mode: "paper", StopReason: "error", Partial: true}
	m.Volatile.StartedAt = market.FromTime(ended.Add(-time.Hour))
	m.Fail(&artifact.Failure{Code: "RISK_KILL", Message: "The drawdown limit ended the run."}, ended)
	text, err = m.Encode()
	ts.Check(err)
	dir := ts.MkAbs(filepath.Join(".assay", "runs", args[1]))
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "metadata.json"), text, 0o600))
}

// The options of the governance page, each by its name.
func TestCandidateOptions(t *testing.T) {
	root := cmd.Commands(cmd.IO{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }})
	for path, flags := range map[string][]string{
		"candidate pack": {
			"run", "candidate", "stage", "owner", "family", "limits", "valid", "log-origin", "sign-key",
			"control-url", "submit",
		},
		"candidate replay": {"candidate", "sign-key", "control-url", "submit"},
		"run":              {"candidate"},
		"falsify":          {"candidate"},
	} {
		c, _, err := root.Find(strings.Fields(path))
		if err != nil || !slices.Equal(strings.Fields(c.CommandPath())[1:], strings.Fields(path)) {
			t.Fatalf("%s: %v", path, err)
		}
		for _, name := range flags {
			if c.Flags().Lookup(name) == nil {
				t.Errorf("lab %s has no --%s", path, name)
			}
		}
	}
	pack, _, err := root.Find([]string{"candidate", "pack"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(pack.Flag("valid").DefValue); got != "30d" {
		t.Errorf("--valid is %s by default", got)
	}
}
