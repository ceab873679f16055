package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/compare"
	"github.com/assay-run/assay/lab/page"
	"github.com/assay-run/assay/lab/page/pagetest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	start  = market.Time(1704067200000) // 2024-01-01
	aDay   = market.Time(86400000)
	anHour = market.Time(3600000)
)

// hostile is a run of 400 days all of whose texts try to be more.
func hostile(t *testing.T) *run {
	t.Helper()
	h := pagetest.Hostile
	d := &run{
		basis: "full",
		row: registry.Run{RunID: "run_a", Slug: h, Kind: artifact.KindRun, PlanID: "plan_a",
			Status: artifact.StatusCompleted},
	}
	name, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	d.meta = &artifact.Metadata{RunID: "run_a", Seed: "1", Symbols: []string{h}, Exchange: h, Timeframe: h,
		Params: fmt.Appendf(nil, `{%s:%s}`, name, name), Execution: json.RawMessage(name),
		Data:    []artifact.Dataset{{Symbol: h, Timeframe: h, SHA256: h}},
		Service: &artifact.ServiceNote{Mode: h, Stage: h},
		Failure: &artifact.FailureNote{
			Message: h,
			Failure: artifact.Failure{Code: h, Phase: h, LogTail: []string{h}},
		}}
	d.report = &artifact.Report{Splits: []artifact.SplitReport{{ID: h, Role: "full", Status: h},
		{
			ID:     "test",
			Role:   "test",
			Status: "locked",
		}}, Warnings: []artifact.ReportWarning{{Code: h, Message: h}},
		Assumptions: []artifact.Note{{Code: h, Message: h}}}
	d.report.Strategy.Name, d.report.Strategy.Version = h, h
	dsr := 0.3
	d.standing = &compare.Run{Selection: compare.Selection{DSRMax: &dsr, NTrials: 3, NTrialsNow: 5},
		Falsification: &compare.Falsification{RunID: "run_f", Overall: "fail",
			Tests: []compare.Test{{ID: h, Verdict: "fail"}}}}
	d.values = metric.Values{{Key: "total_return", Number: 0.5}, {Key: "buy_hold_return", Number: 0.9},
		{Key: "sharpe_ratio", Number: 1.2}, {Key: "sharpe_stderr", Number: 0.4}}
	d.measure = metric.Meta{Sample: metric.SampleDay, NReturns: 399,
		Undefined: map[string]metric.Reason{"win_rate": metric.Reason(h)}}
	zeros := make([]float64, 400)
	p := part{id: "full", curve: &artifact.EquityCurve{Cash: zeros, Exposure: zeros}}
	level := 100.0
	for i := range 400 {
		at := start + market.Time(i)*aDay
		if i > 0 {
			r := 0.01 * float64(i%7-3)
			level *= 1 + r
			d.returns.Return, d.returns.Time = append(d.returns.Return, r), append(d.returns.Time, at)
		}
		p.curve.Time, p.curve.Equity = append(p.curve.Time, at), append(p.curve.Equity, level)
		p.curve.PositionValue = append(p.curve.PositionValue, level/2)
		p.holding = append(p.holding, 50+float64(i))
	}
	d.returns.Sample, d.returns.PeriodsPerYear = metric.SampleDay, 365
	for i := range 40 {
		x := float64(i%5) - 2
		entry := start + market.Time(i)*5*anHour
		p.trades = append(
			p.trades,
			trade{symbol: h, direction: h, entry: entry, exit: entry + anHour, gross: x + 1,
				fees: 0.5, slippage: 0.25, pnl: x + 0.5, ret: x / 100, mae: -0.01, mfe: 0.02, candles: 3},
		)
	}
	d.parts = []part{p}
	return d
}

