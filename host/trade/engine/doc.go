// Package engine trades one live run on a connector: it takes candles and what happens to
// the account, asks the strategy, and sends orders.
//
// One goroutine, the one in Run, owns all books: the Desk with its Book and Ledger, the
// Guard, and what goes into the journal. Whatever takes time happens elsewhere (calls of
// the venue, the answer of the strategy, the two streams) and comes back as an event, so
// that no fill waits for a slow strategy and no cancel for a slow venue.
//
// The order of things is what makes it safe:
//
//   - an order is handed to the connector only after its intent is committed, and only
//     through the pass, which a stop closes;
//   - what is known of an order is committed before anything follows from it;
//   - the account stream is confirmed before any snapshot is read, and after it was
//     interrupted no order leaves before the snapshots were read again.
//
// Who runs it (package live) knows the plugin and shows the results; it is reached through
// Host. Everything that others read is changed with Config.Gate held.
package engine
