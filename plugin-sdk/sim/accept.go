package sim

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// IntentError says that an intent is not one at all: a number that is not finite,
// a symbol that is not part of the run, an unknown action. It ends the run
// (PLUGIN_PROTOCOL_ERROR), unlike an order that is rejected with a reason.
type IntentError struct {
	Step   int64
	Index  int // of the intent within its step
	Reason string
}

// Error is the message.
func (e *IntentError) Error() string {
	return fmt.Sprintf("intent %d of step %d: %s", e.Index, e.Step, e.Reason)
}

// Accept turns the intents of the current step into orders, in list order, at its
// close time.
func (e *Engine) Accept(intents []market.Intent) error {
	for i := range intents {
		in := &intents[i]
		sym, reason := e.check(in)
		if reason != "" {
			return &IntentError{Step: e.step, Index: i, Reason: reason}
		}
		refusal := ""
		switch in.Action {
		case market.Submit, market.Close:
			if e.rec != nil {
				e.rec.Intent(e.step, in, "")
			}
			if err := e.submit(sym, in); err != nil {
				return &LedgerError{Step: e.step, What: "order", Err: err}
			}
			continue
		case market.Cancel:
			refusal = e.cancel(in)
		case market.CancelAll:
			e.cancelAll(sym)
		case market.Replace:
			refusal = e.replace(in)
		}
		if refusal != "" {
			e.stats.RejectedIntents++
		}
		if e.rec != nil {
			e.rec.Intent(e.step, in, refusal)
		}
	}
	e.compact()
	return nil
}

// check finds the symbol and refuses what no strategy may say.
func (e *Engine) check(in *market.Intent) (int, string) {
	if in.Action > market.CancelAll || in.Side > market.Sell || in.Type > market.TrailingStop ||
		in.TimeInForce > market.IOC || in.Size.Kind > market.SizePosition {
		return 0, "unknown action, side, type, time in force or size"
	}
	for _, x := range numbers(in) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return 0, "a number is not finite"
		}
	}
	if in.Symbol == "" {
		return 0, ""
	}
	for i, s := range e.cfg.Symbols {
		if s == in.Symbol {
			return i, ""
		}
	}
	return 0, "unknown symbol " + strconv.Quote(string(in.Symbol))
}

func numbers(in *market.Intent) []float64 {
	list := append(make([]float64, 0, 13), in.Size.Value, in.LimitPrice, in.StopPrice, in.TrailPercent, in.TrailAmount)
	for _, c := range [...]*market.Child{in.StopLoss, in.TakeProfit} {
		if c != nil {
			list = append(list, c.Price, c.Percent, c.TrailPercent, c.TrailAmount)
		}
	}
	return list
}

// submit makes an order of an intent: accepted, or rejected with a reason.
func (e *Engine) submit(sym int, in *market.Intent) error {
	asked := *in
	if in.Action == market.Close {
		asked = market.Intent{
			Side: market.Sell, Type: market.Market, Size: market.Size{Kind: market.SizePosition},
			Tag: in.Tag, ClientRef: in.ClientRef,
		}
		if e.ledger.books[sym].quantity.IsNeg() {
			asked.Side = market.Buy
		}
	}
	for _, c := range [...]**market.Child{&asked.StopLoss, &asked.TakeProfit} {
		if *c != nil {
			spec := **c // the strategy may reuse its memory
			*c = &spec
		}
	}
	o := e.newOrder(sym, &asked, e.now)
	o.delay = e.cfg.DelayCandles
	if reason := e.refuse(o, &asked); reason != "" {
		o.done = true
		e.stats.RejectedOrders++
		e.changed(o, market.StatusRejected, reason, e.now)
		return nil
	}
	if o.Type == market.TrailingStop {
		water, err := toDecimal(e.symbols[sym].candle.Close)
		if err != nil {
			return err
		}
		o.water = water
		if err := e.setTrail(o, in.TrailPercent, in.TrailAmount); err != nil {
			return err
		}
	}
	e.enqueue(o)
	return nil
}

// refuse fills in the decimals of an order and returns the code of A8 if it cannot
// be accepted.
func (e *Engine) refuse(o *order, in *market.Intent) string {
	if e.Warmup() {
		return "warmup"
	}
	if o.Type == market.TrailingStop && e.symbols[o.sym].index < 0 {
		return "invalid_price" // there is no price yet that it could follow
	}
	if reason := e.refuseSize(o, in); reason != "" {
		return reason
	}
	if reason := refusePrices(o, in); reason != "" {
		return reason
	}
	if reason := refuseBracket(o, in); reason != "" {
		return reason
	}
	if (in.TimeInForce == market.GTD) != (in.ExpireAfter != 0) || in.ExpireAfter < 0 {
		return "invalid_expiry"
	}
	if e.openings >= maxOpenOrders {
		return "too_many_open_orders"
	}
	return e.judged(o, in)
}

