// Package evidence writes the files that the verdicts of the battery rest on, one
// function per file of falsify/<test>/.
//
// CSV follows RFC 4180 with line feeds and a header; money is written as plain decimals
// in full, other numbers with 12 significant digits and without exponent, times as
// 2024-01-01T00:00:00.000Z; an empty field is null. Equal input gives equal bytes. A File
// knows its hash and rows, which the Test that it belongs to names.
//
// It imports packages judge, null and lines beside it, host/base/digest, host/metric and the
// market nouns. It touches no disk: the caller hands the files to the artifact store.
package evidence
