package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"github.com/assay-run/assay/host/proc/sandbox"
)

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
