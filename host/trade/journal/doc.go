// Package journal is the write-ahead journal of live and paper runs: what was decided,
// before it is done, and what became of it. After a crash it is the only memory of which
// orders may stand at a venue; /results of a run that was interrupted come from it.
//
// It is one SQLite file, journal.sqlite3 in <state_dir>/live, with one writer: a second
// Open of the same folder is refused while the first lives. Every method that writes is
// one transaction, on disk when the method returns: the write-ahead log is synced at each
// commit. A Run writes; a Journal reads.
//
// # Damage
//
// Each transaction ends with an entry of log that holds a digest of its other rows. The
// entries are chained by hash through the whole file, and journal.head beside it says how
// far the chain had come. Open reads everything and compares, so that an edited, lost or
// added row anywhere is found, also a write-ahead log of which SQLite silently dropped the
// end. A damaged journal is set aside as journal-<utc>.damaged with its side files and a
// new one is begun; Opened.Quarantined tells. Nothing but a full disk, missing rights or a
// second process keeps Open from succeeding.
//
// # Failed writes
//
// The first write of a run that fails makes the run failed for good: intents are refused
// from then on without a try, so that no order leaves that is not written down. All other
// writes are still tried, for cancels go on and their outcome is worth having.
//
// The package imports digest, sqlite, file, failpoint and the market nouns.
// The engine (package live) writes it and reads it.
package journal
