package testvenue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// TestAccountEvents: the account hears of the assets that changed, once when all is done, and of lists.
func TestAccountEvents(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	d.do("balance", "BNB", "1")
	d.do("balance", "SOL", "1")
	w := d.account()
	bid, _ := d.best("BTCUSDT")
	d.done("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.15")
	got := say(w.events(5))
	if !strings.HasPrefix(got, "NEW:NEW TRADE:PARTIALLY_FILLED TRADE:PARTIALLY_FILLED TRADE:") {
		t.Error(got)
	}
	for !strings.HasSuffix(got, "BTC+USDT") {
		got += " " + say(w.events(1))
	}
	d.done("POST " +
		"orderList/oco?symbol=BTCUSDT&side=SELL&quantity=0.1&aboveType=LIMIT_MAKER&aboveClientOrderId=a&abovePrice=" + price(bid*1.1, 2) +
		"&belowType=STOP_LOSS&belowStopPrice=" + price(bid*0.9, 2))
	d.done("DELETE order?symbol=BTCUSDT&origClientOrderId=a")
	if got := say(
		w.events(8)); got != "list:EXECUTING NEW:NEW NEW:NEW BTC CANCELED:CANCELED CANCELED:CANCELED "+
		"list:ALL_DONE BTC" {
		t.Error(got)
	}
	d.do("chatty")
	d.done("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.001")
	if got := say(w.events(4)); got != "NEW:NEW USDT TRADE:FILLED BTC+USDT" {
		t.Error(got)
	}
}

