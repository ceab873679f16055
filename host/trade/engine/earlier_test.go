package engine

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/hosttest/exchangetest"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// killed leaves behind what a run on BTC does whose process was killed: orders at the venue, and
// their intents in the journal, of whose fate it knows nothing.
func (r *rig) killed(id string, kinds ...market.OrderType) []string {
	r.t.Helper()
	at := binance.At(r.venue.URL())
	conn := binance.NewAt(at, at)
	opened, err := conn.Open(r.t.Context(), request(id))
	if err != nil {
		r.t.Fatal(err)
	}
	info := infoOf(id)
	info.AccountID = opened.AccountID + " " + r.name
	run, err := r.book.Begin(r.t.Context(), info)
	if err != nil {
		r.t.Fatal(err)
	}
	var ids []string
	for i, kind := range kinds {
		n := int64(i + 1)
		s := order.Spec{Seq: n, ClientOrderID: order.ClientID(id, n), Symbol: btc, Type: kind,
			Quantity: d("0.01"), Public: market.OrderID(n)}
		if kind == market.Limit {
			s.LimitPrice = d("25000")
		}
		body, err := json.Marshal(s)
		if err != nil {
			r.t.Fatal(err)
		}
		now := r.venue.Now()
		err = run.Intent(r.t.Context(),
			journal.Intent{Seq: n, ClientOrderID: s.ClientOrderID, Symbol: btc, Body: body, CreatedAt: now})
		if err == nil {
			err = run.Events(r.t.Context(),
				journal.Event{ClientOrderID: s.ClientOrderID, Kind: string(order.Sent), Source: "local",
					At: now})
		}
		if err != nil {
			r.t.Fatal(err)
		}
		if res, _ := conn.Submit(r.t.Context(), s.Request()); res.Outcome != exchange.Accepted {
			r.t.Fatalf("%+v", res)
		}
		ids = append(ids, s.ClientOrderID)
	}
	if _, err := conn.Close(r.t.Context(), false); err != nil {
		r.t.Fatal(err)
	}
	if err := run.End(r.t.Context(),
		journal.End{Status: journal.Failed, StopReason: "error", At: r.venue.Now()}); err != nil {
		r.t.Fatal(err)
	}
	return ids
}

// TestEarlierOrderOnAnotherSymbol: a run on ETH settles what a killed run on BTC left on the account, over
// the wire: what rests there is taken back, what filled, be it after its cancel, comes into the journal of
// its own run.
func TestEarlierOrderOnAnotherSymbol(t *testing.T) {
	t.Parallel()
	r := newRig(t, "another symbol", shared(t))
	defer r.close()
	const before = "svc_before-btc"
	ids := r.killed(before, market.Limit, market.Market)
	for len(r.venue.Trades()) == 0 {
		if err := r.venue.Step(); err != nil { // the market order fills
			t.Fatal(err)
		}
	}
	r.symbol, r.resume = "ETH/USDT", Release
	r.connect = func(context.Context) (*exchange.Connection, error) {
		at := binance.At(r.venue.URL())
		c := exchangetest.Over(t, binance.NewAt(at, at))
		return &c, nil
	}
	r.around = func(call string, _ int) func(exchange.Result) {
		return func(exchange.Result) {
			if call == "cancel" { // it fills all the same
				r.do(testvenue.Script{Action: "late_fill", Args: []string{ids[0]}})
			}
		}
	}
	r.start()
	if !r.trades() || !r.step() {
		return
	}
	if err := r.stop(); !errors.Is(err, errStop) {
		t.Error(err)
	}
	for _, o := range r.venue.Orders() {
		if o.Open {
			t.Errorf("%+v", o)
		}
	}
	if left, err := r.book.OpenOrders(t.Context(), before); err != nil || len(left) != 0 {
		t.Errorf("not settled: %+v %v", left, err)
	}
	events, err := r.book.Events(t.Context(), before, journal.Page{})
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{}
	for _, e := range events.Items {
		last[e.ClientOrderID] = e.Kind
	}
	if last[ids[0]] != string(order.Canceled) || last[ids[1]] != string(order.Filled) {
		t.Errorf("%v", last)
	}
	fills, err := r.book.Fills(t.Context(), before, journal.Page{})
	if err != nil || len(fills.Items) != 2 || fills.Items[0].ClientOrderID != ids[1] ||
		fills.Items[1].ClientOrderID != ids[0] || fills.Items[0].Symbol != btc {
		t.Errorf("%+v %v, the venue has %+v", fills, err, r.venue.Trades())
	}
}
