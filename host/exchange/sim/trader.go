package sim

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

var clientID = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,36}$`)

// maxDigits is how many digits of a number come through an intent's float64 unchanged.
const maxDigits = 15

// rejected is why an order is not taken, by a code of this venue.
func rejected(code, message string) *exchange.Result {
	return &exchange.Result{Outcome: exchange.Rejected, VenueCode: code, Message: exchange.Clip(message)}
}

// answer returns one whose code is its outcome.
func answer(o exchange.Outcome, message string) *exchange.Result {
	return &exchange.Result{Outcome: o, VenueCode: string(o), Message: message}
}

// Submit implements exchange.Connector.
func (v *venue) Submit(ctx context.Context, req exchange.OrderRequest) (exchange.Result, exchange.Order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	no, o := v.unsent(ctx), newOrder(req)
	if no == nil {
		no = v.account.refuse(req.TimeInForce, o)
	}
	if no == nil {
		no = v.account.place(o, req.TimeInForce)
	}
	if no != nil {
		return sealed(*no, req, nil), exchange.Order{}
	}
	v.account.publish()
	return sealed(accepted, req, o.Order), o.Order
}

var accepted = exchange.Result{Outcome: exchange.Accepted}

// SubmitPair implements exchange.Connector.
func (v *venue) SubmitPair(ctx context.Context,
	req exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	limit := newOrder(exchange.OrderRequest{ClientOrderID: req.LimitID, Symbol: req.Symbol, Side: req.Side,
		Type: market.Limit, Quantity: req.Quantity, LimitPrice: req.LimitPrice})
	stop := newOrder(exchange.OrderRequest{ClientOrderID: req.StopID, Symbol: req.Symbol, Side: req.Side,
		Type: market.Stop, Quantity: req.Quantity, StopPrice: req.StopPrice})
	no := v.unsent(ctx)
	if no == nil {
		no = v.account.refuse(market.GTC, limit, stop)
	}
	if no == nil {
		no = v.account.placePair(limit, stop)
	}
	if no != nil {
		return sealed(*no, req, nil), [2]exchange.Order{}
	}
	v.account.publish()
	both := [2]exchange.Order{limit.Order, stop.Order}
	return sealed(accepted, req, both), both
}

// placePair hands both legs to the simulator, or none.
func (a *account) placePair(limit, stop *order) *exchange.Result {
	p := &pair{legs: [2]*order{limit, stop}, since: a.engine.Time()}
	limit.pair, stop.pair = p, p
	if no := a.place(limit, market.GTC); no != nil {
		return no
	}
	no := a.place(stop, market.GTC)
	if no != nil {
		a.cancelOne(limit, reasonOCO)
		a.publish()
	}
	return no
}

// Cancel implements exchange.Connector. With a leg its pair is canceled.
func (v *venue) Cancel(ctx context.Context, name exchange.OrderRef) (exchange.Result, exchange.Order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if no := v.unsent(ctx); no != nil {
		return sealed(*no, name, nil), exchange.Order{}
	}
	o := v.account.find(name)
	if o == nil || o.final() {
		return sealed(*answer(exchange.NotOpen, "no such order is open"), name, nil), exchange.Order{}
	}
	v.account.cancel(o, reasonCanceled)
	v.account.publish()
	return sealed(accepted, name, o.Order), o.Order
}

// Query implements exchange.Connector.
func (v *venue) Query(ctx context.Context, name exchange.OrderRef) (exchange.Result, exchange.Order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if no := v.unsent(ctx); no != nil {
		return sealed(*no, name, nil), exchange.Order{}
	}
	o := v.account.find(name)
	if o == nil {
		return sealed(*answer(exchange.NotFound, "no such order"), name, nil), exchange.Order{}
	}
	return sealed(accepted, name, o.Order), o.Order
}

// unsent returns the answer where a request cannot have reached the venue; nil: it has.
func (v *venue) unsent(ctx context.Context) *exchange.Result {
	why := ""
	switch {
	case ctx.Err() != nil:
		why = "the request was given up before it was sent"
	case v.state != opened:
		why = "the session is not open"
	case v.account == nil:
		why = "the session was opened without trading"
	default:
		return nil
	}
	return &exchange.Result{Outcome: exchange.NotSent, Message: why}
}

// sealed adds the hashes of what was asked and answered.
func sealed(r exchange.Result, req, answer any) exchange.Result {
	r.RequestSHA256 = fingerprint(req)
	if answer == nil {
		answer = r
	}
	r.RawSHA256 = fingerprint(answer)
	return r
}

func fingerprint(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return exchange.Fingerprint(text)
}

func newOrder(req exchange.OrderRequest) *order {
	return &order{
		Order: exchange.Order{
			ClientOrderID: req.ClientOrderID, Symbol: req.Symbol, Side: req.Side, Type: req.Type,
			Quantity: req.Quantity, LimitPrice: req.LimitPrice, StopPrice: req.StopPrice,
		},
		amount: req.QuoteAmount, post: req.PostOnly,
	}
}

// find returns an order by its client id and symbol.
func (a *account) find(name exchange.OrderRef) *order {
	if o := a.byID[name.ClientOrderID]; o != nil && o.Symbol == name.Symbol {
		return o
	}
	return nil
}

// place hands an order to the simulator. One that it refuses is not known afterwards.
func (a *account) place(o *order, tif market.TimeInForce) *exchange.Result {
	a.at = a.v.pace.now()
	in := market.Intent{Symbol: o.Symbol, Side: o.Side, Type: o.Type, TimeInForce: tif,
		PostOnly: o.post, ClientRef: ref(o.ClientOrderID)}
	in.Size = market.Size{Kind: market.SizeQuantity, Value: sim.Float(o.Quantity)}
	if o.amount.IsPos() {
		in.Size = market.Size{Kind: market.SizeQuoteAmount, Value: sim.Float(o.amount)}
	}
	in.LimitPrice, in.StopPrice = sim.Float(o.LimitPrice), sim.Float(o.StopPrice)
	a.byID[o.ClientOrderID] = o
	err := a.engine.Accept([]market.Intent{in})
	if err == nil && o.Status == exchange.OrderOpen {
		a.orders = append(a.orders, o)
		return nil
	}
	delete(a.byID, o.ClientOrderID)
	if err != nil {
		return rejected("ORDER", err.Error())
	}
	return rejected(o.Reason, "the order is refused")
}

// refuse holds one order, or the limit and the stop of a pair, against the rules of the market and what the
// account has; nil: they can be placed.
func (a *account) refuse(tif market.TimeInForce, orders ...*order) *exchange.Result {
	for _, o := range orders {
		if no := a.breaks(o, tif); no != nil {
			return no
		}
	}
	if len(orders) == 2 {
		limit, stop := orders[0], orders[1]
		c := limit.LimitPrice.Cmp(stop.StopPrice)
		if limit.ClientOrderID == stop.ClientOrderID || (limit.Side == market.Sell) != (c > 0) || c == 0 {
			return rejected("PAIR",
				"the legs need two ids, and the limit must be the better price of the two")
		}
	}
	for _, o := range orders {
		if a.byID[o.ClientOrderID] != nil {
			return answer(exchange.Duplicate, "the client order id has been used")
		}
	}
	for _, o := range orders { // what a pair ties up is what its dearer leg does
		if lack := a.short(o); lack != "" {
			return rejected("INSUFFICIENT_BALANCE", lack)
		}
	}
	return nil
}

// breaks returns the rule of its market that an order breaks.
func (a *account) breaks(o *order, tif market.TimeInForce) *exchange.Result {
	i := a.v.symbol(o.Symbol)
	switch {
	case !clientID.MatchString(o.ClientOrderID):
		return rejected("CLIENT_ORDER_ID", "a client order id has 1 to 36 letters, digits and _ . : / -")
	case i < 0:
		return rejected("UNKNOWN_SYMBOL", "the session has no such symbol")
	case o.Type > market.StopLimit || o.Side > market.Sell:
		return rejected("ORDER_TYPE", "the types are market, limit, stop and stop_limit")
	case o.post && (o.Type != market.Limit || tif != market.GTC):
		return rejected("ORDER_TYPE", "post-only is for limit orders that rest")
	case tif != market.GTC && tif != market.IOC:
		return rejected("TIME_IN_FORCE", "the times in force are gtc and ioc")
	case o.amount.IsPos() == o.Quantity.IsPos() || o.amount.IsNeg() || o.Quantity.IsNeg() ||
		(o.amount.IsPos() && o.Type != market.Market):
		return rejected("SIZE",
			"exactly one of quantity and quote amount must be above 0; the amount is for market orders")
	case o.LimitPrice.IsPos() != o.Type.NeedsLimit() || o.StopPrice.IsPos() != o.Type.NeedsStop() ||
		o.LimitPrice.IsNeg() || o.StopPrice.IsNeg():
		return rejected("PRICE", "a price is missing, or not for this type")
	}
	tick := a.v.tapes[i].tick()
	switch {
	case !multiple(o.LimitPrice, tick) || !multiple(o.StopPrice, tick):
		return rejected("PRICE_TICK", "a price is not a multiple of the tick, or has more than 15 digits")
	case !multiple(o.Quantity, quantityStep) || o.Quantity.Cmp(maxQuantity) > 0:
		return rejected("LOT_SIZE", "the quantity is not a multiple of the step, or above the maximum")
	case o.amount.Trim(0).Prec() > maxDigits:
		return rejected("SIZE", "the amount has more than 15 digits")
	case a.small(o):
		return rejected("MIN_NOTIONAL", "the order is worth less than 5 of the quote currency")
	}
	return nil
}

// multiple reports whether a number is whole steps and comes through a float64 unchanged.
func multiple(d, step decimal.Decimal) bool {
	_, rest, err := d.QuoRem(step)
	return err == nil && rest.IsZero() && d.Trim(0).Prec() <= maxDigits
}

// small reports whether an order is worth less than the minimum, as far as can be told.
func (a *account) small(o *order) bool {
	if o.amount.IsPos() {
		return o.amount.Cmp(minNotional) < 0
	}
	price := a.priceOf(o)
	if price.IsZero() {
		return false
	}
	worth, err := o.Quantity.Mul(price)
	return err == nil && worth.Cmp(minNotional) < 0
}

// subscriber is one StreamAccount: what it has not been told yet.
type subscriber struct {
	queue []notice
	wake  chan struct{} // holds one token
}

// notice is an event, or a barrier that is closed when everything before it is told.
type notice struct {
	event   exchange.AccountEvent
	barrier chan struct{}
}

// OpenOrders implements exchange.Connector.
func (v *venue) OpenOrders(ctx context.Context) ([]exchange.Order, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.trading(ctx); err != nil {
		return nil, err
	}
	list := []exchange.Order{}
	for _, o := range v.account.open() {
		list = append(list, o.Order)
	}
	return list, nil
}

// Fills implements exchange.Connector. They are always complete.
func (v *venue) Fills(ctx context.Context, symbol market.Symbol, since market.Time) (exchange.Fills, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.trading(ctx); err != nil {
		return exchange.Fills{}, err
	}
	all := exchange.Fills{Complete: true, Fills: []exchange.Fill{}}
	for _, f := range v.account.fills {
		if f.Symbol == symbol && f.Time >= since {
			all.Fills = append(all.Fills, f)
		}
	}
	return all, nil
}

// Balances implements exchange.Connector.
func (v *venue) Balances(ctx context.Context) ([]exchange.Balance, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.trading(ctx); err != nil {
		return nil, err
	}
	return v.account.balances(), nil
}

// trading returns the error of a read without an account.
func (v *venue) trading(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := v.ready(); err != nil {
		return err
	}
	if v.account == nil {
		return refused("NO_ACCOUNT", "the session was opened without trading")
	}
	return nil
}

// StreamAccount implements exchange.Connector. Nothing is dropped: what is not taken yet
// waits, and so do the candles of the step that it belongs to.
func (v *venue) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	v.mu.Lock()
	if err := v.trading(ctx); err != nil {
		v.mu.Unlock()
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	s := &subscriber{wake: make(chan struct{}, 1)}
	v.account.subs = append(v.account.subs, s)
	v.mu.Unlock()
	defer v.leave(s)
	on(exchange.AccountEvent{State: exchange.Connected})
	for ctx.Err() == nil {
		n, more, over := v.take(s)
		switch {
		case more && n.barrier != nil:
			close(n.barrier)
		case more:
			on(n.event)
		case over:
			return refused(exchange.CodeClosed, "the session is closed")
		default:
			select {
			case <-ctx.Done():
			case <-s.wake:
			}
		}
	}
	return nil
}

// take returns the next notice, if there is one, and whether the session is closed.
func (v *venue) take(s *subscriber) (n notice, more, over bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(s.queue) == 0 {
		return notice{}, false, v.state == closed
	}
	n, s.queue = s.queue[0], s.queue[1:]
	return n, true, false
}

// leave ends a subscription; no listener waits for it any more.
func (v *venue) leave(s *subscriber) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.account.subs = slices.DeleteFunc(v.account.subs, func(other *subscriber) bool { return other == s })
	for _, n := range s.queue {
		if n.barrier != nil {
			close(n.barrier)
		}
	}
}

// publish gives the subscribers what has happened, and the balances that it changed.
func (a *account) publish() {
	now := a.balances()
	for i := range now {
		if was := a.lastSent[i]; now[i].Free.Cmp(was.Free) != 0 || now[i].Locked.Cmp(was.Locked) != 0 {
			b := now[i]
			a.out = append(a.out, exchange.AccountEvent{Balance: &b})
		}
	}
	a.lastSent = now
	for _, s := range a.subs {
		for _, e := range a.out {
			s.queue = append(s.queue, notice{event: e})
		}
		s.nudge()
	}
	a.out = nil
}

func (s *subscriber) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// barriers are closed when the subscribers have taken everything published so far, or
// have gone.
func (a *account) barriers() []<-chan struct{} {
	var list []<-chan struct{}
	for _, s := range a.subs {
		b := make(chan struct{})
		s.queue = append(s.queue, notice{barrier: b})
		s.nudge()
		list = append(list, b)
	}
	return list
}
