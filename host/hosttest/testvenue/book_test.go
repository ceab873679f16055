package testvenue_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// TestMarketOrderTakesLevels: a market order is filled in the answer, level by level, and the sums agree.
func TestMarketOrderTakesLevels(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	_, ask := d.best("BTCUSDT")
	o := d.done("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.2")
	fills, _ := o["fills"].([]any)
	if o["status"] != "FILLED" || o["executedQty"] != "0.20000000" || len(fills) < 3 {
		t.Fatalf("%v", o)
	}
	var quantity, worth, last float64
	for i, f := range fills {
		at, n := number(t, f.(object)["price"]), number(t, f.(object)["qty"])
		if i == 0 && at != ask || at <= last {
			t.Errorf("fill %d at %v after %v, the best ask was %v", i, at, last, ask)
		}
		if math.Abs(at*100-math.Round(at*100)) > 1e-6 {
			t.Errorf("%v is off the tick", at)
		}
		quantity, worth, last = quantity+n, worth+at*n, at
	}
	if math.Abs(quantity-0.2) > 1e-9 || math.Abs(worth-number(t, o["cummulativeQuoteQty"])) > 1e-6 {
		t.Errorf("the fills are %v for %v, the order says %v", quantity, worth, o)
	}
	if trades := d.many("GET myTrades?symbol=BTCUSDT"); len(trades) != len(fills) ||
		trades[0]["isMaker"] != false {
		t.Errorf("%d trades for %d fills", len(trades), len(fills))
	}
	// What was taken is gone until the market moves.
	_, after := d.best("BTCUSDT")
	if after < last {
		t.Errorf("the best ask is %v after %v was paid", after, last)
	}
	d.do("move")
	if _, again := d.best("BTCUSDT"); again >= after {
		t.Errorf("the book is not full again: %v", again)
	}
}

// TestQuoteAmount: an amount of money buys what it pays for, on the step.
func TestQuoteAmount(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	o := d.done("POST order?symbol=DOGEUSDT&side=BUY&type=MARKET&quoteOrderQty=3000")
	spent, quantity := number(t, o["cummulativeQuoteQty"]), number(t, o["executedQty"])
	if o["status"] != "FILLED" || spent > 3000 || spent < 2999 || quantity != math.Trunc(quantity) ||
		o["origQty"] != o["executedQty"] {
		t.Errorf("%v", o)
	}
}

// TestImmediateOrCancel: an IOC takes what there is and expires with the rest, a FOK takes all or nothing,
// and a market order that empties the book expires.
func TestImmediateOrCancel(t *testing.T) {
	d := openClient(t, testvenue.Options{Cash: "1000000"})
	w := d.account()
	for _, c := range []struct{ tif, quantity, status string }{
		{"IOC", "1", "EXPIRED"}, {"FOK", "1", "EXPIRED"}, {"IOC", "0.001", "FILLED"},
		{"FOK", "0.001", "FILLED"},
	} {
		d.do("move")
		_, ask := d.best("BTCUSDT")
		at := price(ask, 2)
		o := d.done("POST order?symbol=BTCUSDT&side=BUY&type=LIMIT&quantity=" + c.quantity + "&price=" + at +
			"&timeInForce=" + c.tif)
		done := number(t, o["executedQty"])
		if part := c.tif == "IOC" && c.quantity == "1"; o["status"] != c.status ||
			part != (done > 0 && done < 1 && c.quantity == "1") || !part && c.status == "EXPIRED" &&
			done != 0 {
			t.Errorf("%s of %s: %v", c.tif, c.quantity, o)
		}
	}
	if got := say(
		w.events(10)); got != "NEW:NEW TRADE:PARTIALLY_FILLED EXPIRED:EXPIRED BTC+USDT NEW:NEW "+
		"EXPIRED:EXPIRED NEW:NEW TRADE:FILLED BTC+USDT NEW:NEW" {
		t.Error(got)
	}
	_, ask := d.best("BTCUSDT")
	if o := d.done("POST order?symbol=BTCUSDT&side=BUY&type=LIMIT&quantity=0.001&price=" + price(ask/2, 2) +
		"&timeInForce=IOC"); o["status"] != "EXPIRED" || o["executedQty"] != "0.00000000" {
		t.Errorf("an IOC far away: %v", o)
	}
	d.do("liquidity", "BTCUSDT", "0.01")
	if o := d.done("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1"); o["status"] != "EXPIRED" ||
		number(t, o["executedQty"]) >= 1 || len(o["fills"].([]any)) != 20 {
		t.Errorf("a market order beyond the book: %v", o)
	}
}

