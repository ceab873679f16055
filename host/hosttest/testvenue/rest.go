package testvenue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The limits of signed requests.
const (
	maxRecvWindow = 60_000
	maxAhead      = 1000 // milliseconds that a timestamp may be ahead
	retrySeconds  = 2
)

// api is the exchange; the sandbox is the same under another address.
func (v *Venue) api(sandbox bool) http.Handler {
	mux := http.NewServeMux()
	paths := endpoints()
	if !sandbox {
		maps.Copy(paths, wallet())
	}
	for pattern, e := range paths {
		mux.HandleFunc(pattern, func(w http.ResponseWriter,
			r *http.Request) {
			v.answer(w, r, pattern, e, sandbox)
		})
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
	action, arg := v.scripted(pattern)
	v.mu.Unlock()
	h := w.Header()
	h.Set("Content-Type", "application/json;charset=UTF-8")
	if !v.before(w, q, action, arg) {
		return
	}
	text, status := v.execution(q, e, h)
	v.after(w, q, action, arg, status, text)
}

// refusal is what an action answers before anything is executed, a subscription too.
func refusal(action string) *apiError {
	switch action {
	case act429:
		return &apiError{status: 429, code: -1003, retry: retrySeconds,
			text: "Too much request weight used; current limit is 6000 request weight per 1 MINUTE."}
	case act418:
		return &apiError{status: 418, code: -1003, text: "Way too much request weight used; IP banned.",
			retry: retrySeconds}
	case actClock:
		return bad(-1021, "Timestamp for this request is outside of the recvWindow.")
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
		v.refuse(w, bad(-1022,
			"Signature for this request is not valid: "+v.opts.Key+" "+v.opts.Secret+" "+
				q.r.URL.RawQuery+"&"+q.payload))
	case latency:
		v.pause(arg)
		return true
	default:
		return true
	}
	return false
}

// pause waits for some milliseconds.
func (v *Venue) pause(text string) {
	ms, _ := strconv.Atoi(text)
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-v.done:
	}
}

// execution is the request itself; the headers tell what it used.
func (v *Venue) execution(q request, e endpoint, h http.Header) (text []byte, status int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	out, refusal := v.perform(q, e)
	v.limits.tell(h, v.server(), refusal == nil && e.kind == "submit")
	if refusal != nil {
		if refusal.retry > 0 {
			h.Set("Retry-After", strconv.Itoa(refusal.retry))
		}
		return refusal.body(), refusal.status
	}
	text, err := json.Marshal(out)
	if err != nil {
		return []byte(`{}`), 500
	}
	return text, 200
}

// perform does what a request asks for, unless it is refused.
func (v *Venue) perform(q request, e endpoint) (any, *apiError) {
	refusal := v.limits.charge(time.Now(), e.weigh(q))
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

// after sends the answer, or what a script makes of it.
func (v *Venue) after(w http.ResponseWriter, q request, action, arg string, status int, text []byte) {
	switch action {
	case lateAnswer:
		v.pause(arg)
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
		e := &apiError{status: 503, code: -1007,
			text: "Timeout waiting for response from backend server. Send status unknown; execution status unknown."}
		status, text = e.status, e.body()
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
func (v *Venue) authorize(q request) *apiError {
	if q.key == "" {
		return &apiError{status: 401, code: -2014, text: "API-key format invalid."}
	}
	if q.key != v.opts.Key {
		return badKey()
	}
	if e := v.signed(q.Values, q.payload); e != nil {
		return e
	}
	if v.readOnly && q.method != http.MethodGet {
		return badKey()
	}
	return nil
}

// signed checks time and signature, of WebSocket requests too.
func (v *Venue) signed(q url.Values, payload string) *apiError {
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
	now := v.server().UnixMilli()
	switch {
	case stamp >= now+maxAhead:
		return bad(-1021, "Timestamp for this request was 1000ms ahead of the server's time.")
	case now-stamp > window:
		return bad(-1021, "Timestamp for this request is outside of the recvWindow.")
	}
	mac := hmac.New(sha256.New, []byte(v.opts.Secret))
	mac.Write([]byte(payload))
	if given, err := hex.DecodeString(q.Get("signature")); err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return bad(-1022, "Signature for this request is not valid.")
	}
	return nil
}
