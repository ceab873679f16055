// Package feed turns what a venue sends into what a strategy may rely on: closed candles,
// each exactly once, in order, put together into steps like those of a backtest.
//
// The stream of a connector may skip, repeat, correct, delay and fall silent; its history
// (REST) is the truth that settles every doubt. Each symbol knows the open time that it
// wants next. A candle that opens there is taken; an older one is dropped, with the alarm
// CANDLE_CORRECTED when it differs from the one that was taken; before a newer one the
// hole is filled from history. What history lacks after three answers a second apart
// stays missing, with the alarm CANDLE_MISSING, and is never made up. A step waits five
// seconds for all symbols and then asks history for the absent ones; ten seconds after a
// close of which nothing was heard history is asked for all.
//
// The feed is driven by one goroutine and holds the connector up while a step is being
// answered. All its moments are times of the venue's clock. It imports the contract of
// connectors, the market nouns and the simulator's Batch.
package feed
