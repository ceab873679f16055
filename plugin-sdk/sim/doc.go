// Package sim is the deterministic venue with the semantics "bar-v1": it matches
// resting orders against candles, keeps an exact decimal ledger and runs the loop
// that a backtest, a paper run, the test venue and an author's own test share.
//
// It does no I/O, reads no clock, starts no goroutine and ranges over no map, so
// that the same candles and intents give the same bytes everywhere. Every product
// that is added to something is written float64(a*b) + c, because Go may fuse it
// otherwise and amd64 and arm64 would differ.
//
// An Engine is driven step by step: Match runs the candles that closed at one
// moment against the resting orders, then Accept turns the strategy's intents into
// orders. Run is that loop over a Feed and a Decider.
//
// The package imports market only. Comments cite the rules of
// docs/execution-semantics.md by number (R5); the scenarios of package simtest show each
// of them, and ID hashes what they lead to.
package sim
