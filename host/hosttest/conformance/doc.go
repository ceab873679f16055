// Package conformance is the examination of a connector: sixty-five cards, each one thing that
// the host relies on, from the entry in GET /exchanges to the loss of the lease. A
// connector that is to trade real money passes all that its exchange can have.
//
// The author of a connector writes a Harness, which makes test venues, and one test:
//
//	func TestConformance(t *testing.T) { conformance.Run(t, harness) }
//
// A Venue is a test double of the exchange that can be told to misbehave. Fault names
// what is to go wrong; a venue that cannot do it answers ErrCannot, and the cards that
// need it are skipped and counted, never passed silently. The double must be independent
// of the connector: it is the one that knows what really happened.
//
// The cards see the connection as a live run does: with an account stream and a candle
// stream listened to and a beat every now and then. They run in real time, and wait for
// what takes time by letting candles close.
package conformance
