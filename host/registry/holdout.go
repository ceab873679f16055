package registry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Candles is a row of market_candles: a dataset and the market that it is of.
type Candles struct {
	SHA256, Market              string
	Exchange, Symbol, Timeframe string
	// Step is about the length of a candle in milliseconds.
	Step int64
	Rows int
	// From is the open of the first candle, To the close of the last.
	From, To market.Time
}

// Holdout is from when on the candles of a market are held out: those that close after
// From, however many come later.
type Holdout struct {
	Market string
	From   market.Time
	// At is when this was set, and Author who did.
	At, Author string
}

// Look is a row of looks: that held out days of a market were shown.
type Look struct {
	At string `json:"at"`
	// Market is the market, SourceID the run, plan or candles that show (From, To] of it.
	Market   string      `json:"market"`
	SourceID string      `json:"source_id"`
	From     market.Time `json:"from"`
	To       market.Time `json:"to"`
	Command  string      `json:"command"`
	Author   string      `json:"author"`
}

// Markets is the part of a registry that knows which candles are of one market, what is held out
// of them, and who has looked at it.
type Markets struct{ r *Registry }

// Markets is the part of the registry about hold-outs.
func (r *Registry) Markets() Markets { return Markets{r} }

// Candles lists the datasets whose market is known, in the order in which they came.
func (m Markets) Candles(ctx context.Context) ([]Candles, error) {
	fields := func(c *Candles) []any {
		return []any{&c.SHA256, &c.Market, &c.Exchange, &c.Symbol, &c.Timeframe, &c.Step, &c.Rows, &c.From,
			&c.To}
	}
	return collect(ctx, m.r.db.Read(), fields, `SELECT sha256, market, exchange, symbol, timeframe, step_ms,
		rows, from_at, to_at FROM market_candles ORDER BY rowid`)
}

// Add notes of which market a dataset is. from becomes the begin of the hold-out of a
// market that has none. Looks that were taken before are noted with it. What is known already
// stays as it is.
func (m Markets) Add(ctx context.Context, c Candles, from market.Time, author string) error {
	err := m.r.db.Tx(ctx, func(tx *sql.Tx) error {
		now := market.FromTime(m.r.now()).String()
		added, err := affected(tx.ExecContext(ctx, `INSERT INTO market_candles (sha256, market, exchange,
			symbol, timeframe, step_ms, rows, from_at, to_at, added_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, c.SHA256, c.Market, c.Exchange,
			c.Symbol, c.Timeframe, c.Step, c.Rows, int64(c.From), int64(c.To), now))
		if err != nil || added == 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO holdouts (market, from_at, at, author)
			SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM holdouts WHERE market = ?1)`,
			c.Market, int64(from), now, author); err != nil {
			return err
		}
		return m.recallLooks(ctx, tx, c.SHA256)
	})
	return because(err, m.r.store.Root())
}

// Holdouts are those in force, by market.
func (m Markets) Holdouts(ctx context.Context) (map[string]Holdout, error) {
	fields := func(h *Holdout) []any { return []any{&h.Market, &h.From, &h.At, &h.Author} }
	list, err := collect(ctx, m.r.db.Read(), fields, `SELECT market, from_at, at, author FROM holdouts
		ORDER BY id`)
	out := map[string]Holdout{}
	for _, h := range list {
		out[h.Market] = h
	}
	return out, err
}

// ErrHoldoutMoved means that another process has moved the hold-out in the meantime.
var ErrHoldoutMoved = errors.New("another process has just moved the hold-out: try again")

// Move moves the hold-out of a market from where it is to from. Whether it may be moved
// is decided by package holdout.
func (m Markets) Move(ctx context.Context, was Holdout, from market.Time, author string) error {
	err := m.r.db.Tx(ctx, func(tx *sql.Tx) error {
		added, err := affected(tx.ExecContext(ctx, `INSERT INTO holdouts (market, from_at, at, author)
			SELECT ?1, ?2, ?3, ?4 WHERE ?5 = (SELECT from_at FROM holdouts WHERE market = ?1
			ORDER BY id DESC LIMIT 1)`, was.Market, int64(from), market.FromTime(m.r.now()).String(), author,
			int64(was.From)))
		if err == nil && added == 0 {
			err = fmt.Errorf("market %s: %w", was.Market, ErrHoldoutMoved)
		}
		return err
	})
	return because(err, m.r.store.Root())
}

// Looks lists the looks at held out days of all markets, oldest first.
func (m Markets) Looks(ctx context.Context) ([]Look, error) {
	fields := func(l *Look) []any {
		return []any{&l.At, &l.Market, &l.SourceID, &l.From, &l.To, &l.Command, &l.Author}
	}
	return collect(ctx, m.r.db.Read(), fields, `SELECT at, market, source_id, from_at, to_at, command, author
		FROM looks ORDER BY id`)
}

// LookExport is the command of a look at candles that were written into a file.
const LookExport = "data export"

// Exported notes that candles leave the store as they are: a look, once for each file, where some of
// them are held out. It comes before they do.
func (m Markets) Exported(ctx context.Context, sha256, author string) error {
	err := m.r.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO looks
			(at, market, source_id, from_at, to_at, command, author)
			SELECT ?1, k.market, ?4, CASE WHEN k.from_at > h.from_at THEN k.from_at ELSE h.from_at END,
				k.to_at, '`+LookExport+`', ?3
			FROM market_candles k
			JOIN holdouts h ON h.id = (SELECT MAX(id) FROM holdouts WHERE market = k.market)
			WHERE k.sha256 = ?2 AND k.to_at > h.from_at ON CONFLICT DO NOTHING`,
			market.FromTime(m.r.now()).String(), sha256, author, "candles-"+sha256[:min(12, len(sha256))])
		return err
	})
	return because(err, m.r.store.Root())
}

// Shown reports whether a run or plan has shown any candle of a market.
func (m Markets) Shown(ctx context.Context, market string) (shown bool, err error) {
	err = m.r.db.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM looks WHERE market = ?1)
		OR EXISTS (SELECT 1 FROM windows w JOIN market_candles k ON k.sha256 = w.dataset
		WHERE k.market = ?1 AND w.locked = 0)`, market).Scan(&shown)
	return shown, err
}

