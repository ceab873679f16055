package testvenue

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/govalues/decimal"
)

var clientForm = regexp.MustCompile(`^[a-zA-Z0-9_.:/-]{1,36}$`)

// leg are the names of the parameters of an order; those of the legs of a pair are prefixed.
type leg struct{ kind, client, price, stop, tif, iceberg string }

func plain() leg {
	return leg{"type", "newClientOrderId", "price", "stopPrice", "timeInForce", "icebergQty"}
}

func legOf(side string) leg {
	return leg{side + "Type", side + "ClientOrderId", side + "Price", side + "StopPrice",
		side + "TimeInForce", side + "IcebergQty"}
}

// need is what a kind of order needs: a price, a trigger, a time in force.
type need struct{ price, stop, tif bool }

func needs(kind string) (need, bool) {
	n, known := map[string]need{
		kindMarket: {}, kindLimit: {true, false, true}, kindMaker: {true, false, false},
		kindStop: {false, true,
			false},
		kindStopLimit: {true, true, true}, kindTake: {false, true, false}, kindTakeLimit: {true, true, true},
	}[kind]
	return n, known
}

// parse reads an order.
func (v *api) parse(q request, s *symbol, names leg) (*order, *apiError) {
	o := &order{symbol: s, list: -1, client: q.Get(names.client), terms: terms{side: q.Get("side"),
		kind: q.Get(names.kind), tif: q.Get(names.tif), prevention: q.Get("selfTradePreventionMode")}}
	for _, f := range []struct {
		name string
		into *decimal.Decimal
	}{{"quantity", &o.qty}, {"quoteOrderQty", &o.quoteQty}, {names.price, &o.price}, {names.stop,
		&o.stop}, {names.iceberg, &o.iceberg}} {
		var e *apiError
		if *f.into, e = amount(q, f.name); e != nil {
			return nil, e
		}
	}
	wants, known := needs(o.kind)
	switch {
	case o.client != "" && !clientForm.MatchString(o.client):
		return nil, illegal(names.client, clientForm.String())
	case o.side == "":
		return nil, missing("side")
	case o.side != "BUY" && o.side != "SELL":
		return nil, bad(-1117, "Invalid side.")
	case o.kind == "":
		return nil, missing(names.kind)
	case !known:
		return nil, bad(-1116, "Invalid orderType.")
	case o.tif != "" && !slices.Contains([]string{tifGTC, tifIOC, tifFOK}, o.tif):
		return nil, bad(-1115, "Invalid timeInForce.")
	case o.prevention != "" && !slices.Contains(selfTradeModes(), o.prevention):
		return nil, bad(-1013, "This symbol does not allow the specified self-trade prevention mode.")
	}
	quantity, sized := names.needed(q, wants, o.kind)
	if sized != nil {
		return nil, sized
	}
	switch {
	case quantity && !o.qty.IsPos() || !quantity && !o.quoteQty.IsPos():
		return nil, bad(-1013, "Invalid quantity.")
	case wants.price && !o.price.IsPos():
		return nil, bad(-1013, "Invalid price.")
	case wants.stop && !o.stop.IsPos():
		return nil, bad(-1013, "Invalid stopPrice.")
	case o.iceberg.IsPos() && o.tif != tifGTC && o.kind != kindMaker:
		return nil, bad(-1013, "Iceberg orders must be GTC.")
	}
	if o.tif == "" {
		o.tif = tifGTC
	}
	if o.prevention == "" {
		o.prevention = expireMaker
	}
	return o, nil
}

// needed compares what was sent with what a kind of order needs; true: it is sized by quantity.
func (n leg) needed(q request, wants need, kind string) (bool, *apiError) {
	for _, p := range []struct {
		name  string
		wants bool
	}{{n.price, wants.price}, {n.stop, wants.stop}, {n.tif, wants.tif}} {
		switch {
		case p.wants && !q.Has(p.name):
			return false, missing(p.name)
		case !p.wants && q.Has(p.name):
			return false, unwanted(p.name)
		}
	}
	switch by, worth := q.Has("quantity"), q.Has("quoteOrderQty"); {
	case kind != kindMarket && worth:
		return false, unwanted("quoteOrderQty")
	case kind != kindMarket && !by:
		return false, missing("quantity")
	case by && worth:
		return false, unwanted("quoteOrderQty")
	case !by && !worth:
		return false,
			bad(-1102, "Param 'quantity' or 'quoteOrderQty' must be sent, but both were empty/null!")
	case q.Has(n.iceberg) && kind != kindLimit && kind != kindMaker && kind != kindStopLimit &&
		kind != kindTakeLimit:
		return false, unwanted(n.iceberg)
	default:
		return by, nil
	}
}

