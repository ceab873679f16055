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
	"github.com/assay-run/assay/host/trade/order/oms"
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
	*parts
	markets []exchange.Market // of the run's symbols, in their order
	synced  bool              // the account stream has missed nothing, as far as is known
	round   int               // of the resync that counts
	// then waits for a round that comes to its end, be it not the one that it was begun with; nil: nothing
	// does.
	then func()
	// orders and money are when the next look is due.
	orders, money time.Time
	// base is the whole balance of each asset when the run began.
	base map[string]dec
	// suspect is the trades counted when the balances were off; -1: they were not.
	suspect  int
	reported bool // that they are off
	fillReads
	// off is by how much they are; spare is the operator's own quote.
	off   map[string]dec
	spare dec
}

// accountEvent takes one message of the account stream.
func (rc *recon) accountEvent(l *link, ev exchange.AccountEvent) {
	if l != rc.session.link || rc.books.manager == nil {
		return // of a connection that is gone
	}
	defer rc.session.reportLink(0)
	switch {
	case ev.Order != nil:
		err := rc.books.applyEvent(order.Event{Kind: order.OrderSeen, Source: order.FromStream,
			ClientOrderID: ev.Order.ClientOrderID, Order: *ev.Order})
		if isUnknownOrder(err) {
			rc.warnUnknownOrder(ev.Order.ClientOrderID)
		}
	case ev.Fill != nil:
		err := rc.books.applyEvent(order.Event{Kind: order.FillSeen, Source: order.FromStream,
			ClientOrderID: ev.Fill.ClientOrderID, Fill: *ev.Fill})
		if isUnknownOrder(err) {
			rc.warnUnknownOrder(ev.Fill.ClientOrderID)
		}
	case ev.Balance != nil:
		rc.setFree(*ev.Balance)
	case ev.Transfer != nil:
		rc.books.bookTransfer(*ev.Transfer)
	case ev.State == exchange.Reconnecting, ev.State == exchange.Gap:
		rc.books.raiseWarning(CodeStreamReconciling,
			"the stream of the account was interrupted: no order leaves before open orders, fills and "+
				"balances were read again")
		rc.synced = false
		rc.round++
		if ev.State == exchange.Gap {
			rc.resyncAccount() // the stream itself goes on
		}
	case ev.State == exchange.Connected:
		rc.resyncAccount()
	}
}

// warnUnknownOrder warns of an order that is not of this run, once. Nothing is done about it.
func (rc *recon) warnUnknownOrder(id string) {
	if id == "" {
		id = "without a client order id"
	}
	rc.books.raiseWarning(CodeForeignOrders,
		fmt.Sprintf("the account has an order that is not of this run: %s", id))
}

// setFree takes a balance as far as it bounds what can be sold.
func (rc *recon) setFree(b exchange.Balance) {
	rc.books.withGate(func() { rc.books.manager.SetFree(b.Asset, b.Free) })
}

// resyncAccount reads open orders, fills and balances again; no order leaves until they are in. recon.then
// is done after that.
func (rc *recon) resyncAccount() {
	rc.synced = false
	rc.round++
	round := rc.round
	rc.readOrders(func(err error) {
		if rc.staleRound(err, round) || rc.loop.failure != nil {
			return
		}
		rc.readMoney(rc.changedSymbols(), func(err error) {
			if rc.staleRound(err, round) {
				return
			}
			rc.synced = true
			rc.books.clearAlarm(CodeStreamReconciling, "")
			rc.session.reportLink(0)
			rc.books.batch.Entries = append(rc.books.batch.Entries,
				journal.Entry{Kind: LogReconcile, Data: map[string]any{"after": "stream"}})
			if then := rc.then; then != nil {
				rc.then = nil
				then()
			}
		})
	})
}

// staleRound reports whether a round is over: it is of yesterday, or it failed and is begun anew in a while.
func (rc *recon) staleRound(err error, round int) bool {
	if round != rc.round {
		return true
	}
	if err == nil {
		return false
	}
	rc.loop.runLater(time.Second, func() {
		if round == rc.round && rc.session.link != nil {
			rc.resyncAccount()
		}
	})
	return true
}

// runLater does something in a while, if the run is still on.
func (e *Engine) runLater(d time.Duration, f func()) {
	e.running.Go(func() {
		if exchange.Pause(e.life, d) {
			e.inbox.post(f)
		}
	})
}

