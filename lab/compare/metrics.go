package compare

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	walkForward = split.RoleWalkForward
	testSplit   = split.RoleTest
)

// locked is the status of a split whose metrics are not shown, and the reason why they
// are null.
const locked = "locked"

// failed is the status of a split that did not come to its end.
const failed = "failed"

// feeShare is fees_paid over the gross profit of the closed trades, which is what was
// left of it plus the fees: the fraction of the gains that the venue took. It is
// undefined where there was no gross profit.
const feeShare = "fee_share"

// shownKeys are the metrics that every comparison shows.
func shownKeys() []string {
	return []string{"total_return", "sharpe_ratio", "sharpe_stderr", "max_drawdown", "win_rate",
		"total_trades", "exposure", "turnover", feeShare}
}

// metricKeys are the metrics of a comparison that is sorted by one of them.
func metricKeys(sortBy string) []string {
	keys := shownKeys()
	if sortBy != "" && !slices.Contains(keys, sortBy) {
		keys = append(keys, sortBy)
	}
	return keys
}

// Metrics are the keys of the metrics that runs can be ordered by.
func Metrics() []string {
	var keys []string
	for _, m := range metric.All() {
		keys = append(keys, m.Key)
	}
	return append(keys, feeShare)
}

func known(key string) bool { return slices.Contains(Metrics(), key) }

