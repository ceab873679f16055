package journal

import (
	"context"
	"encoding/json"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// KindReleased is the entry of a run whose start handed what earlier runs had left to the operator.
const KindReleased = "released"

// Holding is what the runs on an account have bought of a symbol and not sold, fees in the base taken off.
type Holding struct {
	Symbol   market.Symbol
	Quantity decimal.Decimal
	// Price is that of the last fill.
	Price decimal.Decimal
	// Markets are the rules that the last of these runs knew; nil: none.
	Markets json.RawMessage
	// Runs that traded it, in the order of their first fill.
	Runs []string
}

// Holdings are what all runs on an account hold together, by their fills, in the order in which they first traded. Runs
// before one that released what was left do not count.
func (j *Journal) Holdings(ctx context.Context, exchange, accountID string) ([]Holding, error) {
	q, err := j.read()
	if err != nil {
		return nil, err
	}
	const released = `SELECT coalesce(max(r.rowid), 0) FROM log l JOIN runs r ON r.run_id = l.run_id
		WHERE l.kind = ? AND r.exchange = ? AND r.account_id = ?`
	var since int64
	if err := q.QueryRowContext(ctx, released, KindReleased, exchange, accountID).Scan(&since); err != nil {
		return nil, err
	}
	fills, err := readFills(ctx, q, `WHERE exchange = ? AND account_id = ?
		AND run_id IN (SELECT run_id FROM runs WHERE rowid >= ?) ORDER BY rowid`, exchange, accountID, since)
	if err != nil {
		return nil, err
	}
	var list []*Holding
	known := map[market.Symbol]*Holding{}
	for _, f := range fills {
		h := known[f.Symbol]
		if h == nil {
			h = &Holding{Symbol: f.Symbol}
			known[f.Symbol] = h
			list = append(list, h)
		}
		if err := h.add(f); err != nil {
			return nil, err
		}
	}
	out := make([]Holding, 0, len(list))
	for _, h := range list {
		last := h.Runs[len(h.Runs)-1]
		var text string
		if err := q.QueryRowContext(ctx, "SELECT markets FROM runs WHERE run_id = ?", last).Scan(&text); err != nil {
			return nil, err
		}
		if text != "null" {
			h.Markets = json.RawMessage(text)
		}
		out = append(out, *h)
	}
	return out, nil
}

// add takes one more fill.
func (h *Holding) add(f kept) (err error) {
	change := f.Quantity
	if f.Side == market.Sell {
		change = change.Neg()
	}
	if f.FeeAsset == f.Symbol.Base() {
		if change, err = change.Sub(f.Fee); err != nil {
			return err
		}
	}
	if h.Quantity, err = h.Quantity.Add(change); err != nil {
		return err
	}
	h.Price = f.Price
	for _, run := range h.Runs {
		if run == f.run {
			return nil
		}
	}
	h.Runs = append(h.Runs, f.run)
	return nil
}