// judged is the code of whoever may refuse besides.
func (e *Engine) judged(o *order, in *market.Intent) string {
	if e.cfg.Judge == nil {
		return ""
	}
	return e.cfg.Judge(&o.Order, in)
}

func (e *Engine) refuseSize(o *order, in *market.Intent) string {
	v := in.Size.Value
	switch in.Size.Kind {
	case market.SizeNone:
		return "invalid_size"
	case market.SizePosition:
		return ""
	case market.SizeQuantity:
		return e.setQuantity(o, v)
	}
	if in.Reduces() || v <= 0 || (in.Size.Kind == market.SizeCashFraction && v > 1) {
		return "invalid_size"
	}
	if _, err := toDecimal(v); err != nil {
		return "invalid_size"
	}
	return ""
}

// setQuantity rounds a wanted quantity down to the step.
func (e *Engine) setQuantity(o *order, v float64) string {
	d, err := toDecimal(v)
	if err != nil || v <= 0 {
		return "invalid_quantity"
	}
	q, err := floorTo(d, e.opt.QuantityStep)
	if err != nil {
		return "invalid_quantity"
	}
	if !q.IsPos() {
		return "quantity_below_step"
	}
	o.Quantity = q
	return ""
}

func refusePrices(o *order, in *market.Intent) string {
	if (in.LimitPrice != 0) != in.Type.NeedsLimit() || (in.StopPrice != 0) != in.Type.NeedsStop() {
		return "invalid_price"
	}
	trails := in.TrailPercent != 0 || in.TrailAmount != 0
	if trails != (in.Type == market.TrailingStop) || (trails && !validTrail(in)) {
		return "invalid_price"
	}
	if in.Type.NeedsLimit() && !setPrice(in.LimitPrice, o.setLimit) {
		return "invalid_price"
	}
	if in.Type.NeedsStop() && !setPrice(in.StopPrice, o.setStop) {
		return "invalid_price"
	}
	return ""
}

// validTrail says that exactly one distance is given and makes sense.
func validTrail(in *market.Intent) bool {
	if in.TrailPercent != 0 {
		return in.TrailAmount == 0 && in.TrailPercent > 0 && in.TrailPercent < 1
	}
	_, err := toDecimal(in.TrailAmount)
	return in.TrailAmount > 0 && err == nil
}

func setPrice(v float64, set func(dec)) bool {
	d, err := toDecimal(v)
	if err != nil || !d.IsPos() {
		return false
	}
	set(d)
	return true
}

// refuseBracket checks the children: one field each, no trailing target, nothing on
// a reduce-only order, and an absolute price on the right side of a priced parent.
func refuseBracket(o *order, in *market.Intent) string {
	for i, c := range [...]*market.Child{in.StopLoss, in.TakeProfit} {
		if c != nil && (in.Reduces() || !validChild(c, i == 0, in.Side) || !rightSide(o, c, i == 0)) {
			return "invalid_bracket"
		}
	}
	return ""
}

// maxChildPercent is the farthest a take profit may be from the fill: a million times its price.
const maxChildPercent = 1e6

func validChild(c *market.Child, stop bool, side market.Side) bool {
	set := 0
	for _, v := range [...]float64{c.Price, c.Percent, c.TrailPercent, c.TrailAmount} {
		if v < 0 {
			return false
		}
		if v != 0 {
			set++
		}
	}
	if set != 1 || (!stop && (c.TrailPercent != 0 || c.TrailAmount != 0)) || c.TrailPercent >= 1 {
		return false
	}
	below := stop == (side == market.Buy) // this leg sits below the fill price
	if (below && c.Percent >= 1) || c.Percent > maxChildPercent {
		return false
	}
	for _, v := range [...]float64{c.Price, c.Percent, c.TrailPercent, c.TrailAmount} {
		if d, err := toDecimal(v); err != nil || (v != 0 && !d.IsPos()) {
			return false
		}
	}
	return true
}

