package market

import "sort"

// Candle is open, high, low, close and volume of one symbol over one finished
// interval [OpenTime, CloseTime), UTC.
type Candle struct {
	OpenTime  Time    `json:"open_time"`
	CloseTime Time    `json:"close_time"`
	Open      float64 `json:"open"`
	High      float64 `json:"high"`
	Low       float64 `json:"low"`
	Close     float64 `json:"close"`
	Volume    float64 `json:"volume"`
}

// Series is the candles of one symbol as columns of equal length, open times
// strictly ascending. The columns may be memory-mapped and must not be written.
type Series struct {
	Symbol    Symbol    `json:"symbol"`
	Timeframe Timeframe `json:"timeframe,omitzero"`
	Time      []Time    `json:"time"`
	Open      []float64 `json:"open"`
	High      []float64 `json:"high"`
	Low       []float64 `json:"low"`
	Close     []float64 `json:"close"`
	Volume    []float64 `json:"volume"`
}

// Len is the number of candles.
func (s *Series) Len() int { return len(s.Time) }

// CloseTime of candle i: its open plus the timeframe, or the next candle's open if
// that is earlier (as on a day that daylight saving shortens).
func (s *Series) CloseTime(i int) Time {
	end := s.Timeframe.Next(s.Time[i])
	if i+1 < len(s.Time) && s.Time[i+1] < end {
		return s.Time[i+1]
	}
	return end
}

// At is candle i.
func (s *Series) At(i int) Candle {
	return Candle{
		OpenTime: s.Time[i], CloseTime: s.CloseTime(i),
		Open: s.Open[i], High: s.High[i], Low: s.Low[i], Close: s.Close[i], Volume: s.Volume[i],
	}
}

// Search is the index of the first candle that opens at or after t; Len if none does.
func (s *Series) Search(t Time) int {
	return sort.Search(len(s.Time), func(i int) bool { return s.Time[i] >= t })
}

// Slice is the candles [from, to) without copying.
func (s *Series) Slice(from, to int) *Series {
	return &Series{
		Symbol: s.Symbol, Timeframe: s.Timeframe,
		Time: s.Time[from:to], Open: s.Open[from:to], High: s.High[from:to],
		Low: s.Low[from:to], Close: s.Close[from:to], Volume: s.Volume[from:to],
	}
}

// Append adds one candle. Its CloseTime is not kept: it follows from the timeframe.
func (s *Series) Append(c Candle) {
	s.Time = append(s.Time, c.OpenTime)
	s.Open = append(s.Open, c.Open)
	s.High = append(s.High, c.High)
	s.Low = append(s.Low, c.Low)
	s.Close = append(s.Close, c.Close)
	s.Volume = append(s.Volume, c.Volume)
}
