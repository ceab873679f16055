package v1

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// tablesAPI are the operations on the curve and the tables of a run.
type tablesAPI struct{ stored }

func (a tablesAPI) equity(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "split", "from", "to", "points")
	from, to := q.stretch()
	points := q.integer("points", view.DetailPoints, 2, 4000)
	if err := q.refusal(); err != nil {
		return nil, err
	}
	split, windows, err := a.library.Curve(r.Context(), param(r, 0), q.text("split"))
	if err != nil {
		return nil, err
	}
	curve := artifact.Join(windows)
	var holding []float64
	if len(curve.Equity) > 0 {
		holding, err = a.holding(r.Context(), param(r, 0), windows, curve.Equity[0])
	}
	if err != nil {
		return nil, err
	}
	first, end := within(curve.Time, from, to)
	if holding != nil {
		holding = holding[first:end]
	}
	return tagged(view.RunEquityOf(split, curve.Slice(first, end), holding, points))
}

// within returns the index range of the times from from up to, not including, to.
func within(times []market.Time, from, to market.Time) (first, end int) {
	first, _ = slices.BinarySearch(times, from)
	end, _ = slices.BinarySearch(times, to)
	return first, max(first, end)
}

// tablePage is a page of trades, orders or fills.
type tablePage struct {
	Split string `json:"split"`
	list[library.Entry]
}

// table answers with the rows of a table of a run, which can be sorted by some of its columns. A row is
// within a stretch where the time from its column begin to its column end is in part.
func (a tablesAPI) table(file, begin, end string,
	columns ...string) func(*http.Request) (*edge.Answer, error) {
	sorts := upAndDown(columns)
	return func(r *http.Request) (*edge.Answer, error) {
		q := readQuery(r, "split", "symbol", "from", "to", "sort", "points", "cursor", "limit")
		offset, limit := q.page(r, 500)
		by, points := q.word("sort", sorts...), q.integer("points", 0, 2, 500)
		if points > 0 && (q.values.Has("cursor") || q.values.Has("limit")) {
			q.refuse("points", "is instead of cursor and limit", "unknown")
		}
		split, rows, err := a.entriesOf(r, q, file, begin, end)
		if err != nil {
			return nil, err
		}
		if by != "" {
			library.SortEntries(rows, by)
		}
		if points > 0 {
			return tagged(tablePage{split, list[library.Entry]{Items: thin(rows, points), Total: len(rows)}})
		}
		return tagged(tablePage{split, listOf(r, q, cut(rows, offset, limit), offset, len(rows))})
	}
}

// entriesOf returns the rows of a table that a query asks for by split, symbol and stretch, and the split.
func (a tablesAPI) entriesOf(r *http.Request, q *query, file, begin, end string) (string,
	[]library.Entry, error) {
	from, to := q.stretch()
	if err := q.refusal(); err != nil {
		return "", nil, err
	}
	split, rows, err := a.library.Entries(r.Context(), param(r, 0), q.text("split"), file)
	if err != nil {
		return "", nil, err
	}
	want, _ := json.Marshal(q.text("symbol")) // a text
	timed := q.values.Has("from") || q.values.Has("to")
	return split, pick(rows, func(e library.Entry) bool {
		return (q.text("symbol") == "" || string(e["symbol"]) == string(want)) &&
			(!timed || e.Time(begin) < to && e.Time(end) >= from)
	}), nil
}

// thin takes at most n of all, evenly, the first and the last among them.
func thin[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	out := make([]T, n)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(n-1)]
	}
	return out
}

// runMarks is the fills of a run as a chart marks them.
type runMarks struct {
	Split string `json:"split"`
	// Points are [ms, buys, sells, ambiguous ones among them], for all fills from a time on.
	Points [][4]int64 `json:"points"`
	// Of counts the fills.
	Of int `json:"of"`
}

// marks answers with the fills of a stretch, counted by their times. Neighbours are joined two and two
// until they are few enough, so that none is lost.
func (a tablesAPI) marks(r *http.Request) (*edge.Answer, error) {
	q := readQuery(r, "split", "symbol", "from", "to", "points")
	points := q.integer("points", view.DetailPoints, 2, 4000)
	split, rows, err := a.entriesOf(r, q, artifact.FillsFile, "timestamp", "timestamp")
	if err != nil {
		return nil, err
	}
	out := runMarks{Split: split, Points: [][4]int64{}, Of: len(rows)}
	for _, e := range rows {
		mark := [4]int64{int64(e.Time("timestamp")), 0, 1, 0}
		if string(e["side"]) == `"`+market.Buy.String()+`"` {
			mark[1], mark[2] = 1, 0
		}
		if string(e["ambiguous"]) == "true" {
			mark[3] = 1
		}
		if n := len(out.Points); n > 0 && out.Points[n-1][0] == mark[0] {
			out.Points[n-1] = joined(out.Points[n-1], mark)
			continue
		}
		out.Points = append(out.Points, mark)
	}
	for len(out.Points) > points {
		n := 0
		for pair := range slices.Chunk(out.Points, 2) {
			if out.Points[n] = pair[0]; len(pair) > 1 {
				out.Points[n] = joined(pair[0], pair[1])
			}
			n++
		}
		out.Points = out.Points[:n]
	}
	return tagged(out)
}

// joined is one mark for two, at the time of the first.
func joined(a, b [4]int64) [4]int64 { return [4]int64{a[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]} }
