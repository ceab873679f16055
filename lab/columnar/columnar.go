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
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/assay-run/assay/host/candle/importer"
)

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

func ended(err error) error {
	if errors.Is(err, errEnd) {
		return io.EOF
	}
	return err
}

// opened is what both kinds of files have.
type opened struct {
	name, kind string
	memory     *budget
	columns    []int // to hand on
}

// guard calls the library about a file. Its errors and panics become refusals: what
// it cannot read is damaged, or larger than it may be.
func (o *opened) guard(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		err = o.verdict(err)
	}()
	return call()
}

func (o *opened) verdict(err error) error {
	var refused *importer.Error
	var path *fs.PathError
	switch {
	case err == nil, errors.Is(err, errEnd), errors.As(err, &refused), errors.As(err, &path):
		return err
	case o.memory.exceeded:
		return importer.Refuse(importer.TooLarge,
			"a part of the %s file unpacks to more than %d MiB: write it in "+
				"smaller batches or row groups", o.kind, o.memory.most>>20).At(o.name, 1, "")
	}
	return importer.Refuse(importer.Encoding, "the %s file is damaged or cut short: %v", o.kind,
		err).At(o.name, 1, "")
}

func wrongType(file, column, kind string) error {
	return importer.Refuse(importer.BadNumber, "the column %s holds %s, which is neither a number nor a time",
		column, kind).At(file, 1, column)
}

// hasMagic reports whether a file ends as it begins; one that was cut short does not.
func hasMagic(f io.ReaderAt, size int64, magic string) (bool, error) {
	end, err := readAt(f, size-int64(len(magic)), len(magic))
	return bytes.Equal(end, []byte(magic)), err
}

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

// feather is a Feather file of version 2, which is the file format of Arrow.
type feather struct {
	opened
	file   *ipc.FileReader
	next   int // record batch
	record arrow.RecordBatch
	at     int // row in it
}

func openFeather(name string, f io.ReaderAt, size int64) (importer.Columnar, error) {
	return openFeatherWithin(name, f, size, maxMemory)
}

