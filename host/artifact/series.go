package artifact

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// SeriesFile is the name of the file of a split with what its strategy has published: one point per
// series and step, the last of several. It is in no hash but that of the file.
const SeriesFile = "series.columns"

const (
	// seriesMagic begins the file. Behind it, deflated: how many points were left out and how many
	// series there are; of each its name, the number of its points, their times as differences, and
	// their values. Integers are varints, times in Unix milliseconds, values 8 bytes, little endian.
	seriesMagic = "ASSAYSC1"
	// seriesMagicOf begins a file with series of symbols: behind each name is a symbol, which may be empty.
	seriesMagicOf = "ASSAYSC2"

	// maxSeries, maxSeriesName and maxSeriesPoints are more than any run keeps.
	maxSeries       = 1024
	maxSeriesName   = 4096
	maxSeriesPoints = 1 << 25
)

// Published is the content of series.columns.
type Published struct {
	Annotations []Annotation
	// LeftOut counts the points that there was no room for.
	LeftOut int64
}

// Label names the series for people: with its symbol where it has one.
func (a Annotation) Label() string {
	if a.ofSymbol() {
		return fmt.Sprintf("%s of %s", a.Name, a.Symbol)
	}
	return a.Name
}

func (a Annotation) ofSymbol() bool { return a.Symbol != "" }

// SeriesOf returns the series of a symbol by its name, else that of the whole run. Known reports whether
// any has the name: where only other symbols' have, the series is empty.
func SeriesOf(all []Annotation, name string, symbol market.Symbol) (found Annotation, known bool) {
	found = Annotation{Name: name, Symbol: symbol}
	for _, a := range all {
		switch {
		case a.Name != name:
		case a.Symbol == symbol:
			return a, true
		case a.Symbol == "":
			found, known = a, true
		default:
			known = true
		}
	}
	return found, known
}

// inside returns the points after the start of a window, one for each time.
func (p Published) inside(start market.Time) Published {
	out := Published{LeftOut: p.LeftOut}
	for _, a := range p.Annotations {
		if kept := a.inside(start); len(kept.Time) > 0 {
			out.Annotations = append(out.Annotations, kept)
		}
	}
	return out
}

// inside returns the points after a time, of those that follow each other with the same time the last one. It
// shares them where the times ascend, as nearly all do.
func (a Annotation) inside(start market.Time) Annotation {
	if a.ascends() {
		from, _ := slices.BinarySearch(a.Time, start+1)
		a.Time, a.Values = a.Time[from:], a.Values[from:]
		return a
	}
	kept := Annotation{Name: a.Name, Symbol: a.Symbol}
	for i, at := range a.Time {
		if at <= start || i+1 < len(a.Time) && a.Time[i+1] == at {
			continue
		}
		kept.Time, kept.Values = append(kept.Time, at), append(kept.Values, a.Values[i])
	}
	return kept
}

func (a Annotation) ascends() bool {
	for i := 1; i < len(a.Time); i++ {
		if a.Time[i] <= a.Time[i-1] {
			return false
		}
	}
	return true
}

// WriteSeries writes series.columns.
func WriteSeries(w io.Writer, p Published) error {
	magic, ofSymbols := seriesMagic, slices.ContainsFunc(p.Annotations, Annotation.ofSymbol)
	if ofSymbols {
		magic = seriesMagicOf
	}
	if _, err := io.WriteString(w, magic); err != nil {
		return err
	}
	z, err := flate.NewWriter(w, flate.DefaultCompression)
	if err != nil {
		return err
	}
	b := binary.AppendUvarint(nil, uint64(p.LeftOut))
	b = binary.AppendUvarint(b, uint64(len(p.Annotations)))
	for _, a := range p.Annotations {
		b = append(binary.AppendUvarint(b, uint64(len(a.Name))), a.Name...)
		if ofSymbols {
			b = append(binary.AppendUvarint(b, uint64(len(a.Symbol))), a.Symbol...)
		}
		b = binary.AppendUvarint(b, uint64(len(a.Time)))
		before := market.Time(0)
		err := errors.Join(writeRows(z, string(b), len(a.Time), func(b []byte, i int) []byte {
			step := a.Time[i] - before
			before = a.Time[i]
			return binary.AppendVarint(b, int64(step))
		}), writeRows(z, "", len(a.Values), func(b []byte, i int) []byte {
			return binary.LittleEndian.AppendUint64(b, math.Float64bits(a.Values[i]))
		}))
		if err != nil {
			return err
		}
		b = b[:0]
	}
	if _, err := z.Write(b); err != nil {
		return err
	}
	return z.Close()
}

