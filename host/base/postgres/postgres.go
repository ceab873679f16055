// Package postgres opens databases of PostgreSQL for programs of which many may read and one may write.
// Where all may write, DB.Tx lets one transaction after the other, as a file of SQLite does.
//
// A DB has a pool of connections that refuse to write. Elect makes its caller the writer: a session of its
// own takes the advisory lock of the database and counts the epoch up, and every write transaction runs in
// that very session and looks at the epoch first. A writer whose session has ended, and one that was
// succeeded behind a proxy that hides it, can therefore write nothing more. Connections are direct ones: a
// pooler that hands a session on after each transaction is found out and refused.
//
// Statements are those of package sqlite, with ? or ?1 in the place of a value. Schemas are files of SQL like
// there, counted in the table schema_version.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/assay-run/assay/host/base/sqlite"
)

const (
	// readers is how many connections read.
	readers = 8
	// idleTime bounds how long a program may do nothing within DB.Tx, in milliseconds: others wait for it.
	idleTime = "60000"
	// connectTime bounds how long a connection may take to come about.
	connectTime = 5 * time.Second
	// oldest is the oldest version of the server that is spoken to, as server_version_num.
	oldest = 130000
)

// Variable is the environment's variable with the address of a team's registry of runs.
const Variable = "SERVICE_DATABASE"

// IsAddress reports whether a text is the address of a database rather than the path of a file.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// Config is where a database is, and as whom it is opened.
type Config struct{ conn *pgx.ConnConfig }

// errAddress is the refusal of an address. It repeats nothing of it, since what does not parse cannot be told
// from a password.
var errAddress = errors.New("this is not the address of a PostgreSQL database: write " +
	"postgres://user@host:5432/name, with other characters of a name or password than letters and digits " +
	"as %XX, and keep the password in PGPASSFILE or PGPASSWORD")

// ParseConfig reads the address of a database. What it leaves out is taken from the variables of libpq
// (PGPASSWORD, PGPASSFILE, PGSSLMODE and so on).
func ParseConfig(address string) (*Config, error) {
	if !IsAddress(address) {
		return nil, errAddress
	}
	conn, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errAddress
	}
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTime
	}
	for name, value := range map[string]string{
		"application_name": "assay", "client_encoding": "UTF8", "synchronous_commit": "on",
		// The server finds out that a client has vanished, and gives its lock back.
		"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
	} {
		if _, given := conn.RuntimeParams[name]; !given || name == "synchronous_commit" {
			conn.RuntimeParams[name] = value
		}
	}
	return &Config{conn}, nil
}

// HasPassword reports whether an address itself has the password, where anybody who lists processes may
// read it.
func HasPassword(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	_, has := u.User.Password()
	return has || u.Query().Has("password")
}

// String is the address without what is secret.
func (c *Config) String() string {
	u := url.URL{Scheme: "postgres", User: url.User(c.conn.User), Path: "/" + c.conn.Database}
	u.Host = net.JoinHostPort(c.conn.Host, strconv.Itoa(int(c.conn.Port)))
	if strings.HasPrefix(c.conn.Host, "/") { // the folder of a socket
		u.Host, u.RawQuery = "", url.Values{"host": {c.conn.Host}}.Encode()
	}
	return u.String()
}

// with is the configuration with further parameters of its sessions.
func (c *Config) with(params map[string]string) *pgx.ConnConfig {
	conn := c.conn.Copy()
	for name, value := range params {
		conn.RuntimeParams[name] = value
	}
	return conn
}

// DB is an open database.
type DB struct {
	config *Config
	reader *sql.DB
	writer *sql.DB // of Tx
}

// Open connects to a database and brings its schema up to date. migrations holds the .sql files at its root.
func Open(ctx context.Context, c *Config, migrations fs.FS) (*DB, error) {
	steps, err := sqlite.ReadSteps(migrations)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, c, steps); err != nil {
		return nil, fmt.Errorf("open %s: %w", c, err)
	}
	only := c.with(map[string]string{"default_transaction_read_only": "on"})
	write := c.with(map[string]string{"idle_in_transaction_session_timeout": idleTime})
	return &DB{c, openPool(only, "", readers), openPool(write, "", 1)}, nil
}

