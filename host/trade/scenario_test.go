package trade

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/sim/simtest"
)

// played is a scenario of the simulator that a run of the host plays too: its candles are stored
// as an exchange of their own, its intents come from the plugin "scripted".
type played struct {
	*simtest.Script
	name     string
	mirrored bool
	exchange string
}

// scenarios stores the scenarios: every one in make prove, else each stride-th.
func scenarios(t *testing.T, d *testHost, stride int) []played {
	t.Helper()
	all, err := simtest.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	var list []played
	for i, s := range all {
		if i%ring.Size(stride, 1, 1) != 0 {
			continue
		}
		for _, mirrored := range []bool{false, true} {
			if mirrored && !s.Mirrored {
				continue
			}
			script, err := s.Script(mirrored)
			if err != nil {
				t.Fatal(err)
			}
			script.Extend(4)
			p := played{script, s.Name, mirrored, fmt.Sprintf("s%d", len(list))}
			for n, series := range script.Series {
				put := candle.PutRequest{Exchange: p.exchange, Series: series,
					PriceStep: decimal.MustNew(1, 8)}
				if n < len(script.Config.PriceSteps) {
					put.PriceStep = script.Config.PriceSteps[n]
				}
				if series.Len() == 0 {
					continue
				}
				if _, err := d.store.Put(t.Context(), put); err != nil {
					t.Fatalf("%s: %v", s.Name, err)
				}
			}
			list = append(list, p)
		}
	}
	return list
}

// request returns the start of a run of the scenario.
func (p *played) request(mode string) runner.StartRequest {
	window := p.Series[0].Time[p.Config.WarmupSteps]
	config := fmt.Sprintf(`{"candles_per_second":200,"start":%q}`, window)
	if mode == runner.ModeLive {
		config = fmt.Sprintf(`{"market":"replay","source":%q,"candles_per_second":200,"start":%q}`,
			p.exchange, window)
	}
	var symbols []string
	for _, s := range p.Config.Symbols {
		symbols = append(symbols, string(s))
	}
	req := request("scripted", map[string]any{"scenario": p.name, "mirrored": p.mirrored}, config, symbols...)
	req.Mode, req.Exchange = mode, p.exchange
	if mode == runner.ModeLive {
		req.Exchange = "sim"
	}
	return req
}

// fillRecorder is a sim.Recorder that keeps fills.
type fillRecorder struct{ fills []market.Fill }

// Intent implements sim.Recorder.
func (*fillRecorder) Intent(int64, *market.Intent, market.Reason) {}

// Order implements sim.Recorder.
func (*fillRecorder) Order(int64, *market.Order) {}

// Fill implements sim.Recorder.
func (r *fillRecorder) Fill(_ int64, f *market.Fill) { r.fills = append(r.fills, *f) }

// Trade implements sim.Recorder.
func (*fillRecorder) Trade(int64, *market.Trade) {}

// Equity implements sim.Recorder.
func (*fillRecorder) Equity(int64, *sim.Mark) {}

// exchanged returns what was bought and sold, in order, a line each.
func exchanged(fills []market.Fill) string {
	var b strings.Builder
	for _, f := range fills {
		fmt.Fprintf(&b, "%s %s %s @ %s fee %s %s %s\n", f.Symbol, f.Side, f.Quantity.Trim(0), f.Price.Trim(0),
			f.Fee.Trim(0), f.Role, f.Liquidity)
	}
	return b.String()
}

// notOnPaper are the scenarios that no paper run can play, and why.
func notOnPaper() map[string]string {
	return map[string]string{
		"invalid-size":                         "the SDK refuses an order without a size before it is sent",
		"digest-of-a-round-trip":               "the SDK refuses an order without a size before it is sent",
		"a-trailing-stop-needs-a-first-candle": "a symbol without candles cannot be stored",
	}
}

