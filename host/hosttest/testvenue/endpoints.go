package testvenue

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/govalues/decimal"
)

// apiError is how the exchange refuses.
type apiError struct {
	status int
	code   int
	text   string
	retry  int // seconds
	data   any // of an answer that has more to tell
}

// Error is the body.
func (e *apiError) Error() string { return string(e.body()) }

// MarshalJSON is the body.
func (e *apiError) MarshalJSON() ([]byte, error) {
	out := map[string]any{"code": e.code, "msg": e.text}
	if e.data != nil {
		out["data"] = e.data
	}
	return json.Marshal(out)
}

func (e *apiError) body() []byte {
	text, _ := e.MarshalJSON()
	return text
}

func bad(code int, text string) *apiError {
	return &apiError{status: http.StatusBadRequest, code: code, text: text}
}

func badSymbol() *apiError { return bad(-1121, "Invalid symbol.") }

func badKey() *apiError {
	return &apiError{status: http.StatusUnauthorized, code: -2015,
		text: "Invalid API-key, IP, or permissions for action."}
}

func filter(name string) *apiError { return bad(-1013, "Filter failure: "+name) }

func missing(name string) *apiError {
	return bad(-1102, fmt.Sprintf("Mandatory parameter '%s' was not sent, was empty/null, or malformed.", name))
}

func unwanted(name string) *apiError {
	return bad(-1106, fmt.Sprintf("Parameter '%s' sent when not required.", name))
}

func illegal(name, legal string) *apiError {
	return bad(-1100, fmt.Sprintf("Illegal characters found in parameter '%s'; legal range is '%s'.", name,
		legal))
}

// request is one call, its parameters from query and body.
type request struct {
	url.Values
	payload string // what is signed
	key     string
	method  string
	r       *http.Request
}

// endpoint is what a path does.
type endpoint struct {
	weight int
	keyed  bool
	kind   string // for Count
	params string // that it knows, beside those of a signature
	serve  func(*Venue, request) (any, *apiError)
	costs  func(request) int // instead of weight
}

func (e endpoint) weigh(q request) int {
	if e.costs != nil {
		return e.costs(q)
	}
	return e.weight
}

// read checks the names of the parameters: each is known, sent once, and has a value.
func (e endpoint) read(q request) *apiError {
	known := strings.Fields(e.params)
	if e.keyed {
		known = append(known, "timestamp", "recvWindow", "signature", "apiKey")
	}
	unread := 0
	for name, values := range q.Values {
		switch {
		case !slices.Contains(known, name):
			unread++
		case len(values) > 1:
			return bad(-1101, "Duplicate values for a parameter detected.")
		}
	}
	switch {
	case unread > 0 && len(known) == 0:
		return bad(-1101, fmt.Sprintf("Too many parameters; expected '0' and received '%d'.", len(q.Values)))
	case unread > 0:
		return bad(-1104,
			fmt.Sprintf("Not all sent parameters were read; read '%d' parameter(s) but was sent '%d'.",
				len(q.Values)-unread, len(q.Values)))
	}
	for _, name := range known {
		if q.Has(name) && q.Get(name) == "" {
			return bad(-1105, fmt.Sprintf("Parameter '%s' was empty.", name))
		}
	}
	return nil
}

// symbolIn is the market that a request names.
func (v *Venue) symbolIn(q request) (*symbol, *apiError) {
	name := q.Get("symbol")
	if name == "" {
		return nil, missing("symbol")
	}
	if s := v.find(name); s != nil && s.name == name {
		return s, nil
	}
	return nil, badSymbol()
}

// integer is a parameter that may be absent; above the highest it is that.
func integer(q request, name string, fallback, low, high int64) (int64, *apiError) {
	text := q.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low {
		return 0, illegal(name, "^[0-9]{1,20}$")
	}
	return min(n, high), nil
}

const amountForm = `^([0-9]{1,20})(\.[0-9]{1,20})?$`

var amountLegal = regexp.MustCompile(amountForm)

// amount reads a parameter; absent is zero.
func amount(q request, name string) (decimal.Decimal, *apiError) {
	text := q.Get(name)
	if text == "" {
		return decimal.Decimal{}, nil
	}
	if !amountLegal.MatchString(text) {
		return decimal.Decimal{}, illegal(name, amountForm)
	}
	d, err := decimal.Parse(text)
	if err != nil || d.Trim(0).Scale() > 8 {
		return d, bad(-1111, fmt.Sprintf("Parameter '%s' has too much precision.", name))
	}
	return d, nil
}

