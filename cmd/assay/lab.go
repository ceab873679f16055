package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/translog"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/job"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/host/upload"
	"github.com/assay-run/assay/lab/candidate"
	"github.com/assay-run/assay/lab/compare"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/report"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/family"
	"github.com/assay-run/assay/lab/search/selection"
)

// lab answers what the lab makes of runs: their places among all trials, their tear sheets and
// comparisons. The API knows it as a v1.Lab, the library as a library.Lab.
type lab struct {
	runs    *registry.Registry
	store   *artifact.Store
	candles *candle.Store
	// For candidates: where they are, the pinned key of the control plane in PEM and its remembered log.
	packed     *candidate.Store
	controlKey []byte
	seen       func() (*translog.Kept, error)
	// For jobs.
	stateDir   string
	strategies *catalog.Catalog
	backtests  *run.Launcher
	checking   chan struct{} // holds one while a backtest is checked, which may launch its plugin
	jobs       *job.Manager
	uploads    *upload.Store
	// What fetches candles.
	connectors   []trade.Connector
	connectorDir string

	mu   sync.Mutex
	book *selection.Book
	of   []registry.Mark // what the book was read of
}

// Places implements library.Lab. The book of everything that was tried is read anew when a
// row of the registry has changed.
func (l *lab) Places(ctx context.Context, runIDs []string) (map[string]*registry.Place, error) {
	marks, err := l.runs.Overview().Marks(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.book == nil || !slices.Equal(l.of, marks) {
		if l.book, err = selection.ReadBook(ctx, l.runs, l.store); err != nil {
			return nil, err
		}
		l.of = marks
	}
	places := map[string]*registry.Place{}
	for _, id := range runIDs {
		if p := l.book.Place(id); p != nil {
			places[id] = p
		}
	}
	return places, nil
}

// Sentence implements library.Lab.
func (l *lab) Sentence(test json.RawMessage) (string, error) {
	t := &judge.Test{}
	if err := json.Unmarshal(test, t); err != nil {
		return "", err
	}
	return tests.Current(t).Say(), nil
}

// Sheet implements v1.Lab.
func (l *lab) Sheet(ctx context.Context, runID string) ([]byte, error) {
	text, err := report.Source{Artifacts: l.store, Registry: l.runs, Candles: l.candles}.Page(ctx, runID)
	return text, unread(err, runID)
}

// Compare implements v1.Lab. The first run is the baseline.
func (l *lab) Compare(ctx context.Context, runIDs []string) (json.RawMessage, error) {
	slug := ""
	for i, id := range runIDs {
		row, err := l.runs.Get(ctx, id)
		if err != nil {
			return nil, unread(err, id)
		}
		if i == 0 {
			slug = row.Slug
		}
		if row.Slug != slug {
			return nil, &library.RefusedError{Name: "ids", Message: fmt.Sprintf(
				"names runs of two strategies, %s and %s: compare runs of one", slug, row.Slug)}
		}
	}
	c, err := compare.Compare(ctx, l.store, l.runs,
		compare.Options{Slug: slug, Runs: runIDs, Baseline: runIDs[0], StateDir: l.stateDir})
	var refused *request.Error
	if errors.As(err, &refused) {
		return nil, &library.RefusedError{Name: "ids", Message: refused.Message}
	}
	if err != nil {
		return nil, unread(err, runIDs[0])
	}
	var b bytes.Buffer
	err = c.WriteJSON(&b)
	return bytes.TrimSpace(b.Bytes()), err
}

// Result implements v1.Lab.
func (l *lab) Result(_ context.Context, slug, planID string) (library.Found, string, error) {
	found := library.NotFound()
	r, err := family.ReadResult(family.PlanDir(l.stateDir, slug, planID))
	var refused *request.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found, "", nil
	case errors.As(err, &refused):
		return found, refused.Message, nil
	case err != nil:
		return found, "", err
	}
	if best, n := r.Luck(); best != nil {
		found.Luck = &library.Luck{ExpectedMax: *best, Trials: n}
	}
	if s := r.Selection; s != nil {
		found.PBO, found.DSR = s.PBO.Value, s.DSRMax
	}
	found.Sentence = new(r.Explain())
	for _, part := range []struct {
		into *json.RawMessage
		of   any
	}{{&found.Result, r}, {&found.Selected, r.Selected}, {&found.WalkForwardOptimised, r.Optimised}} {
		if *part.into, err = json.Marshal(part.of); err != nil {
			return found, "", err
		}
	}
	return found, "", nil
}

// Progress implements v1.Lab. A journal that cannot be read says nothing: it is in no result.
func (l *lab) Progress(_ context.Context, slug, planID string) (*library.Progress, error) {
	p, err := family.ReadProgress(family.PlanDir(l.stateDir, slug, planID))
	if err != nil {
		return nil, nil
	}
	out := &library.Progress{Done: p.Done, Total: p.Total, Failed: p.Failed}
	if left := p.LeftAt(time.Now()); left >= 0 {
		out.ETASeconds = new(int64(left.Round(time.Second) / time.Second))
	}
	return out, nil
}

// unread turns an unknown run of the lab into that of a library.
func unread(err error, runID string) error {
	if errors.Is(err, registry.ErrNotFound) {
		return &library.NotFoundError{Kind: library.KindRun, ID: runID}
	}
	return err
}