// TestScenariosOnPaper: a paper run fills what the simulator fills in the scenarios, at the same
// prices and fees, and ends with the same money.
func TestScenariosOnPaper(t *testing.T) {
	ring.Slow(t, "each scenario is a run of its own")
	d := openTestHost(t, testHostOptions{candles: 10, reattach: playtest.Debugged(t, "scripted")})
	n := 0
	for _, p := range scenarios(t, d, 12) {
		// What the lab alone can ask for, and what no paper run can play.
		if p.Config.DelayCandles > 0 || p.Config.WorstPrice || notOnPaper()[p.name] != "" {
			continue
		}
		t.Run(fmt.Sprintf("%s %t", p.name, p.mirrored), func(t *testing.T) { p.onPaper(t, d) })
		n++
	}
	if least := ring.Size(25, 390, 390); n < least {
		t.Errorf("%d runs, want %d", n, least)
	}
}

func (p *played) onPaper(t *testing.T, d *testHost) {
	var want fillRecorder
	e, err := p.Play(p.Config, &want)
	if err != nil {
		t.Fatal(err)
	}
	execution, err := p.Config.Options.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	req := p.request(runner.ModePaper)
	req.Execution, req.InitialCash = json.RawMessage(execution), json.Number(p.Config.InitialCash.String())
	x, err := d.start(req)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if o := x.Run(context.Background()); o.Failure != nil || o.Stopped {
		t.Fatalf("%+v %+v", o, o.Failure)
	}
	if text := p.compare(x.Results(), e, want.fills); text != "" {
		t.Error(text)
	}
}

// compare returns how a run differs from the simulator; "" where it does not.
func (p *played) compare(r *artifact.Results, e *sim.Engine, fills []market.Fill) string {
	value, err := e.FinalValue()
	if err != nil {
		return err.Error()
	}
	got, want := exchanged(r.Fills), exchanged(fills)
	if got == want && fmt.Sprint(r.FinalValue) == value.Trim(0).String() {
		return ""
	}
	text := fmt.Sprintf("%s mirrored %t: fills\n%sto %v, the simulator has\n%sto %s\n", p.name, p.mirrored,
		got, r.FinalValue, want, value.Trim(0))
	for _, o := range r.Orders {
		text += fmt.Sprintln("in the run:", o.ID, o.Side, o.Type, o.Status, o.Reason)
	}
	return text
}

// difference is a rule that a live run on the simulated venue has of its own. A scenario to which
// one applies need not come to what the simulator comes to; every other one must.
type difference struct {
	why     string
	applies func(p *played, r *artifact.Results) bool
}

func differences() []difference {
	asks := func(of func(in *market.Intent) bool) func(*played, *artifact.Results) bool {
		return func(p *played, _ *artifact.Results) bool {
			for _, step := range p.Intents {
				for i := range step {
					if of(&step[i]) {
						return true
					}
				}
			}
			return false
		}
	}
	return []difference{
		{"legs are sent when the fill of their parent is reported, and can fill from the next candle on",
			asks(func(in *market.Intent) bool { return in.StopLoss != nil || len(in.TakeProfits()) > 0 })},
		{"a size in money becomes a quantity when it is decided, less a margin for the price",
			asks(func(in *market.Intent) bool {
				return in.Size.Kind == market.SizeQuoteAmount || in.Size.Kind == market.SizeCashFraction
			})},
		{"an order by equity that the cash does not pay for spends what is left, less a margin for the price",
			func(_ *played, r *artifact.Results) bool {
				return slices.ContainsFunc(r.Orders, func(o market.Order) bool { return o.Clamped })
			}},
		{"what a target lacks is no order where the venue takes nothing as small",
			func(_ *played, r *artifact.Results) bool {
				n, _ := r.Metrics.Metrics.Get("rejected_intents")
				return n > 0
			}},
		{"a trailing stop follows when a candle has closed, by an order in the place of the one that stood",
			asks(func(in *market.Intent) bool {
				return in.Action == market.Replace && (in.TrailPercent != 0 || in.TrailAmount != 0)
			})},
		{"an entry that runs out is open until its cancel is confirmed, and guards what is decided before",
			func(p *played, r *artifact.Results) bool {
				return slices.ContainsFunc(r.Orders, func(o market.Order) bool {
					return o.Status == market.StatusExpired
				}) && asks(func(in *market.Intent) bool { return in.Guard != nil })(p, r)
			}},
		{"orders of one step for several symbols reach the venue in any order",
			func(p *played, _ *artifact.Results) bool { return len(p.Series) > 1 }},
		{"several orders of one step reach the venue in any order, and are not matched by class",
			func(p *played, _ *artifact.Results) bool {
				return slices.ContainsFunc(p.Intents, func(step []market.Intent) bool {
					return len(step) > 1
				})
			}},
		{"a price is rounded to the tick of the venue",
			func(p *played, _ *artifact.Results) bool {
				return p.name == "prices-and-quantities-have-15-digits"
			}},
		{"the limits of the account and the rules of the venue refuse an order that the simulator takes",
			func(_ *played, r *artifact.Results) bool {
				return slices.ContainsFunc(r.Orders, func(o market.Order) bool {
					code := string(o.Reason)
					return o.Status == market.StatusRejected &&
						(code == strings.ToUpper(code) || o.Reason == market.ReasonInsufficientCash)
				})
			}},
	}
}

