package metric

import (
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	daysPerYear     = 365
	weekdaysPerYear = 252 // trading days
	weeksPerYear    = 52  // of a weekday calendar; 24x7 has 365/7
	monthsPerYear   = 12
)

// DayPeriods is the number of day returns in a year.
func DayPeriods(calendar string) float64 {
	if calendar == CalendarWeekdays {
		return weekdaysPerYear
	}
	return daysPerYear
}

// CandlePeriods is the number of candle returns in a year. Below one day on a
// weekday calendar the length of a session is not known, so candles and the days
// that have any are counted instead.
func CandlePeriods(tf market.Timeframe, calendar string, candles, days int) float64 {
	const day = 24 * time.Hour
	n := float64(tf.Count)
	switch {
	case tf.Unit == 'M':
		return monthsPerYear / n
	case calendar != CalendarWeekdays:
		return float64(daysPerYear*day) / float64(tf.Duration())
	case tf.Unit == 'w':
		return weeksPerYear / n
	case tf.Duration() < day && days > 0:
		return float64(weekdaysPerYear*candles) / float64(days)
	default:
		return float64(weekdaysPerYear*day) / float64(tf.Duration())
	}
}
