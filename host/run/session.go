package run

import (
	"context"
	"errors"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
)

// Session is a process that plays one backtest after another, for a search. The files of a play are in its
// folder only while it is played. A play that does not end in good order ends the process, and the next
// one starts another. A Session is used by one goroutine at a time; its zero value is ready.
//
// What a strategy keeps in the memory of its process is there in the next play. Whoever uses a Session must
// look whether results depend on it, by plays of the same kind in processes of their own.
type Session struct {
	proc    *catalog.Process
	folder  *candle.Folder
	sha256  string // of the program
	options catalog.LaunchOptions
}

// launch returns the process for a play, whose files go into the folder of the session.
func (s *Session) launch(ctx context.Context, l *Launcher, p *plan, data *runData,
	o catalog.LaunchOptions) (*Plugin, error) {
	if s.sha256 != p.Strategy.SHA256 || s.options.Procs != o.Procs || s.options.Cores != o.Cores || !s.alive() {
		if err := s.restart(ctx, l, p, o); err != nil {
			return nil, err
		}
	}
	data.folder, data.shared = s.folder, true
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
	if err := s.Close(); err != nil {
		return noFile(err)
	}
	if s.folder, err = l.Store.OpenFolder(); err != nil {
		return noFile(err)
	}
	s.sha256, s.options = p.Strategy.SHA256, o
	o.CandleFolder = s.folder.Path()
	plugin, err := Launch(ctx, l.Catalog, p.Strategy, o)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	s.proc = plugin.Proc
	return nil
}

// Close ends the process. The session can be used again.
func (s *Session) Close() (err error) {
	if s.proc != nil {
		s.proc.Kill("the session is over")
	}
	if s.folder != nil {
		err = s.folder.Close()
	}
	s.proc, s.folder = nil, nil
	return err
}
