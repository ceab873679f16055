package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

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
