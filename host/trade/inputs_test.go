package trade

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// rate stores rows as the input of the strategy informed.
func (d *testHost) rate(t *testing.T, rows ...market.InputRow) candle.StoredInput {
	t.Helper()
	text := "time,known,value\n"
	for _, r := range rows {
		text += fmt.Sprintf("%s,%s,%v\n", r.Time, r.Known, r.Value)
	}
	in, err := d.store.Inputs().Import(t.Context(), candle.InputImport{Name: playtest.InformedInput,
		File: importer.Bytes("rate.csv", []byte(text))})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// hours are the rows of the input that become known every five hours but for a gap: with values that change
// sign, some a millisecond too late for a close, some revised.
func hours(from market.Time, gap, end int) (rows []market.InputRow) {
	const hour = 3_600_000
	for i := range end {
		at := from + market.Time(5*i)*hour
		row := market.InputRow{Time: at - 7, Known: at, Value: float64(1-2*(i/3%2)) / float64(i+3)}
		switch {
		case i > gap && i < gap+9:
			continue
		case i%4 == 1:
			row.Known++
		case i%4 == 2:
			rows = append(rows, row)
			row.Known, row.Value = row.Known+1, row.Value*2
		}
		rows = append(rows, row)
	}
	return rows
}

// stale are the closes at which entries were held back.
func stale(r *artifact.Results) (list []market.Time) {
	for _, o := range r.Orders {
		if o.Reason == market.ReasonInputStale {
			list = append(list, o.CreatedAt)
		}
	}
	return list
}

// TestModesAgreeOnInputs plays a strategy that reads an input, which is too old for a while, as a backtest in
// both drives, on paper and live: the same decisions, the same entries held back.
func TestModesAgreeOnInputs(t *testing.T) {
	ring.Slow(t, "it plays five runs")
	d := newTestHost(t, 300, "informed")
	begin, err := market.ParseTime(first)
	if err != nil {
		t.Fatal(err)
	}
	d.rate(t, hours(begin, 24, 58)...)
	start := "2020-01-03T00:00:00Z"
	req := request("informed", nil, fmt.Sprintf(`{"candles_per_second":200,"start":%q}`, start))
	req.StrategyParams = nil
	paper := d.launch(req)
	if o := paper.Run(t.Context()); o.Failure != nil || o.Stopped {
		t.Fatalf("%+v %+v", o, o.Failure)
	}
	want := paper.Results()
	held := stale(want)
	if len(held) < 5 || len(want.Fills) < 20 || want.Fills[len(want.Fills)-1].Time < held[len(held)-1] {
		t.Fatalf("%d entries held back, %d fills", len(held), len(want.Fills))
	}
	sameBacktest(t, d.backtests, paper, req, start, "")
	readBackEqual(t, d, paper)

	lockstep := req
	lockstep.Mode, lockstep.ExchangeConfig = runner.ModeBacktest, exchange.Secret{}
	lockstep.StartDate = &start
	x, err := d.backtests.LaunchSplit(t.Context(), "svc_lockstep", lockstep,
		run.Split{Drive: run.Drive{Lockstep: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if o := x.Run(t.Context()); o.Failure != nil || x.Results().DecisionHash != want.DecisionHash {
		t.Errorf("lockstep decides otherwise: %+v", o.Failure)
	}

	req.Mode, req.Exchange = runner.ModeLive, "sim"
	req.ExchangeConfig = exchange.NewSecret(fmt.Sprintf(
		`{"market":"replay","source":%q,"candles_per_second":200,"start":%q}`, stored, start))
	real := d.launch(req)
	if o := until(real, want.Window.Candles-1, runner.ErrStopRequested); o.Failure != nil {
		t.Fatalf("live: %+v", o.Failure)
	}
	got := real.Results()
	n := min(len(got.Fills), len(want.Fills))
	if n < len(want.Fills)-1 || deals(got, n) != deals(want, n) || !slices.Equal(stale(got), held) {
		t.Errorf("live\n%s%v\npaper\n%s%v", deals(got, n), stale(got), deals(want, n), held)
	}
	if phases := phasesOf(t, d, real.runID); !slices.Contains(phases, engine.Reducing) {
		t.Errorf("phases %v", phases)
	}
}

// openAlarm is the alarm of a code that stands.
func openAlarm(x *Execution, code string) *alarm.Alarm {
	for _, a := range x.Progress().Alarms {
		if a.Code == code {
			return &a
		}
	}
	return nil
}

// inputsOf are the entries of the journal about the rows in use.
func inputsOf(t *testing.T, d *testHost, runID string) (list []inputEntry) {
	t.Helper()
	err := journal.Each(func(p journal.Page) (journal.Rows[journal.Entry], error) {
		return d.journal.Log(context.Background(), runID, p, logInput)
	}, func(e journal.Entry) error {
		var row inputEntry
		err := json.Unmarshal(e.Data.(json.RawMessage), &row)
		list = append(list, row)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestInputGrows: rows that are stored while a run goes on show from the next step on. Without a new one
// entries stop in time, and go on with the next. Rows that change what was shown are not taken, nor such as
// cannot be read: the run goes on with those of before, and says so.
func TestInputGrows(t *testing.T) {
	d := newTestHost(t, 120, "informed")
	v := byHand(t, d, 10)
	var rows []market.InputRow
	add := func(close int, value float64) candle.StoredInput {
		t.Helper()
		at := v.candles[close].CloseTime
		rows = append(rows, market.InputRow{Time: at, Known: at, Value: value})
		return d.rate(t, rows...)
	}
	begin := add(5, 1)
	req := ofHand("informed", nil)
	req.StrategyParams = nil
	x, ended := started(t, d, req)
	steps := func(to int) {
		t.Helper()
		for v.next < to {
			v.step(t)
		}
		looks(t, x)
	}
	steps(12) // buys
	second := add(11, -1)
	steps(14) // sells at 12
	if a := openAlarm(x, "INPUT_STALE"); a != nil {
		t.Errorf("too early: %+v", a)
	}
	third := add(13, 2)
	steps(70) // buys, holds 12 candles, buys again, until 24 hours after 13
	a := openAlarm(x, "INPUT_STALE")
	if a == nil || a.Subject != "rate" || !strings.Contains(a.Text, "lab data import --input rate") ||
		x.Progress().Phase != engine.Reducing {
		t.Fatalf("the input is old: phase %s, alarms %+v", x.Progress().Phase, x.Progress().Alarms)
	}
	held := stale(x.Results())
	if len(held) < 10 || held[0] <= v.candles[13].CloseTime.Add(24*3_600_000_000_000) {
		t.Errorf("%d entries are held back, from %v on", len(held), held)
	}
	// What was shown stays as it was, whatever is stored.
	before := rows
	rows = slices.Clone(rows[1:])
	lacks := add(69, 3)
	steps(72)
	if a := openAlarm(x, "INPUT_REFUSED"); a == nil || !strings.Contains(a.Text, "--merge") ||
		!strings.Contains(a.Text, lacks.SHA256[:12]) {
		t.Errorf("rows are gone: alarms %+v", x.Progress().Alarms)
	}
	record := filepath.Join(d.state, "data", "inputs", "rate.json")
	if err := os.WriteFile(record, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	steps(74)
	if a := openAlarm(x, "INPUT_REFUSED"); a == nil || openAlarm(x, "INPUT_STALE") == nil {
		t.Errorf("unreadable: alarms %+v", x.Progress().Alarms)
	}
	rows = before
	late := market.InputRow{Time: v.candles[20].CloseTime, Known: v.candles[20].CloseTime, Value: 0.5}
	rows = append(rows, late)
	fourth := add(74, 2)
	n := len(x.Results().Fills)
	steps(80)
	if list := x.Progress().Alarms; len(list) > 0 || x.Progress().Phase != engine.Trading ||
		len(x.Results().Fills) == n {
		t.Errorf("a new row: phase %s, alarms %+v, %d fills", x.Progress().Phase, list,
			len(x.Results().Fills)-n)
	}
	v.move(t, exchange.ErrEnded)
	if o := <-ended; o.Failure != nil || o.Stopped {
		t.Fatalf("%+v %+v", o, o.Failure)
	}
	readBackEqual(t, d, x)
	log := inputsOf(t, d, x.runID)
	want := []string{begin.SHA256, second.SHA256, third.SHA256, fourth.SHA256}
	if len(log) != len(want) {
		t.Fatalf("the journal has %+v", log)
	}
	for i, e := range log {
		if e.SHA256 != want[i] || e.Name != "rate" || i > 0 && e.Step <= log[i-1].Step {
			t.Errorf("entry %d is %+v", i, e)
		}
	}
	if last := log[3]; last.Late != 1 || last.Rows != 5 ||
		!strings.Contains(last.LateRows, late.Known.String()) {
		t.Errorf("the late row: %+v", last)
	}
	if in := x.Manifest().Inputs; len(in) != 1 || in[0].SHA256 != begin.SHA256 {
		t.Errorf("the manifest has %+v", in)
	}
}
