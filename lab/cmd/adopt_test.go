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
	besideEngine(t, "testdata/adopt", "../../strategies/twins/backtesting")
}

// TestProveAdoptedFreqtrade runs testdata/adopt_freqtrade/*.txtar beside freqtrade itself.
func TestProveAdoptedFreqtrade(t *testing.T) {
	ring.Proof(t, "it installs the other engine and plays four strategies step by step")
	besideEngine(t, "testdata/adopt_freqtrade", "")
}

// besideEngine runs the scripts of a folder with an interpreter that has another engine. Its strategies
// and those of more are in src.
func besideEngine(t *testing.T, scripts, more string) {
	t.Helper()
	folder, err := filepath.Abs(scripts)
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
		env.Vars = append(env.Vars, hosttest.CompiledPython(t))
		script, err := os.ReadFile(filepath.Join(folder, "peer", "parity.py"))
		src := filepath.Join(env.WorkDir, "src")
		err = errors.Join(err, os.WriteFile(filepath.Join(env.WorkDir, "parity.py"), script, fs.ModePerm),
			os.CopyFS(src, os.DirFS(filepath.Join(folder, "peer", "src"))))
		if more != "" {
			err = errors.Join(err, os.CopyFS(src, os.DirFS(more)))
		}
		return err
	})
}
