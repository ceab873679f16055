package exchange

import (
	"encoding/json"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/govalues/decimal"
)

// Market is the rules of one symbol. A zero bound is no bound.
type Market struct {
	Symbol market.Symbol `json:"symbol"`
	// Trading is false while the venue has halted the symbol; Status is the venue's own word.
	Trading            bool            `json:"trading"`
	Status             string          `json:"status"`
	PriceTick          decimal.Decimal `json:"price_tick"`    // quote currency
	QuantityStep       decimal.Decimal `json:"quantity_step"` // units of the base
	MinQuantity        decimal.Decimal `json:"min_quantity"`
	MaxQuantity        decimal.Decimal `json:"max_quantity"`
	MarketMinQuantity  decimal.Decimal `json:"market_min_quantity"`
	MarketMaxQuantity  decimal.Decimal `json:"market_max_quantity"`
	MarketQuantityStep decimal.Decimal `json:"market_quantity_step"`
	MinNotional        decimal.Decimal `json:"min_notional"` // quote currency
	MaxNotional        decimal.Decimal `json:"max_notional"`
	PercentPriceUp     decimal.Decimal `json:"percent_price_up"`   // limit <= reference x this
	PercentPriceDown   decimal.Decimal `json:"percent_price_down"` // limit >= reference x this
	MakerFee           decimal.Decimal `json:"maker_fee"`          // fraction of notional
	TakerFee           decimal.Decimal `json:"taker_fee"`
	// OrderTypes are those of Description.OrderTypes that the symbol takes; empty: all of them.
	OrderTypes []string `json:"order_types,omitempty"`
	// MaxStops is how many orders with a stop price may be open, MaxPosition how much of the base may be
	// held; 0: no bound.
	MaxStops    int             `json:"max_stops,omitempty"`
	MaxPosition decimal.Decimal `json:"max_position,omitzero"`
}

// Description is one entry of GET /exchanges as a connector gives it.
type Description struct {
	ID, Name string
	Aliases  []string
	Version  string
	// Kind is store, sim, native or bridge.
	Kind                string
	Sandbox             bool
	Modes               []string        // paper, live
	Symbols             []market.Symbol // nil: the venue decides at start
	Timeframes          []market.Timeframe
	OrderTypes          []string
	MakerFee, TakerFee  decimal.Decimal
	RequiresCredentials bool
	RateLimitMS         int
	// DeadMan is lease, native or none.
	DeadMan string
	Comment string
	// ConfigSchema is JSON Schema 2020-12 of exchange_config, closed.
	ConfigSchema json.RawMessage
}
