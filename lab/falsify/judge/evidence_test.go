package judge_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/lines"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
)

func f(x float64) *float64 { return &x }

// The files byte by byte: columns by name, 12 digits, null empty.
func TestFiles(t *testing.T) {
	third := 1.0 / 3
	diff, err := judge.FirstDiffs("determinism", []judge.Difference{{Variant: "plain", Diff: lines.Diff{
		Want: [][]byte{[]byte(`{"a":"<"}`)}, Got: [][]byte{[]byte(`{"a":2}`)},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		got  judge.File
		path string
		rows int
		text string
	}{
		{judge.Replays("price_noise", []judge.Replay{
			{Variant: "noise", Status: judge.Completed, Sharpe: &third, TotalReturn: f(-.5),
				MaxDrawdown: f(1e-9), Trades: 3, NetPnL: "-12.50", DecisionHash: "ab"},
			{Variant: "noise", Replica: 1, Status: judge.Failed, Trades: 9},
		}), "falsify/price_noise/replays.csv", 2,
			"variant,replica,status,sharpe_ratio,total_return,max_drawdown,total_trades,net_pnl,decision_hash\n" +
				"noise,0,completed,0.333333333333,-0.5,0.000000001,3,-12.50,ab\nnoise,1,failed,,,,,,\n"},
		{diff, "falsify/determinism/first_diff.jsonl", 2,
			`{"variant":"plain","side":"base","line":{"a":"<"}}` + "\n" +
				`{"variant":"plain","side":"replay","line":{"a":2}}` + "\n"},
	} {
		if c.got.Path != c.path || c.got.Rows != c.rows || string(c.got.Content) != c.text {
			t.Errorf("%s, %d rows:\n%s\nwant %s, %d rows:\n%s", c.got.Path, c.got.Rows, c.got.Content, c.path,
				c.rows, c.text)
		}
	}
	test := judge.CostStress.Skip("")
	test.Attach(diff)
	if e := test.Evidence[0]; e.Path != diff.Path || e.Rows != 2 ||
		e.SHA256 != digest.SHA256Hex(diff.Content) {
		t.Errorf("%+v", e)
	}
	if _, err := judge.FirstDiffs("x",
		[]judge.Difference{{Diff: lines.Diff{Want: [][]byte{[]byte("{")}}}}); err == nil {
		t.Error("half a line is written")
	}
}

// Whatever the numbers and texts, a CSV reader gets them back, rounded to 12 digits.
func TestFilesAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z,"; ]{0,8}`).Draw(t, "name")
		x := rapid.Float64().Draw(t, "x")
		sheet := judge.NewSheet("x", "x.csv", "name", "days", "pnl")
		sheet.Row(name, "0", judge.Plain(x))
		sheet.Row("b", "0", judge.Plain(math.NaN()))
		file := sheet.File()
		rows, err := csv.NewReader(strings.NewReader(string(file.Content))).ReadAll()
		if err != nil || len(rows) != 3 || rows[1][0] != name || rows[2][2] != "" {
			t.Fatalf("%q, %v", rows, err)
		}
		var back float64
		if err := json.Unmarshal([]byte(rows[1][2]), &back); err != nil || back != metric.Round(x) ||
			strings.ContainsAny(rows[1][2], "eE\r") {
			t.Fatalf("%v became %s, %v", x, rows[1][2], err)
		}
	})
}
