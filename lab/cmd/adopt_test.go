package cmd_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestProveAdopted runs testdata/adopt/*.txtar beside backtesting.py itself, whose trades are those
// of the adopted strategies. It also runs the twins of bundled strategies there.
func TestProveAdopted(t *testing.T) {
	ring.Proof(t, "it installs the other engine and plays five strategies step by step")
	folder, err := filepath.Abs("testdata/adopt")
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := filepath.Abs("../../plugin-sdk/python/src")
	if err != nil {
		t.Fatal(err)
	}
	interpreter := hosttest.Python(t, filepath.Join(folder, "peer", "requirements.txt"))
	runScriptsWith(t, folder, func(env *testscript.Env) error {
		env.Setenv("PATH", filepath.Dir(interpreter)+string(filepath.ListSeparator)+env.Getenv("PATH"))
		env.Setenv("PYTHONPATH", sdk) // of the author's tests
		env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
		script, err := os.ReadFile(filepath.Join(folder, "peer", "parity.py"))
		return errors.Join(err, os.WriteFile(filepath.Join(env.WorkDir, "parity.py"), script, fs.ModePerm),
			os.CopyFS(filepath.Join(env.WorkDir, "src"), os.DirFS(filepath.Join(folder, "peer", "src"))),
			os.CopyFS(filepath.Join(env.WorkDir, "src"), os.DirFS("../../strategies/twins/backtesting")))
	})
}
