package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/digest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// readTree reads every file below dir.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestGoldenRun(t *testing.T) {
	store := NewStore(filepath.Join(t.TempDir(), "runs"))
	run := fixtureRun(t, 260)
	if _, err := store.Write(run); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "service")
	if *update {
		if err := errors.Join(os.RemoveAll(golden),
			os.CopyFS(golden, os.DirFS(store.Dir(run.ID)))); err != nil {
			t.Fatal(err)
		}
	}
	got, want := readTree(t, store.Dir(run.ID)), readTree(t, golden)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s differs; run with -update and look at the difference", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is new", name)
	}
}

func TestEqualRequestsGiveEqualBytes(t *testing.T) {
	var trees []map[string]string
	for range 2 {
		store := NewStore(t.TempDir())
		run := fixtureRun(t, 50)
		if len(trees) == 1 { // what only metadata.json may show
			run.StartedAt = run.StartedAt.Add(1e9)
			run.Environment.GOMAXPROCS = 64
			run.Manifest.Request.StrategyParams = json.RawMessage(` {"fast":10.0, "slow":30}`)
			run.Manifest.Request.InitialCash = json.RawMessage("10000")
			m, err := run.Manifest.Complete()
			if err != nil {
				t.Fatal(err)
			}
			run.Manifest = m
		}
		if _, err := store.Write(run); err != nil {
			t.Fatal(err)
		}
		trees = append(trees, readTree(t, store.Dir(run.ID)))
	}
	for name, text := range trees[0] {
		if same := trees[1][name] == text; same != (name != "metadata.json") {
			t.Errorf("%s: equal is %v", name, same)
		}
	}
}

func TestHashes(t *testing.T) {
	store := NewStore(t.TempDir())
	w, err := store.Write(fixtureRun(t, 260))
	if err != nil {
		t.Fatal(err)
	}
	dir := store.Dir(w.Metadata.RunID)
	lines, err := DecisionLines(dir, "full")
	if err != nil {
		t.Fatal(err)
	}
	decisions := digest.SHA256Hex(bytes.TrimSuffix(lines, []byte("\n")))
	if w.Report.Splits[0].DecisionHash != decisions {
		t.Error("decision hash of the split")
	}
	whole, err := digest.Of(map[string]string{"full": decisions})
	if err != nil || w.Report.DecisionHash != whole {
		t.Errorf("decision hash of the run: %v", err)
	}
	// The result hash can be made from report.json alone.
	var rep struct {
		Hash   string `json:"result_hash"`
		Splits []struct {
			Metrics map[string]*float64 `json:"metrics"`
		} `json:"splits"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		t.Fatal(err)
	}
	metrics := rep.Splits[0].Metrics
	for key := range metrics {
		if strings.HasPrefix(key, "cagr") || strings.HasPrefix(key, "calmar") || key == "psr" {
			delete(metrics, key)
		}
	}
	again, err := digest.Of(map[string]any{"decision_hash": whole, "splits": map[string]any{"full": metrics}})
	if err != nil || again != rep.Hash || len(metrics) < 20 {
		t.Errorf("result hash %s, want %s, %v", again, rep.Hash, err)
	}
	request, err := digest.File(filepath.Join(dir, "request.json"))
	if err != nil || request != w.Metadata.RequestHash {
		t.Errorf("request hash: %v", err)
	}
	splits, err := digest.File(filepath.Join(dir, "splits.json"))
	if err != nil || splits != w.Metadata.SplitsSHA256 {
		t.Errorf("splits hash: %v", err)
	}
}

func TestLineHash(t *testing.T) {
	whole := "one\ntwo\n\nthree\n"
	want := digest.SHA256Hex([]byte(strings.TrimSuffix(whole, "\n")))
	for size := 1; size <= len(whole); size++ {
		h := &lineHash{h: sha256.New()}
		for rest := []byte(whole); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := h.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if h.sum() != want {
			t.Errorf("in pieces of %d: another hash", size)
		}
	}
}

func TestSufficiency(t *testing.T) {
	run := fixtureRun(t, 260)
	split := &run.Splits[0]
	status, rep := split.judge()
	if _, defined := rep.Metrics.Get("sharpe_ratio"); status != "insufficient" || defined ||
		rep.Meta.Undefined["sharpe_ratio"] != "insufficient" {
		t.Errorf("two trades are %s", status)
	}
	if n, defined := rep.Metrics.Get("total_trades"); n != 2 || !defined {
		t.Error("counts are kept")
	}
	for len(split.Results.Trades) < 30 {
		split.Results.Trades = append(split.Results.Trades, split.Results.Trades[0])
	}
	if status, _ := split.judge(); status != "ok" {
		t.Errorf("30 trades in 260 candles are %s", status)
	}
	split.Failed = true
	if status, _ := split.judge(); status != "failed" {
		t.Errorf("a failed split is %s", status)
	}
	empty := Split{Results: &Results{}}
	if status, rep := empty.judge(); status != "insufficient" || len(rep.Metrics) != 0 {
		t.Errorf("nothing at all is %s", status)
	}
}

func TestFailedRun(t *testing.T) {
	store := NewStore(t.TempDir())
	run := fixtureRun(t, 5)
	run.Status, run.Splits[0].Failed, run.Splits[0].Results.Metrics = StatusFailed, true, nil
	run.Failure = &Failure{Code: "PLUGIN_CRASHED", Message: "gone", LogTail: []string{"panic: x"},
		Data: map[string]any{}}
	if _, err := store.Write(run); err != nil {
		t.Fatal(err)
	}
	m, _, err := Verify(store.Dir(run.ID))
	if err != nil || m.Status != "failed" || m.Failure.Code != "PLUGIN_CRASHED" ||
		m.Failure.Message != "gone" || m.Failure.LogTail[0] != "panic: x" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	cases := map[string]struct {
		spoil func(*Run)
		want  string
	}{
		"bad id":       {func(r *Run) { r.ID = "../x" }, "run id"},
		"running":      {func(r *Run) { r.Status = StatusRunning }, "neither completed nor failed"},
		"incomplete":   {func(r *Run) { r.Manifest.Request.Schema = "" }, "not complete"},
		"no results":   {func(r *Run) { r.Splits[0].Results = nil }, "no results"},
		"split twice":  {func(r *Run) { r.Splits = append(r.Splits, r.Splits[0]) }, "twice"},
		"short column": {func(r *Run) { r.Splits[0].Results.Equity.Cash = nil }, "0 rows"},
		"decisions": {func(r *Run) {
			r.Splits[0].Decisions = func(io.Writer) error { return errors.New("plugin log is gone") }
		}, "plugin log is gone"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			run := fixtureRun(t, 5)
			c.spoil(run)
			_, err := NewStore(root).Write(run)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if left, err := os.ReadDir(root); len(left) > 0 || err != nil {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		store := NewStore(t.TempDir())
		if _, err := store.Write(fixtureRun(t, 5)); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Write(fixtureRun(t, 5)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("got %v", err)
		}
	})
}

func TestModes(t *testing.T) {
	store := NewStore(filepath.Join(t.TempDir(), "runs"))
	run := fixtureRun(t, 5)
	if _, err := store.Write(run); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(store.Root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func BenchmarkStoreWrite(b *testing.B) {
	run := fixtureRun(b, 500_000)
	root := b.TempDir()
	for b.Loop() {
		store := NewStore(filepath.Join(root, "runs"))
		if _, err := store.Write(run); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := os.RemoveAll(store.Root()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N)*500_000/b.Elapsed().Seconds(), "rows/s")
}
