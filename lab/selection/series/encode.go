package series

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// encodingVersion is the first byte of an encoded series.
const encodingVersion = 1

// Encode is the series as it is kept: a version, the length of the calendar, the calendar,
// the net exposure, the returns. Numbers are the bits of float64, big-endian. The calendar
// is the columns of times one after the other, each as the varints of how much a step is
// longer than the one before: a byte a day.
func (s *Series) Encode() []byte {
	calendar := binary.AppendUvarint(nil, uint64(len(s.Return)))
	for _, column := range [][]market.Time{s.Date, s.From, s.To} {
		var last, step int64
		for _, t := range column {
			now := int64(t) - last
			calendar = binary.AppendVarint(calendar, now-step)
			last, step = int64(t), now
		}
	}
	out := binary.AppendUvarint([]byte{encodingVersion}, uint64(len(calendar)))
	out = append(out, calendar...)
	out = binary.BigEndian.AppendUint64(out, math.Float64bits(s.NetExposure))
	for _, r := range s.Return {
		out = binary.BigEndian.AppendUint64(out, math.Float64bits(r))
	}
	return out
}

var errEncoding = errors.New("this is no encoded series")

// Decoder reads encoded series. Those on equal days share them.
type Decoder struct{ known map[string]*Series }

// Decode reads what Encode has written.
func (d *Decoder) Decode(text []byte) (*Series, error) {
	if len(text) == 0 || text[0] != encodingVersion {
		return nil, errEncoding
	}
	length, n := binary.Uvarint(text[1:])
	if n <= 0 || length > uint64(len(text)-1-n) {
		return nil, errEncoding
	}
	calendar, rest := text[1+n:1+n+int(length)], text[1+n+int(length):]
	days, known := d.known[string(calendar)]
	if !known {
		var err error
		if days, err = readCalendar(calendar); err != nil {
			return nil, err
		}
		if d.known == nil {
			d.known = map[string]*Series{}
		}
		d.known[string(calendar)] = days
	}
	if len(rest) != 8*(1+len(days.Date)) {
		return nil, errEncoding
	}
	number := func(i int) float64 { return math.Float64frombits(binary.BigEndian.Uint64(rest[8*i:])) }
	out := &Series{Date: days.Date, From: days.From, To: days.To, NetExposure: number(0), Return: make([]float64, len(days.Date))}
	for i := range out.Return {
		out.Return[i] = number(i + 1)
		if _, why := stat.Finite(out.Return[i]); why != "" {
			return nil, errEncoding
		}
	}
	if _, why := stat.Finite(out.NetExposure); why != "" {
		return nil, errEncoding
	}
	return out, nil
}

// readCalendar reads the columns of times.
func readCalendar(text []byte) (*Series, error) {
	count, n := binary.Uvarint(text)
	if n <= 0 || count > uint64(len(text)) {
		return nil, errEncoding
	}
	text = text[n:]
	s := &Series{}
	for _, column := range []*[]market.Time{&s.Date, &s.From, &s.To} {
		*column = make([]market.Time, count)
		var last, step int64
		for i := range *column {
			more, n := binary.Varint(text)
			if n <= 0 {
				return nil, errEncoding
			}
			text = text[n:]
			step += more
			last += step
			(*column)[i] = market.Time(last)
		}
	}
	if len(text) > 0 {
		return nil, errEncoding
	}
	return s, nil
}
