package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
)

// Options says what to compare.
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
}

// Error is why there is nothing to compare. Code is one of the lab's table.
type Error struct {
	Code, Message string
	Details       map[string]any
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

func usage(flag, format string, args ...any) error {
	return &Error{Code: "USAGE", Message: fmt.Sprintf(format, args...), Details: map[string]any{"flag": flag}}
}

// Comparison is compare/v1.
type Comparison struct {
	Schema        string        `json:"schema"`
	Slug          string        `json:"slug"`
	Baseline      string        `json:"baseline"`
	Split         string        `json:"split"`
	Comparability Comparability `json:"comparability"`
	Differs       []Difference  `json:"differs"`
	Runs          []Run         `json:"runs"`
	Pairs         []Pair        `json:"pairs"`
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
	// Comparable says that data, splits, execution and metrics are those of the baseline.
	Comparable bool           `json:"comparable"`
	Splits     []SplitMetrics `json:"splits"`
}

// Compare compares runs. The error is an *Error when the options ask for something that
// is not there.
func Compare(ctx context.Context, store *artifact.Store, reg *registry.Registry, o Options) (*Comparison, error) {
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
	c := &Comparison{Schema: "compare/v1", Slug: o.Slug, Baseline: base.row.RunID, Differs: []Difference{}, Runs: []Run{}, Pairs: []Pair{}, Warnings: l.warnings}
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
			c.Warnings = append(c.Warnings, Warning{strings.ToUpper(d.Aspect) + "_DIFFERS", "the runs were not made by the same " + d.Aspect})
		}
	}
	for _, r := range c.Runs {
		if v := r.Undefined["total_return"]; v == locked {
			c.Warnings = append(c.Warnings, Warning{"TEST_LOCKED", "the metrics of " + c.Split + " are locked: --reveal-test shows them and notes that somebody has looked"})
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
