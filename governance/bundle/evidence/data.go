package evidence

import (
	"fmt"
	"slices"
	"time"

	"github.com/assay-run/assay/governance/bundle"
	"github.com/assay-run/assay/host/base/field"
)

// dataRef is the candles of one symbol that a request was asked about, in Unix milliseconds.
type dataRef struct {
	Symbol    string `json:"symbol"`
	Timeframe string `json:"timeframe"`
	SHA256    string `json:"sha256"`
	Start     int64  `json:"start"`
	End       int64  `json:"end"`
}

// is reports whether a dataset of a bundle is these candles in this time.
func (r *dataRef) is(d *bundle.Dataset) bool {
	from, ok := field.ParseTime(d.Start)
	to, also := field.ParseTime(d.End)
	return ok && also && d.SHA256 == r.SHA256 && from.Equal(time.UnixMilli(r.Start)) &&
		to.Equal(time.UnixMilli(r.End))
}

// candles holds the datasets that a bundle declares against those that its runs were asked about. By
// their times the plane counts trials and draws the window of the challenge, so that none is
// missing, dated otherwise or added, and those of the first baseline stand first.
func (c *check) candles() *bundle.Error {
	used, first := make([]bool, len(c.b.Data)), true
	for i, run := range c.runs {
		q := &run.request
		for j := range q.Inputs.Data {
			k, refused := c.listed(&q.Inputs.Data[j])
			if refused != nil {
				return refused
			}
			used[k] = true
			if at := c.pointer(fmt.Sprintf("/data/%d", j)); first && k != j &&
				c.b.Runs[i].Role == bundle.RoleBaseline {
				e := c.mismatch(at+"/dataset_id", c.b.Data[j].DatasetID, c.b.Data[k].DatasetID)
				e.Message = "the candles of the first baseline stand first, in the order of its symbols"
				return e
			}
		}
		first = first && c.b.Runs[i].Role != bundle.RoleBaseline
	}
	if k := slices.Index(used, false); k >= 0 {
		e := c.mismatch(c.pointer(fmt.Sprintf("/data/%d", k)), c.b.Data[k].DatasetID, nil)
		e.Message = "no run of the bundle was made on this dataset in this time"
		return e
	}
	return nil
}

// listed is the place of candles in the bundle.
func (c *check) listed(r *dataRef) (int, *bundle.Error) {
	near := -1
	for k := range c.b.Data {
		if d := &c.b.Data[k]; r.is(d) {
			return k, nil
		} else if d.SHA256 == r.SHA256 && near < 0 {
			near = k
		}
	}
	if near < 0 {
		return 0, c.mismatch(c.pointer("/data"), nil, r.SHA256)
	}
	d, at := &c.b.Data[near], c.pointer(fmt.Sprintf("/data/%d", near))
	from, _ := field.ParseTime(d.Start)
	if asked := time.UnixMilli(r.Start); !from.Equal(asked) {
		return 0, c.mismatch(at+"/start", d.Start, bundle.FormatTime(asked))
	}
	return 0, c.mismatch(at+"/end", d.End, bundle.FormatTime(time.UnixMilli(r.End)))
}

// asked holds the window of a lab run against its candles: it begins with the first and ends with
// the last of any symbol, and all days out of sample are in it. A paper or live run reads none of
// the past.
func (c *check) asked(i int, run *Run) *bundle.Error {
	if run.Kind == kindService {
		return nil
	}
	q := &run.request
	at := c.at(i, "/request_hash")
	from, to := q.Start, q.End
	for j := range q.Inputs.Data {
		r := &q.Inputs.Data[j]
		if j >= len(q.Symbols) || r.Symbol != q.Symbols[j] || r.Timeframe != q.Timeframe {
			e := c.mismatch(at, nil, r.Symbol+" "+r.Timeframe)
			e.Message = "request.json names candles that are not of its symbols and timeframe"
			return e
		}
		start, end := time.UnixMilli(r.Start), time.UnixMilli(r.End)
		if j == 0 || start.Before(from) {
			from = start
		}
		if j == 0 || end.After(to) {
			to = end
		}
	}
	if len(q.Inputs.Data) != len(q.Symbols) || !from.Equal(q.Start) || !to.Equal(q.End) || !from.Before(to) {
		e := c.mismatch(at, q.StartDate+" "+q.EndDate, bundle.FormatTime(from)+" "+bundle.FormatTime(to))
		e.Message = "the window in request.json is not that of its candles, one dataset for each symbol"
		return e
	}
	for _, day := range run.outside(from, to) {
		e := c.mismatch(c.at(i, "/splits"), bundle.FormatTime(from)+" "+bundle.FormatTime(to), day)
		e.Message = "the run has results out of sample on a day that is not among its candles"
		return e
	}
	return nil
}

// outside are the days out of sample that are not in a window.
func (r *Run) outside(from, to time.Time) []string {
	var list []string
	for _, t := range r.begins {
		if t.Before(from) || !t.Before(to) {
			list = append(list, bundle.FormatTime(t))
		}
	}
	if r.Derived == nil {
		return list
	}
	first, last := dayOf(from.UnixMilli()), dayOf(to.UnixMilli()-1)
	for _, s := range r.Derived.Days {
		if s.Day(0) < first || s.Day(len(s.Returns)-1) > last {
			list = append(list, s.From)
		}
	}
	return list
}

// markets requires a baseline for every timeframe that is claimed; each run is of all symbols.
func (c *check) markets() *bundle.Error {
	for k, tf := range c.b.Strategy.Timeframes {
		has := false
		for i, run := range c.runs {
			has = has || c.b.Runs[i].Role == bundle.RoleBaseline && run.request.Timeframe == tf
		}
		if has {
			continue
		}
		e := c.mismatch(c.pointer(fmt.Sprintf("/strategy/timeframes/%d", k)), tf, nil)
		e.Message = "no baseline of the bundle is of this timeframe: run it there too, or leave it out"
		return e
	}
	return nil
}
