package importer

import (
	"fmt"
	"strings"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// What to do with candles whose high or low does not enclose open and close.
const (
	ViolationsRefuse = ""
	ViolationsWiden  = "widen" // move high and low out
	ViolationsDrop   = "drop"  // leave the candle out
	ViolationsKeep   = "keep"  // store it; every run over it says so
)

// Which of several different candles of one time to take.
const (
	DuplicatesRefuse = ""
	DuplicatesFirst  = "first"
	DuplicatesLast   = "last"
)

// Options are how to read and what to forgive. The zero value of each is the strict one.
type Options struct {
	Symbol market.Symbol
	// Timeframe of the candles; zero: the commonest step between them.
	Timeframe market.Timeframe
	// Profile forces a format by name; empty: recognise it.
	Profile string
	// Columns names the cells of a row by position: time, open, high, low, close and
	// volume; any other name is ignored. It replaces the profiles.
	Columns []string
	// Zone is where times without offset belong; nil: they are refused.
	Zone *time.Location
	// Violations and Duplicates are one of the constants above.
	Violations, Duplicates string
	// Profiles are formats besides those of this package; they are asked first.
	Profiles []Profile
	// Progress hears now and then how many bytes of all files are read.
	Progress func(done, total int64)
}

// ParseColumns reads the value of --columns.
func ParseColumns(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	if _, err := columnLayout(names); err != nil {
		return nil, err
	}
	return names, nil
}

func (o Options) validate() error {
	if err := oneOf("--ohlc-violations", o.Violations, ViolationsWiden, ViolationsDrop, ViolationsKeep); err != nil {
		return err
	}
	if err := oneOf("--duplicates", o.Duplicates, DuplicatesFirst, DuplicatesLast); err != nil {
		return err
	}
	if o.Profile == "" {
		return nil
	}
	var names []string
	for _, p := range o.profiles() {
		if p.Name == o.Profile {
			return nil
		}
		names = append(names, p.Name)
	}
	return &OptionError{Flag: "--profile", Message: fmt.Sprintf("%q is not known; there are %s", o.Profile, strings.Join(names, ", "))}
}

func oneOf(flag, value string, allowed ...string) error {
	if value == "" {
		return nil
	}
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return &OptionError{Flag: flag, Message: fmt.Sprintf("%q is not one of %s", value, strings.Join(allowed, ", "))}
}
