// Package candlefile reads and writes the column file in which candles rest: one
// symbol and timeframe, immutable, the same bytes for the same candles.
//
// A file is a header of 64 bytes and six whole columns, all little-endian:
//
//	 0  "ASSAYCDL"
//	 8  uint32 version 1
//	12  uint32 header size 64
//	16  uint64 rows, at least 1
//	24  int64 first and 32 int64 last open time, Unix milliseconds
//	40  timeframe in ASCII, padded with zeros to 8
//	48  uint32 CRC-32C of the bytes from 64 to the end
//	52  uint32 flags 0
//	56  uint32 reserved 0
//	60  uint32 CRC-32C of the bytes 0 to 59
//	64  open time int64, then open, high, low, close, volume float64
//
// Times strictly ascend, prices are finite and above zero, volumes are finite, not
// negative and never -0. Every Open checks all of it, so that a changed byte is
// found before a strategy sees it; what is wrong comes back as a *CorruptError.
//
// The host writes these files into its candle store and hands their paths to the
// plugin processes; both sides map them read-only and look at the columns in
// place. The symbol is not part of the file: who asks for the Series knows it.
//
// The package imports market and nothing else of this module.
package candlefile
