package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Replayed is the books of a run that a crash cut short, as the journal has them.
type Replayed struct {
	symbols []market.Symbol
	ledger  *order.Ledger
	last    map[market.Symbol]dec
	at      market.Time
}

// ReadBack plays what the journal has of a live run into a recorder: orders as they stood,
// fills, round trips and the account at each of the steps. Candles is told every step first. A
// run that did not get as far as its books has none: nil.
func ReadBack(ctx context.Context, j *journal.Journal, info journal.Info, window int64, steps []sim.Batch, rec sim.Recorder, candles func(step int64, b *sim.Batch)) (*Replayed, error) {
	if !info.StartCash.Valid {
		return nil, nil
	}
	ledger, err := order.NewLedger(info.StartCash.Decimal, info.Symbols)
	if err != nil {
		return nil, err
	}
	markets, err := DecodeMarkets(info.Markets)
	if err != nil {
		return nil, fmt.Errorf("journal: markets of %s: %w", info.RunID, err)
	}
	p := &replay{Replayed: &Replayed{symbols: info.Symbols, ledger: ledger, last: map[market.Symbol]dec{}}, rec: rec, rules: map[market.Symbol]order.Rules{}, equity: map[market.Time]journal.Equity{}}
	for _, m := range markets {
		p.rules[m.Symbol] = order.Rules{Market: m}
	}
	if err := p.read(ctx, j, info.RunID); err != nil {
		return nil, err
	}
	for i := range steps {
		if err := p.step(int64(i), &steps[i], window, candles); err != nil {
			return nil, err
		}
	}
	return p.Replayed, p.fill(int64(len(steps)), func(journal.Fill) bool { return true })
}

// replay is one run being read back.
type replay struct {
	*Replayed
	rec    sim.Recorder
	rules  map[market.Symbol]order.Rules
	orders map[string]market.Order
	bodies map[string]intentBody
	fills  []journal.Fill // not played yet
	prices []pricedAt     // of what fees were paid in, by time
	priced bool           // one was known
	equity map[market.Time]journal.Equity
}

// read takes everything but candles from the journal.
func (p *replay) read(ctx context.Context, j *journal.Journal, runID string) error {
	intents, err := journal.All(func(page journal.Page) (journal.Rows[journal.Intent], error) { return j.Intents(ctx, runID, page) })
	if err != nil {
		return err
	}
	p.bodies = map[string]intentBody{}
	for _, in := range intents {
		var b intentBody
		if err := json.Unmarshal(in.Body, &b); err != nil {
			return fmt.Errorf("journal: intent %s: %w", in.ClientOrderID, err)
		}
		p.bodies[in.ClientOrderID] = b
	}
	if err := p.readMoney(ctx, j, runID); err != nil {
		return err
	}
	if p.fills, err = journal.All(func(page journal.Page) (journal.Rows[journal.Fill], error) { return j.Fills(ctx, runID, page) }); err != nil {
		return err
	}
	equity, err := journal.All(func(page journal.Page) (journal.Rows[journal.Equity], error) { return j.Equity(ctx, runID, page) })
	if err != nil {
		return err
	}
	for _, e := range equity {
		p.equity[e.At] = e
	}
	entries, err := journal.All(func(page journal.Page) (journal.Rows[journal.Entry], error) {
		return j.Log(ctx, runID, page, LogOrders)
	})
	if err != nil {
		return err
	}
	return p.readOrders(entries)
}

// readOrders gives the recorder every state of the strategy's orders that was written down.
func (p *replay) readOrders(entries []journal.Entry) error {
	p.orders = map[string]market.Order{}
	for _, e := range entries {
		orders, err := decodeOrders(e)
		if err != nil {
			return fmt.Errorf("journal: orders: %w", err)
		}
		for i := range orders {
			o := orders[i]
			if int(o.ID) > len(p.orders)+1 || o.ID < 1 {
				return fmt.Errorf("journal: order %s comes before those that it follows", o.ID)
			}
			p.orders[o.ID.String()] = o
			p.rec.Order(0, &o)
		}
	}
	return nil
}

// step plays the fills up to a close, then the candles and the account at it.
func (p *replay) step(i int64, b *sim.Batch, window int64, candles func(int64, *sim.Batch)) error {
	candles(i, b)
	p.at = b.CloseTime
	if err := p.fill(i, func(f journal.Fill) bool { return f.At <= b.CloseTime }); err != nil {
		return err
	}
	for n, closed := range b.Closed {
		if !closed {
			continue
		}
		s := p.symbols[n]
		p.ledger.OnCandle(s, b.Candles[n])
		if last, err := order.FromFloat(b.Candles[n].Close); err == nil {
			p.last[s] = last
		}
		if t := p.ledger.Settle(s, p.rules[s], p.last[s]); t != nil {
			p.rec.Trade(i, t)
		}
	}
	if e, ok := p.equity[b.CloseTime]; ok && i >= window {
		held := float(order.Minus(e.Equity, e.Cash))
		p.rec.Equity(i, &sim.Mark{Time: e.At, Equity: float(e.Equity), Cash: float(e.Cash), PositionValue: held, Notional: held})
	}
	return nil
}

// fill plays fills in the order in which they were written, as long as they are wanted.
func (p *replay) fill(i int64, wanted func(journal.Fill) bool) error {
	for len(p.fills) > 0 && wanted(p.fills[0]) {
		f := p.fills[0]
		p.fills = p.fills[1:]
		p.price(f.At)
		b := p.bodies[f.ClientOrderID]
		if b.Settles {
			continue // of what earlier runs left
		}
		origin := order.Origin{Manual: b.Manual, Reference: b.Reference}
		if o, ok := p.orders[b.OrderID]; ok {
			origin.Order, origin.Role, origin.Tag = o.ID, o.Role, o.Tag
		}
		switch {
		case b.StopPrice.IsPos():
			origin.Reference = b.StopPrice
		case b.LimitPrice.IsPos():
			origin.Reference = dec{}
		}
		shown, trade, err := p.ledger.Fill(exchange.Fill{
			TradeID: f.TradeID, ClientOrderID: f.ClientOrderID, Symbol: f.Symbol, Side: f.Side, Price: f.Price, Quantity: f.Quantity,
			Fee: f.Fee, FeeAsset: f.FeeAsset, Liquidity: f.Liquidity, Time: f.At,
		}, origin)
		if err != nil {
			return err
		}
		p.rec.Fill(i, &shown)
		if trade != nil {
			p.rec.Trade(i, trade)
		}
	}
	return nil
}

// InitialCash is the free quote balance at the start.
func (r *Replayed) InitialCash() dec { return r.ledger.Initial() }

// CashExact is the cash of the run.
func (r *Replayed) CashExact() dec { return r.ledger.Cash() }

// Positions are the open ones, in request order.
func (r *Replayed) Positions() ([]market.Position, error) {
	list := []market.Position{}
	for _, s := range r.symbols {
		if p := r.ledger.Position(s, r.last[s], r.at); p != nil {
			list = append(list, *p)
		}
	}
	return list, nil
}

// FinalValue is cash plus every position at its last close.
func (r *Replayed) FinalValue() (dec, error) {
	return r.ledger.Equity(func(s market.Symbol) dec { return r.last[s] }), nil
}
