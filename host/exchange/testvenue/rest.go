package testvenue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The limits of requests.
const (
	weightPerMinute = 6000
	maxRecvWindow   = 60_000
	maxAhead        = 1000 // milliseconds that a timestamp may be ahead
	retrySeconds    = 2
)

// apiError is how the exchange refuses.
type apiError struct {
	status int
	code   int
	text   string
	retry  int // seconds
}

// Error is the body.
func (e *apiError) Error() string { return string(e.body()) }

func (e *apiError) body() []byte {
	text, _ := json.Marshal(map[string]any{"code": e.code, "msg": e.text})
	return text
}

// weights count the weight of a minute.
type weights struct {
	minute int64
	used   int
}

func (w *weights) add(now time.Time, weight int) int {
	if m := now.Unix() / 60; m != w.minute {
		w.minute, w.used = m, 0
	}
	w.used += weight
	return w.used
}

// request is one call, its parameters from query and body.
type request struct {
	url.Values
	payload string // what is signed
	key     string
	r       *http.Request
}

// endpoint is what a path does.
type endpoint struct {
	weight int
	keyed  bool
	kind   string // for Count
	serve  func(*Venue, request) (any, *apiError)
}

func endpoints() map[string]endpoint {
	return map[string]endpoint{
		"GET /api/v3/ping": {1, false, "", func(*Venue, request) (any, *apiError) { return struct{}{}, nil }},
		"GET /api/v3/time": {1, false, "", func(v *Venue, _ request) (any, *apiError) {
			return v.timeInfo(), nil
		}},
		"GET /api/v3/exchangeInfo":    {20, false, "", (*Venue).exchangeInfo},
		"GET /api/v3/klines":          {2, false, "", (*Venue).klines},
		"GET /api/v3/account":         {20, true, "", (*Venue).accountInfo},
		"POST /api/v3/order":          {1, true, "submit", (*Venue).placeOrder},
		"POST /api/v3/orderList/oco":  {1, true, "submit", (*Venue).placePair},
		"GET /api/v3/order":           {4, true, "query", (*Venue).queryOrder},
		"DELETE /api/v3/order":        {1, true, "cancel", (*Venue).cancelOrder},
		"GET /api/v3/openOrders":      {6, true, "", (*Venue).openOrders},
		"GET /api/v3/myTrades":        {20, true, "", (*Venue).myTrades},
		"GET /api/v3/rateLimit/order": {40, true, "", func(*Venue, request) (any, *apiError) { return []any{}, nil }},
	}
}

// api is the exchange; the sandbox is the same under another address.
func (v *Venue) api(sandbox bool) http.Handler {
	mux := http.NewServeMux()
	for pattern, e := range endpoints() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { v.answer(w, r, pattern, e, sandbox) })
	}
	mux.HandleFunc("GET /ws", v.serveRaw)
	mux.HandleFunc("GET /ws/{streams...}", v.serveRaw)
	mux.HandleFunc("GET /stream", v.serveCombined)
	mux.HandleFunc("GET /ws-api/v3", v.serveAPI)
	return mux
}

// answer serves one request with whatever a script wants to happen to it.
func (v *Venue) answer(w http.ResponseWriter, r *http.Request, pattern string, e endpoint, sandbox bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return
	}
	if v.away(w) {
		return
	}
	q := read(r, string(body))
	v.mu.Lock()
	v.counts["all"]++
	v.counts[pattern]++
	v.counts[e.kind]++
	if e.keyed {
		v.counts["keyed"]++
	}
	if q.key != "" || q.Has("signature") {
		v.counts["credentials"]++
	}
	if sandbox {
		v.counts["sandbox"]++
	}
	used := v.weights.add(time.Now(), e.weight)
	action, arg := v.scripted(pattern)
	v.mu.Unlock()
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.Header().Set("X-Mbx-Used-Weight-1m", strconv.Itoa(used))
	if !v.before(w, q, action, arg) {
		return
	}
	text, status := v.execution(q, e, used)
	if strings.HasPrefix(action, "429") || strings.HasPrefix(action, "418") {
		return
	}
	v.after(w, q, action, status, text)
}

// refusal is what an action answers before anything is executed, a subscription too.
func refusal(action string) *apiError {
	switch action {
	case act429:
		return &apiError{429, -1003, "Too much request weight used; current limit is 6000 request weight per 1 MINUTE.", retrySeconds}
	case act418:
		return &apiError{418, -1003, "Way too much request weight used; IP banned.", retrySeconds}
	case actClock:
		return &apiError{400, -1021, "Timestamp for this request is outside of the recvWindow.", 0}
	}
	return nil
}

