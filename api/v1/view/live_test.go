package view

import (
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestLiveShowsTheAccountsCash: no request of a live run has what it begins with.
func TestLiveShowsTheAccountsCash(t *testing.T) {
	for mode, want := range map[string]Plain{runner.ModeLive: "5000", runner.ModePaper: "10000"} {
		rep := runner.Report{
			Request:  runner.StartRequest{Mode: mode, InitialCash: "10000"},
			Results:  &artifact.Results{InitialCash: "5000"},
			Manifest: &artifact.Manifest{Request: artifact.Request{InitialCash: []byte("10000")}},
		}
		if got := ConfigOf(rep).InitialCash; got != want {
			t.Errorf("%s: %s, want %s", mode, got, want)
		}
	}
}

// TestExchangeOrderID: an order at an exchange shows the id that it has there, others none.
func TestExchangeOrderID(t *testing.T) {
	o := market.Order{ID: 1, Symbol: "BTC/USDT"}
	if OrderOf(&o).ExchangeOrderID != nil {
		t.Error("an order without an exchange has an id there")
	}
	if o.ExchangeID = "42"; *OrderOf(&o).ExchangeOrderID != "42" {
		t.Error("the id is not shown")
	}
}
