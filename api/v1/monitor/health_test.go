package monitor

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/runner"
)

func healthOptions() HealthOptions {
	return HealthOptions{
		Status: func() runner.Snapshot {
			return runner.Snapshot{Status: runner.StatusIdle}
		}, Counters: func() runner.Counters { return runner.Counters{} },
		Plugins: func() (int, int) {
			return 4, 0
		}, Registry: func(context.Context) (int, error) { return 1, nil },
		FreeBytes: func() (int64, error) { return diskWarn, nil }, Now: time.Now,
	}
}

func TestOverall(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*HealthOptions)
		want   string
		look   func(view.Checks) string
	}{
		"all well": {func(*HealthOptions) {}, "healthy", func(c view.Checks) string {
			return c.Runner.Message
		}},
		"plugin broken": {func(o *HealthOptions) {
			o.Plugins = func() (int, int) { return 3, 1 }
		}, "degraded", func(c view.Checks) string { return c.Plugins.Message }},
		"no plugin": {func(o *HealthOptions) {
			o.Plugins = func() (int, int) { return 0, 0 }
		}, "degraded", func(c view.Checks) string { return c.Plugins.Message }},
		"registry broken": {func(o *HealthOptions) {
			o.Registry = func(context.Context) (int, error) { return 0, errors.New("x") }
		}, "unhealthy", func(c view.Checks) string { return c.Registry.Message }},
		"disk low": {func(o *HealthOptions) {
			o.FreeBytes = func() (int64, error) { return diskWarn - 1, nil }
		}, "degraded", func(c view.Checks) string { return c.Disk.Message }},
		"disk full": {func(o *HealthOptions) {
			o.FreeBytes = func() (int64, error) { return diskFail - 1, nil }
		}, "unhealthy", func(c view.Checks) string { return c.Disk.Message }},
		"disk unknown": {func(o *HealthOptions) {
			o.FreeBytes = func() (int64, error) { return 0, errors.ErrUnsupported }
		}, "healthy", func(c view.Checks) string { return c.Disk.Message }},
		"run failed": {func(o *HealthOptions) {
			o.Status = func() runner.Snapshot {
				return runner.Snapshot{Status: runner.StatusFailed, Error: "boom"}
			}
		}, "degraded", func(c view.Checks) string { return c.Runner.Message }},
	} {
		o := healthOptions()
		c.change(&o)
		h := NewMonitor(t.Context(), o).Health()
		if h.Status != c.want || c.look(h.Checks) == "" {
			t.Errorf("%s: %s %q", name, h.Status, c.look(h.Checks))
		}
	}
	o := healthOptions()
	o.Plugins = func() (int, int) { return 3, 1 }
	if got := NewMonitor(t.Context(), o).Health().Checks.Plugins.Message; got != "1 of 4 unavailable" {
		t.Error(got)
	}
}

// TestAlarms: health is as bad as the worst that is open, acknowledged or not, also after the end of the run.
func TestAlarms(t *testing.T) {
	open := func(list ...alarm.Alarm) view.Health {
		o := healthOptions()
		o.Status = func() runner.Snapshot {
			return runner.Snapshot{Status: runner.StatusCompleted, Mode: runner.ModeLive,
				Progress: runner.Progress{Alarms: list}}
		}
		return NewMonitor(t.Context(), o).Health()
	}
	drift := alarm.Alarm{Code: "BALANCE_DRIFT", Severity: alarm.Error, Acknowledged: true}
	bare := alarm.Alarm{Code: "POSITION_UNPROTECTED", Severity: alarm.Critical}
	for name, c := range map[string]struct {
		health               view.Health
		overall, status, say string
	}{
		"none": {open(), "healthy", view.Pass, ""},
		"warning": {open(alarm.Alarm{Code: "CLOCK_SKEW", Severity: alarm.Warning}), "healthy", view.Pass,
			""},
		"error": {open(drift, drift), "degraded", view.Warn, "2 open of severity error: BALANCE_DRIFT"},
		"critical": {open(bare, drift), "unhealthy", view.Fail,
			"1 open of severity critical: POSITION_UNPROTECTED"},
	} {
		if got := c.health.Checks.Alarms; c.health.Status != c.overall || got.Status != c.status ||
			got.Message != c.say {
			t.Errorf("%s: %s %+v", name, c.health.Status, got)
		}
	}
	if got := NewMonitor(t.Context(), healthOptions()).Health().Checks.Alarms.Status; got != view.Skip {
		t.Error(got)
	}
}

