package selection

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
)

const (
	// keptMagic begins the file. Behind it are blocks: the length of the body (4 bytes, big-endian), its
	// SHA-256, and the body, deflated. In it stand the number of trials, the number of columns, and the
	// columns by name: name, kind, a byte for each trial (1 where it has a value), and the values.
	keptMagic = "ASSAYTC1"
	// keptRows is how many trials a finished file has in a block.
	keptRows = 256

	blockHead = 4 + sha256.Size
	// maxKeptBlock is the longest body in bytes, before and after it is inflated.
	maxKeptBlock = 256 << 20
)

// How the values of a column are written. Integers are varints.
const (
	keptText    byte = iota // length and bytes
	keptHash                // 32 bytes
	keptNumber              // the bits of a float64, the first bytes of all of them first
	keptReturns             // lengths; a byte for each return, 1 if it is not 0; those as keptNumber
)

// cells are the values of one trial by column: string, hash, float64 or []float64.
type cells map[string]any

type hash string // in hex

func (k *Kept) cells() cells {
	c := cells{"index": float64(k.Index), "run": k.RunID, "result": hash(k.ResultHash),
		"decisions": hash(k.DecisionHash)}
	var order []string
	for i := range k.Splits {
		s := &k.Splits[i]
		order = append(order, s.ID)
		at := "split/" + s.ID
		c[at+"/role"], c[at+"/status"], c[at+"/decisions"] = s.Role, s.Status, hash(s.DecisionHash)
		c.metrics(at, s.Metrics)
	}
	c["splits"] = strings.Join(order, " ")
	if w := k.WalkForward; w != nil {
		c["whole/windows"], c["whole/days"] = float64(w.Windows), float64(w.Days)
		c["whole/semantics"], c["whole/sample"], c["whole/calendar"] = w.Meta.Semantics, w.Meta.Sample,
			w.Meta.Calendar
		c["whole/returns"], c["whole/ddof"] = float64(w.Meta.NReturns), float64(w.Meta.DDOF)
		c["whole/periods"], c["whole/candles"] = w.Meta.PeriodsPerYear, w.Meta.CandlePeriodsPerYear
		c["whole/risk_free"] = w.Meta.RiskFree
		list := slices.Clone(w.Metrics)
		for i := range list {
			if why := w.Meta.Undefined[list[i].Key]; why != "" {
				list[i].Reason = why
			}
		}
		c.metrics("whole", list)
	}
	if s := k.Daily; s != nil {
		c["daily/calendar"], c["daily/exposure"], c["daily/returns"] = string(s.calendar()), s.NetExposure,
			s.Return
	}
	return c
}

// metrics adds each metric as a number, or as the reason why it has none.
func (c cells) metrics(at string, list metric.Values) {
	for _, v := range list {
		if v.Reason == "" {
			c[at+"/metric/"+v.Key] = v.Number
		} else {
			c[at+"/undefined/"+v.Key] = string(v.Reason)
		}
	}
}

// WriteKept writes trials, which are in their order, as a finished file.
func WriteKept(w io.Writer, list []*Kept) error {
	if _, err := io.WriteString(w, keptMagic); err != nil {
		return err
	}
	for part := range slices.Chunk(list, keptRows) {
		block, err := encodeKept(part)
		if err != nil {
			return err
		}
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	return nil
}

func encodeKept(list []*Kept) ([]byte, error) {
	rows := make([]cells, len(list))
	names := map[string]bool{}
	for i, k := range list {
		rows[i] = k.cells()
		for name := range rows[i] {
			names[name] = true
		}
	}
	b := binary.AppendUvarint(nil, uint64(len(rows)))
	b = binary.AppendUvarint(b, uint64(len(names)))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var err error
		if b, err = appendCells(b, name, rows); err != nil {
			return nil, err
		}
	}
	if len(b) > maxKeptBlock {
		return nil, fmt.Errorf("%d trials take %d bytes, more than %d", len(list), len(b), maxKeptBlock)
	}
	var body bytes.Buffer
	z, err := flate.NewWriter(&body, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(b); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body.Bytes())
	out := binary.BigEndian.AppendUint32(nil, uint32(body.Len()))
	return append(append(out, sum[:]...), body.Bytes()...), nil
}

func appendCells(b []byte, name string, rows []cells) ([]byte, error) {
	var values []any
	has := make([]byte, len(rows))
	for i, c := range rows {
		if v := c[name]; v != nil {
			has[i] = 1
			values = append(values, v)
		}
	}
	b = append(append(appendKeptText(b, name), kindOf(values[0])), has...)
	var bits []uint64
	var series [][]float64
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b = appendKeptText(b, v)
		case hash:
			sum, err := hex.DecodeString(string(v))
			if err != nil || len(sum) != sha256.Size {
				return nil, fmt.Errorf("%s %q is not a SHA-256", name, v)
			}
			b = append(b, sum...)
		case float64:
			bits = append(bits, math.Float64bits(v))
		case []float64:
			b, series = binary.AppendUvarint(b, uint64(len(v))), append(series, v)
		}
	}
	if series != nil {
		return appendReturns(b, series), nil
	}
	return appendPlanes(b, bits), nil
}