// Tx runs f in a write transaction while no other program is in one of the same schema. It commits when f
// returns nil and rolls back otherwise, also when f panics. Databases with a writer have [Writer.Tx].
func (d *DB) Tx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit this does nothing
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(`+lockKey("write")+`)`); err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// migrate applies the steps that the database lacks, in one transaction, which other programs wait for.
func migrate(ctx context.Context, c *Config, steps []sqlite.Step) (err error) {
	conn, err := pgx.ConnectConfig(ctx, c.conn.Copy())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var version int
	var encoding string
	var schema *string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int,
		current_setting('server_encoding'), current_schema()`).Scan(&version, &encoding, &schema)
	if err != nil {
		return err
	}
	switch {
	case version < oldest || encoding != "UTF8":
		return fmt.Errorf("version %d with encoding %s: PostgreSQL %d or newer with UTF8 is needed",
			version/10000, encoding, oldest/10000)
	case schema == nil: // without one the locks would have no key
		return errors.New("no schema of the search_path is there")
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	n := 0
	for _, text := range []string{
		`SELECT pg_advisory_xact_lock(` + lockKey("schema") + `)`,
		`CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)`,
	} {
		if _, err := tx.Exec(ctx, text); err != nil {
			return err
		}
	}
	if err := tx.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM schema_version`).Scan(&n); err != nil {
		return err
	}
	if n > len(steps) {
		return &sqlite.NewerSchemaError{Found: n, Known: len(steps)}
	}
	for _, step := range steps[n:] {
		n++
		for _, text := range []string{step.SQL, fmt.Sprintf(`INSERT INTO schema_version VALUES (%d)`, n)} {
			if _, err := conn.PgConn().Exec(ctx, text).ReadAll(); err != nil {
				return fmt.Errorf("migration %s: %w", step.Name, err)
			}
		}
	}
	return tx.Commit(ctx)
}

// lockKey is the expression of an advisory lock's key: one for each schema of the database.
func lockKey(what string) string {
	return `hashtextextended('assay ` + what + ` ' || current_schema(), 0)`
}

// Read returns the pool of reading connections. Writing through it fails.
func (d *DB) Read() *sql.DB { return d.reader }

// Close closes all connections but those of a writer.
func (d *DB) Close() error { return errors.Join(d.reader.Close(), d.writer.Close()) }

// Snapshot is a pool of connections that all see the database as it is now, whatever is written meanwhile,
// until end is called.
func (d *DB) Snapshot(ctx context.Context) (pool *sql.DB, end func(), err error) {
	tx, err := d.reader.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, nil, err
	}
	var id string
	if err := tx.QueryRowContext(ctx, `SELECT pg_export_snapshot()`).Scan(&id); err != nil {
		return nil, nil, errors.Join(err, tx.Rollback())
	}
	begin := `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '` + id + `'`
	pool = openPool(d.config.conn.Copy(), begin, readers)
	return pool, func() { _, _ = pool.Close(), tx.Rollback() }, nil // they have read only
}

// openPool makes a pool whose connections begin with a text of SQL; where there is one, they stay in the
// transaction that it begins.
func openPool(config *pgx.ConnConfig, begin string, conns int) *sql.DB {
	var options []stdlib.OptionOpenDB
	if begin != "" {
		options = append(options, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.PgConn().Exec(ctx, begin).ReadAll()
			return err
		}))
	}
	db := sql.OpenDB(connector{stdlib.GetConnector(*config, options...), begin != ""})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db
}

// connector makes connections that take statements with ? for their values.
type connector struct {
	driver.Connector
	stays bool // in the transaction that it was begun with
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	own, ok := conn.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a connection of another driver: %T", conn), conn.Close())
	}
	return &session{own, c.stays}, nil
}

// session is a connection.
type session struct {
	*stdlib.Conn
	stays bool
}

// PrepareContext implements driver.ConnPrepareContext.
func (s *session) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return s.Conn.PrepareContext(ctx, number(query))
}

// ExecContext implements driver.ExecerContext.
func (s *session) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	return s.Conn.ExecContext(ctx, number(query), args)
}

// QueryContext implements driver.QueryerContext.
func (s *session) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	return s.Conn.QueryContext(ctx, number(query), args)
}

// ResetSession implements driver.SessionResetter.
func (s *session) ResetSession(ctx context.Context) error {
	if s.stays {
		return nil
	}
	return s.Conn.ResetSession(ctx)
}

// number writes $1, $2 and so on for each ? of a statement that is not in quotes, and $3 for ?3.
func number(query string) string {
	if !strings.Contains(query, "?") {
		return query
	}
	var out strings.Builder
	n, quote := 0, rune(0)
	for i, r := range query {
		switch {
		case r == '?' && quote == 0:
			if i+1 < len(query) && '0' <= query[i+1] && query[i+1] <= '9' {
				r = '$'
				break
			}
			n++
			out.WriteString("$" + strconv.Itoa(n))
			continue
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		}
		out.WriteRune(r)
	}
	return out.String()
}

// IsPostgres reports whether an error comes from the database or from the way to it, rather than from what
// was read there.
func IsPostgres(err error) bool {
	var refused *pgconn.PgError
	var away *pgconn.ConnectError
	var lost *LostError
	var wire net.Error
	return errors.As(err, &refused) || errors.As(err, &away) || errors.As(err, &lost) ||
		errors.As(err, &wire) || pgconn.Timeout(err) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
