package candle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// PutRequest is candles to store.
type PutRequest struct {
	Exchange string
	// Series with Symbol and Timeframe.
	Series *market.Series
	// Calendar as the user gives it; empty: detected.
	Calendar Calendar
	// VolumeUnit is base, quote, contracts or ticks; empty: base.
	VolumeUnit string
	// PriceStep is the tick, as of the longer series that these candles are a part of;
	// zero: detected, see PriceStep.
	PriceStep decimal.Decimal
	// Report of the import, if there was one.
	Report importer.Report
	// Fetched is how they came from an exchange; nil: they did not.
	Fetched *Fetched
}

// Put stores candles and makes them the current dataset of their exchange, symbol and
// timeframe. What is wrong with the request is a *importer.Error or *importer.OptionError.
func (s *Store) Put(ctx context.Context, req PutRequest) (Dataset, error) {
	if err := CheckExchange(req.Exchange); err != nil {
		return Dataset{}, err
	}
	return s.put(ctx, req, nil)
}

// put stores candles under any exchange. from is what they were resampled from, or nil.
func (s *Store) put(ctx context.Context, req PutRequest, from *Resampling) (Dataset, error) {
	d, err := describe(req, from)
	if err != nil {
		return Dataset{}, err
	}
	lasting := s.db != nil // a crash takes a temporary store away as a whole
	sum, err := writeFile(s.dir, req.Series, lasting, fileName)
	if err != nil {
		return Dataset{}, err
	}
	d.setHash(sum)
	s.mu.Lock()
	s.verified[sum] = true // it was computed from what has just been written
	delete(s.damaged, sum)
	s.mu.Unlock()
	return d, s.insert(ctx, &d)
}

// describe returns the dataset that the candles will be, all but the hash.
func describe(req PutRequest, from *Resampling) (Dataset, error) {
	c := req.Series
	if err := candlefile.Validate(c); err != nil {
		return Dataset{}, err
	}
	if _, err := market.ParseSymbol(string(c.Symbol)); err != nil {
		return Dataset{}, &importer.OptionError{Flag: "--symbol", Message: err.Error()}
	}
	if err := errors.Join(checkVolumeUnit(req.VolumeUnit), checkCalendar(req.Calendar)); err != nil {
		return Dataset{}, err
	}
	if req.Calendar == "" {
		req.Calendar = DetectCalendar(c)
	}
	req.VolumeUnit = cmp.Or(req.VolumeUnit, "base")
	if !req.PriceStep.IsPos() {
		req.PriceStep = PriceStep(c)
	}
	d := Dataset{
		Exchange: req.Exchange, Symbol: c.Symbol, Timeframe: c.Timeframe,
		Rows: c.Len(), First: c.Time[0], Last: c.Time[c.Len()-1],
		Calendar: req.Calendar, PriceStep: req.PriceStep, VolumeUnit: req.VolumeUnit,
		Report: Report{Report: req.Report, Gaps: Gaps(c, req.Calendar), Resampled: from,
			Fetched: req.Fetched},
		CreatedAt: market.FromTime(time.Now()), Current: true,
	}
	if from != nil {
		d.DerivedFrom = from.SourceSHA256
	}
	d.Report.fillEmpty()
	return d, nil
}

// fillEmpty makes lists and maps that are nil empty ones, for the JSON.
func (r *Report) fillEmpty() {
	r.Files = append([]importer.FileReport{}, r.Files...)
	r.Warnings = append([]importer.Warning{}, r.Warnings...)
	if r.TimeUnits == nil {
		r.TimeUnits = map[string]int{}
	}
	if r.Options == nil {
		r.Options = map[string]string{}
	}
}

func (d *Dataset) setHash(sum string) {
	d.SHA256 = sum
	d.Report.DatasetSHA256 = sum
	d.ID = datasetID(d.Exchange, d.Symbol, d.Timeframe, sum)
}

