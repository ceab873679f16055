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

// bookTransfer books what the venue names.
func (bk *bookkeeper) bookTransfer(t exchange.Transfer) {
	bk.bookDifference(t.Asset, t.Amount, true)
	bk.raiseAlarm(CodeTransfer, t.Asset,
		"the account has "+signed(t.Amount, t.Asset)+" by a deposit or a withdrawal; it is booked")
}

// bookDifference explains a difference of a balance that no trade made. What comes stays the operator's; what goes is
// first what was the operator's, then the run's.
func (bk *bookkeeper) bookDifference(asset string, amount dec, named bool) {
	row := transferRow{Asset: asset, Amount: amount.Trim(0), Named: named}
	bk.recon.base[asset] = order.Plus(bk.recon.base[asset], amount)
	if asset == bk.cfg.Symbols[0].Quote() {
		if bk.recon.spare = order.Plus(bk.recon.spare, amount); bk.recon.spare.IsNeg() {
			row.Run, bk.recon.spare = bk.recon.spare.Trim(0), dec{}
			bk.withGate(func() { bk.desk.Ledger().Transfer(row.Run) })
			bk.guard.Transfer(row.Run)
		}
	}
	bk.batch.Entries = append(bk.batch.Entries, journal.Entry{Kind: LogTransfer, Data: row})
}

// AcknowledgeDrift books the differences that BALANCE_DRIFT is about, so that the run goes on.
func (e *Engine) AcknowledgeDrift(ctx context.Context) (string, error) {
	return e.runControl(ctx, func() (string, error) {
		if len(e.recon.off) == 0 {
			return "", &Refused{"no_alarm", "There is no difference any more."}
		}
		said := driftText(e.recon.off)
		for _, asset := range sortedAssets(e.recon.off) {
			e.books.bookDifference(asset, e.recon.off[asset], false)
		}
		e.recon.clearDrift()
		return "It is booked that " + said, nil
	})
}

// clearDrift lets the run go on: the balances are explained.
func (rc *recon) clearDrift() {
	rc.off, rc.told, rc.suspect = nil, false, -1
	rc.books.guard.Clear(CodeBalanceDrift)
	rc.books.clearAlarm(CodeBalanceDrift, "")
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

// valueThirdFee looks at the fee of a fill: what it was paid in must have a price.
func (bk *bookkeeper) valueThirdFee(f exchange.Fill) {
	if f.FeeAsset == "" || f.FeeAsset == f.Symbol.Base() || f.FeeAsset == f.Symbol.Quote() || f.Fee.IsZero() {
		return
	}
	bk.fees.asset = f.FeeAsset
	if bk.desk.Ledger().Unvalued(f.FeeAsset) {
		bk.raiseNotValued(f.FeeAsset)
		bk.fees.asked = time.Time{}
	}
	bk.askFeePrice()
}

func (bk *bookkeeper) raiseNotValued(asset string) {
	const say = "fees were paid in %s, whose price in %s is not known: value, return and drawdown are too good by them"
	bk.raiseAlarm(CodeFeesNotValued, asset, fmt.Sprintf(say, asset, bk.cfg.Symbols[0].Quote()))
}

// askFeePrice asks for the price of what fees are paid in: the last close of its pair in the timeframe of the
// run.
func (bk *bookkeeper) askFeePrice() {
	asset, quote, now := bk.fees.asset, bk.cfg.Symbols[0].Quote(), time.Now()
	if asset == "" || bk.desk == nil || now.Sub(bk.fees.asked) < feePriceEvery {
		return
	}
	bk.fees.asked = now
	pair, to := market.Symbol(asset+"/"+quote), bk.session.clock.Now()
	from := to.Add(-3 * bk.cfg.Timeframe.Approx())
	var list []market.Candle
	var err error
	bk.session.callVenue(callLimit, time.Time{}, func(ctx context.Context, c *exchange.Connection) exchange.Result {
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
		bk.withGate(func() { bk.desk.Ledger().SetPrice(asset, price) })
		row := journal.Entry{Kind: LogFeePrice, Data: feePriceRow{asset, price}}
		bk.batch.Entries = append(bk.batch.Entries, row)
		bk.clearAlarm(CodeFeesNotValued, asset)
	})
}
