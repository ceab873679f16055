package oms

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// maxOpenOrders is that of a backtest.
const maxOpenOrders = 1000

// Intents turns the decision of the strategy into orders, in list order. Refused is why a cancel or replace
// could not be, or a share of the equity is too small to be an order: by index, "" for the others,
// market.ReasonGuarded for those that their guards have dropped. Warm-up refuses every order.
func (d *Manager) Intents(intents []market.Intent, warmup bool,
	at time.Time) (r Result, refused []string, err error) {
	refused = make([]string, len(intents))
	for i := 0; i < len(intents); i++ {
		in := &intents[i]
		n, sym, fault := sim.GroupOCO(intents[i:], d.intake.checkIntent)
		if fault != "" {
			return d.takeResult(), refused, &IntentError{Step: d.step, Index: i + n - 1, Reason: fault}
		}
		if !sim.GuardsHold(intents[i:i+n], sym, len(d.sym), false, d.intake) {
			for k := range n {
				refused[i+k] = string(market.ReasonGuarded)
			}
			i += n - 1
			continue
		}
		switch in.Action {
		case market.Submit, market.Close:
			if in.Size.Kind == market.SizeTargetFraction && !warmup {
				refused[i] = d.intake.submitTarget(sym, *in, at)
				continue
			}
			d.intake.submitIntents(sym, intents[i:i+n], warmup, refused[i:i+n])
			i += n - 1
		case market.Cancel:
			refused[i] = d.intake.cancelByRef(in, at)
		case market.CancelAll:
			d.intake.cancelSymbol(sym, at)
		case market.Replace:
			refused[i] = d.intake.replaceOrder(in, at)
		case market.SetLeg:
			refused[i] = d.intake.moveLegs(sym, in)
		}
	}
	d.advance(at)
	return d.takeResult(), refused, nil
}

// checkIntent refuses what no strategy may say.
func (it *intake) checkIntent(in *market.Intent) (int, string) {
	if in.Action > market.CancelAll || in.Side > market.Sell || in.Type > market.TrailingStop ||
		in.TimeInForce > market.IOC || in.Size.Kind > market.SizeTargetFraction {
		return 0, "unknown action, side, type, time in force or size"
	}
	if !in.Guard.IsValid() {
		return 0, sim.FaultGuard
	}
	numbers := []float64{in.Size.Value, in.LimitPrice, in.StopPrice, in.TrailPercent, in.TrailAmount}
	for _, c := range [...]*market.Child{in.StopLoss, in.TakeProfit} {
		if c != nil {
			level := c.Numbers()
			numbers = append(numbers, level[:]...)
		}
	}
	for i := range in.Targets {
		level := in.Targets[i].Level.Numbers()
		numbers = append(append(numbers, in.Targets[i].Share), level[:]...)
	}
	for _, x := range numbers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return 0, "a number is not finite"
		}
	}
	if in.Symbol == "" {
		return 0, ""
	}
	if i := it.manager.symbolIndex(in.Symbol); i >= 0 {
		return i, ""
	}
	return 0, "unknown symbol " + string(in.Symbol)
}

// submitIntent makes an order of the host's own.
func (it *intake) submitIntent(sym int, in market.Intent) {
	it.submitIntents(sym, []market.Intent{in}, false, make([]string, 1))
}

// submitIntents makes an order of an intent, or of each member of an OCO: one that waits to be placed, or one
// that is refused; of an OCO all or none. Refused is why there is no order at all.
func (it *intake) submitIntents(sym int, list []market.Intent, warmup bool, refused []string) {
	orders, reasons := make([]*logicalOrder, len(list)), make([]string, len(list))
	good := true
	for i := range list {
		orders[i], reasons[i] = it.draftIntent(sym, list[i], warmup)
		good = good && reasons[i] == ""
	}
	if good && len(list) > 1 && it.sellsTooMuch(orders) {
		good, reasons[0] = false, order.CodeTypeUnsupported
	}
	for i, p := range orders {
		if p == nil {
			refused[i] = reasons[i]
			continue
		}
		if good && len(list) > 1 {
			p.oco = orders
		}
		if !good {
			reasons[i] = cmp.Or(reasons[i], string(market.ReasonOCO))
		}
		it.settleOrder(p, reasons[i])
	}
}

// settleOrder lets an order wait to be placed, or refuses it.
func (it *intake) settleOrder(p *logicalOrder, reason string) {
	if reason != "" {
		p.endOrder(it.manager, market.StatusRejected, reason)
		return
	}
	p.waiting = true
	it.manager.queueUpdate(p)
}

