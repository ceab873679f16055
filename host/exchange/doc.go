// Package exchange is what the host knows of a venue: the nouns of an account there and
// the interfaces that a connector implements.
//
// A connector is a process of its own that speaks them over gRPC (package wire); the
// venue "sim" implements them inside the host (package sim). Whoever drives a connector
// (package live) cannot tell the two apart. The rules that keep orders safe are part of
// the contract and are proved for every connector by package conformance:
//
//   - a connector never sends a submit a second time by itself;
//   - an answer is a reject only when the venue said so with a code that is known to mean
//     it; whatever is not understood is Unknown;
//   - no terminal status is ever concluded from a list that lacks an order;
//   - an error and a message carry no credential.
//
// Prices, quantities and amounts are decimals, candles float64, times Unix milliseconds
// UTC. The package imports the market nouns only.
package exchange
