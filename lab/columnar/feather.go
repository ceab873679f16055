package columnar

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/assay-run/assay/host/candle/importer"
)

// feather is a Feather file of version 2, which is the file format of Arrow.
type feather struct {
	name    string
	memory  *budget
	file    *ipc.FileReader
	columns []int
	next    int // record batch
	record  arrow.RecordBatch
	at      int // row in it
}

func openFeather(name string, f io.ReaderAt, size int64) (importer.Columnar, error) {
	return openFeatherWithin(name, f, size, maxMemory)
}

func openFeatherWithin(name string, f io.ReaderAt, size int64, most int) (importer.Columnar, error) {
	c := &feather{name: name, memory: newBudget(most)}
	err := c.guard(func() (err error) {
		if ok, err := hasMagic(f, size, "ARROW1"); !ok {
			return cmp.Or(err, errors.New("its end is missing"))
		}
		if err := verifyFeather(f, size); err != nil {
			return err
		}
		// The library has limits of its own; ours are those of the budget.
		c.file, err = ipc.NewFileReader(seeker(f, size), ipc.WithAllocator(c.memory), ipc.WithBodySizeLimit(int64(most)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *feather) guard(call func() error) error { return guard(c.name, "Feather", c.memory, call) }

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

// Select keeps which columns are wanted; the library reads whole batches.
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

// load reads the next record batch.
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

// column is n values from the current row on.
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