// reconcileWhenDue looks at the venue in its turn.
func (rc *recon) reconcileWhenDue(now time.Time) {
	if !rc.synced || rc.session.link == nil {
		return
	}
	if !now.Before(rc.orders) {
		rc.orders = now.Add(ordersEvery)
		rc.readOrders(nil)
	}
	if !now.Before(rc.money) {
		rc.money = now.Add(moneyEvery)
		rc.readMoney(rc.symbolsInTurn(), ignore)
		rc.readMarkets()
		rc.books.askFeePrice()
	}
}

// readOrders takes a list of the open orders. What it lacks is asked for.
func (rc *recon) readOrders(done func(error)) {
	readVenue(rc.session, func(ctx context.Context, c *exchange.Connection) ([]exchange.Order, error) {
		return c.OpenOrders(ctx)
	}, func(list []exchange.Order, asked time.Time, err error) {
		if err == nil {
			var foreign []exchange.Order
			rc.books.change(func() (r oms.Result) {
				r, foreign = rc.books.manager.OpenList(list, asked, time.Now())
				return r
			}, order.FromList)
			for _, o := range foreign {
				rc.warnUnknownOrder(o.ClientOrderID)
			}
			if done != nil {
				rc.refuseUnknownOrders(foreign)
			}
		}
		if done != nil {
			done(err)
		}
	})
}

// refuseUnknownOrders ends the run where orders of another state folder came onto its symbols while the
// stream was down.
func (rc *recon) refuseUnknownOrders(open []exchange.Order) {
	var ids []string
	for _, o := range open {
		if order.Ours(o.ClientOrderID) && slices.Contains(rc.cfg.Symbols, o.Symbol) {
			ids = append(ids, o.ClientOrderID)
		}
	}
	if len(ids) == 0 || rc.loop.stopped {
		return
	}
	unknown, err := rc.cfg.Journal.NotOurs(rc.loop.life, ids)
	switch {
	case err != nil:
		rc.loop.failRun(err)
	case len(unknown) > 0:
		rc.loop.failRun(unknownOrdersFault(rc.cfg.Venue.ID, unknown))
	}
}

func unknownOrdersFault(venue string, ids []string) *Fault {
	f := ExchangeFault("reconcile", nil,
		"%s has open orders with ids of this product that the journal does not know: cancel them there, "+
			"or use the state folder that they are of", venue)
	f.Data["orders"] = ids
	return f
}

// readMoney takes the fills of the symbols whose turn it is, then the balances.
func (rc *recon) readMoney(turn []market.Symbol, done func(error)) {
	left := len(turn)
	if left == 0 {
		rc.readBalances(done)
		return
	}
	var failed error
	for _, s := range turn {
		asked := time.Now()
		rc.session.fetchFills(s, rc.fillsSince(s), func(err error) {
			if err == nil {
				rc.markRead(s, asked)
			}
			if left--; err != nil {
				failed = err
			}
			switch {
			case left > 0:
			case failed != nil:
				done(failed)
			default:
				rc.readBalances(done)
			}
		})
	}
}

func (rc *recon) readBalances(done func(error)) {
	trades := rc.books.trades
	readVenue(rc.session, func(ctx context.Context, c *exchange.Connection) ([]exchange.Balance, error) {
		return c.Balances(ctx)
	}, func(list []exchange.Balance, _ time.Time, err error) {
		if err == nil {
			for _, b := range list {
				rc.setFree(b)
			}
			if trades == rc.books.trades {
				rc.compareBalances(list)
			}
		}
		done(err)
	})
}

// compareBalances holds the balances against what the fills explain. Off once may be a trade that is
// on its way; off twice with the same trades is drift.
func (rc *recon) compareBalances(list []exchange.Balance) {
	for _, s := range rc.books.manager.Book().Pending() {
		if !s.Settled || s.State == order.Lost || s.State == order.Sent {
			return // something is open: the next look decides
		}
	}
	off := rc.computeDrift(list)
	rc.suspectFills(off)
	if len(off) == 0 {
		if rc.suspect = -1; rc.reported {
			rc.clearDrift() // whatever it was has been undone
		}
		return
	}
	if rc.suspect != rc.books.trades || len(rc.changed) > 0 {
		rc.suspect = rc.books.trades
		rc.money = time.Now().Add(5 * time.Second)
		return
	}
	text := driftText(off)
	if rc.reported && text == driftText(rc.off) {
		return
	}
	rc.reported, rc.off = true, off
	rc.books.raiseWarning(CodeBalanceDrift, text)
	rc.books.guard.Raise(risk.Reason{Code: CodeBalanceDrift, State: risk.Reducing, Clears: risk.WhenGone,
		Since: rc.books.now(), Message: text})
}

