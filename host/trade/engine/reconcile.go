package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The pace of reconciling, and what a balance may be off by: venues round what they charge.
const (
	ordersEvery = 30 * time.Second
	moneyEvery  = 60 * time.Second
)

var driftBound = decimal.MustNew(1, 6)

// recon is what is known of how the books and the venue agree.
type recon struct {
	synced bool // the account stream has missed nothing, as far as is known
	round  int  // of the resync that counts
	// then waits for a round that comes to its end, be it not the one that it was begun with; nil: nothing does.
	then func()
	// orders and money are when the next look is due.
	orders, money time.Time
	// base is the whole balance of each asset when the run began.
	base map[string]dec
	// suspect is the trades counted when the balances were off; -1: they were not.
	suspect int
	told    bool // that they are off
	fillReads
	// off is by how much they are; spare is the operator's own quote.
	off   map[string]dec
	spare dec
}

// accountEvent takes one message of the account stream.
func (e *Engine) accountEvent(l *link, ev exchange.AccountEvent) {
	if l != e.link || e.desk == nil {
		return // of a connection that is gone
	}
	defer e.tellLink(0)
	switch {
	case ev.Order != nil:
		err := e.apply(order.Event{Kind: order.OrderSeen, Source: order.FromStream, ClientOrderID: ev.Order.ClientOrderID, Order: *ev.Order})
		if unknownOrder(err) {
			e.foreign(ev.Order.ClientOrderID)
		}
	case ev.Fill != nil:
		err := e.apply(order.Event{Kind: order.FillSeen, Source: order.FromStream, ClientOrderID: ev.Fill.ClientOrderID, Fill: *ev.Fill})
		if unknownOrder(err) {
			e.foreign(ev.Fill.ClientOrderID)
		}
	case ev.Balance != nil:
		e.free(*ev.Balance)
	case ev.Transfer != nil:
		e.transfer(*ev.Transfer)
	case ev.State == exchange.Reconnecting, ev.State == exchange.Gap:
		e.warn(CodeStreamReconciling, "the stream of the account was interrupted: no order leaves before open orders, fills and balances were read again")
		e.recon.synced = false
		e.recon.round++
		if ev.State == exchange.Gap {
			e.resync() // the stream itself goes on
		}
	case ev.State == exchange.Connected:
		e.resync()
	}
}

// foreign tells of an order that is not of this run, once. Nothing is done about it.
func (e *Engine) foreign(id string) {
	if id == "" {
		id = "without a client order id"
	}
	e.warn(CodeForeignOrders, fmt.Sprintf("the account has an order that is not of this run: %s", id))
}

// free takes a balance as far as it bounds what can be sold.
func (e *Engine) free(b exchange.Balance) {
	e.locked(func() { e.desk.SetFree(b.Asset, b.Free) })
}

// resync reads open orders, fills and balances again; no order leaves until they are in. recon.then is done after that.
func (e *Engine) resync() {
	e.recon.synced = false
	e.recon.round++
	round := e.recon.round
	e.readOrders(func(err error) {
		if e.again(err, round) || e.failure != nil {
			return
		}
		e.readMoney(e.stirred(), func(err error) {
			if e.again(err, round) {
				return
			}
			e.recon.synced = true
			e.clear(CodeStreamReconciling, "")
			e.tellLink(0)
			e.batch.Entries = append(e.batch.Entries, journal.Entry{Kind: LogReconcile, Data: map[string]any{"after": "stream"}})
			if then := e.recon.then; then != nil {
				e.recon.then = nil
				then()
			}
		})
	})
}

// again says that a round is over: it is of yesterday, or it failed and is begun anew in a while.
func (e *Engine) again(err error, round int) bool {
	if round != e.recon.round {
		return true
	}
	if err == nil {
		return false
	}
	e.later(time.Second, func() {
		if round == e.recon.round && e.link != nil {
			e.resync()
		}
	})
	return true
}

// later does something in a while, if the run is still on.
func (e *Engine) later(d time.Duration, f func()) {
	e.running.Go(func() {
		if exchange.Pause(e.life, d) {
			e.inbox.post(f)
		}
	})
}

// reconcileWhenDue looks at the venue in its turn.
func (e *Engine) reconcileWhenDue(now time.Time) {
	if !e.recon.synced || e.link == nil {
		return
	}
	if !now.Before(e.recon.orders) {
		e.recon.orders = now.Add(ordersEvery)
		e.readOrders(nil)
	}
	if !now.Before(e.recon.money) {
		e.recon.money = now.Add(moneyEvery)
		e.readMoney(e.turn(), nil)
		e.readMarkets()
		e.askFeePrice()
	}
}

// readOrders takes a list of the open orders. What it lacks is asked for.
func (e *Engine) readOrders(done func(error)) {
	var list []exchange.Order
	var err error
	e.call(callLimit, time.Time{}, func(ctx context.Context, c *exchange.Connection) exchange.Result {
		list, err = c.OpenOrders(ctx)
		return exchange.ResultOf(err)
	}, func(r exchange.Result, asked time.Time) {
		if err == nil && r.Outcome != exchange.Accepted {
			err = &exchange.Error{Result: r}
		}
		if err == nil {
			var foreign []exchange.Order
			_ = e.change(note{source: order.FromList}, func() (r desk.Result, _ error) {
				r, foreign = e.desk.OpenList(list, asked, time.Now())
				return r, nil
			})
			for _, o := range foreign {
				e.foreign(o.ClientOrderID)
			}
			if done != nil && err == nil {
				e.strange(foreign)
			}
		}
		if done != nil {
			done(err)
		}
	})
}

