// Package wire is the link between host and strategy: the handshake, the go-plugin
// glue and the conversions between the generated messages of strategypb and the
// nouns of market and sdk. Both sides use it, so a field is converted in one place
// only: XToProto beside XFromProto.
//
// What comes from the other process is not trusted. Every FromProto checks what it
// reads and answers with a *ProtocolError that names the field: a number that is
// NaN, infinite or not plain, an index outside the run's symbols, an unknown enum
// value, a text that is too long, a step out of order. What does not fit a message
// on the way out (an unknown symbol, NaN) is sent in a form that the other side
// refuses, so that the judgement is always the receiver's.
//
// Numbers of intents, orders and fills travel as plain decimal strings, candles and
// account values as float64; both arrive with the same bits.
//
// The package imports sdk, market and strategypb.
package wire
