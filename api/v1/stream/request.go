package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// errBadMessage ends a connection: what came is no message at all.
var errBadMessage = errors.New("not a message of this protocol")

// The bounds of requests.
const (
	maxID           = 64
	minPoints       = 2
	defaultPoints   = 2000
	maxSeriesPoints = 4000
	defaultRows     = 200
	maxRows         = 500
	maxOffset       = 1 << 31
)

// request is a message of a client. Exactly the fields of its kind are set.
type request struct {
	kind string // snapshot, run, series, rows
	id   string

	series, symbol string
	from, to       market.Time // 0: open
	maxPoints      int

	table         string
	offset, limit int
}

// refusal answers a message that asks for something that cannot be.
type refusal struct {
	Code    problem.Code `json:"code"`
	Message string       `json:"message"`
	ID      string       `json:"id"`
}

// parse reads a message. The error reports that it is none; a refusal that it asks for
// something wrong.
func parse(text []byte) (request, *refusal, error) {
	tree, err := digest.Parse(text)
	m, ok := tree.(map[string]any)
	if err != nil || !ok {
		return request{}, nil, errBadMessage
	}
	kind, ok := m["type"].(string)
	if !ok {
		return request{}, nil, errBadMessage
	}
	payload, ok := m["payload"].(map[string]any)
	if _, sent := m["payload"]; sent && !ok {
		return request{}, nil, errBadMessage
	}
	f := &fields{left: maps.Clone(payload)}
	r := request{kind: kind, id: f.text("id", maxID)}
	for key := range m {
		if key != "type" && key != "payload" {
			f.fault("%q is not a field of a message", cut(key))
		}
	}
	switch kind {
	case "snapshot", "run":
	case "series":
		f.series(&r)
	case "rows":
		f.rows(&r)
	default:
		return r, refuse(problem.ValidationFailed, r.id,
			"there is no message of type %q: use snapshot, run, series or rows", cut(kind)), nil
	}
	if rest := slices.Sorted(maps.Keys(f.left)); len(rest) > 0 {
		f.fault("payload.%s is not a field of %s", cut(rest[0]), kind)
	}
	if f.wrong != "" {
		return r, refuse(problem.ValidationFailed, r.id, "%s", f.wrong), nil
	}
	return r, nil, nil
}

func refuse(code problem.Code, id, format string, args ...any) *refusal {
	return &refusal{Code: code, ID: id, Message: fmt.Sprintf(format, args...)}
}

// cut keeps what a client sent from making a long answer.
func cut(s string) string {
	if len(s) > maxID {
		return s[:maxID]
	}
	return s
}

// fields takes a payload apart; the first fault counts.
type fields struct {
	left  map[string]any
	wrong string
}

func (f *fields) fault(format string, args ...any) {
	if f.wrong == "" {
		f.wrong = fmt.Sprintf(format, args...)
	}
}

func (f *fields) text(name string, longest int) string {
	v, sent := f.left[name]
	delete(f.left, name)
	s, ok := v.(string)
	if sent && (!ok || len(s) > longest) {
		f.fault("payload.%s must be a string of at most %d bytes", name, longest)
		return ""
	}
	return s
}

func (f *fields) integer(name string, otherwise, least, most int) int {
	v, sent := f.left[name]
	delete(f.left, name)
	if !sent {
		return otherwise
	}
	number, _ := v.(json.Number)
	n, err := strconv.Atoi(number.String())
	if err != nil || n < least || n > most {
		f.fault("payload.%s must be a whole number from %d to %d", name, least, most)
		return otherwise
	}
	return n
}

// time is open if it is absent, null or empty.
func (f *fields) time(name string) market.Time {
	if v, sent := f.left[name]; sent && v == nil {
		delete(f.left, name)
	}
	s := f.text(name, maxID)
	if s == "" {
		return 0
	}
	t, err := market.ParseTime(s)
	if err != nil {
		f.fault("payload.%s: %v", name, err)
	}
	return t
}