// lessIsBetter are the metrics whose smallest value is the best.
func lessIsBetter(key string) bool {
	for _, prefix := range []string{"max_drawdown", "volatility", "fee", "slippage", "sharpe_stderr",
		"rejected", "ambiguous", "open_trades"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// SplitMetrics is what one split of a run has come to.
type SplitMetrics struct {
	ID        string                   `json:"split_id"`
	Role      string                   `json:"role"`
	Status    string                   `json:"status"`
	Metrics   metric.Values            `json:"metrics"`
	Delta     metric.Values            `json:"delta"`
	Undefined map[string]metric.Reason `json:"undefined"`
}

// measured is the metrics of a split as they were reported.
type measured struct {
	id, role, status string
	values           metric.Values
	why              map[string]metric.Reason
	// absent is the reason of every metric that values does not have.
	absent metric.Reason
}

// split is the report of a split, nil if there is none.
func (x *loaded) split(id string) *artifact.SplitReport {
	if x.report == nil {
		return nil
	}
	for i := range x.report.Splits {
		if x.report.Splits[i].ID == id {
			return &x.report.Splits[i]
		}
	}
	return nil
}

// measured is a split of the run, the stitched walk-forward for that name. has is false
// if there is no such split.
func (x *loaded) measured(id string) (m measured, has bool) {
	m = measured{id: id, role: id, status: "missing", absent: metric.NotApplicable}
	if id == walkForward {
		if x.report == nil || x.report.WalkForward == nil {
			return m, false
		}
		m.status, m.values, m.why = "ok", x.report.WalkForward.Metrics, x.report.WalkForward.Meta.Undefined
		if m.why["sharpe_ratio"] == metric.Insufficient {
			m.status = string(metric.Insufficient)
		}
		return m, true
	}
	s := x.split(id)
	if s == nil {
		return m, false
	}
	m.role, m.status, m.values, m.why = s.Role, s.Status, s.Metrics, s.Meta.Undefined
	if s.Status == locked {
		m.absent = locked
		if id == testSplit && x.test != nil {
			m.status, m.values, m.why = x.test.Status, x.test.Metrics, x.test.Meta.Undefined
		}
	}
	return m, true
}

// get is one metric.
func (m *measured) get(key string) metric.Value {
	if key == feeShare {
		return m.feeShare()
	}
	for _, v := range m.values {
		if v.Key != key {
			continue
		}
		if why, noted := m.why[key]; noted && v.Reason != "" {
			v.Reason = why
		}
		return v
	}
	return metric.Value{Key: key, Reason: m.absent}
}

func (m *measured) feeShare() metric.Value {
	fees, trades, mean := m.get("fees_paid"), m.get("total_trades"), m.get("expectancy")
	for _, v := range []metric.Value{fees, trades, mean} {
		if v.Reason != "" {
			return metric.Value{Key: feeShare, Reason: v.Reason}
		}
	}
	gross := float64(mean.Number*trades.Number) + fees.Number
	if gross <= 0 {
		return metric.Value{Key: feeShare, Reason: metric.NotApplicable}
	}
	return metric.Value{Key: feeShare, Number: metric.Round(fees.Number / gross)}
}

// compareWith is the metrics with their difference to those of the baseline.
func (m *measured) compareWith(base *measured, keys []string) SplitMetrics {
	out := SplitMetrics{ID: m.id, Role: m.role, Status: m.status, Undefined: map[string]metric.Reason{}}
	for _, key := range keys {
		v, b := m.get(key), base.get(key)
		if v.Reason != "" {
			out.Undefined[key] = v.Reason
		}
		d := metric.Value{Key: key, Reason: v.Reason}
		if d.Reason == "" {
			d.Reason = b.Reason
		}
		if d.Reason == "" {
			d.Number = metric.Round(v.Number - b.Number)
		}
		out.Metrics, out.Delta = append(out.Metrics, v), append(out.Delta, d)
	}
	return out
}

// run is the run but for what depends on other rows.
func (x *loaded) run(base *loaded, splitID string, keys []string) Run {
	ids := []string{walkForward}
	if x.report != nil {
		for _, s := range x.report.Splits {
			ids = append(ids, s.ID)
		}
	}
	r := Run{RunID: x.row.RunID, Params: x.params(), Kind: x.row.Kind, Status: x.row.Status,
		Provenance: x.provenance(), Splits: []SplitMetrics{}}
	for _, id := range ids {
		m, has := x.measured(id)
		if !has {
			continue
		}
		b, _ := base.measured(id)
		r.Splits = append(r.Splits, m.compareWith(&b, keys))
	}
	m, _ := x.measured(splitID)
	b, _ := base.measured(splitID)
	chosen := m.compareWith(&b, keys)
	r.Metrics, r.Delta, r.Undefined = chosen.Metrics, chosen.Delta, chosen.Undefined
	return r
}

// chooseSplit is the split that was asked for, or the first of the usual ones that any
// of the runs has.
func chooseSplit(runs []*loaded, asked string) (string, error) {
	var have []string
	for _, x := range runs {
		if _, has := x.measured(walkForward); has && !slices.Contains(have, walkForward) {
			have = append([]string{walkForward}, have...)
		}
		if x.report == nil {
			continue
		}
		for _, s := range x.report.Splits {
			if !slices.Contains(have, s.ID) {
				have = append(have, s.ID)
			}
		}
	}
	if asked != "" {
		if !slices.Contains(have, asked) {
			return "", usage("--split", "none of the runs has a split %q: there are %s", asked,
				strings.Join(have, ", "))
		}
		return asked, nil
	}
	for _, id := range []string{walkForward, split.RoleFull, split.RoleValidation, split.RoleSearch} {
		if slices.Contains(have, id) {
			return id, nil
		}
	}
	return walkForward, nil
}

// order is the runs by a metric of the split, best first and undefined ones last, then
// by run id; without a metric by run id alone.
func order(runs []*loaded, splitID, key string) []*loaded {
	out := slices.Clone(runs)
	slices.SortFunc(out, func(a, b *loaded) int {
		if key != "" {
			m, _ := a.measured(splitID)
			n, _ := b.measured(splitID)
			if c := better(m.get(key), n.get(key)); c != 0 {
				return c
			}
		}
		return strings.Compare(a.row.RunID, b.row.RunID)
	})
	return out
}

// better is below 0 if a comes before b.
func better(a, b metric.Value) int {
	switch x, y := a.Reason == "", b.Reason == ""; {
	case x != y && x:
		return -1
	case x != y:
		return 1
	case !x || a.Number == b.Number:
		return 0
	case a.Number > b.Number != lessIsBetter(a.Key):
		return -1
	}
	return 1
}

type reason = metric.Reason

// changedMetrics are the metrics that are not equal in all runs, in any split.
func (c *Comparison) changedMetrics() map[string]bool {
	changed := map[string]bool{}
	first := map[string]map[string]metric.Value{}
	for _, r := range c.Runs {
		for _, s := range r.Splits {
			if first[s.ID] == nil {
				first[s.ID] = map[string]metric.Value{}
				for _, v := range s.Metrics {
					first[s.ID][v.Key] = v
				}
			}
			for k, v := range s.Metrics {
				moved := s.Delta[k].Reason == "" && s.Delta[k].Number != 0
				changed[v.Key] = changed[v.Key] || moved || first[s.ID][v.Key] != v
			}
		}
	}
	return changed
}

// pick is the values whose keys are kept.
func pick(values metric.Values, keep map[string]bool) metric.Values {
	out := metric.Values{}
	for _, v := range values {
		if keep[v.Key] {
			out = append(out, v)
		}
	}
	return out
}

// returns is the daily returns of a split of the run, those of all windows for the
// walk-forward. why is the reason where there are none.
func (x *loaded) returns(splitID string) (r metric.Returns, why metric.Reason, err error) {
	m, has := x.measured(splitID)
	if !has {
		return r, metric.NotApplicable, nil
	}
	if m.status == failed {
		return r, metric.NotApplicable, nil
	}
	if m.status == locked {
		return r, locked, nil
	}
	in := metric.Input{}
	if in.Timeframe, err = market.ParseTimeframe(x.meta.Timeframe); err != nil {
		return r, "", x.broken(err)
	}
	for _, s := range x.report.Splits {
		if s.ID != splitID && !(splitID == walkForward && s.Role == split.RoleWalkForward) {
			continue
		}
		e, err := x.equity(s.ID)
		if err != nil {
			return r, "", x.broken(err)
		}
		in.Curves = append(in.Curves, windowOf(e, in.Timeframe))
	}
	in.Calendar = x.calendar(splitID)
	if r, err = metric.MainReturns(in); err != nil {
		return r, "", x.broken(err)
	}
	return r, "", nil
}

func (x *loaded) broken(err error) error {
	return request.Errorf(request.CodeArtifactMismatch, "run %s: %v", x.row.RunID, err).With("run_id",
		x.row.RunID)
}

// equity returns the account over a split.
func (x *loaded) equity(splitID string) (*artifact.EquityCurve, error) {
	text, err := os.ReadFile(filepath.Join(x.dir, "splits", splitID, "equity_curve.csv"))
	if err != nil {
		return nil, err
	}
	return artifact.ReadEquity(text)
}

// windowOf returns a curve that metrics are computed from. Returns do not depend on the
// exposure, which Input needs.
func windowOf(e *artifact.EquityCurve, tf market.Timeframe) metric.Curve {
	c := metric.Curve{CloseTime: e.Time, Equity: e.Equity, Exposure: make([]float64, len(e.Time))}
	for _, at := range e.Time {
		c.OpenTime = append(c.OpenTime, at.Add(-tf.Approx()))
	}
	return c
}

// calendar is the one that the metrics of the split were computed with.
func (x *loaded) calendar(splitID string) string {
	var meta metric.Meta
	switch s := x.split(splitID); {
	case splitID == walkForward:
		meta = x.report.WalkForward.Meta
	case s.Status == locked && x.test != nil:
		meta = x.test.Meta
	default:
		meta = s.Meta
	}
	return meta.Calendar
}