// TestReportsRaceWithTheAnswer: a fill may be heard of before the order is answered, and after.
func TestReportsRaceWithTheAnswer(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	w := d.account()
	if err := d.Do(testvenue.Script{Match: "POST /api/v3/order", Action: "late_answer",
		Args: []string{"300"}}); err != nil {
		t.Fatal(err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		d.call("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.01")
	}()
	if got := say(w.events(3)); got != "NEW:NEW TRADE:FILLED BTC+USDT" {
		t.Error(got)
	}
	select {
	case <-answered:
		t.Error("the answer came before its fill was heard of")
	default:
	}
	<-answered
}

// TestFormingCandle: a candle changes every two seconds, closes once, and the history says the same.
func TestFormingCandle(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	w := d.dial("/ws/btcusdt@kline_1m")
	changes, last := map[string]bool{}, object{}
	for i := range 30 {
		d.do("move")
		k := w.next()["k"].(object)
		if closes := i == 29; k["x"] != closes {
			t.Fatalf("move %d: %v", i, k)
		}
		changes[fmt.Sprint(k["c"], k["v"])] = true
		last = k
	}
	if len(changes) != 30 {
		t.Errorf("the candle had %d forms in 30 moves", len(changes))
	}
	row := d.public(fmt.Sprintf("klines?symbol=BTCUSDT&interval=1m&startTime=%.0f&limit=1",
		last["t"])).([]any)[0].([]any)
	for i, name := range []string{"o", "h", "l", "c", "v"} {
		if row[i+1] != last[name] {
			t.Errorf("%s: %v in the stream, %v in the history", name, last[name], row[i+1])
		}
	}
	w.next() // the next one has begun
	d.do("candle_amend", "BTCUSDT")
	late := w.next()["k"].(object)
	again := d.public(fmt.Sprintf("klines?symbol=BTCUSDT&interval=1m&startTime=%.0f&limit=1",
		last["t"])).([]any)[0].([]any)
	if late["x"] != true || late["t"] != last["t"] || late["h"] == last["h"] || again[2] != late["h"] {
		t.Errorf("corrected %v, was %v, history %v", late, last, again)
	}
}

// TestBookStream: a book kept from its differences is the one that is asked for.
func TestBookStream(t *testing.T) {
	d := openClient(t, testvenue.Options{Cash: "100000"})
	w := d.dial("/stream?streams=btcusdt@depth@100ms/btcusdt@trade/btcusdt@bookTicker")
	d.do("move")
	sides := map[string]map[any]any{}
	fill := func(snapshot object) {
		for _, side := range []string{"bids", "asks"} {
			sides[side] = map[any]any{}
			for _, row := range snapshot[side].([]any) {
				sides[side][row.([]any)[0]] = row.([]any)[1]
			}
		}
	}
	snapshot := d.public("depth?symbol=BTCUSDT&limit=1000").(object)
	fill(snapshot)
	at := snapshot["lastUpdateId"].(float64)
	seen, trades := 0, 0
	for range 20 {
		d.done("POST order?symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.05")
		d.do("move")
	}
	for seen < 20 {
		m := w.next()
		e, _ := m["data"].(object)
		switch m["stream"] {
		case "btcusdt@trade":
			trades++
		case "btcusdt@depth@100ms":
			if e["u"].(float64) <= at {
				continue
			}
			if e["U"].(float64) > at+1 {
				t.Fatalf("a hole: %v after %v", e["U"], at)
			}
			at = e["u"].(float64)
			seen++
			for short, side := range map[string]string{"b": "bids", "a": "asks"} {
				for _, row := range e[short].([]any) {
					if row.([]any)[1] == "0.00000000" {
						delete(sides[side], row.([]any)[0])
					} else {
						sides[side][row.([]any)[0]] = row.([]any)[1]
					}
				}
			}
		}
	}
	kept := fmt.Sprint(sides)
	fill(d.public("depth?symbol=BTCUSDT&limit=1000").(object))
	if now := fmt.Sprint(sides); kept != now {
		t.Errorf("kept  %s\nasked %s", kept, now)
	}
	if trades < 20 {
		t.Errorf("%d trades in 20 moves", trades)
	}
}

// TestTickers: tickers, averages and trades agree with the candles.
func TestTickers(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	for range 40 {
		d.do("move")
	}
	rows := d.public("klines?symbol=ETHUSDT&interval=1m&limit=1").([]any)
	last := rows[0].([]any)[4]
	one, _ := d.public("ticker/price?symbol=ETHUSDT").(object)
	all, _ := d.public("ticker/price").([]any)
	two, _ := d.public(`ticker/price?symbols=%5B%22BTCUSDT%22,%22ETHUSDT%22%5D`).([]any)
	if one["price"] != last || len(all) != 15 || len(two) != 2 {
		t.Errorf("%v, %d, %d; the candle says %v", one, len(all), len(two), last)
	}
	day := d.public("ticker/24hr?symbol=ETHUSDT").(object)
	if day["lastPrice"] != last || number(t, day["highPrice"]) < number(t, day["lowPrice"]) ||
		number(t, day["bidPrice"]) >= number(t, day["askPrice"]) {
		t.Errorf("%v", day)
	}
	if w := d.public("ticker?symbol=ETHUSDT&windowSize=5m").(object); w["closeTime"].(float64)-w["openTime"].(float64) > 5*60_000 {
		t.Errorf("%v", w)
	}
	trades := d.public("trades?symbol=ETHUSDT&limit=10").([]any)
	if newest := trades[9].(object); len(trades) != 10 || newest["price"] != last {
		t.Errorf("%v", trades)
	}
	from := trades[3].(object)["id"].(float64)
	if list := d.public(fmt.Sprintf("aggTrades?symbol=ETHUSDT&fromId=%.0f&limit=2",
		from)).([]any); len(list) != 2 || list[0].(object)["a"] != from {
		t.Errorf("%v", list)
	}
}

// TestOrdersOverWebSocket: an order placed and cancelled by the WebSocket API.
func TestOrdersOverWebSocket(t *testing.T) {
	d := openClient(t, testvenue.Options{})
	bid, _ := d.best("BTCUSDT")
	w := d.dial("/ws-api/v3")
	order := object{"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC",
		"quantity": "0.001", "price": price(bid*0.9, 2), "newClientOrderId": "over"}
	placed := w.ask("order.place", order)
	if result, _ := placed["result"].(object); placed["status"] != 200.0 || result["status"] != "NEW" ||
		len(placed["rateLimits"].([]any)) != 3 {
		t.Fatalf("%v", placed)
	}
	if again := w.ask("order.place", order); again["status"] != 400.0 ||
		again["error"].(object)["code"] != -2010.0 {
		t.Errorf("%v", again)
	}
	if gone := w.ask("order.cancel", object{"symbol": "BTCUSDT",
		"origClientOrderId": "over"}); gone["result"].(object)["status"] != "CANCELED" {
		t.Errorf("%v", gone)
	}
	if no := w.ask("order.please", object{}); no["status"] != 400.0 {
		t.Errorf("%v", no)
	}
}