// TestScenariosOnSim: a live run on the simulated venue, which replays the candles of a scenario,
// fills what the simulator fills with the venue's own options, at the same prices and fees, where
// no rule of its own applies.
func TestScenariosOnSim(t *testing.T) {
	ring.Slow(t, "each scenario is a run of its own")
	d := openTestHost(t, testHostOptions{candles: 10, reattach: playtest.Debugged(t, "scripted")})
	equal, n := 0, 0
	for _, p := range scenarios(t, d, 12) {
		if p.mirrored || p.Config.WarmupSteps > 0 || notOnPaper()[p.name] != "" {
			continue // a live run opens no shorts, and its warm-up is history of the venue
		}
		t.Run(p.name, func(t *testing.T) {
			if p.onSim(t, d) {
				equal++
			}
		})
		n++
	}
	t.Logf("%d of %d runs come to what the simulator comes to", equal, n)
	if least := ring.Size(10, 130, 130); equal < least {
		t.Errorf("%d runs come to what the simulator comes to, want %d", equal, least)
	}
}

// onSim plays the scenario and reports whether it came to what the simulator comes to.
func (p *played) onSim(t *testing.T, d *testHost) bool {
	var want fillRecorder
	cfg := p.Config
	var err error
	cfg.DelayCandles, cfg.WorstPrice, cfg.PriceSteps = 0, false, nil
	if cfg.Options, err = sim.ResolveOptions(nil, sim.DefaultFees()); err != nil {
		t.Fatal(err)
	}
	cfg.InitialCash = decimal.MustNew(10_000, 0)
	e, err := p.Play(cfg, &want)
	if err != nil {
		t.Fatal(err)
	}
	x, err := d.start(p.request(runner.ModeLive))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if o := until(x, e.Step(), runner.ErrStopRequested); o.Failure != nil {
		t.Fatalf("%+v %+v", o, o.Failure)
	}
	emulated := slices.ContainsFunc(x.Results().Assumptions, func(n artifact.Note) bool {
		return n.Code == run.NoteOCOEmulated
	})
	grouped := slices.ContainsFunc(p.Intents, func(step []market.Intent) bool {
		return slices.ContainsFunc(step, func(in market.Intent) bool { return in.OCO != 0 })
	})
	if emulated != grouped {
		t.Errorf("%s: an emulated OCO is among the assumptions: %t", p.name, emulated)
	}
	text := p.compare(x.Results(), e, want.fills)
	if text == "" {
		return true
	}
	for _, own := range differences() {
		if own.applies(p, x.Results()) {
			return false
		}
	}
	t.Error(text)
	return false
}
