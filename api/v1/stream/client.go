package stream

import (
	"errors"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The codes with which a connection is closed. Zero stands for no close frame: the
// client is gone, or the frame has been sent.
const (
	closeNothing   = 0
	closeGoingAway = websocket.CloseGoingAway
	closePolicy    = websocket.ClosePolicyViolation // flood or bad message
	closeInternal  = websocket.CloseInternalServerErr
	closeSlow      = 4008
)

// client is one connection. Its reader and its writer are goroutines; the writer
// alone writes frames and closes the connection.
type client struct {
	hub    *Hub
	conn   *websocket.Conn
	rich   bool
	linger func() // may be nil
	out    chan message
	bye    chan struct{} // closed once the client has left the hub
	read   chan struct{} // closed when nothing is read any more

	// The rest is guarded by Hub.mu; code and reason are fixed once bye is closed.

	attached  bool      // gets broadcasts
	begun     bool      // has had a snapshot
	requested bool      // waits for a snapshot
	holding   bool      // a snapshot is being made, to go out before what is held
	held      []message // at most outboxFrames
	left      bool
	code      int
	reason    string
}

// admit makes the connection a client and begins to serve it.
func (h *Hub) admit(conn *websocket.Conn, linger func()) {
	c := &client{
		hub: h, conn: conn, rich: conn.Subprotocol() == Subprotocol, linger: linger,
		out: make(chan message, outboxFrames), bye: make(chan struct{}), read: make(chan struct{}),
	}
	h.catchUp()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		h.taken--
		_ = conn.Close() // it has not been sent anything yet
		return
	}
	h.clients[c], h.open[c] = struct{}{}, struct{}{}
	h.wg.Go(c.receive)
	h.wg.Go(c.send)
	if c.rich {
		h.welcome(c)
	} else if m, ok := h.plainStatus(); ok {
		h.enqueue(c, m)
	}
}

// enqueue hands a frame to a client without waiting. The back-pressure rule: a client whose outbox is full is
// dropped. It needs the lock.
func (h *Hub) enqueue(c *client, m message) {
	if c.left {
		return
	}
	if c.holding {
		if c.held = append(c.held, m); len(c.held) > outboxFrames {
			h.drop(c)
		}
		return
	}
	select {
	case c.out <- m:
	default:
		h.drop(c)
	}
}

// drop closes a client that does not keep up, with code 4008. It needs the lock.
func (h *Hub) drop(c *client) {
	h.dropped++
	h.leave(c, closeSlow, "too slow")
}

// leave takes a client out of the hub; its writer does the rest. The first reason
// counts. It needs the lock.
func (h *Hub) leave(c *client, code int, reason string) {
	if c.left {
		return
	}
	c.left, c.code, c.reason, c.held = true, code, reason, nil
	delete(h.clients, c)
	h.taken--
	close(c.bye)
}

func (c *client) leave(code int, reason string) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.hub.leave(c, code, reason)
}

// send empties the outbox until the client leaves, and closes the connection.
func (c *client) send() {
	defer c.end()
	ping := time.NewTicker(c.hub.pace.ping)
	defer ping.Stop()
	for {
		select {
		case <-c.bye:
			c.close()
			return
		default:
		}
		var err error
		select {
		case m := <-c.out:
			err = c.write(m, time.Now().Add(c.hub.pace.write))
		case <-ping.C:
			err = c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.hub.pace.write))
		case <-c.bye:
		}
		if err != nil {
			c.failed(err)
			return
		}
	}
}

func (c *client) write(m message, deadline time.Time) error {
	_ = c.conn.SetWriteDeadline(deadline) // it only notes the time
	if m.shared != nil {
		return c.conn.WritePreparedMessage(m.shared)
	}
	return c.conn.WriteMessage(websocket.TextMessage, m.own)
}

// failed notes that the client takes nothing any more.
func (c *client) failed(err error) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() && !c.left {
		h.dropped++
		h.leave(c, closeSlow, "it takes nothing") // for the log: no frame gets through any more
		return
	}
	h.leave(c, closeNothing, err.Error())
}

