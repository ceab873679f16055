package exchange

import (
	"encoding/json"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/govalues/decimal"
)

// Market is the rules of one symbol. A zero bound is no bound.
type Market struct {
	Symbol market.Symbol
	// Trading is false while the venue has halted the symbol; Status is the venue's own word.
	Trading            bool
	Status             string
	PriceTick          decimal.Decimal // quote currency
	QuantityStep       decimal.Decimal // units of the base
	MinQuantity        decimal.Decimal
	MaxQuantity        decimal.Decimal
	MarketMinQuantity  decimal.Decimal
	MarketMaxQuantity  decimal.Decimal
	MarketQuantityStep decimal.Decimal
	MinNotional        decimal.Decimal // quote currency
	MaxNotional        decimal.Decimal
	PercentPriceUp     decimal.Decimal // limit <= reference x this
	PercentPriceDown   decimal.Decimal // limit >= reference x this
	MakerFee, TakerFee decimal.Decimal // fractions of notional
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
