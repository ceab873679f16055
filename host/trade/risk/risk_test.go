package risk

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const btc, eth = market.Symbol("BTC/USDT"), market.Symbol("ETH/USDT")

// noon is 2025-01-01 12:00 UTC.
const noon = market.Time(1735732800000)

func d(s string) dec { return decimal.MustParse(s) }

func amount(s string) *dec { v := d(s); return &v }

func guard(t interface{ Fatal(...any) }, change func(*Limits)) *Guard {
	l := Defaults(true)
	if change != nil {
		change(&l)
	}
	g, err := NewGuard(Setup{Limits: l, Mode: Enforce, Timeframe: market.MustTimeframe("1m"),
		StartEquity: d("10000"), Start: noon})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func account(change func(a *Account)) Account {
	a := Account{Now: noon,
		Symbols: []Symbol{{Symbol: btc, LastClose: d("100"), LastCandle: noon},
			{Symbol: eth, LastClose: d("10"), LastCandle: noon}}}
	if change != nil {
		change(&a)
	}
	return a
}

func buys(quantity string) Order { return Order{Symbol: btc, Side: market.Buy, Quantity: d(quantity)} }

func codes(list []Verdict) string {
	var s []string
	for _, v := range list {
		s = append(s, string(v.Code))
	}
	return strings.Join(s, " ")
}

// TestLimits puts every limit just inside and just outside.
func TestLimits(t *testing.T) {
	t.Run("sizes and collar", testSizesAndCollar)
	t.Run("candle age", testCandleAge)
	t.Run("rates", testRates)
	t.Run("daily loss", testDailyLoss)
	t.Run("drawdown", testDrawdown)
	t.Run("fills and rejects", testFillsAndRejects)
	t.Run("stale candles", testStaleCandles)
}

func testSizesAndCollar(t *testing.T) {
	limitAt := func(price string) Order { o := buys("1"); o.LimitPrice = d(price); return o }
	stopAt := func(price string) Order { o := buys("1"); o.StopPrice = d(price); return o }
	for _, tc := range []struct {
		name            string
		limits          func(*Limits)
		account         func(*Account)
		inside, outside Order
		want            string
	}{
		{"max-order-notional", func(l *Limits) {
			l.MaxOrderNotional = amount("250")
		}, nil, buys("2.5"), buys("2.500000000000000001"), "ORDER_NOTIONAL_EXCEEDED"},
		{"max-order-notional by amount", func(l *Limits) {
			l.MaxOrderNotional = amount("250")
		}, nil, Order{Symbol: btc, QuoteAmount: d("250")}, Order{Symbol: btc, QuoteAmount: d("250.01")},
			"ORDER_NOTIONAL_EXCEEDED"},
		{"max-order-fraction", nil, nil, buys("5"), buys("5.00000001"), "ORDER_NOTIONAL_EXCEEDED"},
		{"max-order-fraction at the limit price", nil, nil,
			Order{Symbol: btc, Quantity: d("5"), LimitPrice: d("100")},
			Order{Symbol: btc, Quantity: d("5"), LimitPrice: d("100.01")}, "ORDER_NOTIONAL_EXCEEDED"},
		{"max-position-fraction", nil, func(a *Account) {
			a.Symbols[0].Position = d("22")
		}, buys("3"), buys("3.0001"), "POSITION_NOTIONAL_EXCEEDED"},
		{"max-position-fraction with working orders", nil, func(a *Account) {
			a.Symbols[0].Position, a.Symbols[0].Working = d("2"), d("2000")
		}, buys("3"), buys("3.0001"), "POSITION_NOTIONAL_EXCEEDED"},
		{"position of an entry", func(l *Limits) {
			l.MaxPositionNotional = amount("400")
		}, nil, buys("4"), buys("4.1"), "POSITION_NOTIONAL_EXCEEDED"},
		{"max-gross-fraction", func(l *Limits) {
			l.MaxPositionFraction = d("1")
		}, func(a *Account) {
			a.Symbols[0].Working, a.Symbols[1].Position = d("600"), d("900")
		}, buys("4"), buys("4.00000001"), "GROSS_NOTIONAL_EXCEEDED"},
		{"capital of an entry", func(l *Limits) {
			l.MaxGrossNotional = amount("400")
		}, nil, buys("4"), buys("4.1"), "GROSS_NOTIONAL_EXCEEDED"},
		{"price-collar above", nil, nil, limitAt("105"), limitAt("105.00000001"), "PRICE_OUTSIDE_COLLAR"},
		{"price-collar below", nil, nil, limitAt("95"), limitAt("94.99999999"), "PRICE_OUTSIDE_COLLAR"},
		{"price-collar of a stop", nil, nil, stopAt("105"), stopAt("105.01"), "PRICE_OUTSIDE_COLLAR"},
	} {
		if list, ok := guard(t, tc.limits).Check(tc.inside, account(tc.account)); !ok {
			t.Errorf("%s, inside: %s", tc.name, codes(list))
		}
		if list, ok := guard(t, tc.limits).Check(tc.outside, account(tc.account)); ok ||
			codes(list) != tc.want {
			t.Errorf("%s, outside: %q, want %s", tc.name, codes(list), tc.want)
		}
		shadow := guard(t, tc.limits)
		shadow.Mode = Shadow
		if list, ok := shadow.Check(tc.outside, account(tc.account)); !ok || codes(list) != tc.want ||
			!list[0].Shadow {
			t.Errorf("%s, shadow: %q, allowed %v", tc.name, codes(list), ok)
		}
	}
}

func testCandleAge(t *testing.T) {
	at := func(age int64) Account { return account(func(a *Account) { a.Now = noon + market.Time(age) }) }
	if list, ok := guard(t, nil).Check(buys("1"), at(120_000)); !ok {
		t.Errorf("two timeframes: %s", codes(list))
	}
	if list, _ := guard(t, nil).Check(buys("1"), at(120_001)); codes(list) != "CANDLE_STALE" {
		t.Errorf("a millisecond more: %s", codes(list))
	}
	if list, _ := guard(t, nil).Check(buys("1"),
		account(func(a *Account) { a.Symbols[0].Backfilled = true })); codes(list) != "CANDLE_STALE" {
		t.Errorf("backfilled: %s", codes(list))
	}
	if list, _ := guard(t, nil).Check(Order{Symbol: "X/Y", Quantity: d("1")}, account(nil)); len(list) != 1 {
		t.Errorf("a foreign symbol: %s", codes(list))
	}
}

func testRates(t *testing.T) {
	loose := func(l *Limits) { l.DuplicatesPerCandle = 1000 }
	send := func(g *Guard, at market.Time) string {
		list, _ := g.Check(buys("0.1"), account(func(a *Account) { a.Now = at }))
		return codes(list)
	}
	g := guard(t, loose)
	for i := range 10 {
		if got := send(g, noon); got != "" {
			t.Fatalf("order %d of the burst: %s", i, got)
		}
	}
	if got := send(g, noon); got != "ORDER_RATE_EXCEEDED" {
		t.Errorf("the 11th at once: %q", got)
	}
	if got := send(g, noon+199); got != "ORDER_RATE_EXCEEDED" {
		t.Errorf("after 199 ms: %q", got)
	}
	if got := send(g, noon+200); got != "" {
		t.Errorf("after 200 ms: %q", got)
	}
	other := buys("0.1")
	other.Symbol = eth
	if list, ok := g.Check(other, account(nil)); !ok {
		t.Errorf("another symbol: %s", codes(list))
	}

	g = guard(t, loose)
	for i := range 60 {
		if got := send(g, noon+market.Time(i)*500); got != "" {
			t.Fatalf("order %d of the minute: %s", i, got)
		}
	}
	if got := send(g, noon+59_999); got != "ORDER_RATE_EXCEEDED" {
		t.Errorf("the 61st within a minute: %q", got)
	}
	if got := send(g, noon+60_000); got != "" {
		t.Errorf("when the first is a minute old: %q", got)
	}

	g = guard(t, nil)
	for range 2 {
		if got := send(g, noon); got != "" {
			t.Fatalf("duplicates: %s", got)
		}
	}
	if got := send(g, noon); got != "ORDER_DUPLICATE" {
		t.Errorf("the third equal order: %q", got)
	}
	same := buys("0.10")
	if list, _ := g.Check(same, account(nil)); codes(list) != "ORDER_DUPLICATE" {
		t.Errorf("equal but for zeros: %q", codes(list))
	}
	if list, ok := g.Check(buys("0.2"), account(nil)); !ok {
		t.Errorf("another quantity: %s", codes(list))
	}
	if list, ok := g.Check(buys("0.1"),
		account(func(a *Account) { a.Symbols[0].LastCandle += 60_000 })); !ok {
		t.Errorf("the next candle: %s", codes(list))
	}
}

// TestReducingOrdersPass: what only makes a position smaller leaves whatever its price, its candle's age and
// the pace of orders; the breach is recorded, and such orders use nothing up.
func TestReducingOrdersPass(t *testing.T) {
	far := Order{Symbol: btc, Side: market.Sell, Quantity: d("1"), StopPrice: d("50"), Shrinks: true}
	g := guard(t, nil)
	for range 100 {
		list, ok := g.Check(far, account(func(a *Account) { a.Symbols[0].LastCandle = 0 }))
		if !ok || codes(list) != "PRICE_OUTSIDE_COLLAR CANDLE_STALE" || !list[0].Passed || !list[1].Passed {
			t.Fatalf("%v %+v", ok, list)
		}
	}
	if list, ok := g.Check(buys("1"), account(nil)); !ok {
		t.Errorf("an entry after a hundred exits: %s", codes(list))
	}
	g.Raise(Reason{Code: Unprotected, State: Halted, Clears: WhenGone, Message: "x"})
	if list, ok := g.Check(far, account(nil)); !ok {
		t.Errorf("a sale of what has no exits: %s", codes(list))
	}
	if list, ok := g.Check(buys("1"), account(nil)); ok || list[0].Code != StateHalted {
		t.Errorf("an entry: %+v", list)
	}
	g.Raise(Reason{Code: "X", State: Halted, Clears: WhenGone, Message: "x"})
	if list, ok := g.Check(far, account(nil)); ok || list[0].Code != StateHalted || list[0].Passed {
		t.Errorf("a sale in a halt for another reason: %+v", list)
	}
}

func TestStates(t *testing.T) {
	grow, shrink, leg := buys("1"), Order{Symbol: btc, Side: market.Sell, Quantity: d("90"), Shrinks: true},
		Order{Symbol: btc, Side: market.Sell, Quantity: d("90"), LimitPrice: d("200"), Protects: true}
	for _, tc := range []struct {
		state State
		want  [3]string
	}{
		{Active, [3]string{"", "", ""}},
		{Reducing, [3]string{"STATE_REDUCING", "", ""}},
		{Halted, [3]string{"STATE_HALTED", "STATE_HALTED", ""}},
	} {
		g := guard(t, nil)
		if tc.state != Active {
			g.Raise(Reason{Code: "X", State: tc.state, Clears: WhenGone, Message: "x"})
		}
		if g.State() != tc.state {
			t.Errorf("state %s", g.State())
		}
		for i, o := range []Order{grow, shrink, leg} {
			if list, ok := g.Check(o, account(nil)); codes(list) != tc.want[i] || ok != (tc.want[i] == "") {
				t.Errorf("%s, order %d: %q", tc.state, i, codes(list))
			}
		}
		if g.Clear("X"); g.State() != Active {
			t.Errorf("%s does not clear", tc.state)
		}
	}
}

func testDailyLoss(t *testing.T) {
	g := guard(t, nil)
	if v := g.OnStep(noon, d("9700")); len(v) != 0 {
		t.Errorf("at the limit: %s", codes(v))
	}
	if v := g.OnStep(noon+60_000, d("9699.99")); codes(v) != "DAILY_LOSS_EXCEEDED" || g.State() != Reducing {
		t.Errorf("beyond: %s, %s", codes(v), g.State())
	}
	if v := g.OnStep(noon+120_000, d("9650")); len(v) != 0 {
		t.Errorf("said again: %s", codes(v))
	}
	g.Clear(DailyLoss)
	midnight := noon + 12*hour
	if g.OnTime(midnight-1, nil); g.State() != Reducing {
		t.Error("it must stand until 00:00 UTC")
	}
	if g.OnStep(midnight, d("9640")); g.State() != Active {
		t.Error("a new day has begun")
	}
	if v := g.OnStep(midnight+60_000, d("9350.80")); len(v) != 0 {
		t.Errorf("3 %% of the new base: %s", codes(v))
	}
	if v := g.OnStep(midnight+120_000, d("9350.79")); codes(v) != "DAILY_LOSS_EXCEEDED" {
		t.Errorf("beyond it: %q", codes(v))
	}

	g = guard(t, nil)
	g.OnStep(midnight-60_000, d("9900"))
	g.OnStep(midnight+60_000, d("9700")) // no step at 00:00: the last one before counts
	if v := g.OnStep(midnight+120_000, d("9602.99")); codes(v) != "DAILY_LOSS_EXCEEDED" {
		t.Errorf("base of the step before midnight: %q", codes(v))
	}

	g = guard(t, func(l *Limits) { l.MaxDailyLossAmount = amount("100") })
	if g.OnStep(noon, d("9900")); g.State() != Active {
		t.Error("the amount of an entry, inside")
	}
	if g.OnStep(noon, d("9899.99")); g.State() != Reducing {
		t.Error("the amount of an entry, outside")
	}
}

func testDrawdown(t *testing.T) {
	g := guard(t, func(l *Limits) { l.MaxDailyLoss = d("1") })
	g.OnStep(noon, d("20000"))
	if v := g.OnStep(noon, d("18000")); len(v) != 0 || g.Killed() {
		t.Errorf("at the limit: %s", codes(v))
	}
	if v := g.OnStep(noon, d("17999.99")); codes(v) != "RISK_KILL" || !g.Killed() {
		t.Errorf("beyond: %s", codes(v))
	}
	if v := g.OnStep(noon, d("1")); len(v) != 0 {
		t.Errorf("said again: %s", codes(v))
	}
	g = guard(t, nil)
	g.Mode = Shadow
	if v := g.OnStep(noon, d("1000")); codes(v) != "DAILY_LOSS_EXCEEDED RISK_KILL" || g.Killed() ||
		g.State() != Active {
		t.Errorf("shadow: %s, %s", codes(v), g.State())
	}
}

// TestEquityBetweenSteps: what fills lost counts at once, and moves neither the base of the day nor the peak.
func TestEquityBetweenSteps(t *testing.T) {
	g := guard(t, nil)
	g.OnStep(noon, d("10000"))
	if v := g.OnEquity(noon+1, d("9700")); len(v) != 0 {
		t.Errorf("at the limit: %s", codes(v))
	}
	if v := g.OnEquity(noon+2, d("9699.99")); codes(v) != "DAILY_LOSS_EXCEEDED" || g.State() != Reducing {
		t.Errorf("beyond: %q, %s", codes(v), g.State())
	}
	if v := g.OnEquity(noon+3, d("9000")); len(v) != 0 || g.Killed() {
		t.Errorf("said again: %q", codes(v))
	}
	if v := g.OnEquity(noon+4, d("8999.99")); codes(v) != "RISK_KILL" || !g.Killed() {
		t.Errorf("below the peak: %q", codes(v))
	}
	if v := g.OnEquity(noon+5, d("1")); len(v) != 0 {
		t.Errorf("said again: %q", codes(v))
	}

	g = guard(t, func(l *Limits) { l.MaxDailyLoss = d("1") })
	g.OnEquity(noon, d("20000"))
	if v := g.OnEquity(noon+1, d("9000")); len(v) != 0 || g.Killed() {
		t.Errorf("a fill made a peak: %q", codes(v))
	}

	g = guard(t, nil)
	midnight := noon + 12*hour
	g.OnStep(midnight-60_000, d("9800"))
	g.OnEquity(midnight-1, d("9710"))
	g.OnEquity(midnight+1, d("9710")) // the base of the new day is the last step's, 9800
	if v := g.OnEquity(midnight+2, d("9506")); len(v) != 0 {
		t.Errorf("3 %% of the base: %q", codes(v))
	}
	if v := g.OnEquity(midnight+3, d("9505.99")); codes(v) != "DAILY_LOSS_EXCEEDED" {
		t.Errorf("beyond it: %q", codes(v))
	}

	g = guard(t, nil)
	g.Mode = Shadow
	if v := g.OnEquity(noon, d("1000")); codes(v) != "DAILY_LOSS_EXCEEDED RISK_KILL" || g.Killed() ||
		g.State() != Active {
		t.Errorf("shadow: %q, %s", codes(v), g.State())
	}
}

func testFillsAndRejects(t *testing.T) {
	g := guard(t, nil)
	for i := range 20 {
		if v := g.OnFill(btc, noon+market.Time(i)); len(v) != 0 {
			t.Fatalf("fill %d: %s", i, codes(v))
		}
	}
	if v := g.OnFill(eth, noon); len(v) != 0 {
		t.Errorf("another symbol: %s", codes(v))
	}
	if v := g.OnFill(btc, noon+hour); len(v) != 0 {
		t.Errorf("when the first is an hour old: %s", codes(v))
	}
	if v := g.OnFill(btc, noon+hour); codes(v) != "FILL_RATE_EXCEEDED" || g.State() != Reducing {
		t.Errorf("the 21st: %s", codes(v))
	}
	g.Clear(FillRate)
	if g.OnStep(noon+40*hour, d("10000")); g.State() != Reducing {
		t.Error("it must stand to the end")
	}

	g = guard(t, nil)
	for i, at := range []market.Time{0, 1, -1, 2, 3, -1} {
		if at < 0 {
			g.OnAccept()
		} else if v := g.OnReject(noon + at); len(v) != 0 {
			t.Errorf("reject %d: %s", i, codes(v))
		}
	}
	if v := g.OnReject(noon + rejectWindow); len(v) != 0 || g.State() != Active {
		t.Errorf("the first is ten minutes old: %s", codes(v))
	}
	if v := g.OnReject(noon + rejectWindow); codes(v) != "REJECTS_EXCEEDED" || g.State() != Reducing {
		t.Errorf("five within ten minutes: %s", codes(v))
	}
	g = guard(t, nil)
	if a, b, c := g.OnReject(noon), g.OnReject(noon+hour), g.OnReject(noon+2*hour); len(a)+len(b) != 0 ||
		len(c) != 1 {
		t.Error("three in a row")
	}
}

func testStaleCandles(t *testing.T) {
	g := guard(t, nil)
	at := func(ms int64) State {
		g.OnTime(noon+market.Time(ms), account(nil).Symbols)
		return g.State()
	}
	for _, tc := range []struct {
		ms   int64
		want State
	}{{190_000, Active}, {190_001, Reducing}, {610_000, Reducing}, {610_001, Halted}, {190_001, Reducing},
		{0, Active}, {700_000, Halted}, {1, Active}} {
		if got := at(tc.ms); got != tc.want {
			t.Errorf("%d ms without a candle: %s, want %s", tc.ms, got, tc.want)
		}
	}
}

// TestNoSequenceExceedsCap sends random orders through a guard and a venue that may fill each of
// them at any time: whatever fills, no cap is exceeded.
func TestNoSequenceExceedsCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := guard(t, func(l *Limits) {
			l.MaxOrderNotional = amount("400")
			l.MaxPositionNotional, l.MaxGrossNotional = amount("900"), amount("1200")
			l.DuplicatesPerCandle, l.OrdersPerMinute, l.Burst = 1000, 1000, 1000
		})
		symbols := []market.Symbol{btc, eth}
		price := map[market.Symbol]dec{btc: d("100"), eth: d("10")}
		held, working := map[market.Symbol]*big.Rat{btc: new(big.Rat), eth: new(big.Rat)},
			map[market.Symbol][]*big.Rat{}
		asDec := func(r *big.Rat) dec { return d(r.FloatString(8)) }
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			s := rapid.SampledFrom(symbols).Draw(t, "symbol")
			switch rapid.SampledFrom([]string{"buy", "buy", "buy", "fill", "drop"}).Draw(t, "what") {
			case "buy":
				q := decimal.MustNew(int64(rapid.IntRange(1, 5000).Draw(t, "hundredths")), 2)
				a := Account{Now: noon}
				for _, x := range symbols {
					sum := new(big.Rat)
					for _, w := range working[x] {
						sum.Add(sum, w)
					}
					a.Symbols = append(a.Symbols,
						Symbol{Symbol: x, Position: asDec(held[x]), LastClose: price[x], LastCandle: noon,
							Working: asDec(times(sum, exact(price[x])))})
				}
				if _, ok := g.Check(Order{Symbol: s, Side: market.Buy, Quantity: q}, a); ok {
					if times(exact(q), exact(price[s])).Cmp(big.NewRat(400, 1)) > 0 {
						t.Fatalf("an order of %s %s left", q, s)
					}
					working[s] = append(working[s], exact(q))
				}
			case "fill":
				if n := len(working[s]); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "which")
					held[s] = plus(held[s], working[s][i])
					working[s] = append(working[s][:i:i], working[s][i+1:]...)
				}
			case "drop":
				if n := len(working[s]); n > 0 {
					working[s] = working[s][:n-1]
				}
			}
			gross := new(big.Rat)
			for _, x := range symbols {
				v := held[x]
				for _, w := range working[x] {
					v = plus(v, w)
				}
				v = times(v, exact(price[x]))
				if v.Cmp(big.NewRat(900, 1)) > 0 {
					t.Fatalf("%s could be worth %s", x, v.FloatString(4))
				}
				gross = plus(gross, v)
			}
			if gross.Cmp(big.NewRat(1200, 1)) > 0 {
				t.Fatalf("all could be worth %s", gross.FloatString(4))
			}
		}
	})
}

