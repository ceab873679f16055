package stream_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestSlowReader checks that a client that does not read is dropped, and that publishing never
// waits for it: whoever did would wait for its whole patience, which publishing to a client
// that reads shows beside it.
func TestSlowReader(t *testing.T) {
	const frames, patience = 600, 4 * time.Second
	s := start(t,
		setup{prepare: func(h *stream.Hub) { h.Patience(time.Hour, time.Hour, time.Hour, patience) }})
	quick, first := s.rich(t)
	counted, read := make(chan int, 1), make(chan struct{}, 2*frames)
	go func() {
		defer close(read)
		n := 0
		for seq := first.Seq + 1; n < 2*frames; seq++ {
			f, err := quick.read()
			if err != nil || f.Seq != seq {
				t.Errorf("frame %d: %v", n, err)
				break
			}
			n++
			read <- struct{}{}
		}
		counted <- n
	}()
	big := strings.Repeat("x", 64<<10)
	publish := func() (longest time.Duration) {
		for range frames {
			begin := time.Now()
			s.hub.Publish("log", big)
			longest = max(longest, time.Since(begin))
			<-read // however slow the machine is, the quick one is never behind
		}
		return longest
	}
	alone := publish()
	slow, _ := s.rich(t)
	beside := publish()
	if n := <-counted; n != 2*frames {
		t.Errorf("the other client got %d frames", n)
	}
	if clients, dropped := s.hub.Counters(); clients != 1 || dropped != 1 {
		t.Errorf("%d clients, %d dropped", clients, dropped)
	}
	if code := slow.closed(); code != 4008 {
		t.Errorf("closed with %d", code)
	}
	// Who waited for the slow reader would wait until it is cut.
	t.Logf("%d frames: at most %v each, beside a slow reader %v", frames, alone, beside)
	if beside > patience/2 {
		t.Errorf("publishing a frame took %v, beside a slow reader %v", alone, beside)
	}
}

// One that never reads again is cut.
func TestDeafClient(t *testing.T) {
	s := start(t,
		setup{prepare: func(h *stream.Hub) {
			h.Patience(time.Minute, time.Minute, 50*time.Millisecond, 50*time.Millisecond)
		}})
	deaf, _ := s.rich(t)
	_ = deaf.conn.NetConn().(*net.TCPConn).SetReadBuffer(4096)
	big := strings.Repeat("x", 1<<20)
	for range 20 {
		s.hub.Publish("log", big)
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		clients, dropped := s.hub.Counters()
		if clients == 0 && dropped == 1 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d clients, %d dropped", clients, dropped)
		}
	}
}

func TestBadClients(t *testing.T) {
	s := start(t, setup{})
	text := func(text string) func(*websocket.Conn) {
		return func(c *websocket.Conn) { _ = c.WriteMessage(websocket.TextMessage, []byte(text)) }
	}
	flood := func(what string) func(*websocket.Conn) {
		return func(c *websocket.Conn) {
			for range 200 {
				text(what)(c)
			}
		}
	}
	fragments := append([]byte{0x01, 0x80, 1, 2, 3, 4},
		[]byte(strings.Repeat("\x00\x80\x01\x02\x03\x04", 50_000))...)
	for _, c := range []struct {
		name string
		code int
		act  func(*websocket.Conn)
	}{
		{"flood", 1008, flood(`{"type":"snapshot"}`)},
		{"flood of pings", 1008, func(c *websocket.Conn) {
			for range 200 {
				_ = c.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
			}
		}},
		{"flood of fragments", 1008, func(c *websocket.Conn) { _, _ = c.NetConn().Write(fragments) }},
		{"1 MiB", 1009, text(strings.Repeat("x", 1<<20))},
		{"a byte too much", 1009, text(`"` + strings.Repeat("x", stream.MaxMessage-1) + `"`)},
		{"no JSON", 1008, text("{")},
		{"no object", 1008, text(`["snapshot"]`)},
		{"no type", 1008, text(`{"payload":{}}`)},
		{"payload is no object", 1008, text(`{"type":"snapshot","payload":[]}`)},
		{"duplicate key", 1008, text(`{"type":"snapshot","type":"rows"}`)},
		{"bad UTF-8", 1008, text("{\"type\":\"\xff\"}")},
		{"binary", 1008, func(c *websocket.Conn) {
			_ = c.WriteMessage(websocket.BinaryMessage, []byte(`{"type":"snapshot"}`))
		}},
		{"no mask", 1002, func(c *websocket.Conn) { _, _ = c.NetConn().Write([]byte{0x81, 0x01, 'x'}) }},
		{"reserved bits", 1002, func(c *websocket.Conn) {
			_, _ = c.NetConn().Write([]byte{0xf1, 0x80, 1, 2, 3, 4})
		}},
		{"orderly end", 1000, func(c *websocket.Conn) {
			_ = c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, _ := s.rich(t)
			go c.act(client.conn)
			if code := client.closed(); code != c.code {
				t.Errorf("closed with %d, want %d", code, c.code)
			}
			_ = client.conn.Close()
		})
	}
	other, _ := s.rich(t)
	other.send(`{"type":"rows","payload":{"table":"fills"}}`)
	if f := other.next(); f.Type != "error" {
		t.Errorf("got %s", f.text)
	}
}

