package candle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/candle/importer/refusal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

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
}

// Import reads files and stores their candles. A refusal is a *refusal.Error, an
// impossible option a *refusal.OptionError; nothing is stored then.
func (s *Store) Import(ctx context.Context, req ImportRequest) (Dataset, error) {
	err := errors.Join(CheckExchange(req.Exchange), checkCalendar(req.Calendar), checkVolumeUnit(req.VolumeUnit))
	if err != nil {
		return Dataset{}, err
	}
	if req.Options.Symbol != "" {
		if _, err := market.ParseSymbol(string(req.Options.Symbol)); err != nil {
			return Dataset{}, &refusal.OptionError{Flag: "--symbol", Message: err.Error()}
		}
	}
	result, err := importer.Read(ctx, req.Files, req.Options)
	if err != nil {
		return Dataset{}, err
	}
	if req.Merge {
		if err := s.merge(ctx, req, result); err != nil {
			return Dataset{}, err
		}
	}
	result.Report.Options = req.given()
	put := PutRequest{
		Exchange: req.Exchange, Series: result.Series, Calendar: req.Calendar, VolumeUnit: cmp.Or(req.VolumeUnit, result.VolumeUnit), Report: result.Report,
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
			return &refusal.OptionError{Flag: "--merge", Message: fmt.Sprintf("cannot join volumes in %s with the stored ones in %s", unit, d.VolumeUnit)}
		}
		result.VolumeUnit = d.VolumeUnit
		f, err := s.OpenSeries(d)
		if err != nil {
			return err
		}
		result.Report.Inherit(d.Report.Report)
		return errors.Join(result.Merge(f.Series(), req.Options.Duplicates), f.Close())
	}
	return nil
}

// given is the options that were not left at their defaults, for the report.
func (r ImportRequest) given() map[string]string {
	o := r.Options
	all := map[string]string{
		"exchange": r.Exchange, "symbol": string(o.Symbol), "timeframe": o.Timeframe.String(), "profile": o.Profile,
		"columns": strings.Join(o.Columns, ","), "stamp": o.Stamp, "date_order": o.DateOrder, "ticker": o.Ticker,
		"ohlc_violations": o.Violations, "duplicates": o.Duplicates,
		"calendar": string(r.Calendar), "volume_unit": r.VolumeUnit,
	}
	if o.Zone != nil {
		all["tz"] = o.Zone.String()
	}
	if r.Merge {
		all["merge"] = "true"
	}
	for name, value := range all {
		if value == "" {
			delete(all, name)
		}
	}
	return all
}