func openFeatherWithin(name string, f io.ReaderAt, size int64, most int) (importer.Columnar, error) {
	c := &feather{opened: opened{name: name, kind: "Feather", memory: newBudget(most)}}
	err := c.guard(func() (err error) {
		if ok, err := hasMagic(f, size, "ARROW1"); !ok {
			return cmp.Or(err, errors.New("its end is missing"))
		}
		if err := verifyFeather(f, size); err != nil {
			return err
		}
		// The library has limits of its own; ours are those of the budget.
		c.file, err = ipc.NewFileReader(io.NewSectionReader(f, 0, size), ipc.WithAllocator(c.memory),
			ipc.WithBodySizeLimit(int64(most)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Names are those of the schema.
func (c *feather) Names() []string {
	names := []string{}
	for _, f := range c.file.Schema().Fields() {
		names = append(names, f.Name)
	}
	return names
}

// Rows is unknown before all batches are read.
func (c *feather) Rows() int64 { return 0 }

// Select keeps which columns to hand on; the library reads whole batches.
func (c *feather) Select(columns []int) error {
	c.columns = columns
	return nil
}

// Next is the next rows of the current record batch, or the first of the one behind.
func (c *feather) Next() (b importer.Batch, err error) {
	err = c.guard(func() error {
		for c.record == nil || c.at == int(c.record.NumRows()) {
			if err := c.load(); err != nil {
				return err
			}
		}
		n := min(batchRows, int(c.record.NumRows())-c.at)
		b = importer.Batch{Rows: n, Unpacked: n * 8 * len(c.columns)}
		for _, i := range c.columns {
			v, err := c.column(i, n)
			if err != nil {
				return err
			}
			b.Columns = append(b.Columns, v)
		}
		c.at += n
		done := float64(c.at) / float64(c.record.NumRows())
		b.Done = (float64(c.next-1) + done) / float64(c.file.NumRecords())
		return nil
	})
	return b, ended(err)
}

func (c *feather) load() (err error) {
	c.release()
	if c.next == c.file.NumRecords() {
		return errEnd
	}
	if c.record, err = c.file.RecordBatchAt(c.next); err != nil {
		c.record = nil
		return err
	}
	c.next++
	for i, a := range c.record.Columns() {
		if int64(a.Len()) != c.record.NumRows() {
			return fmt.Errorf("column %d has %d of %d rows", i, a.Len(), c.record.NumRows())
		}
	}
	return nil
}

func (c *feather) column(i, n int) (importer.Column, error) {
	field := c.file.Schema().Field(i)
	v, ok := values(c.record.Column(i), c.at, n)
	if !ok {
		return v, wrongType(c.name, field.Name, field.Type.String())
	}
	return v, nil
}

func (c *feather) release() {
	if c.record != nil {
		c.record.Release()
	}
	c.record, c.at = nil, 0
}

// Close releases what the library holds.
func (c *feather) Close() error {
	return c.guard(func() error {
		c.release()
		return c.file.Close()
	})
}

// parquetFile reads one row group after the other, page by page.
type parquetFile struct {
	opened
	file   *file.Reader
	group  int // the next one
	chunks []file.ColumnChunkReader
	left   int64 // rows of the current group
	read   int64 // rows of all
}

func openParquet(name string, f io.ReaderAt, size int64) (importer.Columnar, error) {
	return openParquetWithin(name, f, size, maxMemory)
}

func openParquetWithin(name string, f io.ReaderAt, size int64, most int) (importer.Columnar, error) {
	c := &parquetFile{opened: opened{name: name, kind: "Parquet", memory: newBudget(most)}}
	err := c.guard(func() (err error) {
		if ok, _ := hasMagic(f, size, "PARE"); ok {
			return importer.Refuse(importer.Encoding,
				"the Parquet file is encrypted: save it without").At(name, 1, "")
		}
		if ok, err := hasMagic(f, size, "PAR1"); !ok {
			return cmp.Or(err, errors.New("its end is missing"))
		}
		if err := verifyParquet(f, size); err != nil {
			return err
		}
		props := parquet.NewReaderProperties(c.memory)
		props.BufferedStreamEnabled = true // pages as they come, not whole columns
		// Some writers make one page of a column: the budget is limit enough.
		props.MaxCompressedPageSize, props.MaxUncompressedPageSize = min(size, int64(most)), int64(most)
		c.file, err = file.NewParquetReader(io.NewSectionReader(f, 0, size), file.WithReadProps(props))
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Names are the paths of the columns: parts of nested ones are joined with points.
func (c *parquetFile) Names() (names []string) {
	names = []string{}
	s := c.file.MetaData().Schema
	for i := range s.NumColumns() {
		names = append(names, s.Column(i).Path())
	}
	return names
}

// Rows is what the metadata declare.
func (c *parquetFile) Rows() int64 { return c.file.NumRows() }

// Select refuses columns of more than one value a row.
func (c *parquetFile) Select(columns []int) error {
	c.columns = columns
	return c.guard(func() error {
		for _, i := range columns {
			if d := c.file.MetaData().Schema.Column(i); d.MaxRepetitionLevel() > 0 || kindOf(d) == nil {
				return wrongType(c.name, d.Path(), describe(d))
			}
		}
		return nil
	})
}

// describe is the type of a column for a message.
func describe(d *schema.Column) string {
	text := d.PhysicalType().String()
	if l := d.LogicalType(); l != nil && !l.IsNone() {
		text += " " + l.String()
	}
	if d.MaxRepetitionLevel() > 0 {
		text = "lists of " + text
	}
	return text
}

// Next is the next rows of the current row group, or the first of the one behind.
func (c *parquetFile) Next() (b importer.Batch, err error) {
	err = c.guard(func() error {
		for c.left == 0 {
			if err := c.nextGroup(); err != nil {
				return err
			}
		}
		n := int(min(batchRows, c.left))
		b = importer.Batch{Rows: n}
		for k, chunk := range c.chunks {
			v, err := kindOf(chunk.Descriptor())(chunk, n)
			if err != nil {
				return fmt.Errorf("column %s: %w", c.file.MetaData().Schema.Column(c.columns[k]).Path(), err)
			}
			b.Columns = append(b.Columns, v)
			b.Unpacked += sizeOf(v, n)
		}
		c.left -= int64(n)
		c.read += int64(n)
		b.Done = float64(c.read) / float64(max(c.read, c.Rows()))
		return nil
	})
	return b, ended(err)
}

// sizeOf is about how many bytes values take.
func sizeOf(c importer.Column, n int) int {
	size := 8 * n
	for _, t := range c.Texts {
		size += len(t)
	}
	return size
}

func (c *parquetFile) nextGroup() error {
	if err := c.closeChunks(); err != nil {
		return err
	}
	if c.group == c.file.NumRowGroups() {
		return errEnd
	}
	g := c.file.RowGroup(c.group)
	c.group++
	if c.left = g.NumRows(); c.left < 0 {
		return fmt.Errorf("row group %d has %d rows", c.group, c.left)
	}
	for _, i := range c.columns {
		chunk, err := g.Column(i)
		if err != nil {
			return err
		}
		if chunk == nil {
			return fmt.Errorf("row group %d lacks column %d", c.group, i)
		}
		c.chunks = append(c.chunks, chunk)
	}
	return nil
}

func (c *parquetFile) closeChunks() (err error) {
	for _, chunk := range c.chunks {
		err = errors.Join(err, chunk.Close())
	}
	c.chunks = nil
	return err
}

// Close releases what the library holds.
func (c *parquetFile) Close() error {
	return c.guard(c.closeChunks)
}
