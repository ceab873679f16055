package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The kinds of the journal's log about money that no trade moved.
const (
	// LogTransfer has a deposit or a withdrawal, or a difference that the operator has acknowledged;
	// LogFeePrice what an asset that fees are paid in was worth.
	LogTransfer = "transfer"
	LogFeePrice = "fee_price"
)

// transferRow is an entry of the kind LogTransfer.
type transferRow struct {
	Asset  string `json:"asset"`
	Amount dec    `json:"amount"` // negative: it left
	// Run is how much of it the run's own cash has changed by.
	Run dec `json:"run"`
	// Named says whether the venue told what it was; else the operator has acknowledged a difference.
	Named bool `json:"named"`
}

// feePriceRow is an entry of the kind LogFeePrice.
type feePriceRow struct {
	Asset string `json:"asset"`
	Price dec    `json:"price"` // in quote
}

// transfer books what the venue names.
func (e *Engine) transfer(t exchange.Transfer) {
	e.book(t.Asset, t.Amount, true)
	e.raise(CodeTransfer, t.Asset,
		"the account has "+signed(t.Amount, t.Asset)+" by a deposit or a withdrawal; it is booked")
}

// book explains a difference of a balance that no trade made. What comes stays the operator's; what goes is
// first what was the operator's, then the run's.
func (e *Engine) book(asset string, amount dec, named bool) {
	row := transferRow{Asset: asset, Amount: amount.Trim(0), Named: named}
	e.recon.base[asset] = order.Plus(e.recon.base[asset], amount)
	if asset == e.cfg.Symbols[0].Quote() {
		if e.recon.spare = order.Plus(e.recon.spare, amount); e.recon.spare.IsNeg() {
			row.Run, e.recon.spare = e.recon.spare.Trim(0), dec{}
			e.locked(func() { e.desk.Ledger().Transfer(row.Run) })
			e.guard.Transfer(row.Run)
		}
	}
	e.batch.Entries = append(e.batch.Entries, journal.Entry{Kind: LogTransfer, Data: row})
}

// AcknowledgeDrift books the differences that BALANCE_DRIFT is about, so that the run goes on.
func (e *Engine) AcknowledgeDrift(ctx context.Context) (string, error) {
	return e.operate(ctx, func() (string, error) {
		if len(e.recon.off) == 0 {
			return "", &Refused{"no_alarm", "There is no difference any more."}
		}
		said := driftText(e.recon.off)
		for _, asset := range sortedAssets(e.recon.off) {
			e.book(asset, e.recon.off[asset], false)
		}
		e.endDrift()
		return "It is booked that " + said, nil
	})
}

// endDrift lets the run go on: the balances are explained.
func (e *Engine) endDrift() {
	e.recon.off, e.recon.told, e.recon.suspect = nil, false, -1
	e.guard.Clear(CodeBalanceDrift)
	e.clear(CodeBalanceDrift, "")
}

func sortedAssets(m map[string]dec) []string {
	list := make([]string, 0, len(m))
	for a := range m {
		list = append(list, a)
	}
	slices.Sort(list)
	return list
}

// driftText says by how much balances are off.
func driftText(off map[string]dec) string {
	var parts []string
	for _, a := range sortedAssets(off) {
		parts = append(parts, signed(off[a], a))
	}
	return "the account has " + strings.Join(parts, " and ") + " than the run's fills explain"
}

func signed(amount dec, asset string) string {
	if amount.IsNeg() {
		return fmt.Sprintf("%s %s less", amount.Abs().Trim(0), asset)
	}
	return fmt.Sprintf("%s %s more", amount.Trim(0), asset)
}

// feePriceEvery is how often the price of what fees are paid in is asked for.
const feePriceEvery = time.Minute

// feePrice is what is known of an asset that fees are paid in and that is neither base nor quote.
type feePrice struct {
	asset string
	asked time.Time
}

// thirdFee looks at the fee of a fill: what it was paid in must have a price.
func (e *Engine) thirdFee(f exchange.Fill) {
	if f.FeeAsset == "" || f.FeeAsset == f.Symbol.Base() || f.FeeAsset == f.Symbol.Quote() || f.Fee.IsZero() {
		return
	}
	e.fees.asset = f.FeeAsset
	if e.desk.Ledger().Unvalued(f.FeeAsset) {
		e.notValued(f.FeeAsset)
		e.fees.asked = time.Time{}
	}
	e.askFeePrice()
}

func (e *Engine) notValued(asset string) {
	const say = "fees were paid in %s, whose price in %s is not known: value, return and drawdown are too good by them"
	e.raise(CodeFeesNotValued, asset, fmt.Sprintf(say, asset, e.cfg.Symbols[0].Quote()))
}

// askFeePrice asks for the price of what fees are paid in: the last close of its pair in the timeframe of the
// run.
func (e *Engine) askFeePrice() {
	asset, quote, now := e.fees.asset, e.cfg.Symbols[0].Quote(), time.Now()
	if asset == "" || e.desk == nil || now.Sub(e.fees.asked) < feePriceEvery {
		return
	}
	e.fees.asked = now
	pair, to := market.Symbol(asset+"/"+quote), e.clock.Now()
	from := to.Add(-3 * e.cfg.Timeframe.Approx())
	var list []market.Candle
	var err error
	e.call(callLimit, time.Time{}, func(ctx context.Context, c *exchange.Connection) exchange.Result {
		list, err = c.Candles(ctx, exchange.CandleQuery{Symbol: pair, From: from, To: to, Limit: 10})
		return exchange.ResultOf(err)
	}, func(r exchange.Result, _ time.Time) {
		if err != nil || r.Outcome != exchange.Accepted || len(list) == 0 {
			return // the alarm stands, if there are fees without a value
		}
		price, err := order.FromFloat(list[len(list)-1].Close)
		if err != nil || !price.IsPos() {
			return
		}
		e.locked(func() { e.desk.Ledger().SetPrice(asset, price) })
		row := journal.Entry{Kind: LogFeePrice, Data: feePriceRow{asset, price}}
		e.batch.Entries = append(e.batch.Entries, row)
		e.clear(CodeFeesNotValued, asset)
	})
}