func (f *fields) series(r *request) {
	r.series = f.text("series", 1024)
	r.symbol = f.text("symbol", maxID+1)
	r.from, r.to = f.time("from"), f.time("to")
	r.maxPoints = f.integer("max_points", defaultPoints, minPoints, maxSeriesPoints)
	if _, annotation := strings.CutPrefix(r.series, annotationPrefix); !annotation &&
		!slices.Contains([]string{"candles", "equity", "drawdown", "fills"}, r.series) {
		f.fault("payload.series must be candles, equity, drawdown, fills or annotation:<name>")
	}
	if r.from != 0 && r.to != 0 && r.from >= r.to {
		f.fault("payload.from must be before payload.to")
	}
}

func (f *fields) rows(r *request) {
	r.table = f.text("table", maxID)
	r.offset = f.integer("offset", 0, 0, maxOffset)
	r.limit = f.integer("limit", defaultRows, 1, maxRows)
	if !slices.Contains([]string{"orders", "fills", "trades"}, r.table) {
		f.fault("payload.table must be orders, fills or trades")
	}
}

const annotationPrefix = "annotation:"

type seriesResult struct {
	ID     string `json:"id"`
	Points points `json:"points"`
	Method string `json:"method"`
	Of     int    `json:"of"`
}

type runResult struct {
	ID          string         `json:"id"`
	Config      view.RunConfig `json:"config"`
	Annotations []string       `json:"annotations"`
}

type rowsResult struct {
	ID    string `json:"id"`
	Items any    `json:"items"`
	Of    int    `json:"of"`
}

// handle answers a message of a rich client.
func (h *Hub) handle(c *client, text []byte) error {
	r, refused, err := parse(text)
	switch {
	case err != nil:
		return err
	case refused != nil:
	case r.kind == "snapshot":
		h.mu.Lock()
		defer h.mu.Unlock()
		if !c.left {
			h.requestSnapshot(c)
		}
		return nil
	default:
		refused = h.answer(c, r)
	}
	if refused != nil {
		h.reply(c, "error", refused)
	}
	return nil
}

// answer reads what a request asks for. One request is answered at a time, so that
// many clients cannot take the machine away from the run.
func (h *Hub) answer(c *client, r request) *refusal {
	select {
	case h.heavy <- struct{}{}:
	case <-c.bye:
		return nil
	}
	defer func() { <-h.heavy }()
	w, ok := h.opts.Runner.Watch()
	if !ok {
		return refuse(problem.NoRun, r.id, "there is no run")
	}
	switch r.kind {
	case "rows":
		h.reply(c, "rows_result", rowsOf(w, r))
		return nil
	case "run":
		rep := h.opts.Runner.Detail()
		if rep.Snapshot.RunID != w.RunID { // it was reset in between
			return refuse(problem.NoRun, r.id, "there is no run")
		}
		h.reply(c, "run_result", runOf(w, rep, r))
		return nil
	}
	result, refused := seriesOf(w, r)
	if refused == nil {
		h.reply(c, "series_result", result)
	}
	return refused
}

// runOf returns what is run, as far as it is known.
func runOf(w runner.Watch, rep runner.Report, r request) runResult {
	result := runResult{ID: r.id, Config: view.ConfigOf(rep), Annotations: []string{}}
	for _, a := range w.Look().Annotations {
		if !slices.Contains(result.Annotations, a.Name) { // a series of each symbol has it
			result.Annotations = append(result.Annotations, a.Name)
		}
	}
	return result
}

// rowsOf returns a page of a table, newest first.
func rowsOf(w runner.Watch, r request) rowsResult {
	look := w.Look()
	switch r.table {
	case "orders":
		return rowsResult{r.id, view.List(w.OrdersAt(page(look.Orders, r)), view.OrderOf), look.Orders}
	case "fills":
		return rowsResult{r.id, view.List(at(look.Fills, page(len(look.Fills), r)), view.FillOf),
			len(look.Fills)}
	}
	return rowsResult{r.id, view.List(at(look.Trades, page(len(look.Trades), r)), view.TradeOf),
		len(look.Trades)}
}

