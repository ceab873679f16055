package live

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/live/engine"
	"github.com/assay-run/assay/host/live/feed"
	"github.com/assay-run/assay/host/live/journal"
	"github.com/assay-run/assay/host/live/order"
	"github.com/assay-run/assay/host/live/risk"
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

// diary writes a paper run into the journal. It stands between the simulator and the
// record, and between the simulator and the strategy: what the books say is on disk
// before the strategy is asked, and what the strategy said before the next step.
type diary struct {
	sim.Recorder
	x     *Execution
	asks  sim.Decider
	run   *journal.Run
	batch journal.Batch
	known market.OrderID // orders written down
	step  *feed.Step
	watch *shadow
}

// Order implements sim.Recorder. The number of an order is its seq.
func (d *diary) Order(step int64, o *market.Order) {
	d.Recorder.Order(step, o)
	id := order.ClientID(d.x.runID, int64(o.ID))
	if o.ID > d.known {
		d.known = o.ID
		body, err := json.Marshal(map[string]any{
			"order_id": o.ID.String(), "side": o.Side.String(), "type": o.Type.String(), "role": o.Role.String(),
			"quantity": o.Quantity.String(), "limit_price": o.LimitPrice.String(), "stop_price": o.StopPrice.String(), "tag": o.Tag,
		})
		if err != nil {
			body = []byte("{}")
		}
		d.batch.Intents = append(d.batch.Intents, journal.Intent{
			Seq: int64(o.ID), ClientOrderID: id, Step: max(step, 0), Symbol: o.Symbol, Body: body, CreatedAt: o.CreatedAt,
		})
	}
	d.batch.Events = append(d.batch.Events, journal.Event{
		ClientOrderID: id, Kind: string(stateOf(o.Status)), Source: string(order.FromLocal), CumQuantity: o.FilledQuantity, At: o.UpdatedAt,
	})
}

// stateOf is the journal's word for where an order of the simulator stands.
func stateOf(s market.OrderStatus) journal.State {
	switch s {
	case market.StatusFilled:
		return journal.StateFilled
	case market.StatusPartiallyFilled:
		return journal.StatePartial
	case market.StatusCanceled:
		return journal.StateCanceled
	case market.StatusRejected:
		return journal.StateDenied
	case market.StatusExpired:
		return journal.StateExpired
	}
	return journal.StateOpen
}

// Fill implements sim.Recorder.
func (d *diary) Fill(step int64, f *market.Fill) {
	d.Recorder.Fill(step, f)
	d.verdicts(d.watch.filled(f))
	d.batch.Fills = append(d.batch.Fills, journal.Fill{
		Symbol: f.Symbol, TradeID: strconv.FormatInt(int64(f.ID), 10), ClientOrderID: order.ClientID(d.x.runID, int64(f.OrderID)),
		Side: f.Side, Quantity: f.Quantity, Price: f.Price, Fee: f.Fee, FeeAsset: f.Symbol.Quote(), Liquidity: f.Liquidity, At: f.Time,
	})
}

// took notes the step that the simulator is about to match.
func (d *diary) took(s *feed.Step, index int64) {
	d.step = s
	d.watch.took(s)
	for i := range s.Closed {
		if s.Closed[i] {
			d.batch.Candles = append(d.batch.Candles, journal.Candle{
				Symbol: d.x.plan.Symbols[i], Candle: s.Candles[i], Step: index, Source: string(s.Sources[i]),
			})
		}
	}
}

// Decide implements sim.Decider. It is called with the gate held.
func (d *diary) Decide(e *sim.Engine) ([]market.Intent, error) {
	if value, err := e.FinalValue(); err == nil && e.Step() >= d.x.layout.window {
		d.batch.Equity = append(d.batch.Equity, journal.Equity{At: e.Time(), Equity: value, Cash: e.CashExact()})
		d.verdicts(d.watch.guard.OnStep(e.Time(), value))
	}
	if err := d.commit(); err != nil {
		return nil, err
	}
	intents, err := d.asks.Decide(e)
	if err != nil || len(intents) == 0 {
		return intents, err
	}
	intents = d.judge(e, intents)
	texts := make([]intentText, len(intents))
	for i := range intents {
		texts[i] = toText(&intents[i])
	}
	d.batch.Entries = append(d.batch.Entries, journal.Entry{
		Kind: logIntents, Data: map[string]any{"step": e.Step(), "intents": texts},
	})
	if err := d.commit(); err != nil {
		return nil, err
	}
	if d.watch.guard.Killed() {
		return nil, &engine.Fault{Code: engine.CodeRiskKill, Message: "The drawdown limit ended the run.", Data: map[string]any{}}
	}
	return intents, nil
}

