// Package desk turns the intents of a strategy into orders of a venue that knows less than the
// simulator, and shows the strategy the orders, fills and positions that a backtest would show.
//
// One order of the strategy may be several at the venue, one after the other: a replace is a cancel, its
// confirmation and a new order; a trailing stop is replaced when a candle closes; the exits of a bracket are
// a pair for what has filled, renewed as more fills. The order keeps its id through all of that.
//
// The Desk decides and does nothing: it returns Effects of the order package, and Proposals,
// which the engine puts before risk and the journal and hands back to Commit or Deny.
package desk
