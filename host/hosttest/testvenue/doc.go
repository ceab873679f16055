// Package testvenue is an exchange on loopback that speaks Binance's dialect over HTTP and
// WebSocket, for tests and demonstrations only: it holds no money and has no market but
// its own synthetic one.
//
// The market of a symbol is a tape of minutes drawn from the seed, which moves every two
// seconds. Around its price stands a book of twenty levels a side, drawn anew with each
// move from the same seed. What can trade trades at once, level by level, and the answer
// tells the fills, while the reports of the stream race with it. What rests is met by the
// market on its way: one that the price goes through is filled whole, one that it only
// touches by what a move trades there. The account's own trades leave no mark on the
// tape; a level that was taken from is full again after the next move.
//
// What a venue has around that is its own: balances, client order ids, filters,
// signatures, recvWindow, weights, counts of orders, streams. It shares no code with any
// connector, because it is the one that knows what really happened.
//
// Requests are judged by this machine's clock and the offset that a script gave it. The
// market has a clock of its own, which may run faster or stand still until Step.
//
// Everything that can go wrong is a Script, taken by Venue.Do or by the second listener.
package testvenue
