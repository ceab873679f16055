package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/host/base/digest"
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

// parse reads a message. The error says that it is none; a refusal that it asks for
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
		return r, refuse(problem.ValidationFailed, r.id, "there is no message of type %q: use snapshot, run, series or rows", cut(kind)), nil
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