// page returns the indexes of the entries asked for.
func page(n int, r request) []int {
	var indexes []int
	for i := n - 1 - r.offset; i >= 0 && len(indexes) < r.limit; i-- {
		indexes = append(indexes, i)
	}
	return indexes
}

func at[T any](all []T, indexes []int) []T {
	out := make([]T, len(indexes))
	for i, from := range indexes {
		out[i] = all[from]
	}
	return out
}

// seriesOf reads a series within [from, to).
func seriesOf(w runner.Watch, r request) (seriesResult, *refusal) {
	if r.series == "candles" || r.series == "fills" {
		return ofSymbol(w, r)
	}
	look := w.Look()
	e := look.Equity
	from, to := within(e.Time, r)
	name, annotation := strings.CutPrefix(r.series, annotationPrefix)
	switch {
	case r.series == "equity":
		return thinned(r, equityPoints(e.Slice(from, to), r.maxPoints), to-from), nil
	case !annotation:
		peak, trough := metric.WorstDrawdown(e.Equity[from:to])
		return thinned(r, line(e.Time[from:to], e.Drawdown[from:to], r.maxPoints, trough, peak), to-from), nil
	}
	return annotationOf(w, look.Annotations, name, r)
}

// annotationOf reads what the strategy has published by a name: the series of the symbol asked for, else
// that of the run. Where only other symbols have one there are no points.
func annotationOf(w runner.Watch, all []artifact.Annotation, name string, r request) (seriesResult,
	*refusal) {
	symbols := w.Request.Symbols
	if r.symbol == "" && len(symbols) == 1 {
		r.symbol = symbols[0]
	}
	if r.symbol != "" && !slices.Contains(symbols, r.symbol) {
		return seriesResult{}, refuse(problem.UnsupportedSymbol, r.id,
			"the run has no candles of this symbol: use one of %s", strings.Join(symbols, ", "))
	}
	a, known := artifact.SeriesOf(all, name, market.Symbol(r.symbol))
	if !known {
		return seriesResult{}, refuse(problem.NotFound, r.id, "the run has no annotation of this name")
	}
	from, to := within(a.Time, r)
	low, high := extremes(a.Values[from:to])
	return thinned(r, line(a.Time[from:to], a.Values[from:to], r.maxPoints, high, low), to-from), nil
}

func thinned(r request, p points, of int) seriesResult {
	method := metric.ThinNone
	if of > r.maxPoints {
		method = metric.ThinLTTB
	}
	return seriesResult{r.id, p, method, of}
}

// ofSymbol answers from the candles of the symbol asked for.
func ofSymbol(w runner.Watch, r request) (seriesResult, *refusal) {
	symbols := w.Request.Symbols
	if r.symbol == "" && len(symbols) == 1 {
		r.symbol = symbols[0]
	}
	result := seriesResult{ID: r.id, Method: metric.ThinNone}
	shown := 0
	known := w.Candles(market.Symbol(r.symbol), func(s *market.Series) {
		if r.series == "candles" {
			from, to := within(s.Time, r)
			result.Points, result.Of = aggregate(s, from, to, r.maxPoints), to-from
			shown = result.Points.n
			return
		}
		var marks []mark
		marks, result.Of = countFills(w.Look().Fills, s, r)
		result.Points, shown = marksOf(marks), len(marks)
	})
	if !known {
		return result,
			refuse(problem.UnsupportedSymbol, r.id, "the run has no candles of this symbol: use one of %s",
				strings.Join(symbols, ", "))
	}
	if shown < result.Of {
		result.Method = methodAggregate
	}
	return result, nil
}

// within returns the index range of the times in [from, to).
func within(times []market.Time, r request) (from, to int) {
	search := func(t market.Time) int {
		return sort.Search(len(times), func(i int) bool { return times[i] >= t })
	}
	to = len(times)
	if r.from != 0 {
		from = search(r.from)
	}
	if r.to != 0 {
		to = search(r.to)
	}
	return from, to
}
