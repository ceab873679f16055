package live

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// abilitySeen is by what orders it shows that an ability did what it is for.
var abilitySeen = map[string]map[string]func(*market.Order) bool{
	"history": {"a tag of six candles": func(o *market.Order) bool {
		return strings.HasPrefix(o.Tag, "6 [")
	}},
	"larger_timeframes": {"a tag of a closed bucket": func(o *market.Order) bool {
		return strings.Contains(o.Tag, "] true {") && strings.HasPrefix(o.Tag, "[")
	}},
	"equity_fraction": {"a quantity": filledEntry},
	"clamped":         {"a cut order": func(o *market.Order) bool { return o.Clamped && filledEntry(o) }},
	"risk_fraction": {"a quantity": filledEntry,
		"a stop loss": func(o *market.Order) bool { return o.Role == market.RoleStopLoss }},
	"target": {
		"a purchase": func(o *market.Order) bool { return filledEntry(o) && o.Side == market.Buy },
		"a short":    func(o *market.Order) bool { return filledEntry(o) && o.Side == market.Sell }},
	"oco": {"a fill": filledEntry, "a cancel by it": func(o *market.Order) bool {
		return o.Role == market.RoleEntry && o.Reason == market.ReasonOCO
	}},
	"several_targets": {"a part": func(o *market.Order) bool {
		return o.Role == market.RoleTakeProfit && o.Status == market.StatusFilled
	}, "a stop loss behind one": func(o *market.Order) bool {
		return o.Role == market.RoleStopLoss && o.Status == market.StatusFilled
	}},
	"post_only": {"a fill": filledEntry,
		"a refusal": func(o *market.Order) bool { return o.Reason == market.ReasonWouldTake }},
	"on_fill": {"the sale": func(o *market.Order) bool {
		return o.Tag == "after the fill" && o.FilledQuantity.IsPos()
	}},
	"on_reject": {"the order instead": func(o *market.Order) bool {
		return o.Tag == "after the rejection" && filledEntry(o)
	}},
}

func filledEntry(o *market.Order) bool {
	return o.Role == market.RoleEntry && o.Status == market.StatusFilled
}

// TestModesAgreeOnAbilities plays each ability of the SDK in co-simulation, in lockstep and on paper, over a
// stream that is cut, repeats and leaves out: one set of books, one list of decisions.
func TestModesAgreeOnAbilities(t *testing.T) {
	ring.Slow(t, "it plays eleven abilities in three modes")
	d := openDesk(t, deskOptions{candles: 400, reattach: playtest.Debugged(t, "able")})
	lockstep := d.backtests.Options
	lockstep.Mode = run.ModeLockstep
	inLockstep := run.NewLauncher(lockstep)
	for i, a := range playtest.Abilities() {
		t.Run(a.Name, func(t *testing.T) {
			want := abilitySeen[a.Name]
			if len(want) == 0 {
				t.Fatal("nothing shows that it happens")
			}
			seen := func(r *artifact.Results) {
				for what, is := range want {
					n := 0
					for j := range r.Orders {
						if is(&r.Orders[j]) {
							n++
						}
					}
					if n < 2 {
						t.Errorf("%s: seen %d times in %d orders", what, n, len(r.Orders))
					}
				}
			}
			e := equal{name: "able", params: map[string]any{"ability": a.Name}, seen: seen,
				execution: `{"allow_short":true}`, symbols: []string{one},
				candles: ring.Size(150, 300, 300), seed: uint64(i + 1)}
			e.play(t, d, inLockstep)
		})
	}
	if len(abilitySeen) != len(playtest.Abilities()) {
		t.Errorf("%d abilities, %d are looked for", len(playtest.Abilities()), len(abilitySeen))
	}
}
