// Package importer turns files of candles from elsewhere into one clean Series, or
// says precisely why it will not.
//
// Read opens every file and tells by its first bytes what it is: text, JSON, packed
// with gzip, an archive of such files, or a table of columns whose reader the calling
// program has handed in (Format). Package profile looks at the head and answers with a
// Layout: which cell of a row is what, and how it is written. One engine then reads the
// rows of all formats straight into columns, text a block of lines at a time (package
// cell knows numbers and times), columns a batch at a time. At the end the rows are put
// in order, identical duplicates go, and what contradicts itself is refused or repaired
// as the Options say.
//
// Nothing is guessed that could turn a file into other numbers: a header is mapped by
// name, a file without one needs a profile that knows it by a mark or --columns, times
// are integers, ISO or as the format has them, and every refusal (package refusal) is a
// code with up to five cases and their lines. What was skipped, dropped and repaired is
// counted in the Report. Memory is bounded: files are never held as a whole, and what
// they unpack to is counted while it is read.
//
// It imports market and its own subpackages only of this module: files in, candles
// out. The candle store keeps what comes out together with the Report.
package importer