// sellsTooMuch reports whether the sales of an OCO are together for more than is held: the venue holds the
// base of each, and would refuse the last.
func (it *intake) sellsTooMuch(orders []*logicalOrder) bool {
	wanted, held := dec{}, it.ledger.Quantity(orders[0].Symbol)
	for _, p := range orders {
		if p.Side == market.Sell {
			wanted = order.Plus(wanted, it.manager.placer.toSell(p))
		}
	}
	return wanted.Cmp(held) > 0
}

// draftIntent returns an order before it is accepted, or why it is not; no order where a share of the equity
// is too small for one.
func (it *intake) draftIntent(sym int, in market.Intent, warmup bool) (*logicalOrder, string) {
	if in.Action == market.Close {
		in = market.Intent{
			Side: market.Sell, Type: market.Market, Size: market.Size{Kind: market.SizePosition},
			Tag: in.Tag, ClientRef: in.ClientRef,
		}
	}
	in = keepChildren(in)
	reason, fixed := "", dec{}
	ofEquity := in.Size.Kind.OfEquity()
	if ofEquity && !warmup {
		if fixed, reason = it.sizeByEquity(sym, &in); reason == order.CodeBelowMinimum {
			return nil, reason
		}
		in.Size = market.Size{Kind: market.SizeQuantity, Value: sim.Float(fixed)}
	}
	p := it.newOrder(sym, in)
	return p, it.draftOrder(p, fixed, ofEquity, warmup, reason)
}

// keepChildren copies the children of an intent: the strategy may reuse its memory.
func keepChildren(in market.Intent) market.Intent {
	for _, c := range [...]**market.Child{&in.StopLoss, &in.TakeProfit} {
		if *c != nil {
			spec := **c
			*c = &spec
		}
	}
	in.Targets = slices.Clone(in.Targets)
	return in
}

// draftOrder prepares an order of a quantity that the equity has fixed, or of any other size, and returns why
// it is refused.
func (it *intake) draftOrder(p *logicalOrder, fixed dec, ofEquity, warmup bool, reason string) string {
	p.Quantity, p.asked, p.clamps = fixed, fixed, ofEquity
	in := &p.intent
	if in.Side == market.Sell {
		p.Role = market.RoleExit
	}
	switch {
	case warmup:
		reason = "warmup"
	case reason == "":
		reason = it.prepareOrder(p)
	}
	return reason
}

// sizeByEquity is the quantity of a share of the equity at the close of the step, which later equity and
// prices do not change: what a backtest asks for, on the steps of the market. The code is BELOW_MINIMUM when
// the market does not take as little.
func (it *intake) sizeByEquity(sym int, in *market.Intent) (dec, string) {
	s := &it.manager.sym[sym]
	q, code := sim.EquitySize(in, it.manager.Equity(), s.last, s.step(in.Type))
	if code != "" {
		return q, string(code)
	}
	return q, s.tooSmall(in, q)
}

// step is what quantities are multiples of.
func (s *symbol) step(typ market.OrderType) dec {
	if step := s.rules.Step(typ); step.IsPos() {
		return step
	}
	return decimal.MustNew(1, 8) // that of a backtest
}

// tooSmall is BELOW_MINIMUM when the market does not take an order as small as this.
func (s *symbol) tooSmall(in *market.Intent, q dec) string {
	limit, _ := sim.Decimal(in.LimitPrice)
	stop, _ := sim.Decimal(in.StopPrice)
	spec := order.Spec{Side: in.Side, Type: in.Type, Quantity: q, Reference: s.last,
		LimitPrice: s.rules.RoundPrice(in.Side, limit), StopPrice: s.rules.RoundPrice(in.Side, stop)}
	if s.rules.Check(spec, s.last) == order.CodeBelowMinimum {
		return order.CodeBelowMinimum
	}
	return ""
}

func (it *intake) newOrder(sym int, in market.Intent) *logicalOrder {
	p := &logicalOrder{sym: sym, intent: in, left: in.ExpireAfter}
	p.Order = market.Order{
		ID: market.OrderID(len(it.manager.orders) + 1), Ref: in.ClientRef, Symbol: it.cfg.Symbols[sym],
		Side: in.Side, Type: in.Type,
		TimeInForce: in.TimeInForce, ReduceOnly: in.Reduces(), Tag: in.Tag, CreatedAt: it.manager.now,
		UpdatedAt: it.manager.now,
	}
	it.manager.orders, it.manager.live = append(it.manager.orders, p), append(it.manager.live, p)
	return p
}

