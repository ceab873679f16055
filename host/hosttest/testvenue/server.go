package testvenue

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// server carries requests and streams, as a script directs.
type server struct {
	markets  *markets
	hub      *hub
	matcher  *matcher
	director *director
	api      *api
	counts   map[string]int
}

// handler returns the exchange; the sandbox is the same under another address.
func (v *server) handler(sandbox bool) http.Handler {
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

// answer serves one request with whatever a script directs.
func (v *server) answer(w http.ResponseWriter, r *http.Request, pattern string, e endpoint, sandbox bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return
	}
	if v.away(w) {
		return
	}
	q := read(r, string(body))
	v.markets.mu.Lock()
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
	action, arg := v.director.scripted(pattern)
	v.markets.mu.Unlock()
	h := w.Header()
	h.Set("Content-Type", "application/json;charset=UTF-8")
	if !v.before(w, q, action, arg) {
		return
	}
	text, status := v.execution(q, e, h)
	v.after(w, q, action, arg, status, text)
}

// refusal returns what an action answers before anything is executed, a subscription too.
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

// before does what a script directs before the request is executed and reports whether to go on.
func (v *server) before(w http.ResponseWriter, q request, action, arg string) bool {
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
			"Signature for this request is not valid: "+v.markets.opts.Key+" "+v.markets.opts.Secret+" "+
				q.r.URL.RawQuery+"&"+q.payload))
	case latency:
		v.pause(arg)
		return true
	default:
		return true
	}
	return false
}

// wait is for a request that hangs.
func (v *server) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-v.markets.done:
	}
}

// pause waits for some milliseconds.
func (v *server) pause(text string) {
	ms, _ := strconv.Atoi(text)
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-v.markets.done:
	}
}

// execution returns the request itself; the headers tell what it used.
func (v *server) execution(q request, e endpoint, h http.Header) (text []byte, status int) {
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	out, refusal := v.api.perform(q, e)
	v.matcher.limits.tell(h, v.markets.server(), refusal == nil && e.kind == "submit")
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

// after sends the answer, or what a script makes of it.
func (v *server) after(w http.ResponseWriter, q request, action, arg string, status int, text []byte) {
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
			text: "Timeout waiting for response from backend server. Send status unknown; execution " +
				"status unknown."}
		status, text = e.status, e.body()
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func (v *server) refuse(w http.ResponseWriter, e *apiError) {
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

// away cuts a request while the venue is offline; true: it did.
func (v *server) away(w http.ResponseWriter) bool {
	v.markets.mu.Lock()
	is := time.Now().Before(v.hub.trouble.offline)
	v.markets.mu.Unlock()
	if is {
		cut(w)
	}
	return is
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

// accept serves a connection until it ends; hear takes what it receives.
func (v *server) accept(w http.ResponseWriter, r *http.Request, streams string, combined bool,
	hear func(*client, []byte)) {
	if v.away(w) {
		return
	}
	v.markets.mu.Lock()
	v.counts["streams"]++
	action, arg := v.director.scripted(r.Method + " " + r.URL.Path)
	v.markets.mu.Unlock()
	if !v.before(w, read(r, ""), action, arg) {
		return
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &client{ping: v.markets.opts.Ping, ws: ws, out: make(chan []byte, 4096), gone: make(chan struct{}),
		combined: combined,
		streams:  map[string]bool{}}
	for _, s := range strings.Split(streams, "/") {
		if s != "" {
			c.streams[s] = true
		}
	}
	v.markets.mu.Lock()
	select {
	case <-v.markets.done:
		v.markets.mu.Unlock()
		c.cut()
		return
	default:
	}
	v.markets.wg.Add(1) // a connection that was taken over is not the server's to wait for
	defer v.markets.wg.Done()
	v.hub.clients[c] = struct{}{}
	v.markets.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(c.write)
	ws.SetReadLimit(1 << 16)
	for {
		_, text, err := ws.ReadMessage()
		if err != nil {
			break
		}
		hear(c, text)
	}
	c.cut()
	wg.Wait()
	v.markets.mu.Lock()
	delete(v.hub.clients, c)
	v.markets.mu.Unlock()
}

func (v *server) serveRaw(w http.ResponseWriter, r *http.Request) {
	v.accept(w, r, r.PathValue("streams"), false, v.hearStream)
}

func (v *server) serveCombined(w http.ResponseWriter, r *http.Request) {
	v.accept(w, r, r.URL.Query().Get("streams"), true, v.hearStream)
}

// hearStream is SUBSCRIBE and UNSUBSCRIBE.
func (v *server) hearStream(c *client, text []byte) {
	var q struct {
		Method string   `json:"method"`
		Params []string `json:"params"`
		ID     any      `json:"id"`
	}
	if json.Unmarshal(text, &q) != nil {
		return
	}
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	for _, s := range q.Params {
		switch q.Method {
		case "SUBSCRIBE":
			c.streams[s] = true
		case "UNSUBSCRIBE":
			delete(c.streams, s)
		}
	}
	c.send(map[string]any{"result": nil, "id": q.ID})
}

func (v *server) serveAPI(w http.ResponseWriter, r *http.Request) {
	v.accept(w, r, "", false, v.hearAPI)
}

// hearAPI answers a request of the WebSocket API.
func (v *server) hearAPI(c *client, text []byte) {
	var q struct {
		ID     any            `json:"id"`
		Method string         `json:"method"`
		Params map[string]any `json:"params"`
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if d.Decode(&q) != nil {
		return
	}
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	answer := func(status int, name string, body any) {
		message := map[string]any{"id": q.ID, "status": status, name: body}
		if q.Params["returnRateLimits"] != false {
			message["rateLimits"], _ = v.matcher.limits.rules(v.markets.server())
		}
		c.send(message)
	}
	if q.Params["apiKey"] != nil || q.Params["signature"] != nil {
		v.counts["credentials"]++
	}
	if q.Method == "userDataStream.subscribe.signature" {
		v.counts["keyed"]++
		v.counts["subscribe"]++
	}
	action, _ := v.director.scripted(q.Method)
	out, e := any(nil), refusal(action)
	if e == nil {
		out, e = v.called(c, q.Method, parameters(q.Params))
	}
	if e == nil {
		answer(200, "result", out)
		c.user = c.user || q.Method == "userDataStream.subscribe.signature"
		return
	}
	if e.retry > 0 {
		now := v.markets.server()
		e.data = map[string]int64{"serverTime": now.UnixMilli(),
			"retryAfter": now.Add(time.Duration(e.retry) * time.Second).UnixMilli()}
	}
	answer(e.status, "error", e)
}

// called does what a method of the WebSocket API asks for.
func (v *server) called(c *client, method string, q request) (any, *apiError) {
	if method == "userDataStream.subscribe.signature" {
		if v.hub.trouble.refuse {
			v.hub.trouble.refuse = false
			return nil, bad(-1099, "The subscription was refused.")
		}
		if q.key != v.markets.opts.Key {
			return nil, badKey()
		}
		return map[string]int{"subscriptionId": 0}, v.api.signed(q.Values, q.payload)
	}
	pattern := methods()[method]
	e, known := endpoints()[pattern]
	if !known {
		return nil, bad(-1000, "Unknown method.")
	}
	q.method, _, _ = strings.Cut(pattern, " ")
	q.Values.Del("returnRateLimits")
	v.counts[pattern]++
	v.counts[e.kind]++
	if e.keyed {
		v.counts["keyed"]++
	}
	return v.api.perform(q, e)
}
