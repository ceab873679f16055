package runner

import (
	"context"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// watched is an execution that can be followed.
type watched struct{ *controlled }

func (watched) Look() Look                                       { return Look{Orders: 42} }
func (watched) OrdersAt([]int) []market.Order                    { return nil }
func (watched) Candles(market.Symbol, func(*market.Series)) bool { return true }

func TestWatch(t *testing.T) {
	r := newRunner(t, Options{})
	ctx := context.Background()
	if _, ok := r.Watch(); ok {
		t.Error("idle, but there is something to watch")
	}
	for _, own := range []bool{true, false} {
		c := newControlled()
		c.results = func() *artifact.Results {
			return &artifact.Results{Orders: []market.Order{{ID: 1}, {ID: 2}},
				Log: []artifact.LogLine{{Message: "a"}}}
		}
		var exec Execution = c
		orders := 2
		if own {
			exec, orders = watched{c}, 42
		}
		s, err := r.Start(ctx, StartRequest{Mode: ModeBacktest, Symbols: []string{"A/B"}},
			func(context.Context, string) (Execution, error) {
				return exec, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string) {
			t.Helper()
			w, ok := r.Watch()
			if !ok || w.RunID != s.RunID || w.Look().Orders != orders || w.Request.Symbols[0] != "A/B" ||
				w.Candles("A/B", nil) != own {
				t.Errorf("%s: %+v", when, w)
			}
			if look := w.Look(); !own &&
				(len(look.Changes) != 2 || look.LogTotal != 1 || w.OrdersAt([]int{1})[0].ID != 2) {
				t.Errorf("%s: %+v", when, look)
			}
		}
		check("running")
		c.finish(Outcome{})
		waitFor(t, r, StatusCompleted)
		check("completed")
		if _, err := r.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Watch(); ok {
			t.Error("reset, but there is something to watch")
		}
	}
}

// After a restart nothing but the report is left of a run.
func TestWatchRestored(t *testing.T) {
	r := newRunner(t, Options{})
	rep := Report{Snapshot: Snapshot{RunID: "svc_x", Mode: ModeLive},
		Results: &artifact.Results{Fills: []market.Fill{{ID: 1}}}}
	if err := r.Restore(rep, nil); err != nil {
		t.Fatal(err)
	}
	w, ok := r.Watch()
	if !ok || w.RunID != "svc_x" || len(w.Look().Fills) != 1 {
		t.Errorf("%+v", w)
	}
	if got, want := r.Detail().Snapshot.Seq, r.Status().Seq; got != want {
		t.Errorf("the report is of change %d, the status of %d", got, want)
	}
}
