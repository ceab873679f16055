// Package sqlite opens the project's SQLite files the one way that lets several
// processes share them: write-ahead log, five seconds of patience with a busy
// neighbour, foreign keys on, every write transaction immediate.
//
// A DB has one writing connection and a few reading ones. Tx runs a function in a
// write transaction; deferred ones are not offered, for they fail with SQLITE_BUSY
// despite the patience. Read gives the reading pool, which refuses to write.
//
// Schemas are files of SQL named 0001_what.sql, 0002_what.sql and so on. They are
// applied in order, each in its transaction, and counted in user_version. A file
// that counts more than the program knows belongs to a newer one and is refused.
//
// It is a leaf: it imports nothing of this module. Catalogue, registry, journal and
// ledger keep their tables through it.
package sqlite
