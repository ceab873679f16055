package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	flatbuffers "github.com/google/flatbuffers/go"
)

// The library makes room for what the metadata of a file declare before it looks
// whether that is there: a file of a kilobyte can ask for terabytes, and that no
// program survives. So the parts that declare sizes are walked first. The numbers are
// those of the fields in the definition of the format.
const (
	maxMetadata = 64 << 20
	maxTables   = 10_000 // fields and entries of metadata, all together
	maxDepth    = 16
)

const (
	footerSchema, footerDictionaries, footerBatches, footerMetadata = 1, 2, 3, 4

	schemaFields, schemaMetadata = 1, 2

	fieldChildren, fieldMetadata = 5, 6

	messageKind, messageHeader, messageMetadata = 1, 2, 4

	batchNodes, batchBuffers, batchVariadic = 1, 2, 4

	dictionaryData = 1

	kindDictionary, kindBatch = 2, 3
)

// block is where a message is in the file.
type block struct {
	offset   int64
	metadata int32
}

// verifyFeather walks the footer and the head of every message. Like the library it
// panics where an offset leads out of the file; guard knows what that means.
func verifyFeather(f io.ReaderAt, size int64) error {
	const end = 4 + 6 // the length of the footer, the magic
	tail, err := readAt(f, size-end, end)
	if err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n < 8 || n > maxMetadata || n > size-end {
		return fmt.Errorf("a footer of %d bytes", n)
	}
	footer, err := readAt(f, size-end-n, int(n))
	if err != nil {
		return err
	}
	w := walk{}
	blocks, err := w.footer(root(footer))
	if err != nil {
		return err
	}
	for i, b := range blocks {
		if b.offset < 0 || b.metadata < 8 || b.metadata > maxMetadata || b.offset > size-int64(b.metadata) {
			return fmt.Errorf("message %d is not in the file", i)
		}
		head, err := readAt(f, b.offset, int(b.metadata))
		if err != nil {
			return err
		}
		if head = head[4:]; binary.LittleEndian.Uint32(head[:4]) == uint32(b.metadata)-8 {
			head = head[4:] // the length is behind a mark since version 0.15
		}
		if len(head) < 8 {
			return fmt.Errorf("message %d is empty", i)
		}
		if err := w.message(root(head)); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

func root(b []byte) flatbuffers.Table {
	return flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}
}

// walk counts the tables that it comes by.
type walk struct{ tables int }

// vector is the elements of a field, each of so many bytes: they must be there.
func vector(t flatbuffers.Table, field, width int) (start flatbuffers.UOffsetT, n int, err error) {
	at := t.Offset(flatbuffers.VOffsetT(4 + 2*field))
	if at == 0 {
		return 0, 0, nil
	}
	start, n = t.Vector(flatbuffers.UOffsetT(at)), t.VectorLen(flatbuffers.UOffsetT(at))
	if int64(start)+int64(n)*int64(width) > int64(len(t.Bytes)) {
		return 0, 0, fmt.Errorf("a list of %d in %d bytes of metadata", n, len(t.Bytes))
	}
	return start, n, nil
}

// each calls visit for the tables in a field.
func (w *walk) each(t flatbuffers.Table, field int, visit func(flatbuffers.Table) error) error {
	start, n, err := vector(t, field, flatbuffers.SizeUOffsetT)
	if err != nil {
		return err
	}
	if w.tables += n; w.tables > maxTables {
		return fmt.Errorf("more than %d columns and notes", maxTables)
	}
	for i := range n {
		at := t.Indirect(start + flatbuffers.UOffsetT(i*flatbuffers.SizeUOffsetT))
		if err := visit(flatbuffers.Table{Bytes: t.Bytes, Pos: at}); err != nil {
			return err
		}
	}
	return nil
}

func nothingMore(flatbuffers.Table) error { return nil }

// inner is the table in a field.
func inner(t flatbuffers.Table, field int) (in flatbuffers.Table, ok bool) {
	at := t.Offset(flatbuffers.VOffsetT(4 + 2*field))
	if at == 0 {
		return in, false
	}
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + flatbuffers.UOffsetT(at))}, true
}

func (w *walk) footer(t flatbuffers.Table) (blocks []block, err error) {
	if err := w.each(t, footerMetadata, nothingMore); err != nil {
		return nil, err
	}
	if schema, ok := inner(t, footerSchema); ok {
		if err := w.each(schema, schemaMetadata, nothingMore); err != nil {
			return nil, err
		}
		if err := w.fields(schema, schemaFields, 0); err != nil {
			return nil, err
		}
	}
	const width = 24 // offset, length of the metadata, padding, length of the body
	for _, field := range []int{footerDictionaries, footerBatches} {
		start, n, err := vector(t, field, width)
		if err != nil {
			return nil, err
		}
		for i := range n {
			at := start + flatbuffers.UOffsetT(i*width)
			blocks = append(blocks, block{offset: t.GetInt64(at), metadata: t.GetInt32(at + 8)})
		}
	}
	return blocks, nil
}

func (w *walk) fields(t flatbuffers.Table, field, depth int) error {
	if depth > maxDepth {
		return errors.New("columns inside columns without end")
	}
	return w.each(t, field, func(f flatbuffers.Table) error {
		if err := w.each(f, fieldMetadata, nothingMore); err != nil {
			return err
		}
		return w.fields(f, fieldChildren, depth+1)
	})
}

func (w *walk) message(t flatbuffers.Table) error {
	w.tables = 0
	if err := w.each(t, messageMetadata, nothingMore); err != nil {
		return err
	}
	header, ok := inner(t, messageHeader)
	if !ok {
		return errors.New("no header")
	}
	switch t.GetByteSlot(4+2*messageKind, 0) {
	case kindDictionary:
		if header, ok = inner(header, dictionaryData); !ok {
			return errors.New("an empty dictionary")
		}
	case kindBatch:
	default:
		return nil // the library will say that it is none
	}
	if _, _, err := vector(header, batchNodes, 16); err != nil {
		return err
	}
	_, buffers, err := vector(header, batchBuffers, 16)
	if err != nil {
		return err
	}
	start, n, err := vector(header, batchVariadic, 8)
	if err != nil {
		return err
	}
	for i := range n {
		if v := header.GetInt64(start + flatbuffers.UOffsetT(8*i)); v < 0 || v > int64(buffers) {
			return fmt.Errorf("%d parts of a column in %d buffers", v, buffers)
		}
	}
	return nil
}
