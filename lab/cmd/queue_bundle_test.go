package cmd_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// searchedInPython is what a search needs of choosy, and one of its values that fails.
const searchedInPython = `from assay import Buy, Close, Param, Quantity, Strategy


class Choosy(Strategy):
    """Trades in turn."""

    every: int = Param(5, ge=2, le=60)
    fails: bool = Param(False)

    def on_candle(self, v):
        if self.fails and v.index == 300:
            raise ValueError("three hundred")
        if v.index % self.every:
            return None
        return Buy(Quantity(0.01)) if v.flat else Close()
`

// makeInPython makes the project of choosy in Python with a family block, and returns its folder.
func makeInPython(t *testing.T) string {
	t.Helper()
	interpreter := hosttest.PythonOrSkip(t, "../../plugin-sdk/python/requirements.txt")
	t.Setenv("PATH", filepath.Dir(interpreter)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	name, value, _ := strings.Cut(hosttest.CompiledPython(t), "=")
	t.Setenv(name, value)
	dir := t.TempDir()
	config := strings.Replace(searchedJSON, `{"path": "bin/choosy"}`, `{"python": "strategy:Choosy"}`, 1) +
		`{"space": {"every": {"type": "int", "low": 5, "high": 40}, "fails": {"type": "bool"}},
			"method": "sobol", "max_trials": 6}}`
	for name, text := range map[string]string{"lab.json": config,
		"strategy.py":    searchedInPython,
		"pyproject.toml": "[project]\nname = \"choosy\"\nversion = \"1\"\ndependencies = []\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestWorkersPlayBundles: a bundle travels to a worker with its layers, and every byte of its search is that of
// one in this process.
func TestWorkersPlayBundles(t *testing.T) {
	ring.Proof(t, "it copies an interpreter four times and plays a search twice, once in another process")
	dir := makeInPython(t)
	alone, far := planned(t, dir), planned(t, dir)
	code, out := searching(t.Context(), t, dir, alone, io.Discard, "family", "run", "choosy", "--workers", "1")
	if code != 0 {
		t.Fatal(code, out)
	}
	key, state := signKeys(t), t.TempDir()
	url := serveQueue(t, "127.0.0.1:0", t.TempDir()).URL()
	worker := startWorker(t, state, url, key)
	var told hosttest.Buffer
	code, out = searching(t.Context(), t, dir, far, &told, "family", "run", "choosy", "--on", url, "--sign-key",
		key)
	if code != 0 {
		t.Fatal(code, out, told.String(), worker.output)
	}
	sameBytes(t, alone, far)
	if n := strings.Count(worker.output.String(), "choosy  t"); n < 6 {
		t.Errorf("the worker has played %d trials:\n%s", n, worker.output)
	}
}
