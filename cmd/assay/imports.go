package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/host/upload"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The kinds of job that bring candles; a check is an import that stores nothing.
const (
	jobImportCheck = "import_check"
	jobImport      = "import"
	jobFetch       = "fetch"
)

// shownReport bounds the lists of a report that a job keeps.
const shownReport = 10

// flag is a flag of the lab with its value, as one argument: a value never becomes a flag.
func flag(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{"--" + name + "=" + value}
}

// importArgs is the command that imports, without the files.
func importArgs(o v1.ImportOptions, dryRun bool) []string {
	args := slices.Concat([]string{"data", "import"}, flag("exchange", o.Exchange), flag("symbol", o.Symbol),
		flag("timeframe", o.Timeframe), flag("profile", o.Profile), flag("columns", o.Columns),
		flag("ticker", o.Ticker), flag("tz", o.TZ), flag("stamp", o.Stamp), flag("date-order", o.DateOrder),
		flag("ohlc-violations", o.OHLCViolations), flag("duplicates", o.Duplicates),
		flag("calendar", o.Calendar), flag("volume-unit", o.VolumeUnit))
	return append(args, fmt.Sprintf("--merge=%t", o.Merge), fmt.Sprintf("--dry-run=%t", dryRun))
}

// checkExchange refuses an exchange under which no candles may be stored.
func checkExchange(pointer, exchange string) error {
	if candle.CheckExchange(exchange) == nil {
		return nil
	}
	return run.Invalid(pointer,
		fmt.Errorf("is %q, which the bundled candles have: choose another name", exchange))
}

// Import implements v1.Lab. The files are looked at by the lab only.
func (l *lab) Import(_ context.Context, r v1.ImportRequest) (job.Job, error) {
	if err := checkExchange("/options/exchange", r.Options.Exchange); err != nil {
		return job.Job{}, err
	}
	_, release, err := l.uploads.Hold(r.UploadIDs)
	if missing := new(upload.MissingError); errors.As(err, &missing) {
		return job.Job{}, run.Invalid(fmt.Sprint("/upload_ids/", missing.Index), missing)
	}
	release(false) // a job that waits keeps nothing from being removed in its time
	kind := jobImport
	if r.DryRun {
		kind = jobImportCheck
	}
	work := func(ctx context.Context, call job.Call) (made job.Links, err error) {
		files, release, err := l.uploads.Hold(r.UploadIDs)
		if err != nil {
			return made, &job.LabError{Code: job.CodeFailed,
				Message: "a file was removed while the job waited: send it again"}
		}
		defer func() { release(err == nil && !r.DryRun) }()
		result, err := call(ctx, append(importArgs(r.Options, r.DryRun), files...)...)
		return reported(made, result, err)
	}
	return l.jobs.Add(kind, job.Links{}, work)
}

// Fetch implements v1.Lab. The symbols come one after the other; what is there stays when one fails.
func (l *lab) Fetch(_ context.Context, r v1.FetchRequest) (job.Job, error) {
	if err := checkExchange("/exchange", r.Exchange); err != nil {
		return job.Job{}, err
	}
	at := slices.IndexFunc(l.connectors, func(c trade.Connector) bool {
		return c.Description.ID == r.Exchange
	})
	if at < 0 {
		return job.Job{}, run.Invalid("/exchange",
			fmt.Errorf("is %q, which has no connector: put one into %s", r.Exchange, l.connectorDir))
	}
	args := slices.Concat([]string{"data", "update"}, flag("exchange", r.Exchange),
		flag("timeframe", r.Timeframe), flag("duplicates", r.Duplicates),
		flag("connectors", l.connectorDir), flag("endpoint", l.connectors[at].Endpoint))
	for _, bound := range []struct {
		name string
		at   *string
	}{{"from", r.From}, {"to", r.To}} {
		if bound.at == nil {
			continue
		}
		at, err := market.ParseTime(*bound.at)
		if err != nil {
			return job.Job{}, run.Invalid("/"+bound.name, err)
		}
		args = append(args, flag(bound.name, at.String())...)
	}
	if r.From != nil {
		args[1] = "fetch"
	}
	work := func(ctx context.Context, call job.Call) (made job.Links, err error) {
		for _, symbol := range r.Symbols {
			result, err := call(ctx, append(slices.Clone(args), flag("symbol", symbol)...)...)
			if made, err = reported(made, result, err); err != nil {
				return made, err
			}
		}
		return made, nil
	}
	return l.jobs.Add(jobFetch, job.Links{}, work)
}

// reported adds what the lab says of a series to what a job has made.
func reported(made job.Links, result json.RawMessage, err error) (job.Links, error) {
	if err != nil {
		return made, err
	}
	text, err := readReport(result)
	if err == nil {
		made.Reports = append(made.Reports, text)
	}
	return made, err
}

// readReport reads the answer of lab data import, fetch and update.
func readReport(result []byte) (json.RawMessage, error) {
	var answer struct {
		Dataset candle.Dataset `json:"dataset"`
		Stored  bool           `json:"stored"`
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return nil, fmt.Errorf("the report of the lab cannot be read: %w", err)
	}
	d := answer.Dataset
	if d.ID == "" || d.Timeframe == (market.Timeframe{}) {
		return nil, errors.New("the report of the lab names no dataset")
	}
	d.Report.Files = first(d.Report.Files)
	d.Report.Warnings = first(d.Report.Warnings)
	d.Report.Gaps.Gaps = first(d.Report.Gaps.Gaps)
	if f := d.Report.Fetched; f != nil {
		f.Pages = first(f.Pages)
	}
	return json.Marshal(v1.CandleReport{DatasetID: d.ID, Exchange: d.Exchange, Symbol: d.Symbol,
		Timeframe: d.Timeframe, Rows: d.Rows, First: d.First, Last: d.Last, Calendar: d.Calendar,
		Stored: answer.Stored, Report: d.Report})
}

// first is the beginning of a list that a job shows; never nil.
func first[T any](list []T) []T { return append([]T{}, list[:min(len(list), shownReport)]...) }