// judge has the limits look at the orders of a step. In shadow all pass; enforced, those that
// break a limit are refused.
func (d *diary) judge(e *sim.Engine, intents []market.Intent) []market.Intent {
	if e.Warmup() {
		return intents
	}
	account, positions := d.watch.account(e), map[market.Symbol]decimal.Decimal{}
	for _, s := range account.Symbols {
		positions[s.Symbol] = s.Position
	}
	kept := intents[:0:0]
	for i := range intents {
		o, ok := d.watch.order(e, &intents[i], positions)
		if !ok {
			kept = append(kept, intents[i])
			continue
		}
		verdicts, allowed := d.watch.guard.Check(o, account)
		d.verdicts(verdicts)
		if allowed {
			kept = append(kept, intents[i])
		} else {
			d.Recorder.Intent(e.Step(), &intents[i], string(verdicts[0].Code))
		}
	}
	return kept
}

// verdicts writes breaches down and tells the first of each kind.
func (d *diary) verdicts(list []risk.Verdict) {
	for _, v := range list {
		d.batch.Entries = append(d.batch.Entries, journal.Entry{Kind: engine.LogRisk, Data: map[string]any{
			"code": v.Code, "symbol": v.Symbol, "value": v.Value, "limit": v.Limit, "message": v.Message, "shadow": v.Shadow,
		}})
		if key := string(v.Code) + "\n" + string(v.Symbol); !d.watch.told[key] {
			d.watch.told[key] = true
			d.x.warnLocked(string(v.Code), v.Message)
		}
	}
}

// shadow is the risk limits beside a paper run.
type shadow struct {
	guard   *risk.Guard
	symbols []risk.Symbol
	orders  map[market.OrderID]bool // that filled
	told    map[string]bool
}

func (x *Execution) newShadow() (*shadow, error) {
	guard, err := risk.NewGuard(risk.Setup{
		Limits: x.bounds, Mode: x.riskMode(), Timeframe: x.plan.Timeframe, StartEquity: x.plan.Cash, Start: 0,
	})
	w := &shadow{guard: guard, orders: map[market.OrderID]bool{}, told: map[string]bool{}}
	for _, s := range x.plan.Symbols {
		w.symbols = append(w.symbols, risk.Symbol{Symbol: s})
	}
	return w, err
}

// took notes the candles of a step.
func (w *shadow) took(s *feed.Step) {
	for i := range s.Closed {
		if last, err := order.FromFloat(s.Candles[i].Close); s.Closed[i] && err == nil {
			w.symbols[i].LastClose, w.symbols[i].LastCandle, w.symbols[i].Backfilled = last, s.CloseTime, s.Sources[i] == feed.Backfill
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

// account is how the books stand.
func (w *shadow) account(e *sim.Engine) risk.Account {
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
			if o.Symbol != s.Symbol || o.Side != market.Buy || o.ReduceOnly {
				continue
			}
			price := o.LimitPrice.Max(o.StopPrice)
			if price.IsZero() {
				price = s.LastClose
			}
			s.Working = order.Plus(s.Working, order.Times(order.Minus(o.Quantity, o.FilledQuantity), price))
		}
	}
	return risk.Account{Now: e.Time(), Symbols: w.symbols}
}

// order is what an intent asks for; false when it is none that a limit is about.
func (w *shadow) order(e *sim.Engine, in *market.Intent, held map[market.Symbol]decimal.Decimal) (risk.Order, bool) {
	symbol := in.Symbol
	if symbol == "" {
		symbol = w.symbols[0].Symbol
	}
	o := risk.Order{Symbol: symbol, Side: in.Side}
	if in.Action != market.Submit {
		return o, false
	}
	size, err := order.FromFloat(in.Size.Value)
	if err != nil {
		return o, false
	}
	switch in.Size.Kind {
	case market.SizeQuantity:
		o.Quantity = size
	case market.SizeQuoteAmount:
		o.QuoteAmount = size
	case market.SizeCashFraction:
		o.QuoteAmount = order.Times(size, e.CashExact())
	}
	o.LimitPrice, _ = order.FromFloat(in.LimitPrice) // 0 where there is none
	o.StopPrice, _ = order.FromFloat(in.StopPrice)
	position := held[symbol]
	o.Shrinks = in.ReduceOnly || (position.IsPos() && in.Side == market.Sell && o.Quantity.Cmp(position) <= 0) ||
		(position.IsNeg() && in.Side == market.Buy && o.Quantity.IsPos() && o.Quantity.Cmp(position.Abs()) <= 0)
	return o, true
}

// commit writes what has gathered, outside the gate.
func (d *diary) commit() error {
	b := d.batch
	d.batch = journal.Batch{}
	if len(b.Candles)+len(b.Equity)+len(b.Intents)+len(b.Events)+len(b.Fills)+len(b.Entries) == 0 {
		return nil
	}
	var err error
	d.x.gate.Outside(func() { _, err = d.run.Commit(context.Background(), b) })
	return err
}