func TestTighten(t *testing.T) {
	server := Defaults(true)
	server.MaxOrderNotional = amount("500")
	ten := int64(10)
	entry := Entry{MaxOrderNotional: amount("600"), MaxPositionNotional: amount("450"),
		MaxGrossNotional: amount("400"), MaxDrawdown: amount("0.05"), OrdersPerMinute: &ten,
		PriceCollar: amount("0.5")}
	got := server.Tighten(entry)
	text := fmt.Sprintln(got.MaxOrderNotional, got.MaxPositionNotional, got.MaxGrossNotional, got.MaxDrawdown,
		got.OrdersPerMinute, got.PriceCollar, got.MaxDailyLoss, got.MaxDailyLossAmount)
	if want := "400 400 400 0.05 10 0.05 0.03 <nil>\n"; text != want {
		t.Errorf("got  %swant %s", text, want)
	}
	if !got.Capped() || Defaults(true).Capped() ||
		!Defaults(true).Tighten(Entry{MaxGrossNotional: amount("1")}).Capped() {
		t.Error("Capped is wrong")
	}
	if many := int64(1) << 40; server.Tighten(
		Entry{OrdersPerMinute: &many}).OrdersPerMinute != server.OrdersPerMinute {
		t.Error("an entry that allows more has loosened the limits")
	}
}

