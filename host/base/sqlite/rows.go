package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// Querier is a database or a transaction, of any kind.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Scanner reads the columns of the row at hand.
type Scanner = func(into ...any) error

// Query calls each with the rows of a query, one at a time. An error of each ends it, and is its own.
func Query(ctx context.Context, q Querier, each func(Scanner) error, query string, args ...any) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ScanRow returns the n values of a row, as the driver has them.
func ScanRow(scan Scanner, n int) ([]any, error) {
	values, into := make([]any, n), make([]any, n)
	for i := range values {
		into[i] = &values[i]
	}
	return values, scan(into...)
}
