package testvenue_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// TestOrderCounts: orders that do not trade are counted in headers and refused beyond the limit; those that
// trade are not.
func TestOrderCounts(t *testing.T) {
	d := openClient(t, testvenue.Options{Orders: 4})
	bid, _ := d.best("BTCUSDT")
	limits := d.public("exchangeInfo?symbol=BTCUSDT").(object)["rateLimits"].([]any)
	if len(limits) != 3 || limits[1].(object)["rateLimitType"] != "ORDERS" ||
		limits[1].(object)["limit"] != 4.0 {
		t.Fatalf("%v", limits)
	}
	rest := "POST order?symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price=" + price(
		bid/2,
		2)
	for {
		placed, refused := 0, 0
		for range 9 {
			// refused where others have filled the ten seconds
			d.call("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.001")
		}
		for range 9 {
			status, header, out := d.call(rest)
			switch {
			case status == 200:
				placed++
			case status == 429 && out.(object)["code"] == -1015.0 &&
				strings.HasPrefix(out.(object)["msg"].(string),
					"Too many new orders; current limit is 4 orders per 10 SECOND") &&
				header.Get("Retry-After") != "":
				refused++
			default:
				t.Fatalf("%d %v %v", status, header, out)
			}
			if refused > 0 {
				break
			}
			if n := header.Get("X-Mbx-Order-Count-10s"); n == "" || header.Get("X-Mbx-Order-Count-1d") == "" {
				t.Fatalf("no count in %v", header)
			}
		}
		if placed >= 4 && refused == 1 { // else the ten seconds ended in between
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	if counts := d.many("GET rateLimit/order"); counts[0]["count"] != 4.0 {
		t.Errorf("%v", counts)
	}
}

// TestBanAfterThrottling: who goes on after 429 is banned.
func TestBanAfterThrottling(t *testing.T) {
	d := openClient(t, testvenue.Options{Weight: 45})
	seen := map[int]int{}
	for range 60 {
		status, header, _ := d.send(http.MethodGet, "exchangeInfo?symbol=BTCUSDT")
		if seen[status]++; status != 200 && header.Get("Retry-After") == "" {
			t.Fatalf("%d without Retry-After", status)
		}
		if status == 418 {
			break
		}
	}
	if seen[200] < 2 || seen[429] < 10 || seen[418] != 1 {
		t.Errorf("%v", seen)
	}
}

// TestOpenOrderLimits: the sixth order that waits for a trigger is refused.
func TestOpenOrderLimits(t *testing.T) {
	d := openClient(t, testvenue.Options{Orders: 1000, Cash: "1000000"})
	_, ask := d.best("BTCUSDT")
	stop := "POST " +
		"order?symbol=BTCUSDT&side=BUY&type=STOP_LOSS_LIMIT&timeInForce=GTC&quantity=0.001&stopPrice=" +
		price(ask*1.1, 2) + "&price=" + price(ask*1.2, 2)
	for range 5 {
		d.done(stop)
	}
	d.refused(stop, -1013, "Filter failure: MAX_NUM_ALGO_ORDERS")
	d.done("POST order?symbol=ETHUSDT&side=BUY&type=TAKE_PROFIT&quantity=0.01&stopPrice=1500")
}

// TestParameters: what the exchange does not know, does not want or cannot read is refused by its own codes.
func TestParameters(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	const market, limit = "POST order?symbol=BTCUSDT&side=BUY&type=MARKET",
		"POST order?symbol=BTCUSDT&side=BUY&type=LIMIT"
	for _, c := range []struct {
		request string
		code    float64
		text    string
	}{
		{market + "&quantity=0.01&quantitty=1", -1104, "Not all sent parameters were read; read '"},
		{market + "&quantity=0.01&reduceOnly=true", -1104, "Not all"},
		{market + "&quantity=0.01&quantity=0.02", -1101, "Duplicate values"},
		{market + "&quantity=0.01&price=20000", -1106, "Parameter 'price' sent when not required."},
		{market + "&quantity=0.01&timeInForce=GTC", -1106, "'timeInForce' sent when not required"},
		{market + "&quantity=0.01&stopPrice=5", -1106, "'stopPrice'"},
		{market + "&quantity=0.01&quoteOrderQty=5", -1106, "'quoteOrderQty'"},
		{market, -1102, "Param 'quantity' or 'quoteOrderQty' must be sent"},
		{market + "&quantity=-1", -1100,
			"Illegal characters found in parameter 'quantity'; legal range is '^("},
		{market + "&quantity=1e3", -1100, "'quantity'"},
		{market + "&quantity=", -1105, "Parameter 'quantity' was empty."},
		{market + "&quantity=0.0000000001", -1111, "too much precision"},
		{market + "&quantity=0", -1013, "Invalid quantity."},
		{limit + "&quantity=0.01&timeInForce=GTC", -1102, "'price'"},
		{limit + "&quantity=0.01&price=20000", -1102, "'timeInForce'"},
		{limit + "&quantity=0.01&price=20000&timeInForce=GTX", -1115, "Invalid timeInForce."},
		{limit + "&quantity=0.01&price=20000.001&timeInForce=GTC", -1013, "PRICE_FILTER"},
		{limit + "&quantity=0.02&price=20000&timeInForce=GTC&icebergQty=0.001", -1013, "ICEBERG_PARTS"},
		{limit + "&quantity=0.02&price=20000&timeInForce=IOC&icebergQty=0.01", -1013,
			"Iceberg orders must be GTC"},
		{limit + "&quantity=0.01&price=20000&timeInForce=GTC&newOrderRespType=LONG", -1100,
			"'newOrderRespType'"},
		{limit + "&quantity=0.01&price=20000&timeInForce=GTC&selfTradePreventionMode=NONE", -1013,
			"self-trade"},
		{"POST order?symbol=BTCUSDT&side=BUY&type=TRAILING&quantity=1", -1116, "Invalid orderType."},
		{"POST order?symbol=BTCUSDT&side=LONG&type=MARKET&quantity=1", -1117, "Invalid side."},
		{"POST order?symbol=XXXUSDT&side=BUY&type=MARKET&quantity=1", -1121, "Invalid symbol."},
		{"POST order?symbol=PAXGUSDT&side=BUY&type=MARKET&quantity=3", -1013, "MARKET_LOT_SIZE"},
		{"POST order?symbol=SHIBUSDT&side=BUY&type=MARKET&quantity=150", -1013, "LOT_SIZE"},
		{"GET openOrderList?symbol=BTCUSDT", -1104, "Not all"},
		{"GET myTrades?symbol=BTCUSDT&fromId=1&startTime=5", -1128, "Combination"},
		{"GET order?symbol=BTCUSDT", -1102, "must be sent"},
		{"GET order?symbol=BTCUSDT&orderId=77", -2013, "does not exist"},
		{"DELETE openOrders?symbol=BTCUSDT", -2011, "Unknown order"},
		{"GET orderList?orderListId=9", -2018, "Order list does not exist."},
	} {
		d.refused(c.request, c.code, c.text)
	}
	if out := d.public("ping?verbose=1").(object); out["code"] != -1101.0 {
		t.Errorf("%v", out)
	}
	if n := len(d.Orders()); n != 0 {
		t.Errorf("%d of the refused orders were taken", n)
	}
}

// TestReferencePrice: limits of prices are about the average of five minutes and not about triggers.
func TestReferencePrice(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	average := number(t, d.public("avgPrice?symbol=BTCUSDT").(object)["price"])
	order := "POST order/test?symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price="
	d.refused(order+price(average*5+1, 2), -1013, "PERCENT_PRICE_BY_SIDE")
	d.refused(order+price(average/5-1, 2), -1013, "PERCENT_PRICE_BY_SIDE")
	d.done(order + price(average/5+1, 2))
	d.done("POST order/test?symbol=BTCUSDT&side=BUY&type=STOP_LOSS&quantity=0.001&stopPrice=" + price(
		average*6,
		2))
	d.refused("POST order/test?symbol=DOGEUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=100&price=5",
		-1013,
		"Filter failure: PERCENT_PRICE")
	if n := len(d.Orders()); n != 0 {
		t.Errorf("a test order was taken: %d", n)
	}
}

// TestReads: what was done is found again by every read.
func TestReads(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	bid, _ := d.best("BTCUSDT")
	limit := func(id string, at float64) string {
		return fmt.Sprintf(
			"symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&newClientOrderId=%s&price=%s",
			id, price(at, 2))
	}
	d.done("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.01&newClientOrderId=bought")
	d.done("POST order?" + limit("one", bid*0.9))
	d.done("POST " +
		"orderList/oco?symbol=BTCUSDT&side=SELL&quantity=0.009&listClientOrderId=both&aboveType=LIMIT_MAKER&abovePrice=" + price(bid*1.1, 2) +
		"&belowType=STOP_LOSS_LIMIT&belowStopPrice=" + price(bid*0.9, 2) + "&belowPrice=" + price(bid*0.89,
		2) +
		"&belowTimeInForce=GTC")
	replaced := d.done("POST order/cancelReplace?" + limit("two", bid*0.8) +
		"&cancelReplaceMode=STOP_ON_FAILURE&cancelOrigClientOrderId=one")
	if replaced["cancelResult"] != "SUCCESS" ||
		replaced["newOrderResponse"].(object)["clientOrderId"] != "two" {
		t.Errorf("%v", replaced)
	}
	status, _, out := d.call("POST order/cancelReplace?" + limit("three", bid*0.8) +
		"&cancelReplaceMode=STOP_ON_FAILURE&cancelOrigClientOrderId=one")
	if answer := out.(object); status != 400 || answer["code"] != -2022.0 ||
		answer["data"].(object)["newOrderResult"] != "NOT_ATTEMPTED" {
		t.Errorf("%d %v", status, out)
	}
	status, _, out = d.call("POST order/cancelReplace?" + limit("three", bid*0.8) +
		"&cancelReplaceMode=ALLOW_FAILURE&cancelOrigClientOrderId=one")
	if answer := out.(object); status != 409 || answer["code"] != -2021.0 ||
		answer["data"].(object)["newOrderResult"] != "SUCCESS" {
		t.Errorf("%d %v", status, out)
	}
	for request, want := range map[string]int{
		"GET openOrders": 4, "GET openOrders?symbol=BTCUSDT": 4, "GET openOrders?symbol=ETHUSDT": 0,
		"GET allOrders?symbol=BTCUSDT":           6,
		"GET allOrders?symbol=BTCUSDT&orderId=5": 2, "GET allOrders?symbol=BTCUSDT&limit=2": 2,
		"GET openOrderList": 1, "GET allOrderList": 1,
		"GET myTrades?symbol=BTCUSDT&orderId=1": 1, "GET myTrades?symbol=BTCUSDT&fromId=2": 0,
	} {
		if got := d.many(request); len(got) != want {
			t.Errorf("%s: %d, want %d", request, len(got), want)
		}
	}
	if rates := d.done("GET account/commission?symbol=BTCUSDT"); rates["standardCommission"].(object)["taker"] != "0.00100000" {
		t.Errorf("%v", rates)
	}
	// A leg is cancelled with its pair, and the answer is about both.
	gone := d.done("DELETE order?symbol=BTCUSDT&orderId=3")
	if gone["listOrderStatus"] != "ALL_DONE" || len(gone["orderReports"].([]any)) != 2 {
		t.Errorf("%v", gone)
	}
	if all := d.many("DELETE openOrders?symbol=BTCUSDT"); len(all) != 2 || all[0]["status"] != "CANCELED" {
		t.Errorf("%v", all)
	}
	for request, weight := range map[string]int{"openOrders?symbol=BTCUSDT": 6, "openOrders": 80} {
		_, before, _ := d.call("GET rateLimit/order")
		_, after, _ := d.call("GET " + request)
		if used := weightOf(t, after) - weightOf(t, before); used != weight &&
			used > 0 { // a minute may begin in between
			t.Errorf("%s weighs %d, want %d", request, used, weight)
		}
	}
}

func weightOf(t *testing.T, h http.Header) int {
	t.Helper()
	return int(number(t, h.Get("X-Mbx-Used-Weight-1m")))
}
