package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

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

// verifyParquet walks the metadata of a Parquet file, which are in Thrift's compact
// protocol: lists and texts must be as long as they say, and a column that is made of
// others must have them. Why, verify_feather.go tells.
func verifyParquet(f io.ReaderAt, size int64) error {
	const end = 4 + 4 // the length of the metadata, the magic
	tail, err := readAt(f, size-end, end)
	if err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n > maxMetadata || n > size-end {
		return fmt.Errorf("metadata of %d bytes", n)
	}
	b, err := readAt(f, size-end-n, int(n))
	if err != nil {
		return err
	}
	c := compact{rest: b}
	return c.structure(nil)
}

// The types of values in the compact protocol.
const (
	compactTrue = iota + 1
	compactFalse
	compactByte
	compactInt16
	compactInt32
	compactInt64
	compactDouble
	compactBinary
	compactList
	compactSet
	compactMap
	compactStruct
	compactUUID
)

// Where the metadata say what the columns are, and how many of them one is made of.
var (
	schemaElements = []int{2}
	numChildren    = []int{2, 5}
)

// compact walks over values without keeping them.
type compact struct {
	rest     []byte
	elements int // of the schema
}

var errShort = errors.New("the metadata end too early")

// structure walks fields to the stop; path says which field each level is.
func (c *compact) structure(path []int) error {
	if len(path) > maxDepth {
		return errors.New("metadata inside metadata without end")
	}
	last := 0
	for {
		head, err := c.byte()
		if err != nil || head == 0 {
			return err
		}
		if delta := int(head >> 4); delta > 0 {
			last += delta
		} else {
			id, err := c.integer()
			if err != nil {
				return err
			}
			last = int(int16(id))
		}
		if err := c.value(head&0xf, append(slices.Clip(path), last), false); err != nil {
			return err
		}
	}
}

// value walks over one value. A boolean field is in its head, one in a list is not.
func (c *compact) value(kind byte, path []int, inList bool) error {
	switch kind {
	case compactTrue, compactFalse:
		if inList {
			return c.skip(1)
		}
		return nil
	case compactByte:
		return c.skip(1)
	case compactInt16, compactInt32, compactInt64:
		n, err := c.integer()
		if err == nil && slices.Equal(path, numChildren) && n > int64(c.elements) {
			return fmt.Errorf("a column of %d in a schema of %d", n, c.elements)
		}
		return err
	case compactDouble:
		return c.skip(8)
	case compactUUID:
		return c.skip(16)
	case compactBinary:
		n, err := c.length()
		if err != nil {
			return err
		}
		return c.skip(n)
	case compactList, compactSet:
		return c.list(path)
	case compactMap:
		return c.pairs(path)
	case compactStruct:
		return c.structure(path)
	}
	return fmt.Errorf("a value of the unknown type %d", kind)
}

func (c *compact) list(path []int) error {
	head, err := c.byte()
	if err != nil {
		return err
	}
	n := int(head >> 4)
	if n == 15 {
		if n, err = c.length(); err != nil {
			return err
		}
	}
	if n > len(c.rest) {
		return fmt.Errorf("a list of %d in %d bytes of metadata", n, len(c.rest))
	}
	if slices.Equal(path, schemaElements) {
		c.elements = n
	}
	for range n {
		if err := c.value(head&0xf, path, true); err != nil {
			return err
		}
	}
	return nil
}

func (c *compact) pairs(path []int) error {
	n, err := c.length()
	if err != nil || n == 0 {
		return err
	}
	kinds, err := c.byte()
	if err != nil {
		return err
	}
	for range n {
		if err := c.value(kinds>>4, path, true); err != nil {
			return err
		}
		if err := c.value(kinds&0xf, path, true); err != nil {
			return err
		}
	}
	return nil
}

func (c *compact) byte() (byte, error) {
	if len(c.rest) == 0 {
		return 0, errShort
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b, nil
}

func (c *compact) skip(n int) error {
	if n > len(c.rest) {
		return errShort
	}
	c.rest = c.rest[n:]
	return nil
}

func (c *compact) integer() (int64, error) {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		return 0, errShort
	}
	c.rest = c.rest[n:]
	return v, nil
}

// length is how much follows; nothing is longer than what is left.
func (c *compact) length() (int, error) {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		return 0, errShort
	}
	c.rest = c.rest[n:]
	if v > uint64(len(c.rest)) {
		return 0, fmt.Errorf("%d bytes or values in %d bytes of metadata", v, len(c.rest))
	}
	return int(v), nil
}
