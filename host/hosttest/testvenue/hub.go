package testvenue

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// hub sends events to the streams, with the trouble that a script directs.
type hub struct {
	markets *markets
	clients map[*client]struct{}
	trouble trouble
}

// channels are what the connections hear of each symbol, by its name in small letters.
func (v *hub) channels() map[string][]string {
	all := map[string]bool{}
	for c := range v.clients {
		maps.Copy(all, c.streams)
	}
	list := map[string][]string{}
	for _, stream := range slices.Sorted(maps.Keys(all)) {
		if name, channel, ok := strings.Cut(stream, "@"); ok {
			list[name] = append(list[name], channel)
		}
	}
	return list
}

// tell sends an event of a stream to who listens.
func (v *hub) tell(stream string, event map[string]any) {
	for c := range v.clients {
		switch {
		case !c.streams[stream]:
		case c.combined:
			c.send(map[string]any{"stream": stream, "data": event})
		default:
			c.send(event)
		}
	}
}

// publishClosed publishes the candles that have closed.
func (v *hub) publishClosed() {
	t := &v.trouble
	wanted := v.channels()
	for _, s := range v.markets.symbols {
		for _, channel := range wanted[strings.ToLower(s.name)] {
			name, is := strings.CutPrefix(channel, "kline_")
			length := v.markets.spans[name]
			if next := s.tape.next(); is && length > 0 && next%length == 0 {
				v.closeCandle(s, name, s.tape.whole(next-length, length), t)
			}
		}
	}
	t.drop, t.double, t.late, t.corrected = false, false, false, false
}

func (v *hub) closeCandle(s *symbol, name string, c market.Candle, t *trouble) {
	length := c.CloseTime - c.OpenTime
	switch {
	case t.drop:
		return
	case t.corrected:
		wrong := c
		wrong.Close = wrong.Open
		v.pushCandle(s, name, wrong, true)
	case t.late && c.OpenTime-length >= s.tape.start:
		defer v.pushCandle(s, name, s.tape.whole(c.OpenTime-length, length), true)
	}
	v.pushCandle(s, name, c, true)
	if t.double {
		v.pushCandle(s, name, c, true)
	}
}

func (v *hub) pushCandle(s *symbol, name string, c market.Candle, closed bool) {
	v.tell(strings.ToLower(s.name)+"@kline_"+name,
		map[string]any{"e": "kline", "E": int64(v.markets.now()), "s": s.name, "k": map[string]any{
			"t": int64(c.OpenTime), "T": int64(c.CloseTime) - 1, "s": s.name, "i": name, "f": 1, "L": 1,
			"o": text(c.Open), "c": text(c.Close),
			"h": text(c.High), "l": text(c.Low), "v": text(c.Volume), "n": 1, "x": closed,
			"q": text(c.Volume * c.Close), "V": text(c.Volume / 2),
			"Q": text(c.Volume * c.Close / 2), "B": "0",
		}})
}

// publishMarket publishes the candles that form, trades and the book.
func (v *hub) publishMarket() {
	wanted := v.channels()
	for _, s := range v.markets.symbols {
		differs := false
		for _, channel := range wanted[strings.ToLower(s.name)] {
			stream := strings.ToLower(s.name) + "@" + channel
			kind, _, _ := strings.Cut(channel, "@")
			if name, is := strings.CutPrefix(kind, "kline_"); is {
				if length := v.markets.spans[name]; length > 0 {
					v.pushCandle(s, name, s.tape.whole(s.tape.next()-s.tape.next()%length, length), false)
				}
				continue
			}
			if kind == "depth" {
				differs = true
				continue
			}
			for _, event := range v.event(s, kind) {
				v.tell(stream, event)
			}
		}
		if differs {
			v.publishBook(s)
		}
		s.lastSent = s.newest().id
	}
}

// publishBook publishes how the book differs from what was published last, before a snapshot too: so a
// difference always begins where some snapshot ends.
func (v *hub) publishBook(s *symbol) {
	if s.book.lastSent == s.book.update {
		return
	}
	event := s.difference(int64(v.markets.now()))
	for _, speed := range []string{"", "@100ms", "@1000ms"} {
		v.tell(strings.ToLower(s.name)+"@depth"+speed, event)
	}
}

