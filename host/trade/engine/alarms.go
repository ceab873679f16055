package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/oms"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// alarms is what the engine has raised and must clear.
type alarms struct {
	limits LimitAlarms
	// orders changed and are to be looked at once the gate is free.
	orders []market.Order
	// lost are the orders of unknown fate.
	lost map[string]bool
}

// Alarms takes what is raised and cleared.
type Alarms interface {
	// Raise shows the operator that something holds or has happened, Clear ends that.
	Raise(alarm.Occurrence)
	Clear(code, subject string)
}

// raiseAlarm shows the operator something that holds or has happened; there is one alarm a code and subject.
func (bk *bookkeeper) raiseAlarm(code, subject, text string) {
	bk.cfg.Host.Raise(alarm.Occurrence{Code: code, Subject: subject, Text: text})
}

// raiseWarning raises what there is one of in a run.
func (bk *bookkeeper) raiseWarning(code, text string) { bk.raiseAlarm(code, "", text) }

// clearAlarm ends an alarm: its condition is over.
func (bk *bookkeeper) clearAlarm(code, subject string) { bk.cfg.Host.Clear(code, subject) }

// LimitAlarms are those of the limits of risk. Its zero value has raised nothing.
type LimitAlarms struct {
	// standing are the codes whose reason stands in the guard.
	standing map[risk.Code]bool
	// refused are the symbols of which the newest order was refused.
	refused map[market.Symbol]bool
}

// Raise raises what a limit said. A limit of the run has one alarm, which ends with its reason; one of single
// orders has one a symbol, which ends with the next order that passes.
func (l *LimitAlarms) Raise(to Alarms, g *risk.Guard, v risk.Verdict) {
	if l.standing == nil {
		l.standing, l.refused = map[risk.Code]bool{}, map[market.Symbol]bool{}
	}
	o := alarm.Occurrence{
		Code: string(v.Code), Subject: string(v.Symbol), Text: v.Message, Once: true, Shadow: v.Shadow ||
			v.Passed,
	}
	switch {
	case g.Stands(v.Code):
		l.standing[v.Code] = true
		o.Subject = ""
	case v.Symbol != "":
		l.refused[v.Symbol] = true
	}
	to.Raise(o)
}

// Look clears the alarms of limits that do not hold the run back any more.
func (l *LimitAlarms) Look(to Alarms, g *risk.Guard) {
	for code := range l.standing {
		if !g.Stands(code) {
			delete(l.standing, code)
			to.Clear(string(code), "")
		}
	}
}

// Passed clears what is about refused orders of a symbol: the newest one was not.
func (l *LimitAlarms) Passed(to Alarms, s market.Symbol) {
	if !l.refused[s] {
		return
	}
	delete(l.refused, s)
	for _, code := range risk.OrderCodes() {
		to.Clear(string(code), string(s))
	}
}

