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
	"github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// How often a snapshot is asked for before the start fails.
const (
	snapshotTries = 3
	snapshotPause = time.Second
)

// start is everything up to the snapshot. With a connector that is gone on the way it begins anew.
func (e *Engine) start(ctx context.Context) error {
	e.enter(Starting)
	for {
		e.reachBy = time.Now().Add(e.cfg.ConnectLimit)
		l, err := e.dial(ctx, nil)
		if err != nil {
			return err
		}
		e.account = l.id
		e.use(l)
		e.enter(Reconciling)
		err = l.conn.While(ctx, func(alive context.Context) error { return e.reconcile(alive, l) })
		if err == nil && len(e.crashes) > 0 {
			e.clear(CodeConnectorCrashed, "")
			e.warn(CodeConnectorBack, "the connector of "+e.cfg.Venue.ID+" is back")
		}
		if err == nil || ctx.Err() != nil || !l.conn.IsGone() {
			return err
		}
		if err := e.lose(); err != nil {
			return err
		}
	}
}

// reconcile is steps 2 to 6 of a start, in this order. No order leaves but the cancels of earlier
// runs' entries and, where the start is asked to, what ends their positions.
func (e *Engine) reconcile(ctx context.Context, l *link) error {
	if err := e.readRules(ctx); err != nil {
		return err
	}
	if err := e.listenAccount(ctx, l); err != nil {
		return err
	}
	s := e.newSettling()
	since, symbols, err := e.settleEarlier(ctx, s)
	if err != nil {
		return err
	}
	failpoint.Point(failpoint.MidReconcile)
	if err := e.settleOpen(ctx, s); err != nil {
		return err
	}
	balances, err := snapshot(ctx, e, "balances", func(ctx context.Context) ([]exchange.Balance, error) {
		if err := e.earlierFills(ctx, since, symbols); err != nil {
			return nil, err
		}
		return l.conn.Balances(ctx)
	})
	if err != nil {
		return err
	}
	if balances, err = e.settleLeft(ctx, s, balances); err != nil {
		return err
	}
	return e.openBooks(balances)
}

// readRules takes the rules of the run's symbols, in their order.
func (e *Engine) readRules(ctx context.Context) error {
	all, err := snapshot(ctx, e, "markets", e.link.conn.Markets)
	if err != nil {
		return err
	}
	e.markets = nil
	for _, s := range e.cfg.Symbols {
		i := slices.IndexFunc(all, func(m exchange.Market) bool { return m.Symbol == s })
		if i < 0 || !all[i].Trading {
			f := ExchangeFault("symbol", nil, "%s does not trade %s", e.cfg.Venue.ID, s)
			f.Data["symbol"] = s
			return f
		}
		e.markets = append(e.markets, all[i])
	}
	return nil
}