const orderParams = "symbol side type timeInForce quantity quoteOrderQty price newClientOrderId stopPrice" +
	" icebergQty newOrderRespType selfTradePreventionMode"

const pairParams = "symbol listClientOrderId side quantity newOrderRespType selfTradePreventionMode" +
	" aboveType aboveClientOrderId aboveIcebergQty abovePrice aboveStopPrice aboveTimeInForce" +
	" belowType belowClientOrderId belowIcebergQty belowPrice belowStopPrice belowTimeInForce"

// perSymbol weighs a request by whether it names a symbol.
func perSymbol(one, all int) func(request) int {
	return func(q request) int {
		if q.Has("symbol") {
			return one
		}
		return all
	}
}

// endpoints are the paths of REST.
func endpoints() map[string]endpoint {
	return map[string]endpoint{
		"GET /api/v3/ping": {weight: 1, serve: func(*Venue, request) (any, *apiError) { return struct{}{}, nil }},
		"GET /api/v3/time": {weight: 1, serve: func(v *Venue, _ request) (any, *apiError) {
			return v.timeInfo(),
				nil
		}},
		"GET /api/v3/exchangeInfo": {weight: 20,
			params: "symbol symbols permissions showPermissionSets symbolStatus",
			serve:  (*Venue).exchangeInfo},
		"GET /api/v3/klines": {weight: 2, params: "symbol interval startTime endTime timeZone limit",
			serve: (*Venue).klines},
		"GET /api/v3/uiKlines": {weight: 2, params: "symbol interval startTime endTime timeZone limit",
			serve: (*Venue).klines},
		"GET /api/v3/depth": {params: "symbol limit", serve: (*Venue).depth, costs: func(q request) int {
			limit, _ := strconv.Atoi(q.Get("limit"))
			switch {
			case limit <= 100:
				return 5
			case limit <= 500:
				return 25
			case limit <= 1000:
				return 50
			}
			return 250
		}},
		"GET /api/v3/trades":           {weight: 25, params: "symbol limit", serve: (*Venue).trades},
		"GET /api/v3/historicalTrades": {weight: 25, params: "symbol limit fromId", serve: (*Venue).trades},
		"GET /api/v3/aggTrades": {weight: 4, params: "symbol fromId startTime endTime limit",
			serve: (*Venue).aggregated},
		"GET /api/v3/avgPrice": {weight: 2, params: "symbol", serve: (*Venue).averagePrice},
		"GET /api/v3/ticker/24hr": {params: "symbol symbols type", serve: (*Venue).tickerDay,
			costs: perSymbol(2, 80)},
		"GET /api/v3/ticker/tradingDay": {params: "symbol symbols timeZone type", serve: (*Venue).tickerDay,
			costs: perSymbol(4, 80)},
		"GET /api/v3/ticker/price": {params: "symbol symbols", serve: (*Venue).tickerPrice,
			costs: perSymbol(2, 4)},
		"GET /api/v3/ticker/bookTicker": {params: "symbol symbols", serve: (*Venue).bookTicker,
			costs: perSymbol(2, 4)},
		"GET /api/v3/ticker": {params: "symbol symbols windowSize type", serve: (*Venue).tickerWindow,
			costs: perSymbol(4, 80)},
		"GET /api/v3/account": {weight: 20, keyed: true, params: "omitZeroBalances",
			serve: (*Venue).accountInfo},
		"GET /api/v3/account/commission": {weight: 20, keyed: true, params: "symbol", serve: (*Venue).rates},
		"GET /api/v3/rateLimit/order":    {weight: 40, keyed: true, serve: (*Venue).orderCounts},
		"POST /api/v3/order": {weight: 1, keyed: true, kind: "submit", params: orderParams,
			serve: (*Venue).placeOrder},
		"POST /api/v3/order/test": {weight: 1, keyed: true, params: orderParams + " computeCommissionRates",
			serve: (*Venue).tryOrder},
		"POST /api/v3/orderList/oco": {weight: 1, keyed: true, kind: "submit", params: pairParams,
			serve: (*Venue).placePair},
		"GET /api/v3/order": {weight: 4, keyed: true, kind: "query",
			params: "symbol orderId origClientOrderId", serve: (*Venue).queryOrder},
		"DELETE /api/v3/order": {weight: 1, keyed: true, kind: "cancel",
			params: "symbol orderId origClientOrderId newClientOrderId", serve: (*Venue).cancelOrder},
		"GET /api/v3/openOrders": {keyed: true, params: "symbol", serve: (*Venue).openOrders,
			costs: perSymbol(6, 80)},
		"DELETE /api/v3/openOrders": {weight: 1, keyed: true, kind: "cancel", params: "symbol",
			serve: (*Venue).cancelAll},
		"GET /api/v3/allOrders": {weight: 20, keyed: true,
			params: "symbol orderId startTime endTime limit", serve: (*Venue).allOrders},
		"GET /api/v3/myTrades": {weight: 20, keyed: true,
			params: "symbol orderId startTime endTime fromId limit", serve: (*Venue).myTrades},
		"GET /api/v3/orderList": {weight: 4, keyed: true, params: "orderListId origClientOrderId",
			serve: (*Venue).queryPair},
		"DELETE /api/v3/orderList": {weight: 1, keyed: true, kind: "cancel",
			params: "symbol orderListId listClientOrderId newClientOrderId", serve: (*Venue).cancelPair},
		"GET /api/v3/openOrderList": {weight: 6, keyed: true, serve: (*Venue).openPairs},
		"GET /api/v3/allOrderList": {weight: 20, keyed: true, params: "fromId startTime endTime limit",
			serve: (*Venue).allPairs},
		"POST /api/v3/order/cancelReplace": {weight: 1, keyed: true, kind: "submit", serve: (*Venue).replace,
			params: orderParams + " cancelReplaceMode cancelNewClientOrderId cancelOrigClientOrderId cancelOrderId"},
	}
}

