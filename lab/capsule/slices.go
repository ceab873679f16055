package capsule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Slice is the candles that led to a failure.
type Slice struct {
	// FromIndex and ToIndex are the first and the last of them, counted as in Where.
	FromIndex int64 `json:"from_index"`
	ToIndex   int64 `json:"to_index"`
	// Warmup is how many candles before its window the strategy wanted.
	Warmup    int64  `json:"warmup"`
	Timeframe string `json:"timeframe"`
	// Inline is false where there are more than MaxCandles: then Candles are null and the
	// hash reports which they are.
	Inline bool          `json:"inline"`
	Series []SliceSeries `json:"series"`
	// Inputs are the series beside the candles, as far as they were known by then; none where the
	// candles are not inline.
	Inputs []SliceInput `json:"inputs,omitempty"`
}

// SliceSeries is the candles of one symbol.
type SliceSeries struct {
	Symbol string `json:"symbol"`
	// SHA256 is of the whole candle file that they are from.
	SHA256   string `json:"sha256"`
	Calendar string `json:"calendar"`
	// PriceStep is the tick of the whole file, a decimal.
	PriceStep string `json:"price_step"`
	// Start is the open of the first candle, End the close of the last.
	Start   market.Time `json:"start"`
	End     market.Time `json:"end"`
	Rows    int         `json:"rows"`
	Candles []Row       `json:"candles"`
}

// Row is a candle as [open time in Unix ms, open, high, low, close, volume], numbers as
// text so that they are exact whatever their size.
type Row struct {
	OpenTime                       market.Time
	Open, High, Low, Close, Volume float64
}

// MarshalJSON writes the list.
func (r Row) MarshalJSON() ([]byte, error) {
	b := strconv.AppendInt([]byte{'['}, int64(r.OpenTime), 10)
	for _, x := range [...]float64{r.Open, r.High, r.Low, r.Close, r.Volume} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("a candle holds %v", x)
		}
		b = append(b, ',', '"')
		b = strconv.AppendFloat(b, x, 'g', -1, 64)
		b = append(b, '"')
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Row) UnmarshalJSON(b []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if len(raw) != 6 {
		return fmt.Errorf("a candle has %d values, not 6", len(raw))
	}
	var ms int64
	if err := json.Unmarshal(raw[0], &ms); err != nil {
		return err
	}
	r.OpenTime = market.Time(ms)
	for i, to := range [...]*float64{&r.Open, &r.High, &r.Low, &r.Close, &r.Volume} {
		var s string
		if err := json.Unmarshal(raw[i+1], &s); err != nil {
			return err
		}
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%.40q in a candle is not a number", s)
		}
		*to = x
	}
	return nil
}

// RowsOf is the candles of a series.
func RowsOf(s *market.Series) []Row {
	rows := make([]Row, s.Len())
	for i := range rows {
		rows[i] = Row{s.Time[i], s.Open[i], s.High[i], s.Low[i], s.Close[i], s.Volume[i]}
	}
	return rows
}

// Columns is the candles as columns again, in the timeframe of the slice.
func (s *SliceSeries) Columns(timeframe market.Timeframe) *market.Series {
	out := &market.Series{Symbol: market.Symbol(s.Symbol), Timeframe: timeframe}
	for _, r := range s.Candles {
		out.Append(market.Candle{OpenTime: r.OpenTime, Open: r.Open, High: r.High, Low: r.Low, Close: r.Close,
			Volume: r.Volume})
	}
	return out
}

// drop leaves only the hashes.
func (s *Slice) drop() {
	s.Inline = false
	for i := range s.Series {
		s.Series[i].Candles = nil
	}
	s.Inputs = nil
}

// spot is a candle of a play: its index in the split, the close of its step, and how
// much warm-up the strategy wanted.
type spot struct {
	index, warmup int64
	at            market.Time
}

// cut takes the candles that led to a spot out of the store: the warm-up and SliceLead
// more before the newest one of each symbol.
func cut(ctx context.Context, store *candle.Store, exchange string, inputs Inputs, s spot) (*Slice, error) {
	out := &Slice{Inline: true, FromIndex: s.index, ToIndex: s.index, Warmup: s.warmup}
	rows := 0
	for i, d := range inputs.Data {
		one, err := series(ctx, store, exchange, d, s)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out.FromIndex = s.index - int64(max(0, one.Rows-1))
		}
		rows += one.Rows
		out.Timeframe, out.Series = d.Timeframe, append(out.Series, one)
	}
	if rows > MaxCandles {
		out.drop()
		return out, nil
	}
	if known, err := cutInputs(store.Inputs(), inputRefs(inputs.Request), s.at); err == nil {
		out.Inputs = known // else a replay needs those of the store
	}
	return out, nil
}

