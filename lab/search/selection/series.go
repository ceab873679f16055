package selection

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Series is the returns of a stitched walk-forward. All columns have one length.
type Series struct {
	// Date is 00:00 UTC of the day in which the return ends, or the open of its candle
	// where candles are a day or longer. Overlapping windows repeat dates.
	Date   []market.Time
	Return []float64
	// From and To are the step closes between which the return was made.
	From, To []market.Time
	// NetExposure is the mean over the returns of position value over equity at From:
	// negative when more was sold short. Only the ends of days are looked at, so that a
	// compact artifact and a full one agree; what is opened and closed within a day counts
	// as nothing.
	NetExposure float64
}

// SeriesOf stitches curves, each of which begins flat with its own cash. The calendar is that
// of the metrics. The reason is TooFewReturns below the ten day returns that metrics-v1
// takes for its main sample, NotApplicable for an account that had nothing left on its
// first day; the error is a *metric.InputError.
func SeriesOf(tf market.Timeframe, calendar string, curves []Curve) (*Series, stat.Reason, error) {
	in := metric.Input{Timeframe: tf, Calendar: calendar}
	thin := make([]Curve, len(curves))
	for i, c := range curves {
		open := opens(c, tf)
		ends := metric.DayEnds(open)
		thin[i] = c.at(ends)
		if len(ends) > 0 && thin[i].Equity[0] <= 0 {
			return nil, stat.NotApplicable, nil
		}
		window := metric.Curve{CloseTime: thin[i].Time, Equity: thin[i].Equity,
			Exposure: make([]float64, len(ends))}
		for _, k := range ends {
			window.OpenTime = append(window.OpenTime, open[k])
		}
		in.Curves = append(in.Curves, window)
	}
	returns, err := metric.MainReturns(in)
	if err != nil {
		return nil, "", err
	}
	preferDays := tf.Approx() < market.MustTimeframe("1d").Approx() // metrics-v1 does
	if len(returns.Return) == 0 || returns.Sample == metric.SampleCandle && preferDays {
		return nil, stat.TooFewReturns, nil
	}
	out := &Series{Date: returns.Time, Return: returns.Return}
	var exposure stat.Accumulator
	for _, c := range thin {
		for k := 1; k < len(c.Time) && c.Equity[k-1] > 0; k++ {
			out.From, out.To = append(out.From, c.Time[k-1]), append(out.To, c.Time[k])
			exposure.Add(c.Position[k-1] / c.Equity[k-1])
		}
	}
	out.NetExposure = exposure.Value() / float64(len(out.Return))
	if _, why := stat.Finite(out.NetExposure); why != "" {
		return nil, why, nil
	}
	return out, "", nil
}

// opens are when the candles opened that close at the rows of a curve.
func opens(c Curve, tf market.Timeframe) []market.Time {
	out := make([]market.Time, len(c.Time))
	for i, t := range c.Time {
		out[i] = t.Add(-tf.Approx())
	}
	return out
}

func (c Curve) at(rows []int) Curve {
	var out Curve
	for _, k := range rows {
		out.Time = append(out.Time, c.Time[k])
		out.Equity, out.Position = append(out.Equity, c.Equity[k]), append(out.Position, c.Position[k])
	}
	return out
}

// moment is a date and which of its repetitions is meant.
type moment struct {
	at  market.Time
	nth int
}

// Places is where dates stand in a series.
type Places struct {
	of    *Series
	index map[moment]int
}

// Places makes the series ready to be asked for dates.
func (s *Series) Places() *Places {
	p := &Places{of: s, index: make(map[moment]int, len(s.Date))}
	for i, m := range s.moments() {
		p.index[m] = i
	}
	return p
}

// Shared is which of its dates another series has a return on: where they stand, ascending,
// and the returns of the other one there.
func (p *Places) Shared(other *Series) (at []int, returns []float64) {
	if slices.Equal(p.of.Date, other.Date) {
		for i := range other.Date {
			at = append(at, i)
		}
		return at, other.Return
	}
	found := map[int]float64{}
	for i, m := range other.moments() {
		if k, has := p.index[m]; has {
			found[k] = other.Return[i]
		}
	}
	at = slices.Sorted(maps.Keys(found))
	for _, k := range at {
		returns = append(returns, found[k])
	}
	return at, returns
}

func (s *Series) moments() []moment {
	seen := make(map[market.Time]int, len(s.Date))
	out := make([]moment, len(s.Date))
	for i, d := range s.Date {
		out[i] = moment{d, seen[d]}
		seen[d]++
	}
	return out
}

// On finds the returns of s at the dates of another series, in its order: where it has
// one at each of them, the nth at the nth repetition of a date. covers is false
// otherwise. The net exposure stays that of the whole.
func (s *Series) On(other *Series) (_ *Series, covers bool) {
	if slices.Equal(s.Date, other.Date) {
		return s, true
	}
	index := s.Places().index
	out := &Series{NetExposure: s.NetExposure}
	for _, m := range other.moments() {
		i, has := index[m]
		if !has {
			return nil, false
		}
		out.Date, out.Return = append(out.Date, s.Date[i]), append(out.Return, s.Return[i])
		out.From, out.To = append(out.From, s.From[i]), append(out.To, s.To[i])
	}
	return out, true
}