// TestMakerMayNotTake: a LIMIT_MAKER that crosses is refused, one that does not rests.
func TestMakerMayNotTake(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	bid, ask := d.best("BTCUSDT")
	order := "POST order?symbol=BTCUSDT&side=BUY&type=LIMIT_MAKER&quantity=0.01&price="
	d.refused(order+price(ask, 2), -2010, "immediately match and take")
	if o := d.done(order + price(bid, 2) + "&newOrderRespType=RESULT"); o["status"] != "NEW" {
		t.Errorf("%v", o)
	}
}

// TestRestingOrderFillsByParts: an order that the market touches is filled a little with each move, one that
// the market goes through is filled whole.
func TestRestingOrderFillsByParts(t *testing.T) {
	d := openClient(t, testvenue.Options{Cash: "100000"})
	bid, _ := d.best("BTCUSDT")
	at := price(math.Round(bid*99)/100, 2)
	o := d.done(
		"POST " +
			"order?symbol=BTCUSDT&side=BUY&type=LIMIT&quantity=1&timeInForce=GTC&newClientOrderId=rest&price=" + at)
	if o["status"] != "NEW" || len(o["fills"].([]any)) != 0 {
		t.Fatalf("%v", o)
	}
	var before float64
	for range 3 {
		d.do("price", "BTCUSDT", at)
		d.do("move")
		o = d.done("GET order?symbol=BTCUSDT&origClientOrderId=rest")
		if done := number(t, o["executedQty"]); o["status"] != "PARTIALLY_FILLED" || done <= before {
			t.Fatalf("touched at %s: %v after %v", at, o, before)
		} else {
			before = done
		}
	}
	d.do("price", "BTCUSDT", price(number(t, at)-1, 2))
	d.do("move")
	if o = d.done("GET order?symbol=BTCUSDT&origClientOrderId=rest"); o["status"] != "FILLED" ||
		math.Abs(number(t, o["cummulativeQuoteQty"])-number(t, at)) > 1e-6 {
		t.Errorf("gone through: %v", o)
	}
	for _, trade := range d.many("GET myTrades?symbol=BTCUSDT") {
		if trade["isMaker"] != true || trade["price"] != at+"000000" {
			t.Errorf("%v", trade)
		}
	}
}

// TestRemainderRests: what a limit order does not get at once rests on the book, and is seen there.
func TestRemainderRests(t *testing.T) {
	d := openClient(t, testvenue.Options{Cash: "100000"})
	_, ask := d.best("BTCUSDT")
	o := d.done(
		"POST order?symbol=BTCUSDT&side=BUY&type=LIMIT&quantity=1&timeInForce=GTC&icebergQty=0.2&price=" +
			price(ask, 2))
	if o["status"] != "PARTIALLY_FILLED" || len(o["fills"].([]any)) != 1 {
		t.Fatalf("%v", o)
	}
	book := d.public("depth?symbol=BTCUSDT&limit=5").(object)
	if best := book["bids"].([]any)[0].([]any); best[0] != o["price"] || best[1] != "0.20000000" {
		t.Errorf("the book shows %v", best)
	}
	if bids, asks := book["bids"].([]any), book["asks"].([]any); len(bids) != 5 || len(asks) != 5 ||
		number(t, asks[0].([]any)[0]) <= number(t, o["price"]) {
		t.Errorf("%v", book)
	}
}

