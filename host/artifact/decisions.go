package artifact

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The decision lines of a split are in one of two files.
const (
	// DecisionsFile has them as columns, compressed. Its hash is that of the file; the decision hash
	// is of the lines.
	DecisionsFile = "decisions.columns"
	// DecisionLinesFile has them as they are: of runs on paper and live, and of earlier versions.
	DecisionLinesFile = "decisions.jsonl"
)

const (
	// decisionsMagic begins the file. Behind it, deflated, are blocks of lines, then a 0. A block is the
	// number of its lines, the number of shapes and the shapes, the shape of each line, and of each
	// shape its columns. A shape is a line without its values, each replaced by a zero byte. A text is
	// its length and its bytes; integers are varints.
	decisionsMagic = "ASSAYDC1"

	// maxBlockLines and maxBlockText are when a block ends.
	maxBlockLines = 2048
	maxBlockText  = 512 << 10
	// maxLineText is the longest line in bytes, several times what a line can come to, and
	// maxDecisionText that of all lines together.
	maxLineText     = 64 << 10
	maxDecisionText = 4 << 30
	// maxValues is how many values of a line are taken out of it; what follows stays in its shape.
	maxValues = 1 << 10
	// maxKnown is how many shapes a writer remembers, so that it makes their columns once.
	maxKnown = 256
)

// How a column of values is written.
const (
	columnText  byte = iota // each value as a text
	columnSame              // one text, which all of them are
	columnCount             // a prefix, a width, and integers with zeros before them, as differences
	columnTime              // times as 2024-01-01T00:00:00.000Z, in Unix milliseconds as differences
)

// slot stands in a shape for a value. No line has it: JSON escapes control characters.
const slot = 0

var quote = []byte{'"'}

// shape is how a line looks without its values, and the values of the lines of a block that look so.
type shape struct {
	text    []byte
	columns [][][]byte
	at      int // which of the block it is, -1 for none of it

	parts [][]byte // of the text, around its values
	next  *shape   // of the line that came behind the newest one of this shape
}

// DecisionsWriter writes decision lines as decisions.columns. It holds a block of lines at a time.
type DecisionsWriter struct {
	z      *flate.Writer
	block  []byte // its lines; the values are parts of it
	from   int    // where the line begins that has not ended
	shapes []*shape
	known  map[string]*shape // also of the blocks before
	last   *shape            // of the line before
	order  []int             // of each line its shape
	err    error

	// Room that is used again.
	out, form []byte
	values    [][]byte
}

// NewDecisionsWriter begins a file of decision lines. Close ends it.
func NewDecisionsWriter(w io.Writer) (*DecisionsWriter, error) {
	if _, err := io.WriteString(w, decisionsMagic); err != nil {
		return nil, err
	}
	z, err := flate.NewWriter(w, flate.BestSpeed)
	// Its room is never outgrown: the values stay where they are.
	block := make([]byte, 0, maxBlockText+maxLineText)
	return &DecisionsWriter{z: z, block: block, known: map[string]*shape{}}, err
}

// Write takes lines, each ended by a newline. A line may come in parts.
func (d *DecisionsWriter) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && d.err == nil {
		part, rest, ended := bytes.Cut(b, []byte{'\n'})
		if len(d.block)-d.from+len(part) > maxLineText || bytes.IndexByte(part, slot) >= 0 {
			d.err = fmt.Errorf("the decision line %.80q has a zero byte, or more than %d bytes", part,
				maxLineText)
			break
		}
		d.block = append(d.block, part...)
		if ended {
			d.line()
		}
		b = rest
	}
	return n, d.err
}

// Close writes what there is and ends the file; what it is written to stays open.
func (d *DecisionsWriter) Close() error {
	if len(d.block) > d.from && d.err == nil {
		d.err = errors.New("the last decision line has no end")
	}
	d.flush()
	if d.err == nil {
		_, d.err = d.z.Write([]byte{0})
	}
	return errors.Join(d.err, d.z.Close())
}

// line takes the line that has ended into the block.
func (d *DecisionsWriter) line() {
	s := d.shapeOf(d.block[d.from:])
	if s.at < 0 {
		s.at = len(d.shapes)
		d.shapes = append(d.shapes, s)
	}
	for k, v := range d.values {
		s.columns[k] = append(s.columns[k], v)
	}
	d.order, d.from = append(d.order, s.at), len(d.block)
	if len(d.order) == maxBlockLines || len(d.block) >= maxBlockText {
		d.flush()
	}
}

// shapeOf returns the shape of a line and puts its values aside. Lines come in turns, so it tries the
// shape that came behind the one before the last time.
func (d *DecisionsWriter) shapeOf(line []byte) *shape {
	before := d.last
	if before != nil && before.next != nil {
		fits := false
		if d.values, fits = before.next.match(line, d.values[:0]); fits {
			d.last = before.next
			return d.last
		}
	}
	d.form, d.values = outline(line, d.form[:0], d.values[:0])
	s := d.known[string(d.form)]
	if s == nil {
		if len(d.known) >= maxKnown {
			clear(d.known)
		}
		text := bytes.Clone(d.form)
		s = &shape{text: text, columns: make([][][]byte, len(d.values)), at: -1,
			parts: bytes.Split(text, []byte{slot})}
		d.known[string(text)] = s
	}
	if before != nil {
		before.next = s
	}
	d.last = s
	return s
}

