// Package sim is the venue "sim": a market and an account inside the host, without
// credentials and without a network. Runs cannot tell it from a connector.
//
// The market is synthetic, or it replays the candles of a stored exchange. Its clock runs
// at candles_per_second and waits: a candle closes only after whoever listens has answered
// the step before. A live run's orders match in plugin-sdk/sim, the simulator of backtests
// and paper runs, so that the same candles and orders give the same fills.
//
// # The synthetic market
//
// Candle 0 opens 5000 candles before the one in which start lies, on the grid of the
// timeframe. All prices are whole ticks of 0.01. A symbol's candles are drawn from one PCG
// whose two words are the first sixteen bytes, big-endian, of
//
//	sha256("assay/rng/v1" 0 seed 0 "sim/candle" 0 symbol 0 timeframe)
//
// in this order, candle by candle from 0:
//
//	p = the last close (at first 10000 ticks, for BTC 3000000, for ETH 200000)
//	Uint64N(16) == 0:  p moves once
//	open = p
//	p moves four times; high and low are the extremes of the five prices, close the last
//	volume = 1 + Uint64N(1000) hundredths
//
// where a move is m = max(1, p/500), p = max(100, p - m + Uint64N(2m+1)). Candle n needs
// all candles before it; the state of every 512th is kept, so that history is cheap.
//
// # The account
//
// Orders follow bar-v1 with its default options: an order that is sent after candle N
// closed is eligible from candle N+1, fills whole, and is known to have filled when that
// candle closes. What a venue has and the simulator lacks is added here: client order ids
// are never accepted twice, an open order ties up what it may spend (the simulator checks
// cash at the fill only), two exits can stand as a pair, and a fill is stamped with the
// close of its candle, not its open, because no fill may be older than its order. An order
// that the simulator refuses at its fill, for lack of cash after a gap, has expired here.
package sim
