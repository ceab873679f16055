package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/promotion/policy"
	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/base/translog"
)

// The codes of what only a plane on a shared database refuses.
const (
	NotWriter   = "NOT_THE_WRITER"
	Unavailable = "DATABASE_UNAVAILABLE"
)

// NotWriterError reports that another plane is the writer, and where it answers as far as it has said so.
type NotWriterError struct{ Writer string }

// Error implements error.
func (e *NotWriterError) Error() string {
	return fmt.Sprintf("not the writer of this log: another plane is, or was last (%s)", e.Writer)
}

// UnavailableError reports that the database does not answer, so that nothing can be said of the log.
type UnavailableError struct{ Err error }

// Error implements error.
func (e *UnavailableError) Error() string { return fmt.Sprintf("the database: %v", e.Err) }

// Unwrap returns what has happened.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Standing is a plane's part among those that share a database.
type Standing struct {
	Writer  bool
	Address string // of the plane that became the writer last
	Epoch   int64  // how many writers there have been
	Err     error  // why this plane is not, or no longer
}

const (
	// holdEvery is how often a writer looks whether its session lives, retryAfter how long a plane waits
	// that could not become the writer.
	holdEvery  = time.Second
	retryAfter = time.Second
	// writeTime bounds how long the database may take for one write of a plane, askTime for one question.
	writeTime = 30 * time.Second
	askTime   = 5 * time.Second
	// beginTime is how long a plane waits for the one that begins the log.
	beginTime = 10 * time.Second
)

// shared is a database of PostgreSQL, which other planes may use as well.
type shared struct {
	*postgres.DB
	config *postgres.Config
	writer atomic.Pointer[postgres.Writer] // nil while another plane is
	// settled reports whether the policy and trust of this plane are in force since it became the writer:
	// nothing else is written before.
	settled atomic.Bool
	// stop ends the part of a running plane; a command has none, and takes the time that it needs.
	stop context.CancelFunc
	done chan struct{}
}

func openShared(ctx context.Context, address string) (*shared, error) {
	config, err := postgres.ParseConfig(address)
	if err != nil {
		return nil, &ConfigError{"database: " + err.Error()}
	}
	db, err := postgres.Open(ctx, config, migrations("schema/postgres"))
	if err != nil {
		return nil, &UnavailableError{err}
	}
	return &shared{DB: db, config: config}, nil
}

func openSharedBegun(ctx context.Context, address string) (database, error) {
	db, err := openShared(ctx, address)
	if err != nil {
		return nil, err
	}
	meta, err := readMeta(ctx, db.Read())
	if err == nil && len(meta) == 0 {
		err = &ConfigError{fmt.Sprintf("there is no log in %s", db.config)}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Tx implements database: in the writer's session, or not at all.
func (d *shared) Tx(ctx context.Context, f func(*sql.Tx) error) error {
	w := d.writer.Load()
	if w == nil {
		return d.refuse(ctx)
	}
	if d.stop != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, writeTime)
		defer cancel()
	}
	err := w.Tx(ctx, f)
	var lost *postgres.LostError
	if errors.As(err, &lost) {
		d.drop(w)
		return errors.Join(d.refuse(ctx), err)
	}
	if err != nil && postgres.IsPostgres(err) {
		if w.Ping(context.WithoutCancel(ctx)) != nil {
			d.drop(w)
		}
		return &UnavailableError{err}
	}
	return err
}

// refuse says who is the writer.
func (d *shared) refuse(ctx context.Context) error {
	_, address, err := d.Writer(ctx)
	if err != nil {
		return &UnavailableError{err}
	}
	return &NotWriterError{address}
}

// leads reports whether this plane is the writer and writes what it is asked to.
func (d *shared) leads() bool { return d.writer.Load() != nil && d.settled.Load() }

// elect makes this plane the writer.
func (d *shared) elect(ctx context.Context, wait bool, address func() string) error {
	w, err := d.Elect(ctx, wait, address)
	var led *postgres.LedError
	if errors.As(err, &led) {
		return &NotWriterError{led.Address}
	}
	if err != nil {
		return &UnavailableError{err}
	}
	d.settled.Store(false)
	d.writer.Store(w)
	return nil
}

