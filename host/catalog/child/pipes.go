package child

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"github.com/assay-run/assay/host/catalog/sandbox"
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

// awaitShim reads the shim's report. The pipe ends when the plugin's program
// replaces the shim.
func (c *Child) awaitShim(ctx context.Context, status *os.File) error {
	defer status.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = status.SetReadDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = status.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var report sandbox.Report
	lines := bufio.NewScanner(status)
	for lines.Scan() {
		var r sandbox.Report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return errNoShim
		}
		report = r
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(lines.Err(), os.ErrDeadlineExceeded):
		return context.DeadlineExceeded
	case !report.Ready:
		return errNoShim
	case report.Refused:
		return &SandboxError{Reason: report.Failed}
	case report.Failed != "":
		return &ExecError{Reason: report.Failed, Errno: report.Errno}
	}
	c.level = sandbox.Level(report.Missing)
	return nil
}