func written(t *testing.T, d *run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, content, d.view()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestHostileNames: nothing of a strategy, symbol, parameter, log line or reason becomes HTML.
func TestHostileNames(t *testing.T) {
	text := written(t, hostile(t))
	pagetest.Check(t, text)
	if !bytes.Equal(text, written(t, hostile(t))) {
		t.Error("two sheets of one run differ")
	}
	d := hostile(t)
	d.meta.Failure, d.noHolding, d.parts[0].holding = nil, pagetest.Hostile, nil
	pagetest.Check(t, written(t, d))
	d.meta.Imported = &artifact.Imported{Tool: pagetest.Hostile}
	pagetest.Check(t, written(t, d))
}

// TestSheetSaysWhatIsMissing instead of inventing it.
func TestSheetSaysWhatIsMissing(t *testing.T) {
	d := hostile(t)
	d.meta.Failure, d.standing.Falsification, d.standing.Selection.DSRMax = nil, nil, nil
	d.parts, d.returns = nil, metric.Returns{}
	d.measure.NReturns = 20
	text := string(written(t, d))
	for _, want := range []string{"No trade was closed", "There is no equity curve to draw", "Not falsified",
		"Deflated Sharpe ratio: not computed", "too few days: 20 returns", "n/a: not measured",
		"It does not beat holding: &#43;50.0 % against &#43;90.0 %."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not there", want)
		}
	}
	d = &run{row: registry.Run{RunID: "run_a", Status: artifact.StatusRunning}, meta: &artifact.Metadata{}}
	if text := written(t, d); !bytes.Contains(text, []byte("has not ended")) {
		t.Error("a running run is judged")
	} else {
		pagetest.Check(t, text)
	}
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		change func(*run)
		class  string
		want   string
	}{
		{func(d *run) {}, "fail", "This run failed"},
		{func(d *run) { d.meta.Failure = nil }, "fail", "does not survive"},
		{func(d *run) { d.meta.Failure, d.standing.Falsification = nil, nil }, "fail", "not beat holding"},
		{func(d *run) {
			d.meta.Failure, d.standing.Falsification = nil, nil
			d.values[1].Number = 0.1
		}, "warn", "a search without skill"},
		{func(d *run) {
			d.meta.Failure, d.standing.Falsification, d.standing.Selection.DSRMax = nil, nil, nil
			d.values[1].Number = 0.1
		}, "inconclusive", "nobody has tried to refute it"},
		{func(d *run) {
			d.meta.Failure, d.standing.Falsification.Overall, d.standing.Selection.DSRMax = nil, "pass", nil
			d.values[1].Number = 0.1
		}, "pass", "withstood"},
		{func(d *run) {
			d.meta.Failure, d.standing.Falsification.Overall = nil, "pass"
			d.meta.Imported = &artifact.Imported{Tool: "freqtrade"}
		}, "inconclusive", "By the results of freqtrade it made +50.0 %: what another engine says"},
	} {
		d := hostile(t)
		c.change(d)
		if class, text := d.sentence(); class != c.class || !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %s: %s", class, text, c.class, c.want)
		}
	}
}

func TestWorstDrawdowns(t *testing.T) {
	line := []float64{100, 110, 99, 110, 120, 60, 90, 130, 117}
	var times []market.Time
	for i := range line {
		times = append(times, start+market.Time(i)*aDay)
	}
	got := worst(times, line, 2)
	if len(got) != 2 || got[0].depth != 0.5 || got[0].peak != times[4] || got[0].trough != times[5] ||
		got[0].end != times[7] || got[0].open {
		t.Errorf("%+v", got)
	}
	if got = worst(times, line, 9); len(got) != 3 || !got[2].open && !got[1].open {
		t.Errorf("%+v", got)
	}
}

