package testvenue

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func (v *Venue) exchangeInfo(q request) (any, *apiError) {
	var names []string
	if text := q.Get("symbols"); text != "" {
		if json.Unmarshal([]byte(text), &names) != nil {
			return nil, &apiError{400, -1101, "Invalid symbols.", 0}
		}
	}
	if name := q.Get("symbol"); name != "" {
		names = []string{name}
	}
	list := []any{}
	for _, name := range names {
		s := v.find(name)
		if s == nil {
			return nil, badSymbol()
		}
		list = append(list, s.info())
	}
	if len(names) == 0 {
		for _, s := range v.symbols {
			list = append(list, s.info())
		}
	}
	return map[string]any{
		"timezone": "UTC", "serverTime": v.server().UnixMilli(), "exchangeFilters": []any{}, "symbols": list,
		"rateLimits": []map[string]any{{"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": v.opts.Weight}},
	}, nil
}

// number is a parameter that may be absent.
func number(q request, name string, fallback, low, high int64) (int64, *apiError) {
	text := q.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low {
		return 0, &apiError{400, -1100, "Illegal characters found in parameter '" + name + "'.", 0}
	}
	return min(n, high), nil
}

func (v *Venue) klines(q request) (any, *apiError) {
	s, span := v.find(q.Get("symbol")), v.spans[q.Get("interval")]
	if s == nil {
		return nil, badSymbol()
	}
	if span == 0 {
		return nil, &apiError{400, -1120, "Invalid interval.", 0}
	}
	limit, e := number(q, "limit", 500, 1, 1000)
	if e != nil {
		return nil, e
	}
	from, e := number(q, "startTime", -1, 0, math.MaxInt64)
	if e != nil {
		return nil, e
	}
	to, e := number(q, "endTime", int64(s.tape.next()), 0, math.MaxInt64)
	if e != nil {
		return nil, e
	}
	last := min(market.Time(to), s.tape.next())
	if from < 0 {
		from = int64(last - market.Time(limit-1)*span - last%span)
	}
	rows := []any{}
	for _, c := range s.tape.between(span, market.Time(from), last, int(limit)) {
		rows = append(rows, []any{int64(c.OpenTime), text(c.Open), text(c.High), text(c.Low), text(c.Close), text(c.Volume), int64(c.CloseTime) - 1,
			text(c.Volume * c.Close), 1, "0", "0", "0"})
	}
	return rows, nil
}

func text(f float64) string { return strconv.FormatFloat(f, 'f', 8, 64) }

func (v *Venue) accountInfo(request) (any, *apiError) {
	balances := []map[string]string{}
	for _, asset := range sorted(v.account.balances) {
		balances = append(balances, map[string]string{"asset": asset, "free": fixed(v.account.free(asset)), "locked": fixed(v.account.locked(asset))})
	}
	return map[string]any{
		"makerCommission": 10, "takerCommission": 10, "buyerCommission": 0, "sellerCommission": 0,
		"commissionRates": map[string]string{"maker": "0.00100000", "taker": "0.00100000", "buyer": "0.00000000", "seller": "0.00000000"},
		"canTrade":        !v.readOnly, "canWithdraw": false, "canDeposit": true, "updateTime": int64(v.now()), "accountType": "SPOT",
		"balances": balances, "permissions": []string{"SPOT"}, "uid": 354937868,
	}, nil
}

var clientForm = regexp.MustCompile(`^[a-zA-Z0-9_.:/-]{1,36}$`)

// decimals reads a parameter; absent is zero.
func decimals(q request, name string) (decimal.Decimal, *apiError) {
	text := q.Get(name)
	if text == "" {
		return decimal.Decimal{}, nil
	}
	d, err := decimal.Parse(text)
	if err != nil {
		return d, &apiError{400, -1100, "Illegal characters found in parameter '" + name + "'; legal range is '^([0-9]{1,20})(\\.[0-9]{1,20})?$'.", 0}
	}
	if !d.IsPos() || d.Trim(0).Scale() > 8 {
		return d, &apiError{400, -1111, "Parameter '" + name + "' has too much precision.", 0}
	}
	return d, nil
}

