package compare

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

// newest is how many completed runs are compared when none is named.
const newest = 10

// loader reads rows and reports.
type loader struct {
	store    *artifact.Store
	reg      *registry.Registry
	o        Options
	warnings []Warning
}

// loaded is what there is of one run. meta is never nil; report is where there is none,
// as for runs that have failed early or come from before the registry.
type loaded struct {
	row    registry.Run
	meta   *artifact.Metadata
	report *artifact.Report
	dir    string
	test   *artifact.LockedMetrics // nil while locked
}

// load finds the runs, oldest first, each once.
func (l *loader) load(ctx context.Context) ([]*loaded, error) {
	rows, err := l.rows(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, older)
	rows = slices.CompactFunc(rows, func(a, b registry.Run) bool { return a.RunID == b.RunID })
	var runs []*loaded
	for _, row := range rows {
		x, err := l.read(row)
		if err != nil {
			return nil, err
		}
		runs = append(runs, x)
	}
	return runs, nil
}

// older orders by the time of completion, those without one last, then by run id.
func older(a, b registry.Run) int {
	if x, y := a.CompletedAt == "", b.CompletedAt == ""; x != y {
		if x {
			return 1
		}
		return -1
	}
	if c := strings.Compare(a.CompletedAt, b.CompletedAt); c != 0 {
		return c
	}
	return strings.Compare(a.RunID, b.RunID)
}

func (l *loader) rows(ctx context.Context) ([]registry.Run, error) {
	var rows []registry.Run
	for _, id := range l.o.Runs {
		row, err := l.row(ctx, id, "run")
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		var err error
		if rows, err = l.newest(ctx); err != nil {
			return nil, err
		}
	}
	if l.o.Baseline == "" {
		return rows, nil
	}
	row, err := l.row(ctx, l.o.Baseline, "--baseline")
	return append(rows, row), err
}

// row is a run that somebody has named.
func (l *loader) row(ctx context.Context, id, flag string) (registry.Run, error) {
	row, err := l.reg.Get(ctx, id)
	details := map[string]any{"flag": flag, "run_id": id}
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return row, &Error{Code: "RUN_NOT_FOUND", Message: fmt.Sprintf("there is no run %q: lab runs list --slug %s shows what there is", id, l.o.Slug), Details: details}
	case err != nil:
		return row, err
	case row.Slug != "" && row.Slug != l.o.Slug: // legacy rows may have none
		return row, &Error{Code: "RUN_NOT_FOUND", Message: fmt.Sprintf("run %s is of %s, not of %s", id, row.Slug, l.o.Slug), Details: details}
	}
	return row, nil
}

// newest is the newest completed runs and the one that the newest plan has selected.
func (l *loader) newest(ctx context.Context) ([]registry.Run, error) {
	rows, err := l.reg.ListMetadata(ctx, registry.Filter{Slug: l.o.Slug, Kind: artifact.KindRun, Status: artifact.StatusCompleted})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, &Error{
			Code: "RUN_NOT_FOUND", Message: fmt.Sprintf("there is no completed run of %s: lab run %s makes one", l.o.Slug, l.o.Slug),
			Details: map[string]any{"flag": "<slug>", "slug": l.o.Slug},
		}
	}
	cut := max(len(rows)-newest, 0)
	out := slices.Clone(rows[cut:])
	plan, err := l.reg.NewestPlan(ctx, l.o.Slug)
	if err != nil || plan == "" {
		return out, err
	}
	for _, row := range slices.Backward(rows[:cut]) {
		if row.PlanID == plan && !slices.ContainsFunc(out, func(r registry.Run) bool { return r.PlanID == plan }) {
			out = append(out, row)
		}
	}
	return out, nil
}

func (l *loader) read(row registry.Run) (*loaded, error) {
	x := &loaded{row: row, dir: l.store.Dir(row.RunID)}
	var err error
	if x.meta, err = artifact.DecodeMetadata(row.Payload); err != nil {
		x.meta = &artifact.Metadata{Volatile: artifact.Volatile{}} // a legacy payload may be anything
	}
	if x.report, err = artifact.ReadReport(x.dir); err == nil {
		return x, nil
	}
	x.report = nil
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Code: "ARTIFACT_MISMATCH", Message: err.Error(), Details: map[string]any{"run_id": row.RunID}}
	}
	l.warnings = append(l.warnings, Warning{"NO_REPORT", fmt.Sprintf("run %s (%s, %s) has no report", row.RunID, row.Kind, row.Status)})
	return x, nil
}

// baseline is the run that the others are compared with.
func (l *loader) baseline(runs []*loaded) (*loaded, error) {
	if l.o.Baseline == "" {
		return runs[0], nil
	}
	at := slices.IndexFunc(runs, func(x *loaded) bool { return x.row.RunID == l.o.Baseline })
	return runs[at], nil
}

// reveal notes a look at the locked tests and then looks.
func (l *loader) reveal(ctx context.Context, runs []*loaded) error {
	if !l.o.RevealTest {
		return nil
	}
	for _, x := range runs {
		s := x.split(testSplit)
		if s == nil || s.Status != locked {
			continue
		}
		peek := registry.Peek{RunID: x.row.RunID, FamilyID: x.row.FamilyID, Command: "compare", Author: l.o.Author}
		if err := l.reg.Peek(ctx, peek); err != nil {
			return err
		}
		var err error
		if x.test, err = artifact.ReadLocked(x.dir, testSplit); err != nil {
			return &Error{Code: "ARTIFACT_MISMATCH", Message: err.Error(), Details: map[string]any{"run_id": x.row.RunID}}
		}
	}
	return nil
}