// drop ends a writer's session, which may be lost already.
func (d *shared) drop(w *postgres.Writer) {
	if w != nil && d.writer.CompareAndSwap(w, nil) {
		_ = w.Close() // what it wrote is committed or is not
	}
}

// resign ends the part that this plane has; what is under way is finished before.
func (d *shared) resign() {
	if d.stop != nil {
		d.stop()
		<-d.done
	}
}

// Close implements database.
func (d *shared) Close() error {
	d.drop(d.writer.Load())
	return d.DB.Close()
}

// size is how many entries the database has.
func (d *shared) size(ctx context.Context) (n int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	err = d.Read().QueryRowContext(ctx, `SELECT coalesce(max(size), 0) FROM checkpoints`).Scan(&n)
	return n, err
}

// member is a plane among those that share a database.
type member struct{ s *Store }

// join opens or begins the log of a shared database, as the writer where no other plane is.
func (m member) join(ctx context.Context) (err error) {
	if m.s.shared, err = openShared(ctx, m.s.opts.Database); err != nil {
		m.s.shared = nil
		return err
	}
	m.s.db = m.s.shared
	var other *NotWriterError
	err = m.s.shared.elect(ctx, false, m.address)
	if errors.As(err, &other) {
		err = m.awaitBegin(ctx)
	}
	if err != nil {
		return err
	}
	if err := m.s.identify(ctx); err != nil {
		return err
	}
	if err := m.s.load(ctx); err != nil {
		return err
	}
	if m.s.damage != nil { // another plane may have a witness that knows better
		m.s.shared.drop(m.s.shared.writer.Load())
		return nil
	}
	err = m.s.Reconfigure(ctx, m.s.opts.Policy, m.s.opts.Trust)
	if err != nil && !errors.As(err, &other) {
		return err
	}
	m.s.shared.settled.Store(err == nil)
	var campaign context.Context
	campaign, m.s.shared.stop = context.WithCancel(context.WithoutCancel(ctx))
	m.s.shared.done = make(chan struct{})
	go m.campaign(campaign)
	return nil
}

// awaitBegin waits until the writer has begun the log.
func (m member) awaitBegin(ctx context.Context) error {
	for end := time.Now().Add(beginTime); ; {
		n, err := m.s.shared.size(ctx)
		switch {
		case err != nil:
			return &UnavailableError{err}
		case n > 0:
			return nil
		case time.Now().After(end):
			return &ConfigError{fmt.Sprintf("another program holds %s and has begun no log there",
				m.s.shared.config)}
		}
		time.Sleep(retryAfter / 10)
	}
}

// propose keeps a policy and trust for the times when this plane is the writer. The error is a *ConfigError
// where they may not follow those in force, and a *NotWriterError where this plane is not the writer.
func (m member) propose(ctx context.Context, p *policy.Policy, t *bundle.Trust) error {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if m.s.damage != nil {
		return m.s.damage
	}
	if m.s.d.size > 0 && m.s.away == nil {
		if err := follows(m.s.d.world, p, t); err != nil {
			return err
		}
	}
	m.s.opts.Policy, m.s.opts.Trust = p, t
	if m.s.shared.writer.Load() == nil {
		return m.s.shared.refuse(ctx)
	}
	return nil
}

