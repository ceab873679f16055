// Package launch finds the connectors of the connectors folder and starts their
// processes.
//
// Open looks at every executable file of the folder, copies it under its hash into the
// state directory, starts the copy once and asks it what it is. The list is fixed until
// the program starts again; a file that cannot be used is listed as unavailable with the
// reason. Launch starts a fresh process for one run, from the copy, which is hashed again
// through the very descriptor that is executed.
//
// A process gets nothing of the host's environment but PATH, has a process group and a
// private folder for its socket to itself, and is not killed when the host dies: it loses
// its lease then, cancels the orders of its run and ends by itself (package wire). That a
// process is gone, or has broken the protocol, is told over a channel; starting another
// one is the decision of whoever drives the run.
package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
)

// The default limits of time.
const (
	DefaultProbeTimeout  = 5 * time.Second
	DefaultLaunchTimeout = 10 * time.Second
)

// Options say where connectors are and how they are started.
type Options struct {
	// Dir is the connectors folder (--connectors, SERVICE_CONNECTORS). There need be none.
	Dir string
	// StateDir holds connectors/, the copies.
	StateDir      string
	Logger        hclog.Logger  // silent if nil
	Sandbox       sandbox.Mode  // sandbox.Auto if empty
	ProbeTimeout  time.Duration // to start and describe itself; 5 s if zero
	LaunchTimeout time.Duration // to start for a run; 10 s if zero
}

// OwnFolder is the folder connectors beside the executable.
func OwnFolder() (string, error) {
	self, err := os.Executable()
	return filepath.Join(filepath.Dir(self), "connectors"), err
}

// Codes of what is wrong with a connector, beside those of package proc.
const (
	CodeBadDescription = "BAD_DESCRIPTION"
	CodeDuplicateID    = "DUPLICATE_ID"
)

// Connector is one entry of the list.
type Connector struct {
	// ID is the exchange's id; of a file that cannot be used the name of the file.
	ID string
	// File is its name in the folder, SHA256 of its bytes, in hex; "" if it could not be read.
	File, SHA256 string
	// Description is its description of itself; only of one that can be used.
	Description exchange.Description
	// Fault is why it is unavailable; nil: it is available.
	Fault *proc.Fault

	program proc.Program
}

// NotFoundError reports that no connector has the id.
type NotFoundError struct{ ID string }

// Error returns the message.
func (e *NotFoundError) Error() string { return fmt.Sprintf("there is no connector %q", e.ID) }

// Manager is the fixed set of connectors, and the processes started from it.
type Manager struct {
	opts  Options
	log   hclog.Logger
	store proc.Store
	list  []Connector

	running proc.Running[*Process]
}

// Open looks at the folder and asks every program what it is. One that cannot be used is
// listed as such; only a state directory that cannot be written to is an error.
func Open(ctx context.Context, o Options) (*Manager, error) {
	o.Sandbox = cmp.Or(o.Sandbox, sandbox.Auto)
	o.ProbeTimeout, o.LaunchTimeout = cmp.Or(o.ProbeTimeout, DefaultProbeTimeout),
		cmp.Or(o.LaunchTimeout, DefaultLaunchTimeout)
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	state, err := filepath.Abs(o.StateDir)
	if err != nil {
		return nil, err
	}
	s, err := proc.OpenStore(filepath.Join(state, "connectors"))
	if err != nil {
		return nil, err
	}
	m := &Manager{opts: o, log: o.Logger, store: s}
	files, err := m.scan()
	if err != nil {
		return nil, err
	}
	m.list = m.probeAll(ctx, files)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, c := range m.list {
		if c.Fault != nil {
			m.log.Warn("connector unavailable", "file", c.File, "code", c.Fault.Code, "reason",
				c.Fault.Message)
		}
	}
	m.log.Info("connectors", "dir", o.Dir, "files", len(m.list))
	return m, nil
}

// scan lists the executable files of the folder in order of their names.
func (m *Manager) scan() ([]string, error) {
	if m.opts.Dir == "" {
		return nil, nil
	}
	files, err := proc.ListPrograms(m.opts.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the connectors folder: %w", err)
	}
	return files, nil
}

