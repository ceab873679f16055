// Package importer turns files of candles from elsewhere into one clean Series, or
// says precisely why it will not.
//
// Read opens every file (gzip is unpacked), looks at its head and asks the profiles,
// one a format, which of them knows it. The profile answers with a Layout: which cell
// of a row is what. One engine then reads the rows of all formats, a block of lines at
// a time, straight into columns. At the end the rows are put in order, identical
// duplicates go, and what contradicts itself is refused or repaired as the Options say.
//
// Nothing is guessed that could turn a file into other numbers: a header is mapped by
// name, a file without one needs a profile or --columns, times are integers or ISO,
// and every refusal is an *Error with a code and up to five cases with their lines.
// What was skipped, dropped and repaired is counted in the Report.
//
// A format is added as one file with one Profile. Those that need a library of their
// own are handed in through Options.Profiles by the program that links them.
//
// It imports market only of this module: files in, candles out. The
// candle store keeps what comes out together with the Report.
package importer
