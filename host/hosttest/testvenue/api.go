package testvenue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/govalues/decimal"
)

const amountForm = `^([0-9]{1,20})(\.[0-9]{1,20})?$`

const orderParams = "symbol side type timeInForce quantity quoteOrderQty price newClientOrderId stopPrice" +
	" icebergQty newOrderRespType selfTradePreventionMode"

const pairParams = "symbol listClientOrderId side quantity newOrderRespType selfTradePreventionMode" +
	" aboveType aboveClientOrderId aboveIcebergQty abovePrice aboveStopPrice aboveTimeInForce" +
	" belowType belowClientOrderId belowIcebergQty belowPrice belowStopPrice belowTimeInForce"

// api answers requests about the account and its orders.
type api struct {
	markets *markets
	hub     *hub
	matcher *matcher
}

// The limits of signed requests.
const (
	maxRecvWindow = 60_000
	maxAhead      = 1000 // milliseconds that a timestamp may be ahead
	retrySeconds  = 2
)

// apiError is how the exchange refuses.
type apiError struct {
	status int
	code   int
	text   string
	retry  int // seconds
	data   any // of an answer that has more to tell
}

// Error returns the body.
func (e *apiError) Error() string { return string(e.body()) }

// MarshalJSON returns the body.
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
	return bad(-1102,
		fmt.Sprintf("Mandatory parameter '%s' was not sent, was empty/null, or malformed.", name))
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

// of returns what the markets answer themselves.
func of(f func(*markets, request) (any, *apiError)) func(*api, request) (any, *apiError) {
	return func(v *api, q request) (any, *apiError) { return f(v.markets, q) }
}

