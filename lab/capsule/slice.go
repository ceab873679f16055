package capsule

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

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
	// hash says which they are.
	Inline bool          `json:"inline"`
	Series []SliceSeries `json:"series"`
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

// Candle columns again, in the timeframe of the slice.
func (s *SliceSeries) Columns(timeframe market.Timeframe) *market.Series {
	out := &market.Series{Symbol: market.Symbol(s.Symbol), Timeframe: timeframe}
	for _, r := range s.Candles {
		out.Append(market.Candle{OpenTime: r.OpenTime, Open: r.Open, High: r.High, Low: r.Low, Close: r.Close, Volume: r.Volume})
	}
	return out
}

// drop leaves only the hashes.
func (s *Slice) drop() {
	s.Inline = false
	for i := range s.Series {
		s.Series[i].Candles = nil
	}
}
