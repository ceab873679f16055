package candlefile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"sync"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// block is how many values are summed and judged at a time: few enough to stay in
// the processor's nearest cache between the two.
const block = 2048

// parallelFrom is the number of rows from which a second processor pays.
const parallelFrom = 1 << 16

// finding is what a walk over one stretch of the body saw: its checksum, its length
// in bytes, and the first objection to a value.
type finding struct {
	crc       uint32
	size      int
	objection error
}

// checkBody walks the columns once, checksum and values together, large files in a
// few stretches side by side. It returns the CRC-32C of the body and the first
// objection to a value, if any.
func checkBody(s *market.Series, body []byte) (uint32, error) {
	parts := 1
	if s.Len() >= parallelFrom {
		parts = min(runtime.GOMAXPROCS(0), 4)
	}
	found := make([]finding, parts)
	values := columns * s.Len()
	var wg sync.WaitGroup
	for i := 1; i < parts; i++ {
		wg.Go(func() { found[i] = checkStretch(s, body, values*i/parts, values*(i+1)/parts) })
	}
	found[0] = checkStretch(s, body, 0, values/parts)
	wg.Wait()

	crc, objection := found[0].crc, found[0].objection
	for _, f := range found[1:] {
		crc = joinCRC(crc, f.crc, f.size)
		if objection == nil {
			objection = f.objection
		}
	}
	return crc, objection
}

// checkStretch walks the values [from, to) of the body, counted over all columns.
func checkStretch(s *market.Series, body []byte, from, to int) finding {
	rows := s.Len()
	f := finding{size: (to - from) * valueSize}
	for from < to {
		column, row := from/rows, from%rows
		n := min(block, rows-row, to-from)
		f.crc = crc32.Update(f.crc, castagnoli(), body[from*valueSize:(from+n)*valueSize])
		if f.objection == nil {
			f.objection = checkColumn(s, column, row, row+n)
		}
		from += n
	}
	return f
}

// checkColumn judges the rows [from, to) of one column.
func checkColumn(s *market.Series, column, from, to int) error {
	if column == 0 {
		if i := unsorted(s.Time, from, to); i >= 0 {
			return &RowError{Row: i, Reason: "open times do not ascend"}
		}
		return nil
	}
	c := [...][]float64{s.Open, s.High, s.Low, s.Close, s.Volume}[column-1]
	if column == columns-1 {
		if i := badVolume(c, from, to); i >= 0 {
			return &RowError{Row: i, Reason: fmt.Sprintf("volume %v is not a finite number of zero or more", c[i])}
		}
		return nil
	}
	if i := badPrice(c, from, to); i >= 0 {
		name := [...]string{"open", "high", "low", "close"}[column-1]
		return &RowError{Row: i, Reason: fmt.Sprintf("%s %v is not a finite number above zero", name, c[i])}
	}
	return nil
}

// Validate says whether s can be written: columns of equal length, at least one row,
// a timeframe, and every value as the file format wants it. The error is a *RowError
// where one row is to blame.
func Validate(s *market.Series) error {
	n := s.Len()
	if n == 0 {
		return errors.New("no candles to write")
	}
	for _, c := range [][]float64{s.Open, s.High, s.Low, s.Close, s.Volume} {
		if len(c) != n {
			return fmt.Errorf("columns of different length: %d and %d", n, len(c))
		}
	}
	if _, err := market.ParseTimeframe(s.Timeframe.String()); err != nil {
		return err
	}
	for column := range columns {
		if err := checkColumn(s, column, 0, n); err != nil {
			return err
		}
	}
	return nil
}

// unsorted is the first row in [from, to) that does not open after the row before it; -1 if all do.
func unsorted(t []market.Time, from, to int) int {
	if from == 0 {
		from = 1
	}
	for i := from; i < to; i++ {
		if t[i] <= t[i-1] {
			return i
		}
	}
	return -1
}

// badPrice is the first row in [from, to) whose price is not finite or not above zero.
func badPrice(c []float64, from, to int) int {
	for i, x := range c[from:to] {
		if !(x > 0 && x <= math.MaxFloat64) {
			return from + i
		}
	}
	return -1
}

// badVolume is the first row in [from, to) whose volume is negative, -0 or not finite.
// As bits: everything above the largest finite number, the sign included, is bad.
func badVolume(c []float64, from, to int) int {
	for i, x := range c[from:to] {
		if math.Float64bits(x) > math.Float64bits(math.MaxFloat64) {
			return from + i
		}
	}
	return -1
}