// event returns what a stream sends now; nothing where there is no such stream.
func (v *hub) event(s *symbol, kind string) []map[string]any {
	now := int64(v.markets.now())
	switch kind {
	case "trade", "aggTrade":
		var list []map[string]any
		for _, p := range s.prints {
			if p.id <= s.lastSent {
				continue
			}
			e := map[string]any{"e": kind, "E": now, "s": s.name, "p": fixed(s.tape.decimal(p.price)),
				"q": fixed(s.size(p)), "T": int64(p.time), "m": p.falls, "M": true}
			if kind == "trade" {
				e["t"] = p.id
			} else {
				e["a"], e["f"], e["l"] = p.id, p.id, p.id
			}
			list = append(list, e)
		}
		return list
	case "bookTicker":
		bid, ask := s.best()
		return []map[string]any{{"u": s.book.update, "s": s.name, "b": fixed(bid.price), "B": fixed(bid.qty),
			"a": fixed(ask.price), "A": fixed(ask.qty)}}
	case "depth5", "depth10", "depth20":
		return []map[string]any{s.snapshot(map[string]int{"depth5": 5, "depth10": 10, "depth20": 20}[kind])}
	case "avgPrice":
		return []map[string]any{{"e": "avgPrice", "E": now, "s": s.name, "i": "5m", "w": fixed(s.average()),
			"T": int64(s.tape.at())}}
	case "ticker", "miniTicker":
		w := s.window(24 * 60)
		e := map[string]any{"e": "24hr" + map[string]string{"ticker": "Ticker",
			"miniTicker": "MiniTicker"}[kind],
			"E": now, "s": s.name, "c": w["lastPrice"],
			"o": w["openPrice"], "h": w["highPrice"], "l": w["lowPrice"], "v": w["volume"],
			"q": w["quoteVolume"]}
		if kind == "ticker" {
			bid, ask := s.best()
			for short, value := range map[string]any{
				"p": w["priceChange"], "P": w["priceChangePercent"], "w": w["weightedAvgPrice"],
				"x": w["openPrice"],
				"Q": fixed(s.size(s.newest())),
				"b": fixed(bid.price), "B": fixed(bid.qty), "a": fixed(ask.price), "A": fixed(ask.qty),
				"O": w["openTime"], "C": w["closeTime"],
				"F": w["firstId"], "L": w["lastId"], "n": w["count"],
			} {
				e[short] = value
			}
		}
		return []map[string]any{e}
	}
	return nil
}

// frame is an account event that is held back.
type frame = map[string]any

// client is one WebSocket connection.
type client struct {
	ping     time.Duration
	ws       *websocket.Conn
	out      chan []byte
	gone     chan struct{}
	once     sync.Once
	silent   atomic.Bool
	combined bool
	user     bool            // it has subscribed to the account
	streams  map[string]bool // guarded by the venue's lock, as user
}

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

func (c *client) write() {
	ping := time.NewTicker(c.ping)
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

// pushUser sends an account event to all who have subscribed.
func (v *hub) pushUser(event frame) {
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
		v.markets.wg.Go(func() { v.deliverLater(delay, events) })
		return
	}
	v.deliver(events)
}

func (v *hub) deliverLater(after time.Duration, events []frame) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-v.markets.done:
		return
	}
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	v.deliver(events)
}

func (v *hub) deliver(events []frame) {
	for c := range v.clients {
		for _, e := range events {
			if c.user {
				c.send(map[string]any{"subscriptionId": 0, "event": e})
			}
		}
	}
}

// announceShutdown announces to all streams that the server is about to end.
func (v *hub) announceShutdown() {
	event := map[string]any{"e": "serverShutdown", "E": v.markets.server().UnixMilli()}
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
func (v *hub) endUserStreams() {
	for c := range v.clients {
		if c.user {
			c.send(map[string]any{"subscriptionId": 0,
				"event": map[string]any{"e": "eventStreamTerminated", "E": v.markets.server().UnixMilli()}})
			c.user = false
		}
	}
}