// TestEntryOfZero: a 0 in an entry is a limit like any other and allows nothing; what the entry lacks stays
// as it is.
func TestEntryOfZero(t *testing.T) {
	none, zero := int64(0), amount("0")
	with := func(e Entry) *Guard { return guard(t, func(l *Limits) { *l = l.Tighten(e) }) }
	if l := Defaults(true).Tighten(Entry{}); l != Defaults(true) {
		t.Errorf("an empty entry: %+v", l)
	}
	small := buys("0.00000001")
	if v, ok := with(Entry{OrdersPerMinute: &none}).Check(small, account(nil)); ok ||
		codes(v) != "ORDER_RATE_EXCEEDED" {
		t.Errorf("no orders a minute: %q", codes(v))
	}
	if v, ok := with(Entry{MaxOrderNotional: zero}).Check(small, account(nil)); ok ||
		codes(v) != "ORDER_NOTIONAL_EXCEEDED" {
		t.Errorf("no order value: %q", codes(v))
	}
	if v, ok := with(Entry{MaxPositionNotional: zero}).Check(small, account(nil)); ok ||
		codes(v) != "ORDER_NOTIONAL_EXCEEDED POSITION_NOTIONAL_EXCEEDED" {
		t.Errorf("no position: %q", codes(v))
	}
	if v, ok := with(Entry{MaxGrossNotional: zero}).Check(small, account(nil)); ok ||
		codes(v) != "ORDER_NOTIONAL_EXCEEDED POSITION_NOTIONAL_EXCEEDED GROSS_NOTIONAL_EXCEEDED" {
		t.Errorf("no capital: %q", codes(v))
	}
	g := with(Entry{PriceCollar: zero})
	for price, want := range map[string]string{"100": "", "100.00000001": "PRICE_OUTSIDE_COLLAR",
		"99.99999999": "PRICE_OUTSIDE_COLLAR"} {
		o := buys("1")
		o.LimitPrice = d(price)
		if v, _ := g.Check(o, account(nil)); codes(v) != want {
			t.Errorf("a collar of 0 at %s: %q", price, codes(v))
		}
	}
	g = with(Entry{MaxDrawdown: zero})
	if v := g.OnStep(noon, d("10000")); len(v) != 0 || g.Killed() {
		t.Errorf("a drawdown of 0, nothing lost: %q", codes(v))
	}
	if v := g.OnEquity(noon, d("9999.99999999")); codes(v) != "RISK_KILL" || !g.Killed() {
		t.Errorf("a drawdown of 0: %q", codes(v))
	}
	g = with(Entry{MaxDailyLossAmount: zero})
	if v := g.OnStep(noon, d("10000")); len(v) != 0 {
		t.Errorf("a daily loss of 0, nothing lost: %q", codes(v))
	}
	if v := g.OnEquity(noon, d("9999.99999999")); codes(v) != "DAILY_LOSS_EXCEEDED" || g.State() != Reducing {
		t.Errorf("a daily loss of 0: %q", codes(v))
	}
}

