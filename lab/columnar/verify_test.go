package columnar

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/assay-run/assay/host/candle/importer"
)

// table builds a table of vectors and numbers: what is nil is left out.
type table struct {
	b      *flatbuffers.Builder
	offset []flatbuffers.UOffsetT // by field
}

func (t table) end() flatbuffers.UOffsetT {
	t.b.StartObject(len(t.offset))
	for i, o := range t.offset {
		if o != 0 {
			t.b.PrependUOffsetTSlot(i, o, 0)
		}
	}
	return t.b.EndObject()
}

func vectorOf(b *flatbuffers.Builder, list ...flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(flatbuffers.SizeUOffsetT, len(list), flatbuffers.SizeUOffsetT)
	for i := len(list) - 1; i >= 0; i-- {
		b.PrependUOffsetT(list[i])
	}
	return b.EndVector(len(list))
}

// lie is a vector that declares n elements and has none.
func lie(b *flatbuffers.Builder, n int) flatbuffers.UOffsetT {
	b.StartVector(8, 0, 8)
	at := b.EndVector(0)
	binary.LittleEndian.PutUint32(b.Bytes[int(flatbuffers.UOffsetT(len(b.Bytes))-at):], uint32(n))
	return at
}

// footerWith is a footer whose schema has these fields, made by build.
func footerWith(build func(b *flatbuffers.Builder) (fields, notes flatbuffers.UOffsetT)) flatbuffers.Table {
	b := flatbuffers.NewBuilder(0)
	fields, notes := build(b)
	schema := table{b, []flatbuffers.UOffsetT{0, fields, notes}}.end()
	b.Finish(table{b, []flatbuffers.UOffsetT{0, schema, 0, 0, 0}}.end())
	return root(b.FinishedBytes())
}

