package runner

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// counter is a TrialCounter made of a function.
type counter func(context.Context, string) (*registry.Place, error)

// Place implements TrialCounter.
func (c counter) Place(ctx context.Context, runID string) (*registry.Place, error) {
	return c(ctx, runID)
}

// A backtest ends with its place among the trials.
func TestTrialsAreCountedAtTheEnd(t *testing.T) {
	want := registry.Place{N: 23, Family: 5, Position: 18, LookedAtTest: true}
	asked := ""
	r := newRunner(t,
		Options{Recorder: &fakeRecorder{},
			Trials: counter(func(_ context.Context, id string) (*registry.Place, error) {
				asked = id
				return &want, nil
			})})
	exec := newControlled()
	id := mustStart(t, r, exec).RunID
	exec.finish(Outcome{})
	waitFor(t, r, "completed")
	if rep, err := r.Results(); err != nil || rep.Trials == nil || *rep.Trials != want || asked != id {
		t.Errorf("%+v, %v; asked for %q", rep.Trials, err, asked)
	}
}

// A count that takes long, fails or panics keeps no run from ending; one that takes long is
// shown when it is there.
func TestCountingKeepsNoRunFromEnding(t *testing.T) {
	for name, count := range map[string]counter{
		"fails": func(context.Context, string) (*registry.Place, error) {
			return nil, errors.New("the disk is full")
		},
		"panics": func(context.Context, string) (*registry.Place, error) { panic("oops") },
	} {
		r := newRunner(t, Options{Recorder: &fakeRecorder{}, Trials: count})
		exec := newControlled()
		mustStart(t, r, exec)
		exec.finish(Outcome{})
		waitFor(t, r, "completed")
		if rep, err := r.Results(); err != nil || rep.Trials != nil || rep.Results.FinalValue != "10001" {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
	release := make(chan struct{})
	r := newRunner(t,
		Options{Recorder: &fakeRecorder{},
			Trials: counter(func(context.Context, string) (*registry.Place, error) {
				<-release
				return &registry.Place{N: 1}, nil
			})})
	exec := newControlled()
	mustStart(t, r, exec)
	exec.finish(Outcome{})
	waitFor(t, r, "completed")
	if rep, err := r.Results(); err != nil || rep.Trials != nil {
		t.Errorf("%+v, %v", rep.Trials, err)
	}
	close(release)
	r.wg.Wait()
	if rep, err := r.Results(); err != nil || rep.Trials == nil || rep.Trials.N != 1 {
		t.Errorf("%+v, %v", rep.Trials, err)
	}
}

// A backtest over days of a test is a look, from its beginning; a paper run is none.
func TestBacktestsLookAtTests(t *testing.T) {
	a := openArchive(t, filepath.Join(t.TempDir(), "runs"))
	defer a.Registry.Close()
	err := a.Registry.Look(t.Context(), registry.Windows{
		ID: "run_lab", FamilyID: "other", Symbols: []string{"BTC/USDT"},
		Locked: []registry.Days{{From: market.Time(7200000), To: market.Time(9e6)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{ModePaper, ModeBacktest} {
		req := backtest()
		req.Mode = mode
		if err := a.Begin(t.Context(),
			Started{RunID: "svc_" + mode, Request: req, Execution: newDescribed()}); err != nil {
			t.Fatal(err)
		}
	}
	peeks, err := a.Registry.Peeks(t.Context(), "other")
	if err != nil || len(peeks) != 1 || peeks[0].RunID != "svc_backtest" ||
		peeks[0].Command != registry.LookBacktest || peeks[0].Author != "service" {
		t.Errorf("%+v, %v", peeks, err)
	}
}
