package selection

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

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

// The columns that are read.
const (
	header         = "timestamp,equity,cash,position_value,drawdown,exposure"
	timeColumn     = 0
	equityColumn   = 1
	positionColumn = 3
)

// CurveError is a line of an equity curve that cannot be read, counted from 1.
type CurveError struct {
	Line   int
	Reason string
}

// Error is line and reason.
func (e *CurveError) Error() string {
	return fmt.Sprintf("equity curve, line %d: %s", e.Line, e.Reason)
}

// ReadCurve reads the text of an equity_curve.csv. The error is a *CurveError.
func ReadCurve(text []byte) (Curve, error) {
	var c Curve
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	if string(first) != header {
		return c, &CurveError{1, fmt.Sprintf("%.80q is not the header", first)}
	}
	for line := 2; len(rest) > 0; line++ {
		var row []byte
		row, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if why := c.add(row); why != "" {
			return Curve{}, &CurveError{line, why}
		}
	}
	return c, nil
}

// add takes one row; why is empty when it could.
func (c *Curve) add(row []byte) (why string) {
	var fields [6][]byte
	n := 0
	for more := true; more; n++ {
		if n == len(fields) {
			return "it has more fields than the header"
		}
		fields[n], row, more = bytes.Cut(row, []byte{','})
	}
	if n < len(fields) {
		return fmt.Sprintf("it has %d fields, the header %d", n, len(fields))
	}
	at, ok := timeOf(fields[timeColumn])
	if !ok {
		return fmt.Sprintf("%.40q is no time", fields[timeColumn])
	}
	if k := len(c.Time); k > 0 && at <= c.Time[k-1] {
		return fmt.Sprintf("%s is not after %s", at, c.Time[k-1])
	}
	equity, ok := number(fields[equityColumn])
	if !ok {
		return fmt.Sprintf("%.40q is no equity", fields[equityColumn])
	}
	position, ok := number(fields[positionColumn])
	if !ok {
		return fmt.Sprintf("%.40q is no position value", fields[positionColumn])
	}
	c.Time, c.Equity, c.Position = append(c.Time, at), append(c.Equity, equity), append(c.Position, position)
	return ""
}

func number(b []byte) (float64, bool) {
	x, err := strconv.ParseFloat(string(b), 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// timeOf reads a time of the one form that artifacts have.
func timeOf(b []byte) (market.Time, bool) {
	const form = "2006-01-02T15:04:05.000Z"
	var t time.Time
	if len(b) != len(form) || b[19] != '.' || b[23] != 'Z' || t.UnmarshalText(b) != nil {
		return 0, false
	}
	return market.FromTime(t), true
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
		at := slices.IndexFunc(m.Artifacts, func(f artifact.File) bool { return f.Name == name })
		if at < 0 {
			return ""
		}
		parts = append(parts, name, m.Artifacts[at].SHA256)
	}
	return digest.SHA256Hex([]byte(strings.Join(parts, "\n")))
}

// Stitch makes one series of the curves of some splits of a run, from files whose hashes
// are those of its row. The reason is why there is no series, the error is an
// *artifact.MismatchError when a file is missing, changed, or no equity curve.
func Stitch(store *artifact.Store, m *artifact.Metadata, ids []string) (*Series, stat.Reason, error) {
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
		text, err := Verified(store, m, name)
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

// Verified is the content of one file of a run, checked by the run's row: metadata.json beside it
// could have been changed with it. The error is an *artifact.MismatchError.
func Verified(store *artifact.Store, m *artifact.Metadata, name string) ([]byte, error) {
	at := slices.IndexFunc(m.Artifacts, func(f artifact.File) bool { return f.Name == name })
	if at < 0 {
		return nil, changed(m, name+" is not listed")
	}
	text, err := os.ReadFile(filepath.Join(store.Dir(m.RunID), filepath.FromSlash(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, changed(m, name+" is missing")
	case err != nil:
		return nil, changed(m, name+": "+err.Error())
	case digest.SHA256Hex(text) != m.Artifacts[at].SHA256:
		return nil, changed(m, name+" has other content")
	}
	return text, nil
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