// campaign becomes the writer whenever there is none, and holds on to it, until ctx ends.
func (m member) campaign(ctx context.Context) {
	defer close(m.s.shared.done)
	for logged := ""; ctx.Err() == nil; {
		err := m.lead(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if text := err.Error(); text != logged {
			m.report(Standing{Err: err})
			logged = text
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// lead waits until this plane is the writer, and returns when it is no longer.
func (m member) lead(ctx context.Context) error {
	w := m.s.shared.writer.Load()
	if w == nil {
		if err := m.s.shared.elect(ctx, true, m.address); err != nil {
			return err
		}
		w = m.s.shared.writer.Load()
		defer m.s.shared.drop(w)
		// Nobody else writes now. What others have written is taken in before anything is written here.
		if _, err := m.s.Refresh(ctx); err != nil {
			return err
		}
		if d := m.s.Damage(); d != nil {
			return d
		}
		proposed := func() (*policy.Policy, *bundle.Trust) { return m.s.opts.Policy, m.s.opts.Trust }
		if err := enforce(ctx, m.s, proposed); err != nil {
			return err
		}
		m.s.shared.settled.Store(true)
	}
	m.report(Standing{Writer: true, Epoch: w.Epoch, Address: m.address()})
	defer m.s.shared.drop(w)
	return w.Hold(ctx, holdEvery)
}

func (m member) report(standing Standing) {
	if m.s.opts.Report != nil {
		m.s.opts.Report(standing)
	}
}

func (m member) address() string {
	m.s.mu.RLock()
	defer m.s.mu.RUnlock()
	return m.s.announced
}

// Announce says where this plane answers, for those that ask another one to write. It does nothing where the
// log is no shared one.
func (s *Store) Announce(ctx context.Context, address string) error {
	if s.shared == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announced = address
	if w := s.shared.writer.Load(); w != nil {
		return w.Announce(ctx, address)
	}
	return nil
}

// Standing is the part of this plane; ok reports whether it has a shared database at all.
func (s *Store) Standing(ctx context.Context) (standing Standing, ok bool) {
	if s.shared == nil {
		return standing, false
	}
	standing.Writer = s.shared.leads()
	standing.Epoch, standing.Address, standing.Err = s.shared.Writer(ctx)
	return standing, true
}

// Refresh takes in what another plane has written meanwhile, checked like at a start. It reports whether that
// was anything. The error is an *UnavailableError when the database does not say what it has.
func (s *Store) Refresh(ctx context.Context) (grown bool, err error) {
	if s.shared == nil {
		return false, nil
	}
	size, err := s.shared.size(ctx)
	if err != nil {
		return false, &UnavailableError{err}
	}
	s.mu.RLock()
	same := s.damage != nil || s.away == nil && size == s.d.size
	s.mu.RUnlock()
	if same {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.damage != nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	before := s.d.size
	if err := (member{s}).catchUp(ctx); err != nil {
		return false, err
	}
	return s.d.size != before, nil
}

// catchUp takes in what the database has more. A fault in it becomes the store's damage.
func (m member) catchUp(ctx context.Context) error {
	var config *ConfigError
	if m.s.away != nil && errors.As(m.s.away, &config) {
		return m.s.away
	}
	size, err := m.s.shared.size(ctx)
	switch {
	case err != nil:
		return &UnavailableError{err}
	case m.s.away != nil:
		m.s.reload(ctx)
		if m.s.away != nil {
			return m.s.away
		}
		if m.s.damage != nil {
			return nil
		}
	case size < m.s.d.size:
		m.s.damage = &DamageError{Rollback,
			fmt.Sprintf("the database has %d entries, this plane has seen %d", size, m.s.d.size)}
		return nil
	case size == m.s.d.size:
		return nil
	default:
		if err := m.extend(ctx, size); err != nil {
			return err
		}
		if m.s.damage != nil {
			return nil
		}
	}
	return m.s.heads.write(m.s.log.View().Head, m.s.opts.Now())
}

// extend folds the entries up to size, which are committed.
func (m member) extend(ctx context.Context, size int64) error {
	var rotations int64
	err := m.s.db.Read().QueryRowContext(ctx,
		`SELECT count(*) FROM ledger WHERE statement_type = ? AND seq >= ? AND seq < ?`,
		translog.TypeRotation, m.s.d.size, size).Scan(&rotations)
	if err == nil && rotations > 0 {
		m.s.away = &UnavailableError{&ConfigError{
			"the log has changed its keys: put the new ones into " + KeyDir + " and start this plane again"}}
		return m.s.away
	}
	if err == nil {
		err = m.s.d.extend(ctx, m.s.db.Read(), m.s.origin, m.s.keys, size, nil)
	}
	if err != nil && (postgres.IsPostgres(err) || ctx.Err() != nil) {
		m.s.away = &UnavailableError{err} // some of it may be folded
		return m.s.away
	}
	if _, signed := m.s.d.roots[size]; err == nil && (m.s.d.size != size || !signed) {
		err = fmt.Errorf("the entries end at %d, a checkpoint has %d", m.s.d.size, size)
	}
	if err == nil {
		m.s.log, err = ledger.NewLog(m.s.origin, m.s.keys.Ring, m.s.keys.Log, m.s.d.tree, m.s.d.note)
	}
	if err != nil {
		m.s.damage = &DamageError{Corrupt, err.Error()}
	}
	return nil
}
