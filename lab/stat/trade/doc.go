// Package trade holds statistics on closed trades, fills and the equity they make:
// drawdowns over all orders of the trades, ruin, the drawdowns of a curve, the costs that
// a strategy can bear and the size it can be traded at. Money is in the quote currency,
// drawdowns are positive. It imports package stat.
package trade
