package artifact

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// decisionsReader gives the lines of decisions.columns. It holds a block of them at a time.
type decisionsReader struct {
	in    *bufio.Reader
	block []byte // what is still to give
	total int64
	err   error
}

// NewDecisionsReader reads the lines that a DecisionsWriter has written. Whatever a file promises, it holds
// little more than one block of lines.
func NewDecisionsReader(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	magic, err := in.Peek(len(decisionsMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(magic) != decisionsMagic {
		return nil, fmt.Errorf("it does not begin with %s", decisionsMagic)
	}
	_, _ = in.Discard(len(decisionsMagic)) // it is there
	return &decisionsReader{in: bufio.NewReader(flate.NewReader(in))}, nil
}

// Read implements io.Reader.
func (d *decisionsReader) Read(b []byte) (int, error) {
	for len(d.block) == 0 && d.err == nil {
		d.next()
	}
	if len(d.block) == 0 {
		return 0, d.err
	}
	n := copy(b, d.block)
	d.block = d.block[n:]
	return n, nil
}

func (d *decisionsReader) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("the decisions are damaged: "+format, args...)
	}
}

// next reads a block.
func (d *decisionsReader) next() {
	lines := d.count(maxBlockLines)
	if lines == 0 {
		if _, err := d.in.ReadByte(); d.err == nil && !errors.Is(err, io.EOF) {
			d.fail("there is more behind the last line")
		}
		if d.err == nil {
			d.err = io.EOF
		}
		return
	}
	shapes := make([]*shape, d.count(lines))
	budget := maxBlockText + maxLineText
	for i := range shapes {
		shapes[i] = &shape{text: d.field(&budget)}
		shapes[i].columns = make([][][]byte, bytes.Count(shapes[i].text, []byte{slot}))
	}
	order, uses := make([]int, lines), make([]int, len(shapes))
	for i := range order {
		if order[i] = d.count(len(shapes)); d.err == nil && order[i] == len(shapes) {
			d.fail("a line has a shape that is not there")
		}
		if d.err != nil {
			return
		}
		uses[order[i]]++
	}
	budget = maxBlockText + maxLineText
	for i, s := range shapes {
		if uses[i] == 0 {
			d.fail("a shape has no line")
		}
		if budget -= uses[i] * len(s.text); budget < 0 {
			d.fail("a block is too large")
		}
		for k := range s.columns {
			s.columns[k] = d.column(uses[i], &budget)
			if d.err != nil {
				return
			}
		}
	}
	if d.err == nil {
		d.put(shapes, order)
	}
}

// put makes the lines of a block.
func (d *decisionsReader) put(shapes []*shape, order []int) {
	d.block = d.block[:0]
	row := make([]int, len(shapes))
	for _, i := range order {
		rest := shapes[i].text
		for _, column := range shapes[i].columns {
			before, after, _ := bytes.Cut(rest, []byte{slot})
			d.block = append(append(d.block, before...), column[row[i]]...)
			rest = after
		}
		d.block = append(append(d.block, rest...), '\n')
		row[i]++
	}
	if d.total += int64(len(d.block)); d.total > maxDecisionText {
		d.block = nil
		d.fail("there are more than %d bytes of lines", int64(maxDecisionText))
	}
}

