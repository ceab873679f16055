package run

import (
	"context"
	"errors"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Session is a process that plays one backtest after another, for a search. The files of a play are in its
// folder only while it is played. A play that does not end in good order ends the process, and the next
// one starts another. A Session is used by one goroutine at a time; its zero value is ready.
//
// What a strategy keeps in the memory of its process is there in the next play, unless it is a bundle: its
// process has no code of the author, and plays in copies of itself. Whoever uses a Session must
// look whether results depend on it, by plays of the same kind in processes of their own.
type Session struct {
	proc     *catalog.Process
	folder   *candle.Folder // nil for a bundle, which is sent its candles
	forks    bool           // plays bundles alone, and keeps no candles
	unshared string         // SHA-256 of a bundle that can only be played in processes of its own
	sha256   string         // of the program
	options  catalog.LaunchOptions
	candles  map[string]*candlefile.File // the host's own, by their hash
}

// open opens stored candles: once for all plays of a session that keeps them. Else release closes them.
func (s *Session) open(store *candle.Store, d candle.Dataset) (_ *market.Series, release func() error,
	err error) {
	var f *candlefile.File
	keeps := s != nil && !s.forks
	if keeps {
		f = s.candles[d.SHA256]
	}
	if f == nil {
		if f, err = store.OpenSeries(d); err != nil {
			return nil, nil, err
		}
	}
	series := *f.Series()
	if !keeps {
		return &series, f.Close, nil
	}
	if s.candles == nil {
		s.candles = map[string]*candlefile.File{}
	}
	s.candles[d.SHA256] = f
	return &series, func() error { return nil }, nil
}

// takes reports whether the session can play a strategy.
func (s *Session) takes(strategy *catalog.Strategy) bool {
	return s != nil && strategy.Sessions && !strategy.Debug && s.unshared != strategy.SHA256 &&
		(strategy.Program().Bundle || !s.forks)
}

// launch returns the process for a play, whose files go into the folder of the session.
func (s *Session) launch(ctx context.Context, l *Launcher, p *plan, data *runData,
	o catalog.LaunchOptions) (*Plugin, error) {
	same := s.sha256 == p.Strategy.SHA256 && s.options.Procs == o.Procs && s.options.Cores == o.Cores
	bundled := p.Strategy.Program().Bundle
	if same && bundled && s.proc != nil && !s.alive() && s.proc.ExitCode() == 0 { // a play has left something
		s.unshared = p.Strategy.SHA256
		return Launch(ctx, l.Catalog, p.Strategy, o)
	}
	if !same || !s.alive() || bundled && s.proc.Renew(ctx) != nil {
		if err := s.restart(ctx, l, p, o); err != nil {
			if bundled {
				s.unshared = p.Strategy.SHA256
			}
			return nil, err
		}
	}
	data.folder, data.shared = s.folder, s.folder != nil
	return &Plugin{Proc: s.proc, kept: true}, nil
}

// alive reports whether the process can play on.
func (s *Session) alive() bool {
	if s.proc == nil {
		return false
	}
	select {
	case <-s.proc.Done():
		return false
	default:
		return true
	}
}

func (s *Session) restart(ctx context.Context, l *Launcher, p *plan, o catalog.LaunchOptions) (err error) {
	if err := s.end(); err != nil {
		return noFile(err)
	}
	s.sha256, s.options = p.Strategy.SHA256, o
	if o.Sessions = p.Strategy.Program().Bundle; !o.Sessions {
		if s.folder, err = l.Store.OpenFolder(); err != nil {
			return noFile(err)
		}
		o.CandleFolder = s.folder.Path()
	}
	plugin, err := Launch(ctx, l.Catalog, p.Strategy, o)
	if err != nil {
		return errors.Join(err, s.end())
	}
	s.proc = plugin.Proc
	return nil
}

// Close ends the process and closes the candles, which no play may use any more. The session can be used
// again.
func (s *Session) Close() error {
	err := s.end()
	for _, f := range s.candles {
		err = errors.Join(err, f.Close())
	}
	s.candles = nil
	return err
}

// end ends the process.
func (s *Session) end() (err error) {
	if s.proc != nil {
		s.proc.Kill("the session is over")
	}
	if s.folder != nil {
		err = s.folder.Close()
	}
	s.proc, s.folder = nil, nil
	return err
}
