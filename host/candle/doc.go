// Package candle is the candle store: immutable, content-addressed column files and a
// catalogue that says which of them is which.
//
// Import reads files from elsewhere (package importer), Put stores candles that are
// at hand, and the sample that comes with the program is installed by the first Open.
// Each becomes a file <state_dir>/data/candles/<sha256>.candles (package candlefile)
// and a row in <state_dir>/data/catalog.sqlite3, with the gaps, the calendar and the
// price step found in it. A later import of the same series becomes the current
// dataset; the earlier one stays, for runs that pinned its hash.
//
// Lookup answers a request for exchange, symbol and timeframe; a timeframe that is
// not stored is resampled from the largest stored one that divides it, and kept.
// OpenSeries maps the file and checks it, every time. Several processes may share
// one store: files appear complete or not at all, and the catalogue is read anew for
// each request.
//
// A run of a plugin gets a Folder with a file of exactly the rows that it may see. The
// files are kept below <state_dir>/data/windows for the next run that may see the same.
//
// It imports digest, sqlite, file, importer and sample beside the SDK. Runs get their
// candles from here; nothing here knows of runs.
package candle
