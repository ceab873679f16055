package trade

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// The kinds of the log that a run can be read back from.
const (
	logPhase   = "phase"
	logAlarm   = "alarm"
	logLayout  = "layout"
	logIntents = "intents"
)

// journalRecorder writes a paper run into the journal. It stands between the simulator and the
// record, and between the simulator and the strategy: what the books say is on disk
// before the strategy is asked, and what the strategy said before the next step.
type journalRecorder struct {
	sim.Recorder
	x     *Execution
	src   *source
	asks  *run.Lockstep
	book  *journal.Run
	batch journal.Batch
	known market.OrderID // orders written down
	step  *feed.Step
	watch *shadow
	// wanted is what the operator orders with the next close.
	wanted []market.Intent
}

// Order implements sim.Recorder. The number of an order is its seq.
func (d *journalRecorder) Order(step int64, o *market.Order) {
	d.Recorder.Order(step, o)
	id := order.ClientID(d.x.runID, int64(o.ID))
	if o.Status.Final() {
		delete(d.watch.amounts, o.ID)
	}
	engine.RaiseRejected(o, d)
	if o.ID > d.known {
		d.known = o.ID
		body, err := json.Marshal(map[string]any{
			"order_id": o.ID.String(), "side": o.Side.String(), "type": o.Type.String(),
			"role":     o.Role.String(),
			"quantity": o.Quantity.String(), "limit_price": o.LimitPrice.String(),
			"stop_price": o.StopPrice.String(), "tag": o.Tag,
		})
		if err != nil {
			body = []byte("{}")
		}
		d.batch.Intents = append(d.batch.Intents, journal.Intent{
			Seq: int64(o.ID), ClientOrderID: id, Step: max(step, 0), Symbol: o.Symbol, Body: body,
			CreatedAt: o.CreatedAt,
		})
	}
	d.batch.Events = append(d.batch.Events, journal.Event{
		ClientOrderID: id, Kind: string(cmp.Or(states[o.Status], order.Open)),
		Source: string(order.FromLocal), CumQuantity: o.FilledQuantity, At: o.UpdatedAt,
	})
}

// states are the journal's words for the ends of orders of the simulator and for parts of them; else they
// are open.
var states = map[market.OrderStatus]order.State{
	market.StatusFilled: order.Filled, market.StatusPartiallyFilled: order.Partial,
	market.StatusCanceled: order.Canceled,
	market.StatusRejected: order.Denied, market.StatusExpired: order.Expired,
}

// Fill implements sim.Recorder.
func (d *journalRecorder) Fill(step int64, f *market.Fill) {
	d.Recorder.Fill(step, f)
	d.recordVerdicts(0, d.watch.filled(f))
	d.batch.Fills = append(d.batch.Fills, journal.Fill{
		Symbol: f.Symbol, TradeID: strconv.FormatInt(int64(f.ID), 10),
		ClientOrderID: order.ClientID(d.x.runID, int64(f.OrderID)),
		Side:          f.Side, Quantity: f.Quantity, Price: f.Price, Fee: f.Fee, FeeAsset: f.Symbol.Quote(),
		Liquidity: f.Liquidity, Time: f.Time,
	})
}

// takeStep notes the step that the simulator is about to match.
func (d *journalRecorder) takeStep(s *feed.Step, index int64) {
	d.step = s
	d.watch.noteCandles(s)
	for i := range s.Closed {
		if s.Closed[i] {
			d.Clear(feed.CandleUnreachable, string(d.x.setup.plan.Symbols[i]))
			d.batch.Candles = append(d.batch.Candles, journal.Candle{
				Symbol: d.x.setup.plan.Symbols[i], Candle: s.Candles[i], Step: index,
				Source: string(s.Sources[i]),
			})
		}
	}
}

// Decide implements sim.Decider. It is called with the gate held.
func (d *journalRecorder) Decide(e *sim.Engine) ([]market.Intent, error) {
	if value, err := e.FinalValue(); err == nil && e.Step() >= d.x.chart.layout.window {
		d.batch.Equity = append(d.batch.Equity,
			journal.Equity{At: e.Time(), Equity: value, Cash: e.CashExact()})
		d.recordVerdicts(0, d.watch.guard.OnStep(e.Time(), value))
	}
	d.checkAge()
	d.x.gate.Outside(d.x.setup.inputs.look)
	d.batch.Entries = append(d.batch.Entries, d.x.setup.inputs.step(e.Step(), e.Time(), e.Warmup(), d)...)
	if err := d.commitBatch(); err != nil {
		return nil, err
	}
	if d.watch.guard.Killed() {
		return nil, &engine.Fault{Code: engine.CodeRiskKill,
			Message: "The drawdown limit ended the run: " + d.watch.killed, Data: map[string]any{}}
	}
	d.updatePhase()
	intents, err := d.asks.Decide(e)
	intents = append(slices.Clone(intents), d.wanted...)
	d.wanted = nil
	if err != nil || len(intents) == 0 {
		return intents, err
	}
	// It is written with the orders that come of it, before the next candle is waited for.
	d.batch.Entries = append(d.batch.Entries, intentsEntry(e.Step(), intents))
	return intents, nil
}