func TestOptions(t *testing.T) {
	parse := func(values map[string]string) (Options, error) {
		return Parse(func(o Option) (string, string) { return values[o.Name], o.Env() })
	}
	o, err := parse(nil)
	if err != nil || o.Paper != Shadow {
		t.Fatal(err)
	}
	real, play := o.For(true), o.For(false)
	if real.MaxOrderFraction.String() != "0.05" || real.MaxPositionFraction.String() != "0.25" ||
		real.MaxGrossFraction.String() != "1" || real.Capped() {
		t.Errorf("real money: %+v", real)
	}
	if play.MaxOrderFraction.String() != "1" || play.MaxPositionFraction.String() != "1" {
		t.Errorf("no real money: %+v", play)
	}
	o, err = parse(map[string]string{"max-order-notional": "250.5", "max-rejects": "2/4",
		"stale-candles": "20", "paper": "enforce", "burst": "3", "max-order-fraction": "0.5"})
	if err != nil || o.Paper != Enforce {
		t.Fatal(err)
	}
	raw, err := json.Marshal(o.For(true))
	const want = `{"max_order_notional":250.5,"max_position_notional":null,"max_gross_notional":null,"max_daily_loss_amount":null,` +
		`"max_order_fraction":0.5,"max_position_fraction":0.25,"max_gross_fraction":1,"price_collar":0.05,"max_candle_age":2,"orders_per_second":5,` +
		`"burst":3,"orders_per_minute":60,"duplicates_per_candle":2,"fills_per_hour":20,"max_rejects":{"in_row":2,"in_10_minutes":4},` +
		`"max_daily_loss":0.03,"max_drawdown":0.1,"stale_candles":{"reducing":20,"halted":20}}`
	if err != nil || string(raw) != want {
		t.Errorf("%v\n got %s\nwant %s", err, raw, want)
	}
	for name, bad := range map[string][]string{
		"max-order-notional": {"0", "-1", "x", "1e3", "9999999999999999999999"}, "max-drawdown": {"1.1", "0"},
		"max-daily-loss": {"2"},
		"burst":          {"0", "1.5", "1000001"}, "max-rejects": {"0", "3/", "3/x", "/5"},
		"stale-candles": {"0", "3/2", "3/"}, "paper": {"off"},
		"orders-per-second": {"0"}, "price-collar": {"nan"},
	} {
		for _, v := range bad {
			_, err := parse(map[string]string{name: v})
			var oe *OptionError
			if !errors.As(err, &oe) || oe.Option != (Option{Name: name}).Env() ||
				!strings.Contains(err.Error(), "SERVICE_RISK_") {
				t.Errorf("%s=%q: %v", name, v, err)
			}
		}
	}
	names := map[string]bool{}
	for _, o := range List() {
		if names[o.Name] || o.Help == "" || !strings.HasPrefix(o.Flag(), "--risk-") {
			t.Errorf("option %+v", o)
		}
		names[o.Name] = true
	}
	if len(names) != 15 {
		t.Errorf("%d options", len(names))
	}
}