// CheckExchange reports whether candles may be stored under this exchange: a lower-case
// name that is not reserved.
func CheckExchange(exchange string) error {
	switch {
	case exchange == "":
		return &importer.OptionError{Flag: "--exchange",
			Message: "is required: where the candles come from, for example --exchange binance"}
	case !regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,62}$`).MatchString(exchange):
		return &importer.OptionError{Flag: "--exchange",
			Message: "must be lower-case letters, digits, dots, - and _, and begin with a letter"}
	case exchange == SampleExchange:
		return &importer.Error{Code: importer.ReservedExchange,
			Message: "the exchange sample is reserved for the bundled candles: choose another name"}
	}
	return nil
}

func checkVolumeUnit(unit string) error {
	return oneOf("--volume-unit", unit, "must be base, quote, contracts or ticks", "base", "quote",
		"contracts", "ticks")
}

func checkCalendar(c Calendar) error {
	return oneOf("--calendar", c, "must be 24x7 or weekdays", AllDays, Weekdays)
}

// oneOf refuses a value of an option that is neither empty nor one of the allowed.
func oneOf[T ~string](flag string, value T, message string, allowed ...T) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return &importer.OptionError{Flag: flag, Message: message}
}

// hashOf returns the hash that the candle file of a series will have.
func hashOf(c *market.Series) (string, error) {
	h := sha256.New()
	err := candlefile.Write(h, c)
	return hex.EncodeToString(h.Sum(nil)), err
}

// writeFile writes the candles into a folder and returns the hash of the file. It
// appears under its name, which may depend on the hash, complete and, if it is to last,
// synced; one of that name is replaced. Every user may read it: the modes of the folders above it
// decide who can reach it.
func writeFile(dir string, c *market.Series, lasting bool, name func(string) string) (sum string, err error) {
	f, err := file.Create(dir)
	if err != nil {
		return "", err
	}
	defer f.Discard()
	h := sha256.New()
	if err := candlefile.Write(io.MultiWriter(f, h), c); err != nil {
		return "", err
	}
	sum = hex.EncodeToString(h.Sum(nil))
	path := filepath.Join(dir, name(sum))
	if lasting {
		return sum, f.Replace(path, 0o444)
	}
	return sum, f.ReplaceUnsynced(path, 0o444)
}

// ImportRequest is files to import as one series.
type ImportRequest struct {
	Exchange string
	Files    []importer.Input
	Options  importer.Options
	// Calendar and VolumeUnit as in PutRequest.
	Calendar   Calendar
	VolumeUnit string
	// Merge joins the new candles with the current dataset of the series, if there is one.
	Merge bool
	// DryRun does everything but store.
	DryRun bool
	// Fetched is how the files came from an exchange; nil: they did not.
	Fetched *Fetched
}

// Import reads files and stores their candles. A refusal is a *importer.Error, an
// impossible option a *importer.OptionError; nothing is stored then.
func (s *Store) Import(ctx context.Context, req ImportRequest) (_ Dataset, err error) {
	err = errors.Join(CheckExchange(req.Exchange), checkCalendar(req.Calendar),
		checkVolumeUnit(req.VolumeUnit))
	if err != nil {
		return Dataset{}, err
	}
	if req.Options.Symbol != "" {
		if _, err := market.ParseSymbol(string(req.Options.Symbol)); err != nil {
			return Dataset{}, &importer.OptionError{Flag: "--symbol", Message: err.Error()}
		}
	}
	result, err := importer.Read(ctx, req.Files, req.Options)
	if err != nil {
		return Dataset{}, err
	}
	if req.Merge {
		if !req.DryRun && s.db != nil {
			lock, err := file.LockDir(s.dir) // what is joined stays current until the whole is
			if err != nil {
				return Dataset{}, err
			}
			defer func() { err = errors.Join(err, lock.Release()) }()
		}
		if err := s.merge(ctx, req, result); err != nil {
			return Dataset{}, err
		}
	}
	if req.Fetched != nil && req.Fetched.Onto != "" {
		// An update that brings nothing leaves the report of what was fetched as it is.
		sum, err := hashOf(result.Series)
		if err != nil {
			return Dataset{}, err
		}
		if sum == req.Fetched.Onto {
			return s.Pinned(ctx, req.Exchange, result.Series.Symbol, result.Series.Timeframe, sum)
		}
	}
	result.Report.Options = req.given()
	put := PutRequest{
		Exchange: req.Exchange, Series: result.Series, Calendar: req.Calendar,
		VolumeUnit: cmp.Or(req.VolumeUnit, result.VolumeUnit), Report: result.Report,
		Fetched: req.Fetched,
	}
	if !req.DryRun {
		return s.put(ctx, put, nil)
	}
	d, err := describe(put, nil)
	if err != nil {
		return Dataset{}, err
	}
	sum, err := hashOf(result.Series)
	d.setHash(sum)
	return d, err
}

// merge joins the result with what is stored. Stored candles that were resampled are
// not there in this sense.
func (s *Store) merge(ctx context.Context, req ImportRequest, result *importer.Result) error {
	current, err := s.current(ctx, req.Exchange, result.Series.Symbol)
	if err != nil {
		return err
	}
	for _, d := range current {
		if d.DerivedFrom != "" || d.Timeframe != result.Series.Timeframe {
			continue
		}
		if unit := cmp.Or(req.VolumeUnit, result.VolumeUnit, d.VolumeUnit); unit != d.VolumeUnit {
			return &importer.OptionError{Flag: "--merge",
				Message: fmt.Sprintf("cannot join volumes in %s with the stored ones in %s", unit,
					d.VolumeUnit)}
		}
		result.VolumeUnit = d.VolumeUnit
		f, err := s.OpenSeries(d)
		if err != nil {
			return err
		}
		result.Report.Inherit(d.Report.Report)
		if req.Fetched != nil {
			req.Fetched.Onto = d.SHA256
		}
		return errors.Join(result.Merge(f.Series(), req.Options.Duplicates), f.Close())
	}
	return nil
}

// given returns the options that were not left at their defaults, for the report.
func (r ImportRequest) given() map[string]string {
	o := r.Options
	all := map[string]string{
		"exchange": r.Exchange, "symbol": string(o.Symbol), "timeframe": o.Timeframe.String(),
		"profile": o.Profile,
		"columns": strings.Join(o.Columns, ","), "stamp": o.Stamp, "date_order": o.DateOrder,
		"ticker":          o.Ticker,
		"ohlc_violations": o.Violations, "duplicates": o.Duplicates,
		"calendar": string(r.Calendar), "volume_unit": r.VolumeUnit,
	}
	if o.Zone != nil {
		all["tz"] = o.Zone.String()
	}
	if r.Merge {
		all["merge"] = "true"
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}
