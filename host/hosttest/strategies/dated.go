package main

import (
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

// addDated adds strategies that decide by dates, declared and not.
func addDated(l list) {
	// months holds over the turn of each month, mondays on one day of the week: honest rules.
	months := func(v sdk.View) bool { d := v.Time().Day(); return d >= 27 || d <= 3 }
	mondays := func(v sdk.View) bool { return v.Time().Weekday() == time.Monday }
	for name, c := range map[string]struct {
		when     func(sdk.View) bool
		calendar sdk.Calendar
	}{
		"months": {months, ""}, "months_declared": {months, sdk.CalendarDate},
		"mondays": {mondays, ""}, "mondays_declared": {mondays, sdk.CalendarWeekday},
		"both_declared": {func(v sdk.View) bool { return months(v) && !mondays(v) }, sdk.CalendarBoth},
		// bomb is a rule that anything can be said of, but from some year on it holds for ever.
		"bomb": {func(v sdk.View) bool { return mondays(v) || v.Time().Year() >= 2027 }, sdk.CalendarWeekday},
	} {
		made := func(noParams) (sdk.Strategy, error) { return dated{c.when}, nil }
		add(l, name, made, sdk.Spec{Supports: sdk.Supports{ScaleFree: true, Calendar: c.calendar}})
	}
	add(l, "weekender", func(noParams) (sdk.Strategy, error) { return weekender{}, nil }, sdk.Spec{})
}

// dated holds when a date is of the right kind.
type dated struct{ when func(sdk.View) bool }

func (s dated) OnCandle(v sdk.View) (sdk.Intents, error) {
	switch wanted := s.when(v); {
	case wanted && v.Flat():
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	case !wanted && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// weekender decides by the day that the machine has.
type weekender struct{}

func (weekender) OnCandle(v sdk.View) (sdk.Intents, error) {
	n := int64(time.Now().Weekday())
	return dated{func(v sdk.View) bool { return (v.Index()/24+n)%7 < 3 }}.OnCandle(v)
}
