package selection

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const bookDay = market.Time(24 * time.Hour / time.Millisecond)

// begin is the first day of a run by default.
const begin = market.Time(1577836800000) // 2020-01-01

// testRegistry is a registry with its files.
type testRegistry struct {
	t     testing.TB
	store *artifact.Store
	reg   *registry.Registry
	runs  int
}

func newTestRegistry(t testing.TB) *testRegistry {
	t.Helper()
	store := artifact.NewStore(filepath.Join(t.TempDir(), "runs"))
	reg, err := registry.Open(context.Background(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	return &testRegistry{t: t, store: store, reg: reg}
}

// played is a backtest, of the service by default.
type played struct {
	id, family, symbol, timeframe, exchange string
	kind                                    string
	params, plugin                          string
	// returns are those of successive days from from.
	returns []float64
	from    market.Time
	failure *artifact.Failure
	files   []artifact.ExtraFile
}

// put stores what was played as a run with one split, full.
func (s *testRegistry) put(p played) string {
	s.t.Helper()
	s.runs++
	p.id = or(p.id, fmt.Sprintf("run_%03d", s.runs))
	p.family, p.symbol = or(p.family, "one"), or(p.symbol, "BTC/USDT")
	p.params, p.plugin = or(p.params, `{"x":1}`), or(p.plugin, "aa")
	if p.from == 0 {
		p.from = begin
	}
	curve := artifact.EquityCurve{}
	equity := 1000.0
	var closes []market.Time
	for i := range len(p.returns) + 1 {
		if i > 0 {
			equity *= 1 + p.returns[i-1]
		}
		at := p.from + market.Time(i+1)*bookDay
		closes = append(closes, at)
		curve.Time, curve.Equity = append(curve.Time, at), append(curve.Equity, equity)
		curve.Cash, curve.PositionValue = append(curve.Cash, equity), append(curve.PositionValue, 0)
		curve.Drawdown, curve.Exposure = append(curve.Drawdown, 0), append(curve.Exposure, 0)
	}
	report, err := metric.Compute(metric.Input{Timeframe: market.MustTimeframe("1d"),
		Calendar: metric.Calendar24x7})
	if err != nil {
		s.t.Fatal(err)
	}
	timeframe, last := or(p.timeframe, "1d"), closes[len(closes)-1]
	m, err := artifact.Manifest{
		Request: artifact.Request{
			Kind: or(p.kind, artifact.KindService), FamilyID: p.family,
			StrategyParams: json.RawMessage(p.params), Symbols: []string{p.symbol},
			Timeframe: timeframe, Exchange: or(p.exchange, "sample"), InitialCash: json.RawMessage("1000"),
			StartDate: p.from, EndDate: last,
		},
		Splits:   artifact.FullSplit(slices.Values(closes)),
		Strategy: artifact.Strategy{Name: strings.ReplaceAll(p.family, "-", "_")},
		Plugin:   artifact.Plugin{SHA256: p.plugin},
		Data: []artifact.Dataset{{Symbol: p.symbol, Timeframe: timeframe, SHA256: "cc", Start: p.from,
			End: last}},
	}.Complete()
	if err != nil {
		s.t.Fatal(err)
	}
	ended := time.Date(2026, 11, 20, 12, 0, s.runs, 0, time.UTC)
	run := &artifact.Run{
		ID: p.id, Manifest: m, Status: artifact.StatusCompleted, StartedAt: ended.Add(-time.Second),
		CompletedAt: ended,
		Origin:      artifact.OriginService, Service: &artifact.ServiceNote{Mode: "backtest"},
		Failure: p.failure,
		Splits: []artifact.Split{{ID: artifact.FullSplitID,
			Results: &artifact.Results{Equity: curve, Metrics: &report}, Failed: p.failure != nil}},
	}
	if p.failure != nil {
		run.Status = artifact.StatusFailed
	}
	if p.kind != "" && p.kind != artifact.KindService {
		run.Service, run.Origin = nil, artifact.OriginLab
	}
	if p.files != nil {
		run.Evaluation = &artifact.Evaluation{Files: p.files}
	}
	written, err := s.store.Write(run)
	if err == nil {
		err = s.reg.Complete(context.Background(), written.Metadata, written.Payload)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return p.id
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (s *testRegistry) place(runID string) registry.Place {
	s.t.Helper()
	p, err := PlaceOf(s.t.Context(), s.reg, s.store, runID)
	if err != nil || p == nil {
		s.t.Fatalf("%s: %v, %v", runID, p, err)
	}
	return *p
}

// noise is the returns of some days.
func bookNoise(index uint64, days int) []float64 {
	s := random.New(1, random.Noise, index)
	out := make([]float64, days)
	for i := range out {
		out[i] = 0.01 * s.Normal()
	}
	return out
}

// Builds of one program with other comments have other hashes and the same returns: they
// are one trial. So is what another strategy, family or command has played alike.
func TestCommentsAndNamesAddNothing(t *testing.T) {
	s := newTestRegistry(t)
	first := s.put(played{kind: artifact.KindRun, plugin: "b0", returns: bookNoise(1, 200)})
	for i := range 3 {
		s.put(played{kind: artifact.KindRun, plugin: fmt.Sprintf("b%d", i+1), returns: bookNoise(1, 200)})
	}
	if p := s.place(first); p != (registry.Place{N: 1, Family: 1, Position: 1}) {
		t.Errorf("three comments: %+v", p)
	}
	s.put(played{family: "copied", plugin: "d0", returns: bookNoise(1, 200)})
	last := s.put(played{plugin: "b9", returns: bookNoise(2, 200)})
	if p := s.place(last); p != (registry.Place{N: 2, Family: 2, Position: 2}) {
		t.Errorf("%+v", p)
	}
}

// Whatever slug, symbol, timeframe, exchange or command: what was tried on the days counts,
// and what was tried on other days does not.
func TestEveryTrialOnTheDaysCounts(t *testing.T) {
	s := newTestRegistry(t)
	judged := s.put(played{kind: artifact.KindRun, returns: bookNoise(1, 200)})
	s.put(played{params: `{"x":2}`, returns: bookNoise(2, 200)})
	s.put(played{family: "two", returns: bookNoise(3, 200)})
	s.put(played{family: "two", symbol: "ETH/USDT", returns: bookNoise(4, 200)})
	s.put(played{kind: artifact.KindTrial, exchange: "other", timeframe: "1w", returns: bookNoise(5, 200)})
	s.put(played{params: `{"x":3}`, returns: bookNoise(6, 60), from: begin + 150*bookDay})
	elsewhere := s.put(played{params: `{"x":4}`, returns: bookNoise(7, 60), from: begin + 900*bookDay})
	s.put(played{kind: artifact.KindFalsification, params: `{"x":5}`, returns: bookNoise(8, 200)})
	if p := s.place(judged); p != (registry.Place{N: 6, Family: 4, Position: 1}) {
		t.Errorf("%+v", p)
	}
	if p := s.place(elsewhere); p != (registry.Place{N: 1, Family: 1, Position: 1}) {
		t.Errorf("%+v", p)
	}
}

// What was stopped early or has failed showed numbers on the way: it counts.
func TestWhatHasFailedCounts(t *testing.T) {
	s := newTestRegistry(t)
	judged := s.put(played{kind: artifact.KindRun, returns: bookNoise(1, 200)})
	s.put(played{params: `{"x":2}`, returns: bookNoise(2, 90),
		failure: &artifact.Failure{Code: "PLUGIN_CRASHED", LogTail: []string{}, Data: map[string]any{}}})
	if p := s.place(judged); p.N != 2 {
		t.Errorf("%+v", p)
	}
}

// Without 30 days to compare trials are told apart by what they have decided.
func TestShortTrialsAreToldApartByDecisions(t *testing.T) {
	classes := classesOf(t,
		&Member{Key: "a", RunID: "1", decisions: "x"}, &Member{Key: "b", RunID: "2", decisions: "x"},
		&Member{Key: "c", RunID: "3", decisions: "y"},
		&Member{Key: "d", RunID: "4"}, &Member{Key: "e", RunID: "5"},
		&Member{Key: "e", RunID: "6", decisions: "z"})
	if want := "a b|c|d|e e"; classes != want {
		t.Errorf("%q, want %q", classes, want)
	}
}

func classesOf(t *testing.T, members ...*Member) string {
	t.Helper()
	list, err := classify(t.Context(), members)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range list {
		var keys []string
		for _, m := range c.Members {
			keys = append(keys, m.Key)
		}
		out = append(out, strings.Join(keys, " "))
	}
	return strings.Join(out, "|")
}

// Replays of a falsification count once a run has one of their parameters, all of
// them; parameters that were tried before it do not make them count.
func TestNeighbourhoodCountsOnceItIsUsed(t *testing.T) {
	s := newTestRegistry(t)
	points, err := WritePoints([]Point{
		{"x-5%", json.RawMessage(`{"x":8}`), "d8"}, {"x+5%", json.RawMessage(`{"x":9}`), "d9"},
		{"x+20%", json.RawMessage(`{"x":12}`), "d12"},
	})
	if err != nil {
		t.Fatal(err)
	}
	base := s.put(played{kind: artifact.KindRun, params: `{"x":10}`, returns: bookNoise(1, 200)})
	s.put(played{params: `{"x":8}`, returns: bookNoise(2, 200)})
	s.put(played{kind: artifact.KindFalsification, params: `{"x":10}`, returns: bookNoise(1, 200),
		files: []artifact.ExtraFile{
			{Name: PointsFile, MediaType: "application/jsonl", Content: points},
		}})
	s.put(played{family: "two", plugin: "dd", params: `{"x":9}`, returns: bookNoise(3, 200)})
	if p := s.place(base); p.N != 3 {
		t.Errorf("nobody has used a replay: %+v", p)
	}
	used := s.put(played{params: `{"x": 9.0}`, returns: bookNoise(4, 200)})
	// Beside base, 8, the other strategy and 9 there is 12.
	if p := s.place(base); p.N != 5 || p.Family != 4 {
		t.Errorf("one is used: %+v", p)
	}
	if p := s.place(used); p.Position != 5 {
		t.Errorf("%+v", p)
	}
}

// A run that has shown days of a test is marked.
func TestLooksAreShown(t *testing.T) {
	s := newTestRegistry(t)
	id := s.put(played{returns: bookNoise(1, 100)})
	for _, w := range []registry.Windows{
		{ID: "run_lab", FamilyID: "one", Symbols: []string{"BTC/USDT"},
			Locked: []registry.Days{{From: begin, To: begin + 20*bookDay}}},
		{ID: id, FamilyID: "one", Symbols: []string{"BTC/USDT"},
			Shown: []registry.Days{{From: begin, To: begin + 100*bookDay}}, Command: registry.LookBacktest},
	} {
		if err := s.reg.Look(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	if p := s.place(id); !p.LookedAtTest {
		t.Errorf("%+v", p)
	}
}

// What is derived is kept, and not derived again: counting reads no file of a run that was
// counted before.
func TestCurvesAreReadOnce(t *testing.T) {
	s := newTestRegistry(t)
	judged := s.put(played{returns: bookNoise(1, 200)})
	for i := range 20 {
		s.put(played{params: fmt.Sprintf(`{"x":%d}`, i+2), returns: bookNoise(uint64(i+2), 200)})
	}
	want := s.place(judged)
	if want.N != 21 {
		t.Fatalf("%+v", want)
	}
	s.store = artifact.NewStore(t.TempDir()) // where no files are
	if got := s.place(judged); got != want {
		t.Errorf("%+v, before %+v", got, want)
	}
	kept, err := s.reg.KeptDaily(t.Context())
	if err != nil || len(kept) != 21 {
		t.Errorf("%d are kept, %v", len(kept), err)
	}
}

// FuzzReadPoints: a damaged file is refused, not believed.
func FuzzReadPoints(f *testing.F) {
	f.Add([]byte(`{"id":"x+5%","params":{"x":1},"decision_hash":"d"}` + "\n"))
	f.Add([]byte("\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		points, err := ReadPoints(text)
		if err != nil {
			return
		}
		again, err := WritePoints(points)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ReadPoints(again); err != nil || len(back) != len(points) {
			t.Fatalf("%v, %v; want %v", back, err, points)
		}
	})
}