// noteLooks notes the looks at held out days that a run or plan takes by its windows, locked
// or not. Where command is empty, command and author are those of the windows.
func (m Markets) noteLooks(ctx context.Context, tx *sql.Tx, id string, locked int,
	command, author string) error {
	return m.insertLooks(ctx, tx, `w.source_id = ?2 AND w.locked = ?3`, id, locked, command, author)
}

// recallLooks notes the looks that were taken before the market of a dataset was known: by
// windows that were shown, and at tests that were revealed.
func (m Markets) recallLooks(ctx context.Context, tx *sql.Tx, sha256 string) error {
	err := m.insertLooks(ctx, tx, `w.dataset = ?2 AND w.locked = ?3`, sha256, 0, "", "")
	if err != nil {
		return err
	}
	fields := func(p *Peek) []any { return []any{&p.RunID, &p.Command, &p.Author} }
	peeks, err := collect(ctx, tx, fields, `SELECT p.run_id, p.command, p.author FROM test_peeks p
		JOIN windows w ON w.source_id = p.run_id AND w.locked = 1 WHERE w.dataset = ?
		AND p.command NOT IN ('`+LookRun+`', '`+LookFamily+`', '`+LookBacktest+`')
		GROUP BY p.run_id, p.command, p.author ORDER BY MIN(p.id)`, sha256)
	for _, p := range peeks {
		err = errors.Join(err, m.noteLooks(ctx, tx, p.RunID, 1, p.Command, p.Author))
	}
	return err
}

func (m Markets) insertLooks(ctx context.Context, tx *sql.Tx, where, value string, locked int,
	command, author string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO looks (at, market, source_id, from_at, to_at, command, author)
		SELECT ?1, g.market, g.source_id, CASE WHEN MIN(g.begins) > MAX(g.held) THEN MIN(g.begins)
			ELSE MAX(g.held) END, MAX(g.ends), g.called, MIN(g.caller)
		FROM (SELECT k.market, w.source_id, w.from_at - k.step_ms AS begins, h.from_at AS held,
			w.to_at AS ends, CASE ?4 WHEN '' THEN w.command ELSE ?4 END AS called,
			CASE ?4 WHEN '' THEN w.author ELSE ?5 END AS caller
			FROM windows w JOIN market_candles k ON k.sha256 = w.dataset
			JOIN holdouts h ON h.id = (SELECT MAX(id) FROM holdouts WHERE market = k.market)
			WHERE w.to_at > h.from_at AND `+where+`) g
		GROUP BY g.market, g.source_id, g.called
		ORDER BY g.market, g.source_id, g.called
		ON CONFLICT DO NOTHING`, market.FromTime(m.r.now()).String(), value, locked, command, author)
	return err
}