func TestMetrics(t *testing.T) {
	o := healthOptions()
	o.Requests = func() int64 { return 7 }
	o.Stream = func() (int, int64) { return 2, 3 }
	o.Counters = func() runner.Counters {
		return runner.Counters{RunsTotal: 4, RunsFailed: 1, LastRun: 12300 * time.Millisecond}
	}
	m := NewMonitor(t.Context(), o).Health().Metrics
	if m.HTTPRequestsTotal != 7 || m.WSClients != 2 || m.WSDroppedTotal != 3 || m.RunsTotal != 4 ||
		m.LastRunSeconds != 12.3 || m.Goroutines == 0 || m.HeapBytes == 0 {
		t.Errorf("%+v", m)
	}
}

func TestRunEnds(t *testing.T) {
	m := NewMonitor(t.Context(), healthOptions())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Run(ctx)
}

func TestFreeBytes(t *testing.T) {
	free, err := FreeBytes(t.TempDir())
	if !errors.Is(err, errors.ErrUnsupported) && (err != nil || free <= 0) {
		t.Errorf("%d %v", free, err)
	}
	if _, err := FreeBytes(t.TempDir() + "/none"); err == nil || !errors.Is(err, os.ErrNotExist) &&
		!errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("no folder: %v", err)
	}
}

// TestLink: a paper or live run shows its exchange and of the clocks.
func TestLink(t *testing.T) {
	link := runner.Link{Exchange: "binance", Up: true, Latency: 12500 * time.Microsecond,
		LastMessage: time.Unix(1700000000, 0), Offset: 100 * time.Millisecond}
	look := func(mode, phase string, change func(*runner.Link)) view.Health {
		o := healthOptions()
		o.Status = func() runner.Snapshot {
			return runner.Snapshot{Status: runner.StatusRunning, Mode: mode, Phase: phase}
		}
		o.Link = func() (runner.Link, bool) {
			l := link
			change(&l)
			return l, true
		}
		return NewMonitor(t.Context(), o).Health()
	}
	as := func(*runner.Link) {}
	h := look("live", "trading", as)
	x := h.Checks.Exchange
	if x.Status != view.Pass || *x.Exchange != "binance" || *x.LatencyMS != 12.5 || x.LastMessageAt == 0 ||
		h.Checks.Clock.Status != view.Pass || *h.Checks.Clock.OffsetMS != 100 || h.Status != "healthy" {
		t.Errorf("%+v %+v", x, h.Checks.Clock)
	}
	for name, c := range map[string]struct {
		mode, phase string
		change      func(*runner.Link)
		exchange    string
		clock       string
	}{
		"backtest": {"backtest", "trading", as, view.Skip, view.Skip},
		"halted":   {"live", "halted", as, view.Warn, view.Pass},
		"down":     {"paper", "trading", func(l *runner.Link) { l.Up = false }, view.Warn, view.Skip},
		"skew": {"paper", "trading", func(l *runner.Link) {
			l.Offset = -time.Second
		}, view.Pass, view.Warn},
		"synthetic": {"live", "trading", func(l *runner.Link) { l.Synthetic = true }, view.Pass, view.Skip},
	} {
		h := look(c.mode, c.phase, c.change)
		if h.Checks.Exchange.Status != c.exchange || h.Checks.Clock.Status != c.clock {
			t.Errorf("%s: %+v %+v", name, h.Checks.Exchange, h.Checks.Clock)
		}
	}
}
