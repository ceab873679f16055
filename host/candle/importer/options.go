package importer

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/assay-run/assay/host/candle/importer/cell"
	"github.com/assay-run/assay/host/candle/importer/profile"
	"github.com/assay-run/assay/host/candle/importer/refusal"
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

// What the times of a file are.
const (
	StampOpen  = "open"  // where a candle begins, as without the option
	StampClose = "close" // where it ends
)

// Options are how to read and what to forgive. The zero value of each is the strict one.
type Options struct {
	// Symbol of the candles; empty: as the file names it.
	Symbol market.Symbol
	// Timeframe of the candles; zero: as the file names it, else the commonest step.
	Timeframe market.Timeframe
	// Profile forces a format by name; empty: recognise it.
	Profile string
	// Columns names the cells of a row by position: time, open, high, low, close and
	// volume; any other name is ignored. It replaces the profiles.
	Columns []string
	// Zone is where times without offset belong; nil: as the format says, else they are
	// refused.
	Zone *time.Location
	// Stamp, Violations and Duplicates are one of the constants above.
	Stamp, Violations, Duplicates string
	// DateOrder of dates with slashes, mdy or dmy; empty: as they show it.
	DateOrder string
	// Ticker picks the rows of one ticker; empty: there may be only one.
	Ticker string
	// Formats are kinds of files besides text, from the program that links their readers.
	Formats []Format
	// Progress hears now and then how many bytes of all files are read.
	Progress func(done, total int64)

	limits limits
}

// limits of one import. Zero is the default.
type limits struct {
	bytes int64
	rows  int
}

// The limits of one import: of what the files unpack to, and of their rows.
const (
	maxBytes = 8 << 30
	maxRows  = 100_000_000
)

func (o Options) maxBytes() int64 { return cmp.Or(o.limits.bytes, maxBytes) }
func (o Options) maxRows() int    { return cmp.Or(o.limits.rows, maxRows) }

func (o Options) tooManyBytes(name string) error {
	return refusal.New(refusal.TooLarge, "the files unpack to more than %s with %s: import them in parts with --merge", size(o.maxBytes()), name)
}

func (o Options) tooManyRows() error {
	return refusal.New(refusal.TooLarge, "more than %d rows: import them in parts, one after the other", o.maxRows())
}

// size is a number of bytes for a message.
func size(n int64) string {
	if n%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d bytes", n)
}

// ParseColumns reads the value of --columns.
func ParseColumns(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	if _, err := profile.Columns(names); err != nil {
		return nil, err
	}
	return names, nil
}

func (o Options) validate() error {
	for _, c := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--ohlc-violations", o.Violations, []string{ViolationsWiden, ViolationsDrop, ViolationsKeep}},
		{"--duplicates", o.Duplicates, []string{DuplicatesFirst, DuplicatesLast}},
		{"--stamp", o.Stamp, []string{StampOpen, StampClose}},
		{"--date-order", o.DateOrder, []string{string(cell.MonthFirst), string(cell.DayFirst)}},
	} {
		if err := oneOf(c.flag, c.value, c.allowed); err != nil {
			return err
		}
	}
	if o.Profile == "" {
		return nil
	}
	if o.Columns != nil {
		return &refusal.OptionError{Flag: "--profile", Message: "and --columns both say what the columns are: give one of them"}
	}
	var names []string
	for _, p := range profile.All() {
		if p.Name == profile.Current(o.Profile) {
			return nil
		}
		names = append(names, p.Name)
	}
	return &refusal.OptionError{Flag: "--profile", Message: fmt.Sprintf("%q is not known; there are %s", o.Profile, strings.Join(names, ", "))}
}

func oneOf(flag, value string, allowed []string) error {
	if value == "" {
		return nil
	}
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return &refusal.OptionError{Flag: flag, Message: fmt.Sprintf("%q is not one of %s", value, strings.Join(allowed, ", "))}
}

// layout finds out what the cells of a file are.
func (o Options) layout(h profile.Head) (name string, l profile.Layout, err error) {
	if o.Columns != nil {
		l, err := profile.ByColumns(h, o.Columns)
		return "columns", l, err
	}
	h.Ticker = o.Ticker
	return profile.Recognise(h, o.Profile)
}
