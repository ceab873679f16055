package cmd_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const klines = "GET /api/v3/klines"

// venueKey is where a script keeps its exchange.
type venueKey struct{}

// serveVenueConnector is the connector of an exchange whose own address is that of a venue, which is in
// the file's name: binance@HOST:PORT.
func serveVenueConnector() {
	if id, host, ok := strings.Cut(filepath.Base(os.Args[0]), "@"); ok && id == binance.ID {
		at := binance.At("http://" + host)
		wire.Serve(binance.NewAt(at, at))
		os.Exit(0)
	}
}

// startVenue starts an exchange on loopback, $VENUE, and makes a folder of connectors, $CONNECTORS;
// venue step lets it go on by a minute, venue amend changes the last closed candle. venue tides begins
// $FROM, has an edge, and is where the connector asks by itself; venue skip lets DAYS pass there, venue hang
// the Nth request for candles from now on without an answer, venue await waits until it is there. venue
// second makes a folder of connectors, $SECOND, that ask a venue like it, DAYS on, whose last closed candle
// is another one.
func startVenue(ts *testscript.TestScript, neg bool, args []string) {
	if v, ok := ts.Value(venueKey{}).(**testvenue.Venue); ok && len(args) == 1 && !neg && *v != nil {
		switch args[0] {
		case "step":
			ts.Check((*v).Step())
			return
		case "amend":
			ts.Check((*v).Do(testvenue.Script{Action: "candle_amend", Args: []string{"BTCUSDT"}}))
			return
		}
	}
	if v, ok := ts.Value(venueKey{}).(**testvenue.Venue); ok && len(args) == 2 && !neg && *v != nil {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		switch args[0] {
		case "second":
			second, err := testvenue.Start(tides())
			ts.Check(err)
			ts.Defer(func() { _ = second.Close() })
			second.Leap(n * 24 * 60)
			ts.Check(second.Do(testvenue.Script{Action: "candle_amend", Args: []string{"BTCUSDT"}}))
			ts.Setenv("SECOND", connectorsOf(ts, "second", strings.Replace(second.URL(), "http://", "@", 1)))
			return
		case "skip":
			(*v).Leap(n * 24 * 60)
			return
		case "hang":
			ts.Check((*v).Do(testvenue.Script{Match: klines, Nth: n, Action: "hang_before"}))
			return
		case "await":
			for end := time.Now().Add(time.Minute); (*v).Count(klines) < n; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					ts.Fatalf("%d requests for candles have come", (*v).Count(klines))
				}
			}
			return
		}
	}
	tidal := len(args) == 1 && args[0] == "tides"
	if neg || len(args) != 0 && !tidal {
		ts.Fatalf("usage: venue [step|amend|tides|skip DAYS|hang NTH|await COUNT|second DAYS]")
	}
	o := testvenue.Options{Start: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC), History: 2500}
	if tidal {
		o = tides()
		ts.Setenv("FROM", o.Start.AddDate(0, 0, -daysBefore).Format(time.DateOnly))
	}
	v, err := testvenue.Start(o)
	ts.Check(err)
	ts.Defer(func() { _ = v.Close() })
	*ts.Value(venueKey{}).(**testvenue.Venue) = v
	own := ""
	if tidal {
		own = strings.Replace(v.URL(), "http://", "@", 1)
	}
	ts.Setenv("VENUE", v.URL())
	ts.Setenv("CONNECTORS", connectorsOf(ts, "connectors", own))
}

// daysBefore is how many days of history the venue of tides has.
const daysBefore = 100

// tides is a venue that has an edge.
func tides() testvenue.Options {
	return testvenue.Options{Start: time.Now().UTC().Truncate(24 * time.Hour), History: daysBefore * 24 * 60,
		Symbols: []market.Symbol{"BTC/USDT"}, Script: tidal()}
}

// connectorsOf makes a folder with the connector, which asks by itself where own says, "" for its exchange.
func connectorsOf(ts *testscript.TestScript, name, own string) string {
	folder := ts.MkAbs(name)
	ts.Check(os.Mkdir(folder, 0o700))
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if program, err := os.ReadFile(filepath.Join(dir, binance.ID)); err == nil {
			ts.Check(os.WriteFile(filepath.Join(folder, binance.ID+own), program, 0o700))
			break
		}
	}
	return folder
}