// endpoint is what a path does.
type endpoint struct {
	weight int
	keyed  bool
	kind   string // for Count
	params string // that it knows, beside those of a signature
	serve  func(*api, request) (any, *apiError)
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

// integer returns a parameter that may be absent; above the highest it is that.
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
		"GET /api/v3/ping": {weight: 1, serve: func(*api, request) (any, *apiError) {
			return struct{}{}, nil
		}},
		"GET /api/v3/time": {weight: 1, serve: func(v *api, _ request) (any, *apiError) {
			return v.markets.timeInfo(),
				nil
		}},
		"GET /api/v3/exchangeInfo": {weight: 20,
			params: "symbol symbols permissions showPermissionSets symbolStatus",
			serve:  (*api).exchangeInfo},
		"GET /api/v3/klines": {weight: 2, params: "symbol interval startTime endTime timeZone limit",
			serve: of((*markets).klines)},
		"GET /api/v3/uiKlines": {weight: 2, params: "symbol interval startTime endTime timeZone limit",
			serve: of((*markets).klines)},
		"GET /api/v3/depth": {params: "symbol limit", serve: (*api).depth, costs: func(q request) int {
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
		"GET /api/v3/trades": {weight: 25, params: "symbol limit", serve: of((*markets).trades)},
		"GET /api/v3/historicalTrades": {weight: 25, params: "symbol limit fromId",
			serve: of((*markets).trades)},
		"GET /api/v3/aggTrades": {weight: 4, params: "symbol fromId startTime endTime limit",
			serve: of((*markets).aggregated)},
		"GET /api/v3/avgPrice": {weight: 2, params: "symbol", serve: of((*markets).averagePrice)},
		"GET /api/v3/ticker/24hr": {params: "symbol symbols type", serve: of((*markets).tickerDay),
			costs: perSymbol(2, 80)},
		"GET /api/v3/ticker/tradingDay": {params: "symbol symbols timeZone type",
			serve: of((*markets).tickerDay),
			costs: perSymbol(4, 80)},
		"GET /api/v3/ticker/price": {params: "symbol symbols", serve: of((*markets).tickerPrice),
			costs: perSymbol(2, 4)},
		"GET /api/v3/ticker/bookTicker": {params: "symbol symbols", serve: of((*markets).bookTicker),
			costs: perSymbol(2, 4)},
		"GET /api/v3/ticker": {params: "symbol symbols windowSize type", serve: of((*markets).tickerWindow),
			costs: perSymbol(4, 80)},
		"GET /api/v3/account": {weight: 20, keyed: true, params: "omitZeroBalances",
			serve: (*api).accountInfo},
		"GET /api/v3/account/commission": {weight: 20, keyed: true, params: "symbol", serve: (*api).rates},
		"GET /api/v3/rateLimit/order":    {weight: 40, keyed: true, serve: (*api).orderCounts},
		"POST /api/v3/order": {weight: 1, keyed: true, kind: "submit", params: orderParams,
			serve: (*api).placeOrder},
		"POST /api/v3/order/test": {weight: 1, keyed: true, params: orderParams + " computeCommissionRates",
			serve: (*api).tryOrder},
		"POST /api/v3/orderList/oco": {weight: 1, keyed: true, kind: "submit", params: pairParams,
			serve: (*api).placePair},
		"GET /api/v3/order": {weight: 4, keyed: true, kind: "query",
			params: "symbol orderId origClientOrderId", serve: (*api).queryOrder},
		"DELETE /api/v3/order": {weight: 1, keyed: true, kind: "cancel",
			params: "symbol orderId origClientOrderId newClientOrderId", serve: (*api).cancelOrder},
		"GET /api/v3/openOrders": {keyed: true, params: "symbol", serve: (*api).openOrders,
			costs: perSymbol(6, 80)},
		"DELETE /api/v3/openOrders": {weight: 1, keyed: true, kind: "cancel", params: "symbol",
			serve: (*api).cancelAll},
		"GET /api/v3/allOrders": {weight: 20, keyed: true,
			params: "symbol orderId startTime endTime limit", serve: (*api).allOrders},
		"GET /api/v3/myTrades": {weight: 20, keyed: true,
			params: "symbol orderId startTime endTime fromId limit", serve: (*api).myTrades},
		"GET /api/v3/orderList": {weight: 4, keyed: true, params: "orderListId origClientOrderId",
			serve: (*api).queryPair},
		"DELETE /api/v3/orderList": {weight: 1, keyed: true, kind: "cancel",
			params: "symbol orderListId listClientOrderId newClientOrderId", serve: (*api).cancelPair},
		"GET /api/v3/openOrderList": {weight: 6, keyed: true, serve: (*api).openPairs},
		"GET /api/v3/allOrderList": {weight: 20, keyed: true, params: "fromId startTime endTime limit",
			serve: (*api).allPairs},
		"POST /api/v3/order/cancelReplace": {weight: 1, keyed: true, kind: "submit", serve: (*api).replace,
			params: orderParams +
				" cancelReplaceMode cancelNewClientOrderId cancelOrigClientOrderId cancelOrderId"},
	}
}

// wallet are the paths outside of trading that clients ask before they trade; the test network has none.
func wallet() map[string]endpoint {
	none := func(*api, request) (any, *apiError) { return []any{}, nil }
	return map[string]endpoint{
		"GET /sapi/v1/capital/config/getall":    {weight: 10, keyed: true, serve: (*api).coins},
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

// perform does what a request asks for, unless it is refused.
func (v *api) perform(q request, e endpoint) (any, *apiError) {
	refusal := v.matcher.limits.charge(time.Now(), e.weigh(q))
	if refusal == nil && e.keyed {
		refusal = v.authorize(q)
	}
	if refusal == nil {
		refusal = e.read(q)
	}
	if refusal != nil {
		return nil, refusal
	}
	return e.serve(v, q)
}

// read takes a request apart. The signature is not part of what is signed.
func read(r *http.Request, body string) request {
	q := request{key: r.Header.Get("X-MBX-APIKEY"), r: r, method: r.Method, Values: url.Values{}}
	for _, part := range []string{r.URL.RawQuery, body} {
		values, _ := url.ParseQuery(part)
		for name, list := range values {
			q.Values[name] = append(q.Values[name], list...)
		}
		if i := strings.LastIndex("&"+part, "&signature="); i >= 0 {
			part = part[:max(i-1, 0)]
		}
		q.payload += part
	}
	return q
}

// authorize checks key, signature, time and permission of a request.
func (v *api) authorize(q request) *apiError {
	if q.key == "" {
		return &apiError{status: 401, code: -2014, text: "API-key format invalid."}
	}
	if q.key != v.markets.opts.Key {
		return badKey()
	}
	if e := v.signed(q.Values, q.payload); e != nil {
		return e
	}
	if v.matcher.readOnly && q.method != http.MethodGet {
		return badKey()
	}
	return nil
}

// signed checks time and signature, of WebSocket requests too.
func (v *api) signed(q url.Values, payload string) *apiError {
	stamp, err := strconv.ParseInt(q.Get("timestamp"), 10, 64)
	if err != nil {
		return missing("timestamp")
	}
	window := int64(5000)
	if text := q.Get("recvWindow"); text != "" {
		if window, err = strconv.ParseInt(text, 10, 64); err != nil || window < 1 || window > maxRecvWindow {
			return bad(-1131, "recvWindow must be less than 60000.")
		}
	}
	now := v.markets.server().UnixMilli()
	switch {
	case stamp >= now+maxAhead:
		return bad(-1021, "Timestamp for this request was 1000ms ahead of the server's time.")
	case now-stamp > window:
		return bad(-1021, "Timestamp for this request is outside of the recvWindow.")
	}
	mac := hmac.New(sha256.New, []byte(v.markets.opts.Secret))
	mac.Write([]byte(payload))
	if given, err := hex.DecodeString(q.Get("signature")); err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return bad(-1022, "Signature for this request is not valid.")
	}
	return nil
}

// parameters are those of a method, signed in the order of their names.
func parameters(params map[string]any) request {
	q := request{Values: url.Values{}}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		text, is := params[name].(string)
		if !is {
			text = encode(params[name])
		}
		q.Values.Set(name, text)
		if name != "signature" {
			parts = append(parts, name+"="+text)
		}
	}
	q.key, q.payload = q.Get("apiKey"), strings.Join(parts, "&")
	return q
}

func encode(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