// close ends the connection: the close frame, a moment for the client's own, and
// then whatever it still sends is taken in, lest it lose the frame.
func (c *client) close() {
	h := c.hub
	deadline := time.Now().Add(h.pace.write)
	ok := c.code != closeGoingAway || c.flush(deadline)
	if ok && c.code != closeNothing {
		// it may be gone
		_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(c.code, c.reason),
			deadline)
	}
	wait := time.NewTimer(h.pace.closeWait)
	defer wait.Stop()
	select {
	case <-c.read:
		if c.linger != nil {
			c.linger()
		}
	case <-wait.C:
	}
}

// end gives the connection back.
func (c *client) end() {
	_ = c.conn.Close() // nothing is left to be said
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, c)
	h.opts.Logger.Debug("a stream client left", "rich", c.rich, "code", c.code, "reason", c.reason)
}

// flush writes what is left in the outbox.
func (c *client) flush(deadline time.Time) bool {
	for {
		select {
		case m := <-c.out:
			if c.write(m, deadline) != nil {
				return false
			}
		default:
			return true
		}
	}
}

// receive reads what the client sends until there is a reason to end.
func (c *client) receive() {
	defer close(c.read)
	err := c.listen()
	var closed *websocket.CloseError
	switch {
	case errors.As(err, &closed):
		c.leave(closeNothing, "the client closed")
	case errors.Is(err, errFlood):
		c.leave(closePolicy, "too many messages")
	case errors.Is(err, errBadMessage):
		c.leave(closePolicy, "not a message of this protocol")
	default: // the connection broke, or a close frame has been sent about the fault
		c.leave(closeNothing, err.Error())
	}
}

func (c *client) listen() error {
	conn, alive := c.conn, c.hub.pace.pong
	extend := func(string) error { return conn.SetReadDeadline(time.Now().Add(alive)) }
	conn.SetPongHandler(extend)
	if !c.rich {
		return c.ignore(extend)
	}
	messages := newBucket(maxMessages, maxMessages)
	conn.SetReadLimit(maxMessage)
	answer := conn.PingHandler()
	conn.SetPingHandler(func(data string) error {
		if !messages.take(1, time.Now()) {
			return errFlood
		}
		return answer(data)
	})
	for {
		if err := extend(""); err != nil {
			return err
		}
		kind, r, err := conn.NextReader()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if !messages.take(1, time.Now()) {
			return errFlood
		}
		if err := c.take(kind, text); err != nil {
			return err
		}
	}
}

// ignore reads over whatever a plain client sends, of any length and number, without
// keeping it.
func (c *client) ignore(extend func(string) error) error {
	for {
		if err := extend(""); err != nil {
			return err
		}
		if _, _, err := c.conn.NextReader(); err != nil {
			return err
		}
	}
}

// take handles one message of a rich client.
func (c *client) take(kind int, text []byte) error {
	select {
	case <-c.bye:
		return nil
	default:
	}
	if kind != websocket.TextMessage {
		return errBadMessage
	}
	return c.hub.handle(c, text)
}

// message is a frame in an outbox: shared by all, or for one client alone.
type message struct {
	shared *websocket.PreparedMessage
	own    []byte
	// status is the change of status that a frame announces, with its seq; else 0.
	status, seq uint64
}

// statusPayload is all that a plain client gets.
type statusPayload struct {
	Status string `json:"status"`
	RunID  string `json:"run_id"`
}

type statusUpdate struct {
	statusPayload
	Mode           string               `json:"mode"`
	Phase          string               `json:"phase"`
	PreviousStatus string               `json:"previous_status"`
	StopReason     *string              `json:"stop_reason"`
	Error          *string              `json:"error"`
	ErrorDetails   *view.FailureDetails `json:"error_details"`
}

type serverShutdown struct {
	ReconnectAfterMS int64 `json:"reconnect_after_ms"`
}

type empty struct{}

