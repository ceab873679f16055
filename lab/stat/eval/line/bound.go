package line

import (
	"fmt"
	"math"
)

// Bound is the domain of a number, and how a message says it.
type Bound struct {
	holds func(float64) bool
	text  string
}

// Real is any finite number.
func Real() Bound { return Bound{func(float64) bool { return true }, "a number"} }

// Above is a number above low.
func Above(low float64) Bound {
	return Bound{func(x float64) bool { return x > low }, fmt.Sprintf("above %v", low)}
}

// From is a number in [low, high].
func From(low, high float64) Bound {
	text := fmt.Sprintf("from %v to %v", low, high)
	if math.IsInf(high, 1) {
		text = fmt.Sprintf("at least %v", low)
	}
	return Bound{func(x float64) bool { return x >= low && x <= high }, text}
}

// AtLeast is a number of at least low.
func AtLeast(low float64) Bound { return From(low, math.Inf(1)) }

// Between is a number in (low, high), ends excluded.
func Between(low, high float64) Bound {
	return Bound{func(x float64) bool { return x > low && x < high }, fmt.Sprintf("between %v and %v, ends excluded", low, high)}
}

// Whole is an integer in [low, high]; high is at most 2^53.
func Whole(low, high int) Bound {
	high = min(high, maxInteger)
	text := fmt.Sprintf("an integer from %d to %d", low, high)
	if high == maxInteger {
		text = fmt.Sprintf("an integer of at least %d", low)
	}
	return Bound{func(x float64) bool { return x == math.Trunc(x) && x >= float64(low) && x <= float64(high) }, text}
}
