package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// probers is how many plugins are probed side by side.
const probers = 4

// candidate is one file on its way into the list.
type candidate struct {
	file    string
	program proc.Program
	spec    *strategypb.Spec
	fault   *proc.Fault
}

// probeAll copies all files first, so that no program is open for writing while
// another one is started, and then asks those that are not known yet.
func (c *Catalog) probeAll(ctx context.Context, files []string) []Strategy {
	lock, err := readLock(c.opts.StateDir)
	if err != nil {
		c.log.Warn("plugins.lock.json is begun anew", "error", err)
	}
	found := make([]candidate, len(files))
	first := map[string]int{} // by hash: the same bytes are asked once
	var ask []int
	for i, file := range files {
		p, fault := c.store.Add(filepath.Join(c.opts.Dir, file))
		found[i] = candidate{file: file, program: p, fault: fault}
		sum := found[i].program.SHA256
		if _, seen := first[sum]; seen || found[i].fault != nil {
			continue
		}
		first[sum] = i
		if found[i].spec = lock.spec(sum); found[i].spec == nil {
			ask = append(ask, i)
		}
	}
	c.ask(ctx, found, ask)
	for _, i := range ask {
		if found[i].fault == nil {
			if err := lock.set(found[i].program.SHA256, found[i].spec); err != nil {
				c.log.Warn("a description is not kept", "file", files[i], "error", err)
			}
		}
	}
	if err := lock.save(c.store); err != nil {
		c.log.Warn("plugins.lock.json is not written", "error", err)
	}
	return entries(found, first)
}

// ask probes the candidates with these numbers.
func (c *Catalog) ask(ctx context.Context, found []candidate, numbers []int) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(probers, len(numbers)) {
		wg.Go(func() {
			for i := range next {
				found[i].spec, found[i].fault = c.probe(ctx, found[i])
			}
		})
	}
	for _, i := range numbers {
		next <- i
	}
	close(next)
	wg.Wait()
}

// probe starts a plugin, asks what it is and ends it.
func (c *Catalog) probe(parent context.Context, cand candidate) (*strategypb.Spec, *proc.Fault) {
	ctx, cancel := context.WithTimeout(parent, c.opts.ProbeTimeout)
	defer cancel()
	p, err := c.start(parent, cand.file, cand.program, c.opts.ProbeTimeout, LaunchOptions{})
	var failed *LaunchError
	switch {
	case errors.As(err, &failed):
		return nil, &proc.Fault{Code: failed.Code, Message: withLog(failed.Message, failed.LogTail)}
	case err != nil:
		return nil, proc.Faultf(proc.CodeStartTimeout, "%v", err)
	}
	defer p.Kill("probed")
	spec, err := p.Client().Describe(ctx, &strategypb.DescribeRequest{})
	if err == nil {
		return spec, nil
	}
	if ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded {
		return nil, proc.Faultf(proc.CodeStartTimeout, "did not describe itself within %s",
			c.opts.ProbeTimeout)
	}
	p.Kill("the description failed")
	if p.ExitCode() > 0 && p.Exit() != "signal: killed" { // that would be our own
		return nil, &proc.Fault{Code: proc.CodeStartCrashed,
			Message: withLog("ended when asked what it is", p.Tail())}
	}
	return nil, proc.Faultf(proc.CodeWrongHandshake, "did not describe itself: %v", err)
}

// withLog adds the last lines of what the process said.
func withLog(message string, tail []string) string {
	const shown = 5
	tail = tail[max(0, len(tail)-shown):]
	for i, line := range tail {
		if i == 0 {
			message += "; it said: "
		} else {
			message += " / "
		}
		message += fmt.Sprintf("%.300s", line)
	}
	return message
}

// entries turns candidates into entries of the list.
func entries(found []candidate, first map[string]int) []Strategy {
	list := make([]Strategy, len(found))
	for i, cand := range found {
		if cand.fault == nil { // a file with the same bytes shares the answer
			cand.spec, cand.fault = found[first[cand.program.SHA256]].spec,
				found[first[cand.program.SHA256]].fault
		}
		var s Strategy
		if cand.fault == nil {
			s, cand.fault = describe(cand.spec)
		}
		if cand.fault != nil {
			s = unavailable(cand.file, cand.fault)
		}
		s.File, s.SHA256, s.program = cand.file, cand.program.SHA256, cand.program
		list[i] = s
	}
	return list
}

const lockFormat = 1

// lockFile remembers by hash what plugins said about themselves, so that a start
// does not have to probe what it knows. It can be deleted at any time.
type lockFile struct {
	path    string
	changed bool
	content lockContent
}

type lockContent struct {
	Format  int                  `json:"format"`
	Plugins map[string]lockEntry `json:"plugins"`
}

type lockEntry struct {
	SDKVersion      string          `json:"sdk_version"`
	ProtocolVersion int             `json:"protocol_version"`
	Spec            json.RawMessage `json:"spec"`
}

// readLock reads the file. One that is missing, broken or of another format is
// begun anew; the error explains why and is for the log only.
func readLock(stateDir string) (*lockFile, error) {
	l := &lockFile{path: filepath.Join(stateDir, "plugins.lock.json")}
	b, err := os.ReadFile(l.path)
	if err == nil {
		err = json.Unmarshal(b, &l.content)
	}
	if err == nil && l.content.Format != lockFormat {
		err = errors.New("another format")
	}
	if err != nil || l.content.Plugins == nil {
		l.content = lockContent{Format: lockFormat, Plugins: map[string]lockEntry{}}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return l, err
}

// spec returns what the program with this hash said about itself, nil if unknown.
func (l *lockFile) spec(sum string) *strategypb.Spec {
	e, ok := l.content.Plugins[sum]
	if !ok || e.ProtocolVersion != wire.ProtocolVersion {
		return nil
	}
	spec := &strategypb.Spec{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(e.Spec, spec); err != nil {
		return nil
	}
	return spec
}

func (l *lockFile) set(sum string, spec *strategypb.Spec) error {
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(spec)
	if err != nil {
		return err
	}
	l.content.Plugins[sum] = lockEntry{
		SDKVersion: spec.GetSdkVersion(), ProtocolVersion: wire.ProtocolVersion, Spec: b,
	}
	l.changed = true
	return nil
}

// save writes the file if something changed, without the entries whose copy is gone.
func (l *lockFile) save(s proc.Store) error {
	if !l.changed {
		return nil
	}
	for sum := range l.content.Plugins {
		if !s.Has(sum) {
			delete(l.content.Plugins, sum)
		}
	}
	b, err := json.MarshalIndent(l.content, "", "  ")
	if err != nil {
		return err
	}
	return file.Write(l.path, append(b, '\n'), 0o600)
}