// prepareOrder fills in the decimals of an order and returns by which code it cannot be.
func (it *intake) prepareOrder(p *logicalOrder) string {
	in, s := p.intent, &it.manager.sym[p.sym]
	conditions := it.manager.placer.symbolConditions(p.sym)
	conditions.Barrier = it.cfg.Barrier
	denial := admission.Judge(conditions, admission.KindOf(in.Side == market.Sell || in.Reduces(), false))
	switch {
	case denial.Code == admission.CodeEndOfRun:
		return denial.Code
	case in.Side == market.Sell && it.ledger.Flat(p.Symbol):
		if in.Reduces() {
			return "reduce_only_no_position"
		}
		return "short_not_allowed"
	case in.Side == market.Buy && in.Reduces():
		return "reduce_only_no_position"
	case denial.Denies():
		return denial.Code
	case in.PostOnly && (in.Type != market.Limit || in.TimeInForce == market.IOC):
		return "invalid_type"
	case !it.offersTypes(&in, s.rules.OrderTypes):
		return order.CodeTypeUnsupported
	case it.denySlot(p) != "":
		return it.denySlot(p)
	case (in.TimeInForce == market.GTD) != (in.ExpireAfter > 0) || in.ExpireAfter < 0:
		return "invalid_expiry"
	case len(it.manager.OpenOrders()) > maxOpenOrders:
		return "too_many_open_orders"
	}
	if reason := p.setSize(s); reason != "" {
		return reason
	}
	if reason := p.setPrices(s); reason != "" {
		return reason
	}
	if !validBracket(&in) {
		return "invalid_bracket"
	}
	if in.Side == market.Sell && !in.Reduces() && p.Quantity.Cmp(it.ledger.Quantity(p.Symbol)) > 0 {
		return "short_not_allowed"
	}
	return ""
}

// offers reports whether the venue has a type of order, and takes it for the symbol.
func (it *intake) offers(name string, ofSymbol []string) bool {
	return slices.Contains(it.cfg.OrderTypes, name) && (len(ofSymbol) == 0 || slices.Contains(ofSymbol, name))
}

// takesAmounts reports whether a market buy of a symbol can be for an amount of quote.
func (it *intake) takesAmounts(sym int) bool {
	return it.offers("market_quote", it.manager.sym[sym].rules.OrderTypes)
}

// offersTypes reports whether the venue has the types that an intent needs, and takes them for the symbol.
func (it *intake) offersTypes(in *market.Intent, ofSymbol []string) bool {
	has := func(name string) bool { return it.offers(name, ofSymbol) }
	name := in.Type.String()
	switch {
	case in.Type == market.TrailingStop:
		name = "stop"
	case in.Type == market.Market && in.Side == market.Buy && in.Size.Kind != market.SizeQuantity:
		name = "market_quote"
	}
	switch {
	case in.PostOnly && !has("post_only"):
		return false
	case !has(name), in.TimeInForce == market.IOC && in.Type != market.Limit && in.Type != market.Market:
		return false
	case in.StopLoss != nil && len(in.TakeProfits()) > 0:
		return has("exit_pair")
	case in.StopLoss != nil:
		return has("stop")
	case len(in.TakeProfits()) > 0:
		return has("limit")
	}
	return true
}

func (p *logicalOrder) setSize(s *symbol) string {
	in := p.intent
	v, err := sim.Decimal(in.Size.Value)
	switch in.Size.Kind {
	case market.SizeNone:
		return "invalid_size"
	case market.SizePosition:
		return ""
	case market.SizeQuantity:
		if p.clamps {
			return "" // rounded when the equity fixed it
		}
		if err != nil || !v.IsPos() {
			return order.CodeInvalidAmount
		}
		if p.Quantity = s.rules.RoundQuantity(in.Type, v); !p.Quantity.IsPos() {
			return order.CodeBelowMinimum
		}
		return ""
	}
	if err != nil || in.Side == market.Sell || !v.IsPos() ||
		(in.Size.Kind == market.SizeCashFraction && in.Size.Value > 1) {
		return "invalid_size"
	}
	return ""
}