// parse reads an order; prefix names the leg of a pair.
func (v *Venue) parse(q request, s *symbol, kind, client, price, stop, tif string) (*order, *apiError) {
	o := &order{symbol: s, list: -1, client: q.Get(client), side: q.Get("side"), kind: kind, tif: q.Get(tif)}
	if o.client == "" {
		o.client = "x-venue-" + strconv.Itoa(len(v.account.orders)+1)
	}
	var e *apiError
	for _, f := range []struct {
		name string
		into *decimal.Decimal
	}{{"quantity", &o.qty}, {"quoteOrderQty", &o.quoteQty}, {price, &o.price}, {stop, &o.stop}} {
		if *f.into, e = decimals(q, f.name); e != nil {
			return nil, e
		}
	}
	needs := map[string][3]bool{ // price, stop, timeInForce
		"MARKET": {}, "LIMIT": {true, false, true}, "LIMIT_MAKER": {true, false, false}, "STOP_LOSS": {false, true, false}, "STOP_LOSS_LIMIT": {true, true, true},
	}
	need, known := needs[kind]
	switch {
	case !clientForm.MatchString(o.client):
		return nil, &apiError{400, -1100, "Illegal characters found in parameter '" + client + "'.", 0}
	case o.side != "BUY" && o.side != "SELL":
		return nil, &apiError{400, -1117, "Invalid side.", 0}
	case !known:
		return nil, &apiError{400, -1116, "Invalid orderType.", 0}
	case need[0] != o.price.IsPos():
		return nil, missing(price)
	case need[1] != o.stop.IsPos():
		return nil, missing(stop)
	case need[2] != (o.tif != ""):
		return nil, missing(tif)
	case o.tif != "" && o.tif != "GTC" && o.tif != "IOC" && o.tif != "FOK":
		return nil, &apiError{400, -1115, "Invalid timeInForce.", 0}
	case o.qty.IsPos() == o.quoteQty.IsPos() || o.quoteQty.IsPos() && kind != "MARKET":
		return nil, missing("quantity")
	}
	if o.tif == "" {
		o.tif = "GTC"
	}
	return o, nil
}

// admissible holds an order against market, filters and account.
func (v *Venue) admissible(o *order) *apiError {
	s := o.symbol
	if s.halted {
		return &apiError{400, -1013, "Market is closed.", 0}
	}
	if e := s.refuse(o); e != nil {
		return e
	}
	if known := v.account.find(s, 0, o.client); known != nil && known.open() {
		return &apiError{400, -2010, "Duplicate order sent.", 0}
	}
	if c := o.stop.Cmp(s.last()); o.stop.IsPos() && (o.side == "BUY" && c <= 0 || o.side == "SELL" && c >= 0) {
		return &apiError{400, -2010, "Stop price would trigger immediately.", 0}
	}
	if asset, amount := o.need(); amount.Cmp(v.account.free(asset)) > 0 {
		return &apiError{400, -2010, "Account has insufficient balance for requested action.", 0}
	}
	return nil
}

func (v *Venue) placeOrder(q request) (any, *apiError) {
	s := v.find(q.Get("symbol"))
	if s == nil {
		return nil, badSymbol()
	}
	o, e := v.parse(q, s, q.Get("type"), "newClientOrderId", "price", "stopPrice", "timeInForce")
	if e == nil {
		e = v.admissible(o)
	}
	if e == nil {
		e = v.take(o)
	}
	if e != nil {
		return nil, e
	}
	out := o.json()
	out["transactTime"], out["fills"] = int64(v.now()), []any{}
	return out, nil
}

// placePair takes an OCO: a LIMIT_MAKER on the better side and a stop on the other.
func (v *Venue) placePair(q request) (any, *apiError) {
	s := v.find(q.Get("symbol"))
	if s == nil {
		return nil, badSymbol()
	}
	var legs [2]*order // limit, stop
	for _, side := range []string{"above", "below"} {
		o, e := v.parse(q, s, q.Get(side+"Type"), side+"ClientOrderId", side+"Price", side+"StopPrice", side+"TimeInForce")
		if e == nil {
			e = v.admissible(o)
		}
		if e != nil {
			return nil, e
		}
		i := 1
		if o.kind == "LIMIT_MAKER" {
			i = 0
		}
		legs[i] = o
		if (o.side == "SELL") != ((side == "above") == (i == 0)) {
			return nil, &apiError{400, -1158, "aboveType or belowType is not supported.", 0}
		}
	}
	if legs[0] == nil || legs[1] == nil || legs[0].client == legs[1].client {
		return nil, &apiError{400, -1165, "An order list needs a limit and a stop.", 0}
	}
	if c := legs[0].price.Cmp(s.last()); legs[0].side == "SELL" && c <= 0 || legs[0].side == "BUY" && c >= 0 {
		return nil, &apiError{400, -2010, "The relationship of the prices for the orders is not correct.", 0}
	}
	v.account.lists++
	reports, refs := []any{}, []any{}
	for i, o := range legs {
		o.list, o.listName, o.sibling = v.account.lists, q.Get("listClientOrderId"), legs[1-i]
	}
	if e := v.take(legs[0], legs[1]); e != nil {
		return nil, e
	}
	for _, o := range legs {
		reports = append(reports, o.json())
		refs = append(refs, map[string]any{"symbol": s.name, "orderId": o.id, "clientOrderId": o.client})
	}
	return map[string]any{
		"orderListId": v.account.lists, "contingencyType": "OCO", "listStatusType": "EXEC_STARTED", "listOrderStatus": "EXECUTING",
		"listClientOrderId": q.Get("listClientOrderId"), "transactionTime": int64(v.now()), "symbol": s.name, "orders": refs, "orderReports": reports,
	}, nil
}

