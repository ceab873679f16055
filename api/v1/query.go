package v1

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// query is the query of a request, which refuses what an operation does not know. Each problem is
// gathered under /query/<name>; refusal returns them all.
type query struct {
	values url.Values
	bad    []schema.Violation
	// after is the key of the entry that ended the page before, keyAt that of an entry of the list; nil of
	// a list that only grows at its end.
	after string
	keyAt func(i int) string
}

// maxQueryText is the longest value of a query.
const maxQueryText = 256

// maxOffset is how far a cursor may lead.
const maxOffset = 1 << 31

// readQuery reads a query that may have the given names, each at most once.
func readQuery(r *http.Request, names ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.refuse("", "is not a query string", "format")
	}
	for name, list := range values {
		switch {
		case !slices.Contains(names, name):
			q.refuse(name, "is not known here", "unknown")
		case len(list) > 1:
			q.refuse(name, "is given more than once", "repeated")
		case len(list[0]) > maxQueryText:
			q.refuse(name, fmt.Sprintf("has more than %d bytes", maxQueryText), "maxLength")
		case !utf8.ValidString(list[0]):
			q.refuse(name, "is not UTF-8", "format")
		}
	}
	return q
}

func (q *query) refuse(name, message, rule string) {
	pointer := "/query"
	if name != "" {
		pointer = schema.Join(pointer, strings.ToValidUTF8(name[:min(len(name), maxShown)], "?"))
	}
	q.bad = append(q.bad, schema.Violation{Pointer: pointer, Message: message, Rule: rule})
}

// refusal is nil if nothing was wrong.
func (q *query) refusal() error {
	if len(q.bad) == 0 {
		return nil
	}
	return invalid(q.bad)
}

func (q *query) text(name string) string { return q.values.Get(name) }

// word is one of the given words, or "" where the query has none.
func (q *query) word(name string, words ...string) string {
	value := q.values.Get(name)
	if q.values.Has(name) && !slices.Contains(words, value) {
		q.refuse(name, "is none of "+strings.Join(words, ", "), "enum")
	}
	return value
}

// integer is a whole number within bounds.
func (q *query) integer(name string, standard, least, most int) int {
	if !q.values.Has(name) {
		return standard
	}
	n, err := strconv.Atoi(q.values.Get(name))
	if err != nil || n < least || n > most {
		q.refuse(name, fmt.Sprintf("is not a whole number from %d to %d", least, most), "range")
		return standard
	}
	return n
}

// time is a time, a date or 0.
func (q *query) time(name string) market.Time {
	if !q.values.Has(name) {
		return 0
	}
	at, err := market.ParseTime(q.values.Get(name))
	if err != nil {
		q.refuse(name, "is no time like 2024-01-01T00:00:00Z or date like 2024-01-01", "assay-time")
	}
	return at
}

// stretch is the time from from up to, not including, to: all where the query has neither.
func (q *query) stretch() (from, to market.Time) {
	from, to = math.MinInt64, math.MaxInt64
	if q.values.Has("from") {
		from = q.time("from")
	}
	if q.values.Has("to") {
		to = q.time("to")
	}
	return from, to
}

// cursor is where a page begins: behind the entry After, or at Offset where that has gone. It holds for the
// question that it was given with.
type cursor struct {
	Offset int    `json:"o"`
	Of     string `json:"q"`
	After  string `json:"a,omitempty"`
}

// keyOf is what a cursor has of the id of an entry.
func keyOf(id string) string { return hashTag(id)[:16] }

// follow returns where a page begins of a list whose entries come and go.
func follow[T any](q *query, all []T, offset int, id func(*T) string) int {
	q.keyAt = func(i int) string { return keyOf(id(&all[i])) }
	if q.after == "" {
		return offset
	}
	for i := range all {
		if q.keyAt(i) == q.after {
			return i + 1
		}
	}
	return offset
}

// question names a path with its query, but for the page.
func (q *query) question(r *http.Request) string {
	rest := url.Values{}
	for name, list := range q.values {
		if name != "cursor" && name != "limit" {
			rest[name] = list
		}
	}
	return hashTag(r.URL.EscapedPath(), rest.Encode())
}

// page reads limit and cursor.
func (q *query) page(r *http.Request, most int) (offset, limit int) {
	limit = q.integer("limit", 50, 1, most)
	if !q.values.Has("cursor") {
		return 0, limit
	}
	var c cursor
	text, err := base64.RawURLEncoding.DecodeString(q.values.Get("cursor"))
	if err != nil || json.Unmarshal(text, &c) != nil || c.Offset < 0 || c.Offset > maxOffset ||
		c.Of != q.question(r) {
		q.refuse("cursor", "is no next_cursor of this question", "cursor")
		return 0, limit
	}
	q.after = c.After
	return c.Offset, limit
}

// list is a page of a list.
type list[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
	Total      int     `json:"total"`
}

// listOf shows the items of a page that begins at offset.
func listOf[T any](r *http.Request, q *query, items []T, offset, total int) list[T] {
	l := list[T]{Items: append([]T{}, items...), Total: total}
	if next := offset + len(items); next < total && len(items) > 0 {
		c := cursor{Offset: next, Of: q.question(r)}
		if q.keyAt != nil {
			c.After = q.keyAt(next - 1)
		}
		text, _ := json.Marshal(c) // a number and texts
		s := base64.RawURLEncoding.EncodeToString(text)
		l.NextCursor = &s
	}
	return l
}

// cut takes the page out of all items.
func cut[T any](all []T, offset, limit int) []T {
	from := min(offset, len(all))
	return all[from:min(from+limit, len(all))]
}

// param is what the i-th segment in braces stands for; an encoding that is none stands for
// nothing that there is.
func param(r *http.Request, i int) string {
	params := edge.From(r.Context()).Params
	if i >= len(params) {
		return ""
	}
	text, err := url.PathUnescape(params[i])
	if err != nil {
		return ""
	}
	return text
}
