package candlefile

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// RowError says which candle of a Series cannot be written.
type RowError struct {
	Row    int
	Reason string
}

// Error names the row, counted from 0.
func (e *RowError) Error() string { return fmt.Sprintf("candle %d: %s", e.Row, e.Reason) }

// Write validates the candles and writes their file. Equal candles of one timeframe
// give equal bytes, whatever their symbol. Nothing is written when a candle is refused.
func Write(w io.Writer, s *market.Series) error {
	if err := Validate(s); err != nil {
		return err
	}
	cols := [columns][]byte{
		toBytes(s.Time), toBytes(s.Open), toBytes(s.High), toBytes(s.Low), toBytes(s.Close), toBytes(s.Volume),
	}
	h := header{rows: s.Len(), first: s.Time[0], last: s.Time[s.Len()-1], timeframe: s.Timeframe}
	for _, c := range cols {
		h.columnsCRC = crc32.Update(h.columnsCRC, castagnoli(), c)
	}
	if _, err := w.Write(h.encode()); err != nil {
		return err
	}
	for _, c := range cols {
		if _, err := w.Write(c); err != nil {
			return err
		}
	}
	return nil
}

// Encode is Write into memory.
func Encode(s *market.Series) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(headerSize + s.Len()*rowSize)
	if err := Write(&b, s); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Create writes the candles into a new file, for short-lived ones: nothing is synced
// to disk. An existing file is refused, and a failed attempt leaves none.
func Create(path string, s *market.Series) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	return Write(f, s)
}
