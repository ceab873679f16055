package columnar

import (
	"cmp"
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

type block struct {
	offset   int64
	metadata int32
}

// verifyFeather walks the footer and the head of every message. Like the library it
// panics where an offset leads out of the file; guard knows what that means.
func verifyFeather(f io.ReaderAt, size int64) error {
	footer, err := metadata(f, size-int64(len("ARROW1")), 8)
	if err != nil {
		return err
	}
	w := walk{}
	blocks := w.footer(root(footer))
	if w.err != nil {
		return w.err
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
		if w.message(root(head)); w.err != nil {
			return fmt.Errorf("message %d: %w", i, w.err)
		}
	}
	return nil
}

// metadata is what stands before its own length, and both before the end.
func metadata(f io.ReaderAt, end int64, least uint32) ([]byte, error) {
	tail, err := readAt(f, end-4, 4)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(tail)
	if n < least || n > maxMetadata || int64(n) > end-4 {
		return nil, fmt.Errorf("metadata of %d bytes", n)
	}
	return readAt(f, end-4-int64(n), int(n))
}

func root(b []byte) flatbuffers.Table {
	return flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}
}

// walk counts the tables that it comes by, up to the first error.
type walk struct {
	tables int
	err    error
}

func (w *walk) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// vector is the elements of a field, each of so many bytes, none after an error: they must be
// there.
func (w *walk) vector(t flatbuffers.Table, field, width int) (start flatbuffers.UOffsetT, n int) {
	at := t.Offset(flatbuffers.VOffsetT(4 + 2*field))
	if at == 0 || w.err != nil {
		return 0, 0
	}
	start, n = t.Vector(flatbuffers.UOffsetT(at)), t.VectorLen(flatbuffers.UOffsetT(at))
	if int64(start)+int64(n)*int64(width) > int64(len(t.Bytes)) {
		w.fail("a list of %d in %d bytes of metadata", n, len(t.Bytes))
		return 0, 0
	}
	return start, n
}

// each calls visit for the tables in a field, where there is something to visit.
func (w *walk) each(t flatbuffers.Table, field int, visit func(flatbuffers.Table)) {
	start, n := w.vector(t, field, flatbuffers.SizeUOffsetT)
	if w.tables += n; w.tables > maxTables {
		w.fail("more than %d columns and notes", maxTables)
	}
	for i := 0; i < n && visit != nil && w.err == nil; i++ {
		at := t.Indirect(start + flatbuffers.UOffsetT(i*flatbuffers.SizeUOffsetT))
		visit(flatbuffers.Table{Bytes: t.Bytes, Pos: at})
	}
}

func inner(t flatbuffers.Table, field int) (in flatbuffers.Table, ok bool) {
	at := t.Offset(flatbuffers.VOffsetT(4 + 2*field))
	if at == 0 {
		return in, false
	}
	return flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + flatbuffers.UOffsetT(at))}, true
}

func (w *walk) footer(t flatbuffers.Table) (blocks []block) {
	w.each(t, footerMetadata, nil)
	if schema, ok := inner(t, footerSchema); ok {
		w.each(schema, schemaMetadata, nil)
		w.fields(schema, schemaFields, 0)
	}
	const width = 24 // offset, length of the metadata, padding, length of the body
	for _, field := range []int{footerDictionaries, footerBatches} {
		start, n := w.vector(t, field, width)
		for i := range n {
			at := start + flatbuffers.UOffsetT(i*width)
			blocks = append(blocks, block{offset: t.GetInt64(at), metadata: t.GetInt32(at + 8)})
		}
	}
	return blocks
}

func (w *walk) fields(t flatbuffers.Table, field, depth int) {
	if depth > maxDepth {
		w.fail("columns inside columns without end")
	}
	w.each(t, field, func(f flatbuffers.Table) {
		w.each(f, fieldMetadata, nil)
		w.fields(f, fieldChildren, depth+1)
	})
}

func (w *walk) message(t flatbuffers.Table) {
	w.tables = 0
	w.each(t, messageMetadata, nil)
	header, ok := inner(t, messageHeader)
	if !ok {
		w.fail("no header")
		return
	}
	switch t.GetByteSlot(4+2*messageKind, 0) {
	case kindDictionary:
		if header, ok = inner(header, dictionaryData); !ok {
			w.fail("an empty dictionary")
			return
		}
	case kindBatch:
	default:
		return // the library finds that it is none
	}
	w.vector(header, batchNodes, 16)
	_, buffers := w.vector(header, batchBuffers, 16)
	start, n := w.vector(header, batchVariadic, 8)
	for i := range n {
		if v := header.GetInt64(start + flatbuffers.UOffsetT(8*i)); v < 0 || v > int64(buffers) {
			w.fail("%d parts of a column in %d buffers", v, buffers)
		}
	}
}

