// Package table writes the CSV files of a run: trades.csv and equity_curve.csv.
//
// RFC 4180 with line feeds and a header. Money is written as plain decimals in full,
// other numbers with 12 significant digits, times as 2024-01-01T00:00:00.000Z; an
// empty field is null. Equal input gives equal bytes. Curves have millions of rows,
// so everything is appended to one buffer and nothing is allocated per row.
//
// The package imports result and the market nouns; package artifact calls it.
package artifact
