//go:build linux || darwin

package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/base/file"
)

const childEnv = "ASSAY_JOURNAL_TEST_CHILD"

// TestMain lets the test binary be the process that writes and is killed.
func TestMain(m *testing.M) {
	role, arg, ok := strings.Cut(os.Getenv(childEnv), ":")
	if !ok {
		goleak.VerifyTestMain(m)
		return
	}
	children := map[string]func(ctx context.Context, args []string) error{"write": writeChild,
		"full": fullChild, "fullopen": fullOpenChild, "open": openChild}
	if err := children[role](context.Background(), strings.Split(arg, "|")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	// The race detector would wait a second at the end of each.
	cmd.Env = append(os.Environ(), childEnv+"="+role+":"+strings.Join(args, "|"), "GORACE=atexit_sleep_ms=0")
	return cmd
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// openChild says whether a second process is let in.
func openChild(ctx context.Context, args []string) error {
	o, err := Open(ctx, args[0], Options{})
	switch {
	case errors.Is(err, file.ErrHeld):
		fmt.Print("held")
		return nil
	case err != nil:
		return err
	}
	fmt.Print("open")
	return o.Close()
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	o := openAt(t, dir)
	r := begin(t, o.Journal, 1)
	fill(t, r, 1, 2)
	if out, err := child(t, "open", dir).Output(); string(out) != "held" || err != nil {
		t.Errorf("while it is open: %q %v", out, err)
	}
	if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, file.ErrHeld) {
		t.Errorf("in the same process: %v", err)
	}
	if err := operate(t.Context(), r, 1, 2, 0); err != nil {
		t.Errorf("the first goes on: %v", err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := child(t, "open", dir).Output(); string(out) != "open" || err != nil {
		t.Errorf("after it was closed: %q %v", out, err)
	}
	if o := openAt(t, dir); o.Quarantined != nil {
		t.Errorf("%+v", o.Quarantined)
	}
}
