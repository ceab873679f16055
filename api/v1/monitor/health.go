// Package monitor answers GET /health and GET /metrics.
//
// The runner and the counters are read when asked; whatever needs the disk or a database is
// checked in the background every ten seconds, so that a request never waits for it. What is
// watched is handed in as functions.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// HealthInterval is the time between background checks.
const HealthInterval = 10 * time.Second

const (
	diskWarn = 1 << 30
	diskFail = 100 << 20
)

// HealthOptions are what to watch.
type HealthOptions struct {
	Status   func() runner.Snapshot
	Counters func() runner.Counters
	// Plugins counts strategies that can be used and that cannot.
	Plugins func() (available, unavailable int)
	// Sandbox is what closes strategies in; nil: nothing does.
	Sandbox func() sandbox.Level
	// Registry gives the schema version of the registry, or reports what is wrong with it.
	Registry func(context.Context) (int, error)
	// Journal is why paper and live runs cannot be written down; nil: they can.
	Journal error
	// Damaged names candles whose files were found damaged, for people. Nil: none are.
	Damaged func() []string
	// FreeBytes is the space left in the state directory.
	FreeBytes func() (int64, error)
	// Requests counts HTTP requests, Stream the clients connected and dropped. Nil means none.
	Requests func() int64
	Stream   func() (clients int, dropped int64)
	// Governance is the outcome of the deployment policy for a run that is ungated for a
	// reason, or "". Nil: not configured.
	Governance func(ungated string) (status, message string)
	// Link is the connection of a paper or live run to its exchange; false: there is none. Nil: never.
	Link func() (runner.Link, bool)
	Now  func() time.Time
}

// Monitor keeps the newest outcome of every background check.
type Monitor struct {
	opts    HealthOptions
	started time.Time

	mu       sync.Mutex
	plugins  view.PluginsCheck
	registry view.RegistryCheck
	disk     view.DiskCheck
}

// NewMonitor makes a monitor and runs every check once.
func NewMonitor(ctx context.Context, opts HealthOptions) *Monitor {
	m := &Monitor{opts: opts, started: opts.Now()}
	m.check(ctx)
	return m
}

// Run repeats the checks until ctx is cancelled.
func (m *Monitor) Run(ctx context.Context) {
	tick := time.NewTicker(HealthInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.check(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (m *Monitor) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, HealthInterval/2)
	defer cancel()
	plugins, registry, disk := m.checkPlugins(), m.checkRegistry(ctx), m.checkDisk()
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plugins, m.registry, m.disk = plugins, registry, disk
}

func (m *Monitor) outcome(status, message string) view.Check {
	return view.Check{Status: status, Message: message, CheckedAt: market.FromTime(m.opts.Now())}
}

func (m *Monitor) checkPlugins() view.PluginsCheck {
	ok, broken := m.opts.Plugins()
	status, message := view.Pass, ""
	switch {
	case ok+broken == 0:
		status, message = view.Warn, "no strategies found"
	case broken > 0:
		status, message = view.Warn, fmt.Sprintf("%d of %d unavailable", broken, ok+broken)
	}
	return view.PluginsCheck{Check: m.outcome(status, message), Available: ok, Unavailable: broken}
}

func (m *Monitor) checkRegistry(ctx context.Context) view.RegistryCheck {
	version, err := m.opts.Registry(ctx)
	if err != nil {
		return view.RegistryCheck{Check: m.outcome(view.Fail, "the registry cannot be read")}
	}
	status, message := view.Pass, ""
	if why := m.opts.Journal; why != nil {
		status, message = view.Warn,
			"no paper or live run can start, their journal cannot be opened: "+why.Error()
	}
	return view.RegistryCheck{Check: m.outcome(status, message), SchemaVersion: version}
}

func (m *Monitor) checkDisk() view.DiskCheck {
	free, err := m.opts.FreeBytes()
	status, message := view.Pass, ""
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		status, message = view.Skip, "not known on this system"
	case err != nil:
		status, message = view.Fail, "the state directory cannot be read"
	case free < diskFail:
		status, message = view.Fail, "less than 100 MiB left"
	case free < diskWarn:
		status, message = view.Warn, "less than 1 GiB left"
	}
	return view.DiskCheck{Check: m.outcome(status, message), FreeBytes: free}
}

// Health returns the current health.
func (m *Monitor) Health() view.Health {
	now := m.opts.Now()
	s := m.opts.Status()
	h := view.Health{APIVersion: "v1", Timestamp: market.FromTime(now)}
	m.mu.Lock()
	h.Checks.Plugins, h.Checks.Registry, h.Checks.Disk = m.plugins, m.registry, m.disk
	m.mu.Unlock()
	if m.opts.Damaged != nil && h.Checks.Disk.Status != view.Fail {
		if list := m.opts.Damaged(); len(list) > 0 {
			h.Checks.Disk.Check = m.outcome(view.Warn, strings.Join(list, "; ")+": import them again")
		}
	}
	h.Checks.Runner = m.outcome(view.Pass, s.Status)
	if s.Status == runner.StatusFailed {
		h.Checks.Runner = m.outcome(view.Warn, "the run has failed: "+s.Error)
	}
	m.checkLink(&h.Checks, s)
	h.Checks.Governance = m.outcome(view.Skip, "not configured")
	if m.opts.Governance != nil {
		h.Checks.Governance = m.outcome(m.opts.Governance(s.Ungated))
	}
	h.Checks.Sandbox = m.checkSandbox()
	h.Checks.Alarms = m.checkAlarms(s)
	h.Status = h.Checks.Overall()
	h.Metrics = m.counters(now)
	return h
}

