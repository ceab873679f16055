// Package binance is the connector for Binance spot: go-binance for the models and the
// signing of REST, its own transport, queue and WebSocket loop, because what became of an
// order must be known more exactly than a library tells.
//
// An answer is a reject only where (HTTP status, code) is on the allow-list of outcome.go;
// everything else is Unknown. Nothing is ever sent twice. A request that found no
// connection was certainly not sent, which the transport knows from httptrace.
//
//	Trader, Account, Data -> session.call -> queue (priorities, weight) -> transport -> judge
//	StreamCandles, StreamAccount -> link (deadline, back-off, overlap)
package binance