// body returns a frame without its end: what follows is the seq or nothing.
func body(kind string, payload any, at time.Time) ([]byte, error) {
	p, err := edge.Encode(payload)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(p)+len(kind)+96)
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","payload":`...)
	b = append(b, p...)
	b = append(b, `,"timestamp":"`...)
	b = at.UTC().AppendFormat(b, market.TimeLayout)
	return append(b, '"'), nil
}

// numbered ends a frame of a rich client.
func numbered(b []byte, seq uint64) []byte {
	b = append(b, `,"seq":`...)
	return append(strconv.AppendUint(b, seq, 10), '}')
}

// share makes a frame that is written to many. It fails for no text.
func share(b []byte) message {
	m, err := websocket.NewPreparedMessage(websocket.TextMessage, b)
	if err != nil {
		return message{own: b}
	}
	return message{shared: m}
}

func (h *Hub) encode(kind string, payload any) ([]byte, bool) {
	b, err := body(kind, payload, time.Now())
	if err != nil {
		h.opts.Logger.Error("a frame of the stream cannot be encoded", "type", kind, "error", err)
	}
	return b, err == nil
}

// broadcast numbers a frame and hands it to every rich client that has begun with a
// snapshot. It is dropped if still reports under the lock that it is out of date.
func (h *Hub) broadcast(kind string, payload any, still func() bool) {
	b, ok := h.encode(kind, payload)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if still != nil && !still() {
		return
	}
	h.spread(b, 0)
}

// spread is broadcast under the lock.
func (h *Hub) spread(b []byte, status uint64) {
	h.seq++
	m := share(numbered(b, h.seq))
	m.status, m.seq = status, h.seq
	for c := range h.clients {
		if c.attached {
			h.enqueue(c, m)
		}
	}
}

// announceChange announces a change of status that is not known yet.
func (h *Hub) announceChange(c runner.Change) {
	v := view.StatusOf(c.Snapshot)
	plain := statusPayload{v.Status, v.RunID}
	rich, ok := h.encode("status_update", statusUpdate{
		statusPayload: plain, Mode: v.Mode, Phase: v.Phase, PreviousStatus: c.Previous,
		StopReason: v.StopReason, Error: v.Error, ErrorDetails: v.ErrorDetails,
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.Snapshot.Seq <= h.now.Seq {
		return
	}
	h.now = c.Snapshot
	close(h.advanced)
	h.advanced = make(chan struct{})
	h.sendPlain()
	if ok {
		h.spread(rich, c.Snapshot.Seq)
	}
}

// announcePhase announces to rich clients that a paper or live run is in another phase than they have
// been sent: it may last for days, and what passes depends on it. A
// change of status that they do not know yet has the phase with it, and goes first.
func (h *Hub) announcePhase(s runner.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.Seq != h.now.Seq || s.Phase == h.now.Phase {
		return
	}
	v := view.StatusOf(s)
	b, ok := h.encode("status_update", statusUpdate{
		statusPayload: statusPayload{v.Status, v.RunID}, Mode: v.Mode, Phase: v.Phase,
		PreviousStatus: v.Status,
	})
	if ok {
		h.now.Phase = s.Phase
		h.spread(b, 0)
	}
}

// markPhaseSent takes the phase as sent.
func (h *Hub) markPhaseSent() {
	s := h.opts.Runner.Status()
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.Seq == h.now.Seq {
		h.now.Phase = s.Phase
	}
}

// repeat sends the status to plain clients again.
func (h *Hub) repeat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sendPlain()
}

func (h *Hub) sendPlain() {
	m, ok := h.plainStatus()
	for c := range h.clients {
		if !c.rich && ok {
			h.enqueue(c, m)
		}
	}
}

// plainStatus returns the status as a plain client sees it. It needs the lock.
func (h *Hub) plainStatus() (message, bool) {
	b, ok := h.encode("status_update", statusPayload{h.now.Status, h.now.RunID})
	if !ok {
		return message{}, false
	}
	return share(append(b, '}')), true
}

// reply sends a frame to one client. It carries the number of the newest broadcast
// and is queued behind it.
func (h *Hub) reply(c *client, kind string, payload any) {
	b, ok := h.encode(kind, payload)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.enqueue(c, message{own: numbered(b, h.seq)})
}
