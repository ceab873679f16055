//go:build unix

package wire

import (
	"cmp"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Unpolled takes a connection over from the runtime's poller. The poller keeps a thread asleep on all its
// connections; each message would wake it, beside a reader that looks for the message, and it would take a
// processor. A deadline of what is returned holds for calls that begin after it was set. After an error the
// connection is closed.
func Unpolled(c net.Conn) (net.Conn, error) {
	of, ok := c.(syscall.Conn)
	if !ok {
		return c, nil
	}
	defer c.Close()
	raw, err := of.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{local: c.LocalAddr(), remote: c.RemoteAddr()}
	closed := raw.Control(func(fd uintptr) {
		s.fd, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	})
	if closed != nil || err != nil {
		return nil, os.NewSyscallError("fcntl", cmp.Or(closed, err))
	}
	return s, nil
}

// socket is a connection outside of the runtime's poller. Whoever waits for it keeps a thread.
type socket struct {
	fd            int // does not block
	local, remote net.Addr

	mu            sync.Mutex
	calls         int // under way: they keep fd open
	closed        bool
	reads, writes time.Time // deadlines
}

// begin keeps fd open until end is called, and returns a deadline.
func (s *socket) begin(deadline *time.Time) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return time.Time{}, net.ErrClosed
	}
	s.calls++
	return *deadline, nil
}

func (s *socket) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls--; s.closed && s.calls == 0 {
		_ = unix.Close(s.fd)
	}
}

// try repeats a call that does not block until it has done something or the deadline passes; 0 bytes
// without an error are the end of what the other side sends.
func (s *socket) try(deadline *time.Time, events int16, call func(int, []byte) (int, error), p []byte) (n int,
	err error) {
	failed := s.until(deadline, events, func(fd uintptr) bool {
		for n, err = call(int(fd), p); err == unix.EINTR; n, err = call(int(fd), p) {
		}
		return err != unix.EAGAIN
	})
	return max(n, 0), cmp.Or(failed, err)
}

// until waits and calls f, which does not block, until it is done or the deadline passes.
func (s *socket) until(deadline *time.Time, events int16, f func(fd uintptr) (done bool)) error {
	until, err := s.begin(deadline)
	if err != nil {
		return err
	}
	defer s.end()
	for !f(uintptr(s.fd)) {
		if err := wait(s.fd, events, until); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until something can be done with a descriptor.
func wait(fd int, events int16, until time.Time) error {
	limit := -1 // milliseconds
	if !until.IsZero() {
		if limit = int(time.Until(until).Milliseconds()) + 1; limit <= 0 {
			return os.ErrDeadlineExceeded
		}
	}
	_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, limit)
	if err == unix.EINTR {
		return nil
	}
	return err
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := s.try(&s.reads, unix.POLLIN, unix.Read, p)
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (n int, err error) {
	for n < len(p) {
		k, err := s.try(&s.writes, unix.POLLOUT, unix.Write, p[n:])
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Close implements net.Conn. It ends the calls under way.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.closed = true
	if s.calls == 0 {
		return unix.Close(s.fd)
	}
	return unix.Shutdown(s.fd, unix.SHUT_RDWR)
}

// LocalAddr implements net.Conn.
func (s *socket) LocalAddr() net.Addr { return s.local }

// RemoteAddr implements net.Conn.
func (s *socket) RemoteAddr() net.Addr { return s.remote }

// SetDeadline implements net.Conn.
func (s *socket) SetDeadline(t time.Time) error { return s.set(t, &s.reads, &s.writes) }

// SetReadDeadline implements net.Conn.
func (s *socket) SetReadDeadline(t time.Time) error { return s.set(t, &s.reads) }

// SetWriteDeadline implements net.Conn.
func (s *socket) SetWriteDeadline(t time.Time) error { return s.set(t, &s.writes) }

func (s *socket) set(t time.Time, deadlines ...*time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	for _, d := range deadlines {
		*d = t
	}
	return nil
}

// SyscallConn implements syscall.Conn.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return (*rawSocket)(s), nil }

// rawSocket is a syscall.RawConn.
type rawSocket socket

// Control implements syscall.RawConn.
func (r *rawSocket) Control(f func(fd uintptr)) error {
	s := (*socket)(r)
	if _, err := s.begin(&s.reads); err != nil {
		return err
	}
	defer s.end()
	f(uintptr(s.fd))
	return nil
}

// Read implements syscall.RawConn.
func (r *rawSocket) Read(f func(fd uintptr) (done bool)) error {
	return (*socket)(r).until(&r.reads, unix.POLLIN, f)
}

// Write implements syscall.RawConn.
func (r *rawSocket) Write(f func(fd uintptr) (done bool)) error {
	return (*socket)(r).until(&r.writes, unix.POLLOUT, f)
}
