package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

var dec = decimal.MustParse

// live runs n steps of a trading session; decide is called after each, as a strategy
// would be, while the account is streamed.
func live(t *testing.T, settings string, n int,
	decide func(c exchange.Connection, step int,
		k market.Candle)) ([]exchange.AccountEvent, exchange.Connection) {
	t.Helper()
	c := New(nil)
	open(t, c, request(true, settings))
	ctx, cancel := context.WithCancel(t.Context())
	var events []exchange.AccountEvent
	ended := make(chan error)
	go func() {
		ended <- c.StreamAccount(ctx, func(e exchange.AccountEvent) { events = append(events, e) })
	}()
	synctest.Wait()
	step := 0
	collect(t, c, n, func(k market.Candle) {
		decide(c, step, k)
		step++
	})
	synctest.Wait()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(events) == 0 || events[0].State != exchange.Connected {
		t.Error("the account's stream does not begin with connected")
	}
	return events, c
}

func asked(id string, side market.Side, quantity string) exchange.OrderRequest {
	return exchange.OrderRequest{ClientOrderID: id, Symbol: "BTC/USDT", Side: side, Quantity: dec(quantity)}
}

func TestOrderLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := exchange.OrderRef{ClientOrderID: "a1", Symbol: "BTC/USDT"}
		events, c := live(t, `{"candles_per_second":200}`, 3,
			func(c exchange.Connection, step int, _ market.Candle) {
				r, o := c.Query(t.Context(), name)
				switch step {
				case 0:
					if r.Outcome != exchange.NotFound {
						t.Error(r)
					}
					r, o = c.Submit(t.Context(), asked("a1", market.Buy, "0.1"))
					if r.Outcome != exchange.Accepted || o.ClientOrderID != "a1" || o.VenueOrderID == "" ||
						o.Status != exchange.OrderOpen || len(r.RawSHA256) != 64 ||
						len(r.RequestSHA256) != 64 {
						t.Errorf("%+v %+v", r, o)
					}
					if r, _ := c.Submit(t.Context(),
						asked("a1", market.Buy, "0.1")); r.Outcome != exchange.Duplicate {
						t.Error(r)
					}
					list, err := c.OpenOrders(t.Context())
					if n, _ := c.Beat(t.Context(), 1); err != nil || len(list) != 1 || n.OpenOrders != 1 {
						t.Error(list, err, n)
					}
				case 1:
					if o.Status != exchange.OrderFilled || o.CumQuantity.Cmp(dec("0.1")) != 0 ||
						!o.AveragePrice.IsPos() || o.UpdatedAt != c.Clock.Now() {
						t.Errorf("%+v", o)
					}
					if r, _ := c.Cancel(t.Context(), name); r.Outcome != exchange.NotOpen {
						t.Error(r)
					}
					if r, _ := c.Submit(t.Context(),
						asked("a1", market.Buy, "0.1")); r.Outcome != exchange.Duplicate {
						t.Error("an id is accepted twice")
					}
				}
			})
		kinds := ""
		for _, e := range events {
			switch {
			case e.Order != nil:
				kinds += string(e.Order.Status) + " "
			case e.Fill != nil:
				kinds += "fill "
			case e.Balance != nil:
				kinds += e.Balance.Asset + " "
			}
		}
		if want := "open USDT fill filled USDT BTC "; kinds != want {
			t.Errorf("%q, want %q", kinds, want)
		}
		fills, err := c.Fills(t.Context(), "BTC/USDT", 0)
		if err != nil || !fills.Complete || len(fills.Fills) != 1 || fills.Fills[0].ClientOrderID != "a1" ||
			fills.Fills[0].FeeAsset != "USDT" || fills.Fills[0].TradeID != "1" {
			t.Errorf("%+v, %v", fills, err)
		}
		if later, _ := c.Fills(t.Context(), "BTC/USDT", fills.Fills[0].Time+1); len(later.Fills) != 0 {
			t.Error(later)
		}
		held, err := c.Balances(t.Context())
		f := fills.Fills[0]
		paid, _ := f.Quantity.Mul(f.Price)
		paid, _ = paid.Add(f.Fee)
		left, _ := dec("10000").Sub(paid)
		if err != nil || held[0].Free.Cmp(left) != 0 || held[1].Free.Cmp(dec("0.1")) != 0 {
			t.Errorf("%v, want %s, %v", held, left, err)
		}
	})
}

