package trade

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
)

// TestModesAgreeOnGuards plays each guard over two symbols in co-simulation, in lockstep and on paper: one set
// of books, one list of decisions, and as many intents dropped.
func TestModesAgreeOnGuards(t *testing.T) {
	ring.Slow(t, "it plays six guards in three modes")
	d := openTestHost(t, testHostOptions{candles: 400, reattach: playtest.Debugged(t, "guarded")})
	lockstep := d.backtests.Options
	lockstep.Mode = run.ModeLockstep
	inLockstep := run.NewLauncher(lockstep)
	for i, g := range playtest.Guards() {
		t.Run(g.Name, func(t *testing.T) {
			e := equal{name: "guarded", params: map[string]any{"guard": g.Name}, seed: uint64(i + 1),
				execution: fmt.Sprintf(`{"allow_short":%t}`, g.Shorts), symbols: []string{one, two},
				candles: ring.Size(150, 300, 300), seen: func(r *artifact.Results) {
					if len(r.Fills) < 20 || !warned(r, "GUARDED") {
						t.Errorf("%d fills, %+v", len(r.Fills), r.Warnings)
					}
				}}
			e.play(t, d, inLockstep)
		})
	}
}

// TestGuardsLive plays each guard over two symbols on the simulated venue, which replays the candles: every
// order is that of a backtest, decided at the same close and filled at the same price.
func TestGuardsLive(t *testing.T) {
	ring.Slow(t, "it plays five guards on a venue whose candles close 100 times a second")
	d := openLiveHost(t, "guarded")
	var all sync.WaitGroup
	for _, g := range playtest.Guards() {
		if g.Shorts {
			continue // a live run opens none
		}
		all.Go(func() {
			x, b := d.besideBacktest("guarded", map[string]any{"guard": g.Name}, 100, 60, one, two)
			if x == nil {
				return
			}
			got, want := whole(x), whole(b)
			n := min(len(got), len(want)) - 4 // the last ones end with their run
			if n < 10 || !warned(x, "GUARDED") {
				t.Errorf("%s: %d orders, %+v", g.Name, n, x.Warnings)
				return
			}
			for i := range n {
				if got[i].what != want[i].what || !sameEntry(got[i], want[i]) {
					t.Errorf("%s: order %d\nlive     %+v\nbacktest %+v", g.Name, i, got[i], want[i])
					return
				}
			}
		})
	}
	all.Wait()
}

// whole are all orders of a run, with the price where each filled.
func whole(r *artifact.Results) (list []entry) {
	for _, o := range r.Orders {
		price, _ := o.AveragePrice.Float64()
		what := strings.Join([]string{o.CreatedAt.String(), string(o.Symbol), o.Side.String(), o.Type.String(),
			o.Role.String(), o.Status.String(), o.Tag}, " ")
		list = append(list, entry{what, price})
	}
	return list
}
