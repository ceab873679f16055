// Package testvenue is an exchange on loopback that speaks Binance's dialect over HTTP and
// WebSocket, for tests and demonstrations only: it holds no money and has no market but
// its own synthetic one.
//
// Orders match in plugin-sdk/sim on one-minute candles: an order that is taken after
// candle N is eligible from candle N+1, market orders included, so that an answer to a
// market order says NEW and the fill comes with the candle. What a venue has around that
// is its own: balances, client order ids, filters, signatures, recvWindow, weights,
// streams. It shares no code with any connector, because it is the one that knows what
// really happened.
//
// Requests are judged by this machine's clock and the offset that a script gave it. The
// market has a clock of its own, which may run faster or stand still until Step.
//
// Everything that can go wrong is a Script, taken by Venue.Do or by the second listener.
package testvenue
