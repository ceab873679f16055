package indicator

// Line is a series of values of which the newest two are known. Every indicator of
// this package is one, so any two can be tested for a crossing.
type Line interface {
	// Value is the newest value, 0 if there is none.
	Value() float64
	// Previous is the value before the newest, 0 if there is none.
	Previous() float64
	// Ready reports whether there is a value.
	Ready() bool
	// Count is how many values there were so far: Previous is one from 2 on.
	Count() int
}

// line is the Line that the indicators embed.
type line struct {
	value, previous float64
	count           int
}

func (l *line) set(x float64) {
	l.previous, l.value = l.value, x
	l.count++
}

// Value is the newest value, 0 until Ready.
func (l *line) Value() float64 { return l.value }

// Previous is the value one candle before Value, 0 if there was none.
func (l *line) Previous() float64 { return l.previous }

// Ready reports whether enough was added for a value.
func (l *line) Ready() bool { return l.count > 0 }

// Count is how many values there were so far.
func (l *line) Count() int { return l.count }

// CrossedAbove reports whether this line was at or below other one candle ago and is
// above it now; false until both lines have two values.
func (l *line) CrossedAbove(other Line) bool {
	return l.count > 1 && other.Count() > 1 && l.previous <= other.Previous() && l.value > other.Value()
}

// CrossedBelow reports whether this line was at or above other one candle ago and is
// below it now; false until both lines have two values.
func (l *line) CrossedBelow(other Line) bool {
	return l.count > 1 && other.Count() > 1 && l.previous >= other.Previous() && l.value < other.Value()
}

// CrossedAboveLevel reports whether this line was at or below level one candle ago and
// is above it now.
func (l *line) CrossedAboveLevel(level float64) bool {
	return l.count > 1 && l.previous <= level && l.value > level
}

// CrossedBelowLevel reports whether this line was at or above level one candle ago and
// is below it now.
func (l *line) CrossedBelowLevel(level float64) bool {
	return l.count > 1 && l.previous >= level && l.value < level
}

// Track is a line of whatever is added to it, so that a price, a spread or a number of
// one's own can cross an indicator. The zero value is ready for use.
type Track struct{ line }

// Add appends x to the line.
func (t *Track) Add(x float64) { t.set(x) }
