package api

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assay-run/assay/api/web"
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
// write stalls and with refusals of net/http's parser in the form of this API.
func Limit(ln net.Listener, n int) net.Listener {
	return &listener{Listener: ln, stall: writeStall, slots: make(chan struct{}, n), done: make(chan struct{})}
}

type listener struct {
	net.Listener
	stall time.Duration
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
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
	return &conn{Conn: c, stall: l.stall, release: func() { <-l.slots }}, nil
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

type conn struct {
	net.Conn
	stall    time.Duration
	release  func()
	closing  sync.Once
	closeErr error
	linger   atomic.Bool
	head     head
	// explicit says that somebody above has set a write deadline of their own.
	explicit atomic.Bool
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.head.add(p[:n])
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if code, ok := parserRefusal(p); ok {
		c.linger.Store(true)
		answer := refusal(code, web.NewRequestID(), time.Now())
		if _, err := c.write(answer); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return c.write(p)
}

func (c *conn) write(p []byte) (int, error) {
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
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.explicit.Store(!t.IsZero())
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.explicit.Store(!t.IsZero())
	return c.Conn.SetDeadline(t)
}

// CloseWrite lets net/http end its half of the connection first.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close implements net.Conn. After an answer to a request that was not read to its
// end it takes in the rest first: closing with unread data resets the connection,
// and the client would lose the answer.
func (c *conn) Close() error {
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
