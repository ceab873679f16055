package cmd_test

import (
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// venueKey is where a script keeps its exchange.
type venueKey struct{}

// startVenue starts an exchange on loopback, $VENUE, and makes a folder of connectors, $CONNECTORS;
// venue step lets it go on by a minute, venue amend changes the last closed candle.
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
	if neg || len(args) != 0 {
		ts.Fatalf("usage: venue [step|amend]")
	}
	v, err := testvenue.Start(testvenue.Options{Start: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC),
		History: 2500})
	ts.Check(err)
	ts.Defer(func() { _ = v.Close() })
	*ts.Value(venueKey{}).(**testvenue.Venue) = v
	folder := ts.MkAbs("connectors")
	ts.Check(os.Mkdir(folder, 0o700))
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if program, err := os.ReadFile(filepath.Join(dir, binance.ID)); err == nil {
			ts.Check(os.WriteFile(filepath.Join(folder, binance.ID), program, 0o700))
			break
		}
	}
	ts.Setenv("VENUE", v.URL())
	ts.Setenv("CONNECTORS", folder)
}