// rightSide compares an absolute child price with the price of its parent, if it has one.
func rightSide(o *order, c *market.Child, stop bool) bool {
	if c.Price == 0 {
		return true
	}
	parent := o.LimitPrice
	switch o.Type {
	case market.Market, market.TrailingStop:
		return true
	case market.Stop:
		parent = o.StopPrice
	case market.StopLimit:
		// It may fill at its stop or at its limit: the stop loss must be beyond both.
		if stop && reached(o.Side, o.stopF, o.limitF) {
			parent = o.StopPrice
		}
	}
	level, err := toDecimal(c.Price)
	if err != nil {
		return false
	}
	if below := stop == (o.Side == market.Buy); below {
		return level.Cmp(parent) < 0
	}
	return level.Cmp(parent) > 0
}

// cancel takes back one order. The code says why it could not.
func (e *Engine) cancel(in *market.Intent) string {
	o := e.find(in.Ref)
	if o == nil {
		return "unknown_order"
	}
	e.finish(o, market.StatusCanceled, "strategy", e.now)
	return ""
}

// cancelAll takes back every order of a symbol.
func (e *Engine) cancelAll(sym int) {
	for _, o := range e.live {
		if o.sym == sym && !o.done {
			e.finish(o, market.StatusCanceled, "strategy", e.now)
		}
	}
}

// find is the newest open order with this client reference, or the one with this id.
func (e *Engine) find(ref string) *order {
	if ref == "" {
		return nil
	}
	for i := len(e.live) - 1; i >= 0; i-- {
		o := e.live[i]
		if !o.done && (o.Ref == ref || (strings.HasPrefix(ref, "o-") && o.ID.String() == ref)) {
			return o
		}
	}
	return nil
}

// replace changes an open order. It keeps its id and goes to the end of the queue
// as newly arrived.
func (e *Engine) replace(in *market.Intent) string {
	o := e.find(in.Ref)
	if o == nil {
		return "unknown_order"
	}
	if o.Type == market.Market {
		return "invalid_type"
	}
	changed := *o
	if reason := e.replaceFields(&changed, in); reason != "" {
		return reason
	}
	as := market.Intent{Symbol: o.Symbol, Side: o.Side, Type: o.Type, Size: changed.size, ReduceOnly: o.ReduceOnly}
	if reason := e.judged(&changed, &as); reason != "" {
		return reason
	}
	next := &changed
	next.arrived, next.triggered = false, next.triggered && in.StopPrice == 0
	next.delay, next.since = e.cfg.DelayCandles, e.now
	if o.sibling != nil {
		o.sibling.sibling = next
	}
	o.done = true
	e.live = append(e.live, next)
	e.changed(next, market.StatusOpen, "", e.now)
	return ""
}

func (e *Engine) replaceFields(o *order, in *market.Intent) string {
	switch in.Size.Kind {
	case market.SizeNone:
	case market.SizeQuantity:
		if reason := e.setQuantity(o, in.Size.Value); reason != "" {
			return reason
		}
		o.size = in.Size
	default:
		v := in.Size.Value
		if o.ReduceOnly || v <= 0 || (in.Size.Kind == market.SizeCashFraction && v > 1) {
			return "invalid_size"
		}
		o.size, o.Quantity = in.Size, dec{}
	}
	if in.LimitPrice != 0 && (!o.Type.NeedsLimit() || !setPrice(in.LimitPrice, o.setLimit)) {
		return "invalid_price"
	}
	if in.StopPrice != 0 && (!o.Type.NeedsStop() || !setPrice(in.StopPrice, o.setStop)) {
		return "invalid_price"
	}
	if reason := e.replaceTrail(o, in); reason != "" {
		return reason
	}
	if in.StopLoss != nil || in.TakeProfit != nil {
		return "invalid_bracket" // the legs themselves are orders that can be replaced
	}
	for i, c := range [...]*market.Child{o.stopLoss, o.takeProfit} {
		if c != nil && !rightSide(o, c, i == 0) {
			return "invalid_bracket"
		}
	}
	if in.ExpireAfter != 0 {
		if in.ExpireAfter < 0 || o.TimeInForce != market.GTD {
			return "invalid_expiry"
		}
		o.expireLeft = in.ExpireAfter
	}
	return ""
}

// replaceTrail changes the distance of a trailing stop, which keeps its water.
func (e *Engine) replaceTrail(o *order, in *market.Intent) string {
	if in.TrailPercent == 0 && in.TrailAmount == 0 {
		return ""
	}
	if o.Type != market.TrailingStop || !validTrail(in) || e.setTrail(o, in.TrailPercent, in.TrailAmount) != nil {
		return "invalid_price"
	}
	return ""
}
