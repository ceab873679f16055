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
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
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
func (v *Venue) accept(w http.ResponseWriter, r *http.Request, streams string, combined bool, hear func(*client, []byte)) {
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
	c := &client{v: v, ws: ws, out: make(chan []byte, 4096), gone: make(chan struct{}), combined: combined, streams: map[string]bool{}}
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
		c.send(map[string]any{"id": q.ID, "status": status, name: body})
	}
	if q.Params["apiKey"] != nil || q.Params["signature"] != nil {
		v.counts["credentials"]++
	}
	switch q.Method {
	case "ping":
		answer(200, "result", struct{}{})
	case "time":
		answer(200, "result", map[string]int64{"serverTime": v.server().UnixMilli()})
	case "userDataStream.subscribe.signature":
		v.counts["keyed"]++
		v.counts["subscribe"]++
		action, _ := v.scripted(q.Method)
		e := refusal(action)
		if e == nil {
			e = v.maySubscribe(q.Params)
		}
		if e != nil {
			body := map[string]any{"code": e.code, "msg": e.text}
			if e.retry > 0 {
				now := v.server()
				body["data"] = map[string]int64{"serverTime": now.UnixMilli(), "retryAfter": now.Add(time.Duration(e.retry) * time.Second).UnixMilli()}
			}
			answer(e.status, "error", body)
			return
		}
		answer(200, "result", map[string]int{"subscriptionId": 0})
		c.user = true
	default:
		answer(400, "error", map[string]any{"code": -1000, "msg": "Unknown method."})
	}
}

func (v *Venue) maySubscribe(params map[string]any) *apiError {
	values := url.Values{}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		text, is := params[name].(string)
		if !is {
			text = encode(params[name])
		}
		values.Set(name, text)
		if name != "signature" {
			parts = append(parts, name+"="+text)
		}
	}
	if v.trouble.refuse {
		v.trouble.refuse = false
		return &apiError{400, -1099, "The subscription was refused.", 0}
	}
	if values.Get("apiKey") != v.opts.Key {
		return &apiError{401, -2015, "Invalid API-key, IP, or permissions for action.", 0}
	}
	return v.signed(values, strings.Join(parts, "&"))
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
			c.send(map[string]any{"subscriptionId": 0, "event": map[string]any{"e": "eventStreamTerminated", "E": v.server().UnixMilli()}})
			c.user = false
		}
	}
}

// report is an executionReport.
func (v *Venue) report(o *order, what string, t *trade) {
	e := frame{
		"e": "executionReport", "E": int64(v.now()), "s": o.symbol.name, "c": o.client, "S": o.side, "o": o.kind, "f": o.tif, "q": fixed(o.qty),
		"p": fixed(o.price), "P": fixed(o.stop), "F": "0.00000000", "g": o.list, "C": "", "x": what, "X": o.status, "r": "NONE", "i": o.id,
		"l": "0.00000000", "z": fixed(o.cum), "L": "0.00000000", "n": "0", "N": nil, "T": int64(v.now()), "t": -1, "w": o.open(), "m": false,
		"O": int64(o.created), "Z": fixed(o.cumQuote), "Y": "0.00000000", "Q": fixed(o.quoteQty), "V": "EXPIRE_MAKER", "I": o.id, "M": false,
	}
	if what == statusCanceled {
		e["c"], e["C"] = "x-cancel", o.client
	}
	if t != nil {
		e["l"], e["L"], e["n"], e["N"], e["t"], e["m"], e["T"] = fixed(t.qty), fixed(t.price), fixed(t.fee), t.feeAsset, t.id, t.maker, int64(t.time)
		e["Y"] = fixed(times(t.price, t.qty))
	}
	v.pushUser(e)
}

func (v *Venue) publishBalances() {
	list := []map[string]string{}
	for _, asset := range sorted(v.account.balances) {
		list = append(list, map[string]string{"a": asset, "f": fixed(v.account.free(asset)), "l": fixed(v.account.locked(asset))})
	}
	v.pushUser(frame{"e": "outboundAccountPosition", "E": int64(v.now()), "u": int64(v.now()), "B": list})
}

func sorted(m map[string]decimal.Decimal) []string { return slices.Sorted(maps.Keys(m)) }

// publishCandles tells of the minute that has closed and of those that form.
func (v *Venue) publishCandles() {
	t := &v.trouble
	for _, s := range v.symbols {
		for name, span := range v.spans {
			stream := strings.ToLower(s.name) + "@kline_" + name
			next := s.tape.next()
			if next%span == 0 {
				closed := s.tape.whole(next-span, span)
				v.closeCandle(s, stream, name, closed, t)
			}
			v.pushCandle(s, stream, name, s.tape.whole(next-next%span, span), false)
		}
	}
	t.drop, t.double, t.late, t.corrected = false, false, false, false
}

func (v *Venue) closeCandle(s *symbol, stream, name string, c market.Candle, t *trouble) {
	switch {
	case t.drop:
		return
	case t.corrected:
		wrong := c
		wrong.Close = wrong.Open
		v.pushCandle(s, stream, name, wrong, true)
	case t.late && c.OpenTime-(c.CloseTime-c.OpenTime) >= s.tape.start:
		before := c.CloseTime - c.OpenTime
		defer v.pushCandle(s, stream, name, s.tape.whole(c.OpenTime-before, before), true)
	}
	v.pushCandle(s, stream, name, c, true)
	if t.double {
		v.pushCandle(s, stream, name, c, true)
	}
}

func (v *Venue) pushCandle(s *symbol, stream, name string, c market.Candle, closed bool) {
	var event map[string]any
	for k := range v.clients {
		if !k.streams[stream] {
			continue
		}
		if event == nil {
			event = map[string]any{"e": "kline", "E": int64(v.now()), "s": s.name, "k": map[string]any{
				"t": int64(c.OpenTime), "T": int64(c.CloseTime) - 1, "s": s.name, "i": name, "f": 1, "L": 1, "o": text(c.Open), "c": text(c.Close),
				"h": text(c.High), "l": text(c.Low), "v": text(c.Volume), "n": 1, "x": closed, "q": text(c.Volume * c.Close), "V": "0", "Q": "0", "B": "0",
			}}
		}
		if k.combined {
			k.send(map[string]any{"stream": stream, "data": event})
		} else {
			k.send(event)
		}
	}
}
