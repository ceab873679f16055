package drive

import (
	"fmt"
	"math"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Limits bound what a Collector accepts.
type Limits struct {
	Lines  int // log lines until Refill
	Bytes  int // of the text of these lines; 0 sets no limit
	Points int // points of all series together until Refill
	Series int // series of a whole run
}

// DefaultLimits hold for each chunk of steps: a line for every one.
func DefaultLimits() Limits {
	return Limits{Lines: wire.MaxStepLines, Bytes: 8 << 20, Points: 5000, Series: wire.MaxSeries}
}

// AllPoints are limits that leave room for a point of every series at every step of
// a chunk.
func AllPoints() Limits {
	l := DefaultLimits()
	l.Points = l.Series * wire.ChunkSteps
	return l
}

// seriesKey is the symbol, if any, and the name of a series.
type seriesKey struct {
	symbol market.Symbol
	name   string
}

// Collector is an step.Sink that holds log lines and points until they are taken.
// What is beyond the limits is counted and left out. Taking does not renew the
// limits, Refill does: when things are taken may depend on a clock, what is left
// out must not.
type Collector struct {
	limits        Limits
	level         hclog.Level
	lines         []wire.LogLine
	lineCount     int // since Refill
	lineBytes     int // since Refill
	droppedLines  int64
	known         map[seriesKey]int
	series        []wire.Series
	last          int // index of the series of the newest point
	pointCount    int // since Refill
	pending       int // points not taken yet
	droppedPoints int64
}

// NewCollector keeps lines of this level and above; an unknown level means info.
func NewCollector(limits Limits, level string) *Collector {
	l := hclog.LevelFromString(level)
	if l == hclog.NoLevel {
		l = hclog.Info
	}
	return &Collector{limits: limits, level: l, known: map[seriesKey]int{}}
}

// Log implements step.Sink.
func (c *Collector) Log(step int64, at market.Time, level, message string, keyvals []any) {
	if hclog.LevelFromString(level) < c.level {
		return
	}
	if c.lineCount >= c.limits.Lines || c.limits.Bytes > 0 && c.lineBytes >= c.limits.Bytes {
		c.droppedLines++
		return
	}
	line := wire.LogLine{Step: step, Time: at, Level: level, Fields: fields(keyvals)}
	line.Message = shorten(message, wire.MaxMessageText)
	c.lineCount++
	c.lineBytes += len(line.Message)
	for _, f := range line.Fields {
		c.lineBytes += len(f.Key) + len(f.Value)
	}
	c.lines = append(c.lines, line)
}

// fields pairs keys and values; a value without a partner gets the key "extra".
func fields(keyvals []any) market.Fields {
	var list market.Fields
	for i := 0; i < len(keyvals) && len(list) < wire.MaxLogFields; i += 2 {
		key, value := any("extra"), keyvals[i]
		if i+1 < len(keyvals) {
			key, value = keyvals[i], keyvals[i+1]
		}
		name := shorten(fmt.Sprint(key), wire.MaxTextBytes)
		list = list.Set(name, shorten(fmt.Sprint(value), wire.MaxMessageText))
	}
	return list
}

// shorten copies, so that a small line does not hold a large text of the author.
func shorten(s string, limit int) string {
	if len(s) > limit {
		return strings.Clone(s[:limit])
	}
	return s
}

// Publish implements step.Sink. Points that are not finite, or have no name, are no points.
func (c *Collector) Publish(_ int64, at market.Time, symbol market.Symbol, name string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) || name == "" {
		return
	}
	s := c.find(symbol, name)
	if s == nil {
		c.droppedPoints++
		return
	}
	c.pointCount++
	c.pending++
	s.Times, s.Values = append(s.Times, at), append(s.Values, value)
}

// find returns the series of a point, nil where there is no room. Strategies publish the same series in
// turns, so it looks at the one behind the last first.
func (c *Collector) find(symbol market.Symbol, name string) *wire.Series {
	if c.pointCount >= c.limits.Points {
		return nil
	}
	if c.last++; c.last >= len(c.series) {
		c.last = 0
	}
	if c.last < len(c.series) {
		if s := &c.series[c.last]; s.Name == name && s.Symbol == symbol {
			return s
		}
	}
	key := seriesKey{symbol, name}
	i, known := c.known[key]
	if !known {
		if len(c.series) >= c.limits.Series || len(name) > wire.MaxTextBytes {
			return nil
		}
		i = len(c.series)
		c.known[key] = i
		c.series = append(c.series, wire.Series{Name: name, Symbol: symbol})
	}
	c.last = i
	return &c.series[i]
}

// Refill renews the limits.
func (c *Collector) Refill() { c.lineCount, c.lineBytes, c.pointCount = 0, 0, 0 }

// TakeLines hands over the lines and the number of those left out. They are valid
// until the next Log.
func (c *Collector) TakeLines() ([]wire.LogLine, int64) {
	lines, dropped := c.lines, c.droppedLines
	c.lines, c.droppedLines = c.lines[:0], 0
	return lines, dropped
}

// Pending is how many points wait to be taken.
func (c *Collector) Pending() int { return c.pending }

// TakeSeries hands over the series that have points and the number of points left
// out. They are valid until the next Publish.
func (c *Collector) TakeSeries() ([]wire.Series, int64) { return c.TakePoints(c.pending) }

// TakePoints is TakeSeries for at most limit points.
func (c *Collector) TakePoints(limit int) ([]wire.Series, int64) {
	var taken []wire.Series
	for i := range c.series {
		s := &c.series[i]
		n := min(len(s.Values), limit)
		if n == 0 {
			continue
		}
		limit -= n
		c.pending -= n
		taken = append(taken,
			wire.Series{Name: s.Name, Symbol: s.Symbol, Times: s.Times[:n], Values: s.Values[:n]})
		if n == len(s.Values) {
			n, s.Times, s.Values = 0, s.Times[:0], s.Values[:0]
		}
		s.Times, s.Values = s.Times[n:], s.Values[n:]
	}
	dropped := c.droppedPoints
	c.droppedPoints = 0
	return taken, dropped
}
