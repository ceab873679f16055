// Package risk is the last word before an order is written down: limits that the operator
// of the server sets and no request can change.
//
// A Guard checks every order, every fill and every step of one run against its Limits. In
// mode enforce a breach denies the order or changes what the run may still do (State); in
// mode shadow, which is that of paper, the verdicts are the same and nothing is blocked.
//
// Orders that may still fill count in full, those of unknown fate too; the caller hands their
// exposure in. Orders that only shrink a position are free of the limits of size: a limit that
// keeps a run in a position would be the larger risk. All comparisons are exact. Candle, day and
// hour limits use the run's clock.
package risk
