package trade

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
)

// controlled hands a control to a run and wants it refused by a reason, or ("") carried out.
func controlled(t *testing.T, x *Execution, c runner.Command, refusal string) {
	t.Helper()
	text, err := x.Control(t.Context(), c)
	refused, is := errors.AsType[*run.RequestError](err)
	switch {
	case refusal == "" && (err != nil || (text == "" && c.Action != runner.StopRun)):
		t.Errorf("%+v: %q %v", c, text, err)
	case refusal != "" &&
		(!is || len(refused.Fields) != 1 || refused.Fields[0].Rule != refusal ||
			refused.Fields[0].Pointer == ""):
		t.Errorf("%+v: %v, want %s", c, err, refusal)
	}
}

func isHolding(x *Execution) bool { return len(x.Results().Positions) > 0 }

// TestControls: paper and live runs are paused, flattened and let again; each control is in the journal with
// who and why before it is done.
func TestControls(t *testing.T) {
	for _, mode := range []string{runner.ModePaper, runner.ModeLive} {
		t.Run(mode, func(t *testing.T) {
			d := newTestHost(t, 10, "good")
			x, _ := started(t, d, onSim(mode, "good", map[string]any{"every": 3}, ""))
			wait(t, "a position", func() bool { return inPhase(x, engine.Trading)() && isHolding(x) })
			_, err := x.Control(t.Context(), runner.Command{Action: runner.Close, Symbol: "ETH/USDT"})
			if bad, ok := errors.AsType[*run.RequestError](err); !ok || len(bad.Fields) != 1 ||
				bad.Fields[0].Pointer != "/symbol" {
				t.Errorf("a symbol that the run has not: %v", err)
			}
			controlled(t, x, runner.Command{Action: runner.Resume}, "not_paused")
			controlled(t, x, runner.Command{Action: runner.Cancel, OrderID: "o-999999"}, "no_order")
			controlled(t, x, runner.Command{Action: runner.Acknowledge, AlarmID: "a-000099"}, "no_alarm")
			controlled(t, x, runner.Command{Action: runner.Flatten, Who: "a person", Why: "a test"}, "")
			wait(t, "the pause", inPhase(x, engine.Reducing))
			wait(t, "the end of the position", func() bool { return !isHolding(x) })
			fills := x.Progress().Fills
			candles := x.Progress().CandlesDone
			wait(t, "some candles", func() bool { return x.Progress().CandlesDone > candles+12 })
			if n := x.Progress().Fills; n != fills || isHolding(x) {
				t.Errorf("%d fills after %d, held %v", n, fills, isHolding(x))
			}
			if !warned(x.Results(), engine.CodePaused) {
				t.Errorf("%v", x.Results().Warnings)
			}
			controlled(t, x, runner.Command{Action: runner.Close, Symbol: "BTC/USDT"}, "no_position")
			controlled(t, x, runner.Command{Action: runner.Resume}, "")
			wait(t, "another position", func() bool { return isHolding(x) })
			rows := controlRows(t, d, x.runID)
			want := controlRow{Action: runner.Flatten, Who: "a person", Why: "a test"}
			found := 0
			for _, r := range rows {
				if reflect.DeepEqual(r, want) {
					found++
				}
			}
			if found != 1 || rows[len(rows)-1].Action != runner.Resume {
				t.Errorf("%+v", rows)
			}
		})
	}
}

func controlRows(t *testing.T, d *testHost, runID string) (list []controlRow) {
	t.Helper()
	err := journal.Each(func(p journal.Page) (journal.Rows[journal.Entry], error) {
		return d.journal.Log(t.Context(), runID, p, logControl)
	}, func(e journal.Entry) error {
		list = append(list, controlRow{})
		return json.Unmarshal(e.Data.(json.RawMessage), &list[len(list)-1])
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