// strange ends the run where orders of another state folder came onto its symbols while nobody listened.
func (e *Engine) strange(open []exchange.Order) {
	var ids []string
	for _, o := range open {
		if order.Ours(o.ClientOrderID) && slices.Contains(e.cfg.Symbols, o.Symbol) {
			ids = append(ids, o.ClientOrderID)
		}
	}
	if len(ids) == 0 || e.stopped {
		return
	}
	unknown, err := e.cfg.Journal.NotOurs(e.life, ids)
	switch {
	case err != nil:
		e.fail(err)
	case len(unknown) > 0:
		e.fail(strangers(e.cfg.Venue.ID, unknown))
	}
}

func strangers(venue string, ids []string) *Fault {
	f := ExchangeFault("reconcile", nil, "%s has open orders with ids of this product that the journal does not know: cancel them there, or use the state folder that they are of", venue)
	f.Data["orders"] = ids
	return f
}

// readMoney takes the fills of the symbols whose turn it is, then the balances.
func (e *Engine) readMoney(turn []market.Symbol, done func(error)) {
	left := len(turn)
	if left == 0 {
		e.readBalances(done)
		return
	}
	var failed error
	for _, s := range turn {
		asked := time.Now()
		e.fetchFills(s, e.since(s), func(err error) {
			if err == nil {
				e.recon.was(s, asked)
			}
			if left--; err != nil {
				failed = err
			}
			switch {
			case left > 0:
			case failed != nil:
				if done != nil {
					done(failed)
				}
			default:
				e.readBalances(done)
			}
		})
	}
}

func (e *Engine) readBalances(done func(error)) {
	var list []exchange.Balance
	var err error
	trades := e.trades
	e.call(callLimit, time.Time{}, func(ctx context.Context, c *exchange.Connection) exchange.Result {
		list, err = c.Balances(ctx)
		return exchange.ResultOf(err)
	}, func(r exchange.Result, _ time.Time) {
		if err == nil && r.Outcome != exchange.Accepted {
			err = &exchange.Error{Result: r}
		}
		if err == nil {
			for _, b := range list {
				e.free(b)
			}
			if trades == e.trades {
				e.compare(list)
			}
		}
		if done != nil {
			done(err)
		}
	})
}

// compare holds the balances against what the fills explain. Off once may be a trade that is
// on its way; off twice with the same trades is drift.
func (e *Engine) compare(list []exchange.Balance) {
	for _, s := range e.desk.Book().Pending() {
		if !s.Settled || s.State == order.Lost || s.State == order.Sent {
			return // something is open: the next look tells
		}
	}
	off := e.drift(list)
	e.suspect(off)
	if len(off) == 0 {
		if e.recon.suspect = -1; e.recon.told {
			e.endDrift() // whatever it was has been undone
		}
		return
	}
	if e.recon.suspect != e.trades || len(e.recon.stir) > 0 {
		e.recon.suspect = e.trades
		e.recon.money = time.Now().Add(5 * time.Second)
		return
	}
	text := driftText(off)
	if e.recon.told && text == driftText(e.recon.off) {
		return
	}
	e.recon.told, e.recon.off = true, off
	e.warn(CodeBalanceDrift, text)
	e.guard.Raise(risk.Reason{Code: CodeBalanceDrift, State: risk.Reducing, Clears: risk.WhenGone, Since: e.now(), Message: text})
}

// drift is by how much balances are off what the run's fills explain; empty when they are not.
func (e *Engine) drift(list []exchange.Balance) map[string]dec {
	have := totals(list)
	want, off := map[string]dec{}, map[string]dec{}
	ledger := e.desk.Ledger()
	quote := e.cfg.Symbols[0].Quote()
	want[quote] = order.Plus(e.recon.base[quote], order.Minus(order.Plus(ledger.Cash(), ledger.Valued()), ledger.Initial()))
	assets := []string{quote}
	for _, s := range e.cfg.Symbols {
		want[s.Base()] = order.Plus(e.recon.base[s.Base()], ledger.Quantity(s))
		assets = append(assets, s.Base())
	}
	for _, f := range ledger.ThirdFees() {
		if _, ok := want[f.Asset]; !ok {
			want[f.Asset] = e.recon.base[f.Asset]
			assets = append(assets, f.Asset)
		}
		want[f.Asset] = order.Minus(want[f.Asset], f.Amount)
	}
	for _, a := range assets {
		if d := order.Minus(have[a], want[a]); d.Abs().Cmp(driftBound) > 0 {
			off[a] = d
		}
	}
	return off
}

func totals(list []exchange.Balance) map[string]dec {
	sum := map[string]dec{}
	for _, b := range list {
		sum[b.Asset] = order.Plus(sum[b.Asset], order.Plus(b.Free, b.Locked))
	}
	return sum
}

// readMarkets keeps the rules: a symbol that is halted takes no entries until it trades again.
func (e *Engine) readMarkets() {
	var list []exchange.Market
	var err error
	e.call(callLimit, time.Time{}, func(ctx context.Context, c *exchange.Connection) exchange.Result {
		list, err = c.Markets(ctx)
		return exchange.ResultOf(err)
	}, func(r exchange.Result, _ time.Time) {
		if err != nil || r.Outcome != exchange.Accepted {
			return
		}
		for _, m := range list {
			i := slices.IndexFunc(e.markets, func(have exchange.Market) bool { return have.Symbol == m.Symbol })
			if i < 0 {
				continue
			}
			e.marketStatus(e.markets[i], m)
			e.markets[i] = m
			e.locked(func() { e.desk.SetMarket(m) })
		}
	})
}
