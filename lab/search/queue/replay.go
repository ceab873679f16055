package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/request"
)

// spentFiles is how many files that no replay needs any more stay on the server: the next may need them.
const spentFiles = 16

// Replay lets a worker make a replay: a request.Replayer. Candles that are not those of the job go with it.
func (s *Submitter) Replay(ctx context.Context, p *request.Prepared,
	r request.Replay) (*request.Replayed, error) {
	n := s.replays.Add(1)
	t := &Task{Schema: taskSchema, Epoch: s.job.Epoch, RunID: p.RunID, RequestHash: p.RequestHash,
		ID: fmt.Sprintf("%s.%s-%dr", s.job.Epoch, p.RunID, n), PlanID: s.job.PlanID, Trial: n, Attempt: 1,
		Replay: &r}
	var files map[string]string
	if p.RequestHash != s.root {
		var err error
		if t.Candles, files, err = request.CandlesOf(ctx, p); err != nil {
			return nil, err
		}
	}
	defer s.spend(ctx, files)
	out, err := s.ask(ctx, t, files)
	if err != nil {
		return nil, err
	}
	return request.UnpackReplayed(out)
}

// spend takes files off the server that no replay needs any more, but for the last ones.
func (s *Submitter) spend(ctx context.Context, files map[string]string) {
	var gone []string
	s.mu.Lock()
	for sum := range files {
		if i := slices.Index(s.spent, sum); i >= 0 {
			s.spent = slices.Delete(s.spent, i, i+1)
		}
		s.spent = append(s.spent, sum)
	}
	for len(s.spent) > spentFiles {
		if sum := s.spent[0]; !s.isNeeded(sum) {
			gone = append(gone, sum)
		}
		s.spent = s.spent[1:]
	}
	s.mu.Unlock()
	s.remove(ctx, gone)
}

// isNeeded reports whether a replay that is out needs a file. It is called under the lock.
func (s *Submitter) isNeeded(sum string) bool {
	for _, e := range s.waiting {
		if _, needed := e.files[sum]; needed {
			return true
		}
	}
	return false
}

// remove takes files off the server; those that are needed after all are put there again.
func (s *Submitter) remove(ctx context.Context, sums []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beat)
	defer cancel()
	for _, sum := range sums {
		if err := s.link.blobs.Delete(ctx, sum); err != nil {
			s.logger.Debug("a file stays on the server", "sha256", sum, "error", err)
		}
	}
}

// market is changed candles on which replays of an epoch are made.
type market struct {
	once sync.Once
	err  error
	root *request.Prepared
	dir  string

	users int // counted under the bench's lock
	used  int // when, among all uses
}

// replays are the changed candles of a bench, and what forks bundles there.
type replays struct {
	mu      sync.Mutex
	markets map[string]*market // by the hashes of their candles
	uses    int
	forks   run.Sessions
}

// idleMarkets is how many changed candles stay when nobody plays on them: the trials of a repeated search
// share theirs.
const idleMarkets = 2

// replay makes the replay of a task.
func (b *bench) replay(ctx context.Context, w *worker, t *Task) (map[string][]byte, error) {
	p := b.root
	if len(t.Candles) > 0 {
		m, err := b.enter(ctx, w, t.Candles)
		defer b.leave(w, m)
		if err != nil {
			return nil, err
		}
		p = m.root
	}
	if err := t.isOf(p); err != nil {
		return nil, err
	}
	host := *b.host
	host.Procs, host.Forks, host.Logger = 0, &b.replays.forks, hclog.NewNullLogger()
	return request.PerformReplay(ctx, &host, p, *t.Replay)
}

// enter brings the candles of a task here, or finds them. They are left in any case.
func (b *bench) enter(ctx context.Context, w *worker, candles []request.CandleSupply) (*market, error) {
	var key strings.Builder
	for _, c := range candles {
		fmt.Fprintf(&key, "%s %s\n", c.Symbol, c.SHA256)
	}
	r := &b.replays
	r.mu.Lock()
	m := r.markets[key.String()]
	if m == nil || m.users == 0 && m.err != nil { // the next task tries again
		if r.markets == nil {
			r.markets = map[string]*market{}
		}
		m = &market{}
		r.markets[key.String()] = m
	}
	m.users++
	r.uses++
	m.used = r.uses
	r.mu.Unlock()
	m.once.Do(func() { m.err = m.open(ctx, w, b, candles) })
	return m, m.err
}

func (m *market) open(ctx context.Context, w *worker, b *bench, candles []request.CandleSupply) (err error) {
	if m.dir, err = os.MkdirTemp(b.host.StateDir, "market-"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	blobs := filepath.Join(m.dir, "blobs")
	if err := os.Mkdir(blobs, 0o700); err != nil {
		return err
	}
	for _, c := range candles {
		if err := w.getFile(ctx, c.SHA256, blobs); err != nil {
			return err
		}
	}
	if m.root, err = request.Market(ctx, b.host, b.root, blobs, m.dir, candles); err != nil {
		return err
	}
	return os.RemoveAll(blobs)
}

func (m *market) close() error {
	var err error
	if m.root != nil {
		m.root.Close()
		err = m.root.Store().Close()
	}
	if m.dir != "" {
		err = errors.Join(err, os.RemoveAll(m.dir))
	}
	return err
}

// leave closes candles that have not been used for longest.
func (b *bench) leave(w *worker, m *market) {
	r := &b.replays
	var old []*market
	r.mu.Lock()
	m.users--
	for {
		idle, key := 0, ""
		for k, x := range r.markets {
			if x.users == 0 {
				if idle++; key == "" || x.used < r.markets[key].used {
					key = k
				}
			}
		}
		if idle <= idleMarkets {
			break
		}
		old = append(old, r.markets[key])
		delete(r.markets, key)
	}
	r.mu.Unlock()
	for _, x := range old {
		if err := x.close(); err != nil {
			w.Logger.Warn("candles of a replay are not removed", "error", err)
		}
	}
}

func (r *replays) close() error {
	err := r.forks.Close()
	for _, m := range r.markets {
		err = errors.Join(err, m.close())
	}
	return err
}
