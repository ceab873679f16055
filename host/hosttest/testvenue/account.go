package testvenue

import (
	"slices"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	statusNew       = "NEW"
	statusPartly    = "PARTIALLY_FILLED"
	statusFilled    = "FILLED"
	statusCanceled  = "CANCELED"
	statusExpired   = "EXPIRED"
	statusPrevented = "EXPIRED_IN_MATCH"

	kindMarket, kindLimit, kindMaker = "MARKET", "LIMIT", "LIMIT_MAKER"
	kindStop, kindStopLimit          = "STOP_LOSS", "STOP_LOSS_LIMIT"
	kindTake, kindTakeLimit          = "TAKE_PROFIT", "TAKE_PROFIT_LIMIT"

	tifGTC, tifIOC, tifFOK = "GTC", "IOC", "FOK"

	expireMaker, expireTaker, expireBoth = "EXPIRE_MAKER", "EXPIRE_TAKER", "EXPIRE_BOTH"
)

// account is the one account of the venue.
type account struct {
	balances map[string]decimal.Decimal // locked amounts included
	lastSent map[string][2]string       // free and locked, as its streams know them
	orders   []*order
	trades   []*trade
	lists    int64
	names    int // of orders and lists that were given none
	split    int // of the next fill
	over     bool
	feeAsset string
}

func kinds() []string {
	return []string{kindLimit, kindMaker, kindMarket, kindStop, kindStopLimit, kindTake, kindTakeLimit}
}

func selfTradeModes() []string { return []string{expireTaker, expireMaker, expireBoth} }

// order is an order of the account.
type order struct {
	terms
	id, list         int64 // list: of an OCO pair, else -1
	listName         string
	symbol           *symbol
	client           string
	cum, cumQuote    decimal.Decimal
	status           string
	created, updated market.Time
	worked           market.Time // since when it is on the book
	sibling          *order
	working          bool // it is or was on the book
	placed           moment
}

// terms are what the client asked for.
type terms struct {
	side, kind, tif string
	prevention      string
	qty, quoteQty   decimal.Decimal
	price, stop     decimal.Decimal
	iceberg         decimal.Decimal
}

func (o *order) open() bool { return o.status == statusNew || o.status == statusPartly }
func (o *order) buy() bool  { return o.side == "BUY" }

// waits reports whether it has a trigger which was not reached.
func (o *order) waits() bool { return o.stop.IsPos() && !o.working }

// rests reports whether it is on the book.
func (o *order) rests() bool { return o.open() && !o.waits() && o.price.IsPos() }

// threshold returns the price at which something happens to it.
func (o *order) threshold() decimal.Decimal {
	if o.waits() {
		return o.stop
	}
	return o.price
}

// reached reports whether the market at a price triggers it or trades with it.
func (o *order) reached(at decimal.Decimal) bool {
	falls := o.buy()
	if o.waits() {
		falls = o.buy() == (o.kind == kindTake || o.kind == kindTakeLimit)
	}
	if falls {
		return at.Cmp(o.threshold()) <= 0
	}
	return at.Cmp(o.threshold()) >= 0
}

type trade struct {
	id              int64
	order           *order
	price, qty, fee decimal.Decimal
	worth           decimal.Decimal
	feeAsset        string
	time            market.Time
	maker           bool
}

// name returns an id for what came without one.
func (a *account) name(given string) string {
	if given != "" {
		return given
	}
	a.names++
	return "x-venue-" + strconv.Itoa(a.names)
}

// find returns the newest order under a client id, an open one before others.
func (a *account) find(s *symbol, id int64, client string) *order {
	var found *order
	for _, o := range slices.Backward(a.orders) {
		if o.symbol == s && (id > 0 && o.id == id || client != "" && o.client == client) {
			if o.open() {
				return o
			}
			if found == nil {
				found = o
			}
		}
	}
	return found
}

// need returns what an order ties up.
func (o *order) need() (asset string, amount decimal.Decimal) {
	rest := minus(o.qty, o.cum)
	price := o.price
	if price.IsZero() {
		price = o.stop
	}
	if price.IsPos() {
		if o.buy() {
			return o.symbol.quote, times(rest, price)
		}
		return o.symbol.base, rest
	}
	var worth, quantity decimal.Decimal
	parts, _ := o.symbol.plan(o)
	for _, p := range parts {
		worth, quantity = plus(worth, times(p.price, p.qty)), plus(quantity, p.qty)
	}
	switch {
	case o.buy() && o.quoteQty.IsPos():
		return o.symbol.quote, o.quoteQty
	case o.buy():
		return o.symbol.quote, worth
	case o.quoteQty.IsPos():
		return o.symbol.base, quantity
	}
	return o.symbol.base, rest
}

// worse reports whether a price is worse than another for who sent an order.
func worse(o *order, a, b decimal.Decimal) bool {
	if o.buy() {
		return a.Cmp(b) > 0
	}
	return a.Cmp(b) < 0
}

func between(a, x, b decimal.Decimal) bool {
	return a.Cmp(x) <= 0 && x.Cmp(b) <= 0 || b.Cmp(x) <= 0 && x.Cmp(a) <= 0
}

func (o *order) canceled(name string) map[string]any {
	out := o.json()
	if name == "" {
		name = "x-cancel-" + strconv.FormatInt(o.id, 10)
	}
	out["origClientOrderId"], out["clientOrderId"], out["transactTime"] = o.client, name, int64(o.updated)
	for _, not := range []string{"time", "updateTime", "isWorking"} {
		delete(out, not)
	}
	return out
}

func (o *order) listCanceled() map[string]any {
	out := o.listJSON()
	reports := []any{}
	for _, leg := range o.legs() {
		reports = append(reports, leg.canceled(""))
	}
	out["orderReports"] = reports
	return out
}

// legs are both orders of a pair, in the order of their numbers.
func (o *order) legs() []*order {
	if o.sibling.id < o.id {
		return []*order{o.sibling, o}
	}
	return []*order{o, o.sibling}
}

// listJSON returns a pair as answers tell it.
func (o *order) listJSON() map[string]any {
	kind, status := "EXEC_STARTED", "EXECUTING"
	if !o.open() && !o.sibling.open() {
		kind, status = "ALL_DONE", "ALL_DONE"
	}
	refs := []any{}
	for _, leg := range o.legs() {
		refs = append(refs, map[string]any{"symbol": leg.symbol.name, "orderId": leg.id,
			"clientOrderId": leg.client})
	}
	return map[string]any{"orderListId": o.list, "contingencyType": "OCO", "listStatusType": kind,
		"listOrderStatus":   status,
		"listClientOrderId": o.listName, "transactionTime": int64(max(o.updated,
			o.sibling.updated)), "symbol": o.symbol.name, "orders": refs}
}

// json returns an order as a query returns it.
func (o *order) json() map[string]any {
	out := map[string]any{
		"symbol": o.symbol.name, "orderId": o.id, "orderListId": o.list, "clientOrderId": o.client,
		"price": fixed(o.price), "origQty": fixed(o.qty),
		"executedQty": fixed(o.cum), "cummulativeQuoteQty": fixed(o.cumQuote),
		"origQuoteOrderQty": fixed(o.quoteQty), "status": o.status,
		"timeInForce": o.tif, "type": o.kind, "side": o.side, "stopPrice": fixed(o.stop),
		"icebergQty": fixed(o.iceberg), "time": int64(o.created),
		"updateTime": int64(o.updated), "isWorking": o.working, "selfTradePreventionMode": o.prevention,
	}
	if o.working {
		out["workingTime"] = int64(o.worked)
	} else {
		out["workingTime"] = -1
	}
	return out
}