func TestNewGuard(t *testing.T) {
	if _, err := NewGuard(Setup{Timeframe: market.MustTimeframe("1h")}); err == nil {
		t.Error("a run without equity")
	}
	if _, err := NewGuard(Setup{StartEquity: d("1")}); err == nil {
		t.Error("a run without timeframe")
	}
}

// TestAmountsForPeople: hundredths are enough, and what has passed a limit is shown beyond it.
func TestAmountsForPeople(t *testing.T) {
	for _, c := range []struct{ exact, least, most string }{
		{"309.88117284", "309.89", "309.88"}, {"300.00000001", "300.01", "300"}, {"300", "300", "300"},
		{"0.00012345", "0.00012345", "0.00012345"}, {"1.5", "1.5", "1.5"}, {"0", "0", "0"}, {"-3.14159", "-3.14159", "-3.14159"},
	} {
		r, ok := new(big.Rat).SetString(c.exact)
		if !ok || atLeast(r) != c.least || atMost(r) != c.most {
			t.Errorf("%s: %s, %s, want %s, %s", c.exact, atLeast(r), atMost(r), c.least, c.most)
		}
	}
}

// Messages name the currency of what they count, where it is known.
func TestMessagesNameTheCurrency(t *testing.T) {
	l := Defaults(true)
	l.MaxDailyLoss = d("0.03")
	for quote, want := range map[string]string{
		"USDT": "the day lost 400 USDT, at most 300 USDT", "": "the day lost 400, at most 300",
	} {
		g, err := NewGuard(Setup{Limits: l, Mode: Enforce, Timeframe: market.MustTimeframe("1m"),
			StartEquity: d("10000"), Start: noon, Quote: quote})
		if err != nil {
			t.Fatal(err)
		}
		found := g.OnEquity(noon+60_000, d("9600"))
		if len(found) == 0 || found[0].Message != want {
			t.Errorf("%+v, want %q", found, want)
		}
	}
}
