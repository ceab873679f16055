package view

import (
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The outcomes of a check.
const (
	Pass = "pass"
	Warn = "warn"
	Fail = "fail"
	Skip = "skip"
)

// Health is the health of the service.
type Health struct {
	Status     string        `json:"status"`
	APIVersion string        `json:"api_version"`
	Timestamp  market.Time   `json:"timestamp"`
	Checks     Checks        `json:"checks"`
	Metrics    HealthMetrics `json:"metrics"`
}

// Checks are the single checks.
type Checks struct {
	Runner     Check         `json:"runner"`
	Exchange   ExchangeCheck `json:"exchange_connectivity"`
	Plugins    PluginsCheck  `json:"plugins"`
	Registry   RegistryCheck `json:"registry"`
	Disk       DiskCheck     `json:"disk"`
	Clock      ClockCheck    `json:"clock"`
	Governance Check         `json:"governance"`
	Sandbox    SandboxCheck  `json:"sandbox"`
	Alarms     Check         `json:"alarms"`
}

// Check is the outcome of one check.
type Check struct {
	Status    string      `json:"status"`
	Message   string      `json:"message"`
	CheckedAt market.Time `json:"checked_at"`
}

// ExchangeCheck is about the venue of a paper or live run.
type ExchangeCheck struct {
	Check
	Exchange      *string     `json:"exchange"`
	LatencyMS     *Number     `json:"latency_ms"`
	LastMessageAt market.Time `json:"last_message_at"`
}

// PluginsCheck is about the strategy plugins.
type PluginsCheck struct {
	Check
	Available   int `json:"available"`
	Unavailable int `json:"unavailable"`
}

// SandboxCheck is about what closes strategies in. What the machine lacks is no fault: the
// operator chose --sandbox.
type SandboxCheck struct {
	Check
	sandbox.Walls
}

// RegistryCheck is about the registry of runs.
type RegistryCheck struct {
	Check
	SchemaVersion int `json:"schema_version"`
}

// DiskCheck is about the space left for the state directory.
type DiskCheck struct {
	Check
	FreeBytes int64 `json:"free_bytes"`
}

// ClockCheck is about the offset from the venue's clock.
type ClockCheck struct {
	Check
	OffsetMS *Number `json:"offset_ms"`
}

// HealthMetrics are counters since the start.
type HealthMetrics struct {
	UptimeSeconds     Number `json:"uptime_seconds"`
	RunsTotal         int64  `json:"runs_total"`
	RunsFailed        int64  `json:"runs_failed"`
	LastRunSeconds    Number `json:"last_run_seconds"`
	CandlesPerSecond  Number `json:"candles_per_second"`
	Goroutines        int    `json:"goroutines"`
	HeapBytes         int64  `json:"heap_bytes"`
	WSClients         int    `json:"ws_clients"`
	WSDroppedTotal    int64  `json:"ws_dropped_total"`
	HTTPRequestsTotal int64  `json:"http_requests_total"`
}

// Overall is the status that the checks make together.
func (c Checks) Overall() string {
	status := "healthy"
	for _, s := range []string{
		c.Runner.Status, c.Exchange.Status, c.Plugins.Status, c.Registry.Status, c.Disk.Status, c.Clock.Status, c.Governance.Status,
		c.Alarms.Status,
	} {
		if s == Fail {
			return "unhealthy"
		}
		if s == Warn {
			status = "degraded"
		}
	}
	return status
}
