package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Bounds on the file of an input.
const (
	MaxInputRows  = 1_000_000
	maxInputBytes = 256 << 20
)

// InputOptions are how the file of an input is read.
type InputOptions struct {
	// Zone is where times without offset belong; nil refuses them.
	Zone *time.Location
	// KnownDelay is how long after its time each value became known, for a file that does not say;
	// nil refuses such a file.
	KnownDelay *time.Duration
}

// inputColumns are the columns of an input by name.
var inputColumns = [...]string{"time", "known", "value"}

// ReadInput reads the rows of an input: text with a header that names time, known and value. The
// rows ascend by market.CompareInputRows; equal ones are one. A refusal is a *Error, an impossible
// option a *OptionError.
func ReadInput(in Input, o InputOptions) ([]market.InputRow, FileReport, error) {
	report := FileReport{Name: in.Name}
	if d := o.KnownDelay; d != nil && (*d < 0 || *d%time.Millisecond != 0) {
		return nil, report, &OptionError{Flag: "--known-delay",
			Message: "must be whole milliseconds and not below 0: nothing is known before its time"}
	}
	f, err := in.Open()
	if err != nil {
		return nil, report, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxInputBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, report, err
	}
	if len(text) > maxInputBytes {
		return nil, report, Refuse(TooLarge, "the file has more than %d MiB", maxInputBytes>>20)
	}
	sum := sha256.Sum256(text)
	report.SHA256, report.Bytes = hex.EncodeToString(sum[:]), int64(len(text))
	r := inputReader{file: in.Name, options: o}
	if err := r.read(bytes.TrimPrefix(text, []byte("\ufeff"))); err != nil {
		return nil, report, err
	}
	rows, err := JoinInputs(r.rows)
	return rows, report, err
}

// inputReader reads one file.
type inputReader struct {
	file    string
	options InputOptions
	at      [len(inputColumns)]int // columns; known is -1 where there is none
	rows    []market.InputRow
}

func (r *inputReader) read(text []byte) error {
	head, _, _ := bytes.Cut(text, []byte("\n"))
	table := csv.NewReader(bytes.NewReader(text))
	table.Comma, table.ReuseRecord, table.TrimLeadingSpace = rune(Comma(string(head))), true, true
	names, err := table.Read()
	if errors.Is(err, io.EOF) {
		return Refuse(NoRows, "the file is empty")
	}
	if err == nil {
		err = r.header(names)
	}
	for err == nil {
		var cells []string
		if cells, err = table.Read(); err != nil {
			break
		}
		line, _ := table.FieldPos(0)
		if err = r.row(cells, line); err == nil && len(r.rows) > MaxInputRows {
			err = Refuse(TooLarge, "the file has more than %d rows", MaxInputRows)
		}
	}
	var bad *csv.ParseError
	switch {
	case errors.As(err, &bad):
		return Refuse(Encoding, "the file is no table: %v", bad.Err).At(r.file, bad.Line, "")
	case !errors.Is(err, io.EOF):
		return err
	case len(r.rows) == 0:
		return Refuse(NoRows, "the file has a header and no row")
	}
	return nil
}

func (r *inputReader) header(names []string) error {
	for i := range names {
		names[i] = strings.ToLower(strings.TrimSpace(names[i]))
	}
	for i, name := range inputColumns {
		r.at[i] = slices.Index(names, name)
	}
	missing := ""
	switch {
	case r.at[0] < 0:
		missing = inputColumns[0]
	case r.at[2] < 0:
		missing = inputColumns[2]
	case r.at[1] < 0 && r.options.KnownDelay == nil:
		return Refuse(ColumnsMissing,
			"the header has no column known, when each value became known: add it, or say how long after "+
				"its time that was, such as --known-delay 1h")
	case r.at[1] >= 0 && r.options.KnownDelay != nil:
		return &OptionError{Flag: "--known-delay",
			Message: "the file says when each value became known: leave the option out"}
	}
	if missing != "" {
		return Refuse(ColumnsMissing, "the header has no column %s: it must name time, known and value",
			missing).At(r.file, 1, strings.Join(names, ","))
	}
	return nil
}

// row keeps one row. The error is a *Error.
func (r *inputReader) row(cells []string, line int) error {
	var out market.InputRow
	for i, into := range []*market.Time{&out.Time, &out.Known} {
		if r.at[i] < 0 {
			out.Known = out.Time.Add(*r.options.KnownDelay)
			continue
		}
		var code Code
		cell := cells[r.at[i]]
		if *into, _, code = Moment([]byte(cell), r.options.Zone); code != "" {
			return refusedTime(code, inputColumns[i]).At(r.file, line, cell)
		}
	}
	cell := strings.TrimSpace(cells[r.at[2]])
	value, state := Number([]byte(cell))
	if state != Good || math.IsInf(value, 0) || math.IsNaN(value) {
		return Refuse(BadNumber, "a value is not a number: leave out rows without one").At(r.file, line, cell)
	}
	out.Value = value
	r.rows = append(r.rows, out)
	return nil
}

func refusedTime(code Code, column string) *Error {
	text := map[Code]string{
		TimezoneRequired: "the column %s has times without offset: name their zone with --tz",
		TimeOutOfRange:   "the column %s has a time that is not in the years 1970 to 2100",
		TimeNotInteger:   "the column %s has a time with an exponent or a fraction: export it again",
	}[code]
	if text == "" {
		text = "the column %s has a cell that is no time"
	}
	return Refuse(code, text, column)
}

// JoinInputs puts rows in order and leaves out those that are there twice. Two values of one time
// that became known at once are a *Error.
func JoinInputs(lists ...[]market.InputRow) ([]market.InputRow, error) {
	rows := slices.Concat(lists...)
	slices.SortStableFunc(rows, market.CompareInputRows)
	rows = slices.Compact(rows)
	for i := 1; i < len(rows); i++ {
		if a, b := rows[i-1], rows[i]; market.CompareInputRows(a, b) == 0 {
			return nil, Refuse(ConflictingDuplicates,
				"%s has the values %v and %v, both known at %s: a revision is known later", a.Time, a.Value,
				b.Value, a.Known)
		}
	}
	if len(rows) > MaxInputRows {
		return nil, Refuse(TooLarge, "there are more than %d rows", MaxInputRows)
	}
	return rows, nil
}

// WriteInput writes rows as they are stored: what ReadInput reads as the same rows, equal rows as
// equal bytes.
func WriteInput(w io.Writer, rows []market.InputRow) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, strings.Join(inputColumns[:], ","))
	for _, r := range rows {
		fmt.Fprintf(b, "%s,%s,%s\n", r.Time, r.Known, strconv.FormatFloat(cmp.Or(r.Value, 0), 'f', -1, 64))
	}
	return b.Flush() // of all that was printed
}
