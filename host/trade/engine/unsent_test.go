package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/oms"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// cutOff is a network that is gone, or back: nothing is sent and nothing comes.
func (v *venue) cutOff(gone bool) {
	v.mu.Lock()
	v.dark, v.wrong, v.refusal = gone, nil, ""
	if gone {
		v.wrong, v.refusal = func(string, int) act { return notSent }, exchange.NotSent
	}
	v.mu.Unlock()
	if gone {
		v.cutStreams()
	}
}

// goWrong is what goes wrong with submits from now on.
func (v *venue) goWrong(a act) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wrong = func(call string, _ int) act {
		if call == "submit" {
			return a
		}
		return fine
	}
}

// TestUnsentExpires: an order that could not be sent expires at the close after its own, also where no
// candle tells of it, and does not leave when the network is back.
func TestUnsentExpires(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.at(2, buy(1))
		b.start()
		b.sleep(3*minute - time.Second)
		b.venue.goWrong(notSent)
		b.sleep(1500 * time.Millisecond)
		b.venue.cutOff(true)
		b.sleep(57 * time.Second)
		if len(b.orders) != 1 || b.orders[0].Status != market.StatusNew || b.calls["submit"] == 0 {
			t.Fatalf("before the close: %+v, %d submits", b.orders, b.calls["submit"])
		}
		b.sleep(5 * time.Second)
		if o := b.orders[0]; o.Status != market.StatusRejected || o.Reason != order.CodeNotSent {
			t.Errorf("after it: %+v", o)
		}
		b.sleep(29 * minute)
		if b.phase() != Halted {
			t.Errorf("%v", b.phases)
		}
		submits := b.calls["submit"]
		b.venue.cutOff(false)
		b.sleep(3 * minute)
		if b.phase() != Trading || b.calls["submit"] != submits || len(b.held) != 0 {
			t.Errorf("%v, %d submits of which %d came late, %+v", b.phases, b.calls["submit"],
				b.calls["submit"]-submits, b.held)
		}
		b.check(b.stop())
	})
}

// TestUnsentIsHeld: an order that the venue throttled is judged anew when its time comes: what may not leave
// then waits, and leaves as soon as it may. Exits leave while positions may shrink.
func TestUnsentIsHeld(t *testing.T) {
	const code = "TEST"
	raise := func(s risk.State) func(*Engine) {
		return func(e *Engine) {
			e.books.guard.Raise(risk.Reason{Code: code, State: s, Clears: risk.WhenGone})
		}
	}
	clear := func(e *Engine) { e.books.guard.Clear(code) }
	away := func(e *Engine) { e.recon.synced = false }
	back := func(e *Engine) { e.recon.synced = true }
	for name, c := range map[string]struct {
		exit     bool
		on, lift func(*Engine)
		leaves   bool // before it is lifted
	}{
		"an entry while reducing": {false, raise(risk.Reducing), clear, false},
		"an exit while reducing":  {true, raise(risk.Reducing), clear, true},
		"an entry while halted":   {false, raise(risk.Halted), clear, false},
		"an exit while halted":    {true, raise(risk.Halted), clear, false},
		"an entry unreconciled":   {false, away, back, false},
		"an exit unreconciled":    {true, away, back, false},
	} {
		for _, lifted := range []bool{false, true} {
			inBubble(t, func(t *testing.T, b *bench) {
				var e *Engine
				b.decide = func(v *View) ([]market.Intent, error) {
					switch {
					case v.Step == 1:
						return []market.Intent{buy(2)}, nil
					case v.Step == 3 && c.exit:
						return []market.Intent{{Action: market.Close}}, nil
					case v.Step == 3:
						return []market.Intent{buy(1)}, nil
					}
					return nil, nil
				}
				b.start()
				e = b.engine
				b.sleep(3*minute + 30*time.Second)
				b.venue.goWrong(throttles)
				b.sleep(30*time.Second + 200*time.Millisecond)
				if len(b.orders) != 2 || b.calls["submit"] != 2 {
					t.Fatalf("%s: %+v, %d submits", name, b.orders, b.calls["submit"])
				}
				b.venue.goWrong(fine)
				e.inbox.post(func() { c.on(e) })
				b.sleep(20 * time.Second)
				if left := b.calls["submit"] > 2; left != c.leaves ||
					(b.orders[1].Status == market.StatusFilled) != c.leaves {
					t.Errorf("%s: %d submits, %+v", name, b.calls["submit"], b.orders[1])
				}
				if lifted {
					e.inbox.post(func() { c.lift(e) })
					b.sleep(2 * time.Second)
					if b.calls["submit"] != 3 || b.orders[1].Status != market.StatusFilled {
						t.Errorf("%s, lifted: %d submits, %+v", name, b.calls["submit"], b.orders[1])
					}
				}
				b.sleep(minute)
				if o := b.orders[1]; !c.leaves && !lifted &&
					(o.Status != market.StatusRejected || o.Reason != order.CodeNotSent ||
						b.calls["submit"] != 2) {
					t.Errorf("%s, at the next close: %+v, %d submits", name, o, b.calls["submit"])
				}
				b.check(b.stop())
			})
		}
	}
}

