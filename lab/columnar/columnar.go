// Package columnar reads Feather and Parquet files for the importer of candles, by the
// Arrow library. Only lab links it, and through it that library: the service and the
// strategies do without.
//
// Both kinds of files become batches of columns (package host/candle/importer), some
// tens of thousands of rows at a time, so that memory does not grow with the file. The
// Arrow library trusts files further than we do: what it panics about is a damaged
// file, and what it allocates comes out of a budget.
package columnar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/assay-run/assay/host/candle/importer"
)

// batchRows is how many rows are handed on at a time.
const batchRows = 64 << 10

// Formats are the kinds of files that this package reads.
func Formats() []importer.Format {
	return []importer.Format{
		{Name: "Feather", Magic: "ARROW1", Open: openFeather},
		{Name: "Parquet", Magic: "PAR1", Open: openParquet},
	}
}

// maxMemory is how much the library may hold at a time: a batch of rows of a Feather
// file, some pages of a Parquet file.
const maxMemory = 1 << 30

// budget is an allocator that ends.
type budget struct {
	memory.Allocator
	live, most int
	exceeded   bool
}

func newBudget(most int) *budget {
	return &budget{Allocator: memory.NewGoAllocator(), most: most}
}

var errExceeded = errors.New("more memory than there may be")

func (b *budget) take(n int) {
	if n < 0 || n > b.most-b.live {
		b.exceeded = true
		panic(errExceeded)
	}
	b.live += n
}

// Allocate panics when the budget is exhausted: the library knows no other way out.
func (b *budget) Allocate(size int) []byte {
	b.take(size)
	return b.Allocator.Allocate(size)
}

// Reallocate is Allocate for what is there already.
func (b *budget) Reallocate(size int, old []byte) []byte {
	if size < 0 {
		b.take(size)
	}
	b.take(max(size, cap(old)) - cap(old))
	return b.Allocator.Reallocate(size, old)
}

// Free gives back.
func (b *budget) Free(old []byte) {
	b.live -= cap(old)
	b.Allocator.Free(old)
}

// errEnd is the end of a file. The library's io.EOF is none: it may come from anywhere.
var errEnd = errors.New("no more rows")

// ended turns the end into what callers know.
func ended(err error) error {
	if errors.Is(err, errEnd) {
		return io.EOF
	}
	return err
}

// guard calls the library about a file. Its errors and panics become refusals: what
// it cannot read is damaged, or larger than it may be.
func guard(name, kind string, b *budget, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		err = b.verdict(name, kind, err)
	}()
	return call()
}

func (b *budget) verdict(name, kind string, err error) error {
	var refused *importer.Error
	var path *fs.PathError
	switch {
	case err == nil, errors.Is(err, errEnd), errors.As(err, &refused), errors.As(err, &path):
		return err
	case b.exceeded:
		return importer.Refuse(importer.TooLarge, "a part of the %s file unpacks to more than %d MiB: write it in smaller batches or row groups", kind, b.most>>20).At(name, 1, "")
	}
	return importer.Refuse(importer.Encoding, "the %s file is damaged or cut short: %v", kind, err).At(name, 1, "")
}

// wrongType refuses a column that holds neither numbers nor times nor text.
func wrongType(file, column, kind string) error {
	return importer.Refuse(importer.BadNumber, "the column %s holds %s, which is neither a number nor a time", column, kind).At(file, 1, column)
}

// seeker is what the library wants of a file.
func seeker(f io.ReaderAt, size int64) *io.SectionReader { return io.NewSectionReader(f, 0, size) }

// hasMagic says whether a file ends as it begins; one that was cut short does not.
func hasMagic(f io.ReaderAt, size int64, magic string) (bool, error) {
	end, err := readAt(f, size-int64(len(magic)), len(magic))
	return bytes.Equal(end, []byte(magic)), err
}

// readAt is n bytes of a file.
func readAt(f io.ReaderAt, at int64, n int) ([]byte, error) {
	if at < 0 {
		return nil, io.ErrUnexpectedEOF
	}
	b := make([]byte, n)
	if got, err := f.ReadAt(b, at); got < n {
		return nil, noEOF(err)
	}
	return b, nil
}

// noEOF keeps an end inside of something from passing for that of the file.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
