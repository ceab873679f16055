package candle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"regexp"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/candle/importer/refusal"
	"github.com/assay-run/assay/host/candle/sample"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// PutRequest is candles to store.
type PutRequest struct {
	Exchange string
	// Series with Symbol and Timeframe.
	Series *market.Series
	// Calendar as the user says; empty: detected.
	Calendar Calendar
	// VolumeUnit is base, quote, contracts or ticks; empty: base.
	VolumeUnit string
	// PriceStep is the tick, as of the longer series that these candles are a part of;
	// zero: detected, see PriceStep.
	PriceStep decimal.Decimal
	// Report of the import, if there was one.
	Report importer.Report
}

// Put stores candles and makes them the current dataset of their exchange, symbol and
// timeframe. What is wrong with the request is a *refusal.Error or *refusal.OptionError.
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

// describe is the dataset that the candles will be, all but the hash.
func describe(req PutRequest, from *Resampling) (Dataset, error) {
	c := req.Series
	if err := candlefile.Validate(c); err != nil {
		return Dataset{}, err
	}
	if _, err := market.ParseSymbol(string(c.Symbol)); err != nil {
		return Dataset{}, &refusal.OptionError{Flag: "--symbol", Message: err.Error()}
	}
	if err := checkVolumeUnit(req.VolumeUnit); err != nil {
		return Dataset{}, err
	}
	if err := checkCalendar(req.Calendar); err != nil {
		return Dataset{}, err
	}
	if req.Calendar == "" {
		req.Calendar = DetectCalendar(c)
	}
	if req.VolumeUnit == "" {
		req.VolumeUnit = "base"
	}
	if !req.PriceStep.IsPos() {
		req.PriceStep = PriceStep(c)
	}
	d := Dataset{
		Exchange: req.Exchange, Symbol: c.Symbol, Timeframe: c.Timeframe,
		Rows: c.Len(), First: c.Time[0], Last: c.Time[c.Len()-1],
		Calendar: req.Calendar, PriceStep: req.PriceStep, VolumeUnit: req.VolumeUnit,
		Report:    Report{Report: req.Report, Gaps: Gaps(c, req.Calendar), Resampled: from},
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
	if r.Files == nil {
		r.Files = []importer.FileReport{}
	}
	if r.Warnings == nil {
		r.Warnings = []importer.Warning{}
	}
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

// CheckExchange says whether candles may be stored under this exchange: a lower-case
// name that is not reserved.
func CheckExchange(exchange string) error {
	switch {
	case exchange == "":
		return &refusal.OptionError{Flag: "--exchange", Message: "is required: where the candles come from, for example --exchange binance"}
	case !regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,62}$`).MatchString(exchange):
		return &refusal.OptionError{Flag: "--exchange", Message: "must be lower-case letters, digits, dots, - and _, and begin with a letter"}
	case exchange == sample.Exchange:
		return &refusal.Error{Code: refusal.ReservedExchange, Message: "the exchange sample is reserved for the bundled candles: choose another name"}
	}
	return nil
}

func checkVolumeUnit(unit string) error {
	switch unit {
	case "", "base", "quote", "contracts", "ticks":
		return nil
	}
	return &refusal.OptionError{Flag: "--volume-unit", Message: "must be base, quote, contracts or ticks"}
}

func checkCalendar(c Calendar) error {
	switch c {
	case "", AllDays, Weekdays:
		return nil
	}
	return &refusal.OptionError{Flag: "--calendar", Message: "must be 24x7 or weekdays"}
}

// hashOf is the hash that the candle file of a series will have.
func hashOf(c *market.Series) (string, error) {
	h := sha256.New()
	err := candlefile.Write(h, c)
	return hex.EncodeToString(h.Sum(nil)), err
}

// writeFile writes the candles into a folder and returns the hash of the file. It
// appears under its name, which may depend on the hash, complete and, if it is to last,
// synced; one of that name is replaced. Everybody may read it: the folders above it say
// who comes near.
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