// match takes the values out of a line, and reports whether it has this shape.
func (s *shape) match(line []byte, values [][]byte) ([][]byte, bool) {
	for k, part := range s.parts {
		if !bytes.HasPrefix(line, part) {
			return values, false
		}
		line = line[len(part):]
		if k == len(s.parts)-1 {
			break
		}
		size := 0
		if bytes.HasSuffix(part, quote) && bytes.HasPrefix(s.parts[k+1], quote) {
			for size < len(line) && line[size] != '"' && line[size] != '\\' {
				size++
			}
		} else {
			for size < len(line) && line[size] >= '0' && line[size] <= '9' {
				size++
			}
			if size == 0 {
				return values, false
			}
		}
		values = append(values, line[:size])
		line = line[size:]
	}
	return values, len(line) == 0
}

// flush writes a block.
func (d *DecisionsWriter) flush() {
	if len(d.order) == 0 || d.err != nil {
		return
	}
	b := binary.AppendUvarint(d.out[:0], uint64(len(d.order)))
	b = binary.AppendUvarint(b, uint64(len(d.shapes)))
	for _, s := range d.shapes {
		b = appendField(b, s.text)
	}
	for _, i := range d.order {
		b = binary.AppendUvarint(b, uint64(i))
	}
	for _, s := range d.shapes {
		for k, column := range s.columns {
			b = appendColumn(b, column)
			s.columns[k] = column[:0]
		}
		s.at = -1
	}
	_, d.err = d.z.Write(b)
	d.shapes, d.order, d.out, d.block, d.from = d.shapes[:0], d.order[:0], b, d.block[:0], 0
}

// outline takes a line apart: its shape, and its values in their order. Values are numbers, and texts with
// a digit that are no keys and have no escapes: other texts are few.
func outline(line, form []byte, values [][]byte) ([]byte, [][]byte) {
	for len(line) > 0 && len(values) < maxValues {
		c := line[0]
		size := 1
		switch {
		case c == '"':
			end := bytes.IndexByte(line[1:], '"')
			if end < 0 {
				return append(form, line...), values
			}
			size = end + 2
			text := line[1 : 1+end]
			if size < len(line) && line[size] == ':' || bytes.IndexByte(text, '\\') >= 0 || !hasDigit(text) {
				form = append(form, line[:size]...)
				break
			}
			form = append(form, '"', slot, '"')
			values = append(values, text)
		case c >= '0' && c <= '9':
			for size < len(line) && line[size] >= '0' && line[size] <= '9' {
				size++
			}
			form = append(form, slot)
			values = append(values, line[:size])
		default:
			form = append(form, c)
		}
		line = line[size:]
	}
	return append(form, line...), values
}

func hasDigit(text []byte) bool {
	for _, c := range text {
		if c >= '0' && c <= '9' {
			return true
		}
	}
	return false
}

func appendField(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendColumn writes values in the form that fits all of them; there is at least one.
func appendColumn(b []byte, values [][]byte) []byte {
	i := 1
	for i < len(values) && bytes.Equal(values[i], values[0]) {
		i++
	}
	if i == len(values) {
		return appendField(append(b, columnSame), values[0])
	}
	begun := len(b)
	if b, ok := appendTimes(append(b, columnTime), values); ok {
		return b
	}
	if b, ok := appendCounts(append(b[:begun], columnCount), values); ok {
		return b
	}
	b = append(b[:begun], columnText)
	for _, v := range values {
		b = appendField(b, v)
	}
	return b
}

// appendTimes reports whether all values are times.
func appendTimes(b []byte, values [][]byte) ([]byte, bool) {
	var reads clockReader
	var writes clockWriter
	var buf [32]byte
	before := market.Time(0)
	for i, v := range values {
		if i > 0 && bytes.Equal(v, values[i-1]) {
			b = append(b, 0)
			continue
		}
		at, ok := reads.read(v)
		if !ok || !bytes.Equal(writes.append(buf[:0], at), v) {
			return b, false
		}
		b = binary.AppendVarint(b, int64(at-before))
		before = at
	}
	return b, true
}

// maxDigits is of integers that are written as such.
const maxDigits = 18

// appendCounts reports whether all values are a common prefix and an integer.
func appendCounts(b []byte, values [][]byte) ([]byte, bool) {
	prefix := values[0]
	for len(prefix) > 0 && prefix[len(prefix)-1] >= '0' && prefix[len(prefix)-1] <= '9' {
		prefix = prefix[:len(prefix)-1]
	}
	number := values[0][len(prefix):]
	width := 0
	if len(number) > 1 && number[0] == '0' {
		width = len(number)
	}
	b = append(appendField(b, prefix), byte(width))
	before := int64(0)
	for _, v := range values {
		if len(v) <= len(prefix) || !bytes.HasPrefix(v, prefix) || len(v) > len(prefix)+maxDigits {
			return b, false
		}
		text := v[len(prefix):]
		n := int64(0)
		for i := range len(text) {
			if text[i] < '0' || text[i] > '9' {
				return b, false
			}
			n = n*10 + int64(text[i]-'0')
		}
		if len(text) < width || text[0] == '0' && len(text) > max(width, 1) {
			return b, false
		}
		b = binary.AppendVarint(b, n-before)
		before = n
	}
	return b, true
}
