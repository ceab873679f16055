package wire

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// ChunkSteps is how many steps a chunk has, the last one excepted.
const ChunkSteps = 16384

// ChunksAhead is how many chunks a host sends beyond the plugin's watermark.
const ChunksAhead = 8

const valueBytes = 8

// CandlesWriter packs steps into chunks.
type CandlesWriter struct {
	// Steps is how many steps a chunk has room for; ChunkSteps if zero. A run of many
	// symbols has smaller chunks, so that a message stays below MaxMessageBytes.
	Steps int

	next    int64 // step
	times   []int64
	columns []columns
}

// columns are one symbol's part of a chunk that is being filled.
type columns struct {
	rows    int
	present []byte
	values  [6][]byte // in the order of the message
}

// Add appends a step, at most Steps of them between two calls of Message. The
// slices are indexed like the run's symbols; candles[i] counts only when closed[i]
// is set.
func (w *CandlesWriter) Add(closeTime market.Time, candles []market.Candle, closed []bool) {
	if w.columns == nil {
		w.begin(len(candles))
	}
	n := len(w.times)
	w.times = append(w.times, int64(closeTime))
	w.next++
	for i := range w.columns {
		if closed[i] {
			w.columns[i].add(n, &candles[i])
		}
	}
}

// begin makes room for a whole chunk, in one piece of memory per symbol.
func (w *CandlesWriter) begin(symbols int) {
	steps := cmp.Or(w.Steps, ChunkSteps)
	size := steps * valueBytes
	w.times, w.columns = make([]int64, 0, steps), make([]columns, symbols)
	for i := range w.columns {
		c := &w.columns[i]
		c.present = make([]byte, (steps+7)/8)
		room := make([]byte, len(c.values)*size)
		for k := range c.values {
			c.values[k] = room[k*size : (k+1)*size]
		}
	}
}

func (c *columns) add(step int, candle *market.Candle) {
	at := c.rows * valueBytes
	c.rows++
	c.present[step/8] |= 1 << (step % 8)
	binary.LittleEndian.PutUint64(c.values[0][at:], uint64(candle.OpenTime))
	putFloat(c.values[1][at:], candle.Open)
	putFloat(c.values[2][at:], candle.High)
	putFloat(c.values[3][at:], candle.Low)
	putFloat(c.values[4][at:], candle.Close)
	putFloat(c.values[5][at:], candle.Volume)
}

func putFloat(b []byte, x float64) { binary.LittleEndian.PutUint64(b, math.Float64bits(x)) }

// Len is the number of steps in the chunk so far.
func (w *CandlesWriter) Len() int { return len(w.times) }

// Message hands over the chunk and begins the next one.
func (w *CandlesWriter) Message(last bool) *strategypb.Candles {
	steps := len(w.times)
	chunk := &strategypb.Candles{FirstStep: w.next - int64(steps), CloseTimes: w.times, Last: last}
	for i := range w.columns {
		c := &w.columns[i]
		size := c.rows * valueBytes
		v := &c.values
		s := &strategypb.SymbolCandles{
			OpenTime: v[0][:size], Open: v[1][:size], High: v[2][:size], Low: v[3][:size], Close: v[4][:size],
			Volume: v[5][:size],
		}
		if c.rows < steps {
			s.Present = c.present[:(steps+7)/8]
		}
		chunk.Symbols = append(chunk.Symbols, s)
	}
	w.times, w.columns = nil, nil
	return chunk
}

// CandlesReader unpacks the chunks of a run.
type CandlesReader struct {
	symbols int
	chunk   *strategypb.Candles
	at      int   // step inside the chunk
	row     []int // next row of each symbol
	next    int64 // first step of the chunk that must come
	newest  int64 // close time of the newest step
}

// NewCandlesReader reads chunks of a run over this many symbols.
func NewCandlesReader(symbols int) *CandlesReader {
	return &CandlesReader{symbols: symbols, row: make([]int, symbols), newest: math.MinInt64}
}

// Load checks the next chunk, which must follow the one before.
func (r *CandlesReader) Load(p *strategypb.Candles) error {
	n := len(p.GetCloseTimes())
	if p.GetFirstStep() != r.next {
		return wrong("first_step", "%d, but %d comes next", p.GetFirstStep(), r.next)
	}
	for i, t := range p.GetCloseTimes() {
		if t <= r.newest {
			return wrong(at("close_times", i), "times must ascend")
		}
		r.newest = t
	}
	if n > 0 && len(p.GetSymbols()) != r.symbols {
		return wrong("symbols", "%d columns for %d symbols", len(p.GetSymbols()), r.symbols)
	}
	for i, s := range p.GetSymbols() {
		if err := checkColumns(s, n); err != nil {
			return under(at("symbols", i), err)
		}
	}
	r.chunk, r.at, r.next = p, 0, r.next+int64(n)
	clear(r.row)
	return nil
}

func checkColumns(s *strategypb.SymbolCandles, steps int) error {
	rows := steps
	if present := s.GetPresent(); len(present) > 0 {
		if len(present) != (steps+7)/8 {
			return wrong("present", "%d bytes for %d steps", len(present), steps)
		}
		rows = 0
		for i := range steps {
			rows += int(present[i/8] >> (i % 8) & 1)
		}
	}
	columns := []struct {
		name  string
		bytes []byte
	}{
		{"open_time", s.GetOpenTime()}, {"open", s.GetOpen()}, {"high", s.GetHigh()},
		{"low", s.GetLow()}, {"close", s.GetClose()}, {"volume", s.GetVolume()},
	}
	for _, c := range columns {
		if len(c.bytes) != rows*valueBytes {
			return wrong(c.name, "%d bytes for %d candles", len(c.bytes), rows)
		}
		if c.name != "open_time" && !allFinite(c.bytes) {
			return wrong(c.name, "a value is not a finite number")
		}
	}
	return nil
}

// allFinite looks at the exponents: all ones mean NaN or an infinity.
func allFinite(column []byte) bool {
	const exponent = 0x7ff << 52
	for ; len(column) >= valueBytes; column = column[valueBytes:] {
		if binary.LittleEndian.Uint64(column)&exponent == exponent {
			return false
		}
	}
	return true
}

// Next unpacks the next step of the chunk. False means that another chunk is needed.
func (r *CandlesReader) Next(candles []market.Candle, closed []bool) (market.Time, bool) {
	if r.at >= len(r.chunk.GetCloseTimes()) {
		return 0, false
	}
	n, t := r.at, market.Time(r.chunk.CloseTimes[r.at])
	r.at++
	for i, s := range r.chunk.Symbols {
		closed[i] = len(s.Present) == 0 || s.Present[n/8]>>(n%8)&1 == 1
		if !closed[i] {
			continue
		}
		k := r.row[i]
		r.row[i]++
		candles[i] = market.Candle{
			OpenTime:  market.Time(binary.LittleEndian.Uint64(s.OpenTime[k*valueBytes:])),
			CloseTime: t,
			Open:      floatAt(s.Open, k), High: floatAt(s.High, k), Low: floatAt(s.Low, k),
			Close: floatAt(s.Close, k), Volume: floatAt(s.Volume, k),
		}
	}
	return t, true
}

func floatAt(column []byte, i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(column[i*valueBytes:]))
}
