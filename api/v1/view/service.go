// Package view turns what the host knows into the JSON of the API: one struct per
// schema of the OpenAPI document, and functions that fill it in. A test compares
// tags and schemas. Nothing here decides anything.
//
// Numbers are written in their shortest plain form, without exponent; arrays are
// never null; times are UTC with milliseconds.
//
// What is going away is listed in api/v1/deprecations.json alone: the response headers,
// /meta, the OpenAPI document's marks and the page /docs/deprecations all come from it.
package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/trade"
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

// Overall returns the status that the checks make together.
func (c Checks) Overall() string {
	status := "healthy"
	for _, s := range []string{
		c.Runner.Status, c.Exchange.Status, c.Plugins.Status, c.Registry.Status, c.Disk.Status,
		c.Clock.Status, c.Governance.Status, c.Alarms.Status,
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

// Strategy is a strategy plugin; the catalogue's own JSON is the one of the API.
type Strategy = catalog.Strategy

// Exchange is where candles come from and orders go.
type Exchange struct {
	ID                  string                                 `json:"id"`
	Name                string                                 `json:"name"`
	Aliases             []string                               `json:"aliases"`
	Default             bool                                   `json:"default"`
	Status              string                                 `json:"status"`
	Error               *proc.Fault                            `json:"error"`
	Connector           string                                 `json:"connector"`
	Version             string                                 `json:"version"`
	Certified           bool                                   `json:"certified"`
	Sandbox             bool                                   `json:"sandbox"`
	Modes               []string                               `json:"modes"`
	TradingModes        []TradingMode                          `json:"trading_modes"`
	Symbols             []market.Symbol                        `json:"symbols"`
	Timeframes          []market.Timeframe                     `json:"timeframes"`
	DateRange           map[market.Symbol]map[string]DateRange `json:"date_range"`
	OrderTypes          []string                               `json:"order_types"`
	Fees                Fees                                   `json:"fees"`
	RequiresCredentials bool                                   `json:"requires_credentials"`
	RateLimitMS         Number                                 `json:"rate_limit_ms"`
	DeadMan             string                                 `json:"dead_man"`
	Comment             string                                 `json:"comment"`
	ConfigSchema        json.RawMessage                        `json:"config_schema"`
}

// DateRange is what is stored of one symbol and timeframe, with where its hold-out begins.
type DateRange struct {
	candle.Range
	HoldoutStart market.Time `json:"holdout_start"`
}

// TradingMode is a kind of account.
type TradingMode struct {
	TradingMode string `json:"trading_mode"`
	MarginMode  string `json:"margin_mode"`
}

// Fees are fractions of notional.
type Fees struct {
	Maker Money `json:"maker"`
	Taker Money `json:"taker"`
}

// Meta is about the service.
type Meta struct {
	Service           string            `json:"service"`
	APIVersion        string            `json:"api_version"`
	ServiceVersion    string            `json:"service_version"`
	Commit            string            `json:"commit"`
	ServerID          string            `json:"server_id"`
	StartedAt         market.Time       `json:"started_at"`
	BasePath          string            `json:"base_path"`
	Versions          []Version         `json:"versions"`
	DeprecationPolicy DeprecationPolicy `json:"deprecation_policy"`
	Deprecations      []Deprecation     `json:"deprecations"`
	Capabilities      Capabilities      `json:"capabilities"`
	Limits            Limits            `json:"limits"`
	Links             Links             `json:"links"`
}

// Version is a served version of the API.
type Version struct {
	Version      string      `json:"version"`
	Status       string      `json:"status"`
	BasePath     string      `json:"base_path"`
	DeprecatedAt market.Time `json:"deprecated_at"`
	SunsetAt     market.Time `json:"sunset_at"`
}

// DeprecationPolicy is how things go away.
type DeprecationPolicy struct {
	MinimumNoticeDays int      `json:"minimum_notice_days"`
	Headers           []string `json:"headers"`
	Documentation     string   `json:"documentation"`
}

// Capabilities are what a client may use.
type Capabilities struct {
	WebSocket      bool     `json:"websocket"`
	WSSubprotocols []string `json:"ws_subprotocols"`
	Prefer         []string `json:"prefer"`
	IdempotencyKey bool     `json:"idempotency_key"`
}

// Limits bound requests.
type Limits struct {
	BodyBytes      int   `json:"body_bytes"`
	UploadBytes    int64 `json:"upload_bytes"`
	JSONDepth      int   `json:"json_depth"`
	WSClients      int   `json:"ws_clients"`
	ConcurrentRuns int   `json:"concurrent_runs"`
}

// Links are other addresses of the service.
type Links struct {
	Docs    string `json:"docs"`
	OpenAPI string `json:"openapi"`
	UI      string `json:"ui"`
	Metrics string `json:"metrics"`
}

// NewExchange shows an entry of the exchanges. heldOut is where the hold-out of its candles begins, 0 for
// none.
func NewExchange(e trade.Entry, version string,
	heldOut func(market.Symbol, string) market.Time) Exchange {
	x := Exchange{
		ID: e.ID, Name: e.Name, Aliases: append([]string{}, e.Aliases...), Default: e.Default,
		Status: "available", Error: e.Fault,
		Connector: e.Kind, Version: e.Version, Certified: e.Certified, Sandbox: e.Sandbox,
		Modes:        append([]string{}, e.Modes...),
		TradingModes: []TradingMode{{"spot", "none"}}, Symbols: e.Symbols,
		Timeframes:          append([]market.Timeframe{}, e.Timeframes...),
		DateRange:           map[market.Symbol]map[string]DateRange{},
		OrderTypes:          append([]string{}, e.OrderTypes...),
		Fees:                Fees{Maker: Money(e.MakerFee), Taker: Money(e.TakerFee)},
		RequiresCredentials: e.RequiresCredentials, RateLimitMS: Number(e.RateLimitMS), DeadMan: e.DeadMan,
		Comment: e.Comment, ConfigSchema: e.ConfigSchema,
	}
	if e.Fault != nil {
		x.Status = "unavailable"
	}
	if e.Kind == "store" {
		x.Version = version
		x.OrderTypes = []string{"market", "limit", "stop", "stop_limit", "trailing_stop"}
	}
	for symbol, stored := range e.DateRange {
		x.DateRange[symbol] = map[string]DateRange{}
		for timeframe, r := range stored {
			x.DateRange[symbol][timeframe] = DateRange{r, heldOut(symbol, timeframe)}
		}
	}
	if x.ConfigSchema == nil {
		x.ConfigSchema = json.RawMessage("{}")
	}
	return x
}

// MinimumNotice is the shortest time between announcement and sunset.
const MinimumNotice = 90 * 24 * time.Hour

// Deprecation is one deprecated endpoint, field or enum value.
type Deprecation struct {
	ID            string      `json:"id"`
	Kind          string      `json:"kind"`
	Method        string      `json:"method"`
	Path          string      `json:"path"`
	Field         *string     `json:"field"`
	AnnouncedAt   market.Time `json:"announced_at"`
	DeprecatedAt  market.Time `json:"deprecated_at"`
	SunsetAt      market.Time `json:"sunset_at"`
	NoticeDays    int         `json:"notice_days"`
	Replacement   *Successor  `json:"replacement"`
	Message       string      `json:"message"`
	Documentation string      `json:"documentation"`
}

// Successor is what to use instead.
type Successor struct {
	Method string `json:"method"`
	Path   string `json:"path"`
}

// Deprecations is every deprecation, in the order of the file.
type Deprecations []Deprecation

// ParseDeprecations reads the file. Notice days and documentation are computed, not written.
func ParseDeprecations(data []byte) (Deprecations, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	entries := Deprecations{}
	if err := dec.Decode(&entries); err != nil {
		return nil, fmt.Errorf("deprecations: %w", err)
	}
	seen := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("deprecations: entry %d (%s): %w", i, e.ID, err)
		}
		if seen[e.ID] {
			return nil, fmt.Errorf("deprecations: id %s is used twice", e.ID)
		}
		seen[e.ID] = true
		e.NoticeDays = int(e.SunsetAt.Time().Sub(e.AnnouncedAt.Time()) / (24 * time.Hour))
		e.Documentation = "/docs/deprecations#" + e.ID
	}
	return entries, nil
}

