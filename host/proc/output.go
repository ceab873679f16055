package proc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/host/proc/sandbox"
)

const (
	tailBytes = 64 << 10 // of raw output kept for a failure report
	lineBytes = 8 << 10  // a longer line is cut into several
	lineBurst = 200      // lines passed on at once
	lineRate  = 50       // lines passed on per second after that
)

// tail keeps the end of what a process prints and passes lines on, not faster than
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

// lines returns the kept output. Its first line is left out when it lost its beginning.
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
	end := time.After(limit)
	for before := int64(-1); ; {
		t.mu.Lock()
		now := t.written
		t.mu.Unlock()
		if now == before {
			return
		}
		before = now
		select {
		case <-time.After(quiet):
		case <-done:
			return
		case <-end:
			return
		}
	}
}

// pipes are the connections to one process: our end and theirs. The status pipe
// exists only with the sandbox.
type pipes struct {
	stdout, stdoutTheirs *os.File
	stderr, stderrTheirs *os.File
	parent, parentTheirs *os.File
	status, statusTheirs *os.File
}

func openPipes(withStatus bool) (*pipes, error) {
	p := &pipes{}
	for _, pair := range []struct {
		read, write **os.File
		skip        bool
	}{
		{&p.stdout, &p.stdoutTheirs, false},
		{&p.stderr, &p.stderrTheirs, false},
		{&p.parentTheirs, &p.parent, false},
		{&p.status, &p.statusTheirs, !withStatus},
	} {
		if pair.skip {
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			p.closeAll()
			return nil, err
		}
		*pair.read, *pair.write = r, w
	}
	return p, nil
}

func (p *pipes) closeTheirs() {
	closeFiles(p.stdoutTheirs, p.stderrTheirs, p.parentTheirs, p.statusTheirs)
}

func (p *pipes) closeOurs() { closeFiles(p.stdout, p.stderr, p.parent) }

func (p *pipes) closeAll() {
	p.closeTheirs()
	p.closeOurs()
	closeFiles(p.status)
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// maxFirstLine is longer than any handshake: certificates have a few kilobytes.
const maxFirstLine = 32 << 10

// firstLine reads up to the first end of line and returns what it read beyond.
func firstLine(r io.Reader) (line string, rest []byte) {
	var got []byte
	buf := make([]byte, 4096)
	for len(got) < maxFirstLine {
		n, err := r.Read(buf)
		got = append(got, buf[:n]...)
		if i := bytes.IndexByte(got, '\n'); i >= 0 {
			return string(got[:i]), got[i+1:]
		}
		if err != nil {
			break
		}
	}
	return string(got), nil
}

// readStatus reads what the shim reports: first whether it started the plugin, which it
// hands on, and in the end how the plugin ended.
func (c *Child) readStatus(ctx context.Context, status *os.File, reported chan<- error) {
	if status == nil {
		reported <- nil
		return
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = status.SetReadDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = status.SetReadDeadline(time.Unix(1, 0)) })
	lines := json.NewDecoder(status)
	err := c.readStart(ctx, lines)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		_ = status.SetReadDeadline(time.Time{})
	}
	reported <- err
	var end sandbox.Report
	if err == nil && lines.Decode(&end) == nil && end.Ended {
		c.mu.Lock()
		c.end = &end
		c.mu.Unlock()
	}
	_ = status.Close()
}

func (c *Child) readStart(ctx context.Context, lines *json.Decoder) error {
	var report sandbox.Report
	err := lines.Decode(&report)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return context.DeadlineExceeded
	case err != nil || !report.Ready:
		return errNoShim
	case report.Refused:
		return &SandboxError{Reason: report.Failed}
	case report.Lower:
		return &lowerError{errors.New(report.Failed)}
	case report.Failed != "":
		return &ExecError{Reason: report.Failed, Errno: report.Errno}
	}
	c.level = sandbox.Level{Parts: report.Parts}
	return nil
}