// An order that is sent before the first candle of the session closes fills on it, unless
// that candle had opened before the session began.
func TestFirstCandle(t *testing.T) {
	for settings, filled := range map[string]int{`{"candles_per_second":200}`: 1, `{"candles_per_second":200,"start":"2025-01-01T00:30:00Z"}`: 2} {
		synctest.Test(t, func(t *testing.T) {
			c := New(nil)
			open(t, c, request(true, settings))
			if r, _ := c.Submit(t.Context(), asked("a", market.Buy, "0.01")); r.Outcome != exchange.Accepted {
				t.Fatal(r)
			}
			n := 0
			collect(t, c, 3, func(market.Candle) {
				n++
				_, o := c.Query(t.Context(), exchange.OrderRef{ClientOrderID: "a", Symbol: "BTC/USDT"})
				if (o.Status == exchange.OrderFilled) != (n >= filled) {
					t.Errorf("%s: after candle %d it is %s", settings, n, o.Status)
				}
			})
		})
	}
}

// Everything that a market's rules or the balance forbid is refused with a code, and the
// venue does not know the order afterwards.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live(t, `{"candles_per_second":200}`, 1, func(c exchange.Connection, _ int, k market.Candle) {
			base := asked("x", market.Buy, "0.01")
			for want, change := range map[string]func(*exchange.OrderRequest){
				"CLIENT_ORDER_ID": func(r *exchange.OrderRequest) { r.ClientOrderID = "a b" },
				"UNKNOWN_SYMBOL":  func(r *exchange.OrderRequest) { r.Symbol = "NO/USDT" },
				"ORDER_TYPE":      func(r *exchange.OrderRequest) { r.Type = market.TrailingStop },
				"TIME_IN_FORCE":   func(r *exchange.OrderRequest) { r.TimeInForce = market.GTD },
				"SIZE":            func(r *exchange.OrderRequest) { r.QuoteAmount = dec("10") },
				"PRICE":           func(r *exchange.OrderRequest) { r.LimitPrice = dec("10") },
				"PRICE_TICK": func(r *exchange.OrderRequest) {
					r.Type, r.LimitPrice = market.Limit, dec("20000.001")
				},
				"LOT_SIZE":             func(r *exchange.OrderRequest) { r.Quantity = dec("0.000000001") },
				"MIN_NOTIONAL":         func(r *exchange.OrderRequest) { r.Quantity = dec("0.0001") },
				"INSUFFICIENT_BALANCE": func(r *exchange.OrderRequest) { r.Side = market.Sell },
			} {
				req := base
				change(&req)
				r, _ := c.Submit(t.Context(), req)
				if r.Outcome != exchange.Rejected || r.VenueCode != want || r.Message == "" {
					t.Errorf("%s: %+v", want, r)
				}
				if q, _ := c.Query(t.Context(),
					exchange.OrderRef{ClientOrderID: req.ClientOrderID,
						Symbol: "BTC/USDT"}); q.Outcome != exchange.NotFound {
					t.Errorf("%s: %+v", want, q)
				}
			}
			if r, _ := c.Submit(t.Context(),
				asked("big", market.Buy, "1")); r.VenueCode != "INSUFFICIENT_BALANCE" {
				t.Errorf("%+v", r)
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if r, _ := c.Submit(gone, base); r.Outcome != exchange.NotSent {
				t.Errorf("%+v", r)
			}
		})
	})
}