// AlarmTable returns every code that a run raises, the worst first. docs/operators.md has what to do about
// each.
func AlarmTable() []alarm.Row {
	return []alarm.Row{
		{Code: order.CodeUnprotected, Severity: alarm.Critical},
		{Code: order.CodeUnresolvedTooOld, Severity: alarm.Critical},
		{Code: CodePositionsLeft, Severity: alarm.Error},
		{Code: oms.CodeNotPlaced, Severity: alarm.Error},
		{Code: CodeBalanceDrift, Severity: alarm.Error},
		{Code: order.CodeOverfill, Severity: alarm.Error},
		{Code: order.CodeFillConflict, Severity: alarm.Error},
		{Code: order.CodeOrderConflict, Severity: alarm.Error},
		{Code: string(deploy.DeploymentRevoked), Severity: alarm.Error},
		{Code: string(deploy.DeploymentSuspended), Severity: alarm.Error, EndsWithRun: true},
		{Code: CodeRiskKill, Severity: alarm.Error},
		{Code: CodeBankrupt, Severity: alarm.Error},
		{Code: string(risk.DailyLoss), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.FillRate), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.TooManyRejects), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.CandlesMissing), Severity: alarm.Error, EndsWithRun: true},
		{Code: CodeConnectorCrashed, Severity: alarm.Error, EndsWithRun: true},
		{Code: string(exchange.Banned), Severity: alarm.Error, EndsWithRun: true},
		{Code: CodeMarketStatus, Severity: alarm.Error, EndsWithRun: true},
		{Code: CodeOrderRejected, Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.OrderNotional), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.PositionNotional), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.GrossNotional), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.OutsideCollar), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.CandleStale), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.OrderRate), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.OrderDuplicate), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.StateReducing), Severity: alarm.Error, EndsWithRun: true},
		{Code: string(risk.StateHalted), Severity: alarm.Error, EndsWithRun: true},
		{Code: admission.CodeInputStale, Severity: alarm.Error, EndsWithRun: true},
		{Code: CodeInputRefused, Severity: alarm.Error, EndsWithRun: true},
		{Code: feed.CandleCorrected, Severity: alarm.Warning, EndsWithRun: true},
		{Code: feed.CandleMissing, Severity: alarm.Warning, EndsWithRun: true},
		{Code: feed.CandleInvalid, Severity: alarm.Warning, EndsWithRun: true},
		{Code: feed.CandleUnreachable, Severity: alarm.Warning, EndsWithRun: true},
		{Code: CodeStreamReconciling, Severity: alarm.Warning, EndsWithRun: true},
		{Code: order.CodeUnknownOrder, Severity: alarm.Warning},
		{Code: order.CodeNeverReached, Severity: alarm.Warning, EndsWithRun: true},
		{Code: order.CodeUnanswered, Severity: alarm.Warning, EndsWithRun: true},
		{Code: order.CodeLateFill, Severity: alarm.Warning},
		{Code: CodeForeignOrders, Severity: alarm.Warning},
		{Code: CodeTransfer, Severity: alarm.Warning},
		{Code: CodeFeesNotValued, Severity: alarm.Warning},
		{Code: string(risk.SizeClamped), Severity: alarm.Warning, EndsWithRun: true},
		{Code: CodeClockSkew, Severity: alarm.Warning, EndsWithRun: true},
		{Code: CodeConnectorBack, Severity: alarm.Warning, EndsWithRun: true},
		{Code: CodePaused, Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.DeploymentExpired), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.DeploymentNotApproved), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.DeploymentModeNotAllowed), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.DeploymentLimitExceeded), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.RegistryInvalid), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.RegistryUnsigned), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.RegistrySignatureInvalid), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.RegistryFamilyMismatch), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.RegistryExpired), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.RegistryRollback), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.RegistryUnavailable), Severity: alarm.Warning, EndsWithRun: true},
		{Code: string(deploy.RegistryNotKept), Severity: alarm.Warning, EndsWithRun: true},
	}
}

// raiseRejects raises the orders that were rejected, but for those whose reason is an alarm itself.
func (bk *bookkeeper) raiseRejects() {
	list := bk.alarms.orders
	bk.alarms.orders = nil
	for i := range list {
		RaiseRejected(&list[i], bk.cfg.Host)
	}
}

// RaiseRejected raises an order that was rejected; one that the market has clears that of its symbol.
func RaiseRejected(o *market.Order, to Alarms) {
	switch o.Status {
	case market.StatusRejected:
		if o.Reason == "warmup" || slices.ContainsFunc(AlarmTable(), func(r alarm.Row) bool {
			return r.Code == string(o.Reason)
		}) {
			return
		}
		to.Raise(alarm.Occurrence{
			Code: CodeOrderRejected, Subject: string(o.Symbol), Once: true,
			Text: fmt.Sprintf("order %s, %s %s of %s, was rejected: %s", o.ID, o.Side, o.Type, o.Symbol,
				o.Reason),
		})
	case market.StatusOpen, market.StatusPartiallyFilled, market.StatusFilled:
		to.Clear(CodeOrderRejected, string(o.Symbol))
	}
}

// trackFate raises an order of unknown fate, and clears it once the fate is known; so with the exits of a
// position.
func (bk *bookkeeper) trackFate(id string, s order.Status) {
	switch {
	case s.State == order.Lost:
		if bk.alarms.lost == nil {
			bk.alarms.lost = map[string]bool{}
		}
		bk.alarms.lost[id] = true
		bk.raiseAlarm(order.CodeUnknownOrder, id, "the fate of order "+id+" is not known; it is asked for")
	case bk.alarms.lost[id]:
		delete(bk.alarms.lost, id)
		bk.clearAlarm(order.CodeUnknownOrder, id)
		if s.Reason == order.CodeNeverReached {
			bk.raiseAlarm(order.CodeNeverReached, string(s.Spec.Symbol),
				"order "+id+" never reached the venue")
		}
	}
	if s.Spec.Exit && (s.State == order.Open || s.State == order.Partial || s.State == order.Filled) {
		bk.clearAlarm(oms.CodeNotPlaced, string(s.Spec.Symbol))
	}
}

