package view

import (
	"encoding/json"

	"github.com/assay-run/assay/api/v1/deprecation"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/proc"
	live "github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Strategy is a strategy plugin; the catalogue's own JSON is the one of the API.
type Strategy = catalog.Strategy

// Exchange is where candles come from and orders go.
type Exchange struct {
	ID                  string                                    `json:"id"`
	Name                string                                    `json:"name"`
	Aliases             []string                                  `json:"aliases"`
	Default             bool                                      `json:"default"`
	Status              string                                    `json:"status"`
	Error               *proc.Fault                               `json:"error"`
	Connector           string                                    `json:"connector"`
	Version             string                                    `json:"version"`
	Certified           bool                                      `json:"certified"`
	Sandbox             bool                                      `json:"sandbox"`
	Modes               []string                                  `json:"modes"`
	TradingModes        []TradingMode                             `json:"trading_modes"`
	Symbols             []market.Symbol                           `json:"symbols"`
	Timeframes          []market.Timeframe                        `json:"timeframes"`
	DateRange           map[market.Symbol]map[string]candle.Range `json:"date_range"`
	OrderTypes          []string                                  `json:"order_types"`
	Fees                Fees                                      `json:"fees"`
	RequiresCredentials bool                                      `json:"requires_credentials"`
	RateLimitMS         Number                                    `json:"rate_limit_ms"`
	DeadMan             string                                    `json:"dead_man"`
	Comment             string                                    `json:"comment"`
	ConfigSchema        json.RawMessage                           `json:"config_schema"`
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
	Service           string              `json:"service"`
	APIVersion        string              `json:"api_version"`
	ServiceVersion    string              `json:"service_version"`
	Commit            string              `json:"commit"`
	ServerID          string              `json:"server_id"`
	StartedAt         market.Time         `json:"started_at"`
	BasePath          string              `json:"base_path"`
	Versions          []Version           `json:"versions"`
	DeprecationPolicy DeprecationPolicy   `json:"deprecation_policy"`
	Deprecations      []deprecation.Entry `json:"deprecations"`
	Capabilities      Capabilities        `json:"capabilities"`
	Limits            Limits              `json:"limits"`
	Links             Links               `json:"links"`
}

// Version is a served version of the API.
type Version struct {
	Version      string      `json:"version"`
	Status       string      `json:"status"`
	BasePath     string      `json:"base_path"`
	DeprecatedAt market.Time `json:"deprecated_at"`
	SunsetAt     market.Time `json:"sunset_at"`
}

// DeprecationPolicy says how things go away.
type DeprecationPolicy struct {
	MinimumNoticeDays int      `json:"minimum_notice_days"`
	Headers           []string `json:"headers"`
	Documentation     string   `json:"documentation"`
}

// Capabilities say what a client may use.
type Capabilities struct {
	WebSocket      bool     `json:"websocket"`
	WSSubprotocols []string `json:"ws_subprotocols"`
	Prefer         []string `json:"prefer"`
	IdempotencyKey bool     `json:"idempotency_key"`
}

// Limits bound requests.
type Limits struct {
	BodyBytes      int `json:"body_bytes"`
	JSONDepth      int `json:"json_depth"`
	WSClients      int `json:"ws_clients"`
	ConcurrentRuns int `json:"concurrent_runs"`
}

// Links are other addresses of the service.
type Links struct {
	Docs    string `json:"docs"`
	OpenAPI string `json:"openapi"`
	UI      string `json:"ui"`
	Metrics string `json:"metrics"`
}

// NewExchange shows an entry of the exchanges.
func NewExchange(e live.Entry, version string) Exchange {
	x := Exchange{
		ID: e.ID, Name: e.Name, Aliases: append([]string{}, e.Aliases...), Default: e.Default, Status: "available", Error: e.Fault,
		Connector: e.Kind, Version: e.Version, Certified: e.Certified, Sandbox: e.Sandbox, Modes: append([]string{}, e.Modes...),
		TradingModes: []TradingMode{{"spot", "none"}}, Symbols: e.Symbols, Timeframes: append([]market.Timeframe{}, e.Timeframes...),
		DateRange: e.DateRange, OrderTypes: append([]string{}, e.OrderTypes...), Fees: Fees{Maker: Money(e.MakerFee), Taker: Money(e.TakerFee)},
		RequiresCredentials: e.RequiresCredentials, RateLimitMS: Number(e.RateLimitMS), DeadMan: e.DeadMan, Comment: e.Comment, ConfigSchema: e.ConfigSchema,
	}
	if e.Fault != nil {
		x.Status = "unavailable"
	}
	if e.Kind == "store" {
		x.Version = version
		x.OrderTypes = []string{"market", "limit", "stop", "stop_limit", "trailing_stop"}
	}
	if x.DateRange == nil {
		x.DateRange = map[market.Symbol]map[string]candle.Range{}
	}
	if x.ConfigSchema == nil {
		x.ConfigSchema = json.RawMessage("{}")
	}
	return x
}