// Of a pair one leg fills and the other is canceled by it, never both, whatever the
// candles do; a canceled leg takes the other along.
func TestPairs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, live1 := 0, ""
		events, c := live(t, `{"candles_per_second":200,"cash":100000}`, 250,
			func(c exchange.Connection, step int, k market.Candle) {
				if step == 0 {
					if r, _ := c.Submit(t.Context(),
						asked("in", market.Buy, "3")); r.Outcome != exchange.Accepted {
						t.Fatal(r)
					}
					return
				}
				if live1 != "" {
					r, o := c.Query(t.Context(), exchange.OrderRef{ClientOrderID: live1, Symbol: "BTC/USDT"})
					if r.Outcome != exchange.Accepted {
						t.Fatal(r)
					}
					if o.Status == exchange.OrderOpen {
						return
					}
				}
				up, down := decimal.MustNew(int64(k.Close*100)+3000, 2),
					decimal.MustNew(int64(k.Close*100)-3000, 2)
				n++
				req := exchange.PairRequest{ListID: fmt.Sprint("l", n), LimitID: fmt.Sprint("t", n),
					StopID: fmt.Sprint("s", n), Symbol: "BTC/USDT", Side: market.Sell, Quantity: dec("0.01"),
					LimitPrice: up, StopPrice: down}
				r, both := c.SubmitPair(t.Context(), req)
				if r.Outcome != exchange.Accepted || both[0].ClientOrderID != req.LimitID ||
					both[1].ClientOrderID != req.StopID {
					t.Fatalf("%+v", r)
				}
				live1 = req.LimitID
			})
		filled := map[string]int{}
		ended := map[string]exchange.OrderStatus{}
		for _, e := range events {
			if e.Fill != nil && e.Fill.Side == market.Sell {
				filled[e.Fill.ClientOrderID[1:]]++
			}
			if e.Order != nil && e.Order.Status == exchange.OrderCanceled {
				sibling := map[byte]string{'t': "s",
					's': "t"}[e.Order.ClientOrderID[0]] + e.Order.ClientOrderID[1:]
				if ended[sibling] != exchange.OrderFilled || e.Order.Reason != reasonOCO {
					t.Errorf("%s is canceled before %s has filled", e.Order.ClientOrderID, sibling)
				}
			}
			if e.Order != nil {
				ended[e.Order.ClientOrderID] = e.Order.Status
			}
		}
		stops, limits := 0, 0
		for i := 1; i < n-1; i++ {
			if filled[fmt.Sprint(i)] != 1 {
				t.Errorf("pair %d has %d fills", i, filled[fmt.Sprint(i)])
			}
			if ended[fmt.Sprint("t", i)] == exchange.OrderFilled {
				limits++
			} else {
				stops++
			}
		}
		if stops == 0 || limits == 0 {
			t.Errorf("%d stops, %d limits", stops, limits)
		}
		if open, _ := c.OpenOrders(t.Context()); len(open) == 2 {
			held, _ := c.Balances(t.Context())
			if held[1].Locked.Cmp(dec("0.01")) != 0 {
				t.Errorf("a pair locks %s", held[1].Locked)
			}
			if r, _ := c.Cancel(t.Context(),
				exchange.OrderRef{ClientOrderID: open[0].ClientOrderID,
					Symbol: "BTC/USDT"}); r.Outcome != exchange.Accepted {
				t.Error(r)
			}
			if rest, _ := c.OpenOrders(t.Context()); len(rest) != 0 {
				t.Error(rest)
			}
		}
	})
}

// shadow is a backtest of the same candles with the same orders.
type shadow struct {
	fills []market.Fill
}

func (s *shadow) Intent(int64, *market.Intent, market.Reason) {}
func (s *shadow) Order(int64, *market.Order)                  {}
func (s *shadow) Trade(int64, *market.Trade)                  {}
func (s *shadow) Equity(int64, *sim.Mark)                     {}
func (s *shadow) Fill(_ int64, f *market.Fill)                { s.fills = append(s.fills, *f) }

// The venue fills as a backtest does: what it accepts, given to the simulator on the same
// candles, has the same fills to the last digit.
func TestVenueEqualsBacktest(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) { equalsBacktest(t, seed) })
	}
}