// admissible holds an order against market, filters and account.
func (v *api) admissible(o *order) *apiError {
	s := o.symbol
	if s.halted {
		return bad(-1013, "Market is closed.")
	}
	if e := s.refuse(o); e != nil {
		return e
	}
	if known := v.matcher.account.find(s, 0, o.client); known != nil && known.open() {
		return bad(-2010, "Duplicate order sent.")
	}
	if o.stop.IsPos() && o.reached(s.book.at) {
		return bad(-2010, "Stop price would trigger immediately.")
	}
	if o.kind == kindMaker {
		best := *s.levels(o.buy())
		if len(best) > 0 && !worse(o, best[0].price, o.price) {
			return bad(-2010, "Order would immediately match and take.")
		}
	}
	if asset, amount := o.need(); amount.Cmp(v.matcher.free(asset)) > 0 {
		return bad(-2010, "Account has insufficient balance for requested action.")
	}
	return nil
}

// ordered returns an order that may be placed.
func (v *api) ordered(q request) (*order, *apiError) {
	s, e := v.markets.symbolIn(q)
	if e != nil {
		return nil, e
	}
	o, e := v.parse(q, s, plain())
	if e == nil {
		e = v.admissible(o)
	}
	if e == nil {
		e = s.crowded(o)
	}
	if e == nil {
		e = v.matcher.limits.full(v.markets.server(), 1)
	}
	return o, e
}

func (v *api) placeOrder(q request) (any, *apiError) {
	o, e := v.ordered(q)
	if e != nil {
		return nil, e
	}
	shape, e := responseShape(q, o)
	if e != nil {
		return nil, e
	}
	o.client = v.matcher.account.name(o.client)
	v.matcher.take(o)
	return v.placed(o, shape), nil
}

// tryOrder checks an order and does nothing.
func (v *api) tryOrder(q request) (any, *apiError) {
	o, e := v.ordered(q)
	if e != nil {
		return nil, e
	}
	if q.Get("computeCommissionRates") != "true" {
		return struct{}{}, nil
	}
	out := commission(o.symbol)
	out["standardCommissionForOrder"] = map[string]string{"maker": "0.00100000", "taker": "0.00100000"}
	delete(out, "symbol")
	delete(out, "standardCommission")
	return out, nil
}

// responseShape returns how much the answer contains: ACK, RESULT or FULL.
func responseShape(q request, o *order) (string, *apiError) {
	switch shape := q.Get("newOrderRespType"); {
	case shape == "" && (o.kind == kindMarket || o.kind == kindLimit):
		return "FULL", nil
	case shape == "":
		return "ACK", nil
	case slices.Contains([]string{"ACK", "RESULT", "FULL"}, shape):
		return shape, nil
	}
	return "", illegal("newOrderRespType", "ACK|RESULT|FULL")
}

// placed returns the answer to who placed an order, with the trades that it made at once.
func (v *api) placed(o *order, shape string) map[string]any {
	out := map[string]any{"symbol": o.symbol.name, "orderId": o.id, "orderListId": o.list,
		"clientOrderId": o.client, "transactTime": int64(o.updated)}
	if shape == "ACK" {
		return out
	}
	for name, value := range o.json() {
		if name != "time" && name != "updateTime" && name != "isWorking" {
			out[name] = value
		}
	}
	if shape == "RESULT" {
		return out
	}
	fills := []any{}
	for _, t := range v.matcher.account.trades {
		if t.order == o {
			fills = append(fills, map[string]any{"price": fixed(t.price), "qty": fixed(t.qty),
				"commission": fixed(t.fee), "commissionAsset": t.feeAsset, "tradeId": t.id})
		}
	}
	out["fills"] = fills
	return out
}