// wallet are the paths outside of trading that clients ask before they trade; the test network has none.
func wallet() map[string]endpoint {
	none := func(*Venue, request) (any, *apiError) { return []any{}, nil }
	return map[string]endpoint{
		"GET /sapi/v1/capital/config/getall":    {weight: 10, keyed: true, serve: (*Venue).coins},
		"GET /sapi/v1/margin/allPairs":          {weight: 1, keyed: true, params: "symbol", serve: none},
		"GET /sapi/v1/margin/isolated/allPairs": {weight: 10, keyed: true, params: "symbol", serve: none},
	}
}

// methods are the requests of the WebSocket API, by the path of REST that does the same.
func methods() map[string]string {
	return map[string]string{
		"ping": "GET /api/v3/ping", "time": "GET /api/v3/time", "exchangeInfo": "GET /api/v3/exchangeInfo",
		"depth":         "GET /api/v3/depth",
		"trades.recent": "GET /api/v3/trades", "trades.historical": "GET /api/v3/historicalTrades",
		"trades.aggregate": "GET /api/v3/aggTrades",
		"klines":           "GET /api/v3/klines", "uiKlines": "GET /api/v3/uiKlines",
		"avgPrice":    "GET /api/v3/avgPrice",
		"ticker.24hr": "GET /api/v3/ticker/24hr", "ticker.tradingDay": "GET /api/v3/ticker/tradingDay",
		"ticker":       "GET /api/v3/ticker",
		"ticker.price": "GET /api/v3/ticker/price", "ticker.book": "GET /api/v3/ticker/bookTicker",
		"order.place": "POST /api/v3/order", "order.test": "POST /api/v3/order/test",
		"order.status": "GET /api/v3/order",
		"order.cancel": "DELETE /api/v3/order", "order.cancelReplace": "POST /api/v3/order/cancelReplace",
		"openOrders.status": "GET /api/v3/openOrders", "openOrders.cancelAll": "DELETE /api/v3/openOrders",
		"orderList.place.oco": "POST /api/v3/orderList/oco", "orderList.status": "GET /api/v3/orderList",
		"orderList.cancel": "DELETE /api/v3/orderList", "openOrderLists.status": "GET /api/v3/openOrderList",
		"account.status": "GET /api/v3/account", "account.commission": "GET /api/v3/account/commission",
		"account.rateLimits.orders": "GET /api/v3/rateLimit/order", "allOrders": "GET /api/v3/allOrders",
		"allOrderLists": "GET /api/v3/allOrderList", "myTrades": "GET /api/v3/myTrades",
	}
}