func equalsBacktest(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 5))
	options, err := sim.ResolveOptions(nil, sim.DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	rec := &shadow{}
	engine, err := sim.NewEngine(sim.Config{Symbols: []market.Symbol{"BTC/USDT"}, Timeframe: hour,
		InitialCash: dec("10000"), Options: options, PriceSteps: []decimal.Decimal{dec("0.01")}}, rec)
	if err != nil {
		t.Fatal(err)
	}
	n, accepted := 0, 0
	_, c := live(t, fmt.Sprintf(`{"candles_per_second":200,"seed":"%d"}`, seed), 600,
		func(c exchange.Connection, step int, k market.Candle) {
			if err := engine.Match(&sim.Batch{CloseTime: k.CloseTime, Candles: []market.Candle{k},
				Closed: []bool{true}}); err != nil {
				t.Fatal(err)
			}
			for range r.IntN(3) {
				n++
				req := asked(fmt.Sprint("o", n), market.Side(r.IntN(2)),
					decimal.MustNew(1+r.Int64N(10_000_000), 8).String())
				req.Type = market.OrderType(r.IntN(4))
				off := func() decimal.Decimal {
					return decimal.MustNew(int64(k.Close*100)+r.Int64N(60000)-30000, 2)
				}
				if req.Type.NeedsLimit() {
					req.LimitPrice = off()
				}
				if req.Type.NeedsStop() {
					req.StopPrice = off()
				}
				if r.IntN(5) == 0 {
					req.TimeInForce = market.IOC
				}
				if req.Type == market.Market && r.IntN(3) == 0 {
					req.Quantity, req.QuoteAmount = decimal.Decimal{},
						decimal.MustNew(500+r.Int64N(100000), 2)
				}
				if result, _ := c.Submit(t.Context(), req); result.Outcome != exchange.Accepted {
					continue
				}
				accepted++
				in := market.Intent{Symbol: req.Symbol, Side: req.Side, Type: req.Type,
					TimeInForce: req.TimeInForce, ClientRef: req.ClientOrderID,
					LimitPrice: sim.Float(req.LimitPrice), StopPrice: sim.Float(req.StopPrice),
					Size: market.Size{Kind: market.SizeQuantity, Value: sim.Float(req.Quantity)}}
				if req.QuoteAmount.IsPos() {
					in.Size = market.Size{Kind: market.SizeQuoteAmount, Value: sim.Float(req.QuoteAmount)}
				}
				if err := engine.Accept([]market.Intent{in}); err != nil {
					t.Fatal(err)
				}
			}
			if r.IntN(6) == 0 && n > 0 {
				id := fmt.Sprint("o", 1+r.IntN(n))
				if result, _ := c.Cancel(t.Context(),
					exchange.OrderRef{ClientOrderID: id,
						Symbol: "BTC/USDT"}); result.Outcome == exchange.Accepted {
					if err := engine.Accept(
						[]market.Intent{{Action: market.Cancel, Symbol: "BTC/USDT", Ref: id}}); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	got, err := c.Fills(t.Context(), "BTC/USDT", 0)
	if err != nil || len(got.Fills) != len(rec.fills) || len(got.Fills) < 20 {
		t.Fatalf("%d fills, %d in the backtest, %d accepted, %v", len(got.Fills), len(rec.fills), accepted,
			err)
	}
	for i, f := range got.Fills {
		want := rec.fills[i]
		if f.Price != want.Price || f.Quantity != want.Quantity || f.Fee != want.Fee || f.Side != want.Side ||
			f.Liquidity != want.Liquidity || f.Time != want.Time+3600_000 {
			t.Fatalf("fill %d: %+v, want %+v", i, f, want)
		}
	}
	held, _ := c.Balances(t.Context())
	if total, _ := held[0].Free.Add(held[0].Locked); total.Cmp(engine.CashExact()) != 0 {
		t.Errorf("cash %s, want %s", total, engine.CashExact())
	}
}

// A session that closes cancels what is open, and its streams end.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(nil)
		open(t, c, request(true, ""))
		req := asked("r", market.Buy, "0.01")
		req.Type, req.LimitPrice = market.Limit, dec("1000")
		if r, _ := c.Submit(t.Context(), req); r.Outcome != exchange.Accepted {
			t.Fatal(r)
		}
		var last exchange.OrderStatus
		ended := make(chan error, 2)
		go func() {
			ended <- c.StreamAccount(t.Context(), func(e exchange.AccountEvent) {
				if e.Order != nil {
					last = e.Order.Status
				}
			})
		}()
		go func() { ended <- c.StreamCandles(t.Context(), func(exchange.CandleEvent) {}) }()
		synctest.Wait()
		if left, err := c.Close(t.Context(), true); err != nil || len(left) != 0 {
			t.Error(left, err)
		}
		one, two := <-ended, <-ended
		if one == nil || two == nil || last != exchange.OrderCanceled {
			t.Error(one, two, last)
		}
		if r, _ := c.Submit(t.Context(), req); r.Outcome != exchange.NotSent {
			t.Error(r)
		}
	})
}
