package testvenue

import (
	"maps"
	"math"
	"slices"
)

func (v *api) exchangeInfo(q request) (any, *apiError) {
	list, e := v.markets.wanted(q)
	if e != nil {
		return nil, e
	}
	infos := []any{}
	for _, s := range list {
		infos = append(infos, s.info())
	}
	rules, _ := v.matcher.limits.rules(v.markets.server())
	return map[string]any{"timezone": "UTC", "serverTime": v.markets.server().UnixMilli(),
		"exchangeFilters": []any{},
		"symbols":         infos, "rateLimits": rules}, nil
}

func (v *api) depth(q request) (any, *apiError) {
	s, e := v.markets.symbolIn(q)
	if e != nil {
		return nil, e
	}
	limit, e := integer(q, "limit", 100, 1, 5000)
	if e != nil {
		return nil, e
	}
	v.hub.publishBook(s)
	return s.snapshot(int(limit)), nil
}

func (v *api) accountInfo(q request) (any, *apiError) {
	balances := []map[string]string{}
	for _, asset := range slices.Sorted(maps.Keys(v.matcher.account.balances)) {
		if q.Get("omitZeroBalances") == "true" && v.matcher.account.balances[asset].IsZero() {
			continue
		}
		balances = append(balances, map[string]string{"asset": asset, "free": fixed(v.matcher.free(asset)),
			"locked": fixed(v.matcher.locked(asset))})
	}
	return map[string]any{
		"makerCommission": 10, "takerCommission": 10, "buyerCommission": 0, "sellerCommission": 0,
		"commissionRates": map[string]string{"maker": "0.00100000", "taker": "0.00100000",
			"buyer":  "0.00000000",
			"seller": "0.00000000"},
		"canTrade": !v.matcher.readOnly, "canWithdraw": false, "canDeposit": true, "brokered": false,
		"requireSelfTradePrevention": false,
		"preventSor":                 false, "updateTime": int64(v.markets.now()), "accountType": "SPOT",
		"balances":    balances,
		"permissions": []string{"SPOT"}, "uid": 354937868,
	}, nil
}

// coins are the assets of all markets, without networks to send them by.
func (v *api) coins(request) (any, *apiError) {
	assets := map[string]bool{}
	for _, s := range v.markets.symbols {
		assets[s.base], assets[s.quote] = true, true
	}
	list := []any{}
	for _, asset := range slices.Sorted(maps.Keys(assets)) {
		list = append(list, map[string]any{"coin": asset, "name": asset, "free": fixed(v.matcher.free(asset)),
			"locked": fixed(v.matcher.locked(asset)), "trading": true,
			"depositAllEnable": false, "withdrawAllEnable": false, "isLegalMoney": false,
			"networkList": []any{}})
	}
	return list, nil
}

// rates are what trading a symbol costs.
func (v *api) rates(q request) (any, *apiError) {
	s, e := v.markets.symbolIn(q)
	if e != nil {
		return nil, e
	}
	return commission(s), nil
}

func commission(s *symbol) map[string]any {
	rate := func(r string) map[string]string {
		return map[string]string{"maker": r, "taker": r, "buyer": "0.00000000", "seller": "0.00000000"}
	}
	return map[string]any{
		"symbol": s.name, "standardCommission": rate("0.00100000"), "specialCommission": rate("0.00000000"),
		"taxCommission": rate("0.00000000"),
		"discount": map[string]any{"enabledForAccount": true, "enabledForSymbol": true,
			"discountAsset": "BNB",
			"discount":      "0.75000000"},
	}
}

// named returns the order that a request names, nil if there is none.
func (v *api) named(q request, id, client string) (*order, *apiError) {
	s, e := v.markets.symbolIn(q)
	if e != nil {
		return nil, e
	}
	number, e := integer(q, id, 0, 0, math.MaxInt64)
	if e != nil {
		return nil, e
	}
	if number == 0 && q.Get(client) == "" {
		return nil, bad(-1102, "Param '"+client+"' or '"+id+"' must be sent, but both were empty/null!")
	}
	if number > 0 {
		return v.matcher.account.find(s, number, ""), nil
	}
	return v.matcher.account.find(s, 0, q.Get(client)), nil
}

func (v *api) queryOrder(q request) (any, *apiError) {
	o, e := v.named(q, "orderId", "origClientOrderId")
	if e != nil {
		return nil, e
	}
	if o == nil {
		return nil, bad(-2013, "Order does not exist.")
	}
	return o.json(), nil
}

func (v *api) openOrders(q request) (any, *apiError) {
	list := []any{}
	if !q.Has("symbol") {
		for _, o := range v.matcher.account.orders {
			if o.open() {
				list = append(list, o.json())
			}
		}
		return list, nil
	}
	s, e := v.markets.symbolIn(q)
	if e != nil {
		return nil, e
	}
	for _, o := range s.live {
		list = append(list, o.json())
	}
	return list, nil
}

// span is the part of a list that is asked for.
type span struct{ limit, from, start, end int64 }

