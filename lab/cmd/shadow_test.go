package cmd_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// clockVariable names a file with how far the clock of the scripts' control plane and of its workers
// is ahead of the machine's.
const clockVariable = "ASSAY_TEST_CLOCK"

// aheadNow is the time by that clock.
func aheadNow() time.Time {
	text, err := os.ReadFile(os.Getenv(clockVariable))
	if err != nil {
		return time.Now()
	}
	ahead, err := time.ParseDuration(string(text))
	if err != nil {
		panic(err)
	}
	return time.Now().Add(ahead)
}

// setClock lets days pass for the control plane: clock DAYS.
func setClock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: clock DAYS")
	}
	days, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Setenv(clockVariable, ts.MkAbs("clock"))
	ts.Check(os.WriteFile(ts.MkAbs("clock"), []byte(fmt.Sprintf("%dh", 24*days)), 0o600))
}

// passDays lets days pass, two at a time, at the venue too, and gives a command of the control plane after
// each two: pass FROM TO ARGS.
func passDays(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: pass FROM TO ARGS...")
	}
	from, err := strconv.Atoi(args[0])
	ts.Check(err)
	to, err := strconv.Atoi(args[1])
	ts.Check(err)
	for day := from + 2; day <= to; day += 2 {
		setClock(ts, false, []string{strconv.Itoa(day)})
		startVenue(ts, false, []string{"skip", "2"})
		ts.Check(ts.Exec("governance", args[2:]...))
	}
}

// tidal is the market of a venue in which loud hours are followed by rises, as in that of arrive.
func tidal() func(market.Time, float64) (float64, float64) {
	random := rand.New(rand.NewPCG(5, 6))
	loud, goal := true, 0.0
	return func(open market.Time, price float64) (to, volume float64) {
		left := 60 - float64(open/60_000%60)
		if left == 60 || goal == 0 {
			edge := map[bool]float64{true: 0.0024, false: -0.0024}[loud]
			loud = loud != (random.Float64() < 0.12)
			goal = price * (1 + edge + 0.003*random.NormFloat64())
		}
		return price + (goal-price)/left, map[bool]float64{true: 25, false: 8}[loud]
	}
}

// arrive writes the hourly candles of a market from a day to before another one, counted from today:
// arrive KIND FROM TO FILE. Loud hours are followed by rises: for ever where the edge stays, until today
// where it vanishes, where it turns by falls from then on. In the market of the program remembers, no
// hour knows the next.
func arrive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: arrive stays|vanishes|turns|noise FROM TO FILE")
	}
	from, err := strconv.Atoi(args[1])
	ts.Check(err)
	to, err := strconv.Atoi(args[2])
	ts.Check(err)
	const before = 200 // days of history
	today := time.Now().UTC().Truncate(24 * time.Hour)
	random := rand.New(rand.NewPCG(3, 4))
	open, loud := 1000.0, true
	var b bytes.Buffer
	b.WriteString("time,open,high,low,close,volume\n")
	for i := range (before + to) * 24 {
		loud = loud != (random.Float64() < 0.12)
		edge := 0.0024
		if day := i/24 - before; args[0] == "noise" || day >= 0 && args[0] == "vanishes" {
			edge = 0
		} else if day >= 0 && args[0] == "turns" {
			edge = -edge
		}
		if !loud {
			edge = -edge
		}
		next := open * (1 + edge + 0.006*random.NormFloat64())
		volume := map[bool]float64{true: 1.5e6, false: 5e5}[loud]
		at := today.AddDate(0, 0, -before).Add(time.Duration(i) * time.Hour)
		if i >= (before+from)*24 {
			fmt.Fprintf(&b, "%s,%.2f,%.2f,%.2f,%.2f,%g\n", at.Format(time.RFC3339),
				open, max(open, next)+0.07, min(open, next)-0.07, next, volume)
		}
		open = next
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), b.Bytes(), 0o600))
}
