package trade

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/risk"
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
	"move_legs": {"a moved stop": filledLeg(market.RoleStopLoss),
		"a moved target": filledLeg(market.RoleTakeProfit)},
	"post_only": {"a fill": filledEntry,
		"a refusal": func(o *market.Order) bool { return o.Reason == market.ReasonWouldTake }},
	"on_fill": {"the sale": func(o *market.Order) bool {
		return o.Tag == "after the fill" && o.FilledQuantity.IsPos()
	}},
	"on_reject": {"the order instead": func(o *market.Order) bool {
		return o.Tag == "after the rejection" && filledEntry(o)
	}},
}

// filledLeg reports whether a leg has filled: those of move_legs are too far from the price unless they move.
func filledLeg(role market.Role) func(*market.Order) bool {
	return func(o *market.Order) bool { return o.Role == role && o.Status == market.StatusFilled }
}

func filledEntry(o *market.Order) bool {
	return o.Role == market.RoleEntry && o.Status == market.StatusFilled
}

// TestModesAgreeOnAbilities plays each ability of the SDK in co-simulation, in lockstep and on paper, over a
// stream that is cut, repeats and leaves out: one set of books, one list of decisions.
func TestModesAgreeOnAbilities(t *testing.T) {
	ring.Slow(t, "it plays twelve abilities in three modes")
	d := openTestHost(t, testHostOptions{candles: 400, reattach: playtest.Debugged(t, "able")})
	lockstep := d.backtests.Options
	lockstep.Mode = run.ModeLockstep
	inLockstep := run.NewLauncher(lockstep)
	for i, a := range playtest.Abilities(true) {
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
	if n := len(playtest.Abilities(true)); len(abilitySeen) != n {
		t.Errorf("%d abilities, %d are looked for", n, len(abilitySeen))
	}
}

// onlyLive are what orders of a live run show instead of what abilitySeen asks for, and why.
func onlyLive() map[string]map[string]func(*market.Order) bool {
	return map[string]map[string]func(*market.Order) bool{
		// A live run opens no shorts.
		"target": {
			"a purchase": func(o *market.Order) bool { return filledEntry(o) && o.Side == market.Buy },
			"a reduction": func(o *market.Order) bool {
				return o.Side == market.Sell && o.Tag == "target" && o.Status == market.StatusFilled
			}},
	}
}

// TestAbilitiesLive plays each ability on the simulated venue, which replays the candles: it does what it is
// for, and the entries are those of a backtest, decided at the same closes and filled at the same prices.
func TestAbilitiesLive(t *testing.T) {
	ring.Slow(t, "it plays twelve abilities on a venue whose candles close 200 times a second")
	d := openLiveHost(t, "able")
	var all sync.WaitGroup
	for _, a := range playtest.Abilities(false) {
		all.Go(func() {
			params := map[string]any{"ability": a.Name, "short": false}
			speed, candles := 200.0, int64(120)
			if a.Name == "move_legs" { // exits are not renewed within two seconds
				speed, candles = 1.4, 21
			}
			x, b := d.besideBacktest("able", params, speed, candles, one)
			if x == nil {
				return
			}
			want := onlyLive()[a.Name]
			if want == nil {
				want = abilitySeen[a.Name]
			}
			for what, is := range want {
				if !slices.ContainsFunc(x.Orders, func(o market.Order) bool { return is(&o) }) {
					t.Errorf("%s: %s is not seen in %d orders", a.Name, what, len(x.Orders))
				}
			}
			got, expected := entries(x), entries(b)
			n := min(len(got), len(expected)) - 2 // the last ones end with their run
			if n < int(candles)/20 || !slices.EqualFunc(got[:n], expected[:n], sameEntry) {
				t.Errorf("%s: live\n%+v\nbacktest\n%+v", a.Name, got, expected)
			}
		})
	}
	all.Wait()
}

// openLiveHost opens a host over a strategy whose limits of the account let everything through.
func openLiveHost(t *testing.T, name string) *testHost {
	d := openTestHost(t, testHostOptions{candles: 400, reattach: playtest.Debugged(t, name)})
	d.launcher.opts.Risk = limited(t, risk.Enforce, map[string]string{"max-drawdown": "0.9",
		"max-daily-loss": "0.9", "max-order-fraction": "2", "max-position-fraction": "2",
		"max-gross-fraction": "2"})
	return d
}

// besideBacktest plays a strategy on the simulated venue, which replays the candles, and in a backtest of the
// same ones; nil if either fails.
func (d *testHost) besideBacktest(strategy string, params map[string]any, speed float64, candles int64,
	symbols ...string) (live, back *artifact.Results) {
	start, err := market.ParseTime("2020-01-03T00:00:00Z")
	if err != nil {
		d.t.Error(err)
		return nil, nil
	}
	from, to := start.String(), start.Add(time.Duration(candles)*time.Hour).String()
	req := request(strategy, params, fmt.Sprintf(
		`{"market":"replay","source":%q,"candles_per_second":%g,"start":%q}`, stored, speed, from), symbols...)
	again := req
	again.Mode, again.StartDate, again.EndDate, again.ExchangeConfig = runner.ModeBacktest, &from, &to,
		exchange.Secret{}
	req.Mode, req.Exchange = runner.ModeLive, "sim"
	x, err := d.start(req)
	if err != nil {
		d.t.Errorf("%v: %v", params, err)
		return nil, nil
	}
	defer x.Close()
	if o := until(x, candles, runner.ErrStopRequested); o.Failure != nil {
		d.t.Errorf("%v: %+v %+v", params, o, o.Failure)
		return nil, nil
	}
	b, err := d.backtests.Launch(context.Background(), x.runID+"_back", again)
	if err != nil {
		d.t.Errorf("%v: %v", params, err)
		return nil, nil
	}
	defer b.(io.Closer).Close()
	if o := b.Run(context.Background()); o.Failure != nil {
		d.t.Errorf("%v: %+v", params, o.Failure)
		return nil, nil
	}
	return x.Results(), b.Results()
}

// entry is what a run entered by, and the price where it filled.
type entry struct {
	what  string
	price float64
}

// sameEntry allows a price that the venue has rounded to its tick, of 0.01.
func sameEntry(a, b entry) bool { return a.what == b.what && math.Abs(a.price-b.price) < 0.0101 }

func entries(r *artifact.Results) (list []entry) {
	for _, o := range r.Orders {
		if o.Role == market.RoleEntry {
			price, _ := o.AveragePrice.Float64()
			what := fmt.Sprint(o.CreatedAt, " ", o.Side, " ", o.Type, " ", o.Status, " ", o.Tag)
			list = append(list, entry{what, price})
		}
	}
	return list
}
