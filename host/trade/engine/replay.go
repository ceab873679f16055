package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"

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
func ReadBack(ctx context.Context, j *journal.Journal, info journal.Info, window int64, steps []sim.Batch,
	rec sim.Recorder, candles func(step int64, b *sim.Batch)) (*Replayed, error) {
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
	p := &replay{Replayed: &Replayed{symbols: info.Symbols, ledger: ledger, last: map[market.Symbol]dec{}},
		rec: rec, rules: map[market.Symbol]order.Rules{}, equity: map[market.Time]journal.Equity{}}
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
	orders map[market.OrderID]market.Order
	bodies map[string]intentBody
	fills  []journal.Fill // not played yet
	prices []pricedAt     // of what fees were paid in, by time
	priced bool           // one was known
	equity map[market.Time]journal.Equity
}

// read takes everything but candles from the journal.
func (p *replay) read(ctx context.Context, j *journal.Journal, runID string) error {
	intents, err := journal.All(func(page journal.Page) (journal.Rows[journal.Intent], error) {
		return j.Intents(ctx, runID, page)
	})
	if err != nil {
		return err
	}
	p.bodies = map[string]intentBody{}
	for _, in := range intents {
		if p.bodies[in.ClientOrderID], err = bodyOf(in); err != nil {
			return err
		}
	}
	if err := p.readMoney(ctx, j, runID); err != nil {
		return err
	}
	if p.fills, err = journal.All(func(page journal.Page) (journal.Rows[journal.Fill], error) {
		return j.Fills(ctx, runID, page)
	}); err != nil {
		return err
	}
	equity, err := journal.All(func(page journal.Page) (journal.Rows[journal.Equity], error) {
		return j.Equity(ctx, runID, page)
	})
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
	p.orders = map[market.OrderID]market.Order{}
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
			p.orders[o.ID] = o
			p.rec.Order(0, &o)
		}
	}
	return nil
}

// step plays the fills up to a close, then the candles and the account at it.
func (p *replay) step(i int64, b *sim.Batch, window int64, candles func(int64, *sim.Batch)) error {
	candles(i, b)
	p.at = b.CloseTime
	if err := p.fill(i, func(f journal.Fill) bool { return f.Time <= b.CloseTime }); err != nil {
		return err
	}
	for n, closed := range b.Closed {
		if !closed {
			continue
		}
		s := p.symbols[n]
		p.ledger.OnCandle(s, b.Candles[n])
		if last, err := sim.Decimal(b.Candles[n].Close); err == nil {
			p.last[s] = last
		}
		if t := p.ledger.Settle(s, p.rules[s], p.last[s]); t != nil {
			p.rec.Trade(i, t)
		}
	}
	if e, ok := p.equity[b.CloseTime]; ok && i >= window {
		held := sim.Float(order.Minus(e.Equity, e.Cash))
		p.rec.Equity(i,
			&sim.Mark{Time: e.At, Equity: sim.Float(e.Equity), Cash: sim.Float(e.Cash), PositionValue: held,
				Notional: held})
	}
	return nil
}

