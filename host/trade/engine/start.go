package engine

import (
	"context"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/oms"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// How often a snapshot is asked for before the start fails.
const (
	snapshotTries = 3
	snapshotPause = time.Second
)

// starter is what a run does before its first candle.
type starter struct {
	*parts
	reachBy time.Time // when it gives up on a venue that refuses requests
	sold    int64     // sequence numbers that it used to sell what earlier runs left
	release []left    // what it hands to the operator
}

// startRun is everything up to the snapshot. With a connector that is gone on the way it begins anew.
func (sr *starter) startRun(ctx context.Context) error {
	sr.loop.enterPhase(Starting)
	for {
		sr.reachBy = time.Now().Add(sr.cfg.ConnectLimit)
		l, err := sr.session.dialVenue(ctx, nil)
		if err != nil {
			return err
		}
		sr.session.account = l.id
		sr.session.useLink(l)
		sr.loop.enterPhase(Reconciling)
		err = l.conn.While(ctx, func(alive context.Context) error { return sr.reconcileAccount(alive, l) })
		if err == nil && len(sr.session.crashes) > 0 {
			sr.books.clearAlarm(CodeConnectorCrashed, "")
			sr.books.raiseWarning(CodeConnectorBack, "the connector of "+sr.cfg.Venue.ID+" is back")
		}
		if err == nil || ctx.Err() != nil || !l.conn.IsGone() {
			return err
		}
		if err := sr.session.dropLink(); err != nil {
			return err
		}
	}
}

// reconcileAccount is steps 2 to 6 of a start, in this order. No order leaves but the cancels of earlier
// runs' entries and, where the start is asked to, what ends their positions.
func (sr *starter) reconcileAccount(ctx context.Context, l *link) error {
	if err := sr.readRules(ctx); err != nil {
		return err
	}
	if err := sr.session.listenAccount(ctx, l); err != nil {
		return err
	}
	s := sr.newSettling()
	since, symbols, err := sr.settleEarlier(ctx, s)
	if err != nil {
		return err
	}
	failpoint.Point(failpoint.MidReconcile)
	if err := sr.settleOpen(ctx, s); err != nil {
		return err
	}
	balances, err := snapshot(ctx, sr, "balances", func(ctx context.Context) ([]exchange.Balance, error) {
		if err := sr.earlierFills(ctx, since, symbols); err != nil {
			return nil, err
		}
		return l.conn.Balances(ctx)
	})
	if err != nil {
		return err
	}
	if balances, err = sr.settleLeft(ctx, s, balances); err != nil {
		return err
	}
	return sr.openBooks(balances)
}

// readRules takes the rules of the run's symbols, in their order.
func (sr *starter) readRules(ctx context.Context) error {
	all, err := snapshot(ctx, sr, "markets", sr.session.link.conn.Markets)
	if err != nil {
		return err
	}
	sr.recon.markets, err = PickMarkets(all, sr.cfg.Symbols, sr.cfg.Venue.ID)
	return err
}

// PickMarkets are the rules of some symbols, in their order; a *Fault where the venue does not trade one.
func PickMarkets(all []exchange.Market, symbols []market.Symbol, venue string) ([]exchange.Market, error) {
	picked := make([]exchange.Market, 0, len(symbols))
	for _, s := range symbols {
		i := slices.IndexFunc(all, func(m exchange.Market) bool { return m.Symbol == s })
		if i < 0 || !all[i].Trading {
			f := ExchangeFault("symbol", nil, "%s does not trade %s", venue, s)
			f.Data["symbol"] = s
			return nil, f
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}

// snapshot reads something of the venue, a few times if need be. A venue that refuses requests for
// a while is no failure.
func snapshot[T any](ctx context.Context, sr *starter, what string,
	read func(context.Context) (T, error)) (T, error) {
	for try := 1; ; try++ {
		limit, cancel := context.WithTimeout(ctx, callLimit)
		got, err := read(limit)
		cancel()
		if err == nil {
			return got, nil
		}
		r := exchange.ResultOf(err)
		if r.Outcome == exchange.AuthFailed {
			return got, err
		}
		if r.HoldOff() > 0 {
			if err := sr.waitOutBan(ctx, r); err != nil {
				return got, err
			}
			try--
			continue
		}
		if try == snapshotTries || !exchange.Pause(ctx, snapshotPause) {
			if ctx.Err() != nil {
				return got, context.Cause(ctx)
			}
			return got, ExchangeFault("reconcile", err, "the venue did not tell its %s: %v", what, err)
		}
	}
}

// waitOutBan waits as long as the venue asks for after a request that it refused unexecuted. It fails where
// that is longer than a start may take to reach it.
func (sr *starter) waitOutBan(ctx context.Context, r exchange.Result) error {
	wait := r.HoldOff()
	if time.Until(sr.reachBy) < wait {
		err := &exchange.Error{Result: r}
		return ExchangeFault("unreachable", err,
			"%s wants no requests for longer than a start may take, %s: %v", sr.cfg.Venue.ID,
			sr.cfg.ConnectLimit, err)
	}
	if !exchange.Pause(ctx, wait) {
		return context.Cause(ctx)
	}
	return nil
}

// openBooks begins the books with what the account has.
func (sr *starter) openBooks(balances []exchange.Balance) error {
	quote := sr.cfg.Symbols[0].Quote()
	var cash dec
	for _, b := range balances {
		if b.Asset == quote {
			cash = b.Free
		}
	}
	if !cash.IsPos() {
		return ExchangeFault("reconcile", nil, "the account has no free %s to trade with", quote)
	}
	now := sr.session.clock.Now()
	guard, err := risk.NewGuard(risk.Setup{Limits: sr.cfg.Limits, Mode: risk.Enforce,
		Timeframe: sr.cfg.Timeframe, StartEquity: cash, Start: now, Quote: quote})
	if err != nil {
		return err
	}
	books, err := oms.New(oms.Config{
		RunID: sr.cfg.RunID, Symbols: sr.cfg.Symbols, Markets: sr.recon.markets,
		OrderTypes: sr.cfg.Venue.OrderTypes, Cash: cash, Barrier: sr.session.barrier,
		Conditions: sr.books.conditions,
		Headroom:   sr.books.limitHeadroom, Seq: sr.sold, Unprotected: sr.cfg.Unprotected,
		Collar: sr.cfg.Limits.PriceCollar,
	})
	if err != nil {
		return err
	}
	text, err := EncodeMarkets(sr.recon.markets)
	if err != nil {
		return err
	}
	entries := []journal.Entry{{Kind: LogReconcile,
		Data: map[string]any{"after": "start", "balances": balancesRow(balances)}}}
	if len(sr.release) > 0 {
		entries = append(entries,
			journal.Entry{Kind: journal.KindReleased, Data: map[string]any{"left": sr.release}})
		sr.reportSettled("what earlier runs had left is yours from now on: " + describeLeft(sr.release))
	}
	err = sr.cfg.Run.Connected(context.Background(), journal.Connected{
		AccountID: sr.session.account, Markets: text,
		StartCash: decimal.NullDecimal{Decimal: cash, Valid: true},
	}, entries...)
	if err != nil {
		return err
	}
	sr.books.guard = guard
	if err := sr.books.requireAnyOrder(cash, func(int) dec { return dec{} }); err != nil {
		return err
	}
	sr.books.symbols = make([]risk.Symbol, len(sr.cfg.Symbols))
	for i, s := range sr.cfg.Symbols {
		sr.books.symbols[i].Symbol = s
	}
	wall := time.Now()
	begun := map[market.Symbol]time.Time{}
	for _, s := range sr.cfg.Symbols {
		begun[s] = wall
	}
	sr.recon.synced, sr.recon.base, sr.recon.suspect = true, totals(balances), -1
	sr.recon.orders, sr.recon.money = wall.Add(ordersEvery), wall.Add(moneyEvery)
	sr.recon.fillReads = fillReads{read: begun}
	sr.recon.spare = order.Minus(sr.recon.base[quote], cash)
	sr.session.reportLink(0)
	sr.books.withGate(func() {
		sr.books.manager = books
		for _, b := range balances {
			sr.books.manager.SetFree(b.Asset, b.Free)
		}
	})
	if sr.books.fees.asset = sr.session.link.fees; slices.ContainsFunc(sr.cfg.Symbols,
		func(s market.Symbol) bool {
			return s.Base() == sr.books.fees.asset || s.Quote() == sr.books.fees.asset
		}) {
		sr.books.fees.asset = ""
	}
	sr.books.askFeePrice()
	return nil
}

func balancesRow(list []exchange.Balance) map[string]any {
	out := map[string]any{}
	for _, b := range list {
		out[b.Asset] = map[string]string{"free": b.Free.String(), "locked": b.Locked.String()}
	}
	return out
}

// settleOpen looks at what is open on the run's symbols: orders with ids of ours that the
// journal does not know end the run; foreign ones are told and never touched.
func (sr *starter) settleOpen(ctx context.Context, s *settling) error {
	open, err := snapshot(ctx, sr, "open orders", sr.session.link.conn.OpenOrders)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(o exchange.Order) bool {
		return !slices.Contains(sr.cfg.Symbols, o.Symbol)
	})
	ids, foreign := []string{}, []string{}
	for _, o := range open {
		if order.Ours(o.ClientOrderID) {
			ids = append(ids, o.ClientOrderID)
		} else {
			foreign = append(foreign, o.ClientOrderID)
		}
	}
	for _, id := range foreign {
		sr.recon.warnUnknownOrder(id)
	}
	strange, err := sr.cfg.Journal.NotOurs(ctx, ids)
	if err != nil {
		return err
	}
	if len(strange) > 0 {
		return unknownOrdersFault(sr.cfg.Venue.ID, strange)
	}
	return s.listed(ctx, open, ids)
}

// listed cancels the entries that earlier runs left open although the journal has their end.
func (s *settling) listed(ctx context.Context, open []exchange.Order, ids []string) error {
	for _, o := range open {
		if _, known := s.book.Get(o.ClientOrderID); known || !slices.Contains(ids, o.ClientOrderID) {
			continue
		}
		spec := order.Spec{
			ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Side: o.Side, Type: o.Type,
			Quantity: o.Quantity, LimitPrice: o.LimitPrice,
			StopPrice: o.StopPrice, Exit: o.Side == market.Sell,
		}
		if !spec.Quantity.IsPos() {
			spec.Quantity = decimal.One
		}
		if err := s.restore(spec, "", time.Now()); err != nil {
			return err
		}
	}
	return s.run(ctx)
}

// settleEarlier finds out what became of the orders that earlier runs left on the account, and of those
// of which not every fill was heard, and takes back the entries that are open. It returns since when their
// fills matter (zero: there are none), and on which symbols: theirs may be others than the run's.
func (sr *starter) settleEarlier(ctx context.Context,
	s *settling) (since market.Time, symbols []market.Symbol, err error) {
	// A start that begins anew may have orders of its own by which it sells what was left.
	venue := sr.cfg.Run.Info().Exchange
	left, err := sr.cfg.Journal.EarlierOpenOrders(ctx, venue, sr.session.account, "")
	if err != nil {
		return 0, nil, err
	}
	short, err := sr.cfg.Journal.EarlierUnfilled(ctx, venue, sr.session.account, "")
	if left = append(left, short...); err != nil || len(left) == 0 {
		return 0, nil, err
	}
	symbols = slices.Clone(sr.cfg.Symbols)
	for _, o := range left {
		body, err := bodyOf(o.Intent)
		if err != nil {
			return 0, nil, err
		}
		if since == 0 || o.CreatedAt < since {
			since = o.CreatedAt
		}
		if !slices.Contains(symbols, o.Symbol) {
			symbols = append(symbols, o.Symbol)
		}
		spec := body.Spec
		spec.ListID, spec.Sibling = "", "" // of another run a leg is asked for by itself
		if err := s.restore(spec, o.RunID, sr.session.localTime(o.CreatedAt)); err != nil {
			return 0, nil, err
		}
	}
	return since, symbols, s.run(ctx)
}

// earlierFills writes down the fills of earlier runs' orders that no run booked.
func (sr *starter) earlierFills(ctx context.Context, since market.Time, symbols []market.Symbol) error {
	if since == 0 {
		return nil
	}
	for _, symbol := range symbols {
		page, err := sr.session.link.conn.Fills(ctx, symbol, since)
		if err != nil {
			return err
		}
		for _, f := range page.Fills {
			if err := sr.keepEarlier(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}
