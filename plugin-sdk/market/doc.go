// Package market holds the nouns of trading that every other package shares:
// Symbol, Timeframe, Candle, Side, Intent, Order, Fill, Trade and Position.
//
// It is pure data. It knows no clock, file, socket or venue and imports nothing
// of this module. Prices of candles and what a strategy asks for are float64;
// everything that is money or quantity in the books is decimal.Decimal.
package market