// fill plays fills in the order in which they were written, as long as they are wanted.
func (p *replay) fill(i int64, wanted func(journal.Fill) bool) error {
	for len(p.fills) > 0 && wanted(p.fills[0]) {
		f := p.fills[0]
		p.fills = p.fills[1:]
		p.price(f.Time)
		b := p.bodies[f.ClientOrderID]
		if b.Settles {
			continue // of what earlier runs left
		}
		origin := order.Origin{Manual: b.Manual, Reference: b.Reference}
		if o, ok := p.orders[b.Public]; ok {
			origin.Order, origin.Role, origin.Tag = o.ID, o.Role, o.Tag
		}
		switch {
		case b.StopPrice.IsPos():
			origin.Reference = b.StopPrice
		case b.LimitPrice.IsPos():
			origin.Reference = dec{}
		}
		shown, trade, err := p.ledger.Fill(f, origin)
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

// InitialCash returns the free quote balance at the start.
func (r *Replayed) InitialCash() dec { return r.ledger.Initial() }

// CashExact returns the cash of the run.
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

// pricedAt is what an asset that fees are paid in was worth from a time on.
type pricedAt struct {
	at market.Time
	feePriceRow
}

// readMoney takes the transfers of the run's cash and the prices of fees from the journal.
func (p *replay) readMoney(ctx context.Context, j *journal.Journal, runID string) error {
	return journal.Each(func(page journal.Page) (journal.Rows[journal.Entry], error) {
		return j.Log(ctx, runID, page, LogTransfer, LogFeePrice)
	}, func(e journal.Entry) error {
		raw, _ := e.Data.(json.RawMessage)
		if e.Kind == LogTransfer {
			var row transferRow
			if err := json.Unmarshal(raw, &row); err != nil {
				return fmt.Errorf("journal: transfer: %w", err)
			}
			p.ledger.Transfer(row.Run)
			return nil
		}
		at := pricedAt{at: e.At}
		if err := json.Unmarshal(raw, &at.feePriceRow); err != nil {
			return fmt.Errorf("journal: price of a fee: %w", err)
		}
		p.prices = append(p.prices, at)
		return nil
	})
}

// price sets the prices that were known at a time, or, where there were none yet, the first.
func (p *replay) price(at market.Time) {
	for first := !p.priced; len(p.prices) > 0 && (first || p.prices[0].at <= at); first = false {
		p.ledger.SetPrice(p.prices[0].Asset, p.prices[0].Price)
		p.prices, p.priced = p.prices[1:], true
	}
}

// storedMarkets is the column markets of a run. Version 1 was a bare list with the names of Go fields.
type storedMarkets struct {
	Version int               `json:"v"`
	Markets []exchange.Market `json:"markets"`
}

// EncodeMarkets returns the rules of the symbols as the journal keeps them.
func EncodeMarkets(list []exchange.Market) (json.RawMessage, error) {
	return json.Marshal(storedMarkets{journal.Version, list})
}

// DecodeMarkets reads what this or an earlier version wrote; nothing from nothing.
func DecodeMarkets(text json.RawMessage) ([]exchange.Market, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if text[0] == '[' {
		var list []exchange.Market
		err := json.Unmarshal(renameKeysV1(text), &list)
		return list, err
	}
	var stored storedMarkets
	err := json.Unmarshal(text, &stored)
	if err == nil && stored.Version != journal.Version {
		err = fmt.Errorf("version %d, want 1 or %d", stored.Version, journal.Version)
	}
	return stored.Markets, err
}

// keyV1 is a key of version 1, which stored the names of Go fields. In a string a quote has a backslash
// before it.
var keyV1 = regexp.MustCompile(`"[A-Z][A-Za-z]*":`)

// renamedV1 are the keys of version 1 whose words have changed since.
var renamedV1 = map[string]string{
	"id": "order_id", "parent_id": "parent_order_id", "ref": "client_ref", "exchange_id": "exchange_order_id",
}

// renameKeysV1 writes the keys of a text of version 1 as they are today: PriceTick as price_tick.
func renameKeysV1(text []byte) []byte {
	return keyV1.ReplaceAllFunc(text, func(key []byte) []byte {
		var words []byte
		for i, c := range key[1 : len(key)-2] {
			if upper := c < 'a'; upper && i > 0 && key[i] >= 'a' {
				words = append(words, '_')
			}
			words = append(words, c|0x20)
		}
		return []byte(`"` + cmp.Or(renamedV1[string(words)], string(words)) + `":`)
	})
}

// decodeOrders reads an entry of kind LogOrders.
func decodeOrders(e journal.Entry) ([]market.Order, error) {
	raw, _ := e.Data.(json.RawMessage)
	if e.Version == 1 {
		var body struct {
			Orders []orderV1 `json:"orders"`
		}
		if err := json.Unmarshal(renameKeysV1(raw), &body); err != nil {
			return nil, err
		}
		list := make([]market.Order, len(body.Orders))
		for i := range body.Orders {
			if err := body.Orders[i].into(&list[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	var body struct {
		Orders []market.Order `json:"orders"`
	}
	err := json.Unmarshal(raw, &body)
	return body.Orders, err
}

// orderV1 is an order with the numbers that version 1 stored ids and enumerations as.
type orderV1 struct {
	market.Order
	ID          int64 `json:"order_id"`
	ParentID    int64 `json:"parent_order_id"`
	Side        uint8 `json:"side"`
	Type        uint8 `json:"type"`
	Role        uint8 `json:"role"`
	TimeInForce uint8 `json:"time_in_force"`
	Status      uint8 `json:"status"`
}

// The enumerations in the order of version 1.
var (
	sidesV1 = []market.Side{market.Buy, market.Sell}
	typesV1 = []market.OrderType{market.Market, market.Limit, market.Stop, market.StopLimit,
		market.TrailingStop}
	forcesV1 = []market.TimeInForce{market.GTC, market.GTD, market.IOC}
	rolesV1  = []market.Role{
		market.RoleEntry, market.RoleExit, market.RoleStopLoss, market.RoleTakeProfit, market.RoleEndOfData,
		market.RoleLiquidation,
	}
	statusesV1 = []market.OrderStatus{
		market.StatusNew, market.StatusOpen, market.StatusPartiallyFilled, market.StatusFilled,
		market.StatusCanceled, market.StatusRejected, market.StatusExpired,
	}
)

func (o *orderV1) into(to *market.Order) error {
	if int(o.Side) >= len(sidesV1) || int(o.Type) >= len(typesV1) || int(o.TimeInForce) >= len(forcesV1) ||
		int(o.Role) >= len(rolesV1) || int(o.Status) >= len(statusesV1) {
		return fmt.Errorf(
			"order %d has a side, type, time in force, role or status that version 1 does not know", o.ID)
	}
	*to = o.Order
	to.ID, to.ParentID = market.OrderID(o.ID), market.OrderID(o.ParentID)
	to.Side, to.Type, to.Role = sidesV1[o.Side], typesV1[o.Type], rolesV1[o.Role]
	to.TimeInForce, to.Status = forcesV1[o.TimeInForce], statusesV1[o.Status]
	return nil
}
