package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/lab"
)

// TestMain makes this binary the lab command of the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"lab": func() {
			os.Exit(lab.Main(context.Background(), os.Args[1:], lab.IO{Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}))
		},
	})
}

// TestScripts runs testdata/*.txtar; exit codes are compared with the command exits.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"damage": damage,
		},
	})
}

// exits runs lab and wants an exit code: exits 2 data list --nonsense.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARGS...")
	}
	err := ts.Exec("lab", args[1:]...)
	got := "0"
	if coder, ok := err.(interface{ ExitCode() int }); ok {
		got = string(rune('0' + coder.ExitCode()))
	}
	if got != args[0] {
		ts.Fatalf("lab %v: exit code %s, want %s (%v)", args[1:], got, args[0], err)
	}
}

// damage changes one byte in the middle of the file that a pattern names.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage PATTERN")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("%s names %d files", args[0], len(files))
	}
	b, err := os.ReadFile(files[0])
	ts.Check(err)
	b[len(b)/2] ^= 1
	ts.Check(os.Remove(files[0]))
	ts.Check(os.WriteFile(files[0], b, 0o400))
}
