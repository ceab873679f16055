package cmd_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestWorkersOfAQueueWithoutFolders: trials that two processes have played and that get no folder are the
// same rows of the same file.
func TestWorkersOfAQueueWithoutFolders(t *testing.T) {
	ring.Slow(t, "it plays a search twice, once in other processes")
	dir := makeSearched(t, overQueue)
	alone, far := planned(t, dir), planned(t, dir)
	code, out := searching(t.Context(), t, dir, alone, io.Discard, "family", "run", "choosy", "--workers",
		"1", "--folders", "selected")
	if code != 0 {
		t.Fatal(code, out)
	}
	key := signKeys(t)
	url := serveQueue(t, "127.0.0.1:0", t.TempDir()).URL()
	workers := startWorkers(t, 2, url, key)
	var output hosttest.Buffer
	code, out = searching(t.Context(), t, dir, far, &output, "family", "run", "choosy", "--on", url,
		"--sign-key", key, "--folders", "selected")
	if code != 0 {
		t.Fatal(code, out, output.String(), workers[0].output, workers[1].output)
	}
	sameBytes(t, alone, far)
	if files, err := filepath.Glob(filepath.Join(far, "families", "*", "*", "trials.columns")); err != nil ||
		len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}
