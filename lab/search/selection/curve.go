package selection

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Curve is one equity_curve.csv: at each step close, which ascend, the equity and the
// signed value of the positions, both in quote currency.
type Curve struct {
	Time             []market.Time
	Equity, Position []float64
}

// ReadCurve reads the text of an equity_curve.csv. The error is an *artifact.CurveError.
func ReadCurve(text []byte) (Curve, error) {
	e, err := artifact.ReadEquity(text)
	if err != nil {
		return Curve{}, err
	}
	return Curve{e.Time, e.Equity, e.PositionValue}, nil
}

// Windows are the walk-forward windows of a run.
func Windows(m *artifact.Metadata) []string {
	var ids []string
	for _, s := range m.Splits {
		if s.Kind == split.RoleWalkForward {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// curvesOf are the splits that the daily returns of a run are taken from.
func curvesOf(m *artifact.Metadata) []string {
	ids := Windows(m)
	if len(ids) == 0 && slices.ContainsFunc(m.Splits, func(s artifact.SplitSummary) bool {
		return s.ID == artifact.FullSplitID
	}) {
		ids = []string{artifact.FullSplitID}
	}
	return ids
}

func curveFile(id string) string { return "splits/" + id + "/equity_curve.csv" }

// sourceOf is the hash of what the daily returns of a run are derived from, "" where that
// is nothing.
func sourceOf(m *artifact.Metadata) string {
	ids := curvesOf(m)
	if len(ids) == 0 {
		return ""
	}
	parts := []string{"daily-returns/1", m.Timeframe}
	for _, id := range ids {
		name := curveFile(id)
		f, listed := m.File(name)
		if !listed {
			return ""
		}
		parts = append(parts, name, f.SHA256)
	}
	return digest.SHA256Hex([]byte(strings.Join(parts, "\n")))
}

// Stitch makes one series of the curves of some splits of a run, from files whose hashes
// are those of its row. The reason is why there is no series, the error is an
// *artifact.MismatchError when a file is missing, changed, or no equity curve.
func Stitch(store *artifact.Store, m *artifact.Metadata, ids []string) (*Series, stat.Reason, error) {
	return stitch(func(name string) ([]byte, error) { return store.Read(m, name) }, m, ids)
}

// stitch is Stitch of files that read gives.
func stitch(read func(name string) ([]byte, error), m *artifact.Metadata, ids []string) (*Series, stat.Reason,
	error) {
	if len(ids) == 0 {
		return nil, stat.NotApplicable, nil
	}
	tf, err := market.ParseTimeframe(m.Timeframe)
	if err != nil {
		return nil, "", changed(m, err.Error())
	}
	var curves []Curve
	for _, id := range ids {
		name := curveFile(id)
		text, err := read(name)
		if err != nil {
			return nil, "", err
		}
		c, err := ReadCurve(text)
		if err != nil {
			return nil, "", changed(m, name+": "+err.Error())
		}
		curves = append(curves, c)
	}
	// The calendar decides how returns are annualised, not what they are.
	s, why, err := SeriesOf(tf, metric.Calendar24x7, curves)
	if err != nil {
		return nil, "", changed(m, err.Error())
	}
	return s, why, nil
}

func changed(m *artifact.Metadata, problem string) error {
	return &artifact.MismatchError{RunID: m.RunID, Problems: []string{problem}}
}

// Columns places series on one calendar, whose dates come first. Series with equal dates share
// their rows. Where windows overlap, the second return of a date has a row of its own.
func Columns(list []*Series) ([]market.Time, []deflate.Column) {
	type calendar struct {
		dates   *Series
		moments []moment
		// order is where the row at a place comes from.
		order, rows []int
	}
	var calendars []*calendar
	of := make([]*calendar, len(list))
	index := map[moment]int{}
	for i, s := range list {
		k := slices.IndexFunc(calendars, func(c *calendar) bool { return slices.Equal(c.dates.Date, s.Date) })
		if k < 0 {
			k = len(calendars)
			calendars = append(calendars, &calendar{dates: s, moments: s.moments()})
			for _, m := range calendars[k].moments {
				index[m] = 0
			}
		}
		of[i] = calendars[k]
	}
	all := slices.SortedFunc(maps.Keys(index), func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.nth, b.nth))
	})
	dates := make([]market.Time, len(all))
	for row, m := range all {
		index[m], dates[row] = row, m.at
	}
	for _, c := range calendars {
		c.order = make([]int, len(c.moments))
		for i := range c.order {
			c.order[i] = i
		}
		slices.SortFunc(c.order, func(a, b int) int {
			return cmp.Compare(index[c.moments[a]], index[c.moments[b]])
		})
		for _, i := range c.order {
			c.rows = append(c.rows, index[c.moments[i]])
		}
	}
	out := make([]deflate.Column, len(list))
	for i, s := range list {
		c := of[i]
		out[i] = deflate.Column{Rows: c.rows, Returns: s.Return}
		if slices.IsSorted(c.order) {
			continue
		}
		out[i].Returns = make([]float64, len(s.Return))
		for row, k := range c.order {
			out[i].Returns[row] = s.Return[k]
		}
	}
	return dates, out
}