// Candles gives what holding has returned, from the candles of a store. Its methods may
// be called from several goroutines.
type Candles struct {
	store *candle.Store

	mu    sync.Mutex
	known map[string]closes // by hash of the file
}

// closes are the close times and closes of one symbol.
type closes struct {
	time  []market.Time
	price []float64
}

// NewCandles reads from a store, which stays the caller's.
func NewCandles(store *candle.Store) *Candles {
	return &Candles{store: store, known: map[string]closes{}}
}

// Holding is, for each pair of times, the mean over the datasets of what their symbol has
// returned between the last closes at or before either: an equal-weight holding that is
// rebalanced at each of the times. A symbol whose candles begin later is not held yet;
// with none, the return is 0. from and to have one length.
func (c *Candles) Holding(ctx context.Context, exchange string, data []artifact.Dataset, from,
	to []market.Time) ([]float64, error) {
	sums, held := make([]stat.Accumulator, len(from)), make([]float64, len(from))
	for _, d := range data {
		p, err := c.closes(ctx, exchange, d)
		if err != nil {
			return nil, err
		}
		for i := range from {
			if a, b := p.before(from[i]), p.before(to[i]); a >= 0 && b >= 0 {
				sums[i].Add(p.price[b]/p.price[a] - 1)
				held[i]++
			}
		}
	}
	out := make([]float64, len(from))
	for i := range out {
		if held[i] > 0 {
			out[i] = sums[i].Value() / held[i]
		}
	}
	return out, nil
}

// before is the index of the last close at or before t, -1 if there is none.
func (p closes) before(t market.Time) int {
	return sort.Search(len(p.time), func(i int) bool { return p.time[i] > t }) - 1
}

func (c *Candles) closes(ctx context.Context, exchange string, d artifact.Dataset) (closes, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, has := c.known[d.SHA256]; has {
		return p, nil
	}
	tf, err := market.ParseTimeframe(d.Timeframe)
	if err != nil {
		return closes{}, err
	}
	set, err := c.store.Pinned(ctx, exchange, market.Symbol(d.Symbol), tf, d.SHA256)
	if err != nil {
		return closes{}, err
	}
	file, err := c.store.OpenSeries(set)
	if err != nil {
		return closes{}, err
	}
	s := file.Series()
	p := closes{make([]market.Time, s.Len()), make([]float64, s.Len())}
	for i := range p.time {
		p.time[i], p.price[i] = s.CloseTime(i), s.Close[i]
	}
	if err := file.Close(); err != nil {
		return closes{}, err
	}
	c.known[d.SHA256] = p
	return p, nil
}

// encodingVersion is the first byte of an encoded series.
const encodingVersion = 1

// Encode is the series as it is kept: a version, the length of the calendar, the calendar,
// the net exposure, the returns. Numbers are the bits of float64, big-endian. The calendar
// is the columns of times one after the other, each as the varints of how much a step is
// longer than the one before: a byte a day.
func (s *Series) Encode() []byte {
	calendar := s.calendar()
	out := binary.AppendUvarint([]byte{encodingVersion}, uint64(len(calendar)))
	out = append(out, calendar...)
	out = binary.BigEndian.AppendUint64(out, math.Float64bits(s.NetExposure))
	for _, r := range s.Return {
		out = binary.BigEndian.AppendUint64(out, math.Float64bits(r))
	}
	return out
}

func (s *Series) calendar() []byte {
	calendar := binary.AppendUvarint(nil, uint64(len(s.Return)))
	for _, column := range [][]market.Time{s.Date, s.From, s.To} {
		var last, step int64
		for _, t := range column {
			now := int64(t) - last
			calendar = binary.AppendVarint(calendar, now-step)
			last, step = int64(t), now
		}
	}
	return calendar
}

var errEncoding = errors.New("this is not an encoded series")

// Decoder reads encoded series. Those on equal days share them.
type Decoder struct{ known map[string]*Series }

// days reads a calendar once.
func (d *Decoder) days(calendar []byte) (*Series, error) {
	if days, known := d.known[string(calendar)]; known {
		return days, nil
	}
	days, err := readCalendar(calendar)
	if err != nil {
		return nil, err
	}
	if d.known == nil {
		d.known = map[string]*Series{}
	}
	d.known[string(calendar)] = days
	return days, nil
}

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
	days, err := d.days(calendar)
	if err != nil {
		return nil, err
	}
	if len(rest) != 8*(1+len(days.Date)) {
		return nil, errEncoding
	}
	number := func(i int) float64 { return math.Float64frombits(binary.BigEndian.Uint64(rest[8*i:])) }
	out := &Series{Date: days.Date, From: days.From, To: days.To, NetExposure: number(0),
		Return: make([]float64, len(days.Date))}
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