// verifyParquet walks the metadata of a Parquet file, which are in Thrift's compact
// protocol: lists and texts must be as long as declared, and a column that is made of
// others must have them.
func verifyParquet(f io.ReaderAt, size int64) error {
	b, err := metadata(f, size-int64(len("PAR1")), 0)
	if err != nil {
		return err
	}
	c := compact{rest: b}
	c.structure(nil)
	return c.err
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

// The fields that list the columns, and how many others a column is made of.
var (
	schemaElements = []int{2}
	numChildren    = []int{2, 5}
)

// compact walks over values without keeping them, up to the first error.
type compact struct {
	rest     []byte
	elements int // of the schema
	err      error
}

// fail notes the first error; nothing is left to be read behind it.
func (c *compact) fail(err error) {
	if c.err == nil {
		c.err, c.rest = err, nil
	}
}

var errShort = errors.New("the metadata end too early")

// structure walks fields to the stop; path has the field of each level.
func (c *compact) structure(path []int) {
	if len(path) > maxDepth {
		c.fail(errors.New("metadata inside metadata without end"))
	}
	for last := 0; ; {
		head := c.byte()
		if head == 0 {
			return
		}
		if delta := int(head >> 4); delta > 0 {
			last += delta
		} else {
			last = int(int16(c.integer()))
		}
		c.value(head&0xf, append(slices.Clip(path), last), false)
	}
}

// value walks over one value. A boolean field is in its head, one in a list is not.
func (c *compact) value(kind byte, path []int, inList bool) {
	switch kind {
	case compactTrue, compactFalse:
		if inList {
			c.skip(1)
		}
	case compactByte:
		c.skip(1)
	case compactInt16, compactInt32, compactInt64:
		if n := c.integer(); slices.Equal(path, numChildren) && n > int64(c.elements) {
			c.fail(fmt.Errorf("a column of %d in a schema of %d", n, c.elements))
		}
	case compactDouble:
		c.skip(8)
	case compactUUID:
		c.skip(16)
	case compactBinary:
		c.skip(c.length())
	case compactList, compactSet:
		c.list(path)
	case compactMap:
		c.pairs(path)
	case compactStruct:
		c.structure(path)
	default:
		c.fail(fmt.Errorf("a value of the unknown type %d", kind))
	}
}

func (c *compact) list(path []int) {
	head := c.byte()
	n := int(head >> 4)
	if n == 15 {
		n = c.length()
	}
	if n > len(c.rest) {
		c.fail(fmt.Errorf("a list of %d in %d bytes of metadata", n, len(c.rest)))
	}
	if slices.Equal(path, schemaElements) {
		c.elements = n
	}
	for i := 0; i < n && c.err == nil; i++ {
		c.value(head&0xf, path, true)
	}
}

func (c *compact) pairs(path []int) {
	n := c.length()
	if n == 0 {
		return
	}
	kinds := c.byte()
	for i := 0; i < n && c.err == nil; i++ {
		c.value(kinds>>4, path, true)
		c.value(kinds&0xf, path, true)
	}
}

// byte is 0 behind the end.
func (c *compact) byte() (b byte) {
	if len(c.rest) > 0 {
		b = c.rest[0]
	}
	c.skip(1)
	return b
}

// skip passes over n bytes; n is not above 0 where a number could not be read.
func (c *compact) skip(n int) {
	if n < 0 || n > len(c.rest) {
		c.fail(errShort)
		return
	}
	c.rest = c.rest[n:]
}

func (c *compact) integer() int64 {
	v, n := binary.Varint(c.rest)
	c.skip(cmp.Or(n, -1))
	return v
}

// length is how much follows; nothing is longer than what is left.
func (c *compact) length() int {
	v, n := binary.Uvarint(c.rest)
	if c.skip(cmp.Or(n, -1)); v > uint64(len(c.rest)) {
		c.fail(fmt.Errorf("%d bytes or values in %d bytes of metadata", v, len(c.rest)))
		return 0
	}
	return int(v)
}
