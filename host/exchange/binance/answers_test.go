package binance

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// oneAnswer is an exchange that answers everything with the same.
type oneAnswer struct {
	status int
	body   []byte
}

func (a *oneAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{})
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(bytes.NewReader(a.body)), Request: req,
		Header: http.Header{}}, nil
}

// answered returns a session that gets this answer to everything.
func answered(a *oneAnswer) *session {
	s := exchange.Connection{Connector: &session{tuning: defaults()}}.Connector.(*session)
	s.state, s.rest.at.REST, s.rest.http, s.rest.queue, s.rest.resync = opened, "answer://all", newTransport(), &queue{}, make(chan struct{}, 1)
	s.rest.http.base.RegisterProtocol("answer", a)
	s.req = exchange.OpenRequest{Trading: true, Timeframe: market.MustTimeframe("1m")}
	s.names, s.ours = map[string]market.Symbol{"BTCUSDT": "BTC/USDT"}, map[orderKey]string{}
	return s
}

// TestShapes: an answer that can be decoded and is not what was asked for is no empty account, no
// market without fills and no clock.
func TestShapes(t *testing.T) {
	unknown := func(body, what string, err error) {
		t.Helper()
		var e *exchange.Error
		if !errors.As(err, &e) || e.Result.Outcome != exchange.Unknown {
			t.Errorf("%s of %s: %v", what, body, err)
		}
	}
	for _, body := range []string{"null", "{}", "[null]", `"x"`, "7", "true"} {
		a, ctx := &oneAnswer{200, []byte(body)}, t.Context()
		_, err := answered(a).OpenOrders(ctx)
		unknown(body, "open orders", err)
		_, err = answered(a).Fills(ctx, "BTC/USDT", 0)
		unknown(body, "fills", err)
		_, err = answered(a).Candles(ctx, exchange.CandleQuery{Symbol: "BTC/USDT", To: 1 << 40, Limit: 10})
		unknown(body, "candles", err)
		_, err = answered(a).Balances(ctx)
		unknown(body, "balances", err)
		_, err = answered(a).Markets(ctx)
		unknown(body, "markets", err)
		unknown(body, "time", answered(a).rest.takeTime(ctx))
	}
}

// TestNumbersOfSymbols: the numbers of orders are those of a symbol; another may have the same.
func TestNumbersOfSymbols(t *testing.T) {
	const own, foreign = "asaaaaaa0000000001", "by-hand"
	s := answered(&oneAnswer{200,
		[]byte(`{"symbol":"ETHUSDT","orderId":7,"clientOrderId":"` + foreign +
			`","status":"FILLED","side":"BUY","type":"MARKET"}`)})
	s.learn("BTCUSDT", 7, own)
	for symbol, want := range map[market.Symbol]string{"BTC/USDT": own, "ETH/USDT": ""} {
		if got, err := s.whose(t.Context(), symbol, 7); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", symbol, got, err, want)
		}
	}
}

// FuzzAnswers reads every answer that REST can give, and some that it should not, as the answer to
// every question: nothing panics, only a 200 is believed, and what is believed is whole.
func FuzzAnswers(f *testing.F) {
	const id = "asaaaaaa0000000001"
	order := `{"symbol":"BTCUSDT","orderId":7,"clientOrderId":"` + id + `","origClientOrderId":"` + id +
		`","price":"1.00","origQty":"2","executedQty":"1",` +
		`"cummulativeQuoteQty":"1.5","status":"PARTIALLY_FILLED","type":"LIMIT","side":"BUY","stopPrice":"0","updateTime":60000,"transactTime":60000}`
	for _, body := range []string{
		order, `[` + order + `]`, `[null]`, `{"orderReports":[null,` + order + `]}`, `null`, `{}`, `[]`,
		`<html>`, ``,
		`[[60000,"1","2","1","2","3",119999,"0",1,"0","0","0"],[120000,"1","2","1","2","3",179999,"0",1,"0","0","0"]]`,
		`[{"id":3,"orderId":7,"price":"1","qty":"2","commission":"0.1","commissionAsset":"BNB","time":5,"isBuyer":true}]`,
		`{"canTrade":true,"uid":5,"balances":[{"asset":"BTC","free":"1","locked":"0"}],"commissionRates":{"maker":"0.001"}}`,
		`{"symbols":[{"symbol":"BTCUSDT","status":"TRADING","isSpotTradingAllowed":true,"filters":[{"filterType":"LOT_SIZE","stepSize":"0.1"},null]}]}`,
		`{"serverTime":60000}`,
		`{"symbol":"BTCUSDT","status":"FILLED","side":"SELL","orderId":7,"clientOrderId":"` + id +
			`","executedQty":"1e400"}`,
	} {
		f.Add([]byte(body), 200)
	}
	f.Add([]byte(`{"code":-2010,"msg":"Duplicate order sent."}`), 400)
	f.Add([]byte(`{"code":-1003,"msg":"wait"}`), 418)
	a := &oneAnswer{}
	ref := exchange.OrderRef{ClientOrderID: id, Symbol: "BTC/USDT"}
	one := decimal.MustNew(1, 0)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		if status < 200 || status > 599 {
			t.Skip()
		}
		*a = oneAnswer{status, body}
		ctx := t.Context()
		// Each with a session of its own: a ban silences all that follows.
		believed := func(what string, r exchange.Result, o exchange.Order) {
			if r.Outcome != exchange.Accepted {
				return
			}
			if status != 200 || o.ClientOrderID != id || o.Symbol != "BTC/USDT" || o.Status == "" ||
				o.CumQuantity.IsNeg() {
				t.Errorf("%s: %+v of %d %q", what, o, status, body)
			}
		}
		r, o := answered(a).Submit(ctx,
			exchange.OrderRequest{ClientOrderID: id, Symbol: "BTC/USDT", Type: market.Limit, Quantity: one,
				LimitPrice: one})
		believed("submit", r, o)
		r, legs := answered(a).SubmitPair(ctx,
			exchange.PairRequest{ListID: "list", LimitID: id, StopID: id, Symbol: "BTC/USDT", Quantity: one,
				LimitPrice: one, StopPrice: one})
		believed("pair", r, legs[0])
		believed("pair", r, legs[1])
		r, o = answered(a).Cancel(ctx, ref)
		believed("cancel", r, o)
		r, o = answered(a).Query(ctx, ref)
		believed("query", r, o)

		whole := func(what string, err error) {
			if err == nil && status != 200 {
				t.Errorf("%s of %d %q", what, status, body)
			}
		}
		_, err := answered(a).OpenOrders(ctx)
		whole("open orders", err)
		_, err = answered(a).Balances(ctx)
		whole("balances", err)
		_, err = answered(a).Markets(ctx)
		whole("markets", err)
		whole("time", answered(a).rest.takeTime(ctx))
		fills, err := answered(a).Fills(ctx, "BTC/USDT", 0)
		whole("fills", err)
		for _, fill := range fills.Fills {
			if fill.Quantity.IsNeg() || fill.Price.IsNeg() || fill.Fee.IsNeg() || fill.ClientOrderID != "" &&
				!ownID.MatchString(fill.ClientOrderID) {
				t.Errorf("fill: %+v of %q", fill, body)
			}
		}
		candles, err := answered(a).Candles(ctx,
			exchange.CandleQuery{Symbol: "BTC/USDT", From: 0, To: 1 << 40, Limit: 10})
		whole("candles", err)
		if !slices.IsSortedFunc(candles, func(a, b market.Candle) int {
			return int(a.OpenTime - b.OpenTime)
		}) {
			t.Errorf("candles: %+v of %q", candles, body)
		}
	})
}