// TestStopOnTheWay: the market triggers stops where they are, and the first of a pair ends the other.
func TestStopOnTheWay(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	w := d.account()
	d.done("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.02")
	w.events(3)
	bid, _ := d.best("BTCUSDT")
	pair := func(quantity string) object {
		return d.done("POST orderList/oco?symbol=BTCUSDT&side=SELL&quantity=" + quantity +
			"&aboveType=LIMIT_MAKER&abovePrice=" + price(math.Round(bid*102)/100, 2) +
			"&belowType=STOP_LOSS&belowStopPrice=" + price(math.Round(bid*98)/100,
			2) + "&newOrderRespType=RESULT")
	}
	first := pair("0.01")
	reports, _ := first["orderReports"].([]any)
	if first["listOrderStatus"] != "EXECUTING" || len(reports) != 2 ||
		reports[0].(object)["clientOrderId"] == reports[1].(object)["clientOrderId"] {
		t.Fatalf("%v", first)
	}
	if got := say(w.events(4)); got != "list:EXECUTING NEW:NEW NEW:NEW BTC" {
		t.Error(got)
	}
	d.do("price", "BTCUSDT", price(bid*0.97, 2))
	d.do("move")
	if got := say(w.events(5)); got != "EXPIRED:EXPIRED NEW:NEW TRADE:FILLED list:ALL_DONE BTC+USDT" {
		t.Error(got)
	}
	trades := d.many("GET myTrades?symbol=BTCUSDT")
	if last := trades[len(trades)-1]; math.Abs(number(t, last["price"])-bid*0.98) > 0.02 ||
		last["isMaker"] != false || last["orderListId"] != 1.0 {
		t.Errorf("the stop was filled by %v, it stood at %v", last, bid*0.98)
	}
	pair("0.009")
	w.events(4)
	d.do("price", "BTCUSDT", price(bid*1.03, 2))
	d.do("move")
	if got := say(w.events(4)); got != "TRADE:FILLED EXPIRED:EXPIRED list:ALL_DONE BTC+USDT" {
		t.Error(got)
	}
	if list := d.done("GET orderList?orderListId=2"); list["listOrderStatus"] != "ALL_DONE" ||
		len(list["orders"].([]any)) != 2 {
		t.Errorf("%v", list)
	}
}

// TestHalfFilledPair: a fill of one leg, however small, ends the other.
func TestHalfFilledPair(t *testing.T) {
	d := openClient(t, testvenue.Options{Cash: "100000"})
	d.done("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1")
	bid, _ := d.best("BTCUSDT")
	at := price(math.Round(bid*102)/100, 2)
	d.done("POST " +
		"orderList/oco?symbol=BTCUSDT&side=SELL&quantity=0.9&aboveType=LIMIT_MAKER&aboveClientOrderId=limit&abovePrice=" + at +
		"&belowType=STOP_LOSS&belowClientOrderId=stop&belowStopPrice=" + price(math.Round(bid*98)/100, 2))
	d.do("price", "BTCUSDT", at)
	d.do("move")
	limit, stop := d.done("GET order?symbol=BTCUSDT&origClientOrderId=limit"),
		d.done("GET order?symbol=BTCUSDT&origClientOrderId=stop")
	if limit["status"] != "PARTIALLY_FILLED" || stop["status"] != "EXPIRED" {
		t.Errorf("limit %v, stop %v", limit["status"], stop["status"])
	}
}

// TestSelfTrade: an order does not trade with one of the same account.
func TestSelfTrade(t *testing.T) {
	for mode, want := range map[string][2]string{"": {"EXPIRED_IN_MATCH", "FILLED"},
		"EXPIRE_TAKER": {"NEW", "EXPIRED_IN_MATCH"},
		"EXPIRE_BOTH":  {"EXPIRED_IN_MATCH", "EXPIRED_IN_MATCH"}} {
		d := openClient(t, testvenue.Options{})
		d.done("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.01")
		d.do("move")
		_, ask := d.best("BTCUSDT")
		d.done("POST " +
			"order?symbol=BTCUSDT&side=SELL&type=LIMIT_MAKER&quantity=0.005&newClientOrderId=rests&price=" +
			price(ask, 2))
		request := "POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.001&newClientOrderId=comes"
		if mode != "" {
			request += "&selfTradePreventionMode=" + mode
		}
		d.done(request)
		for i, id := range []string{"rests", "comes"} {
			if o := d.done("GET order?symbol=BTCUSDT&origClientOrderId=" + id); o["status"] != want[i] {
				t.Errorf("%s: %s is %v, want %s", mode, id, o["status"], want[i])
			}
		}
	}
}

// TestTheSameOrdersAreTheSameTrades: the book is its seed.
func TestTheSameOrdersAreTheSameTrades(t *testing.T) {
	played := func(seed string) string {
		d := openClient(t, testvenue.Options{Seed: seed, Cash: "100000"})
		for i := range 12 {
			symbol := []string{"BTCUSDT", "PEPEUSDT", "USDCUSDT"}[i%3]
			d.done("POST order?symbol=" + symbol + "&side=BUY&type=MARKET&quoteOrderQty=" +
				fmt.Sprint(1000+1500*i%4000))
			d.do("move")
		}
		var lines []string
		for _, tr := range d.Trades() {
			lines = append(lines, fmt.Sprint(tr.ID, tr.Symbol, tr.Price, tr.Quantity, tr.Fee, tr.FeeAsset))
		}
		return strings.Join(lines, "\n")
	}
	if one := played("1"); one != played("1") || one == played("2") {
		t.Error("the same orders at the same moves are other trades")
	}
}

