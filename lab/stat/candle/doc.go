// Package candle holds statistics on candles: the permutation that destroys every
// pattern of a price series and keeps its moves, and how far the start of a recursive
// indicator reaches. It imports the market nouns and package stat.
package candle
