package family_test

//ring:no-detector what is tested runs in other processes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/family"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

// TestMain makes the test binary a plugin, by its name.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); strings.HasPrefix(name, "ticker") {
		serve.Strategy(sdk.Spec{Name: name}, func(p tickerParams) (sdk.Strategy, error) {
			made++
			return &ticker{name, p, 0}, nil
		})
		return
	}
	os.Exit(m.Run())
}

// made counts the strategies of a process: what no strategy may know.
var made int

type tickerParams struct {
	Every int `param:"every" default:"9" min:"2" max:"5000" doc:"Candles of a round trip"`
}

// ticker buys at every so many candles and sells half way. Under some names it does what only one of a
// process with a past does.
type ticker struct {
	name string
	p    tickerParams
	at   int
}

func (s *ticker) OnCandle(v sdk.View) (sdk.Intents, error) {
	at := s.at % s.p.Every
	s.at++
	switch {
	case s.name == "ticker_leaks":
		at += (made - 1) % 3
	case s.name == "ticker_crashes" && made > 3 && s.at == 100:
		os.Exit(7)
	case s.name == "ticker_panics" && s.p.Every%2 == 0 && s.at == 200:
		panic("always")
	}
	switch {
	case at == 0 && v.Flat():
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	case at >= s.p.Every/2 && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

const tickerSpace = `{"every":{"type":"int","low":20,"high":900}}`

// search is a family in a state directory of its own.
type search struct {
	dir     string
	state   string
	outcome *family.Outcome
	files   map[string]string // by name: the hashes of all whose bytes depend on the request alone
	session []string          // the runs that were played in sessions
}

// runFamily plans and runs a search of a program over half a year of the bundled candles.
func runFamily(t *testing.T, program, space string, trials int, apart bool) search {
	t.Helper()
	return runSearch(t, filepath.Join(t.TempDir(), "state"), program, space, trials,
		family.Options{Workers: 2, Apart: apart})
}

// runSearch is runFamily in a state directory, which may have it already.
func runSearch(t *testing.T, state, program, space string, trials int, o family.Options) search {
	t.Helper()
	out := search{dir: filepath.Dir(program), state: state}
	candles, err := candle.Open(t.Context(), out.state)
	if err != nil {
		t.Fatal(err)
	}
	store := artifact.NewStore(filepath.Join(out.state, "runs"))
	runs, err := registry.Open(t.Context(), store, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(runs.Close(), candles.Close()); err != nil {
			t.Error(err)
		}
	}()
	h := &request.Host{StateDir: out.state, Candles: candles, Artifacts: store, Registry: runs,
		Engine: artifact.Engine{Name: "test", SHA256: strings.Repeat("e", 64)}, Sandbox: "auto",
		Logger: hclog.NewNullLogger()}
	text := fmt.Sprintf(`{"schema":"lab/v1","slug":%q,"exchange":"sample","symbols":["BTC/USDT"],
		"timeframe":"1h","hypothesis":"It is only compared.","data":{"start":"2021-01-01","end":"2021-07-01"},"stress":[],
		"splits":{"scheme":"walk_forward","train":2000,"test":1000},
		"family":{"space":%s,"max_trials":%d}}`, filepath.Base(program), space, trials)
	config, err := project.Parse("lab.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	built, err := project.Finished(program)
	if err != nil {
		t.Fatal(err)
	}
	p := &project.Project{Slug: config.Slug, Dir: out.dir, Config: config, Raw: []byte(text)}
	planned, err := family.Propose(t.Context(), h, family.Proposal{Project: p, Built: built})
	if err != nil {
		t.Fatal(err)
	}
	s, err := family.Open(t.Context(), h, p, built, planned.PlanFile)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	searched, err := s.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if out.outcome, err = s.Conclude(t.Context(), searched); err != nil {
		t.Fatal(err)
	}
	out.read(t)
	return out
}

// read hashes what the family and its trials have written.
func (s *search) read(t *testing.T) {
	t.Helper()
	s.files, s.session = map[string]string{}, nil
	for _, folder := range []string{"families", "runs"} {
		root := filepath.Join(s.state, folder)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.Name() == ".orphan": // what was replaced
				return filepath.SkipDir
			case d.IsDir():
				return nil
			}
			text, err := os.ReadFile(path)
			name, _ := filepath.Rel(s.state, path) // it is below
			switch base := filepath.Base(path); {
			case base == "progress.jsonl", base == "log.jsonl", filepath.Dir(path) == root: // the registry
			case base == "metadata.json":
				var m artifact.Metadata
				if err := json.Unmarshal(text, &m); err != nil {
					return err
				}
				if m.Volatile.Environment.Session {
					s.session = append(s.session, m.RunID)
				}
				s.files[name] = fmt.Sprint(*m.ResultHash, *m.DecisionHash, m.Artifacts)
			default:
				s.files[name] = digest.SHA256Hex(text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// codes are those of the warnings.
func (s *search) codes() []string {
	var list []string
	for _, w := range s.outcome.Warnings {
		list = append(list, w.Code)
	}
	return list
}

// install copies the test binary under a name.
func install(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(program, text, 0o700); err != nil {
		t.Fatal(err)
	}
	return program
}

// TestSessionsChangeNoByte: what a search puts out is the same with a process per play, whatever the
// strategy does with the memory of its process.
func TestSessionsChangeNoByte(t *testing.T) {
	ring.Slow(t, "two searches of each strategy")
	const trials = 4
	list := []struct {
		name      string
		leaks     bool
		completed int
	}{
		{"ticker_leaks", true, trials},
		{"ticker_crashes", false, trials},
		{"ticker_panics", false, -1},
		{"ticker", false, trials},
	}
	for _, c := range list[:ring.Size(2, len(list), len(list))] {
		t.Run(c.name, func(t *testing.T) {
			program := install(t, c.name)
			apart, together := runFamily(t, program, tickerSpace, trials, true),
				runFamily(t, program, tickerSpace, trials, false)
			compareSearches(t, apart, together)
			if got := slices.Contains(together.codes(), family.CodeStateLeak); got != c.leaks {
				t.Errorf("the warnings are %v", together.codes())
			}
			if played := len(together.session); c.leaks != (played == 0) {
				t.Errorf("%d trials were played in sessions", played)
			}
			if n := together.outcome.Result.Counts.Completed; c.completed >= 0 && n != c.completed {
				t.Errorf("%d trials are completed", n)
			}
		})
	}
}

func compareSearches(t *testing.T, apart, together search) {
	t.Helper()
	if len(apart.session) > 0 {
		t.Errorf("%d trials were played in sessions", len(apart.session))
	}
	if len(apart.files) < 30 {
		t.Errorf("only %d files are compared", len(apart.files))
	}
	names := slices.Sorted(maps.Keys(apart.files))
	if got := slices.Sorted(maps.Keys(together.files)); !slices.Equal(got, names) {
		t.Fatalf("%d files, not %d", len(got), len(names))
	}
	for _, name := range names {
		if apart.files[name] != together.files[name] {
			t.Errorf("%s differs", name)
		}
	}
}

// TestSessionsOfBundledStrategies compares strategies of the repository in the same way.
func TestSessionsOfBundledStrategies(t *testing.T) {
	ring.Proof(t, "three programs are built, two searches of each")
	folder := t.TempDir()
	spaces := map[string]string{
		"sma_cross": `{"fast":{"type":"int","low":5,"high":40},"slow":{"type":"int","low":50,"high":200}}`,
		"breakout":  `{"lookback":{"type":"int","low":10,"high":80}}`,
		"rsi_tema":  `{"buy_rsi":{"type":"float","low":20,"high":45}}`,
	}
	for name := range spaces {
		if err := hosttest.Build(folder, "v1", "strategies/"+name); err != nil {
			t.Fatal(err)
		}
	}
	for name, space := range spaces {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(folder, name)
			together := runFamily(t, program, space, 4, false)
			compareSearches(t, runFamily(t, program, space, 4, true), together)
			if len(together.session) != 4 || slices.Contains(together.codes(), family.CodeStateLeak) {
				t.Errorf("%d sessions, %v", len(together.session), together.codes())
			}
		})
	}
}