// placePair takes an OCO: a LIMIT_MAKER on the better side and a stop on the other.
func (v *api) placePair(q request) (any, *apiError) {
	s, e := v.markets.symbolIn(q)
	if e != nil {
		return nil, e
	}
	var legs [2]*order // limit, stop
	for _, side := range []string{"above", "below"} {
		o, e := v.parse(q, s, legOf(side))
		if e != nil {
			return nil, e
		}
		i := 1
		if o.kind == kindMaker {
			i = 0
		}
		if legs[i] != nil || o.kind != kindMaker && o.kind != kindStop && o.kind != kindStopLimit ||
			o.buy() == ((side == "above") == (i == 0)) {
			return nil, bad(-1158, "aboveType or belowType is not supported.")
		}
		legs[i] = o
	}
	for _, o := range legs {
		if e := v.admissible(o); e != nil {
			return nil, e
		}
	}
	if legs[0].client != "" && legs[0].client == legs[1].client {
		return nil, bad(-1165, "The client order ids of an order list must be different.")
	}
	open := 0
	for _, o := range s.live {
		if o.sibling != nil && o.sibling.open() {
			open++
		}
	}
	if open/2 >= maxOrderLists {
		return nil, filter("MAX_NUM_ORDER_LISTS")
	}
	if e := s.crowded(legs[:]...); e != nil {
		return nil, e
	}
	if e := v.matcher.limits.full(v.markets.server(), len(legs)); e != nil {
		return nil, e
	}
	shape, e := responseShape(q, legs[0])
	if e != nil {
		return nil, e
	}
	v.matcher.account.lists++
	name := v.matcher.account.name(q.Get("listClientOrderId"))
	for i, o := range legs {
		o.list, o.listName, o.sibling, o.client = v.matcher.account.lists, name, legs[1-i],
			v.matcher.account.name(o.client)
	}
	v.matcher.take(legs[0], legs[1])
	out := legs[0].listJSON()
	out["orderReports"] = []any{v.placed(legs[0], shape), v.placed(legs[1], shape)}
	return out, nil
}

// cancelOrder ends one order, or the pair of which it is a leg: then it answers as for a list.
func (v *api) cancelOrder(q request) (any, *apiError) {
	o, e := v.named(q, "orderId", "origClientOrderId")
	if e != nil {
		return nil, e
	}
	return v.cancelNamed(o, q.Get("newClientOrderId"))
}

func (v *api) cancelNamed(o *order, name string) (any, *apiError) {
	if o == nil || !o.open() {
		return nil, bad(-2011, "Unknown order sent.")
	}
	v.matcher.cancel(o)
	if o.sibling != nil {
		return o.listCanceled(), nil
	}
	return o.canceled(name), nil
}

// cancelAll ends what is open of a symbol.
func (v *api) cancelAll(q request) (any, *apiError) {
	s, e := v.markets.symbolIn(q)
	if e != nil {
		return nil, e
	}
	if len(s.live) == 0 {
		return nil, bad(-2011, "Unknown order sent.")
	}
	list := []any{}
	for len(s.live) > 0 {
		out, e := v.cancelNamed(s.live[0], "")
		if e != nil {
			return nil, e
		}
		list = append(list, out)
	}
	return list, nil
}

// replace cancels one order and places another.
func (v *api) replace(q request) (any, *apiError) {
	mode := q.Get("cancelReplaceMode")
	if mode != "STOP_ON_FAILURE" && mode != "ALLOW_FAILURE" {
		return nil, missing("cancelReplaceMode")
	}
	old, e := v.named(q, "cancelOrderId", "cancelOrigClientOrderId")
	if e != nil {
		return nil, e
	}
	const success, failure = "SUCCESS", "FAILURE"
	out := map[string]any{"cancelResult": success, "newOrderResult": success}
	canceled, e := v.cancelNamed(old, q.Get("cancelNewClientOrderId"))
	if out["cancelResponse"] = canceled; e != nil {
		out["cancelResult"], out["cancelResponse"] = failure, e
		if mode == "STOP_ON_FAILURE" {
			out["newOrderResult"], out["newOrderResponse"] = "NOT_ATTEMPTED", nil
			return nil, &apiError{status: http.StatusBadRequest, code: -2022,
				text: "Order cancel-replace failed.",
				data: out}
		}
	}
	placed, e2 := v.placeOrder(q)
	if out["newOrderResponse"] = placed; e2 != nil {
		out["newOrderResult"], out["newOrderResponse"] = failure, e2
	}
	switch {
	case e != nil && e2 != nil:
		return nil, &apiError{status: http.StatusBadRequest, code: -2022,
			text: "Order cancel-replace failed.",
			data: out}
	case e != nil || e2 != nil:
		return nil, &apiError{status: http.StatusConflict, code: -2021,
			text: "Order cancel-replace partially failed.", data: out}
	}
	return out, nil
}