// computeDrift is by how much balances are off what the run's fills explain; empty when they are not.
func (rc *recon) computeDrift(list []exchange.Balance) map[string]dec {
	have := totals(list)
	want, off := map[string]dec{}, map[string]dec{}
	ledger := rc.books.manager.Ledger()
	quote := rc.cfg.Symbols[0].Quote()
	want[quote] = order.Plus(rc.base[quote],
		order.Minus(order.Plus(ledger.Cash(), ledger.Valued()), ledger.Initial()))
	assets := []string{quote}
	for _, s := range rc.cfg.Symbols {
		want[s.Base()] = order.Plus(rc.base[s.Base()], ledger.Quantity(s))
		assets = append(assets, s.Base())
	}
	for _, f := range ledger.ThirdFees() {
		if _, ok := want[f.Asset]; !ok {
			want[f.Asset] = rc.base[f.Asset]
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
func (rc *recon) readMarkets() {
	readVenue(rc.session, func(ctx context.Context, c *exchange.Connection) ([]exchange.Market, error) {
		return c.Markets(ctx)
	}, func(list []exchange.Market, _ time.Time, err error) {
		if err != nil {
			return
		}
		for _, m := range list {
			i := slices.IndexFunc(rc.markets, func(have exchange.Market) bool {
				return have.Symbol == m.Symbol
			})
			if i < 0 {
				continue
			}
			rc.marketStatus(rc.markets[i], m)
			rc.markets[i] = m
			rc.books.withGate(func() { rc.books.manager.SetMarket(m) })
		}
	})
}

// How many symbols have their fills read in one round: those where something happened, and some of the others
// in turn. With a round a minute that is at most 880 of the 6,000 weights that a minute has at Binance,
// however many symbols a run has.
const (
	mostChanged = 40
	mostInTurn  = 4
)

// fillReads is whose fills are to be read.
type fillReads struct {
	// changed are the symbols of which something has happened since their fills were read, in the order in
	// which it did.
	changed []market.Symbol
	// read is when the fills of a symbol were asked for last; next is the place of the one whose turn is
	// next.
	read map[market.Symbol]time.Time
	next int
}

// markChanged notes that something has happened.
func (f *fillReads) markChanged(s market.Symbol) {
	if !slices.Contains(f.changed, s) {
		f.changed = append(f.changed, s)
	}
}

// markRead notes that fills are known up to a time.
func (f *fillReads) markRead(s market.Symbol, asked time.Time) {
	if f.read == nil {
		f.read = map[market.Symbol]time.Time{}
	}
	f.read[s] = asked
	f.changed = slices.DeleteFunc(f.changed, func(t market.Symbol) bool { return t == s })
}

// changedSymbols are the symbols where something may have happened unheard: those with orders that are not
// at their end too.
func (rc *recon) changedSymbols() []market.Symbol {
	for _, o := range rc.books.manager.Book().Pending() {
		rc.markChanged(o.Spec.Symbol)
	}
	return slices.Clone(rc.changed)
}

// symbolsInTurn are the symbols whose fills are read in this round.
func (rc *recon) symbolsInTurn() []market.Symbol {
	list := slices.Clone(rc.changed[:min(len(rc.changed), mostChanged)])
	for range min(mostInTurn, len(rc.cfg.Symbols)) {
		s := rc.cfg.Symbols[rc.next%len(rc.cfg.Symbols)]
		if rc.next++; !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// fillsSince returns the time from which the fills of a symbol are not known: of its orders that are not at
// their end, and of the last look, with room for what came late.
func (rc *recon) fillsSince(s market.Symbol) time.Time {
	since := time.Now().Add(-2 * moneyEvery)
	if read, ok := rc.read[s]; ok && read.Add(-moneyEvery).Before(since) {
		since = read.Add(-moneyEvery)
	}
	for _, o := range rc.books.manager.Book().Pending() {
		if o.Spec.Symbol == s && o.Written.Before(since) {
			since = o.Written
		}
	}
	return since
}

// suspectFills has the fills read that could explain why balances are off, before that is called drift.
func (rc *recon) suspectFills(off map[string]dec) {
	if len(off) == 0 || rc.suspect == rc.books.trades {
		return
	}
	for _, s := range rc.cfg.Symbols {
		if _, is := off[s.Base()]; is {
			rc.markChanged(s)
		}
	}
	for _, o := range rc.books.manager.Book().Pending() {
		rc.markChanged(o.Spec.Symbol)
	}
}