func kindOf(v any) byte {
	switch v.(type) {
	case hash:
		return keptHash
	case float64:
		return keptNumber
	case []float64:
		return keptReturns
	}
	return keptText
}

func appendKeptText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendPlanes writes the first bytes of all numbers, then the second ones: neighbours are alike.
func appendPlanes(b []byte, bits []uint64) []byte {
	for shift := 56; shift >= 0; shift -= 8 {
		for _, x := range bits {
			b = append(b, byte(x>>shift))
		}
	}
	return b
}

// appendReturns writes series day by day: trials that hold the same on a day return nearly the same, so that
// each number but 0 is written as what differs from the one before on this day.
func appendReturns(b []byte, series [][]float64) []byte {
	var bits []uint64
	before, day := uint64(0), -1
	for at, x := range eachReturn(series) {
		if at != day {
			before, day = 0, at
		}
		now := math.Float64bits(*x)
		if now == 0 {
			b = append(b, 0)
			continue
		}
		b, bits, before = append(b, 1), append(bits, now^before), now
	}
	return appendPlanes(b, bits)
}

// eachReturn gives the returns of series with the number of their day, those of one day together.
func eachReturn(series [][]float64) iter.Seq2[int, *float64] {
	return func(yield func(int, *float64) bool) {
		left := slices.Clone(series)
		for day := 0; len(left) > 0; day++ {
			left = slices.DeleteFunc(left, func(s []float64) bool { return len(s) <= day })
			for _, s := range left {
				if !yield(day, &s[day]) {
					return
				}
			}
		}
	}
}

var errKept = errors.New("the block is damaged")

// block reads the first block of a text, and says how long it is.
func (d *Decoder) block(text []byte) ([]*Kept, int, error) {
	if len(text) < blockHead {
		return nil, 0, io.ErrUnexpectedEOF
	}
	size := int64(binary.BigEndian.Uint32(text))
	if size > maxKeptBlock {
		return nil, 0, errKept
	}
	if size > int64(len(text)-blockHead) {
		return nil, 0, io.ErrUnexpectedEOF
	}
	body := text[blockHead : blockHead+int(size)]
	if sha256.Sum256(body) != [sha256.Size]byte(text[4:blockHead]) {
		return nil, 0, errKept
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body)), maxKeptBlock+1))
	if err != nil || len(plain) > maxKeptBlock {
		return nil, 0, errKept
	}
	list, err := d.rows(plain)
	return list, blockHead + int(size), err
}