// intentsRow is an entry of the kind logIntents. Canonical JSON has no whole number beyond 2^53: intents
// with one are kept as Text.
type intentsRow struct {
	Step    int64           `json:"step"`
	Intents json.RawMessage `json:"intents,omitempty"`
	Text    string          `json:"text,omitempty"`
}

func intentsEntry(step int64, intents []market.Intent) journal.Entry {
	text, err := json.Marshal(intents)
	if err != nil { // a number that is none, by which the simulator ends the run
		return journal.Entry{Kind: logIntents, Data: intents}
	}
	row := intentsRow{Step: step, Intents: text}
	if _, err := digest.CanonicalJSON(text); err != nil {
		row = intentsRow{Step: step, Text: string(text)}
	}
	return journal.Entry{Kind: logIntents, Data: row}
}

// onIdle returns what time calls for between two steps. It is called with the gate held.
func (d *journalRecorder) onIdle() error {
	d.checkAge()
	d.updatePhase()
	return d.commitBatch()
}

// checkAge judges how old the candles are by the run's clock, once it trades: while none comes, and at every
// step before its orders are judged, so that a candle that came ends what its absence began.
func (d *journalRecorder) checkAge() {
	if d.isTrading() {
		d.recordVerdicts(0, d.watch.guard.OnTime(d.src.clock.Now(), d.watch.symbols))
		d.watch.alarms.Look(d, d.watch.guard)
	}
}

// isTrading reports whether the run is behind its warm-up and not stopping.
func (d *journalRecorder) isTrading() bool {
	phase := d.x.phase
	return phase == engine.Trading || phase == engine.Reducing || phase == engine.Halted
}

// updatePhase shows by the phase what enforced limits, and the loss of the connector, allow.
func (d *journalRecorder) updatePhase() {
	phase := d.x.phase
	if !d.isTrading() {
		return
	}
	now := map[risk.State]string{risk.Active: engine.Trading, risk.Reducing: engine.Reducing,
		risk.Halted: engine.Halted}[d.watch.guard.State()]
	if now == engine.Trading && d.x.setup.inputs.stale.Load() {
		now = engine.Reducing
	}
	if now != phase {
		d.x.gate.Outside(func() { d.x.enterPhase(now) })
	}
}

// judgeOrder has the limits look at an order that the simulator would accept; it is the simulator's Judge. In
// shadow every order passes; enforced, one that breaks a limit is rejected by its code.
func (d *journalRecorder) judgeOrder(o *market.Order, in *market.Intent) market.Reason {
	conditions := admission.Conditions{InputStale: d.x.setup.inputs.stale.Load()}
	kind := admission.KindOf(d.x.paper.engine.Reduces(o), false)
	if denied := admission.Judge(conditions, kind); denied.Denies() {
		d.writeVerdict(o.ID, risk.Verdict{Code: risk.Code(denied.Code), Symbol: o.Symbol,
			Message: "the newest value of an input is too old"})
		return market.Reason(denied.Code)
	}
	ask, ok := d.watch.order(d.x.paper.engine, o, in)
	if !ok {
		return ""
	}
	verdicts, allowed := d.watch.guard.Check(ask, d.watch.account(d.x.paper.engine, o.ID))
	d.recordVerdicts(o.ID, verdicts)
	if len(verdicts) == 0 {
		d.watch.alarms.Passed(d, o.Symbol)
	}
	if !allowed {
		return market.Reason(verdicts[0].Code)
	}
	if code := d.denyPaused(o, ask.Shrinks); code != "" {
		return market.Reason(code)
	}
	if ask.QuoteAmount.IsPos() {
		d.watch.amounts[o.ID] = ask.QuoteAmount
	}
	return ""
}

// recordVerdicts writes breaches down, of an order or (0) of the account, and raises them.
func (d *journalRecorder) recordVerdicts(id market.OrderID, list []risk.Verdict) {
	for _, v := range list {
		d.writeVerdict(id, v)
		if v.Code == risk.Kill {
			d.watch.killed = v.Message
		}
		d.watch.alarms.Raise(d, d.watch.guard, v)
	}
}

// writeVerdict writes a breach down.
func (d *journalRecorder) writeVerdict(id market.OrderID, v risk.Verdict) {
	d.batch.Entries = append(d.batch.Entries, journal.Entry{Kind: engine.LogRisk, Data: map[string]any{
		"code": v.Code, "symbol": v.Symbol, "value": v.Value, "limit": v.Limit, "message": v.Message,
		"shadow": v.Shadow, "passed": v.Passed, "order_id": id.String(), "step": d.x.paper.engine.Step(),
	}})
}

// Raise and Clear implement engine.Alarms with the gate held: the journal has them with the step.
func (d *journalRecorder) Raise(o alarm.Occurrence) {
	if row := d.x.alarms.raiseLocked(o); row != nil {
		d.batch.Entries = append(d.batch.Entries, *row)
	}
}

