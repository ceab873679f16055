package edge

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// MaxConnections are served at a time; more wait to be accepted.
const MaxConnections = 256

const (
	writeStall  = 30 * time.Second // longest time without write progress
	writeChunk  = 64 << 10         // progress is measured per chunk
	lingerTime  = 2 * time.Second
	lingerBytes = 8 << 20
)

// Limit wraps a listener: at most n connections at a time, each with a limit on
// write stalls and with refusals of net/http's parser in the form that refuse gives.
func Limit(ln net.Listener, n int, refuse Refuse) net.Listener {
	return &listener{Listener: ln, stall: writeStall, refuse: refuse, slots: make(chan struct{}, n),
		done: make(chan struct{})}
}

type listener struct {
	net.Listener
	stall  time.Duration
	refuse Refuse
	slots  chan struct{}
	done   chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &Conn{Conn: c, stall: l.stall, refuse: l.refuse, release: func() { <-l.slots }}, nil
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// Conn is one connection of a limited listener.
type Conn struct {
	net.Conn
	stall    time.Duration
	refuse   Refuse
	release  func()
	closing  sync.Once
	closeErr error
	linger   atomic.Bool
	head     head
	held     []byte // read ahead, not yet handed on; of the goroutine that reads
	// explicit reports that a caller has set a write deadline.
	explicit atomic.Bool
}

// Of returns the connection that a request came by, nil outside of a Server.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// Linger makes Close take in the rest of an unread body first, so that the client gets
// to read the answer.
func (c *Conn) Linger() { c.linger.Store(true) }

// Answered notes that the answer to the request at hand is about to end: what is read
// from now on is the next request.
func (c *Conn) Answered() { c.head.reset() }

// FramedTwice reports whether the request at hand, which begins with start, came with a
// Content-Length although net/http hides it: beside a Transfer-Encoding. Of a
// request that was sent before the answer to the one ahead of it too little is known:
// the answer is no.
func (c *Conn) FramedTwice(start string) bool { return c.head.framedTwice(start) }

// Read implements net.Conn. An empty line before a request is left out, as RFC 9112 has
// it: net/http would refuse it. net/http reads a single byte while it waits for an answer
// to end, so the two characters of the line may arrive in two reads.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return c.Conn.Read(p)
	}
	for {
		n, err := c.readHeld(p)
		if n == 1 && err == nil && p[0] == emptyLine[0] && c.head.begins() {
			if n, err = c.completeEmptyLine(p); n == 0 && err == nil {
				continue
			}
		} else if c.head.skip(p[:n]) {
			n = copy(p, p[len(emptyLine):n])
			if n == 0 && err == nil {
				continue
			}
		}
		c.head.add(p[:n])
		return n, err
	}
}

// readHeld reads what was read ahead before it reads from the connection.
func (c *Conn) readHeld(p []byte) (int, error) {
	if len(c.held) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.held)
	c.held = c.held[n:]
	return n, nil
}

// completeEmptyLine reads the byte after a carriage return that was read alone at the
// begin of a request. It leaves out both if they are an empty line; else the carriage
// return stays in p and the other byte is held for the next read. After an error the
// carriage return is held, so that nothing of the request is lost.
func (c *Conn) completeEmptyLine(p []byte) (int, error) {
	next := make([]byte, 1)
	n, err := c.Conn.Read(next)
	switch {
	case n == 0:
		c.held = append(c.held, p[0])
		return 0, err
	case c.head.skip([]byte{p[0], next[0]}):
		return 0, err
	}
	c.held = append(c.held, next[0])
	return 1, err
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	if status, ok := parserRefusal(p); ok {
		c.linger.Store(true)
		answer := wholeAnswer(c.refuse(status, time.Now()))
		if _, err := c.write(answer); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return c.write(p)
}

func (c *Conn) write(p []byte) (int, error) {
	done := 0
	for {
		if !c.explicit.Load() {
			if err := c.Conn.SetWriteDeadline(time.Now().Add(c.stall)); err != nil {
				return done, err
			}
		}
		n, err := c.Conn.Write(p[done:min(len(p), done+writeChunk)])
		done += n
		if err != nil || done == len(p) {
			return done, err
		}
	}
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.explicit.Store(!t.IsZero())
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	c.explicit.Store(!t.IsZero())
	return c.Conn.SetDeadline(t)
}

// CloseWrite lets net/http end its half of the connection first.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close implements net.Conn. After an answer to a request that was not read to its
// end it takes in the rest first: closing with unread data resets the connection,
// and the client would lose the answer.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		if c.linger.Load() {
			_ = c.CloseWrite()
			_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
		c.closeErr = c.Conn.Close()
		c.release()
	})
	return c.closeErr
}

// head keeps the header of the request at hand as it was sent. net/http
// hides from handlers a Content-Length that stands beside a Transfer-Encoding.
type head struct {
	mu    sync.Mutex
	text  []byte
	whole bool
	// skipped reports that an empty line before the request was left out: one may be.
	skipped bool
}

const emptyLine = "\r\n"

// headKept is the buffer that a connection keeps from one request to the next.
const headKept = 4096

// add takes in what has been read, up to the end of the header.
func (h *head) add(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.whole || len(p) == 0 {
		return
	}
	from := max(0, len(h.text)-len("\n\r"))
	h.text = append(h.text, p...)
	end := bytes.Index(h.text[from:], []byte("\n\r\n"))
	if other := bytes.Index(h.text[from:], []byte("\n\n")); other >= 0 && (end < 0 || other < end) {
		end = other
	}
	if end >= 0 {
		h.text = h.text[:from+end+1]
	}
	h.whole = end >= 0 || len(h.text) > maxHeader
}

// begins reports whether an empty line may come next: nothing of the request was read.
func (h *head) begins() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.text) == 0 && !h.whole && !h.skipped
}

// skip reports whether what was read begins with an empty line that stands before the
// request.
func (h *head) skip(p []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.text) > 0 || h.whole || h.skipped {
		return false
	}
	h.skipped = bytes.HasPrefix(p, []byte(emptyLine))
	return h.skipped
}

// reset makes room for the next request.
func (h *head) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text, h.whole, h.skipped = h.text[:0], false, false
	if cap(h.text) > headKept {
		h.text = nil
	}
}

// framedTwice reports whether the request that begins with start has a Content-Length.
// Of a request that was sent before the answer to the one ahead of it too little is
// known: the answer is no.
func (h *head) framedTwice(start string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := bytes.Split(h.text, []byte("\n"))
	if !h.whole || !bytes.HasPrefix(lines[0], []byte(start)) {
		return false
	}
	for _, line := range lines[1:] {
		name, _, found := bytes.Cut(line, []byte(":"))
		if found && bytes.EqualFold(name, []byte("Content-Length")) {
			return true
		}
	}
	return false
}
