package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The two prices of the stairs: a round trip from one to the other and back earns
// (401 - 399) / (401 + 399) of what is turned over, which is 25 basis points.
const (
	stairLow  = 399.0
	stairHigh = 401.0
)

// makeCandles writes so many candles from 2021 on: candles walk 1000 1d FILE. A walk goes
// up and down by chance, stairs go up and down by turns. Tides rise after much volume and
// fall after little, which is an edge that is there.
func makeCandles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: candles walk|stairs|tides COUNT 1h|1d FILE")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	step := map[string]time.Duration{"1h": time.Hour, "1d": 24 * time.Hour}[args[2]]
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString("time,open,high,low,close,volume\n")
	open, at := 1000.0, time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	loud := true
	for i := range n {
		next, volume := 0.0, 1000.5
		switch args[0] {
		case "walk":
			next = open * (1 + 0.03*random.NormFloat64())
		case "stairs":
			if open = stairLow; i%2 == 1 {
				open = stairHigh
			}
			next = stairLow + stairHigh - open
		case "tides":
			loud = loud != (random.Float64() < 0.12)
			drift := map[bool]float64{true: 0.0012, false: -0.0012}[loud]
			next = open * (1 + drift + 0.008*random.NormFloat64())
			volume = map[bool]float64{true: 1.5e6, false: 5e5}[loud] + float64(random.IntN(1000))
		default:
			ts.Fatalf("there are no candles of kind %s", args[0])
		}
		fmt.Fprintf(&b, "%s,%.2f,%.2f,%.2f,%.2f,%g\n", at.Format(time.RFC3339), open, max(open, next)+0.07,
			min(open, next)-0.07, next, volume)
		open, at = next, at.Add(step)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), b.Bytes(), 0o644))
}

// between wants a number of a JSON file to lie in a range: between FILE PATH LOW HIGH.
func between(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: between FILE PATH LOW HIGH")
	}
	value, ok := valueAt(ts, args[0], args[1]).(float64)
	low, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	high, err := strconv.ParseFloat(args[3], 64)
	ts.Check(err)
	if !ok || value < low || value > high {
		ts.Fatalf("%s: %s is %v, want %g to %g", args[0], args[1], value, low, high)
	}
}

// firstDiff wants the first line in which the two sides of a first_diff.jsonl differ to be
// of a candle: firstdiff FILE CANDLE.
func firstDiff(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: firstdiff FILE CANDLE")
	}
	sides := map[string][]string{}
	var order []string
	for text := range strings.Lines(ts.ReadFile(args[0])) {
		var row struct {
			Side string          `json:"side"`
			Line json.RawMessage `json:"line"`
		}
		ts.Check(json.Unmarshal([]byte(text), &row))
		if sides[row.Side] == nil {
			order = append(order, row.Side)
		}
		sides[row.Side] = append(sides[row.Side], string(row.Line))
	}
	if len(order) != 2 {
		ts.Fatalf("%s has the sides %v", args[0], order)
	}
	a, b := sides[order[0]], sides[order[1]]
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	want := fmt.Sprintf(`"candle":%s,`, args[1])
	for _, side := range [][]string{a, b} {
		if i < len(side) && strings.Contains(strings.ReplaceAll(side[i], `\"`, `"`), want) {
			return
		}
	}
	ts.Fatalf("%s: the first difference is not at candle %s:\n%s\n%s", args[0], args[1],
		strings.Join(a, "\n"), strings.Join(b, "\n"))
}
