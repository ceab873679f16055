package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
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
	twin := filepath.Join(t.TempDir(), "sma_cross")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", twin,
		"../../strategies/sma_cross")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runScriptsWith(t, folder, func(env *testscript.Env) error {
		env.Setenv("PATH", filepath.Dir(interpreter)+string(filepath.ListSeparator)+env.Getenv("PATH"))
		env.Setenv("PYTHONPATH", sdk) // of the author's tests
		env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
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
		return os.Link(twin, filepath.Join(to, "sma_cross"))
	})
}