func TestFooters(t *testing.T) {
	for _, c := range []struct {
		what, problem string
		build         func(b *flatbuffers.Builder) (fields, notes flatbuffers.UOffsetT)
	}{
		{"nothing", "", func(*flatbuffers.Builder) (flatbuffers.UOffsetT, flatbuffers.UOffsetT) {
			return 0, 0
		}},
		{"three columns", "", func(b *flatbuffers.Builder) (flatbuffers.UOffsetT, flatbuffers.UOffsetT) {
			f := table{b, make([]flatbuffers.UOffsetT, 7)}.end()
			return vectorOf(b, f, f, f), 0
		}},
		{"columns that are not there", "a list of 268435456 in",
			func(b *flatbuffers.Builder) (flatbuffers.UOffsetT, flatbuffers.UOffsetT) {
				return lie(b, 1<<28), 0
			}},
		{"notes that are not there", "a list of 1048576 in",
			func(b *flatbuffers.Builder) (flatbuffers.UOffsetT, flatbuffers.UOffsetT) {
				return 0, lie(b, 1<<20)
			}},
		{"notes of a column that are not there", "a list of 4096 in",
			func(b *flatbuffers.Builder) (flatbuffers.UOffsetT, flatbuffers.UOffsetT) {
				notes := lie(b, 1<<12)
				return vectorOf(b, table{b, []flatbuffers.UOffsetT{0, 0, 0, 0, 0, 0, notes}}.end()), 0
			}},
		{"a column in itself, twenty deep", "without end",
			func(b *flatbuffers.Builder) (flatbuffers.UOffsetT, flatbuffers.UOffsetT) {
				inner := table{b, make([]flatbuffers.UOffsetT, 7)}.end()
				for range 20 {
					inner = table{b, []flatbuffers.UOffsetT{0, 0, 0, 0, 0, vectorOf(b, inner), 0}}.end()
				}
				return vectorOf(b, inner), 0
			}},
		{"a kilobyte that unfolds to a million columns", "more than 10000 columns",
			func(b *flatbuffers.Builder) (flatbuffers.UOffsetT, flatbuffers.UOffsetT) {
				inner := table{b, make([]flatbuffers.UOffsetT, 7)}.end()
				for range 6 {
					children := vectorOf(b, inner, inner, inner, inner, inner, inner, inner, inner, inner,
						inner)
					inner = table{b, []flatbuffers.UOffsetT{0, 0, 0, 0, 0, children, 0}}.end()
				}
				return vectorOf(b, inner), 0
			}},
	} {
		w := walk{}
		w.footer(footerWith(c.build))
		err := w.err
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// messageWith is a message of a kind with a header of these fields.
func messageWith(kind byte, build func(b *flatbuffers.Builder) []flatbuffers.UOffsetT) flatbuffers.Table {
	b := flatbuffers.NewBuilder(0)
	header := table{b, build(b)}.end()
	b.StartObject(5)
	b.PrependByteSlot(messageKind, kind, 0)
	b.PrependUOffsetTSlot(messageHeader, header, 0)
	b.Finish(b.EndObject())
	return root(b.FinishedBytes())
}

func TestMessages(t *testing.T) {
	numbers := func(b *flatbuffers.Builder, n ...int64) flatbuffers.UOffsetT {
		b.StartVector(8, len(n), 8)
		for i := len(n) - 1; i >= 0; i-- {
			b.PrependInt64(n[i])
		}
		return b.EndVector(len(n))
	}
	batch := func(nodes, buffers,
		variadic func(b *flatbuffers.Builder) flatbuffers.UOffsetT) func(
		b *flatbuffers.Builder) []flatbuffers.UOffsetT {
		return func(b *flatbuffers.Builder) []flatbuffers.UOffsetT {
			return []flatbuffers.UOffsetT{0, nodes(b), buffers(b), 0, variadic(b)}
		}
	}
	none := func(*flatbuffers.Builder) flatbuffers.UOffsetT { return 0 }
	huge := func(b *flatbuffers.Builder) flatbuffers.UOffsetT { return lie(b, 1<<26) }
	for _, c := range []struct {
		what, problem string
		message       flatbuffers.Table
	}{
		{"empty", "", messageWith(kindBatch, batch(none, none, none))},
		{"another kind", "", messageWith(5, batch(huge, huge, huge))},
		{"nodes", "a list of", messageWith(kindBatch, batch(huge, none, none))},
		{"buffers", "a list of", messageWith(kindBatch, batch(none, huge, none))},
		{"parts", "a list of", messageWith(kindBatch, batch(none, none, huge))},
		{"parts without buffers", "8589934592 parts of a column in 0 buffers",
			messageWith(kindBatch,
				batch(none, none, func(b *flatbuffers.Builder) flatbuffers.UOffsetT {
					return numbers(b, 0, 1<<33)
				}))},
		{"fewer than no parts", "-1 parts",
			messageWith(kindBatch,
				batch(none, none, func(b *flatbuffers.Builder) flatbuffers.UOffsetT {
					return numbers(b, -1)
				}))},
		{"a dictionary of nothing", "an empty dictionary",
			messageWith(kindDictionary, func(*flatbuffers.Builder) []flatbuffers.UOffsetT {
				return []flatbuffers.UOffsetT{0, 0, 0}
			})},
		{"a dictionary", "a list of",
			messageWith(kindDictionary, func(b *flatbuffers.Builder) []flatbuffers.UOffsetT {
				return []flatbuffers.UOffsetT{0, table{b, []flatbuffers.UOffsetT{0, huge(b), 0, 0, 0}}.end(),
					0}
			})},
	} {
		w := walk{}
		w.message(c.message)
		err := w.err
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestBlocksOutsideOfTheFile(t *testing.T) {
	content := featherOf(t, nil, record(t, many(9)))
	if err := verifyFeather(bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	for at := len(content) - 300; at < len(content)-10; at++ {
		bad := bytes.Clone(content)
		bad[at] ^= 0x80
		c, err := openFeather("x", bytes.NewReader(bad), int64(len(bad)))
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			refused(t, "footer", err, importer.Encoding)
		}
	}
}

func TestCompactMetadata(t *testing.T) {
	// field is the head of a field that follows the one before it.
	field := func(kind byte) byte { return 1<<4 | kind }
	deep := bytes.Repeat([]byte{field(compactStruct)}, 30)
	for _, c := range []struct {
		what, problem string
		bytes         []byte
	}{
		{"empty", "", []byte{0}},
		{"cut", "too early", nil},
		{"every kind of value", "", []byte{
			field(compactTrue), field(compactFalse), field(compactByte), 1, field(compactInt16), 2,
			field(compactInt32), 2, field(compactInt64), 0x80, 1,
			field(compactDouble), 1, 2, 3, 4, 5, 6, 7, 8, field(compactBinary), 2, 'h', 'i',
			field(compactList), 2<<4 | compactTrue, 1, 2,
			field(compactSet), 1<<4 | compactInt32, 4, field(compactMap), 1, compactInt32<<4 | compactByte, 2,
			9, field(compactMap), 0,
			field(compactStruct), 0, field(compactUUID), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
			16, compactInt32, 100, 2, // a field with a number of its own
			0,
		}},
		{"unknown type", "unknown type 14", []byte{field(14), 0}},
		{"number without end", "too early", []byte{field(compactInt64), 0x80}},
		{"a double of three bytes", "too early", []byte{field(compactDouble), 1, 2, 3}},
		{"a long text", "1000000 bytes or values in 1 bytes",
			append(append([]byte{field(compactBinary)}, binary.AppendUvarint(nil, 1_000_000)...), 'x')},
		{"a long list", "bytes or values in",
			append([]byte{field(compactList), 15<<4 | compactStruct}, binary.AppendUvarint(nil, 1<<40)...)},
		{"a list longer than what is left", "a list of 14 in 2 bytes",
			[]byte{field(compactList), 14<<4 | compactStruct, 0, 0}},
		{"a long map", "bytes or values in",
			append([]byte{field(compactMap)}, binary.AppendUvarint(nil, 1<<30)...)},
		{"too deep", "without end", deep},
		{"a column of more than there are", "a column of 1000 in a schema of 1",
			append(append([]byte{2<<4 | compactList, 1<<4 | compactStruct, 5<<4 | compactInt32},
				varint(1000)...), 0, 0)},
		{"a column of as many as there are", "",
			append(append([]byte{2<<4 | compactList, 1<<4 | compactStruct, 5<<4 | compactInt32},
				varint(1)...), 0, 0)},
	} {
		w := compact{rest: c.bytes}
		w.structure(nil)
		err := w.err
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestMetadataOfParquet(t *testing.T) {
	content := parquetOf(t, true, nil, record(t, many(9)))
	if err := verifyParquet(bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	// A length that reaches beyond the beginning of the file.
	bad := bytes.Clone(content)
	binary.LittleEndian.PutUint32(bad[len(bad)-8:], uint32(len(bad)))
	if err := verifyParquet(bytes.NewReader(bad), int64(len(bad))); err == nil {
		t.Error("metadata longer than the file")
	}
	if err := verifyParquet(bytes.NewReader(nil), 0); err == nil {
		t.Error("no file at all")
	}
}
