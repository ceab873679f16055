package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// IntentError is an intent that is none at all: a number that is not finite,
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
// close time, or DelayCandles later. What does not depend on the account is judged now.
func (e *Engine) Accept(intents []market.Intent) error {
	for i := 0; i < len(intents); i++ {
		in := &intents[i]
		n, sym, fault := GroupOCO(intents[i:], e.intake.check)
		if fault != "" {
			return &IntentError{Step: e.venue.step, Index: i + n - 1, Reason: fault}
		}
		if !GuardsHold(intents[i:i+n], sym, len(e.venue.symbols), e.venue.opt.AllowShort,
			holdings{&e.intake}) {
			e.dropGuarded(intents[i : i+n])
			i += n - 1
			continue
		}
		var refusal market.Reason
		var err error
		switch in.Action {
		case market.Submit, market.Close:
			if in.Action == market.Submit && in.Size.Kind == market.SizeTargetFraction {
				refusal, err = e.intake.submitTarget(sym, in)
				break
			}
			err = e.intake.submit(sym, intents[i:i+n])
			i += n - 1
		case market.Cancel:
			refusal, err = e.intake.cancel(in)
		case market.CancelAll:
			err = e.intake.send(message{action: market.CancelAll, sym: sym})
		case market.Replace:
			refusal, err = e.intake.replace(in)
		case market.SetLeg:
			refusal, err = moveLegs(&e.intake, sym, in)
		}
		if err != nil {
			return e.venue.ledgerError("order", err)
		}
		if refusal != "" {
			e.venue.stats.RejectedIntents++
		}
		if e.venue.rec != nil && (refusal != "" || !isSubmit(in.Action)) {
			e.venue.rec.Intent(e.venue.step, in, refusal)
		}
	}
	e.venue.compact()
	return nil
}

// check finds the symbol and refuses what no strategy may ask for.
func (n *intake) check(in *market.Intent) (int, string) {
	if in.Action > market.CancelAll || in.Side > market.Sell || in.Type > market.TrailingStop ||
		in.TimeInForce > market.IOC || in.Size.Kind > market.SizeTargetFraction {
		return 0, "unknown action, side, type, time in force or size"
	}
	if !in.Guard.IsValid() {
		return 0, FaultGuard
	}
	if !isFinite(in) {
		return 0, "a number is not finite"
	}
	if in.Symbol == "" {
		return 0, ""
	}
	for i, s := range n.cfg.Symbols {
		if s == in.Symbol {
			return i, ""
		}
	}
	return 0, "unknown symbol " + strconv.Quote(string(in.Symbol))
}

// isFinite reports whether all numbers of an intent are.
func isFinite(in *market.Intent) bool {
	ok := allFinite(in.Size.Value, in.LimitPrice, in.StopPrice, in.TrailPercent, in.TrailAmount)
	for _, c := range [...]*market.Child{in.StopLoss, in.TakeProfit} {
		if c != nil {
			level := c.Numbers()
			ok = ok && allFinite(level[:]...)
		}
	}
	for i := range in.Targets {
		level := in.Targets[i].Level.Numbers()
		ok = ok && allFinite(in.Targets[i].Share) && allFinite(level[:]...)
	}
	return ok
}