// before does what a script wants before the request is executed; false: that was all.
func (v *Venue) before(w http.ResponseWriter, q request, action, arg string) bool {
	if e := refusal(action); e != nil {
		v.refuse(w, e)
		return false
	}
	switch action {
	case cutBefore:
		cut(w)
	case hangBefore:
		v.wait(q.r.Context())
	case actEcho:
		v.refuse(w, &apiError{400, -1022, "Signature for this request is not valid: " + v.opts.Key + " " + v.opts.Secret + " " + q.r.URL.RawQuery + "&" + q.payload, 0})
	case latency:
		ms, _ := strconv.Atoi(arg)
		timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-v.done:
		}
		return true
	default:
		return true
	}
	return false
}

// execution is the request itself.
func (v *Venue) execution(q request, e endpoint, used int) (text []byte, status int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var refusal *apiError
	var out any
	switch {
	case used > v.opts.Weight:
		refusal = &apiError{429, -1003, fmt.Sprintf("Too much request weight used; current limit is %d request weight per 1 MINUTE.", v.opts.Weight), 60 - int(time.Now().Unix()%60)}
	case e.keyed:
		refusal = v.authorize(q)
	}
	if refusal == nil {
		out, refusal = e.serve(v, q)
	}
	if refusal != nil {
		return refusal.body(), refusal.status
	}
	text, err := json.Marshal(out)
	if err != nil {
		return []byte(`{}`), 500
	}
	return text, 200
}

// after sends the answer, or what a script makes of it.
func (v *Venue) after(w http.ResponseWriter, q request, action string, status int, text []byte) {
	switch action {
	case cutAfter:
		cut(w)
		return
	case hangAfter:
		v.wait(q.r.Context())
		return
	case actHTML:
		w.Header().Set("Content-Type", "text/html")
		status, text = 200, []byte("<html><body>Service is being looked at</body></html>")
	case actEmpty:
		status, text = 200, nil
	case truncated:
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		text = text[:len(text)/2]
	case foreignID:
		for _, name := range []string{"newClientOrderId", "origClientOrderId"} {
			if id := q.Get(name); id != "" {
				text = []byte(strings.ReplaceAll(string(text), id, "somebody-elses"))
			}
		}
	case act500:
		w.Header().Set("Content-Type", "text/html")
		status, text = 500, []byte("<html><body>Internal error</body></html>")
	case act503:
		e := &apiError{503, -1007, "Timeout waiting for response from backend server. Send status unknown; execution status unknown.", 0}
		status, text = e.status, e.body()
	}
	if status == 429 || status == 418 {
		w.Header().Set("Retry-After", strconv.Itoa(60-int(time.Now().Unix()%60)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func (v *Venue) refuse(w http.ResponseWriter, e *apiError) {
	if e.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retry))
	}
	w.WriteHeader(e.status)
	_, _ = w.Write(e.body())
}

// cut ends the connection with a reset.
func cut(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	conn, _, err := h.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// read takes a request apart. The signature is not part of what is signed.
func read(r *http.Request, body string) request {
	q := request{key: r.Header.Get("X-MBX-APIKEY"), r: r, Values: url.Values{}}
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
func (v *Venue) authorize(q request) *apiError {
	if q.key == "" {
		return &apiError{401, -2014, "API-key format invalid.", 0}
	}
	if q.key != v.opts.Key {
		return &apiError{401, -2015, "Invalid API-key, IP, or permissions for action.", 0}
	}
	if e := v.signed(q.Values, q.payload); e != nil {
		return e
	}
	if v.readOnly && q.r.Method != http.MethodGet {
		return &apiError{401, -2015, "Invalid API-key, IP, or permissions for action.", 0}
	}
	return nil
}

// signed checks time and signature, of WebSocket requests too.
func (v *Venue) signed(q url.Values, payload string) *apiError {
	stamp, err := strconv.ParseInt(q.Get("timestamp"), 10, 64)
	if err != nil {
		return &apiError{400, -1102, "Mandatory parameter 'timestamp' was not sent, was empty/null, or malformed.", 0}
	}
	window := int64(5000)
	if text := q.Get("recvWindow"); text != "" {
		if window, err = strconv.ParseInt(text, 10, 64); err != nil || window < 1 || window > maxRecvWindow {
			return &apiError{400, -1131, "recvWindow must be less than 60000.", 0}
		}
	}
	now := v.server().UnixMilli()
	switch {
	case stamp >= now+maxAhead:
		return &apiError{400, -1021, "Timestamp for this request was 1000ms ahead of the server's time.", 0}
	case now-stamp > window:
		return &apiError{400, -1021, "Timestamp for this request is outside of the recvWindow.", 0}
	}
	mac := hmac.New(sha256.New, []byte(v.opts.Secret))
	mac.Write([]byte(payload))
	if given, err := hex.DecodeString(q.Get("signature")); err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return &apiError{400, -1022, "Signature for this request is not valid.", 0}
	}
	return nil
}

func missing(name string) *apiError {
	return &apiError{400, -1102, fmt.Sprintf("Mandatory parameter '%s' was not sent, was empty/null, or malformed.", name), 0}
}

func badSymbol() *apiError { return &apiError{400, -1121, "Invalid symbol.", 0} }