// ReadSeries reads series.columns. Times ascend and values are finite.
func ReadSeries(text []byte) (Published, error) {
	body, ok := bytes.CutPrefix(text, []byte(seriesMagic))
	ofSymbols := false
	if !ok {
		body, ofSymbols = bytes.CutPrefix(text, []byte(seriesMagicOf))
	}
	if !ok && !ofSymbols {
		return Published{}, fmt.Errorf("it does not begin with %s", seriesMagic)
	}
	r := &seriesReader{in: bufio.NewReader(flate.NewReader(bytes.NewReader(body)))}
	p := Published{LeftOut: int64(r.count(math.MaxInt64))}
	known := map[[2]string]bool{}
	for range r.count(maxSeries) {
		a := r.series(ofSymbols)
		if r.err != nil {
			break
		}
		key := [2]string{a.Name, string(a.Symbol)}
		if a.Name == "" || known[key] {
			return Published{}, fmt.Errorf("the series %.80q has no name of its own", a.Label())
		}
		known[key] = true
		p.Annotations = append(p.Annotations, a)
	}
	if r.err != nil {
		return Published{}, r.err
	}
	if ofSymbols && !slices.ContainsFunc(p.Annotations, Annotation.ofSymbol) {
		return Published{}, errors.New("no series is of a symbol")
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return Published{}, errors.New("there is more after the last series")
	}
	return p, nil
}

// seriesReader reads until its first error.
type seriesReader struct {
	in     *bufio.Reader
	points uint64
	err    error
}

func (r *seriesReader) fail(err error) {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if r.err == nil {
		r.err = err
	}
}

// count reads a number up to most.
func (r *seriesReader) count(most uint64) uint64 {
	if r.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(r.in)
	if err == nil && n > most {
		err = fmt.Errorf("%d is more than %d", n, most)
	}
	if err != nil {
		r.fail(err)
		return 0
	}
	return n
}

func (r *seriesReader) text() string {
	text := make([]byte, r.count(maxSeriesName))
	if _, err := io.ReadFull(r.in, text); err != nil {
		r.fail(err)
	}
	return string(text)
}

// series reads one. It grows with what is there, not with what a number promises.
func (r *seriesReader) series(ofSymbol bool) (a Annotation) {
	a.Name = r.text()
	if ofSymbol {
		a.Symbol = market.Symbol(r.text())
	}
	n := r.count(maxSeriesPoints - r.points)
	r.points += n
	at := int64(0)
	for i := uint64(0); i < n && r.err == nil; i++ {
		step, err := binary.ReadVarint(r.in)
		if err == nil && i > 0 && (step <= 0 || at > math.MaxInt64-step) {
			err = fmt.Errorf("the times of %.40q do not ascend", a.Name)
		}
		if err != nil {
			r.fail(err)
			return a
		}
		at += step
		a.Time = append(a.Time, market.Time(at))
	}
	var cell [8]byte
	for i := uint64(0); i < n && r.err == nil; i++ {
		if _, err := io.ReadFull(r.in, cell[:]); err != nil {
			r.fail(err)
			return a
		}
		v := math.Float64frombits(binary.LittleEndian.Uint64(cell[:]))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			r.fail(fmt.Errorf("a value of %.40q is not finite", a.Name))
		}
		a.Values = append(a.Values, v)
	}
	return a
}