func (p *logicalOrder) setPrices(s *symbol) string {
	in := p.intent
	trails := in.TrailPercent != 0 || in.TrailAmount != 0
	if (in.LimitPrice != 0) != in.Type.NeedsLimit() || (in.StopPrice != 0) != in.Type.NeedsStop() ||
		trails != (in.Type == market.TrailingStop) {
		return "invalid_price"
	}
	for _, f := range []struct {
		from float64
		to   *dec
	}{{in.LimitPrice, &p.LimitPrice}, {in.StopPrice, &p.StopPrice}} {
		if f.from == 0 {
			continue
		}
		v, err := sim.Decimal(f.from)
		if err != nil || !v.IsPos() {
			return "invalid_price"
		}
		*f.to = s.rules.RoundPrice(in.Side, v)
	}
	if trails && !p.setTrail(in.TrailPercent, in.TrailAmount, s.last, s.rules) {
		return "invalid_price"
	}
	return ""
}

// setTrail places the stop of a trailing order.
func (p *logicalOrder) setTrail(percent, amount float64, water dec, rules order.Rules) bool {
	a, errA := sim.Decimal(percent)
	b, errB := sim.Decimal(amount)
	if errA != nil || errB != nil || percent < 0 || percent >= 1 || amount < 0 ||
		(percent != 0) == (amount != 0) || !water.IsPos() {
		return false
	}
	p.trail.percent, p.trail.amount, p.trail.highWater = a, b, water
	stop, _ := p.trail.stop(p.Side)
	p.StopPrice = rules.RoundPrice(p.Side, stop)
	return p.StopPrice.IsPos()
}

// validBracket checks the children: on a buy, one field each, nothing below zero, no trailing target, shares
// that sum to at most 1.
func validBracket(in *market.Intent) bool {
	if _, fit := sim.SplitTargets(decimal.One, in.Targets, decimal.One); !fit ||
		in.TakeProfit != nil && len(in.Targets) > 0 ||
		in.StopLoss != nil && !validLevel(in, in.StopLoss, true) {
		return false
	}
	for _, t := range in.TakeProfits() {
		if !validLevel(in, &t.Level, false) {
			return false
		}
	}
	return true
}

func validLevel(in *market.Intent, c *market.Child, stop bool) bool {
	if in.Side == market.Sell || in.Reduces() || !c.IsLevel(stop) || (stop && c.Percent >= 1) {
		return false
	}
	parent := in.LimitPrice
	if parent == 0 {
		parent = in.StopPrice
	}
	return c.Price == 0 || parent == 0 || (c.Price < parent) == stop
}

func (it *intake) cancelByRef(in *market.Intent, at time.Time) string {
	p := it.manager.findOrder(in.Ref)
	if p == nil {
		return "unknown_order"
	}
	it.cancelForStrategy(p, at)
	return ""
}

func (it *intake) cancelSymbol(sym int, at time.Time) {
	for _, p := range it.manager.workingOrders() {
		if p.sym == sym && !p.done && p.ending == "" {
			it.cancelForStrategy(p, at)
		}
	}
}

// cancelForStrategy takes an order back at the strategy's wish. A leg of a pair takes the other one with it
// at the venue; what is left of the bracket is placed anew.
func (it *intake) cancelForStrategy(p *logicalOrder, at time.Time) {
	if p.group != nil {
		p.group.dropLeg(it.manager, p, at)
		return
	}
	p.cancelOrder(it.manager, "strategy", at)
}

// replaceOrder keeps the order's id: cancel, confirm, new.
func (it *intake) replaceOrder(in *market.Intent, at time.Time) string {
	p := it.manager.findOrder(in.Ref)
	switch {
	case it.manager.barred:
		return admission.CodeEndOfRun
	case p == nil:
		return "unknown_order"
	}
	if p.Type == market.Market || in.PostOnly {
		return "invalid_type"
	}
	if reason := p.checkChange(in); reason != "" {
		return reason
	}
	if in.Size.Kind == market.SizeQuantity {
		if v, err := sim.Decimal(in.Size.Value); err != nil ||
			!it.manager.sym[p.sym].rules.RoundQuantity(p.Type, v).IsPos() {
			return order.CodeBelowMinimum
		}
	}
	change := *in
	if p.group != nil {
		p.applyChange(it.manager, &change)
		p.group.renew = true
		it.manager.queueUpdate(p)
		return ""
	}
	if p.waiting {
		p.applyChange(it.manager, &change)
		it.manager.queueUpdate(p)
		return ""
	}
	if shut := it.manager.placer.admit(admission.KindOf(p.Side == market.Sell, false)); shut != "" {
		return shut // the new order could not leave, and the old one would be gone
	}
	if p.change != nil {
		change = mergeChanges(*p.change, change)
	}
	p.change = &change
	it.manager.cancelID(p.currentID(), at)
	return ""
}

