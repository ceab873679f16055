package lab_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/governance/control/command"
	"github.com/assay-run/assay/lab"
)

// governanceMain makes this binary the governance command of the scripts.
func governanceMain() {
	os.Exit(command.Run(context.Background(), os.Args[1:], command.World{
		Env: os.LookupEnv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now, Version: "test",
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
	cmd.Dir, cmd.Env, cmd.Stderr = ts.MkAbs("."), append(os.Environ(), "HOME="+ts.MkAbs(".")), ts.Stderr()
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
		ts.Check(ts.Exec("governance", "keys", "trust", "--state-dir", args[0], "--pub", name+".pub", "--principal", name, "--role", role))
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

// The options of the governance page, each by its name.
func TestCandidateOptions(t *testing.T) {
	root := lab.Commands(lab.IO{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }})
	for path, flags := range map[string][]string{
		"candidate pack": {
			"run", "candidate", "stage", "owner", "family", "limits", "valid", "log-origin", "sign-key", "control-url", "submit",
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