// What a plain client sends is ignored, however much it is.
func TestPlainClientMaySendAnything(t *testing.T) {
	s := start(t, setup{})
	c := s.plain(t)
	expect(t, c.next(), "idle", "")
	for range 200 {
		c.send("x")
		if err := c.conn.WriteControl(websocket.PingMessage, []byte("p"),
			time.Now().Add(5*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	c.send("%s", strings.Repeat("x", 4<<20))
	for _, message := range [][]byte{{0xff}, {}, []byte(`{"type":"snapshot","payload":{}}`)} {
		if err := c.conn.WriteMessage(websocket.BinaryMessage, message); err != nil {
			t.Fatal(err)
		}
	}
	fragments := append([]byte{0x01, 0x80, 1, 2, 3, 4},
		[]byte(strings.Repeat("\x00\x80\x01\x02\x03\x04", 50_000)+"\x80\x80\x01\x02\x03\x04")...)
	if _, err := c.conn.NetConn().Write(fragments); err != nil {
		t.Fatal(err)
	}
	run := s.Begin(t)
	expect(t, c.next(), "running", run.ID)
	if err := c.conn.WriteMessage(websocket.CloseMessage,
		websocket.FormatCloseMessage(1000, "")); err != nil {
		t.Fatal(err)
	}
	if code := c.closed(); code != 1000 {
		t.Errorf("closed with %d", code)
	}
	_ = c.conn.Close()
}

// A client that answers no ping is gone after the pong wait; one that does stays.
func TestPings(t *testing.T) {
	ring.Slow(t, "a busy machine answers late, so that the pong wait is three seconds")
	s := start(t, setup{prepare: func(h *stream.Hub) {
		h.Patience(30*time.Millisecond, 3*time.Second, time.Second, 50*time.Millisecond)
	}})
	alive := s.plain(t)
	silent := s.plain(t)
	silent.conn.SetPingHandler(func(string) error { return nil })
	pings := make(chan struct{}, 1000)
	answer := alive.conn.PingHandler()
	alive.conn.SetPingHandler(func(data string) error {
		pings <- struct{}{}
		return answer(data)
	})
	gone := make(chan int, 1)
	go func() { gone <- alive.closed() }()
	silent.closed()
	for len(pings) < 20 {
		select {
		case code := <-gone:
			t.Fatalf("the client that answers was closed with %d", code)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if n, dropped := s.hub.Counters(); n != 1 || dropped != 0 {
		t.Errorf("%d clients, %d dropped", n, dropped)
	}
	_ = alive.conn.Close()
}

// FuzzFrames sends anything behind a good handshake. The connection ends, and a
// client beside it goes on.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		"", "\x81\x80\x01\x02\x03\x04", "\x89\x80\x01\x02\x03\x04", "\x88\x82\x00\x00\x00\x00\x03\xe8",
		"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"\x81\x95\x00\x00\x00\x00{\"type\":\"snapshot\"} ",
		"\x01\x81\x00\x00\x00\x00x\x89\x80\x00\x00\x00\x00\x80\x80\x00\x00\x00\x00", "GET / HTTP/1.1\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	s := start(f,
		setup{max: 1000, prepare: func(h *stream.Hub) {
			h.Patience(time.Minute, time.Minute, time.Second, 100*time.Millisecond)
		}})
	f.Fuzz(func(t *testing.T, frames []byte) {
		c, _ := s.dial(t, stream.Subprotocol)
		conn := c.conn.NetConn().(*net.TCPConn)
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = conn.Write(frames) // the other side may have had enough
		_ = conn.CloseWrite()
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the connection was not ended")
		}
		witness := s.plain(t)
		expect(t, witness.next(), "idle", "")
		_ = witness.conn.Close()
	})
}
