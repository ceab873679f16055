package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestPythonScripts runs testdata/python/*.txtar with an interpreter that has what the SDK for
// Python needs, and a strategy in Go as the twin of one in Python.
func TestPythonScripts(t *testing.T) {
	ring.Proof(t, "it copies an interpreter and plays windows step by step")
	runPythonScripts(t, "testdata/python", "../../plugin-sdk/python/requirements.txt")
}

// TestNotebook runs docs/notebooks, with an interpreter that has what a notebook needs besides.
func TestNotebook(t *testing.T) {
	ring.Proof(t, "it installs what executes a notebook")
	runPythonScripts(t, "testdata/notebook", "../../docs/notebooks/requirements.txt")
}

func runPythonScripts(t *testing.T, folder, lock string) {
	lock, err := filepath.Abs(lock)
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := filepath.Abs("../../plugin-sdk/python/src")
	if err != nil {
		t.Fatal(err)
	}
	interpreter := hosttest.PythonOrSkip(t, lock)
	// A strategy in Go, and the service for those that trade.
	built := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", built+"/",
		"../../strategies/sma_cross", "../../cmd/assay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runScriptsWith(t, folder, func(env *testscript.Env) error {
		env.Setenv("PATH", strings.Join([]string{filepath.Dir(interpreter), built, env.Getenv("PATH")},
			string(filepath.ListSeparator)))
		env.Setenv("PYTHONPATH", sdk) // of the author's tests
		env.Vars = append(env.Vars, hosttest.CompiledPython(t))
		notebook, err := os.ReadFile("../../docs/notebooks/runs.ipynb")
		if err == nil {
			err = os.WriteFile(filepath.Join(env.WorkDir, "runs.ipynb"), notebook, 0o600)
		}
		if err != nil {
			return err
		}
		to := filepath.Join(env.WorkDir, "sma_go", "bin")
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		return os.Link(filepath.Join(built, "sma_cross"), filepath.Join(to, "sma_cross"))
	})
}
