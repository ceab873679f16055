package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var clientID = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,36}$`)

// maxDigits is how many digits of a number come through an intent's float64 unchanged.
const maxDigits = 15

// refusal is why an order is not taken, by a code of this venue.
type refusal struct{ code, message string }

// Submit implements exchange.Trader.
func (v *venue) Submit(ctx context.Context, req exchange.OrderRequest) (exchange.Result, exchange.Order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r, no := v.unsent(ctx, req); no {
		return r, exchange.Order{}
	}
	a := v.account
	o := newOrder(req)
	if r := a.refuse(o, req.TimeInForce); r != nil {
		return sealed(exchange.Result{Outcome: exchange.Rejected, VenueCode: r.code, Message: clip(r.message)}, req, nil), exchange.Order{}
	}
	if a.byID[req.ClientOrderID] != nil {
		return duplicate(req), exchange.Order{}
	}
	if lack := a.short(o); lack != "" {
		return sealed(exchange.Result{Outcome: exchange.Rejected, VenueCode: "INSUFFICIENT_BALANCE", Message: clip(lack)}, req, nil), exchange.Order{}
	}
	if r := a.place(o, req.TimeInForce); r != nil {
		return sealed(exchange.Result{Outcome: exchange.Rejected, VenueCode: r.code, Message: clip(r.message)}, req, nil), exchange.Order{}
	}
	a.publish()
	return sealed(exchange.Result{Outcome: exchange.Accepted}, req, o.Order), o.Order
}

// SubmitPair implements exchange.Trader.
func (v *venue) SubmitPair(ctx context.Context, req exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var none [2]exchange.Order
	if r, no := v.unsent(ctx, req); no {
		return r, none
	}
	reject := func(code, message string) (exchange.Result, [2]exchange.Order) {
		return sealed(exchange.Result{Outcome: exchange.Rejected, VenueCode: code, Message: clip(message)}, req, nil), none
	}
	a := v.account
	limit := newOrder(exchange.OrderRequest{ClientOrderID: req.LimitID, Symbol: req.Symbol, Side: req.Side, Type: market.Limit, Quantity: req.Quantity, LimitPrice: req.LimitPrice})
	stop := newOrder(exchange.OrderRequest{ClientOrderID: req.StopID, Symbol: req.Symbol, Side: req.Side, Type: market.Stop, Quantity: req.Quantity, StopPrice: req.StopPrice})
	for _, o := range []*order{limit, stop} {
		if r := a.refuse(o, market.GTC); r != nil {
			return reject(r.code, r.message)
		}
	}
	if c := limit.LimitPrice.Cmp(stop.StopPrice); req.LimitID == req.StopID || (req.Side == market.Sell) != (c > 0) || c == 0 {
		return reject("PAIR", "the legs need two ids, and the limit must be the better price of the two")
	}
	if a.byID[req.LimitID] != nil || a.byID[req.StopID] != nil {
		return duplicate(req), none
	}
	// What the pair ties up is what its dearer leg does.
	for _, o := range []*order{limit, stop} {
		if lack := a.short(o); lack != "" {
			return reject("INSUFFICIENT_BALANCE", lack)
		}
	}
	p := &pair{legs: [2]*order{limit, stop}, since: a.engine.Time()}
	limit.pair, stop.pair = p, p
	for _, o := range p.legs {
		if r := a.place(o, market.GTC); r != nil {
			if o == stop {
				a.cancelOne(limit, reasonOCO)
				a.publish()
			}
			return reject(r.code, r.message)
		}
	}
	a.publish()
	both := [2]exchange.Order{limit.Order, stop.Order}
	return sealed(exchange.Result{Outcome: exchange.Accepted}, req, both), both
}

// Cancel implements exchange.Trader. With a leg its pair is canceled.
func (v *venue) Cancel(ctx context.Context, name exchange.OrderRef) (exchange.Result, exchange.Order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r, no := v.unsent(ctx, name); no {
		return r, exchange.Order{}
	}
	o := v.account.find(name)
	if o == nil || o.final() {
		return sealed(exchange.Result{Outcome: exchange.NotOpen, VenueCode: "NOT_OPEN", Message: "no such order is open"}, name, nil), exchange.Order{}
	}
	v.account.cancel(o, reasonCanceled)
	v.account.publish()
	return sealed(exchange.Result{Outcome: exchange.Accepted}, name, o.Order), o.Order
}

// Query implements exchange.Trader.
func (v *venue) Query(ctx context.Context, name exchange.OrderRef) (exchange.Result, exchange.Order) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r, no := v.unsent(ctx, name); no {
		return r, exchange.Order{}
	}
	o := v.account.find(name)
	if o == nil {
		return sealed(exchange.Result{Outcome: exchange.NotFound, VenueCode: "NOT_FOUND", Message: "no such order"}, name, nil), exchange.Order{}
	}
	return sealed(exchange.Result{Outcome: exchange.Accepted}, name, o.Order), o.Order
}

// unsent is the answer where a request cannot have reached the venue.
func (v *venue) unsent(ctx context.Context, req any) (exchange.Result, bool) {
	why := ""
	switch {
	case ctx.Err() != nil:
		why = "the request was given up before it was sent"
	case v.state != opened:
		why = "the session is not open"
	case v.account == nil:
		why = "the session was opened without trading"
	default:
		return exchange.Result{}, false
	}
	return sealed(exchange.Result{Outcome: exchange.NotSent, Message: why}, req, nil), true
}

func duplicate(req any) exchange.Result {
	return sealed(exchange.Result{Outcome: exchange.Duplicate, VenueCode: "DUPLICATE", Message: "the client order id has been used"}, req, nil)
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
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func newOrder(req exchange.OrderRequest) *order {
	return &order{
		Order: exchange.Order{
			ClientOrderID: req.ClientOrderID, Symbol: req.Symbol, Side: req.Side, Type: req.Type,
			Quantity: req.Quantity, LimitPrice: req.LimitPrice, StopPrice: req.StopPrice,
		},
		amount: req.QuoteAmount,
	}
}

// find is an order by its client id and symbol.
func (a *account) find(name exchange.OrderRef) *order {
	if o := a.byID[name.ClientOrderID]; o != nil && o.Symbol == name.Symbol {
		return o
	}
	return nil
}

// place hands an order to the simulator. One that it refuses is not known afterwards.
func (a *account) place(o *order, tif market.TimeInForce) *refusal {
	a.at = a.v.pace.now()
	in := market.Intent{Symbol: o.Symbol, Side: o.Side, Type: o.Type, TimeInForce: tif, ClientRef: ref(o.ClientOrderID)}
	in.Size = market.Size{Kind: market.SizeQuantity, Value: float(o.Quantity)}
	if o.amount.IsPos() {
		in.Size = market.Size{Kind: market.SizeQuoteAmount, Value: float(o.amount)}
	}
	in.LimitPrice, in.StopPrice = float(o.LimitPrice), float(o.StopPrice)
	a.byID[o.ClientOrderID] = o
	err := a.engine.Accept([]market.Intent{in})
	if err == nil && o.Status == exchange.OrderOpen {
		a.orders = append(a.orders, o)
		return nil
	}
	delete(a.byID, o.ClientOrderID)
	if err != nil {
		return &refusal{"ORDER", err.Error()}
	}
	return &refusal{string(o.Reason), "the order is refused"}
}

func float(d decimal.Decimal) float64 {
	f, _ := d.Float64()
	return f
}

// refuse holds an order against the rules of its market.
func (a *account) refuse(o *order, tif market.TimeInForce) *refusal {
	i := a.v.symbol(o.Symbol)
	switch {
	case !clientID.MatchString(o.ClientOrderID):
		return &refusal{"CLIENT_ORDER_ID", "a client order id has 1 to 36 letters, digits and _ . : / -"}
	case i < 0:
		return &refusal{"UNKNOWN_SYMBOL", "the session has no such symbol"}
	case o.Type > market.StopLimit || o.Side > market.Sell:
		return &refusal{"ORDER_TYPE", "the types are market, limit, stop and stop_limit"}
	case tif != market.GTC && tif != market.IOC:
		return &refusal{"TIME_IN_FORCE", "the times in force are gtc and ioc"}
	case o.amount.IsPos() == o.Quantity.IsPos() || o.amount.IsNeg() || o.Quantity.IsNeg() || (o.amount.IsPos() && o.Type != market.Market):
		return &refusal{"SIZE", "exactly one of quantity and quote amount must be above 0; the amount is for market orders"}
	case o.LimitPrice.IsPos() != o.Type.NeedsLimit() || o.StopPrice.IsPos() != o.Type.NeedsStop() || o.LimitPrice.IsNeg() || o.StopPrice.IsNeg():
		return &refusal{"PRICE", "a price is missing, or not for this type"}
	}
	tick := a.v.tapes[i].tick()
	switch {
	case !multiple(o.LimitPrice, tick) || !multiple(o.StopPrice, tick):
		return &refusal{"PRICE_TICK", "a price is not a multiple of the tick, or has more than 15 digits"}
	case !multiple(o.Quantity, quantityStep) || o.Quantity.Cmp(maxQuantity) > 0:
		return &refusal{"LOT_SIZE", "the quantity is not a multiple of the step, or above the maximum"}
	case o.amount.Trim(0).Prec() > maxDigits:
		return &refusal{"SIZE", "the amount has more than 15 digits"}
	case a.small(o, i):
		return &refusal{"MIN_NOTIONAL", "the order is worth less than 5 of the quote currency"}
	}
	return nil
}

// multiple says that a number is whole steps and comes through a float64 unchanged.
func multiple(d, step decimal.Decimal) bool {
	_, rest, err := d.QuoRem(step)
	return err == nil && rest.IsZero() && d.Trim(0).Prec() <= maxDigits
}

// small says that an order is worth less than the minimum, as far as can be told.
func (a *account) small(o *order, i int) bool {
	if o.amount.IsPos() {
		return o.amount.Cmp(minNotional) < 0
	}
	price := o.LimitPrice
	if price.IsZero() {
		price = o.StopPrice
	}
	if price.IsZero() {
		last, ok := a.price(i)
		if !ok {
			return false
		}
		price = last
	}
	worth, err := o.Quantity.Mul(price)
	return err == nil && worth.Cmp(minNotional) < 0
}
