package testvenue

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// frame is an account event that is held back.
type frame = map[string]any

// client is one WebSocket connection.
type client struct {
	v        *Venue
	ws       *websocket.Conn
	out      chan []byte
	gone     chan struct{}
	once     sync.Once
	silent   atomic.Bool
	combined bool
	user     bool            // it has subscribed to the account
	streams  map[string]bool // guarded by the venue's lock, as user
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

// cut ends the connection without a close frame.
func (c *client) cut() { c.once.Do(func() { close(c.gone); _ = c.ws.NetConn().Close() }) }

// send queues a message; who does not read is cut off.
func (c *client) send(message any) {
	text, err := json.Marshal(message)
	if err != nil || c.silent.Load() {
		return
	}
	select {
	case c.out <- text:
	default:
		c.cut()
	}
}

// accept serves a connection until it ends; hear takes what it says.
func (v *Venue) accept(w http.ResponseWriter, r *http.Request, streams string, combined bool,
	hear func(*client, []byte)) {
	if v.away(w) {
		return
	}
	v.mu.Lock()
	v.counts["streams"]++
	action, arg := v.scripted(r.Method + " " + r.URL.Path)
	v.mu.Unlock()
	if !v.before(w, read(r, ""), action, arg) {
		return
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &client{v: v, ws: ws, out: make(chan []byte, 4096), gone: make(chan struct{}), combined: combined,
		streams: map[string]bool{}}
	for _, s := range strings.Split(streams, "/") {
		if s != "" {
			c.streams[s] = true
		}
	}
	v.mu.Lock()
	select {
	case <-v.done:
		v.mu.Unlock()
		c.cut()
		return
	default:
	}
	v.wg.Add(1) // a connection that was taken over is not the server's to wait for
	defer v.wg.Done()
	v.clients[c] = struct{}{}
	v.mu.Unlock()
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
	v.mu.Lock()
	delete(v.clients, c)
	v.mu.Unlock()
}

func (c *client) write() {
	ping := time.NewTicker(c.v.opts.Ping)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-c.gone:
			return
		case text := <-c.out:
			err = c.ws.WriteMessage(websocket.TextMessage, text)
		case <-ping.C:
			if !c.silent.Load() {
				err = c.ws.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(time.Second))
			}
		}
		if err != nil {
			c.cut()
			return
		}
	}
}

func (v *Venue) serveRaw(w http.ResponseWriter, r *http.Request) {
	v.accept(w, r, r.PathValue("streams"), false, v.hearStream)
}

func (v *Venue) serveCombined(w http.ResponseWriter, r *http.Request) {
	v.accept(w, r, r.URL.Query().Get("streams"), true, v.hearStream)
}

// hearStream is SUBSCRIBE and UNSUBSCRIBE.
func (v *Venue) hearStream(c *client, text []byte) {
	var q struct {
		Method string   `json:"method"`
		Params []string `json:"params"`
		ID     any      `json:"id"`
	}
	if json.Unmarshal(text, &q) != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
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

func (v *Venue) serveAPI(w http.ResponseWriter, r *http.Request) {
	v.accept(w, r, "", false, v.hearAPI)
}

// hearAPI answers a request of the WebSocket API.
func (v *Venue) hearAPI(c *client, text []byte) {
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
	v.mu.Lock()
	defer v.mu.Unlock()
	answer := func(status int, name string, body any) {
		message := map[string]any{"id": q.ID, "status": status, name: body}
		if q.Params["returnRateLimits"] != false {
			message["rateLimits"], _ = v.limits.rules(v.server())
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
	action, _ := v.scripted(q.Method)
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
		now := v.server()
		e.data = map[string]int64{"serverTime": now.UnixMilli(),
			"retryAfter": now.Add(time.Duration(e.retry) * time.Second).UnixMilli()}
	}
	answer(e.status, "error", e)
}

// called does what a method of the WebSocket API asks for.
func (v *Venue) called(c *client, method string, q request) (any, *apiError) {
	if method == "userDataStream.subscribe.signature" {
		if v.trouble.refuse {
			v.trouble.refuse = false
			return nil, bad(-1099, "The subscription was refused.")
		}
		if q.key != v.opts.Key {
			return nil, badKey()
		}
		return map[string]int{"subscriptionId": 0}, v.signed(q.Values, q.payload)
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
	return v.perform(q, e)
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

// pushUser sends an account event to all who have subscribed.
func (v *Venue) pushUser(event frame) {
	t := &v.trouble
	events := []frame{event}
	switch {
	case t.dropUser > 0:
		t.dropUser--
		events = nil
	case t.doubleUser > 0:
		t.doubleUser--
		events = append(events, event)
	case t.reorder && len(t.held) == 0:
		t.held, events = events, nil
	case t.reorder:
		events, t.held, t.reorder = append(events, t.held...), nil, false
	}
	if delay := t.delay; delay > 0 {
		v.wg.Go(func() { v.deliverLater(delay, events) })
		return
	}
	v.deliver(events)
}

func (v *Venue) deliverLater(after time.Duration, events []frame) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-v.done:
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.deliver(events)
}

func (v *Venue) deliver(events []frame) {
	for c := range v.clients {
		for _, e := range events {
			if c.user {
				c.send(map[string]any{"subscriptionId": 0, "event": e})
			}
		}
	}
}

// announceShutdown tells everybody that the server is about to end.
func (v *Venue) announceShutdown() {
	event := map[string]any{"e": "serverShutdown", "E": v.server().UnixMilli()}
	for c := range v.clients {
		switch {
		case c.user:
			c.send(map[string]any{"subscriptionId": 0, "event": event})
		case c.combined:
			c.send(map[string]any{"stream": "!serverShutdown", "data": event})
		default:
			c.send(event)
		}
	}
}

// endUserStreams ends the subscriptions to the account; the connections stay open.
func (v *Venue) endUserStreams() {
	for c := range v.clients {
		if c.user {
			c.send(map[string]any{"subscriptionId": 0,
				"event": map[string]any{"e": "eventStreamTerminated", "E": v.server().UnixMilli()}})
			c.user = false
		}
	}
}
