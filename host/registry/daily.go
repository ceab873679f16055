package registry

import (
	"context"
	"database/sql"
	"errors"
)

// Daily is the daily net returns of a run as somebody has derived them, so that thousands
// of curves need not be read again: a row of daily_returns.
type Daily struct {
	RunID string
	// Source is the SHA-256 of what they were derived from, in lower-case hex. Content is
	// theirs who derive them; empty says that there are no such returns.
	Source  string
	Content []byte
}

// KeptDaily is the daily returns that are kept, by run id.
func (r *Registry) KeptDaily(ctx context.Context) (kept map[string]Daily, err error) {
	rows, err := r.db.Read().QueryContext(ctx, `SELECT run_id, source_sha256, content FROM daily_returns`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	kept = map[string]Daily{}
	for rows.Next() {
		var d Daily
		if err := rows.Scan(&d.RunID, &d.Source, &d.Content); err != nil {
			return nil, err
		}
		kept[d.RunID] = d
	}
	return kept, rows.Err()
}

// KeepDaily keeps daily returns, in the place of what was kept of the same runs.
func (r *Registry) KeepDaily(ctx context.Context, list []Daily) error {
	return r.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, d := range list {
			if _, err := tx.ExecContext(ctx, `INSERT INTO daily_returns (run_id, source_sha256, content) VALUES (?, ?, ?)
				ON CONFLICT (run_id) DO UPDATE SET source_sha256 = excluded.source_sha256, content = excluded.content`,
				d.RunID, d.Source, append([]byte{}, d.Content...)); err != nil {
				return err
			}
		}
		return nil
	})
}