// TestNastySymbols: each symbol trades on its own grid and keeps its sums.
func TestNastySymbols(t *testing.T) {
	d := openClient(t, testvenue.Options{Cash: "1000000"})
	for asset, amount := range map[string]string{"BNB": "100", "BTC": "3", "IDRT": "900000000"} {
		d.do("balance", asset, amount)
	}
	info := d.public("exchangeInfo").(object)
	symbols := info["symbols"].([]any)
	if len(symbols) != 15 {
		t.Fatalf("%d symbols", len(symbols))
	}
	for _, entry := range symbols {
		s := entry.(object)
		name, quote := s["symbol"].(string), s["quoteAsset"].(string)
		worth := map[string]string{"USDT": "200", "BNB": "0.5", "BTC": "0.01", "IDRT": "3000000"}[quote]
		var tick, step float64
		for _, f := range s["filters"].([]any) {
			switch f := f.(object); f["filterType"] {
			case "PRICE_FILTER":
				tick = number(t, f["tickSize"])
			case "LOT_SIZE":
				step = number(t, f["stepSize"])
			}
		}
		bought := d.done("POST order?symbol=" + name + "&side=BUY&type=MARKET&quoteOrderQty=" + worth)
		if bought["status"] != "FILLED" || !onGrid(number(t, bought["executedQty"]), step) {
			t.Errorf("%s: %v", name, bought)
		}
		for _, f := range bought["fills"].([]any) {
			if !onGrid(number(t, f.(object)["price"]), tick) {
				t.Errorf("%s: %v is off the tick", name, f)
			}
		}
		bid, _ := d.best(name)
		below := math.Round(bid*0.9/tick) * tick
		rests := d.done(
			fmt.Sprintf("POST order?symbol=%s&side=BUY&type=LIMIT&timeInForce=GTC&quantity=%s&price=%.8f",
				name, bought["executedQty"], below))
		if rests["status"] != "NEW" {
			t.Errorf("%s: %v", name, rests)
		}
		d.done(fmt.Sprintf("DELETE order?symbol=%s&orderId=%.0f", name, rests["orderId"]))
	}
}

func onGrid(x, grid float64) bool { return math.Abs(x/grid-math.Round(x/grid)) < 1e-4 }

// TestGap: over a gap a stop is filled where the market is then, a limit where it stood, and a stop with a
// limit that was jumped over rests.
func TestGap(t *testing.T) {
	d := openClient(t, testvenue.Options{Cash: "100000"})
	d.done("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.1")
	bid, _ := d.best("BTCUSDT")
	at := func(part float64) string { return price(math.Round(bid*part), 2) }
	for id, order := range map[string]string{
		"stop": "side=SELL&type=STOP_LOSS&stopPrice=" + at(0.98),
		"jumped": "side=SELL&type=STOP_LOSS_LIMIT&timeInForce=GTC&stopPrice=" + at(0.98) + "&price=" + at(
			0.97),
		"limit": "side=BUY&type=LIMIT&timeInForce=GTC&price=" + at(0.99),
	} {
		d.done("POST order?symbol=BTCUSDT&quantity=0.01&newClientOrderId=" + id + "&" + order)
	}
	d.do("jump", "BTCUSDT", at(0.95))
	for id, want := range map[string][2]string{"stop": {"FILLED", at(0.95)}, "jumped": {"NEW", ""},
		"limit": {"FILLED", at(0.99)}} {
		o := d.done("GET order?symbol=BTCUSDT&origClientOrderId=" + id)
		if o["status"] != want[0] || want[1] != "" &&
			math.Abs(number(t, o["cummulativeQuoteQty"])/0.01-number(t, want[1])) > 0.02 {
			t.Errorf("%s: %v, want %v", id, o, want)
		}
	}
	d.do("move")
	if now, _ := d.public("ticker/price?symbol=BTCUSDT").(object); now["price"] != at(0.95)+"000000" {
		t.Errorf("the market went back to %v", now)
	}
}
