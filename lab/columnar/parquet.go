package columnar

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/assay-run/assay/host/candle/importer"
)

// parquetFile reads one row group after the other, page by page.
type parquetFile struct {
	name    string
	memory  *budget
	file    *file.Reader
	columns []int
	group   int // the next one
	chunks  []file.ColumnChunkReader
	left    int64 // rows of the current group
	read    int64 // rows of all
}

func openParquet(name string, f io.ReaderAt, size int64) (importer.Columnar, error) {
	return openParquetWithin(name, f, size, maxMemory)
}

func openParquetWithin(name string, f io.ReaderAt, size int64, most int) (importer.Columnar, error) {
	c := &parquetFile{name: name, memory: newBudget(most)}
	err := c.guard(func() (err error) {
		if ok, _ := hasMagic(f, size, "PARE"); ok {
			return importer.Refuse(importer.Encoding, "the Parquet file is encrypted: save it without").At(name, 1, "")
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
		c.file, err = file.NewParquetReader(seeker(f, size), file.WithReadProps(props))
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *parquetFile) guard(call func() error) error { return guard(c.name, "Parquet", c.memory, call) }

// Names are the paths of the columns: parts of nested ones are joined with points.
func (c *parquetFile) Names() (names []string) {
	names = []string{}
	s := c.file.MetaData().Schema
	for i := range s.NumColumns() {
		names = append(names, s.Column(i).Path())
	}
	return names
}

// Rows is what the file says.
func (c *parquetFile) Rows() int64 { return c.file.NumRows() }

// Select wants columns of one value a row.
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

// nextGroup opens the wanted columns of the next row group.
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
