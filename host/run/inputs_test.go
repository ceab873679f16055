package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/runner"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// rate stores rows as the input of the strategy informed.
func (l *lab) rate(rows ...market.InputRow) candle.StoredInput {
	l.t.Helper()
	text := "time,known,value\n"
	for _, r := range rows {
		text += fmt.Sprintf("%s,%s,%v\n", r.Time, r.Known, r.Value)
	}
	in, err := l.store.Inputs().Import(context.Background(), candle.InputImport{Name: playtest.InformedInput,
		File: importer.Bytes("rate.csv", []byte(text))})
	if err != nil {
		l.t.Fatal(err)
	}
	return in
}

// TestInputs: a strategy that reads an input decides the same in each drive, by the rows that are
// known at a step and no others: one that became known a millisecond after a close shows at the next.
func TestInputs(t *testing.T) {
	ring.Slow(t, "a process of the strategy plays five runs")
	l := newLab(t, 400).attached("informed")
	req := request("informed", nil)
	_, err := l.launcher.Launch(context.Background(), "svc_no", req)
	if refused := new(RequestError); !errors.As(err, &refused) || refused.Code != CodeStartFailed ||
		!strings.Contains(refused.Message, "lab data import --input rate") {
		t.Errorf("without the input: got %v", err)
	}
	series := l.candles(one)
	var rows []market.InputRow
	for i := range 80 {
		close := series.CloseTime(5*i + 2)
		row := market.InputRow{Time: close - 7, Known: close, Value: float64(1-2*(i%2)) / float64(i+3)}
		switch i % 4 {
		case 1:
			row.Known++ // a millisecond too late for this close
		case 2: // revised within the candle, and the time before it later
			late := market.InputRow{Time: rows[len(rows)-1].Time, Known: close + 2, Value: 0.7}
			rows = append(rows, row, late)
			row.Known, row.Value = close+1, -row.Value
		}
		rows = append(rows, row)
	}
	last := series.CloseTime(series.Len() - 1)
	before := l.rate(append(rows, market.InputRow{Time: 1, Known: last + 1, Value: 1e6})...)
	start := "2020-01-03"
	req.StartDate = &start
	first, hash := "", ""
	for _, d := range []Drive{{}, {Chunked: true}, {Lockstep: true}} {
		x := l.driven(req, Split{Drive: d, Series: true})
		if n := len(x.Results().Fills); n < 10 {
			t.Errorf("%+v: only %d fills", d, n)
		}
		got := fingerprint(t, x)
		if first == "" {
			first, hash = got, x.Results().DataHash
		}
		if got != first || x.Results().DataHash != hash {
			t.Errorf("%+v differs:\n%s\n%s", d, got, first)
		}
		shows(t, x, rows)
		if len(x.Manifest().Inputs) != 1 || x.Manifest().Inputs[0].SHA256 != before.SHA256 {
			t.Errorf("the manifest has %+v", x.Manifest().Inputs)
		}
	}
	after := l.rate(rows[:20]...)
	x := l.driven(req, Split{Series: true})
	if fingerprint(t, x) == first || x.Results().DataHash == hash || after.SHA256 == before.SHA256 {
		t.Error("other rows make no difference")
	}
	pinned := Split{Pins: map[market.Symbol]string{candle.InputSymbol(after.Name): before.SHA256},
		Series: true}
	later, hourly := pinned, slices.Clone(rows)
	later.MoveInputs = func(t market.Time) market.Time { return t.Add(time.Hour) }
	for i, r := range hourly {
		hourly[i].Time, hourly[i].Known = later.MoveInputs(r.Time), later.MoveInputs(r.Known)
	}
	for _, d := range []Drive{{}, {Lockstep: true}} {
		later.Drive = d
		shows(t, l.driven(req, later), hourly)
	}
	x = l.driven(req, pinned) // the stored rows are where they were
	if fingerprint(t, x) != first || x.Results().DataHash != hash {
		t.Error("pinned rows are not those of before")
	}
	var p Plan
	req.Mode = runner.ModeLive
	if err := p.Read(l.catalog, req); err != nil {
		t.Fatal(err)
	}
	if err := p.CheckFits(req); err != nil {
		t.Errorf("live with an age: %v", err)
	}
	ageless := *p.Strategy
	ageless.Inputs = []sdk.Input{{Name: "other", MaxAge: time.Hour}, {Name: "rate"}}
	p.Strategy = &ageless
	if refused := new(RequestError); !errors.As(p.CheckFits(req), &refused) ||
		refused.Code != CodeModeNotSupported || refused.Details["reason"] != "inputs[1].max_age" {
		t.Errorf("live with any age: got %v", p.CheckFits(req))
	}
	req.Mode = runner.ModePaper
	if err := p.CheckFits(req); err != nil {
		t.Errorf("on paper with any age: %v", err)
	}
}

// shows holds what a strategy saw at each step against the rule, worked out of the rows alone.
func shows(t *testing.T, x *Execution, rows []market.InputRow) {
	t.Helper()
	n := 0
	for name, s := range x.Published().Series {
		for i, at := range s.Time {
			var want market.InputRow
			for _, r := range rows {
				if r.Known <= at && (r.Time > want.Time || r.Time == want.Time && r.Known > want.Known) {
					want = r
				}
			}
			if n++; name == "rate" && s.Values[i] != want.Value || name == "known" &&
				s.Values[i] != float64(want.Known) {
				t.Fatalf("%s at %s is %v, want that of %+v", name, at, s.Values[i], want)
			}
		}
	}
	if n < 600 {
		t.Errorf("only %d values were seen", n)
	}
}