func (m *Monitor) checkSandbox() view.SandboxCheck {
	var level sandbox.Level
	if m.opts.Sandbox != nil {
		level = m.opts.Sandbox()
	}
	c := view.SandboxCheck{Walls: level.Walls()}
	switch {
	case level.Parts == nil:
		c.Check = m.outcome(view.Skip, "strategies run without a sandbox: "+level.Why)
	case c.Level != sandbox.LevelFull:
		c.Check = m.outcome(view.Pass, "missing: "+level.Lacks())
	default:
		c.Check = m.outcome(view.Pass, "")
	}
	return c
}

// checkAlarms looks at what is open in a paper or live run, acknowledged or not.
func (m *Monitor) checkAlarms(s runner.Snapshot) view.Check {
	if s.Mode != runner.ModePaper && s.Mode != runner.ModeLive {
		return m.outcome(view.Skip, "no live or paper run")
	}
	count := map[alarm.Severity]int{}
	codes := map[alarm.Severity][]string{}
	for _, a := range s.Progress.Alarms {
		if count[a.Severity]++; !slices.Contains(codes[a.Severity], a.Code) {
			codes[a.Severity] = append(codes[a.Severity], a.Code)
		}
	}
	for _, worst := range []struct {
		severity alarm.Severity
		status   string
	}{{alarm.Critical, view.Fail}, {alarm.Error, view.Warn}} {
		if n := count[worst.severity]; n > 0 {
			return m.outcome(worst.status,
				fmt.Sprintf("%d open of severity %s: %s", n, worst.severity,
					strings.Join(codes[worst.severity], ", ")))
		}
	}
	return m.outcome(view.Pass, "")
}

// maxSkew is how far the clocks may be apart before the check warns.
const maxSkew = 500 * time.Millisecond

// checkLink looks at the exchange of a paper or live run, and at its clock.
func (m *Monitor) checkLink(c *view.Checks, s runner.Snapshot) {
	c.Exchange.Check = m.outcome(view.Skip, "no live or paper run")
	c.Clock.Check = m.outcome(view.Skip, "")
	if m.opts.Link == nil || s.Status != runner.StatusRunning || s.Mode == runner.ModeBacktest {
		return
	}
	l, ok := m.opts.Link()
	if !ok {
		return
	}
	c.Exchange.Exchange = &l.Exchange
	if l.Latency > 0 {
		ms := view.Number(float64(l.Latency.Microseconds()) / 1000)
		c.Exchange.LatencyMS = &ms
	}
	if !l.LastMessage.IsZero() {
		c.Exchange.LastMessageAt = market.FromTime(l.LastMessage)
	}
	switch {
	case s.Phase == "halted":
		c.Exchange.Check = m.outcome(view.Warn, "the run is halted")
	case !l.Up:
		c.Exchange.Check = m.outcome(view.Warn, "not connected")
	default:
		c.Exchange.Check = m.outcome(view.Pass, "")
	}
	if !l.Up || l.Synthetic {
		return // no clock to compare with, or one of the exchange's own
	}
	ms := view.Number(float64(l.Offset.Microseconds()) / 1000)
	c.Clock.OffsetMS = &ms
	c.Clock.Check = m.outcome(view.Pass, "")
	if l.Offset.Abs() > maxSkew {
		c.Clock.Check = m.outcome(view.Warn,
			fmt.Sprintf("this machine's clock is %s off that of %s", l.Offset, l.Exchange))
	}
}

func (m *Monitor) counters(now time.Time) view.HealthMetrics {
	c := m.opts.Counters()
	out := view.HealthMetrics{
		UptimeSeconds: seconds(now.Sub(m.started)), RunsTotal: c.RunsTotal, RunsFailed: c.RunsFailed,
		LastRunSeconds: seconds(c.LastRun), CandlesPerSecond: view.Number(int64(c.CandlesPerSecond)),
		Goroutines: runtime.NumGoroutine(), HeapBytes: heapBytes(),
	}
	if m.opts.Requests != nil {
		out.HTTPRequestsTotal = m.opts.Requests()
	}
	if m.opts.Stream != nil {
		out.WSClients, out.WSDroppedTotal = m.opts.Stream()
	}
	return out
}

// seconds to the millisecond.
func seconds(d time.Duration) view.Number { return view.Number(float64(d.Milliseconds()) / 1000) }

// heapBytes reads the size of the heap without stopping the world.
func heapBytes() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(s[0].Value.Uint64())
}