// TestMonthly: the months of a year multiply to the year; a close at midnight is of the day before.
func TestMonthly(t *testing.T) {
	var times []market.Time
	var line []float64
	level := 100.0
	for i := range 800 {
		times = append(times, start+market.Time(i+1)*aDay)
		level *= 1 + 0.001*float64(i%5-2)
		line = append(line, level)
	}
	years := monthly(times, line)
	if len(years) != 3 || years[0].number != 2024 || math.IsNaN(years[0].months[11]) ||
		!math.IsNaN(years[2].months[5]) {
		t.Fatalf("%+v", years)
	}
	whole := 1.0
	for _, y := range years {
		product := 1.0
		for _, m := range y.months {
			if !math.IsNaN(m) {
				product *= 1 + m
			}
		}
		if math.Abs(product-1-y.whole) > 1e-9 {
			t.Errorf("%d: the months make %v, the year %v", y.number, product-1, y.whole)
		}
		whole *= 1 + y.whole
	}
	if math.Abs(whole-line[799]/line[0]) > 1e-9 {
		t.Errorf("the years make %v", whole)
	}
}

// TestPartsAreChained at the level at which the one before ended.
func TestPartsAreChained(t *testing.T) {
	d := &run{parts: []part{
		{
			curve: &artifact.EquityCurve{
				Time:          []market.Time{1, 2},
				Equity:        []float64{100, 150},
				PositionValue: []float64{0, -75}, Cash: []float64{100, 225}, Exposure: []float64{0, 0.5},
			},
			holding: []float64{10, 20},
		},
		{
			curve: &artifact.EquityCurve{
				Time:          []market.Time{3, 4},
				Equity:        []float64{100, 50},
				PositionValue: []float64{0, 0}, Cash: []float64{100, 50}, Exposure: []float64{0, 0},
			},
			holding: []float64{8, 4},
		},
	}}
	l := d.levels()
	if fmt.Sprint(l.account, l.holding, l.exposure) != "[100 150 150 75] [100 200 200 100] [0 0.5 0 0]" {
		t.Error(l.account, l.holding, l.exposure)
	}
	d.parts[1].holding = nil
	if d.levels().holding != nil {
		t.Error("half a line of holding is drawn")
	}
}

const header = "trade_id,symbol,direction,quantity,entry_time,entry_price,exit_time,exit_price," +
	"gross_pnl,fees,slippage,pnl,return,exit_reason,candles_held,duration_seconds,mae,mfe,entry_tag," +
	"exit_tag,order_ids,ambiguous\n"

func TestReadTrades(t *testing.T) {
	const row = `t-000001,"A,B/C",long,2,2024-01-01T00:00:00.000Z,50,2024-01-02T00:00:00.000Z,60,20,1,0.5,` +
		`19,0.19,signal,24,86400,-10,30,"<b>",,o-000001;o-000002,false` + "\n"
	list, err := readTrades([]byte(header + row))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if x := list[0]; x.symbol != "A,B/C" || x.pnl != 19 || x.mae != -0.1 || x.mfe != 0.3 || x.candles != 24 ||
		x.exit-x.entry != aDay {
		t.Errorf("%+v", x)
	}
	for text, want := range map[string]string{"": "EOF", "symbol\n": "no column",
		header + "x\n": "wrong number",
		header + strings.Replace(row, "-10", "NaN", 1):                 `line 2: "NaN" is no mae`,
		header + strings.Replace(row, "2024-01-01T", "2024-13-01T", 1): "is no entry_time"} {
		if _, err := readTrades([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func FuzzReadTrades(f *testing.F) {
	f.Add([]byte(header))
	f.Add(
		[]byte(
			header + "t-000001,A/B,long,2,2024-01-01T00:00:00.000Z,50,2024-01-02T00:00:00.000Z,60," +
				"20,1,0.5,19,0.19,signal,24,86400,-10,30,,,o-000001,false\n",
		),
	)
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := readTrades(text)
		if err != nil {
			return
		}
		for _, x := range list {
			if math.IsNaN(x.pnl) || math.IsInf(x.pnl, 0) {
				t.Fatalf("%q gives %v", text, x.pnl)
			}
		}
	})
}