// named is the order that a request names.
func (v *Venue) named(q request) (*order, *apiError) {
	s := v.find(q.Get("symbol"))
	if s == nil {
		return nil, badSymbol()
	}
	id, e := number(q, "orderId", 0, 0, math.MaxInt64)
	if e != nil {
		return nil, e
	}
	if id == 0 && q.Get("origClientOrderId") == "" {
		return nil, missing("origClientOrderId")
	}
	return v.account.find(s, id, q.Get("origClientOrderId")), nil
}

func (v *Venue) queryOrder(q request) (any, *apiError) {
	o, e := v.named(q)
	if e != nil {
		return nil, e
	}
	if o == nil {
		return nil, &apiError{400, -2013, "Order does not exist.", 0}
	}
	return o.json(), nil
}

func (v *Venue) cancelOrder(q request) (any, *apiError) {
	o, e := v.named(q)
	if e != nil {
		return nil, e
	}
	if o == nil || !o.open() {
		return nil, &apiError{400, -2011, "Unknown order sent.", 0}
	}
	v.cancel(o)
	out := o.json()
	out["origClientOrderId"], out["clientOrderId"], out["transactTime"] = o.client, "x-cancel-"+strconv.FormatInt(o.id, 10), int64(v.now())
	return out, nil
}

func (v *Venue) openOrders(q request) (any, *apiError) {
	s := v.find(q.Get("symbol"))
	if s == nil && q.Get("symbol") != "" {
		return nil, badSymbol()
	}
	list := []any{}
	for _, o := range v.account.orders {
		if o.open() && (s == nil || o.symbol == s) {
			list = append(list, o.json())
		}
	}
	return list, nil
}

func (v *Venue) myTrades(q request) (any, *apiError) {
	s := v.find(q.Get("symbol"))
	if s == nil {
		return nil, badSymbol()
	}
	limit, e := number(q, "limit", 500, 1, 1000)
	from, e2 := number(q, "fromId", -1, 0, math.MaxInt64)
	start, e3 := number(q, "startTime", -1, 0, math.MaxInt64)
	order, e4 := number(q, "orderId", 0, 0, math.MaxInt64)
	for _, e := range []*apiError{e, e2, e3, e4} {
		if e != nil {
			return nil, e
		}
	}
	list := []any{}
	for _, t := range v.account.trades {
		if t.symbol != s || t.id < from || int64(t.time) < start || order > 0 && t.order != order || int64(len(list)) == limit {
			continue
		}
		list = append(list, map[string]any{
			"symbol": s.name, "id": t.id, "orderId": t.order, "orderListId": -1, "price": fixed(t.price), "qty": fixed(t.qty),
			"quoteQty": fixed(times(t.price, t.qty)), "commission": fixed(t.fee), "commissionAsset": t.feeAsset, "time": int64(t.time),
			"isBuyer": t.buyer, "isMaker": t.maker, "isBestMatch": true,
		})
	}
	return list, nil
}

func (o *order) json() map[string]any {
	return map[string]any{
		"symbol": o.symbol.name, "orderId": o.id, "orderListId": o.list, "clientOrderId": o.client, "price": fixed(o.price), "origQty": fixed(o.qty),
		"executedQty": fixed(o.cum), "cummulativeQuoteQty": fixed(o.cumQuote), "origQuoteOrderQty": fixed(o.quoteQty), "status": o.status,
		"timeInForce": o.tif, "type": o.kind, "side": o.side, "stopPrice": fixed(o.stop), "icebergQty": "0.00000000", "time": int64(o.created),
		"updateTime": int64(o.updated), "isWorking": o.stop.IsZero(), "workingTime": int64(o.created), "selfTradePreventionMode": "EXPIRE_MAKER",
	}
}
