package verify

import (
	"errors"
	"maps"
	"time"

	"github.com/assay-run/assay/governance/bundle/field"
	"github.com/assay-run/assay/host/base/digest"
)

// document is a JSON object that was read strictly: see digest.Strict for the types of
// its members.
type document map[string]any

// parse reads one JSON object by the contract's strict rules.
func parse(text []byte) (document, error) {
	v, refused := field.Parse(text)
	if refused != nil {
		return nil, refused
	}
	d, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("not a JSON object")
	}
	return d, nil
}

// text is a string member, "" when there is none.
func (d document) text(name string) string {
	s, _ := d[name].(string)
	return s
}

// object is a member that is an object, empty when there is none.
func (d document) object(name string) document {
	o, _ := d[name].(map[string]any)
	return o
}

// list is a member that is an array, empty when there is none.
func (d document) list(name string) []any {
	l, _ := d[name].([]any)
	return l
}

// count is a whole number, -1 when there is none.
func (d document) count(name string) int64 {
	x, ok := d[name].(float64)
	if n := int64(x); ok && float64(n) == x {
		return n
	}
	return -1
}

// time is a time as the contract writes them.
func (d document) time(name string) (time.Time, bool) { return field.ParseTime(d.text(name)) }

// canonical is the document's canonical JSON without some members.
func (d document) canonical(without ...string) []byte {
	rest := maps.Clone(d)
	for _, name := range without {
		delete(rest, name)
	}
	return digest.Tree(map[string]any(rest))
}
