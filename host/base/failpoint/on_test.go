//go:build crashpoints && unix

package failpoint

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if os.Getenv("ASSAY_CRASH_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	defer os.Stdout.WriteString("deferred")
	for range 3 {
		Point(FillRead)
		os.Stdout.WriteString("r")
		Point(FillCommitted)
		os.Stdout.WriteString("c ")
	}
}

func child(t *testing.T, plan string) (stdout string, state *os.ProcessState, stderr string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "ASSAY_CRASH_TEST_CHILD=1", Env+"="+plan)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the state tells
	return out.String(), cmd.ProcessState, errs.String()
}

func TestKills(t *testing.T) {
	for plan, want := range map[string]string{
		"fill-read:1": "", "fill-committed:1": "r", "fill-read:3": "rc rc ", "fill-committed:2": "rc r",
	} {
		out, state, _ := child(t, plan)
		status := state.Sys().(syscall.WaitStatus)
		if !status.Signaled() || status.Signal() != syscall.SIGKILL || out != want {
			t.Errorf("%s: %v after %q, want %q", plan, state, out, want)
		}
	}
	if out, state, _ := child(t, ""); !state.Success() || out != "rc rc rc deferred" {
		t.Errorf("no plan: %v %q", state, out)
	}
	if out, state, _ := child(t, "fill-read:4"); !state.Success() || out != "rc rc rc deferred" {
		t.Errorf("beyond: %v %q", state, out)
	}
}

func TestBadPlan(t *testing.T) {
	_, state, errs := child(t, "nowhere:1")
	if state.ExitCode() != 2 || !strings.Contains(errs, Env) {
		t.Errorf("%v %q", state, errs)
	}
}
