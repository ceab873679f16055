package gc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/gc"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// state is a state directory with what must stay of it.
type state struct {
	*testing.T
	dir     string
	candles *candle.Store
	runs    *registry.Registry
	kept    []string // paths that are referred to
}

func newState(t *testing.T) *state {
	s := &state{T: t, dir: t.TempDir()}
	s.open()
	t.Cleanup(s.close)
	return s
}

func (s *state) open() {
	s.Helper()
	var err error
	if s.candles, err = candle.Open(s.Context(), s.dir); err != nil {
		s.Fatal(err)
	}
	if s.runs, err = registry.Open(s.Context(), artifact.NewStore(s.path("runs")), nil); err != nil {
		s.Fatal(err)
	}
}

func (s *state) close() {
	if err := errors.Join(s.candles.Close(), s.runs.Close()); err != nil {
		s.Error(err)
	}
}

func (s *state) path(elems ...string) string {
	return filepath.Join(append([]string{s.dir}, elems...)...)
}

func (s *state) write(rel, text string) {
	s.Helper()
	path := s.path(rel)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// put stores the first n candles of a walk; those of a changed one have other prices.
func (s *state) put(symbol string, seed uint64, n int) candle.Dataset {
	s.Helper()
	c := sdktest.Synth(seed, 200, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour).Slice(0, n)
	c.Symbol = market.Symbol(symbol)
	d, err := s.candles.Put(s.Context(), candle.PutRequest{Exchange: "test", Series: c})
	if err != nil {
		s.Fatal(err)
	}
	return d
}

// age makes everything two hours old.
func (s *state) age() {
	s.Helper()
	before := time.Now().Add(-2 * time.Hour)
	err := filepath.WalkDir(s.dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, before, before)
	})
	if err != nil {
		s.Fatal(err)
	}
}

func (s *state) collector() *gc.Collector {
	return &gc.Collector{StateDir: s.dir, Candles: s.candles, Registry: s.runs}
}

