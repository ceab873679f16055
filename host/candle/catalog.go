package candle

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const datasetColumns = `id, exchange, symbol, timeframe, sha256, rows, first_ms, last_ms, calendar,
	price_step, volume_unit, derived_from, report_json, created_at, current`

// List gives every dataset, earlier versions included, ordered by exchange, symbol,
// timeframe and age, newest first.
func (s *Store) List(ctx context.Context) ([]Dataset, error) {
	list, err := s.query(ctx, func(*Dataset) bool { return true }, `SELECT `+datasetColumns+` FROM datasets`)
	sortDatasets(list)
	return list, err
}

// query reads datasets. The catalogue is read anew each time: other processes write it.
// keep picks the same rows as the query, for a store that has its catalogue in memory.
func (s *Store) query(ctx context.Context, keep func(*Dataset) bool, query string,
	args ...any) ([]Dataset, error) {
	if s.db == nil {
		return s.held(keep), ctx.Err()
	}
	rows, err := s.db.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []Dataset{}
	for rows.Next() {
		d, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, rows.Err()
}

func scan(rows *sql.Rows) (d Dataset, err error) {
	var timeframe, step, created string
	var report []byte
	err = rows.Scan(&d.ID, &d.Exchange, &d.Symbol, &timeframe, &d.SHA256, &d.Rows, &d.First, &d.Last,
		&d.Calendar, &step, &d.VolumeUnit, &d.DerivedFrom, &report, &created, &d.Current)
	if err != nil {
		return d, err
	}
	var errs [4]error
	d.Timeframe, errs[0] = market.ParseTimeframe(timeframe)
	d.PriceStep, errs[1] = decimal.Parse(step)
	d.CreatedAt, errs[2] = market.ParseTime(created)
	errs[3] = json.Unmarshal(report, &d.Report)
	if err = errors.Join(errs[:]...); err != nil {
		err = fmt.Errorf("catalogue, %s: %w", d.ID, err)
	}
	return d, err
}

// insert makes d the current dataset of its exchange, symbol and timeframe. A row
// with the same candles is renewed. What was resampled never displaces what was
// imported, which can only happen when both arrive at once.
func (s *Store) insert(ctx context.Context, d *Dataset) error {
	if s.db == nil {
		s.hold(*d)
		return ctx.Err()
	}
	report, err := json.Marshal(d.Report)
	if err != nil {
		return err
	}
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		var imported int
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM datasets
			WHERE exchange = ? AND symbol = ? AND timeframe = ? AND current = 1 AND derived_from = ''`,
			d.Exchange, d.Symbol, d.Timeframe.String()).Scan(&imported)
		if err != nil {
			return err
		}
		if d.Current = d.DerivedFrom == "" || imported == 0; !d.Current {
			return nil
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE datasets SET current = 0 WHERE exchange = ? AND symbol = ? AND timeframe = ?`,
			d.Exchange, d.Symbol, d.Timeframe.String()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO datasets (`+datasetColumns+`)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
			ON CONFLICT (exchange, symbol, timeframe, sha256) DO UPDATE SET
				calendar = excluded.calendar, price_step = excluded.price_step,
				volume_unit = excluded.volume_unit,
				derived_from = excluded.derived_from, report_json = excluded.report_json,
				created_at = excluded.created_at, current = 1`,
			d.ID, d.Exchange, d.Symbol, d.Timeframe.String(), d.SHA256, d.Rows, int64(d.First), int64(d.Last),
			string(d.Calendar),
			d.PriceStep.String(), d.VolumeUnit, d.DerivedFrom, string(report), d.CreatedAt.String())
		return err
	})
}

// Calendar is the days on which a market has candles.
type Calendar string

// The calendars.
const (
	AllDays  Calendar = "24x7"
	Weekdays Calendar = "weekdays"
)

// Dataset is one row of the catalogue: which candles a file holds.
type Dataset struct {
	// ID is for people; SHA256 of the candle file is what identifies.
	ID        string           `json:"id"`
	Exchange  string           `json:"exchange"`
	Symbol    market.Symbol    `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	SHA256    string           `json:"sha256"`
	Rows      int              `json:"rows"`
	// First and Last are open times.
	First    market.Time `json:"first"`
	Last     market.Time `json:"last"`
	Calendar Calendar    `json:"calendar"`
	// PriceStep is 10^-k, k the most decimals of any price, at most 8.
	PriceStep decimal.Decimal `json:"price_step"`
	// VolumeUnit is base, quote, contracts or ticks.
	VolumeUnit string `json:"volume_unit"`
	// DerivedFrom is the hash of the dataset that this one was resampled from, else empty.
	DerivedFrom string      `json:"derived_from"`
	CreatedAt   market.Time `json:"created_at"`
	// Current is the newest of its exchange, symbol and timeframe.
	Current bool   `json:"current"`
	Report  Report `json:"report"`
}

// Start returns the open time of the first candle.
func (d Dataset) Start() market.Time { return d.First }

// End returns the close time of the last candle.
func (d Dataset) End() market.Time { return d.Timeframe.Next(d.Last) }

// Report is how a dataset came about and what it lacks.
type Report struct {
	importer.Report
	Gaps          GapReport   `json:"gaps"`
	DatasetSHA256 string      `json:"dataset_sha256"`
	Resampled     *Resampling `json:"resampled,omitempty"`
	Fetched       *Fetched    `json:"fetched,omitempty"`
}

// Fetched is how candles came from an exchange (package fetch).
type Fetched struct {
	// Key names the fetch: the series and the time that was asked for.
	Key string `json:"key"`
	// Connector is the id of the connector that finished the fetch.
	Connector        string `json:"connector"`
	ConnectorVersion string `json:"connector_version"`
	ConnectorSHA256  string `json:"connector_sha256"`
	// Endpoint is the host that the connector was sent to; empty: its own.
	Endpoint string `json:"endpoint"`
	// FirstRequest and LastRequest are when the first and the last page were asked for.
	FirstRequest market.Time   `json:"first_request"`
	LastRequest  market.Time   `json:"last_request"`
	Pages        []FetchedPage `json:"pages"`
	// Onto is the hash of the dataset that the pages were joined with, whose report has what was
	// fetched before; empty: there was none.
	Onto string `json:"onto"`
}

// FetchedPage is one answer of an exchange.
type FetchedPage struct {
	// SHA256 of the page as it was kept.
	SHA256 string `json:"sha256"`
	// First and Last are open times.
	First           market.Time `json:"first"`
	Last            market.Time `json:"last"`
	Rows            int         `json:"rows"`
	RequestedAt     market.Time `json:"requested_at"`
	ConnectorSHA256 string      `json:"connector_sha256"`
}

// Has reports whether the pages with these hashes are all among those fetched.
func (f *Fetched) Has(hashes []string) bool {
	return f != nil && !slices.ContainsFunc(hashes, func(sum string) bool {
		return !slices.ContainsFunc(f.Pages, func(p FetchedPage) bool { return p.SHA256 == sum })
	})
}

// Window is the part of a dataset that a run uses, [Start, End).
type Window struct {
	Symbol     market.Symbol
	Timeframe  market.Timeframe
	SHA256     string
	Start, End market.Time
}

// DataHash identifies the candles of a run: the hash of the canonical JSON of its
// windows in the order of the request.
func DataHash(windows []Window) (string, error) {
	type entry struct {
		Symbol    market.Symbol    `json:"symbol"`
		Timeframe market.Timeframe `json:"timeframe"`
		SHA256    string           `json:"sha256"`
		Start     int64            `json:"start"`
		End       int64            `json:"end"`
	}
	list := make([]entry, len(windows))
	for i, w := range windows {
		list[i] = entry{w.Symbol, w.Timeframe, w.SHA256, int64(w.Start), int64(w.End)}
	}
	return digest.Of(list)
}

// datasetID is exchange, base, quote, timeframe and the beginning of the hash, in
// lower case.
func datasetID(exchange string, s market.Symbol, tf market.Timeframe, sha string) string {
	return fmt.Sprintf("%s-%.12s", SeriesKey(exchange, s, tf), sha)
}

// SeriesKey names a series in file names: exchange, base, quote and timeframe in lower case.
func SeriesKey(exchange string, s market.Symbol, tf market.Timeframe) string {
	return strings.ToLower(fmt.Sprintf("%s-%s-%s-%s", exchange, s.Base(), s.Quote(), tf))
}

// NotFoundError means that the store has no such candles, and what it has instead.
type NotFoundError struct {
	// What is not there: exchange, symbol, timeframe or dataset.
	What   string
	Value  string
	Have   []string
	Reason string
}

// Error names what is missing and what could be asked for.
func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no candles for the %s %s", e.What, e.Value)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if len(e.Have) > 0 {
		text += "; there are " + strings.Join(e.Have, ", ")
	}
	return text + " (lab data import adds more)"
}

