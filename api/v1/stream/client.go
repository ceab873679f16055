package stream

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/gorilla/websocket"
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

	attached bool      // gets broadcasts
	begun    bool      // has had a snapshot
	wants    bool      // waits for a snapshot
	holding  bool      // a snapshot is being made, to go out before what is held
	held     []message // at most outboxFrames
	left     bool
	code     int
	reason   string
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
		_ = conn.Close() // it has not been told anything yet
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

// enqueue hands a frame to a client without waiting. It needs the lock.
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

// drop closes a client that does not keep up. It needs the lock.
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
		_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(c.code, c.reason), deadline) // it may be gone
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
