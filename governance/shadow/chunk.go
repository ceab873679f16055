package shadow

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// chunk is the candles of all symbols that opened on a day: for each symbol a line "symbol timeframe",
// then for each of its candles one of open time in milliseconds, open, high, low, close and volume,
// separated by commas.
type chunk struct{ lines []chunkLine }

// chunkLine is one line; candle is false for that of a symbol.
type chunkLine struct {
	symbol market.Symbol
	open   market.Time
	next   market.Time // of the candle after it
	text   string
	candle bool
}

// chunkOf collects the candles of a day.
func chunkOf(list []dataset, day time.Time) *chunk {
	c := &chunk{}
	from, to := market.FromTime(day), market.FromTime(day.AddDate(0, 0, 1))
	for _, d := range list {
		head := fmt.Sprintf("%s %s\n", d.Symbol, d.Timeframe)
		c.lines = append(c.lines, chunkLine{symbol: d.Symbol, text: head})
		s := d.series
		for i := s.Search(from); i < s.Len() && s.Time[i] < to; i++ {
			line := strconv.AppendInt(nil, int64(s.Time[i]), 10)
			for _, x := range [...]float64{s.Open[i], s.High[i], s.Low[i], s.Close[i], s.Volume[i]} {
				line = append(line, ',')
				line = strconv.AppendFloat(line, x, 'g', -1, 64)
			}
			c.lines = append(c.lines, chunkLine{d.Symbol, s.Time[i], d.Timeframe.Next(s.Time[i]),
				string(append(line, '\n')), true})
		}
	}
	return c
}

// rows is how many candles there are.
func (c *chunk) rows() (n int64) {
	for i := range c.lines {
		if c.lines[i].candle {
			n++
		}
	}
	return n
}

// sum is the SHA-256 of all lines.
func (c *chunk) sum() string {
	h := sha256.New()
	for i := range c.lines {
		_, _ = h.Write([]byte(c.lines[i].text)) // a hash takes all
	}
	return hex.EncodeToString(h.Sum(nil))
}

// marks are the first digits of the SHA-256 after every step candles, and after the last one.
func (c *chunk) marks(step int64) string {
	h, n, all := sha256.New(), int64(0), c.rows()
	var text strings.Builder
	for i := range c.lines {
		_, _ = h.Write([]byte(c.lines[i].text)) // a hash takes all
		if !c.lines[i].candle {
			continue
		}
		if n++; n%step == 0 || n == all {
			text.WriteString(hex.EncodeToString(h.Sum(nil))[:bundle.MarkSize])
		}
	}
	return text.String()
}

// differs is where a chunk differs first from one of so many candles that has these marks, nil where they
// do not tell.
func (c *chunk) differs(rows int64, marks string) *bundle.DifferingCandle {
	if marks == "" && rows > 0 {
		return nil
	}
	step := bundle.MarkStep(rows)
	own := c.first(rows).marks(step)
	at, size := 0, bundle.MarkSize // how many marks are equal
	for end := size; end <= min(len(own), len(marks)) && own[:end] == marks[:end]; end += size {
		at++
	}
	first := min(int64(at)*step, rows)
	out := &bundle.DifferingCandle{Within: max(1, min(step, rows-first))}
	n := int64(0)
	var last *chunkLine
	for i := range c.lines {
		l := &c.lines[i]
		if !l.candle {
			continue
		}
		if n == first {
			out.Symbol, out.OpenTime = string(l.symbol), bundle.FormatTime(l.open.Time())
			if out.Within == 1 {
				_, values, _ := strings.Cut(strings.TrimSpace(l.text), ",")
				out.Own = values
			}
			return out
		}
		last = l
		n++
	}
	if last == nil {
		return nil
	}
	out.Symbol, out.OpenTime = string(last.symbol), bundle.FormatTime(last.next.Time())
	return out
}

// first is the chunk with at most so many candles.
func (c *chunk) first(rows int64) *chunk {
	n := int64(0)
	for i := range c.lines {
		if c.lines[i].candle {
			if n++; n > rows {
				return &chunk{c.lines[:i]}
			}
		}
	}
	return c
}
