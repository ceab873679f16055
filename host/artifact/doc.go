// Package artifact writes what a run has produced to <state_dir>/runs/<run_id>/ and
// proves later that nothing there has changed.
//
// A Run comes in: its Manifest (the question, with the exact inputs), and for every
// split the results. Out comes a folder:
//
//	request.json                   the question as canonical JSON; its SHA-256 is the request hash
//	splits.json                    which candles each split covers
//	splits/<id>/trades.csv         closed trades
//	splits/<id>/equity_curve.csv   one row per step close
//	splits/<id>/decisions.jsonl    one line per intent, rejection, order change and fill
//	log.jsonl                      what the strategy said, if anything; in no hash but that of the file
//	report.json                    metrics and hashes
//	capsules/<id>.json             failures; in no hash, and they outlive the attempt that failed
//	metadata.json                  the row of the registry: clocks, host facts, and the hash of every other file
//
// Everything but metadata.json, log.jsonl and capsules depends on the request alone (and on the run id), so
// the same request gives the same bytes. A service run has one split, full; the
// lab's runs have several.
//
// The folder is made beside its place, synced and renamed: it is there as a whole or
// not at all. Verify hashes it again, and Store.Sweep finds what a crash left behind.
//
// The package may import digest, metric, result and the market nouns. It knows no
// database: package registry keeps the rows.
package artifact
