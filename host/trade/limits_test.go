package trade

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// limited is risk options from names and values.
func limited(t *testing.T, paper risk.Mode, given map[string]string) risk.Options {
	t.Helper()
	o, err := risk.Parse(func(o risk.Option) (string, string) { return given[o.Name], o.Flag() })
	if err != nil {
		t.Fatal(err)
	}
	o.Paper = paper
	return o
}

func warned(r *artifact.Results, code string) bool {
	return slices.ContainsFunc(r.Warnings, func(n artifact.Note) bool { return n.Code == code })
}

// verdictsOf are the lines of risk in the journal of a run.
func verdictsOf(t *testing.T, d *testHost, runID string) (list []map[string]any) {
	t.Helper()
	err := journal.Each(func(p journal.Page) (journal.Rows[journal.Entry], error) {
		return d.journal.Log(t.Context(), runID, p, engine.LogRisk)
	}, func(e journal.Entry) error {
		var one map[string]any
		list = append(list, one)
		return json.Unmarshal(e.Data.(json.RawMessage), &list[len(list)-1])
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestPaperEnforces: with --risk-paper enforce an order that breaks a limit is there, rejected by the
// limit's code, as it would be in live; in shadow the same order fills, and the verdict is written down and
// shown.
func TestPaperEnforces(t *testing.T) {
	d := newTestHost(t, 10, "good")
	for _, mode := range []risk.Mode{risk.Shadow, risk.Enforce} {
		d.launcher.opts.Risk = limited(t, mode, map[string]string{"max-order-notional": "100"})
		x := d.launch(onSim(runner.ModePaper, "good", map[string]any{"every": 5}, ""))
		if o := until(x, 40, runner.ErrStopRequested); o.Failure != nil {
			t.Fatalf("%+v", o.Failure)
		}
		r := x.Results()
		rejected := 0
		for _, o := range r.Orders {
			if o.Status == market.StatusRejected && o.Reason == "ORDER_NOTIONAL_EXCEEDED" &&
				o.Side == market.Buy && o.Tag == "turn" {
				rejected++
			}
		}
		list := verdictsOf(t, d, x.runID)
		if !warned(r, "ORDER_NOTIONAL_EXCEEDED") || len(list) == 0 ||
			list[0]["code"] != "ORDER_NOTIONAL_EXCEEDED" || list[0]["shadow"] != (mode == risk.Shadow) ||
			list[0]["order_id"] != "o-000001" {
			t.Errorf("%s: %v %v", mode, r.Warnings, list)
		}
		if r.Risk["mode"] != string(mode) {
			t.Errorf("%s: %v", mode, r.Risk)
		}
		switch mode {
		case risk.Shadow:
			if rejected != 0 || len(r.Fills) < 2 {
				t.Errorf("shadow blocked: %d rejected, %d fills", rejected, len(r.Fills))
			}
		case risk.Enforce:
			if rejected < 5 || rejected != len(r.Orders) || len(r.Fills) != 0 {
				t.Errorf("enforce: %d of %d rejected, %d fills", rejected, len(r.Orders), len(r.Fills))
			}
			readBackEqual(t, d, x)
		}
	}
}

// readBackEqual reads a run from the journal as after a crash: orders that limits refused are refused again.
func readBackEqual(t *testing.T, d *testHost, x *Execution) {
	t.Helper()
	info, err := d.journal.Run(t.Context(), x.runID)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := d.launcher.readBack(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	if want := x.Results(); !reflect.DeepEqual(rep.Results.Orders, want.Orders) ||
		!reflect.DeepEqual(rep.Results.Fills, want.Fills) {
		t.Errorf("read back %+v\nwant %+v", rep.Results.Orders, want.Orders)
	}
}

// TestPaperCountsWorkingOrders: two orders of one step are judged one after the other, so that they cannot
// break a limit together; what is sized by cash counts too.
func TestPaperCountsWorkingOrders(t *testing.T) {
	d := newTestHost(t, 10, "twice")
	d.launcher.opts.Risk = limited(t, risk.Enforce, map[string]string{"max-position-fraction": "0.5"})
	x := d.launch(onSim(runner.ModePaper, "twice", nil, ""))
	if o := until(x, 12, runner.ErrStopRequested); o.Failure != nil {
		t.Fatalf("%+v", o.Failure)
	}
	orders := x.Results().Orders
	if len(orders) < 2 || orders[0].Status != market.StatusFilled ||
		orders[1].Status != market.StatusRejected || orders[1].Reason != "POSITION_NOTIONAL_EXCEEDED" {
		t.Errorf("%+v", orders)
	}
}

// TestPaperKilled: the drawdown limit ends an enforced paper run at the step at which it breaks, also when
// the strategy wants nothing, and cancels what is open; in shadow the run goes on.
func TestPaperKilled(t *testing.T) {
	d := newTestHost(t, 10, "holds")
	for _, mode := range []risk.Mode{risk.Enforce, risk.Shadow} {
		d.launcher.opts.Risk = limited(t, mode,
			map[string]string{"max-drawdown": "0.000001", "max-daily-loss": "1"})
		x := d.launch(onSim(runner.ModePaper, "holds", nil, ""))
		o := until(x, 60, runner.ErrStopRequested)
		r := x.Results()
		if mode == risk.Shadow {
			if o.Failure != nil || !warned(r, "RISK_KILL") {
				t.Errorf("shadow: %+v %v", o.Failure, r.Warnings)
			}
			continue
		}
		if o.Failure == nil || o.Failure.Code != "RISK_KILL" || x.Progress().CandlesDone >= 60 {
			t.Fatalf("%+v after %d candles", o, x.Progress().CandlesDone)
		}
		for _, o := range r.Orders {
			if !o.Status.Final() {
				t.Errorf("still open: %+v", o)
			}
		}
		if info, err := d.journal.Run(t.Context(), x.runID); err != nil || info.Status != journal.Failed {
			t.Errorf("%+v %v", info, err)
		}
		if open, err := d.journal.OpenOrders(t.Context(), x.runID); err != nil || len(open) != 0 {
			t.Errorf("the journal has open orders: %v %v", open, err)
		}
	}
}

// TestPaperReduces: an enforced state is the phase of the run.
func TestPaperReduces(t *testing.T) {
	d := newTestHost(t, 10, "good")
	d.launcher.opts.Risk = limited(t, risk.Enforce,
		map[string]string{"fills-per-hour": "1", "orders-per-minute": "1000"})
	req := onSim(runner.ModePaper, "good", map[string]any{"every": 2}, "")
	req.Timeframe = "1m"
	x := d.launch(req)
	o := until(x, 30, runner.ErrStopRequested)
	if o.Failure != nil || !warned(x.Results(), "FILL_RATE_EXCEEDED") {
		t.Fatalf("%+v %v", o, x.Results().Warnings)
	}
	phases := phasesOf(t, d, x.runID)
	if !slices.Contains(phases, engine.Reducing) {
		t.Errorf("phases %v", phases)
	}
	reasons := map[string]int{}
	for _, o := range x.Results().Orders {
		reasons[string(o.Reason)]++
	}
	if reasons["STATE_REDUCING"] == 0 {
		t.Errorf("reasons %v", reasons)
	}
}

func phasesOf(t *testing.T, d *testHost, runID string) (list []string) {
	t.Helper()
	rows, err := d.journal.Log(t.Context(), runID, journal.Page{}, logPhase)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range rows.Items {
		var body struct{ Phase string }
		if err := json.Unmarshal(e.Data.(json.RawMessage), &body); err != nil {
			t.Fatal(err)
		}
		list = append(list, body.Phase)
	}
	return list
}