// probeAll copies all files before it starts one, so that no program is open for writing
// while another process is made.
func (m *Manager) probeAll(ctx context.Context, files []string) []Connector {
	list := make([]Connector, len(files))
	for i, file := range files {
		p, fault := m.store.Add(filepath.Join(m.opts.Dir, file))
		list[i] = Connector{ID: file, File: file, SHA256: p.SHA256, Fault: fault, program: p}
	}
	var wg sync.WaitGroup
	for i := range list {
		if list[i].Fault == nil {
			wg.Go(func() { m.probe(ctx, &list[i]) })
		}
	}
	wg.Wait()
	owner := map[string]string{}
	for i := range list {
		c := &list[i]
		if c.Fault != nil {
			continue
		}
		for _, id := range append([]string{c.ID}, c.Description.Aliases...) {
			if first, taken := owner[id]; taken && c.Fault == nil {
				*c = Connector{ID: c.File, File: c.File, SHA256: c.SHA256,
					Fault: proc.Faultf(CodeDuplicateID, "the file %s already provides %q", first, id)}
			}
		}
		if c.Fault == nil {
			for _, id := range append([]string{c.ID}, c.Description.Aliases...) {
				owner[id] = c.File
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Connector) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

var idForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// probe starts a connector, asks what it is and ends it.
func (m *Manager) probe(ctx context.Context, c *Connector) {
	limited, cancel := context.WithTimeout(ctx, m.opts.ProbeTimeout)
	defer cancel()
	p, err := m.start(ctx, *c, LaunchOptions{}, m.opts.ProbeTimeout)
	if err != nil {
		if !errors.As(err, &c.Fault) {
			c.Fault = proc.Faultf(proc.CodeStartCrashed, "%v", err)
		}
		return
	}
	defer p.Kill("probed")
	d, err := p.client.Describe(limited)
	switch {
	case p.client.Fault() != nil:
		c.Fault = proc.Faultf(CodeBadDescription, "%v", p.client.Fault())
	case limited.Err() != nil:
		c.Fault = proc.Faultf(proc.CodeStartTimeout, "did not describe itself within %s", m.opts.ProbeTimeout)
	case err != nil:
		c.Fault = proc.Faultf(proc.CodeWrongHandshake, "did not describe itself: %v", err)
	default:
		c.Fault = checkDescription(d)
	}
	if c.Fault == nil {
		c.ID, c.Description = d.ID, d
	}
}

// checkDescription finds what would mislead users.
func checkDescription(d exchange.Description) *proc.Fault {
	bad := func(format string, args ...any) *proc.Fault {
		return proc.Faultf(CodeBadDescription, format, args...)
	}
	for _, id := range append([]string{d.ID}, d.Aliases...) {
		if !idForm.MatchString(id) {
			return bad("the id %.80q has not the form %s", id, idForm)
		}
	}
	switch {
	case d.Kind != "native" && d.Kind != "bridge":
		return bad("a connector is native or a bridge, not %q", d.Kind)
	case d.DeadMan != "lease" && d.DeadMan != "native":
		return bad("dead_man %q leaves orders standing when the host dies: lease or native", d.DeadMan)
	case len(d.Modes) == 0:
		return bad("it offers no mode")
	case len(d.Timeframes) == 0:
		return bad("it offers no timeframe")
	}
	if _, err := exchange.DecodeConfig(d.ConfigSchema, nil); err != nil {
		return bad("%v", err)
	}
	return nil
}

// Connectors lists all of them, sorted by id, unavailable ones too.
func (m *Manager) Connectors() []Connector { return slices.Clone(m.list) }

// Lookup finds a connector by id or alias. The error is a *NotFoundError, or the
// *proc.Fault of one that is unavailable.
func (m *Manager) Lookup(id string) (Connector, error) {
	var fault *proc.Fault
	for _, c := range m.list {
		switch {
		case c.Fault == nil && (c.ID == id || slices.Contains(c.Description.Aliases, id)):
			return c, nil
		case c.Fault != nil && c.ID == id:
			fault = c.Fault
		}
	}
	if fault != nil {
		return Connector{}, fault
	}
	return Connector{}, &NotFoundError{id}
}

// LaunchOptions say what one run's process may do beside using the network.
type LaunchOptions struct {
	// Writable is the absolute path of the one folder of the host that it may write to, "" for
	// none: where it leaves its lease.json. It is made if it is not there.
	Writable string
}

// Launch starts a fresh process for one run. The error is that of Lookup, a *proc.Fault, or
// the cause of ctx. The caller calls Kill or End in every case.
func (m *Manager) Launch(ctx context.Context, id string, o LaunchOptions) (*Process, error) {
	c, err := m.Lookup(id)
	if err != nil {
		return nil, err
	}
	p, err := m.start(ctx, c, o, m.opts.LaunchTimeout)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return p, err
}

// Close ends the processes that still run, politely: one whose session is open loses its
// lease, cancels the run's orders and ends after that, whether or not the host is still
// there. Close does not wait for it longer than two seconds.
func (m *Manager) Close() { m.running.Close((*Process).Leave) }
