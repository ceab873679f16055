// Package indicator holds streaming indicators for strategies: one Add per candle,
// constant work per Add (amortised), no allocation after the constructor.
//
// Values go in as float64 (a close, usually) or as market.Candle where an indicator
// needs the whole candle; they come out of Value, and of a named method each where an
// indicator has several lines. The package imports market alone, and keeps no clock,
// file or global: the same values in the same order give the same bits on every CPU.
//
// What holds for all of them:
//
//   - New... returns a value to be kept in a struct field. Methods have pointer
//     receivers. Do not copy an indicator once it was fed: the copy shares its window.
//   - Until Ready, Value is 0 and no crossing is reported.
//   - CrossedAbove and CrossedBelow compare the newest two values of two lines. Feed
//     both lines with the same candle before asking. Track makes a line of any number,
//     so that a price can cross an average.
//   - A period outside 1 to MaxPeriod, or another impossible argument, is a mistake in
//     the program and panics with a message that says what is allowed. Check what a
//     user may choose before, in the strategy's parameters.
//   - Values must be finite and within 1e140 in size; those of candles are. Anything
//     else makes Value NaN, which is on no side of any level: until it has left the
//     window where there is one, for good where an indicator remembers all its past
//     (EMA, MACD, RSI, ATR), until Reset or the next session in SessionVWAP.
//
// Sums over a window are kept in double-double, so an indicator that has seen a
// million candles agrees with one that has seen only the last window.
package indicator
