package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

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
