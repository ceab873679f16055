package order

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

func books(t interface{ Fatal(...any) }, cash string) *Ledger {
	l, err := NewLedger(d(cash), []market.Symbol{btc, "ETH/USDT"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func execution(side market.Side, q, p, fee, asset string) exchange.Fill {
	return exchange.Fill{Symbol: btc, Side: side, Quantity: d(q), Price: d(p), Fee: d(fee), FeeAsset: asset}
}

func TestFees(t *testing.T) {
	for _, tc := range []struct {
		name                       string
		fills                      []exchange.Fill
		cash, position, fees, rest string
	}{
		{"in quote", []exchange.Fill{execution(market.Buy, "0.1", "30000.01", "3.000001", "USDT")},
			"6996.998999", "0.1", "3.000001", "[]"},
		{"in base", []exchange.Fill{execution(market.Buy, "0.1", "30000", "0.0001", "BTC")}, "7000", "0.0999",
			"3", "[]"},
		{"in a third asset",
			[]exchange.Fill{execution(market.Buy, "0.1", "30000", "0.00512", "BNB"),
				execution(market.Sell, "0.1", "30000", "0.00501", "BNB")}, "10000", "0", "0",
			"[{BNB 0.01013}]"},
		{"mixed", []exchange.Fill{execution(market.Buy, "1", "100", "0.001", "BTC"),
			execution(market.Sell, "0.999", "110", "0.10989", "USDT"),
			execution(market.Buy, "1", "100", "0.2", "BNB")}, "9909.78011", "1", "0.20989", "[{BNB 0.2}]"},
		{"none", []exchange.Fill{execution(market.Buy, "1", "0.00000001", "0", "")}, "9999.99999999", "1",
			"0", "[]"},
		{"a rebate", []exchange.Fill{execution(market.Buy, "1", "100", "-0.01", "USDT")}, "9900.01", "1",
			"-0.01", "[]"},
	} {
		l := books(t, "10000")
		for _, f := range tc.fills {
			if _, _, err := l.Fill(f, Origin{}); err != nil {
				t.Fatal(err)
			}
			if err := l.Check(); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
		}
		if got := words(l.Cash(), l.Quantity(btc), l.Fees(), l.ThirdFees()); got != words(tc.cash,
			tc.position, tc.fees, tc.rest) {
			t.Errorf("%s: %s, want %s %s %s %s", tc.name, got, tc.cash, tc.position, tc.fees, tc.rest)
		}
	}
}

// words joins values with single blanks.
func words(list ...any) string { return strings.TrimSuffix(fmt.Sprintln(list...), "\n") }

// TestFillSplits: however a quantity is split into trades and in whichever order they come, order and books
// say the same.
func TestFillSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "trades")
		parts := make([]int64, n)
		total := int64(0)
		for i := range parts {
			parts[i] = rapid.Int64Range(1, 1_000_000_000).Draw(t, "part")
			total += parts[i]
		}
		spec := buy(1)
		spec.Quantity = decimal.MustNew(total, 8)
		book := NewBook()
		if _, err := book.Commit(spec, day0); err != nil {
			t.Fatal(err)
		}
		if _, err := book.Apply(Event{Kind: Handed, ClientOrderID: id1}, day0); err != nil {
			t.Fatal(err)
		}
		asset := rapid.SampledFrom([]string{"USDT", "BTC", "BNB"}).Draw(t, "fee asset")
		l := books(t, "1000000")
		paid, fee := new(big.Rat), new(big.Rat)
		for _, i := range rapid.Permutation(indices(n)).Draw(t, "order") {
			f := trade(1, fmt.Sprint(i), "1").Fill
			f.Quantity, f.Price = decimal.MustNew(parts[i], 8),
				decimal.MustNew(rapid.Int64Range(1, 10_000_000).Draw(t, "price"), 2)
			f.Fee, f.FeeAsset = decimal.MustNew(parts[i]/1000, 8), asset
			paid.Add(paid, new(big.Rat).Mul(frac(f.Quantity), frac(f.Price)))
			fee.Add(fee, frac(f.Fee))
			for range rapid.IntRange(1, 3).Draw(t, "times") {
				effects, err := book.Apply(Event{Kind: FillSeen, ClientOrderID: id1, Fill: f}, sec(1))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range effects {
					if e.Do == Count {
						if _, _, err := l.Fill(e.Fill, Origin{Order: 1}); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
		s, _ := book.Get(id1)
		if s.State != Filled || s.Filled.Cmp(spec.Quantity) != 0 || !s.Settled || len(s.Fills) != n {
			t.Fatalf("%+v", s)
		}
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		position, cash := frac(spec.Quantity), new(big.Rat).Sub(big.NewRat(1_000_000, 1), paid)
		switch asset {
		case "BTC":
			position.Sub(position, fee)
		case "USDT":
			cash.Sub(cash, fee)
		}
		if l.book(btc).quantity.Cmp(position) != 0 || l.cash.Cmp(cash) != 0 {
			t.Fatalf("position %s, want %s; cash %s, want %s", l.Quantity(btc), position.FloatString(10),
				l.Cash(), cash.FloatString(10))
		}
	})
}

func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// TestBooksBalance trades at random with every kind of fee.
func TestBooksBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := books(t, "10000")
		for range rapid.IntRange(1, 40).Draw(t, "fills") {
			side := market.Side(rapid.IntRange(0, 1).Draw(t, "side"))
			q := decimal.MustNew(rapid.Int64Range(1, 1_000_000).Draw(t, "q"), 5)
			if held := l.Quantity(btc); side == market.Sell && held.IsPos() && rapid.Bool().Draw(t, "all") {
				q = held // else it may be more than is held
			}
			p := decimal.MustNew(rapid.Int64Range(1, 1_000_000).Draw(t, "p"), 3)
			asset := rapid.SampledFrom([]string{"USDT", "BNB"}).Draw(t, "asset")
			if side == market.Buy && rapid.Bool().Draw(t, "base") {
				asset = "BTC"
			}
			f := exchange.Fill{Symbol: btc, Side: side, Quantity: q, Price: p,
				Fee: decimal.MustNew(int64(q.Coef()/1000), q.Scale()), FeeAsset: asset}
			_, closed, err := l.Fill(f, Origin{Order: 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Check(); err != nil {
				t.Fatal(err)
			}
			if (closed != nil) != l.Quantity(btc).IsZero() {
				t.Fatalf("closed %v with %s held", closed != nil, l.Quantity(btc))
			}
			if closed != nil {
				if pnl, _ := closed.GrossPnL.Sub(closed.Fees); pnl.Cmp(closed.PnL) != 0 {
					t.Fatalf("%+v", closed)
				}
			}
		}
	})
}

// TestOversold: what the venue sold beyond what was held (an overfill, a late trade) is a negative position
// until it is bought back.
func TestOversold(t *testing.T) {
	l := books(t, "10000")
	fill := func(side market.Side, q, p string) *market.Trade {
		t.Helper()
		_, closed, err := l.Fill(execution(side, q, p, "0", ""), Origin{Order: 1})
		if err == nil {
			err = l.Check()
		}
		if err != nil {
			t.Fatal(err)
		}
		return closed
	}
	rules := Rules{exchange.Market{QuantityStep: d("0.001"), MinNotional: d("5")}}
	fill(market.Buy, "1", "100")
	if fill(market.Sell, "1", "110") == nil {
		t.Fatal("the round trip closed")
	}
	fill(market.Sell, "0.5", "120")
	if l.Settle(btc, rules, d("120")) != nil || l.Flat(btc) {
		t.Error("less than nothing is no dust")
	}
	p := l.Position(btc, d("118"), 0)
	if got := words(p.Direction == market.Short, p.Quantity, p.AverageEntryPrice, p.MarketValue,
		p.UnrealizedPnL); got != "true -0.5 120 -59 1" {
		t.Errorf("position: %s", got)
	}
	tr := fill(market.Buy, "0.5", "90")
	if tr == nil || !l.Flat(btc) || l.Cash().String() != "10025" {
		t.Fatalf("%+v, cash %s", tr, l.Cash())
	}
	if got := words(tr.Direction == market.Short, tr.Quantity, tr.EntryPrice, tr.ExitPrice, tr.PnL, tr.Return,
		tr.MAE, tr.MFE); got != "true 0.5 120 90 15 0.25 0 15" {
		t.Errorf("trade: %s", got)
	}
	fill(market.Buy, "1", "100") // through zero in one trade
	fill(market.Sell, "1.5", "110")
	if got := l.Quantity(btc).String() + " " + l.Cash().String(); got != "-0.5 10090" {
		t.Errorf("position and cash: %s", got)
	}
	if tr := fill(market.Buy, "0.5", "110"); tr == nil || tr.PnL.String() != "10" ||
		tr.Direction != market.Long {
		t.Errorf("trade: %+v", tr)
	}
}

func TestRoundTrip(t *testing.T) {
	l := books(t, "10000")
	entry := execution(market.Buy, "2", "100.5", "0.2", "USDT")
	entry.Time = 60_000
	f, closed, err := l.Fill(entry, Origin{Order: 1, Tag: "in", Reference: d("100")})
	if err != nil || closed != nil {
		t.Fatal(err)
	}
	if got := words(f.ID, f.OrderID, f.Slippage, f.ReferencePrice, f.Fee, f.PositionAfter, f.RealizedPnL,
		f.Tag); got != "f-000001 o-000001 1 100 0.2 2 0 in" {
		t.Errorf("fill: %s", got)
	}
	l.OnCandle(btc, market.Candle{OpenTime: 0, CloseTime: 120_000, Low: 1, High: 1000, Close: 99})
	l.OnCandle(btc, market.Candle{OpenTime: 120_000, CloseTime: 240_000, Low: 98, High: 112, Close: 110})
	p := l.Position(btc, d("110"), 240_000)
	if got := words(p.Quantity, p.AverageEntryPrice, p.MarketValue, p.UnrealizedPnL, p.Fees,
		p.OpenedAt == 60_000); got != "2 100.5 220 19 0.2 true" {
		t.Errorf("position: %s", got)
	}
	if l.Equity(func(market.Symbol) dec { return d("110") }).String() != "10018.8" {
		t.Errorf("equity %s", l.Equity(func(market.Symbol) dec { return d("110") }))
	}
	exit := execution(market.Sell, "1.9995", "110", "0.22", "USDT")
	exit.Time = 250_000
	if _, closed, _ = l.Fill(exit, Origin{Order: 2, Role: market.RoleTakeProfit, Tag: "out"}); closed != nil {
		t.Fatal("something is left")
	}
	rules := Rules{exchange.Market{QuantityStep: d("0.001")}}
	tr := l.Settle(btc, rules, d("110"))
	if tr == nil || !l.Flat(btc) || l.Position(btc, d("110"), 0) != nil || l.Dust(btc).String() != "0.0005" ||
		l.Check() != nil {
		t.Fatalf("the rest is dust and shown flat: %+v, %s", tr, l.Dust(btc))
	}
	if got := words(tr.ID, tr.Quantity, tr.EntryPrice, tr.ExitPrice, tr.GrossPnL, tr.Fees, tr.PnL,
		tr.ExitReason, tr.CandlesHeld, tr.MAE, tr.MFE, tr.EntryTag, tr.ExitTag, tr.OrderIDs); got !=
		"t-000001 2 100.5 110 18.99525 0.42 18.57525 take_profit 1 -5 23 in out [o-000001 o-000002]" {
		t.Errorf("trade: %s", got)
	}
	if l.Settle(btc, rules, d("110")) != nil {
		t.Error("settled twice")
	}
	if _, _, err := l.Fill(execution(market.Buy, "1", "100", "0", ""), Origin{Order: 3}); err != nil ||
		l.Flat(btc) || l.Quantity(btc).String() != "1.0005" {
		t.Errorf("dust joins the next position: %s", l.Quantity(btc))
	}
	if _, _, err := l.Fill(exchange.Fill{Symbol: "X/Y"}, Origin{}); err == nil {
		t.Error("a foreign fill was booked")
	}
	if _, err := NewLedger(d("1"), []market.Symbol{"A/B", "C/D"}); err == nil {
		t.Error("two quote currencies")
	}
}

func TestExactConversions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := decimal.MustNew(rapid.Int64().Draw(t, "coef"), rapid.IntRange(0, 19).Draw(t, "scale"))
		if back := toDec(exact(x)); back.Cmp(x) != 0 {
			t.Fatalf("%s became %s", x, back)
		}
		scale := rapid.IntRange(0, 19).Draw(t, "round")
		if got, want := toDec(rounded(exact(x), scale)), x.Round(scale); got.Cmp(want) != 0 {
			t.Fatalf("%s to %d: %s, want %s", x, scale, got, want)
		}
	})
	for _, tc := range []struct {
		r, want string
	}{{"1/3", "0.3333333333333333333"}, {"100000000000000000000", "9223372036854775807"},
		{"200000/3", "66666.66666666666667"}} {
		r, _ := new(big.Rat).SetString(tc.r)
		if got := toDec(r).String(); got != tc.want {
			t.Errorf("%s = %s, want %s", tc.r, got, tc.want)
		}
	}
	for x, want := range map[float64]string{0.1: "0.1", 65432.1: "65432.1", 1e-8: "0.00000001",
		0.1 + 0.2: "0.3", 3: "3"} {
		if got, err := sim.Decimal(x); err != nil || got.String() != want {
			t.Errorf("%v = %s, %v", x, got, err)
		}
	}
}