// Clear implements engine.Alarms.
func (d *journalRecorder) Clear(code, subject string) {
	if row := d.x.alarms.clearLocked(code, subject); row != nil {
		d.batch.Entries = append(d.batch.Entries, *row)
	}
}

// shadow is the risk limits beside a paper run.
type shadow struct {
	guard   *risk.Guard
	symbols []risk.Symbol
	orders  map[market.OrderID]bool            // that filled
	amounts map[market.OrderID]decimal.Decimal // what orders that are sized by cash may spend
	alarms  engine.LimitAlarms
	killed  string // why the drawdown ends the run
}

func (pp *paperRun) newShadow(start market.Time) (*shadow, error) {
	guard, err := risk.NewGuard(risk.Setup{
		Limits: pp.run.permit.bounds, Mode: pp.run.permit.riskMode(), Timeframe: pp.run.setup.plan.Timeframe,
		StartEquity: pp.run.setup.plan.Cash, Start: start, Quote: pp.run.setup.plan.Symbols[0].Quote(),
	})
	w := &shadow{guard: guard, orders: map[market.OrderID]bool{},
		amounts: map[market.OrderID]decimal.Decimal{}}
	for _, s := range pp.run.setup.plan.Symbols {
		w.symbols = append(w.symbols, risk.Symbol{Symbol: s})
	}
	return w, err
}

// noteCandles notes the candles of a step.
func (w *shadow) noteCandles(s *feed.Step) {
	for i := range s.Closed {
		if last, err := sim.Decimal(s.Candles[i].Close); s.Closed[i] && err == nil {
			w.symbols[i].LastClose, w.symbols[i].LastCandle, w.symbols[i].Backfilled = last, s.CloseTime,
				s.Sources[i] == feed.Backfill
		}
	}
}

// filled counts an order once.
func (w *shadow) filled(f *market.Fill) []risk.Verdict {
	if w.orders[f.OrderID] {
		return nil
	}
	w.orders[f.OrderID] = true
	return w.guard.OnFill(f.Symbol, f.Time)
}

// account returns how the books stand, without one order: a change of it is judged in its place.
func (w *shadow) account(e *sim.Engine, but market.OrderID) risk.Account {
	held, _ := e.Positions() // what cannot be valued ends the run elsewhere
	open := e.OpenOrders()
	for i := range w.symbols {
		s := &w.symbols[i]
		s.Position, s.Working = decimal.Zero, decimal.Zero
		for _, p := range held {
			if p.Symbol == s.Symbol {
				s.Position = p.Quantity
			}
		}
		for _, o := range open {
			if o.Symbol != s.Symbol || o.Side != market.Buy || o.ReduceOnly || o.ID == but {
				continue
			}
			price := o.LimitPrice.Max(o.StopPrice)
			if price.IsZero() {
				price = s.LastClose
			}
			value := order.Times(order.Minus(o.Quantity, o.FilledQuantity), price)
			s.Working = order.Plus(s.Working, value.Max(w.amounts[o.ID]))
		}
	}
	return risk.Account{Now: e.Time(), Symbols: w.symbols}
}

// order returns what an order asks for; false when it is none that a limit is about: it closes what is not
// there.
func (w *shadow) order(e *sim.Engine, o *market.Order, in *market.Intent) (risk.Order, bool) {
	ask := risk.Order{Symbol: o.Symbol, Side: o.Side, Quantity: o.Quantity, LimitPrice: o.LimitPrice,
		StopPrice: o.StopPrice}
	size, err := sim.Decimal(in.Size.Value)
	switch {
	case err != nil: // the simulator has refused it
	case in.Size.Kind == market.SizeQuoteAmount:
		ask.QuoteAmount = size
	case in.Size.Kind == market.SizeCashFraction:
		ask.QuoteAmount = order.Times(size, e.CashExact())
	}
	position := decimal.Zero
	held, _ := e.Positions()
	for _, p := range held {
		if p.Symbol == o.Symbol {
			position = p.Quantity
		}
	}
	ask.Shrinks = o.ReduceOnly ||
		(position.IsPos() && o.Side == market.Sell && o.Quantity.IsPos() && o.Quantity.Cmp(position) <= 0) ||
		(position.IsNeg() && o.Side == market.Buy && o.Quantity.IsPos() &&
			o.Quantity.Cmp(position.Abs()) <= 0)
	return ask, !o.ReduceOnly || !position.IsZero()
}

// commitBatch writes what has gathered, outside the gate.
func (d *journalRecorder) commitBatch() error {
	b := d.batch
	d.batch = journal.Batch{}
	if len(b.Candles)+len(b.Equity)+len(b.Intents)+len(b.Events)+len(b.Fills)+len(b.Entries) == 0 {
		return nil
	}
	var err error
	d.x.gate.Outside(func() { _, err = d.book.Commit(context.Background(), b) })
	return err
}