// spanOf reads it; without a beginning the newest are meant.
func spanOf(q request, from string, limit int64) (span, *apiError) {
	var p span
	var e *apiError
	for _, f := range []struct {
		name               string
		into               *int64
		fallback, low, top int64
	}{{"limit", &p.limit, 500, 1, limit}, {from, &p.from, -1, 0, math.MaxInt64},
		{"startTime", &p.start, -1, 0, math.MaxInt64},
		{"endTime", &p.end, math.MaxInt64, 0, math.MaxInt64}} {
		if *f.into, e = integer(q, f.name, f.fallback, f.low, f.top); e != nil {
			return p, e
		}
	}
	switch {
	case p.from >= 0 && (p.start >= 0 || p.end != math.MaxInt64) && from == "fromId" && !q.Has("orderId"):
		return p, bad(-1128,
			"Combination of optional parameters invalid. Recommendation: 'fromId' or 'startTime' and "+
				"'endTime'")
	case p.start >= 0 && p.end != math.MaxInt64 && p.end < p.start:
		return p, bad(-1127, "Lookup interval is not valid.")
	}
	return p, nil
}

// holds reports whether something is in it.
func (p span) holds(id, at int64) bool { return id >= p.from && at >= p.start && at <= p.end }

// page takes the first ones where a beginning was named, else the last ones.
func page[T any](p span, list []T) []T {
	n := min(int(p.limit), len(list))
	if p.from >= 0 || p.start >= 0 {
		return list[:n]
	}
	return list[len(list)-n:]
}

func (v *api) allOrders(q request) (any, *apiError) {
	s, e := v.markets.symbolIn(q)
	if e != nil {
		return nil, e
	}
	p, e := spanOf(q, "orderId", 1000)
	if e != nil {
		return nil, e
	}
	list := []any{}
	for _, o := range v.matcher.account.orders {
		if o.symbol == s && p.holds(o.id, int64(o.created)) {
			list = append(list, o.json())
		}
	}
	return page(p, list), nil
}

func (v *api) myTrades(q request) (any, *apiError) {
	s, e := v.markets.symbolIn(q)
	if e != nil {
		return nil, e
	}
	p, e := spanOf(q, "fromId", 1000)
	if e != nil {
		return nil, e
	}
	of, e := integer(q, "orderId", 0, 0, math.MaxInt64)
	if e != nil {
		return nil, e
	}
	list := []any{}
	for _, t := range v.matcher.account.trades {
		if t.order.symbol == s && p.holds(t.id, int64(t.time)) && (of == 0 || t.order.id == of) {
			list = append(list, map[string]any{
				"symbol": s.name, "id": t.id, "orderId": t.order.id, "orderListId": t.order.list,
				"price":    fixed(t.price),
				"qty":      fixed(t.qty),
				"quoteQty": fixed(t.worth), "commission": fixed(t.fee), "commissionAsset": t.feeAsset,
				"time":    int64(t.time),
				"isBuyer": t.order.buy(), "isMaker": t.maker, "isBestMatch": true,
			})
		}
	}
	return page(p, list), nil
}

// pairs are the first legs of the lists that are wanted.
func (v *api) pairs(want func(*order) bool) []*order {
	var list []*order
	for _, o := range v.matcher.account.orders {
		if o.sibling != nil && o.id < o.sibling.id && want(o) {
			list = append(list, o)
		}
	}
	return list
}

// namedPair returns the list that a request names.
func (v *api) namedPair(q request, client string) (*order, *apiError) {
	id, e := integer(q, "orderListId", 0, 0, math.MaxInt64)
	if e != nil {
		return nil, e
	}
	if id == 0 && q.Get(client) == "" {
		return nil, bad(-1102, "Param '"+client+"' or 'orderListId' must be sent, but both were empty/null!")
	}
	found := v.pairs(func(o *order) bool {
		return id > 0 && o.list == id || id == 0 &&
			o.listName == q.Get(client)
	})
	if len(found) == 0 {
		return nil, nil
	}
	return found[len(found)-1], nil
}

func (v *api) queryPair(q request) (any, *apiError) {
	o, e := v.namedPair(q, "origClientOrderId")
	if e != nil {
		return nil, e
	}
	if o == nil {
		return nil, bad(-2018, "Order list does not exist.")
	}
	return o.listJSON(), nil
}

func (v *api) cancelPair(q request) (any, *apiError) {
	if _, e := v.markets.symbolIn(q); e != nil {
		return nil, e
	}
	o, e := v.namedPair(q, "listClientOrderId")
	if e != nil {
		return nil, e
	}
	if o == nil || !o.open() && !o.sibling.open() {
		return nil, bad(-2011, "Unknown order list sent.")
	}
	v.matcher.cancel(o)
	return o.listCanceled(), nil
}

func (v *api) openPairs(request) (any, *apiError) {
	list := []any{}
	for _, o := range v.pairs(func(o *order) bool { return o.open() || o.sibling.open() }) {
		list = append(list, o.listJSON())
	}
	return list, nil
}

func (v *api) allPairs(q request) (any, *apiError) {
	p, e := spanOf(q, "fromId", 1000)
	if e != nil {
		return nil, e
	}
	list := []any{}
	for _, o := range v.pairs(func(o *order) bool { return p.holds(o.list, int64(o.created)) }) {
		list = append(list, o.listJSON())
	}
	return page(p, list), nil
}

func (v *api) orderCounts(request) (any, *apiError) {
	_, counts := v.matcher.limits.rules(v.markets.server())
	return counts, nil
}