func (s *state) must(r gc.Report, err error) gc.Report {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// whole wants everything that is referred to in its place, and the stored candles sound.
func (s *state) whole(when string) {
	s.Helper()
	for _, path := range s.kept {
		if _, err := os.Stat(s.path(path)); err != nil {
			s.Errorf("%s: %v", when, err)
		}
	}
	all, err := s.candles.List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, d := range all {
		if c, err := s.candles.Check(s.Context(), d); err != nil || c.Problem != "" {
			s.Errorf("%s: %s: %s %v", when, d.ID, c.Problem, err)
		}
	}
}

// name makes something of the state directory name a hash.
func (s *state) name(r *rand.Rand, i int, sum string) {
	s.Helper()
	id := fmt.Sprintf("named-%d", i)
	var err error
	switch r.IntN(6) {
	case 0:
		err = s.runs.Begin(s.Context(), &artifact.Metadata{RunID: id, RequestHash: id, Status: "running",
			Data: []artifact.Dataset{{SHA256: sum}}})
	case 1:
		err = s.runs.Begin(s.Context(), &artifact.Metadata{RunID: id, RequestHash: id, Status: "running",
			Plugin: artifact.Plugin{SHA256: sum}})
	case 2:
		_, err = s.runs.RegisterPlan(s.Context(), registry.Plan{Hash: id, ID: id,
			Payload: fmt.Appendf(nil, `{"pins":{"BTC/USDT":"sha256:%s"}}`, sum)})
	case 3:
		err = s.runs.Look(s.Context(), registry.Windows{ID: id, FamilyID: "f", Symbols: []string{"A/B"},
			Shown: []registry.Days{{From: 1, To: 2}}, Command: registry.LookRun, Author: "eve",
			Data: []artifact.Dataset{{Symbol: "A/B", SHA256: sum}}})
	case 4:
		s.write("candidates/cr-"+id+"/candidate_bundle.json", `{"sha256":"`+sum+`"}`)
	case 5:
		s.write("families/x/"+id+"/plan.json", `{"plugin":"`+sum+`"}`)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// fill puts random things into the state directory, some of them named.
func (s *state) fill(r *rand.Rand) {
	var named int
	maybe := func(sum string, paths ...string) {
		if r.IntN(2) == 0 {
			named++
			s.name(r, named, sum)
			s.kept = append(s.kept, paths...)
		}
	}
	for series := range 3 {
		var d candle.Dataset
		seed := uint64(series)
		for range 1 + r.IntN(4) {
			if r.IntN(3) == 0 {
				seed += 100 // not the same market
			}
			d = s.put(fmt.Sprintf("S%d/USD", series), seed, 40+r.IntN(160))
			maybe(d.SHA256, "data/candles/"+d.SHA256+".candles")
		}
		s.kept = append(s.kept, "data/candles/"+d.SHA256+".candles")
	}
	for i := range 6 {
		sum := digest.SHA256Hex(fmt.Appendf(nil, "program %d", i))
		s.write("plugins/"+sum, "program")
		maybe(sum, "plugins/"+sum)
	}
	for i := range 3 {
		layer := digest.SHA256Hex(fmt.Appendf(nil, "layer %d", i))
		text := `{"layers":[{"sha256":"` + layer + `"}]}`
		sum := digest.SHA256Hex([]byte(text))
		s.write("plugins/"+sum, text)
		s.write("plugins/bundles/"+sum+"/main.py", "x")
		s.write("plugins/bundles/"+layer+"/lib.py", "x")
		maybe(sum, "plugins/"+sum, "plugins/bundles/"+sum+"/main.py", "plugins/bundles/"+layer+"/lib.py")
	}
	for i := range 3 {
		sum := digest.SHA256Hex(fmt.Appendf(nil, "sources %d", i))
		s.write("sources/"+sum+"/strategy.go", "package main")
		maybe(sum, "sources/"+sum+"/strategy.go")
	}
	lost := digest.SHA256Hex([]byte("a file without a row"))
	s.write("data/candles/"+lost+".candles", "x")
	maybe(lost, "data/candles/"+lost+".candles")
	s.write("data/windows/"+lost+"-0-5.candles", "x")
	s.write("data/fetch/test-s0-usd-1h-1577836800000/0.json", "{}")
	s.write("plugins/.tmp-1", "x")
	s.write("sources/.tmp-2/strategy.go", "x")
	s.write("runs/.orphan/r-1/request.json", "{}")
	s.write("projects/x/0123456789abcdef/lab.json", "{}")
	s.write("tmp/lab/spool", "x")
	s.write("tmp/falsify/room-1/x", "x")
	s.write("tmp/falsify/run.jsonl", "{}")
	s.write("live/journal-1.damaged", "x")
	s.write("governance/store", "x")
	s.kept = append(s.kept, "tmp/falsify/run.jsonl", "live/journal-1.damaged", "governance/store",
		"data/catalog.sqlite3", "runs/registry.sqlite3")
}

// TestWhatIsNamedStays: over random state directories nothing that is referred to goes, Remove
// removes what Look shows, nothing is left for a second time, and a process that is killed in
// between leaves a directory from which the next one goes on.
func TestWhatIsNamedStays(t *testing.T) {
	ring.Slow(t, "each state directory has databases of its own, which are synced")
	for seed := range uint64(ring.Size(6, 60, 600)) {
		r := rand.New(rand.NewPCG(seed, 20))
		s := newState(t)
		s.fill(r)
		for _, i := range s.must(s.collector().Look(t.Context())).Items {
			if i.Kind != "windows" && i.Kind != "temporary" {
				t.Errorf("seed %d: %s goes, which is young", seed, i.Path)
			}
		}
		s.age()
		seen := s.must(s.collector().Look(t.Context()))
		s.whole("looked at")
		if kill := r.IntN(len(seen.Items) + 1); kill < len(seen.Items) {
			s.killedAt(seen.Items[kill].Path)
			s.whole("killed")
			s.age() // of what it had begun to remove
			s.must(s.collector().Remove(t.Context()))
		} else if got := s.must(s.collector().Remove(t.Context())); len(got.Items) != len(seen.Items) ||
			got.Bytes != seen.Bytes {
			t.Errorf("seed %d: removed %v, shown were %v", seed, got.Items, seen.Items)
		}
		s.whole("removed")
		for _, i := range seen.Items {
			if _, err := os.Lstat(s.path(i.Path)); err == nil {
				t.Errorf("seed %d: %s is still there", seed, i.Path)
			}
		}
		s.age()
		if again := s.must(s.collector().Remove(t.Context())); len(again.Items) != 0 {
			t.Errorf("seed %d: a second time removes %v", seed, again.Items)
		}
		if t.Failed() {
			return
		}
	}
}

// killedAt removes until the item is reached, and opens everything anew.
func (s *state) killedAt(path string) {
	s.Helper()
	c := s.collector()
	c.Reached = func(place string) {
		if place == path {
			panic("killed")
		}
	}
	func() {
		defer func() {
			if recover() != "killed" {
				s.Error("it was not reached")
			}
		}()
		_, _ = c.Remove(s.Context()) // it does not return
	}()
	s.close()
	s.open()
}

// TestOthersAtWork: a lab that plays keeps everything, and a service what it may use.
func TestOthersAtWork(t *testing.T) {
	s := newState(t)
	known, unknown := digest.SHA256Hex([]byte("known")), digest.SHA256Hex([]byte("unknown"))
	for _, sum := range []string{known, unknown} {
		s.write("plugins/"+sum, "program")
	}
	s.write("plugins.lock.json", `{"plugins":{"`+known+`":{}}}`)
	s.write("projects/x/0123456789abcdef/lab.json", "{}")
	s.write("tmp/service/log", "x")
	s.write("data/fetch/test-s-usd-1h-5/0.json", "{}")
	s.age()
	playing, err := gc.Share(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.collector().Remove(t.Context()); !errors.Is(err, gc.ErrBusy) {
		t.Errorf("while a lab plays: %v", err)
	}
	if r := s.must(s.collector().Look(t.Context())); len(r.Items) != 5 {
		t.Errorf("shown while a lab plays: %v", r.Items)
	}
	if err := playing.Release(); err != nil {
		t.Fatal(err)
	}
	service, err := file.LockState(s.dir, "service.lock")
	if err != nil {
		t.Fatal(err)
	}
	fetching, err := file.LockState(s.path("data", "fetch"), "test-s-usd-1h.lock")
	if err != nil {
		t.Fatal(err)
	}
	r := s.must(s.collector().Remove(t.Context()))
	if !r.Service || len(r.Items) != 1 || r.Items[0].Path != "plugins/"+unknown {
		t.Errorf("beside a service: %+v", r)
	}
	if err := errors.Join(service.Release(), fetching.Release()); err != nil {
		t.Fatal(err)
	}
	c := s.collector()
	c.Named = [][]byte{[]byte(`{"plugin":{"path":"../.assay/plugins/` + known + `"}}`)}
	r = s.must(c.Remove(t.Context()))
	if r.Service || len(r.Items) != 3 || slices.ContainsFunc(r.Items, func(i gc.Item) bool {
		return strings.HasPrefix(i.Path, "plugins/")
	}) {
		t.Errorf("after them: %+v", r)
	}
}

// TestHoldoutsKeepTheirCandles: an earlier version goes only where a kept one tells as much of its
// market.
func TestHoldoutsKeepTheirCandles(t *testing.T) {
	s := newState(t)
	longer := s.put("A/USD", 1, 150)
	covered := s.put("A/USD", 1, 100)
	s.put("A/USD", 1, 120)
	s.age()
	r := s.must(s.collector().Remove(t.Context()))
	if len(r.Items) != 1 || r.Items[0].Path != "data/candles/"+covered.SHA256+".candles" ||
		r.Items[0].Why != "earlier version of test-a-usd-1h" || r.Bytes == 0 {
		t.Errorf("%+v", r.Items)
	}
	if _, err := os.Stat(s.candles.Path(longer.SHA256)); err != nil {
		t.Error(err)
	}
	// Renewed by an import, it is current again and stays, though its row was gone.
	back := s.put("A/USD", 1, 100)
	s.age()
	if r := s.must(s.collector().Look(t.Context())); !back.Current || len(r.Items) != 0 {
		t.Errorf("%t %+v", back.Current, r.Items)
	}
}

// TestRunsWithoutARow: only folders that no run of the registry has go, and their files keep nothing.
func TestRunsWithoutARow(t *testing.T) {
	s := newState(t)
	sum := digest.SHA256Hex([]byte("program"))
	s.write("plugins/"+sum, "program")
	s.write("runs/r-gone/capsules/c.json", `{"plugin_sha256":"`+sum+`"}`)
	err := s.runs.Begin(context.Background(), &artifact.Metadata{RunID: "r-known", RequestHash: "h",
		Status: "running", Params: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	s.write("runs/r-known/capsules/c.json", "{}")
	s.age()
	r := s.must(s.collector().Remove(t.Context()))
	var paths []string
	for _, i := range r.Items {
		paths = append(paths, i.Path)
	}
	if want := []string{"runs/r-gone", "plugins/" + sum}; !slices.Equal(paths, want) {
		t.Errorf("%v, want %v", paths, want)
	}
}

// rate stores an input with a value for each number.
func (s *state) rate(values ...int) string {
	s.Helper()
	text := "time,known,value\n"
	for i, v := range values {
		text += fmt.Sprintf("2020-01-01T%02d:00:00Z,2020-01-01T%02d:00:00Z,%d\n", i, i, v)
	}
	in, err := s.candles.Inputs().Import(s.Context(), candle.InputImport{Name: "rate",
		File: importer.Bytes("rate.csv", []byte(text))})
	if err != nil {
		s.Fatal(err)
	}
	return "data/inputs/" + in.SHA256 + ".csv"
}

// TestInputs: of the rows of an input those of now stay, those that a run names, and those that no other
// rows contain.
func TestInputs(t *testing.T) {
	s := newState(t)
	contained, named, other := s.rate(1, 2), s.rate(1, 2, 3), s.rate(1, 5)
	current := s.rate(1, 2, 3, 4)
	err := s.runs.Begin(t.Context(), &artifact.Metadata{RunID: "r-1", RequestHash: "h", Status: "running",
		Inputs: []artifact.Dataset{{Symbol: "input:rate", SHA256: filepath.Base(named)[:64]}}})
	if err != nil {
		t.Fatal(err)
	}
	s.kept = []string{named, other, current, "data/inputs/rate.json"}
	s.age()
	for _, run := range []func(context.Context) (gc.Report, error){s.collector().Look, s.collector().Remove} {
		r := s.must(run(t.Context()))
		if len(r.Items) != 1 || r.Items[0].Path != contained || r.Items[0].Kind != "inputs" || r.Bytes == 0 {
			t.Errorf("%+v", r.Items)
		}
		at := slices.IndexFunc(r.Kinds, func(u gc.Usage) bool { return u.Kind == "inputs" })
		if at < 0 || r.Kinds[at].Files != 5 {
			t.Errorf("on the disk: %+v", r.Kinds)
		}
	}
	s.whole("removed")
	if _, err := os.Stat(s.path(contained)); err == nil {
		t.Error("the contained rows are still there")
	}
	s.write("data/inputs/rate.json", "{")
	s.age()
	if r := s.must(s.collector().Look(t.Context())); len(r.Items) != 0 {
		t.Errorf("with a damaged record: %+v", r.Items)
	}
}