// snapshot reads something of the venue, a few times if need be. A venue that wants no requests for
// a while is no failure.
func snapshot[T any](ctx context.Context, e *Engine, what string, read func(context.Context) (T, error)) (T, error) {
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
			if err := e.sitOut(ctx, r); err != nil {
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

// sitOut waits as long as the venue wants after a request that it refused unexecuted. It fails where
// that is longer than a start may take to reach it.
func (e *Engine) sitOut(ctx context.Context, r exchange.Result) error {
	wait := r.HoldOff()
	if time.Until(e.reachBy) < wait {
		err := &exchange.Error{Result: r}
		return ExchangeFault("unreachable", err, "%s wants no requests for longer than a start may take, %s: %v", e.cfg.Venue.ID, e.cfg.ConnectLimit, err)
	}
	if !exchange.Pause(ctx, wait) {
		return context.Cause(ctx)
	}
	return nil
}

// openBooks begins the books with what the account has.
func (e *Engine) openBooks(balances []exchange.Balance) error {
	quote := e.cfg.Symbols[0].Quote()
	var cash dec
	for _, b := range balances {
		if b.Asset == quote {
			cash = b.Free
		}
	}
	if !cash.IsPos() {
		return ExchangeFault("reconcile", nil, "the account has no free %s to trade with", quote)
	}
	now := e.clock.Now()
	guard, err := risk.NewGuard(risk.Setup{Limits: e.cfg.Limits, Mode: risk.Enforce, Timeframe: e.cfg.Timeframe, StartEquity: cash, Start: now})
	if err != nil {
		return err
	}
	books, err := desk.New(desk.Config{
		RunID: e.cfg.RunID, Symbols: e.cfg.Symbols, Markets: e.markets, OrderTypes: e.cfg.Venue.OrderTypes, Cash: cash, Shut: e.shut,
		Room: e.room, Seq: e.sold, Unprotected: e.cfg.Unprotected, Collar: e.cfg.Limits.PriceCollar,
	})
	if err != nil {
		return err
	}
	text, err := EncodeMarkets(e.markets)
	if err != nil {
		return err
	}
	entries := []journal.Entry{{Kind: LogReconcile, Data: map[string]any{"after": "start", "balances": plain(balances)}}}
	if len(e.release) > 0 {
		entries = append(entries, journal.Entry{Kind: journal.KindReleased, Data: map[string]any{"left": e.release}})
		e.settled("what earlier runs had left is yours from now on: " + words(e.release))
	}
	err = e.cfg.Run.Connected(context.Background(), journal.Connected{
		AccountID: e.account, Markets: text, StartCash: decimal.NullDecimal{Decimal: cash, Valid: true},
	}, entries...)
	if err != nil {
		return err
	}
	e.guard = guard
	if err := e.possible(cash, func(int) dec { return dec{} }); err != nil {
		return err
	}
	e.symbols = make([]risk.Symbol, len(e.cfg.Symbols))
	for i, s := range e.cfg.Symbols {
		e.symbols[i].Symbol = s
	}
	wall := time.Now()
	begun := map[market.Symbol]time.Time{}
	for _, s := range e.cfg.Symbols {
		begun[s] = wall
	}
	e.recon = recon{synced: true, fillReads: fillReads{read: begun}, base: totals(balances), suspect: -1, orders: wall.Add(ordersEvery), money: wall.Add(moneyEvery)}
	e.recon.spare = order.Minus(e.recon.base[quote], cash)
	e.tellLink(0)
	e.locked(func() {
		e.desk = books
		for _, b := range balances {
			e.desk.SetFree(b.Asset, b.Free)
		}
	})
	if e.fees.asset = e.link.fees; slices.ContainsFunc(e.cfg.Symbols, func(s market.Symbol) bool { return s.Base() == e.fees.asset || s.Quote() == e.fees.asset }) {
		e.fees.asset = ""
	}
	e.askFeePrice()
	return nil
}

func plain(list []exchange.Balance) map[string]any {
	out := map[string]any{}
	for _, b := range list {
		out[b.Asset] = map[string]string{"free": b.Free.String(), "locked": b.Locked.String()}
	}
	return out
}

// settleOpen looks at what is open on the run's symbols: orders with ids of ours that the
// journal does not know end the run; foreign ones are told and never touched.
func (e *Engine) settleOpen(ctx context.Context, s *settling) error {
	open, err := snapshot(ctx, e, "open orders", e.link.conn.OpenOrders)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(o exchange.Order) bool { return !slices.Contains(e.cfg.Symbols, o.Symbol) })
	ids, foreign := []string{}, []string{}
	for _, o := range open {
		if order.Ours(o.ClientOrderID) {
			ids = append(ids, o.ClientOrderID)
		} else {
			foreign = append(foreign, o.ClientOrderID)
		}
	}
	for _, id := range foreign {
		e.foreign(id)
	}
	strange, err := e.cfg.Journal.NotOurs(ctx, ids)
	if err != nil {
		return err
	}
	if len(strange) > 0 {
		return strangers(e.cfg.Venue.ID, strange)
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
			ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Side: o.Side, Type: o.Type, Quantity: o.Quantity, LimitPrice: o.LimitPrice,
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
// of which not every fill was heard, and takes back the entries that are open. It returns since when their fills matter (zero: there are none),
// and on which symbols: theirs may be others than the run's.
func (e *Engine) settleEarlier(ctx context.Context, s *settling) (since market.Time, symbols []market.Symbol, err error) {
	// A start that begins anew may have orders of its own by which it sells what was left.
	venue := e.cfg.Run.Info().Exchange
	left, err := e.cfg.Journal.EarlierOpenOrders(ctx, venue, e.account, "")
	if err != nil {
		return 0, nil, err
	}
	short, err := e.cfg.Journal.EarlierUnfilled(ctx, venue, e.account, "")
	if left = append(left, short...); err != nil || len(left) == 0 {
		return 0, nil, err
	}
	symbols = slices.Clone(e.cfg.Symbols)
	for _, o := range left {
		spec, err := specOf(o)
		if err != nil {
			return 0, nil, err
		}
		if since == 0 || o.CreatedAt < since {
			since = o.CreatedAt
		}
		if !slices.Contains(symbols, o.Symbol) {
			symbols = append(symbols, o.Symbol)
		}
		if err := s.restore(spec, o.RunID, e.moment(o.CreatedAt)); err != nil {
			return 0, nil, err
		}
	}
	return since, symbols, s.run(ctx)
}

// earlierFills writes down the fills of earlier runs' orders that nobody saw.
func (e *Engine) earlierFills(ctx context.Context, since market.Time, symbols []market.Symbol) error {
	if since == 0 {
		return nil
	}
	for _, symbol := range symbols {
		page, err := e.link.conn.Fills(ctx, symbol, since)
		if err != nil {
			return err
		}
		for _, f := range page.Fills {
			if err := e.keepEarlier(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}