func allFinite(list ...float64) bool {
	for _, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// submit makes an order of an intent, or of each of a group of them: accepted, or rejected with a reason.
func (n *intake) submit(sym int, list []market.Intent) error {
	var room [4]draft
	drafts, refused := room[:0], false
	for i := range list {
		d, err := n.draft(sym, &list[i])
		if err != nil {
			return err
		}
		drafts, refused = append(drafts, d), refused || d.reason != ""
	}
	if len(list) > 1 && !refused {
		group := &ocoGroup{}
		for _, d := range drafts {
			d.order.oco, group.orders = group, append(group.orders, d.order)
		}
	}
	for i, d := range drafts {
		switch {
		case d.order == nil: // it was refused before it was one
		case refused:
			n.reject(d.order, cmp.Or(d.reason, market.ReasonOCO))
		default:
			if err := n.send(message{action: list[i].Action, sym: sym, order: d.order}); err != nil {
				return err
			}
		}
	}
	return nil
}

// draft is an order before it is accepted, or the reason why it is not. There is none at all where a share of
// the equity is less than one step.
type draft struct {
	order  *order
	reason market.Reason
}

func (n *intake) draft(sym int, in *market.Intent) (d draft, err error) {
	var quantity dec
	if in.Action == market.Submit && in.Size.Kind.OfEquity() && !n.warmup() {
		if quantity, d.reason, err = n.equityQuantity(sym, in); err != nil {
			return d, err
		}
		if d.reason == "" && !quantity.IsPos() {
			d.reason = market.ReasonQuantityBelowStep
			n.stats.RejectedIntents++
			if n.rec != nil {
				n.rec.Intent(n.step, in, d.reason)
			}
			return d, nil
		}
	}
	if n.rec != nil {
		n.rec.Intent(n.step, in, "")
	}
	asked := *in
	if in.Action == market.Close {
		asked = market.Intent{
			Side: n.closingSide(sym), Type: market.Market, Size: market.Size{Kind: market.SizePosition},
			Tag: in.Tag, ClientRef: in.ClientRef,
		}
	}
	keepChildren(&asked)
	d.order = n.newOrder(sym, &asked, n.now)
	d.order.Quantity = quantity
	if d.reason == "" {
		d.reason = n.refuse(d.order, &asked)
	}
	return d, nil
}

// keepChildren copies the children of an intent: the strategy may reuse its memory.
func keepChildren(in *market.Intent) {
	for _, c := range [...]**market.Child{&in.StopLoss, &in.TakeProfit} {
		if *c != nil {
			spec := **c
			*c = &spec
		}
	}
	in.Targets = slices.Clone(in.Targets)
}

// closingSide is the side that reduces the position; sell when there is none.
func (v *venue) closingSide(sym int) market.Side {
	if v.ledger.books[sym].quantity.IsNeg() {
		return market.Buy
	}
	return market.Sell
}

// refuse fills in the decimals of an order and returns the reason if it cannot be
// accepted (R9).
func (n *intake) refuse(o *order, in *market.Intent) market.Reason {
	if n.warmup() {
		return market.ReasonWarmup
	}
	if in.PostOnly && (in.Type != market.Limit || in.TimeInForce == market.IOC) {
		return market.ReasonInvalidType
	}
	if o.Type == market.TrailingStop && n.symbols[o.sym].index < 0 {
		return market.ReasonInvalidPrice // there is no price yet that it could follow
	}
	if reason := n.refuseSize(o, in); reason != "" {
		return reason
	}
	if reason := refusePrices(o, in); reason != "" {
		return reason
	}
	if reason := refuseBracket(o, in); reason != "" {
		return reason
	}
	if (in.TimeInForce == market.GTD) != (in.ExpireAfter != 0) || in.ExpireAfter < 0 {
		return market.ReasonInvalidExpiry
	}
	if n.cfg.DelayCandles <= 0 && n.openings+max(in.OCO-1, 0) >= maxOpenOrders {
		return market.ReasonTooManyOpenOrders // a delayed order is counted when it arrives
	}
	return n.judged(o, in)
}

// judged is the code of whoever may refuse besides.
func (n *intake) judged(o *order, in *market.Intent) market.Reason {
	if n.cfg.Stale != nil && !shrinks(n.venue, &o.Order) && n.cfg.Stale(n.now) {
		return market.ReasonInputStale
	}
	if n.cfg.Judge == nil {
		return ""
	}
	asked := *in // else every intent would be on the heap
	return n.cfg.Judge(&o.Order, &asked)
}

func (n *intake) refuseSize(o *order, in *market.Intent) market.Reason {
	v := in.Size.Value
	switch in.Size.Kind {
	case market.SizeNone:
		return market.ReasonInvalidSize
	case market.SizePosition:
		return ""
	case market.SizeQuantity:
		return n.setQuantity(o, v)
	case market.SizeEquityFraction, market.SizeRiskFraction, market.SizeTargetFraction:
		return "" // submit has made a quantity of it
	}
	if in.Reduces() || v <= 0 || (in.Size.Kind == market.SizeCashFraction && v > 1) {
		return market.ReasonInvalidSize
	}
	if _, err := Decimal(v); err != nil {
		return market.ReasonInvalidSize
	}
	return ""
}

// setQuantity rounds a wanted quantity down to the step.
func (n *intake) setQuantity(o *order, v float64) market.Reason {
	d, err := Decimal(v)
	if err != nil || v <= 0 {
		return market.ReasonInvalidQuantity
	}
	q, err := floorTo(d, n.opt.QuantityStep)
	if err != nil {
		return market.ReasonInvalidQuantity
	}
	if !q.IsPos() {
		return market.ReasonQuantityBelowStep
	}
	o.Quantity = q
	return ""
}

func refusePrices(o *order, in *market.Intent) market.Reason {
	trails := in.TrailPercent != 0 || in.TrailAmount != 0
	if (in.LimitPrice != 0) != in.Type.NeedsLimit() || (in.StopPrice != 0) != in.Type.NeedsStop() ||
		trails != (in.Type == market.TrailingStop) || trails && !validTrail(in) ||
		in.Type.NeedsLimit() && !setPrice(in.LimitPrice, o.setLimit) ||
		in.Type.NeedsStop() && !setPrice(in.StopPrice, o.setStop) ||
		trails && o.setDistance(in.TrailPercent, in.TrailAmount) != nil {
		return market.ReasonInvalidPrice
	}
	return ""
}

// validTrail reports whether exactly one distance is given and makes sense.
func validTrail(in *market.Intent) bool {
	if in.TrailPercent != 0 {
		return in.TrailAmount == 0 && in.TrailPercent > 0 && in.TrailPercent < 1
	}
	_, err := Decimal(in.TrailAmount)
	return in.TrailAmount > 0 && err == nil
}

func setPrice(v float64, set func(dec)) bool {
	d, err := Decimal(v)
	if err != nil || !d.IsPos() {
		return false
	}
	set(d)
	return true
}

// cancel takes back one order. The code is why it could not.
func (n *intake) cancel(in *market.Intent) (market.Reason, error) {
	o := n.find(in.Ref)
	if o == nil {
		return market.ReasonUnknownOrder, nil
	}
	return "", n.send(message{action: market.Cancel, sym: o.sym, order: o})
}

// cancelOpen takes back the open orders of a symbol, or of all if sym is below 0.
func (v *venue) cancelOpen(sym int, reason market.Reason) {
	for _, o := range v.live {
		if (sym < 0 || o.sym == sym) && !o.done {
			v.finish(o, market.StatusCanceled, reason, v.now)
		}
	}
}

// find is the newest order with this client reference, or the one with this id, that
// is open or on its way.
func (n *intake) find(ref string) *order {
	if ref == "" {
		return nil
	}
	for i := len(n.transit) - 1; i >= 0; i-- {
		if m := &n.transit[i]; isSubmit(m.action) && m.order.named(ref) {
			return m.order
		}
	}
	for i := len(n.live) - 1; i >= 0; i-- {
		if o := n.live[i]; !o.done && o.named(ref) {
			return o
		}
	}
	return nil
}

// named reports whether a cancel or replace with this reference means the order.
func (o *order) named(ref string) bool {
	return o.Ref == ref || (strings.HasPrefix(ref, "o-") && o.ID.String() == ref)
}

// replace changes an open order. The code is why it could not.
func (n *intake) replace(in *market.Intent) (market.Reason, error) {
	o := n.find(in.Ref)
	if o == nil {
		return market.ReasonUnknownOrder, nil
	}
	if o.Type == market.Market || in.PostOnly {
		return market.ReasonInvalidType, nil
	}
	changed, reason := changedBy(n, o, in)
	if reason != "" {
		return reason, nil
	}
	return "", n.send(message{action: market.Replace, sym: o.sym, order: o, change: in, terms: changed})
}

// changedBy is an order as a replace will leave it, or the code of why it cannot be replaced.
func changedBy(n *intake, o *order, in *market.Intent) (*order, market.Reason) {
	changed := *n.foreseen(o)
	if reason := n.replaceFields(&changed, in); reason != "" {
		return nil, reason
	}
	as := market.Intent{Symbol: o.Symbol, Side: o.Side, Type: o.Type, Size: changed.size,
		ReduceOnly: o.ReduceOnly}
	return &changed, n.judged(&changed, &as)
}

func (n *intake) replaceFields(o *order, in *market.Intent) market.Reason {
	switch in.Size.Kind {
	case market.SizeNone:
	case market.SizeQuantity:
		if reason := n.setQuantity(o, in.Size.Value); reason != "" {
			return reason
		}
		o.size = in.Size
	case market.SizeEquityFraction, market.SizeRiskFraction, market.SizeTargetFraction:
		return market.ReasonInvalidSize
	default:
		v := in.Size.Value
		if o.ReduceOnly || v <= 0 || (in.Size.Kind == market.SizeCashFraction && v > 1) {
			return market.ReasonInvalidSize
		}
		o.size, o.Quantity = in.Size, dec{}
	}
	if in.LimitPrice != 0 && (!o.Type.NeedsLimit() || !setPrice(in.LimitPrice, o.setLimit)) {
		return market.ReasonInvalidPrice
	}
	if in.StopPrice != 0 && (!o.Type.NeedsStop() || !setPrice(in.StopPrice, o.setStop)) {
		return market.ReasonInvalidPrice
	}
	if reason := replaceTrail(o, in); reason != "" {
		return reason
	}
	if in.StopLoss != nil || in.TakeProfit != nil || len(in.Targets) > 0 {
		return market.ReasonInvalidBracket // the legs themselves are orders that can be replaced
	}
	if o.stopLoss != nil && !rightSide(o, o.stopLoss, true) {
		return market.ReasonInvalidBracket
	}
	for i := range o.targets {
		if !rightSide(o, &o.targets[i].Level, false) {
			return market.ReasonInvalidBracket
		}
	}
	if in.ExpireAfter != 0 {
		if in.ExpireAfter < 0 || o.TimeInForce != market.GTD {
			return market.ReasonInvalidExpiry
		}
		o.expireLeft = in.ExpireAfter
	}
	return ""
}

// replaceTrail changes the distance of a trailing stop, which keeps its peak.
func replaceTrail(o *order, in *market.Intent) market.Reason {
	if in.TrailPercent == 0 && in.TrailAmount == 0 {
		return ""
	}
	if o.Type != market.TrailingStop || !validTrail(in) ||
		o.setTrail(in.TrailPercent, in.TrailAmount) != nil {
		return market.ReasonInvalidPrice
	}
	return ""
}

// message is what the strategy has decided, on its way to the venue: a submit or
// close with its order, a cancel or replace of one, or a cancel of all of a symbol.
type message struct {
	action market.Action
	sym    int
	order  *order         // nil: all orders of the symbol
	change *market.Intent // of a replace
	terms  *order         // of a replace: the order as it will be
	target *market.Intent // of a target
	sent   market.Time
	left   int // candles of the symbol until it arrives
}

// send delivers a message at once, or under DelayCandles puts it on its way.
func (n *intake) send(m message) error {
	if n.cfg.DelayCandles <= 0 {
		return n.deliver(&m)
	}
	if m.change != nil {
		kept := *m.change // the strategy may reuse its memory
		m.change = &kept
	}
	m.sent, m.left = n.now, n.cfg.DelayCandles
	n.transit = append(n.transit, m)
	if isSubmit(m.action) {
		n.changed(m.order, market.StatusNew, "", n.now)
	}
	return nil
}

func isSubmit(a market.Action) bool { return a == market.Submit || a == market.Close }

// arrive delivers the messages that have waited for their candles, in the order of
// decisions. Candles count that opened after the decision.
func (n *intake) arrive() error {
	waiting := n.transit[:0]
	for i := range n.transit {
		m := n.transit[i]
		if s := &n.symbols[m.sym]; s.closed && m.sent <= s.candle.OpenTime {
			m.left--
		}
		if m.left > 0 {
			waiting = append(waiting, m)
		} else if err := n.deliver(&m); err != nil {
			return err
		}
	}
	clear(n.transit[len(waiting):])
	n.transit = waiting
	n.compact()
	return nil
}

// deliver lets a message take effect. One whose order has ended meanwhile is dropped.
func (n *intake) deliver(m *message) error {
	o := m.order
	switch {
	case o == nil:
		n.cancelOpen(m.sym, market.ReasonStrategy)
	case m.target != nil:
		return n.receiveTarget(m)
	case isSubmit(m.action):
		return n.receive(m.action, o)
	case o.done:
		n.stats.LateMessages++
	case m.action == market.Cancel:
		n.finish(o, market.StatusCanceled, market.ReasonStrategy, n.now)
	default:
		return n.substitute(o, m.change)
	}
	return nil
}

// receive puts the order of a submit or close into the queue. What depends on the
// account is settled here: the side of a close, where a trailing stop starts, and
// whether there is room.
func (n *intake) receive(action market.Action, o *order) error {
	o.since, o.UpdatedAt = n.now, n.now
	if action == market.Close {
		o.Side = n.closingSide(o.sym)
	}
	o.Role = n.roleOf(o)
	if n.openings+o.oco.from(o) > maxOpenOrders || o.oco.isRefused() {
		n.reject(o, market.ReasonTooManyOpenOrders)
		return nil
	}
	if o.Type == market.TrailingStop {
		peak, err := Decimal(n.symbols[o.sym].candle.Close)
		if err != nil {
			return err
		}
		o.peak = peak
		if err := o.placeTrail(); err != nil {
			return err
		}
	}
	n.enqueue(o)
	return nil
}

// substitute gives an open order other terms. It keeps its id and goes to the end of
// the queue as newly arrived.
func (n *intake) substitute(o *order, in *market.Intent) error {
	next := *o
	if reason := n.replaceFields(&next, in); reason != "" {
		return fmt.Errorf("replace of %s: %s", o.ID, reason)
	}
	next.arrived, next.triggered = false, next.triggered && in.StopPrice == 0
	next.since = n.now
	*o = next
	at := slices.Index(n.live, o)
	copy(n.live[at:], n.live[at+1:])
	n.live[len(n.live)-1] = o
	n.changed(o, market.StatusOpen, "", n.now)
	return nil
}

// foreseen is an order with the replaces that are on their way to it.
func (n *intake) foreseen(o *order) *order {
	for i := len(n.transit) - 1; i >= 0; i-- {
		if m := &n.transit[i]; m.order == o && m.terms != nil {
			return m.terms
		}
	}
	return o
}

// cancelEverything ends all orders, those that have not arrived too; nothing is on its way
// any more.
func (n *intake) cancelEverything(reason market.Reason) {
	n.cancelOpen(-1, reason)
	for i := range n.transit {
		if m := &n.transit[i]; isSubmit(m.action) {
			m.order.done = true
			n.changed(m.order, market.StatusCanceled, reason, n.now)
		}
	}
	n.transit = nil
	n.compact()
}
