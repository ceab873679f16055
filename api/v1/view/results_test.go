package view_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/runner"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func report(points int) runner.Report {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	manifest := (&apitest.Run{}).Manifest()
	return runner.Report{
		Snapshot: runner.Snapshot{
			Status: runner.StatusCompleted, RunID: "svc_1", Mode: runner.ModeBacktest, StartTime: start,
			EndTime:   start.Add(1845 * time.Millisecond),
			UpdatedAt: start, Runtime: 1845 * time.Millisecond, StopReason: runner.StopFinished,
			Progress: runner.Progress{CandlesDone: 640, CandlesTotal: 1000, Cash: 1834.2, Equity: 14617.56,
				InitialCash: 10000, CandlesPerSecond: 911610.4},
		},
		Request: runner.StartRequest{Mode: "backtest", StrategyName: "sma_cross",
			Symbols: []string{"BTC/USDT"}, Timeframe: "1h"},
		Manifest:  &manifest,
		Results:   apitest.SampleResults(points),
		Artifacts: "runs/svc_1",
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", " "); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, append(pretty.Bytes(), '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, append(pretty.Bytes(), '\n')) {
		t.Errorf("%s differs (run with -update and look at the difference):\n%s", name, pretty.Bytes())
	}
}

func TestResultsDocument(t *testing.T) {
	var buf bytes.Buffer
	if err := view.ResultsOf(report(3), -1, -1).Write(&buf); err != nil {
		t.Fatal(err)
	}
	golden(t, "results.json", buf.Bytes())
	// The fields come in the order of the struct.
	dec := json.NewDecoder(&buf)
	var keys []string
	depth := 0
	for tok, err := dec.Token(); err == nil; tok, err = dec.Token() {
		switch d, isDelim := tok.(json.Delim); {
		case isDelim && (d == '{' || d == '['):
			depth++
		case isDelim:
			depth--
		case depth == 1:
			keys = append(keys, tok.(string))
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				t.Fatal(err)
			}
		}
	}
	typ := reflect.TypeFor[view.Results]()
	for i := range typ.NumField() {
		if i >= len(keys) || keys[i] != typ.Field(i).Tag.Get("json") {
			t.Fatalf("field %d is not %s: %v", i, typ.Field(i).Tag.Get("json"), keys)
		}
	}
}

// Dates are shown as every other time, however they were written.
func TestDatesOfTheRequest(t *testing.T) {
	rep := report(0)
	start, end := "2024-01-31", "2024-03-01T01:30+02:00"
	rep.Request.StartDate, rep.Request.EndDate = &start, &end
	var buf bytes.Buffer
	if err := view.ResultsOf(rep, -1, -1).Write(&buf); err != nil {
		t.Fatal(err)
	}
	if want := `"start_date":"2024-01-31T00:00:00.000Z","end_date":"2024-02-29T23:30:00.000Z"`; !strings.Contains(buf.String(), want) {
		t.Errorf("%s is missing in %.600s", want, buf.String())
	}
}

func TestStatusGolden(t *testing.T) {
	for name, s := range map[string]runner.Snapshot{"status_idle.json": {Status: runner.StatusIdle},
		"status_completed.json": report(0).Snapshot} {
		text, err := edge.Encode(view.StatusOf(s))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, text)
	}
	failed := report(0).Snapshot
	failed.Status, failed.StopReason, failed.Error = runner.StatusFailed, "error", "boom"
	failed.Failure = &artifact.Failure{Code: "PLUGIN_CRASHED"}
	text, err := edge.Encode(view.StatusOf(failed))
	if err != nil ||
		!strings.Contains(string(text),
			`"error_details":{"code":"PLUGIN_CRASHED","phase":"","candle_time":null,"plugin_exit_code":null,"log_tail":[],"data":{}}`) {
		t.Errorf("%s", text)
	}
	paper := runner.Snapshot{Status: runner.StatusRunning, Mode: runner.ModePaper}
	if text, err := edge.Encode(view.StatusOf(paper)); err != nil ||
		!strings.Contains(string(text), `"candles_total":null`) ||
		!strings.Contains(string(text), `"progress":null`) {
		t.Errorf("%s", text)
	}
}

func TestDetailIdle(t *testing.T) {
	d := view.DetailedOf(runner.Report{Snapshot: runner.Snapshot{Status: runner.StatusIdle},
		Results: &artifact.Results{}}, view.Health{}, 100, 2000)
	text, err := edge.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "detailed_idle.json", text)
}

func TestCurveWritesLikeEncodingJSON(t *testing.T) {
	c := view.Curve{Columns: apitest.SampleResults(200).Equity}
	got, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	points := make([]view.EquityPoint, c.Len())
	for i := range points {
		e := c.Columns
		points[i] = view.EquityPoint{Timestamp: e.Time[i], Equity: view.Number(e.Equity[i]),
			Cash:          view.Number(e.Cash[i]),
			PositionValue: view.Number(e.PositionValue[i]), Drawdown: view.Number(e.Drawdown[i]),
			Exposure: view.Number(e.Exposure[i])}
	}
	want, err := json.Marshal(points)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v\n%.300s\n%.300s", err, got, want)
	}
	c.Picked = []int{0, 7}
	if got, _ := json.Marshal(c); bytes.Count(got, []byte("timestamp")) != 2 {
		t.Errorf("%s", got)
	}
}

func BenchmarkResults(b *testing.B) {
	rep := report(500_000)
	b.ReportAllocs()
	for b.Loop() {
		var n counter
		if err := view.ResultsOf(rep, -1, -1).Write(&n); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(n))
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
