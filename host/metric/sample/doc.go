// Package sample thins long curves for display: which of a million points to send
// so that a line of a thousand looks the same.
//
// The API calls it for equity curves and other series with times and values in
// hand; it answers with indexes into them, so every point shown is a real one and
// the caller can take the other columns along. It imports host/metric for the one
// definition of the worst drawdown, and plugin-sdk/market.
package sample
