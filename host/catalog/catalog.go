// Package catalog knows which strategies there are and starts them.
//
// Open looks once at the strategies folder. Every executable file in it is hashed
// and copied to the state folder under its hash; only these copies are executed, and
// each is hashed again, through the very descriptor that is executed, before it
// runs, unless it was hashed before and has not been touched since. New ones are probed: started in the
// sandbox, asked to describe themselves, ended. What they answer is checked, kept by hash in
// plugins.lock.json and listed by Strategies; a file that fails is listed as unavailable with one of the
// Reasons. The set then stays as it is until the next Open, whatever happens to the folder.
//
// Launch starts one process for one run and returns a Process with the generated
// gRPC client. Process.Kill ends it within two seconds in every case. Strategies
// named by ASSAY_REATTACH_STRATEGIES run under a debugger: they are connected to
// instead of being started and carry the mark Debug.
//
// Package proc starts the processes.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
)

// The default limits of time.
const (
	DefaultProbeTimeout  = 5 * time.Second
	DefaultLaunchTimeout = 10 * time.Second
)

// Options say where strategies are and how they are started.
type Options struct {
	Dir           string          // the strategies folder
	Only          []string        // names of the files to look at; all if nil
	StateDir      string          // holds plugins/ and plugins.lock.json
	Sandbox       sandbox.Mode    // auto if empty
	Limits        *sandbox.Limits // of one plugin process; sandbox.DefaultLimits if nil
	Logger        hclog.Logger    // silent if nil
	ProbeTimeout  time.Duration   // to start and describe itself; 5 s if zero
	LaunchTimeout time.Duration   // to start for a run; 10 s if zero
	// Reattach is the value of ASSAY_REATTACH_STRATEGIES: a JSON object from a name
	// to {Protocol, ProtocolVersion, Pid, Test, Addr{Network, String}}.
	Reattach string
}

// Catalog is the fixed set of strategies, and the processes started from it.
type Catalog struct {
	opts  Options
	log   hclog.Logger
	store proc.Store
	level sandbox.Level
	list  []Strategy

	running proc.Running[*Process]
}

// Open looks at the strategies folder and probes what it does not know. A strategy
// that cannot be used is listed as such; only a host that cannot work is an error.
func Open(ctx context.Context, opts Options) (*Catalog, error) {
	c, err := newCatalog(opts)
	if err != nil {
		return nil, err
	}
	debugged, err := parseReattach(opts.Reattach)
	if err != nil {
		return nil, err
	}
	files, err := c.scan()
	if err != nil {
		return nil, err
	}
	found := c.probeAll(ctx, files)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	c.list = c.merge(found, c.reattachAll(ctx, debugged))
	if err := c.measure(ctx); err != nil {
		return nil, err
	}
	c.report()
	return c, nil
}

// measure finds out what closes strategies in. A catalogue of named files is for one command
// and does not show what it would be.
func (c *Catalog) measure(ctx context.Context) (err error) {
	if c.opts.Only != nil {
		return nil
	}
	if c.level, err = proc.Measure(ctx, c.opts.Sandbox, false); err != nil {
		return fmt.Errorf("measure the sandbox: %w", err)
	}
	c.log.Info("sandbox", "level", c.level, "missing", c.level.Lacks())
	for i := range c.list {
		s := &c.list[i]
		why := sandbox.Unwalled(c.opts.Sandbox, s.program.Race)
		switch {
		case s.reattach != nil:
			s.Sandbox = sandbox.NoSandbox(underDebugger).Walls()
		case why != "":
			s.Sandbox = sandbox.NoSandbox(why).Walls()
		default:
			s.Sandbox = c.level.Walls()
		}
	}
	return nil
}

// Sandbox returns what closes in a strategy that nothing is special about.
func (c *Catalog) Sandbox() sandbox.Level { return c.level }

func newCatalog(opts Options) (*Catalog, error) {
	var err error
	if opts.Sandbox, err = sandbox.ParseMode(string(opts.Sandbox)); err != nil {
		return nil, err
	}
	if opts.StateDir, err = filepath.Abs(opts.StateDir); err != nil {
		return nil, err
	}
	opts.ProbeTimeout = cmp.Or(max(opts.ProbeTimeout, 0), DefaultProbeTimeout)
	opts.LaunchTimeout = cmp.Or(max(opts.LaunchTimeout, 0), DefaultLaunchTimeout)
	if opts.Limits == nil {
		limits := sandbox.DefaultLimits()
		opts.Limits = &limits
	}
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	s, err := proc.OpenStore(filepath.Join(opts.StateDir, "plugins"))
	if err != nil {
		return nil, err
	}
	return &Catalog{opts: opts, log: opts.Logger, store: s}, nil
}

// scan lists the executable files of the folder in order of their names.
func (c *Catalog) scan() ([]string, error) {
	if c.opts.Only != nil {
		return c.opts.Only, nil
	}
	files, err := proc.ListPrograms(c.opts.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("there is no strategies folder: the catalogue is empty", "dir", c.opts.Dir)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the strategies folder: %w", err)
	}
	return files, nil
}

// merge makes the list: the first file with a name has it, and a strategy under a
// debugger takes the place of every file with its name.
func (c *Catalog) merge(files, debugged []Strategy) []Strategy {
	list := debugged
	owner := map[string]string{}
	for _, s := range debugged {
		owner[sameKey(s.Name)] = ""
	}
	for _, s := range files {
		holder, taken := owner[sameKey(s.Name)]
		switch {
		case taken && holder == "":
			continue
		case s.Status == Available && taken:
			sum := s.SHA256
			s = unavailable(s.File,
				proc.Faultf(CodeDuplicateName, "the file %s already provides %q", holder, s.Name))
			s.File, s.SHA256 = s.Name, sum
		case s.Status == Available:
			owner[sameKey(s.Name)] = s.File
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b Strategy) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Status, b.Status))
	})
	return list
}

func (c *Catalog) report() {
	available, unavailable := c.Counts()
	for _, s := range c.list {
		if s.Error != nil {
			c.log.Warn("strategy unavailable", "name", s.Name, "code", s.Error.Code, "reason",
				s.Error.Message)
		}
	}
	c.log.Info("strategies", "dir", c.opts.Dir, "available", available, "unavailable", unavailable)
}

// Strategies lists every strategy, sorted by name, unavailable ones too.
func (c *Catalog) Strategies() []Strategy { return append([]Strategy{}, c.list...) }

// Counts counts the strategies that can be used and those that cannot.
func (c *Catalog) Counts() (available, unavailable int) {
	for _, s := range c.list {
		if s.Status == Available {
			available++
		} else {
			unavailable++
		}
	}
	return available, unavailable
}

// Lookup finds a strategy that can be used. Otherwise the error is a *NotFoundError
// or an *UnavailableError.
func (c *Catalog) Lookup(name string) (*Strategy, error) {
	names := []string{}
	var fault *proc.Fault
	for i := range c.list {
		s := &c.list[i]
		switch {
		case s.Status == Available && s.Name == name:
			return s, nil
		case s.Status == Available:
			names = append(names, s.Name)
		case s.Name == name:
			fault = s.Error
		}
	}
	if fault != nil {
		return nil, &UnavailableError{Name: name, Fault: *fault}
	}
	return nil, &NotFoundError{Name: name, Available: names}
}

// Close ends every process that was started and still runs.
func (c *Catalog) Close() { c.running.Close(func(p *Process) { p.Kill(shutDown) }) }
