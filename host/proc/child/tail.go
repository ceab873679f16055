package child

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	tailBytes = 64 << 10 // of raw output kept for a failure report
	lineBytes = 8 << 10  // a longer line is cut into several
	lineBurst = 200      // lines passed on at once
	lineRate  = 50       // lines passed on per second after that
)

// tail keeps the end of what a process says and passes lines on, not faster than
// a log can take. Both of its streams write to it.
type tail struct {
	onLine func(string)

	mu      sync.Mutex
	ring    []byte
	cut     bool // something was dropped from the front
	line    []byte
	tokens  float64
	filled  time.Time
	dropped int
	written int64 // bytes so far
}

func newTail(onLine func(string)) *tail {
	return &tail{onLine: onLine, tokens: lineBurst, filled: time.Now()}
}

func (t *tail) readFrom(r io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		t.write(buf[:n])
		if err != nil {
			return
		}
	}
}

func (t *tail) write(b []byte) {
	if len(b) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written += int64(len(b))
	t.ring = append(t.ring, b...)
	// Moved only now and then, so that a flood costs little.
	if len(t.ring) > 4*tailBytes {
		t.ring = append(t.ring[:0], t.ring[len(t.ring)-tailBytes:]...)
		t.cut = true
	}
	t.split(b)
}

func (t *tail) split(b []byte) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		part := b
		if i >= 0 {
			part = b[:i]
		}
		part = part[:min(len(part), lineBytes-len(t.line))]
		t.line = append(t.line, part...)
		b = b[len(part):]
		switch {
		case len(b) > 0 && b[0] == '\n':
			b = b[1:]
			t.emit()
		case len(t.line) == lineBytes:
			t.emit()
		}
	}
}

// emit passes the collected line on. With the lock held, so that lines keep their order.
func (t *tail) emit() {
	line := strings.ToValidUTF8(string(t.line), "\uFFFD")
	t.line = t.line[:0]
	if t.onLine == nil || strings.TrimSpace(line) == "" {
		return
	}
	now := time.Now()
	t.tokens = min(lineBurst, t.tokens+lineRate*now.Sub(t.filled).Seconds())
	t.filled = now
	if t.tokens < 1 {
		t.dropped++
		return
	}
	t.tokens--
	t.reportDropped()
	t.onLine(line)
}

func (t *tail) reportDropped() {
	if t.dropped > 0 {
		t.onLine(fmt.Sprintf("(%d lines left out: the plugin writes too fast)", t.dropped))
		t.dropped = 0
	}
}

// flush passes on a last line without an end.
func (t *tail) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.line) > 0 {
		t.emit()
	}
	if t.onLine != nil {
		t.reportDropped()
	}
}

// lines is the kept output. Its first line is left out when it lost its beginning.
func (t *tail) lines() []string {
	t.mu.Lock()
	raw, cut := t.ring, t.cut
	if len(raw) > tailBytes {
		raw, cut = raw[len(raw)-tailBytes:], true
	}
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	t.mu.Unlock()
	if i := strings.IndexByte(text, '\n'); cut && i >= 0 {
		text = text[i+1:]
	}
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return []string{}
	}
	return strings.Split(text, "\n")
}

// settle waits until nothing has come for the time quiet, or the process is gone, but
// not longer than limit.
func (t *tail) settle(done <-chan struct{}, quiet, limit time.Duration) {
	end := time.NewTimer(limit)
	defer end.Stop()
	for before := int64(-1); ; {
		t.mu.Lock()
		now := t.written
		t.mu.Unlock()
		if now == before {
			return
		}
		before = now
		pause := time.NewTimer(quiet)
		select {
		case <-pause.C:
		case <-done:
			pause.Stop()
			return
		case <-end.C:
			pause.Stop()
			return
		}
	}
}
