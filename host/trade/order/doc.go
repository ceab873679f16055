// Package order is the life of an order between a strategy and a venue. It decides and
// computes; it does no I/O, reads no clock and starts no goroutine. The engine (package
// live) tells it what happened and when, and does what it asks.
//
//   - Book knows every order that a run sent, by client order id. What happened to an order
//     arrives as an Event, in any order and any number of times; what to do about it leaves
//     as Effects. The state machine is one table (state.go).
//   - Ledger turns fills into position, cash, fees and trades, exactly.
//   - Desk turns the intents of a strategy into orders of a venue that knows less than the
//     simulator, and shows the strategy what a backtest would have shown it.
//
// An order whose fate is unknown is asked for. It is never sent again, never replaced under a
// new id and never taken for rejected because time passed (search.go). What is known of
// an order only grows: the largest cumulative quantity, the set of trades, the verdict. So
// older and repeated evidence changes nothing and the last writer never wins.
//
// Sums are kept as exact fractions; decimals leave the package rounded half-even to 19 digits,
// which changes nothing in any sum that fits.
package order
