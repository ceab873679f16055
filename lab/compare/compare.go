// Package compare puts runs of one strategy side by side: whether they are comparable, what
// was asked differently, what came out, whether the difference is more than luck, how many
// trials it took to find, and the result of a falsification.
//
// Rows of the registry come in, with their report.json and equity curves; nothing is executed.
// The [Comparison], compare/v1, is the JSON; tables, Markdown and CSV are views of it. The
// metrics of a locked test stay out unless asked for, which the registry records first.
// Everything random comes from package random: the same rows give the same bytes.
package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/request"
)

// Options reports what to compare.
type Options struct {
	Slug string
	// Runs are run ids; none: the newest completed ones.
	Runs []string
	// Baseline is a run id; "": the oldest.
	Baseline string
	// Split is walk_forward or a split id; "": the walk-forward, or what there is instead.
	Split string
	// Sort is a metric, best first, "": by run id. Top is how many runs to show, 0: all.
	Sort string
	Top  int
	// OnlyChanged leaves out parameters and metrics that are equal in all runs.
	OnlyChanged bool
	// RevealTest shows the locked test metrics and notes that Author has seen them.
	RevealTest bool
	Author     string
	// StateDir is where the sources of programs are kept.
	StateDir string
}

func usage(flag, format string, args ...any) error {
	return request.Errorf(request.CodeUsage, format, args...).With("flag", flag)
}

// Comparison is compare/v1.
type Comparison struct {
	Schema        string        `json:"schema"`
	Slug          string        `json:"slug"`
	Baseline      string        `json:"baseline"`
	Split         string        `json:"split"`
	Comparability Comparability `json:"comparability"`
	Differs       []Difference  `json:"differs"`
	Program       Program       `json:"program"`
	Runs          []Run         `json:"runs"`
	Pairs         []Pair        `json:"pairs"`
	// Revealed reports whether the metrics of a locked test are among the numbers.
	Revealed bool `json:"-"`
	// Curves are for the page.
	Curves []Curve `json:"-"`
	// Warnings are for the command, which has a place of its own for them.
	Warnings []Warning `json:"-"`
}

// Warning is something that a reader of the numbers should know.
type Warning struct{ Code, Message string }

// Run is one run. Metrics and Delta, which is the metrics less those of the baseline,
// are those of the Comparison's split; Splits has all.
type Run struct {
	RunID  string          `json:"run_id"`
	Params json.RawMessage `json:"params"`
	// Metrics that are null have their reasons in Undefined.
	Metrics       metric.Values            `json:"metrics"`
	Delta         metric.Values            `json:"delta"`
	Selection     Selection                `json:"selection"`
	Falsification *Falsification           `json:"falsification"`
	Provenance    Provenance               `json:"provenance"`
	Undefined     map[string]metric.Reason `json:"undefined"`
	Kind          string                   `json:"kind"`
	Status        string                   `json:"status"`
	// Comparable reports that data, splits, execution and metrics are those of the baseline.
	Comparable bool           `json:"comparable"`
	Splits     []SplitMetrics `json:"splits"`
}

// Compare compares runs. The error is an *Error when the options ask for something that
// is not there.
func Compare(ctx context.Context, store *artifact.Store, reg *registry.Registry,
	o Options) (*Comparison, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	l := &loader{store: store, reg: reg, o: o}
	runs, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	base, err := l.baseline(runs)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Schema: "compare/v1", Slug: o.Slug, Baseline: base.row.RunID, Differs: []Difference{},
		Runs: []Run{}, Pairs: []Pair{}, Warnings: l.warnings, Revealed: o.RevealTest}
	if c.Split, err = chooseSplit(runs, o.Split); err != nil {
		return nil, err
	}
	if err := l.reveal(ctx, runs); err != nil {
		return nil, err
	}
	keys := metricKeys(o.Sort)
	shown := top(order(runs, c.Split, o.Sort), o.Top)
	all := withBaseline(shown, base)
	if c.Comparability, err = comparability(all, base); err != nil {
		return nil, err
	}
	if c.Differs, err = differs(all); err != nil {
		return nil, err
	}
	if c.Program, err = l.program(ctx, all, base); err != nil {
		return nil, err
	}
	standings, err := l.standings(ctx, shown)
	if err != nil {
		return nil, err
	}
	for i, x := range shown {
		r := x.run(base, c.Split, keys)
		r.Selection, r.Falsification = standings[i].selection, standings[i].falsification
		r.Comparable = c.Comparability.matches(x.row.RunID, base.row.RunID)
		c.Runs = append(c.Runs, r)
	}
	if c.Pairs, err = pairs(ctx, shown, base, c.Split); err != nil {
		return nil, err
	}
	if c.Curves, err = curves(shown, c.Split); err != nil {
		return nil, err
	}
	if o.OnlyChanged && len(all) > 1 {
		c.onlyChanged()
	}
	c.warn()
	return c, nil
}

