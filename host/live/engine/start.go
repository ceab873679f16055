package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/live/crash"
	"github.com/assay-run/assay/host/live/journal"
	"github.com/assay-run/assay/host/live/order"
	"github.com/assay-run/assay/host/live/order/desk"
	"github.com/assay-run/assay/host/live/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// How often a snapshot is asked for before the start fails.
const (
	snapshotTries = 3
	snapshotPause = time.Second
)

// start is everything up to the snapshot: steps 1 to 6 of a start, in this order. No order
// leaves but the cancels of earlier runs' orders.
func (e *Engine) start(ctx context.Context) error {
	e.enter(Starting)
	l, err := e.dial(ctx)
	if err != nil {
		return err
	}
	e.link, e.account, e.clock = l, l.id, l.clock
	e.enter(Reconciling)
	if err := e.readRules(ctx); err != nil {
		return err
	}
	if err := e.listenAccount(ctx, l); err != nil {
		return err
	}
	since, err := e.settleEarlier(ctx)
	if err != nil {
		return err
	}
	crash.Point(crash.MidReconcile)
	if err := e.settleOpen(ctx); err != nil {
		return err
	}
	balances, err := snapshot(ctx, "balances", func(ctx context.Context) ([]exchange.Balance, error) {
		if err := e.earlierFills(ctx, since); err != nil {
			return nil, err
		}
		return l.conn.Account.Balances(ctx)
	})
	if err != nil {
		return err
	}
	return e.openBooks(balances)
}

// readRules takes the rules of the run's symbols, in their order.
func (e *Engine) readRules(ctx context.Context) error {
	all, err := snapshot(ctx, "markets", e.link.conn.Session.Markets)
	if err != nil {
		return err
	}
	for _, s := range e.cfg.Symbols {
		i := slices.IndexFunc(all, func(m exchange.Market) bool { return m.Symbol == s })
		if i < 0 || !all[i].Trading {
			f := exchangeFault("symbol", nil, "%s does not trade %s", e.cfg.Venue.ID, s)
			f.Data["symbol"] = s
			return f
		}
		e.markets = append(e.markets, all[i])
	}
	return nil
}

// snapshot reads something of the venue, a few times if need be.
func snapshot[T any](ctx context.Context, what string, read func(context.Context) (T, error)) (T, error) {
	for try := 1; ; try++ {
		limit, cancel := context.WithTimeout(ctx, callLimit)
		got, err := read(limit)
		cancel()
		if err == nil {
			return got, nil
		}
		if answer, ok := errors.AsType[*exchange.Error](err); ok && answer.Result.Outcome == exchange.AuthFailed {
			return got, err
		}
		if try == snapshotTries || !pause(ctx, snapshotPause) {
			if ctx.Err() != nil {
				return got, context.Cause(ctx)
			}
			return got, exchangeFault("reconcile", err, "the venue did not tell its %s: %v", what, err)
		}
	}
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
		return exchangeFault("reconcile", nil, "the account has no free %s to trade with", quote)
	}
	now := e.clock.Now()
	guard, err := risk.NewGuard(risk.Setup{Limits: e.cfg.Limits, Mode: risk.Enforce, Timeframe: e.cfg.Timeframe, StartEquity: cash, Start: now})
	if err != nil {
		return err
	}
	books, err := desk.New(desk.Config{RunID: e.cfg.RunID, Symbols: e.cfg.Symbols, Markets: e.markets, OrderTypes: e.cfg.Venue.OrderTypes, Cash: cash})
	if err != nil {
		return err
	}
	text, err := json.Marshal(e.markets)
	if err != nil {
		return err
	}
	err = e.cfg.Run.Connected(context.Background(), journal.Connected{
		AccountID: e.account, Markets: text, StartCash: decimal.NullDecimal{Decimal: cash, Valid: true},
	}, journal.Entry{Kind: LogReconcile, Data: map[string]any{"after": "start", "balances": plain(balances)}})
	if err != nil {
		return err
	}
	e.guard = guard
	e.symbols = make([]risk.Symbol, len(e.cfg.Symbols))
	for i, s := range e.cfg.Symbols {
		e.symbols[i].Symbol = s
	}
	wall := time.Now()
	e.recon = recon{synced: true, base: totals(balances), suspect: -1, orders: wall.Add(ordersEvery), money: wall.Add(moneyEvery)}
	e.tellLink(0)
	e.cfg.Gate.Lock()
	defer e.cfg.Gate.Unlock()
	e.desk = books
	for _, b := range balances {
		e.desk.SetFree(b.Asset, b.Free)
	}
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
func (e *Engine) settleOpen(ctx context.Context) error {
	open, err := snapshot(ctx, "open orders", e.link.conn.Account.OpenOrders)
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
	return e.settleListed(ctx, open, ids)
}

// settleListed cancels what earlier runs left open although the journal has their end.
func (e *Engine) settleListed(ctx context.Context, open []exchange.Order, ids []string) error {
	s := e.newSettling()
	for _, o := range open {
		if !slices.Contains(ids, o.ClientOrderID) {
			continue
		}
		spec := order.Spec{ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Side: o.Side, Type: o.Type, Quantity: o.Quantity, LimitPrice: o.LimitPrice, StopPrice: o.StopPrice}
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
// of which not every fill was heard, and takes back those that are open. It returns since when their fills matter; zero: there are none.
func (e *Engine) settleEarlier(ctx context.Context) (since market.Time, err error) {
	venue := e.cfg.Run.Info().Exchange
	left, err := e.cfg.Journal.EarlierOpenOrders(ctx, venue, e.account, e.cfg.RunID)
	if err != nil {
		return 0, err
	}
	short, err := e.cfg.Journal.EarlierUnfilled(ctx, venue, e.account, e.cfg.RunID)
	if left = append(left, short...); err != nil || len(left) == 0 {
		return 0, err
	}
	s := e.newSettling()
	for _, o := range left {
		spec, err := specOf(o)
		if err != nil {
			return 0, err
		}
		if since == 0 || o.CreatedAt < since {
			since = o.CreatedAt
		}
		if err := s.restore(spec, o.RunID, o.CreatedAt.Time()); err != nil {
			return 0, err
		}
	}
	return since, s.run(ctx)
}

// earlierFills writes down the fills of earlier runs' orders that nobody saw.
func (e *Engine) earlierFills(ctx context.Context, since market.Time) error {
	if since == 0 {
		return nil
	}
	for _, symbol := range e.cfg.Symbols {
		page, err := e.link.conn.Account.Fills(ctx, symbol, since)
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
