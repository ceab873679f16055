//go:build unix

package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// unpolledPair returns the two ends of a unix socket, the first outside of the poller.
func unpolledPair(t *testing.T) (unpolled, other net.Conn) {
	t.Helper()
	c, other := connected(t)
	unpolled, err := Unpolled(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unpolled.Close() })
	return unpolled, other
}

// TestUnpolledCarries sends more than the buffers hold in both directions, and then the end.
func TestUnpolledCarries(t *testing.T) {
	c, other := unpolledPair(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // 2 MiB
	go func() {
		_, _ = io.Copy(other, other)
		_ = other.Close()
	}()
	go func() { _, _ = c.Write(sent) }()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%v, equal %t", err, bytes.Equal(got, sent))
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(got); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d %v", n, err)
	}
}

// TestUnpolledCloses: Close ends a call that waits, and later ones are refused.
func TestUnpolledCloses(t *testing.T) {
	c, _ := unpolledPair(t)
	read := make(chan error)
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; err == nil {
		t.Error("a read went on after Close")
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
	if err := c.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

// TestUnpolledDeadlines: nothing comes, and nothing is taken.
func TestUnpolledDeadlines(t *testing.T) {
	c, _ := unpolledPair(t)
	if err := c.SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	if n, err := c.Write(make([]byte, 4<<20)); !errors.Is(err, os.ErrDeadlineExceeded) || n == 4<<20 {
		t.Errorf("write of %d bytes: %v", n, err)
	}
}
