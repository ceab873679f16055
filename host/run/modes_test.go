package run

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/hosttest/playtest"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestWarmupComesFromBeforeTheWindow(t *testing.T) {
	l := newLab(t, 600, "randomly")
	req := request("randomly", nil)
	start := "2020-01-05"
	req.StartDate = &start
	x, o := l.run(context.Background(), req)
	if o.Failure != nil {
		t.Fatal(o.Failure.Message)
	}
	if x.data.layout.window != 5 || x.data.layout.warmup != 5 {
		t.Errorf("layout %+v", x.data.layout)
	}
	r := x.Results()
	if int64(len(r.Equity.Time)) != r.Window.Candles || r.Window.Start.String() < "2020-01-05" {
		t.Errorf("%d points, window %+v", len(r.Equity.Time), r.Window)
	}
	for _, n := range r.Assumptions {
		if n.Code == "WARMUP_SHORT" {
			t.Error("the warm-up was there, yet it is said to be short")
		}
	}
	all := l.complete(request("randomly", nil))
	if all.Assumptions[len(all.Assumptions)-1].Code != "WARMUP_SHORT" {
		t.Errorf("assumptions %+v", all.Assumptions)
	}
}

func TestForeignSimulatorRunsInLockstep(t *testing.T) {
	l := newLab(t, 200, "foreign", "untold")
	l.driven(request("untold", nil), Split{Drive: Drive{Lockstep: true}})
	x, o := l.run(context.Background(), request("foreign", nil))
	if o.Failure != nil || x.mode != ModeLockstep {
		t.Fatalf("mode %d, %+v", x.mode, o.Failure)
	}
	last := x.Results().Assumptions
	if last[len(last)-1].Code != "LOCKSTEP" {
		t.Errorf("assumptions %+v", last)
	}
}

var _ sdk.Warmer = (*playtest.Random)(nil)

func TestCloseReleasesTheDataAndKeepsTheRest(t *testing.T) {
	l := newLab(t, 300, "good")
	x, o := l.run(context.Background(), request("good", nil))
	if o.Failure != nil {
		t.Fatal(o.Failure.Message)
	}
	trades := len(x.Results().Trades)
	if !x.Candles(one, func(s *market.Series) { _ = s.Close[0] }) {
		t.Error("the candles are gone before Close")
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x.Candles(one, func(*market.Series) {}) {
		t.Error("candles after Close")
	}
	if r := x.Results(); len(r.Trades) != trades || r.DecisionHash == "" {
		t.Errorf("%d trades after Close, %d before", len(r.Trades), trades)
	}
	if err := x.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestARunThatEndsBeforeItsWindowHasMetrics(t *testing.T) {
	l := newLab(t, 800, "errs")
	req := request("errs", nil)
	x, o := l.run(context.Background(), req)
	if o.Failure == nil || x.Results().Metrics == nil {
		t.Errorf("%+v", o)
	}
}

// TestBankruptcyIsTheSameOnBothSides shorts everything into a rise of prices.
func TestBankruptcyIsTheSameOnBothSides(t *testing.T) {
	l := newLab(t, 100, "bear")
	s := &market.Series{Symbol: "UP/USD", Timeframe: market.MustTimeframe("1h")}
	for i := range 200 {
		price := 100 * float64(1+i)
		s.Append(market.Candle{OpenTime: market.Time(i+1) * 3_600_000, Open: price, High: price, Low: price,
			Close: price})
	}
	if _, err := l.store.Put(context.Background(),
		candle.PutRequest{Exchange: venue, Series: s}); err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for _, mode := range []Mode{ModeCoSimulation, ModeLockstep} {
		req := request("bear", nil, "UP/USD")
		req.Execution = json.RawMessage(`{"allow_short":true}`)
		x, o := l.in(mode).run(context.Background(), req)
		if o.Failure != nil || !x.engine.Bankrupt() {
			t.Fatalf("mode %d: %+v %+v", mode, o, o.Failure)
		}
		if n := x.Results().Warnings; len(n) != 1 || n[0].Code != "BANKRUPT" {
			t.Errorf("warnings %v", n)
		}
		digests[x.Digest()] = true
	}
	if len(digests) != 1 {
		t.Errorf("the books differ: %v", digests)
	}
}
