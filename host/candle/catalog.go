package candle

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/govalues/decimal"

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
// keep says the same as the query does, for a store that has its catalogue in memory.
func (s *Store) query(ctx context.Context, keep func(*Dataset) bool, query string, args ...any) ([]Dataset, error) {
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
	err = rows.Scan(&d.ID, &d.Exchange, &d.Symbol, &timeframe, &d.SHA256, &d.Rows, &d.First, &d.Last, &d.Calendar,
		&step, &d.VolumeUnit, &d.DerivedFrom, &report, &created, &d.Current)
	if err != nil {
		return d, err
	}
	if d.Timeframe, err = market.ParseTimeframe(timeframe); err != nil {
		return d, fmt.Errorf("catalogue, %s: %w", d.ID, err)
	}
	if d.PriceStep, err = decimal.Parse(step); err != nil {
		return d, fmt.Errorf("catalogue, %s: %w", d.ID, err)
	}
	if d.CreatedAt, err = market.ParseTime(created); err != nil {
		return d, fmt.Errorf("catalogue, %s: %w", d.ID, err)
	}
	if err = json.Unmarshal(report, &d.Report); err != nil {
		return d, fmt.Errorf("catalogue, report of %s: %w", d.ID, err)
	}
	return d, nil
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
		if _, err := tx.ExecContext(ctx, `UPDATE datasets SET current = 0 WHERE exchange = ? AND symbol = ? AND timeframe = ?`,
			d.Exchange, d.Symbol, d.Timeframe.String()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO datasets (`+datasetColumns+`)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
			ON CONFLICT (exchange, symbol, timeframe, sha256) DO UPDATE SET
				calendar = excluded.calendar, price_step = excluded.price_step, volume_unit = excluded.volume_unit,
				derived_from = excluded.derived_from, report_json = excluded.report_json,
				created_at = excluded.created_at, current = 1`,
			d.ID, d.Exchange, d.Symbol, d.Timeframe.String(), d.SHA256, d.Rows, int64(d.First), int64(d.Last), string(d.Calendar),
			d.PriceStep.String(), d.VolumeUnit, d.DerivedFrom, string(report), d.CreatedAt.String())
		return err
	})
}