// mergeChanges is two changes as one, of which the later counts.
func mergeChanges(a, b market.Intent) market.Intent {
	if b.Size.Kind == market.SizeNone {
		b.Size = a.Size
	}
	if b.LimitPrice == 0 {
		b.LimitPrice = a.LimitPrice
	}
	if b.StopPrice == 0 {
		b.StopPrice = a.StopPrice
	}
	if b.TrailPercent == 0 && b.TrailAmount == 0 {
		b.TrailPercent, b.TrailAmount = a.TrailPercent, a.TrailAmount
	}
	if b.ExpireAfter == 0 {
		b.ExpireAfter = a.ExpireAfter
	}
	return b
}

func (p *logicalOrder) checkChange(in *market.Intent) string {
	switch {
	case in.Size.Kind > market.SizeQuantity, in.Size.Kind == market.SizeQuantity && in.Size.Value <= 0:
		return "invalid_size"
	case in.LimitPrice < 0, in.StopPrice < 0, in.LimitPrice != 0 && !p.Type.NeedsLimit(), in.StopPrice != 0 &&
		!p.Type.NeedsStop():
		return "invalid_price"
	case (in.TrailPercent != 0 || in.TrailAmount != 0) && !p.trail.on():
		return "invalid_price"
	case in.StopLoss != nil || len(in.TakeProfits()) > 0:
		return "invalid_bracket"
	case in.ExpireAfter < 0, in.ExpireAfter > 0 && p.TimeInForce != market.GTD:
		return "invalid_expiry"
	}
	return ""
}

// applyChange puts a change into the order.
func (p *logicalOrder) applyChange(d *Manager, in *market.Intent) {
	s := &d.sym[p.sym]
	if v, err := sim.Decimal(in.Size.Value); in.Size.Kind == market.SizeQuantity && err == nil {
		p.Quantity, p.intent.Size, p.clamps = s.rules.RoundQuantity(p.Type, v), in.Size, false
	}
	if v, err := sim.Decimal(in.LimitPrice); in.LimitPrice != 0 && err == nil {
		p.LimitPrice = s.rules.RoundPrice(p.Side, v)
	}
	if v, err := sim.Decimal(in.StopPrice); in.StopPrice != 0 && err == nil {
		p.StopPrice, p.reached = s.rules.RoundPrice(p.Side, v), false
	}
	if in.TrailPercent != 0 || in.TrailAmount != 0 {
		p.setTrail(in.TrailPercent, in.TrailAmount, p.trail.highWater, s.rules)
	}
	if in.ExpireAfter > 0 {
		p.left = in.ExpireAfter
	}
	p.UpdatedAt = d.now
}

// denySlot returns by which code an entry cannot be because of what the market lets be open or held; "" when
// it can. An entry with a stop needs a place for it: it must not fill without one.
func (it *intake) denySlot(p *logicalOrder) string {
	in, rules := p.intent, it.manager.sym[p.sym].rules
	if in.Side != market.Buy {
		return ""
	}
	if rules.MaxPosition.IsPos() && in.Size.Kind == market.SizeQuantity {
		size, err := sim.Decimal(in.Size.Value)
		if err == nil && order.Plus(it.ledger.Quantity(p.Symbol), size).Cmp(rules.MaxPosition) > 0 {
			return order.CodeAboveMaximum
		}
	}
	if rules.MaxStops == 0 || (in.StopLoss == nil && !in.Type.NeedsStop() && in.Type != market.TrailingStop) {
		return ""
	}
	used := 0
	for _, o := range it.manager.live {
		if !o.done && o != p && o.Symbol == p.Symbol {
			used += stopsOf(o)
		}
	}
	if used+stopsOf(p) > rules.MaxStops {
		return CodeNoExitSlot
	}
	return ""
}

// stopsOf returns how many orders with a stop price an order is, or will need.
func stopsOf(p *logicalOrder) (n int) {
	if p.intent.Type.NeedsStop() || p.intent.Type == market.TrailingStop ||
		(p.group != nil && p.Role == market.RoleStopLoss) {
		n++
	}
	if p.intent.StopLoss != nil && p.Side == market.Buy {
		n += bracketsOf(&p.intent)
	}
	return n
}

// CodeNoExitSlot: the market takes no more orders with a stop price, which the entry needs for its exit.
const CodeNoExitSlot = "NO_EXIT_SLOT"
