package live

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/assay-run/assay/host/live/feed"
	"github.com/assay-run/assay/host/live/journal"
	"github.com/assay-run/assay/host/live/order"
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
	d.batch.Fills = append(d.batch.Fills, journal.Fill{
		Symbol: f.Symbol, TradeID: strconv.FormatInt(int64(f.ID), 10), ClientOrderID: order.ClientID(d.x.runID, int64(f.OrderID)),
		Side: f.Side, Quantity: f.Quantity, Price: f.Price, Fee: f.Fee, FeeAsset: f.Symbol.Quote(), Liquidity: f.Liquidity, At: f.Time,
	})
}

// took notes the step that the simulator is about to match.
func (d *diary) took(s *feed.Step, index int64) {
	d.step = s
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
	}
	if err := d.commit(); err != nil {
		return nil, err
	}
	intents, err := d.asks.Decide(e)
	if err != nil || len(intents) == 0 {
		return intents, err
	}
	texts := make([]intentText, len(intents))
	for i := range intents {
		texts[i] = toText(&intents[i])
	}
	d.batch.Entries = append(d.batch.Entries, journal.Entry{
		Kind: logIntents, Data: map[string]any{"step": e.Step(), "intents": texts},
	})
	return intents, d.commit()
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