func (e *Deprecation) check() error {
	switch {
	case e.ID == "":
		return fmt.Errorf("id is missing")
	case e.Kind != "endpoint" && e.Kind != "field" && e.Kind != "enum_value":
		return fmt.Errorf("kind %q is not endpoint, field or enum_value", e.Kind)
	case e.Method == "" || e.Path == "":
		return fmt.Errorf("method and path are required")
	case (e.Field == nil) != (e.Kind == "endpoint"):
		return fmt.Errorf("field belongs to the kinds field and enum_value, and only to them")
	case e.AnnouncedAt == 0 || e.DeprecatedAt == 0 || e.SunsetAt == 0:
		return fmt.Errorf("announced_at, deprecated_at and sunset_at are required")
	case e.SunsetAt.Time().Sub(e.AnnouncedAt.Time()) < MinimumNotice:
		return fmt.Errorf("sunset_at must be at least 90 days after announced_at")
	case e.SunsetAt < e.DeprecatedAt:
		return fmt.Errorf("sunset_at must not be before deprecated_at")
	}
	return nil
}

// Endpoint returns the entry of a deprecated operation, or nil.
func (d Deprecations) Endpoint(method, path string) *Deprecation {
	for i := range d {
		if e := &d[i]; e.Kind == "endpoint" && e.Method == method && e.Path == path {
			return e
		}
	}
	return nil
}

// SetHeaders announces the deprecation on a response.
func (e *Deprecation) SetHeaders(h http.Header) {
	h.Set("Deprecation", "@"+strconv.FormatInt(e.DeprecatedAt.Time().Unix(), 10))
	h.Set("Sunset", e.SunsetAt.Time().Format(http.TimeFormat))
	link := fmt.Sprintf(`<%s>; rel="deprecation"`, e.Documentation)
	if e.Replacement != nil {
		link += fmt.Sprintf(`, <%s>; rel="successor-version"`, e.Replacement.Path)
	}
	h.Set("Link", link)
}

// Gone reports whether the sunset has passed.
func (e *Deprecation) Gone(now time.Time) bool { return !now.Before(e.SunsetAt.Time()) }