// count reads a number up to most, 0 after an error.
func (d *decisionsReader) count(most int) int {
	if d.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(d.in)
	if err == nil && n > uint64(most) {
		err = fmt.Errorf("%d is more than %d", n, most)
	}
	if err != nil {
		d.fail("%w", unexpected(err))
		return 0
	}
	return int(n)
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// field reads a text, which draws on the budget.
func (d *decisionsReader) field(budget *int) []byte {
	n := d.count(*budget)
	*budget -= n
	text := make([]byte, n)
	if _, err := io.ReadFull(d.in, text); d.err == nil && err != nil {
		d.fail("%w", unexpected(err))
	}
	return text
}

// column reads n values, which draw on the budget.
func (d *decisionsReader) column(n int, budget *int) [][]byte {
	if d.err != nil {
		return nil
	}
	kind, err := d.in.ReadByte()
	if err != nil {
		d.fail("%w", unexpected(err))
		return nil
	}
	values := make([][]byte, n)
	switch kind {
	case columnText:
		for i := range values {
			values[i] = d.field(budget)
		}
	case columnSame:
		v := d.field(budget)
		if *budget -= (n - 1) * len(v); *budget < 0 {
			d.fail("a block is too large")
			return nil
		}
		for i := range values {
			values[i] = v
		}
	case columnTime:
		d.times(values, budget)
	case columnCount:
		d.counts(values, budget)
	default:
		d.fail("there is no column of kind %d", kind)
	}
	return values
}

// difference reads a number that is the one before and what is added, in [0, most].
func (d *decisionsReader) difference(before, least, most int64) int64 {
	if d.err != nil {
		return before
	}
	step, err := binary.ReadVarint(d.in)
	n := before + step
	switch {
	case err != nil:
		d.fail("%w", unexpected(err))
	case n < least || n > most || step > 0 && n < before || step < 0 && n > before:
		d.fail("a number is out of range")
	default:
		return n
	}
	return before
}

// The first and last time of four digits of a year.
const (
	firstTime = -62_167_219_200_000
	lastTime  = 253_402_300_799_999
)

func (d *decisionsReader) times(values [][]byte, budget *int) {
	var clock clockWriter
	at := int64(0)
	for i := range values {
		at = d.difference(at, firstTime, lastTime)
		values[i] = clock.append(nil, market.Time(at))
		if *budget -= len(values[i]); *budget < 0 || at == 0 {
			d.fail("a block is too large, or a time is none")
		}
		if d.err != nil {
			return
		}
	}
}

func (d *decisionsReader) counts(values [][]byte, budget *int) {
	prefix := d.field(budget)
	width := d.count(maxDigits)
	n := int64(0)
	var digits [20]byte
	for i := range values {
		n = d.difference(n, 0, 999_999_999_999_999_999)
		number := strconv.AppendInt(digits[:0], n, 10)
		text := append(make([]byte, 0, len(prefix)+max(width, len(number))), prefix...)
		for range width - len(number) {
			text = append(text, '0')
		}
		values[i] = append(text, number...)
		if *budget -= len(values[i]); *budget < 0 {
			d.fail("a block is too large")
		}
		if d.err != nil {
			return
		}
	}
}

// DecisionLines returns the decision lines of a split as they were written, from a folder whose files are
// not held against their hashes; fs.ErrNotExist where there are none.
func DecisionLines(dir, splitID string) ([]byte, error) {
	folder := filepath.Join(dir, "splits", splitID)
	text, err := os.ReadFile(filepath.Join(folder, DecisionLinesFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	if text, err = os.ReadFile(filepath.Join(folder, DecisionsFile)); err != nil {
		return nil, err
	}
	lines, err := NewDecisionsReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(lines)
}

// Decisions opens the decision lines of a split, from a file that is held against size and hash as Open
// does. The caller closes it. The error is fs.ErrNotExist where the split has none.
func (s *Store) Decisions(m *Metadata, splitID string) (io.ReadCloser, error) {
	folder := "splits/" + splitID + "/"
	if _, listed := m.File(folder + DecisionLinesFile); listed {
		return s.Open(m, folder+DecisionLinesFile)
	}
	if _, listed := m.File(folder + DecisionsFile); !listed {
		return nil, fmt.Errorf("run %s has no decisions of a split %q: %w", m.RunID, splitID, fs.ErrNotExist)
	}
	file, err := s.Open(m, folder+DecisionsFile)
	if err != nil {
		return nil, err
	}
	lines, err := NewDecisionsReader(file)
	if err != nil {
		return nil, errors.Join(m.mismatch(folder+DecisionsFile+": "+err.Error()), file.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{lines, file}, nil
}