func series(ctx context.Context, store *candle.Store, exchange string, d artifact.Dataset,
	s spot) (_ SliceSeries, err error) {
	out := SliceSeries{Symbol: d.Symbol, SHA256: d.SHA256}
	tf, err := market.ParseTimeframe(d.Timeframe)
	if err != nil {
		return out, err
	}
	stored, err := store.Pinned(ctx, exchange, market.Symbol(d.Symbol), tf, d.SHA256)
	if err != nil {
		return out, err
	}
	file, err := store.OpenSeries(stored)
	if err != nil {
		return out, err
	}
	all := file.Series()
	to := closedBy(all, s.at)
	from := max(0, to-1-int(min(s.warmup, int64(to)))-SliceLead)
	out.Calendar, out.PriceStep, out.Rows = string(stored.Calendar), stored.PriceStep.String(), to-from
	if out.Rows > 0 {
		out.Start, out.End = all.Time[from], all.CloseTime(to-1)
	}
	if out.Rows <= MaxCandles {
		out.Candles = RowsOf(all.Slice(from, to))
	}
	return out, file.Close()
}

// sliceExchange is where the candles of a capsule stand in a store of their own.
const sliceExchange = "capsule"

// ownStore makes a candle store in a folder of its own. The caller closes it and calls
// the function that removes it.
func ownStore(ctx context.Context, dir string) (_ *candle.Store, remove func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	temp, err := os.MkdirTemp(dir, "slice-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() error { return os.RemoveAll(temp) }
	store, err := candle.Open(ctx, temp)
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return store, remove, nil
}

// unpack makes a store of a slice and returns the hashes of its files.
func unpack(ctx context.Context, dir string,
	s *Slice) (_ *candle.Store, pins map[market.Symbol]string, remove func() error, err error) {
	store, remove, err := ownStore(ctx, dir)
	if err != nil {
		return nil, nil, nil, err
	}
	pins = map[market.Symbol]string{}
	for i := range s.Series {
		one := &s.Series[i]
		tf, err := market.ParseTimeframe(s.Timeframe)
		if err == nil {
			err = put(ctx, store, one.Columns(tf), one.Calendar, one.PriceStep, pins)
		}
		if err != nil {
			return nil, nil, nil, errors.Join(err, store.Close(), remove())
		}
	}
	return store, pins, remove, nil
}

// shorten makes a store of the candles of a stage that have closed by a time.
func shorten(ctx context.Context, dir string, from *candle.Store, s *Stage, data []artifact.Dataset,
	end market.Time) (_ *candle.Store, pins map[market.Symbol]string, remove func() error, err error) {
	store, remove, err := ownStore(ctx, dir)
	if err != nil {
		return nil, nil, nil, err
	}
	pins = map[market.Symbol]string{}
	for _, d := range data {
		if err := copyUntil(ctx, store, from, s, d, end, pins); err != nil {
			return nil, nil, nil, errors.Join(err, store.Close(), remove())
		}
	}
	return store, pins, remove, nil
}

func copyUntil(ctx context.Context, to, from *candle.Store, s *Stage, d artifact.Dataset, end market.Time,
	pins map[market.Symbol]string) error {
	tf, err := market.ParseTimeframe(d.Timeframe)
	if err != nil {
		return err
	}
	symbol := market.Symbol(d.Symbol)
	stored, err := from.Pinned(ctx, s.Base.Exchange, symbol, tf, s.Pins[symbol])
	if err != nil {
		return err
	}
	file, err := from.OpenSeries(stored)
	if err != nil {
		return err
	}
	all := file.Series()
	part := all.Slice(0, closedBy(all, end))
	part.Symbol = symbol
	return errors.Join(put(ctx, to, part, string(stored.Calendar), stored.PriceStep.String(), pins),
		file.Close())
}

// closedBy counts the candles of a series that have closed by a time.
func closedBy(s *market.Series, end market.Time) int {
	n := s.Search(end) // one that opens later has not closed
	for n > 0 && s.CloseTime(n-1) > end {
		n--
	}
	return n
}

func put(ctx context.Context, store *candle.Store, s *market.Series, calendar, priceStep string,
	pins map[market.Symbol]string) error {
	step, err := decimal.Parse(priceStep)
	if err != nil {
		return fmt.Errorf("price step: %w", err)
	}
	d, err := store.Put(ctx,
		candle.PutRequest{Exchange: sliceExchange, Series: s, Calendar: candle.Calendar(calendar),
			PriceStep: step})
	pins[s.Symbol] = d.SHA256
	return err
}
