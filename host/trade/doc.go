// Package live is one paper or live run: candles from a connector, a strategy driven in
// lockstep, orders to a venue, and a journal in between.
//
//	connector -> feed -> step -> strategy -> Intent -> risk -> journal -> venue -> Fill -> ledger
//
// Paper fills orders in the simulator that backtests use, so that the same candles give
// the same trades. Live sends them: no committed intent, no order; an order whose fate is
// unknown is asked for and never sent again.
//
// A Launcher makes an Execution, which the runner drives like any other. The packages
// below hold what can be judged by itself: journal (what was done, on disk before it is
// done), order (the life of an order, pure), risk (what may be done, pure), feed
// (closed candles, exactly once).
package live
