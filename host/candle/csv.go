package candle

import (
	"bufio"
	"io"
	"strconv"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// CSVHeader names the columns of AppendCSV: open times in milliseconds, then prices and the volume.
const CSVHeader = "time,open,high,low,close,volume\n"

// AppendCSV appends a candle as a line that an import reads as exactly this candle.
func AppendCSV(b []byte, c market.Candle) []byte {
	b = strconv.AppendInt(b, int64(c.OpenTime), 10)
	for _, v := range [...]float64{c.Open, c.High, c.Low, c.Close, c.Volume} {
		b = append(b, ',')
		b = strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	return append(b, '\n')
}

// WriteCSV writes candles with their header: the same candles are the same bytes.
func WriteCSV(w io.Writer, s *market.Series) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(CSVHeader) // Flush has the error
	var line []byte
	for i := range s.Len() {
		line = AppendCSV(line[:0], s.At(i))
		_, _ = out.Write(line)
	}
	return out.Flush()
}