// Lookup finds the candles of a symbol: the current dataset of exactly this
// timeframe, else one resampled from the largest stored timeframe below that divides
// it, which is stored as a dataset of its own. A *NotFoundError names what is missing.
func (s *Store) Lookup(ctx context.Context, exchange string, symbol market.Symbol,
	tf market.Timeframe) (Dataset, error) {
	d, exact, err := s.find(ctx, exchange, symbol, tf)
	if err != nil || exact {
		return d, err
	}
	s.resampling.Lock()
	defer s.resampling.Unlock()
	if d, exact, err = s.find(ctx, exchange, symbol, tf); err != nil || exact {
		return d, err
	}
	return s.resample(ctx, d, tf)
}

// Offers reports whether Lookup would find candles, without resampling any.
func (s *Store) Offers(ctx context.Context, exchange string, symbol market.Symbol,
	tf market.Timeframe) error {
	_, _, err := s.find(ctx, exchange, symbol, tf)
	return err
}

// Pinned finds a dataset, current or not, by the hash of its file.
func (s *Store) Pinned(ctx context.Context, exchange string, symbol market.Symbol, tf market.Timeframe,
	sha256 string) (Dataset, error) {
	pinned := func(d *Dataset) bool {
		return d.Exchange == exchange && d.Symbol == symbol && d.Timeframe == tf && d.SHA256 == sha256
	}
	list, err := s.query(ctx, pinned, `SELECT `+datasetColumns+` FROM datasets
		WHERE exchange = ? AND symbol = ? AND timeframe = ? AND sha256 = ?`, exchange, symbol, tf.String(),
		sha256)
	if err != nil {
		return Dataset{}, err
	}
	if len(list) == 0 {
		return Dataset{},
			&NotFoundError{What: "dataset", Value: sha256,
				Reason: fmt.Sprintf("%s %s on %s has no version with this hash", symbol, tf, exchange)}
	}
	return list[0], nil
}