// TestUnsentExits: the exits of a position expire like any other order and are placed again, as long as it
// takes, also while no candles come and positions may only shrink.
func TestUnsentExits(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		in := limit(market.Buy, 1, 60)
		in.StopLoss, in.TakeProfit = &market.Child{Percent: 0.5}, &market.Child{Percent: 0.9}
		b.at(1, in)
		b.start()
		b.sleep(2*minute + 30*time.Second)
		b.venue.goWrong(notSent)
		b.venue.mu.Lock()
		b.venue.dark = true
		b.venue.mu.Unlock()
		b.sleep(3 * minute)
		b.venue.mu.Lock()
		b.venue.fill(b.venue.orders[0], d("60"))
		b.venue.mu.Unlock()
		b.sleep(3 * minute)
		if b.phase() != Halted || !b.warned(order.CodeUnprotected) || len(b.held) != 1 {
			t.Fatalf("%v %+v", b.phases, b.held)
		}
		seq := 0
		b.engine.inbox.post(func() { seq = len(b.engine.books.manager.Book().All()) })
		b.look()
		if seq < 5 || seq > 20 {
			t.Errorf("%d orders were written down in three minutes", seq)
		}
		b.venue.goWrong(fine)
		b.sleep(5 * time.Second)
		if len(b.held) != 3 || b.held[1].Status != exchange.OrderOpen ||
			b.held[2].Status != exchange.OrderOpen {
			t.Errorf("the position is without its exits: %+v", b.held)
		}
		b.check(b.stop())
	})
}

// TestLossAtOnce: what a fill lost is judged when it is booked, not when the candle closes.
func TestLossAtOnce(t *testing.T) {
	lose := func(b *bench) {
		b.decide = func(v *View) ([]market.Intent, error) {
			switch v.Step {
			case 0:
				return []market.Intent{buy(50)}, nil
			case 1:
				return []market.Intent{limit(market.Sell, 40, 150)}, nil
			case 2:
				return []market.Intent{buy(1)}, nil
			}
			return nil, nil
		}
		b.venue.price = func(int64) float64 { return 100 }
		b.start()
		b.sleep(2*minute + 10*time.Second)
		b.venue.mu.Lock()
		b.venue.fill(b.venue.orders[1], d("10"))
		b.venue.mu.Unlock()
	}
	inBubble(t, func(t *testing.T, b *bench) {
		b.limits.MaxDailyLoss, b.limits.MaxDrawdown = d("0.03"), d("0.1")
		began := time.Now()
		lose(b)
		err := b.wait()
		if f, ok := errors.AsType[*Fault](err); !ok || f.Code != CodeRiskKill || !b.warned("RISK_KILL") ||
			time.Since(began) >= 3*minute {
			t.Errorf("%v after %s, %v", err, time.Since(began), b.warnings)
		}
		b.check(err)
	})
	inBubble(t, func(t *testing.T, b *bench) {
		b.limits.MaxDailyLoss = d("0.03")
		lose(b)
		b.sleep(time.Second)
		if b.phase() != Reducing || !b.warned(string(risk.DailyLoss)) {
			t.Errorf("%v %v", b.phases, b.warnings)
		}
		b.sleep(2 * minute)
		if len(b.orders) != 3 || b.orders[2].Reason != market.Reason(risk.StateReducing) {
			t.Errorf("%+v", b.orders)
		}
		b.check(b.stop())
	})
}

// TestJudgedWithTheEquity: an order is judged by what the account is worth then; once the drawdown ended the
// run only exits pass.
func TestJudgedWithTheEquity(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.limits.MaxDrawdown = d("0.1")
		b.venue.price = func(int64) float64 { return 100 }
		b.at(0, limit(market.Buy, 50, 60))
		b.start()
		b.sleep(minute + 30*time.Second)
		entry := oms.Proposal{
			Specs: []order.Spec{{Symbol: btc, Side: market.Buy, Quantity: d("1"), Reference: d("100")}}}
		exit := oms.Proposal{
			Specs:   []order.Spec{{Symbol: btc, Side: market.Sell, Quantity: d("1"), Exit: true}},
			Shrinks: true}
		var before, after, leaving string
		b.engine.inbox.post(func() {
			e := b.engine
			before = e.books.denyProposal(entry)
			_, err := e.books.manager.Apply(order.Event{Kind: order.FillSeen,
				ClientOrderID: order.ClientID("svc_run1", 1), Fill: exchange.Fill{
					TradeID: "1", Symbol: btc, Side: market.Buy, Price: d("180"), Quantity: d("50"),
				}}, time.Now())
			if err != nil {
				t.Error(err)
			}
			after, leaving = e.books.denyProposal(entry), e.books.denyProposal(exit)
		})
		if f, ok := errors.AsType[*Fault](b.wait()); !ok || f.Code != CodeRiskKill {
			t.Errorf("%v", f)
		}
		if before != "" || after != string(risk.Kill) || leaving != "" {
			t.Errorf("before %q, after %q, an exit %q", before, after, leaving)
		}
	})
}