func (d *Decoder) rows(text []byte) ([]*Kept, error) {
	r := &blockReader{text: text}
	rows := make([]cells, r.count(len(text)))
	for i := range rows {
		rows[i] = cells{}
	}
	last := ""
	for n := r.count(len(text)); n > 0 && !r.bad; n-- {
		name := r.field()
		if r.bad = r.bad || name <= last; r.bad {
			break
		}
		last = name
		r.column(name, rows)
	}
	if r.bad || len(r.text) > 0 {
		return nil, errKept
	}
	list := make([]*Kept, len(rows))
	for i, c := range rows {
		var err error
		if list[i], err = d.kept(c); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// blockReader takes values off a text.
type blockReader struct {
	text []byte
	bad  bool
}

func (r *blockReader) count(most int) int {
	n, size := binary.Uvarint(r.text)
	if size <= 0 || most < 0 || n > uint64(most) {
		r.bad = true
		return 0
	}
	r.text = r.text[size:]
	return int(n)
}

func (r *blockReader) take(n int) []byte {
	if r.bad || n > len(r.text) {
		r.bad = true
		return nil
	}
	out := r.text[:n]
	r.text = r.text[n:]
	return out
}

func (r *blockReader) field() string { return string(r.take(r.count(len(r.text)))) }

func (r *blockReader) column(name string, rows []cells) {
	kind := r.take(1)
	has := r.take(len(rows))
	if r.bad {
		return
	}
	var with []cells
	for i, c := range rows {
		if has[i] > 1 {
			r.bad = true
			return
		}
		if has[i] == 1 {
			with = append(with, c)
		}
	}
	switch kind[0] {
	case keptText:
		for _, c := range with {
			c[name] = r.field()
		}
	case keptHash:
		for _, c := range with {
			c[name] = hash(hex.EncodeToString(r.take(sha256.Size)))
		}
	case keptNumber:
		bits := r.planes(len(with))
		for i, c := range with {
			if !r.bad {
				c[name] = math.Float64frombits(bits[i])
			}
		}
	case keptReturns:
		series, all := make([][]float64, len(with)), 0
		for i, c := range with {
			n := r.count(len(r.text) - all) // each takes a byte at least
			all += n
			series[i] = make([]float64, n)
			c[name] = series[i]
		}
		r.returns(series, all)
	default:
		r.bad = true
	}
}

func (r *blockReader) planes(n int) []uint64 {
	if r.bad || n > len(r.text)/8 {
		r.bad = true
		return nil
	}
	out := make([]uint64, n)
	for range 8 {
		for i, b := range r.take(n) {
			out[i] = out[i]<<8 | uint64(b)
		}
	}
	return out
}

// returns reads as many returns as the series have.
func (r *blockReader) returns(series [][]float64, all int) {
	has := r.take(all)
	bits := r.planes(bytes.Count(has, []byte{1}))
	before, day, i := uint64(0), -1, 0
	for at, x := range eachReturn(series) {
		if r.bad {
			return
		}
		if at != day {
			before, day = 0, at
		}
		if has[i] > 1 || has[i] == 1 && bits[0] == before {
			r.bad = true
			return
		}
		if has[i] == 1 {
			before ^= bits[0]
			*x, bits = math.Float64frombits(before), bits[1:]
		}
		i++
	}
}

// kept makes a trial of its cells.
func (d *Decoder) kept(c cells) (*Kept, error) {
	r := &cellReader{cells: c}
	k := &Kept{Index: r.integer("index"), RunID: r.text("run"), ResultHash: r.hash("result"),
		DecisionHash: r.hash("decisions")}
	for _, id := range strings.Fields(r.text("splits")) {
		at := "split/" + id
		k.Splits = append(k.Splits, artifact.SplitReport{ID: id, Role: r.text(at + "/role"),
			Status: r.text(at + "/status"), DecisionHash: r.hash(at + "/decisions")})
		s := &k.Splits[len(k.Splits)-1]
		s.Metrics, s.Meta.Undefined = r.metrics(at)
	}
	if _, has := c["whole/windows"]; has {
		w := &artifact.WalkForward{Windows: r.integer("whole/windows"), Days: r.integer("whole/days"),
			Meta: metric.Meta{Semantics: r.text("whole/semantics"), Sample: r.text("whole/sample"),
				Calendar: r.text("whole/calendar"), NReturns: r.integer("whole/returns"),
				DDOF: r.integer("whole/ddof"), PeriodsPerYear: r.number("whole/periods"),
				CandlePeriodsPerYear: r.number("whole/candles"), RiskFree: r.number("whole/risk_free")}}
		w.Metrics, w.Meta.Undefined = r.metrics("whole")
		k.WalkForward = w
	}
	if _, has := c["daily/returns"]; has && !r.bad {
		returns, ok := c["daily/returns"].([]float64)
		days, err := d.days([]byte(r.text("daily/calendar")))
		if !ok || err != nil || len(days.Date) != len(returns) {
			return nil, errKept
		}
		k.Daily = &Series{Date: days.Date, From: days.From, To: days.To, Return: returns,
			NetExposure: r.number("daily/exposure")}
		for _, x := range append([]float64{k.Daily.NetExposure}, returns...) {
			if _, why := stat.Finite(x); why != "" {
				return nil, errKept
			}
		}
	}
	if r.bad || k.RunID == "" || k.Index < 0 {
		return nil, errKept
	}
	return k, nil
}

// cellReader takes the cells of a trial by their names.
type cellReader struct {
	cells
	bad bool
}

func cellOf[T any](r *cellReader, name string) T {
	v, ok := r.cells[name].(T)
	r.bad = r.bad || !ok
	return v
}

func (r *cellReader) text(name string) string    { return cellOf[string](r, name) }
func (r *cellReader) hash(name string) string    { return string(cellOf[hash](r, name)) }
func (r *cellReader) number(name string) float64 { return cellOf[float64](r, name) }

func (r *cellReader) integer(name string) int {
	x := r.number(name)
	if x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
		r.bad = true
		return 0
	}
	return int(x)
}

// metrics are in the order of metric.All.
func (r *cellReader) metrics(at string) (list metric.Values, undefined map[string]metric.Reason) {
	undefined = map[string]metric.Reason{}
	for _, m := range metric.All() {
		if _, has := r.cells[at+"/metric/"+m.Key]; has {
			list = append(list, metric.Value{Key: m.Key, Number: r.number(at + "/metric/" + m.Key)})
		} else if _, has := r.cells[at+"/undefined/"+m.Key]; has {
			why := metric.Reason(r.text(at + "/undefined/" + m.Key))
			list, undefined[m.Key] = append(list, metric.Value{Key: m.Key, Reason: why}), why
		}
	}
	return list, undefined
}