func (o *Options) check() error {
	if o.Sort != "" && !known(o.Sort) {
		return usage("--sort", "%q is no metric: use one of %s", o.Sort, strings.Join(Metrics(), ", "))
	}
	if o.Top < 0 {
		return usage("--top", "--top must be at least 1")
	}
	return nil
}

// warn notes what makes numbers less comparable than they look.
func (c *Comparison) warn() {
	for _, d := range c.Comparability.Differences {
		if !d.strict {
			c.Warnings = append(c.Warnings,
				Warning{strings.ToUpper(d.Aspect) + "_DIFFERS",
					"the runs were not made by the same " + d.Aspect})
		}
	}
	for _, r := range c.Runs {
		if v := r.Undefined["total_return"]; v == locked {
			c.Warnings = append(c.Warnings,
				Warning{"TEST_LOCKED",
					"the metrics of " + c.Split +
						" are locked: --reveal-test shows them and records the look"})
			return
		}
	}
}

func top(list []*loaded, n int) []*loaded {
	if n == 0 || n > len(list) {
		return list
	}
	return list[:n]
}

// withBaseline is the runs that are shown and the baseline, once, in front if it is not
// among them.
func withBaseline(list []*loaded, base *loaded) []*loaded {
	for _, x := range list {
		if x == base {
			return list
		}
	}
	return append([]*loaded{base}, list...)
}

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

// row is a run that was named.
func (l *loader) row(ctx context.Context, id, flag string) (registry.Run, error) {
	row, err := l.reg.Get(ctx, id)
	details := []any{"flag", flag, "run_id", id}
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return row, request.Errorf(request.CodeRunNotFound,
			"there is no run %q: lab runs list --slug %s shows what there is", id, l.o.Slug).With(details...)
	case err != nil:
		return row, err
	case row.Slug != "" && row.Slug != l.o.Slug: // legacy rows may have none
		return row, request.Errorf(request.CodeRunNotFound, "run %s is of %s, not of %s: the strategy comes "+
			"before its runs, lab compare %s RUN...", id, row.Slug, l.o.Slug, row.Slug).With(details...)
	}
	return row, nil
}

// newest is the newest completed runs and the one that the newest plan has selected.
func (l *loader) newest(ctx context.Context) ([]registry.Run, error) {
	rows, err := l.reg.ListMetadata(ctx,
		registry.Filter{Slug: l.o.Slug, Kind: artifact.KindRun, Status: artifact.StatusCompleted})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, request.Errorf(request.CodeRunNotFound,
			"there is no completed run of %s: lab run %s makes one", l.o.Slug, l.o.Slug).
			With("flag", "<slug>", "slug", l.o.Slug)
	}
	cut := max(len(rows)-newest, 0)
	out := slices.Clone(rows[cut:])
	plan, err := l.reg.NewestPlan(ctx, l.o.Slug)
	if err != nil || plan == "" {
		return out, err
	}
	for _, row := range slices.Backward(rows[:cut]) {
		if row.PlanID == plan && !slices.ContainsFunc(out, func(r registry.Run) bool {
			return r.PlanID == plan
		}) {
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
		return nil, request.Errorf(request.CodeArtifactMismatch, "%v", err).With("run_id", row.RunID)
	}
	if err := x.meta.NoFolder(); err != nil && !l.store.Has(row.RunID) {
		l.warnings = append(l.warnings, Warning{"NO_REPORT", err.Error()})
		return x, nil
	}
	l.warnings = append(l.warnings,
		Warning{"NO_REPORT", fmt.Sprintf("run %s (%s, %s) has no report", row.RunID, row.Kind, row.Status)})
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
		peek := registry.Peek{RunID: x.row.RunID, FamilyID: x.row.FamilyID, Command: "compare",
			Author: l.o.Author}
		if err := l.reg.Peek(ctx, peek); err != nil {
			return err
		}
		var err error
		if x.test, err = artifact.ReadLocked(x.dir, testSplit); err != nil {
			return request.Errorf(request.CodeArtifactMismatch, "%v", err).With("run_id", x.row.RunID)
		}
	}
	return nil
}