// marketStatus raises a symbol that stops trading, until it trades again.
func (rc *recon) marketStatus(before, now exchange.Market) {
	switch {
	case before.Trading && !now.Trading:
		rc.books.raiseAlarm(CodeMarketStatus, string(now.Symbol),
			fmt.Sprintf("%s is %s", now.Symbol, now.Status))
	case !before.Trading && now.Trading:
		rc.books.clearAlarm(CodeMarketStatus, string(now.Symbol))
	}
}

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
	// Named reports whether the venue told what it was; else the operator has acknowledged a difference.
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

// bookDifference explains a difference of a balance that no trade made. What comes stays the operator's;
// what goes is first what was the operator's, then the run's.
func (bk *bookkeeper) bookDifference(asset string, amount dec, named bool) {
	row := transferRow{Asset: asset, Amount: amount.Trim(0), Named: named}
	bk.recon.base[asset] = order.Plus(bk.recon.base[asset], amount)
	if asset == bk.cfg.Symbols[0].Quote() {
		if bk.recon.spare = order.Plus(bk.recon.spare, amount); bk.recon.spare.IsNeg() {
			row.Run, bk.recon.spare = bk.recon.spare.Trim(0), dec{}
			bk.withGate(func() { bk.manager.Ledger().Transfer(row.Run) })
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
		drift := driftText(e.recon.off)
		for _, asset := range slices.Sorted(maps.Keys(e.recon.off)) {
			e.books.bookDifference(asset, e.recon.off[asset], false)
		}
		e.recon.clearDrift()
		return "It is booked that " + drift, nil
	})
}

// clearDrift lets the run go on: the balances are explained.
func (rc *recon) clearDrift() {
	rc.off, rc.reported, rc.suspect = nil, false, -1
	rc.books.guard.Clear(CodeBalanceDrift)
	rc.books.clearAlarm(CodeBalanceDrift, "")
}

// driftText is by how much balances are off.
func driftText(off map[string]dec) string {
	var parts []string
	for _, a := range slices.Sorted(maps.Keys(off)) {
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
	if bk.manager.Ledger().Unvalued(f.FeeAsset) {
		bk.raiseNotValued(f.FeeAsset)
		bk.fees.asked = time.Time{}
	}
	bk.askFeePrice()
}

func (bk *bookkeeper) raiseNotValued(asset string) {
	const say = "fees were paid in %s, whose price in %s is not known: value, return and drawdown are too " +
		"good by them"
	bk.raiseAlarm(CodeFeesNotValued, asset, fmt.Sprintf(say, asset, bk.cfg.Symbols[0].Quote()))
}

// askFeePrice asks for the price of what fees are paid in: the last close of its pair in the timeframe of the
// run.
func (bk *bookkeeper) askFeePrice() {
	asset, quote, now := bk.fees.asset, bk.cfg.Symbols[0].Quote(), time.Now()
	if asset == "" || bk.manager == nil || now.Sub(bk.fees.asked) < feePriceEvery {
		return
	}
	bk.fees.asked = now
	pair, to := market.Symbol(asset+"/"+quote), bk.session.clock.Now()
	from := to.Add(-3 * bk.cfg.Timeframe.Approx())
	readVenue(bk.session, func(ctx context.Context, c *exchange.Connection) ([]market.Candle, error) {
		return c.Candles(ctx, exchange.CandleQuery{Symbol: pair, From: from, To: to, Limit: 10})
	}, func(list []market.Candle, _ time.Time, err error) {
		if err != nil || len(list) == 0 {
			return // the alarm stands, if there are fees without a value
		}
		price, err := sim.Decimal(list[len(list)-1].Close)
		if err != nil || !price.IsPos() {
			return
		}
		bk.withGate(func() { bk.manager.Ledger().SetPrice(asset, price) })
		row := journal.Entry{Kind: LogFeePrice, Data: feePriceRow{asset, price}}
		bk.batch.Entries = append(bk.batch.Entries, row)
		bk.clearAlarm(CodeFeesNotValued, asset)
	})
}