// current returns the current datasets of a symbol.
func (s *Store) current(ctx context.Context, exchange string, symbol market.Symbol) ([]Dataset, error) {
	keep := func(d *Dataset) bool { return d.Exchange == exchange && d.Symbol == symbol && d.Current }
	return s.query(ctx, keep, `SELECT `+datasetColumns+` FROM datasets
		WHERE exchange = ? AND symbol = ? AND current = 1`, exchange, symbol)
}

// find gives the dataset of the timeframe (exact), or the one to resample it from.
// Only imported ones are resampled, so that the result does not depend on what was
// asked for before.
func (s *Store) find(ctx context.Context, exchange string, symbol market.Symbol,
	tf market.Timeframe) (d Dataset, exact bool, err error) {
	list, err := s.current(ctx, exchange, symbol)
	if err != nil {
		return d, false, err
	}
	if len(list) == 0 {
		return d, false, s.notFound(ctx, exchange, symbol)
	}
	var derived, source Dataset
	var have []market.Timeframe
	for _, c := range list {
		switch {
		case c.Timeframe == tf && c.DerivedFrom == "":
			return c, true, nil
		case c.Timeframe == tf:
			derived = c
		case c.DerivedFrom == "":
			have = append(have, c.Timeframe)
			if c.Timeframe.Divides(tf) &&
				(source.Rows == 0 || c.Timeframe.Approx() > source.Timeframe.Approx()) {
				source = c
			}
		}
	}
	switch {
	case source.Rows == 0:
		return d, false, &NotFoundError{
			What: "timeframe", Value: tf.String(), Have: names(have),
			Reason: fmt.Sprintf("there are no candles of %s on %s that could be merged into %s", symbol,
				exchange, tf),
		}
	case derived.DerivedFrom == source.SHA256:
		return derived, true, nil
	}
	return source, false, nil
}

// notFound returns the error for a missing exchange, or for a missing symbol of one.
func (s *Store) notFound(ctx context.Context, exchange string, symbol market.Symbol) error {
	all, err := s.Exchanges(ctx)
	if err != nil {
		return err
	}
	e := &NotFoundError{What: "exchange", Value: exchange}
	for _, x := range all {
		if x.ID == exchange {
			return &NotFoundError{What: "symbol", Value: string(symbol), Have: names(x.Symbols)}
		}
		e.Have = append(e.Have, x.ID)
	}
	return e
}

func names[T any](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// Exchange is what is stored of one exchange. What can be resampled from it is not listed.
type Exchange struct {
	ID         string             `json:"id"`
	Symbols    []market.Symbol    `json:"symbols"`
	Timeframes []market.Timeframe `json:"timeframes"`
	// DateRange by symbol and timeframe.
	DateRange map[market.Symbol]map[string]Range `json:"date_range"`
}

// Range is from the open of the first candle to the close of the last.
type Range struct {
	Start   market.Time `json:"start"`
	End     market.Time `json:"end"`
	Candles int         `json:"candles"`
}

// Exchanges lists what is stored, by exchange.
func (s *Store) Exchanges(ctx context.Context) ([]Exchange, error) {
	imported := func(d *Dataset) bool { return d.Current && d.DerivedFrom == "" }
	list, err := s.query(ctx, imported,
		`SELECT `+datasetColumns+` FROM datasets WHERE current = 1 AND derived_from = ''`)
	if err != nil {
		return nil, err
	}
	sortDatasets(list)
	out := []Exchange{}
	for _, d := range list {
		if len(out) == 0 || out[len(out)-1].ID != d.Exchange {
			out = append(out, Exchange{ID: d.Exchange, DateRange: map[market.Symbol]map[string]Range{}})
		}
		x := &out[len(out)-1]
		if x.DateRange[d.Symbol] == nil {
			x.DateRange[d.Symbol] = map[string]Range{}
			x.Symbols = append(x.Symbols, d.Symbol)
		}
		x.DateRange[d.Symbol][d.Timeframe.String()] = Range{Start: d.Start(), End: d.End(), Candles: d.Rows}
		if !slices.Contains(x.Timeframes, d.Timeframe) {
			x.Timeframes = append(x.Timeframes, d.Timeframe)
		}
	}
	for i := range out {
		slices.SortFunc(out[i].Timeframes, compareTimeframes)
	}
	return out, nil
}

func compareTimeframes(a, b market.Timeframe) int {
	return cmp.Or(cmp.Compare(a.Approx(), b.Approx()), cmp.Compare(a.String(), b.String()))
}

func sortDatasets(list []Dataset) {
	slices.SortFunc(list, func(a, b Dataset) int {
		return cmp.Or(
			cmp.Compare(a.Exchange, b.Exchange), cmp.Compare(a.Symbol, b.Symbol),
			compareTimeframes(a.Timeframe, b.Timeframe),
			cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.SHA256, b.SHA256))
	})
}
