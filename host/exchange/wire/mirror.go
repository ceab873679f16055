package wire

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/token"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// A noun of package exchange and the message about it have fields of the same names, but for case and
// for Ms behind a time. message and noun copy all of them, each by its type. What a text or a number of a
// message may be besides is in the tag wire of the noun's field:
//
//	name     a text that must be there
//	people   a text for people, which is clipped
//	long     a text without a bound of its own
//	few      a list of at most 32 names
//	signed   a number that may be negative
//	shown    a number that nothing is computed from
//	a|b|c    one of these words

// fieldPair is a field of a noun and that of its message.
type fieldPair struct {
	noun, message int    // their indices
	name          string // in the .proto
	rule          string // the tag wire
}

var pairsOf sync.Map // [2]reflect.Type -> []fieldPair

// pairFields pairs the fields of a noun with those of its message; what only one of the two has is left out.
func pairFields(noun, message reflect.Type) []fieldPair {
	key := [2]reflect.Type{noun, message}
	if known, ok := pairsOf.Load(key); ok {
		return known.([]fieldPair)
	}
	var list []fieldPair
	for i := range noun.NumField() {
		f := noun.Field(i)
		other, ok := message.FieldByNameFunc(func(name string) bool {
			return token.IsExported(name) &&
				(strings.EqualFold(name, f.Name) || strings.EqualFold(name, f.Name+"Ms"))
		})
		if !ok {
			continue
		}
		_, name, _ := strings.Cut(other.Tag.Get("protobuf"), "name=")
		name, _, _ = strings.Cut(name, ",")
		list = append(list, fieldPair{noun: i, message: other.Index[0], name: name, rule: f.Tag.Get("wire")})
	}
	pairsOf.Store(key, list)
	return list
}

// message returns the message about a noun.
func message[P, N any](n N) *P {
	p := new(P)
	write(reflect.ValueOf(&n).Elem(), reflect.ValueOf(p).Elem())
	return p
}

// messages are those about a list.
func messages[P, N any](list []N) []*P {
	out := make([]*P, len(list))
	for i, n := range list {
		out[i] = message[P](n)
	}
	return out
}

func write(noun, message reflect.Value) {
	for _, t := range pairFields(noun.Type(), message.Type()) {
		put(noun.Field(t.noun), message.Field(t.message), t.rule)
	}
}

// put writes one field.
func put(from, to reflect.Value, rule string) {
	switch v := from.Interface().(type) {
	case decimal.Decimal:
		to.SetString(number(v))
		return
	case market.Time:
		to.SetInt(int64(v))
		return
	case time.Duration:
		to.SetInt(v.Milliseconds())
		return
	case exchange.Secret: // the one place where it leaves memory
		to.SetString(v.Reveal())
		return
	case exchange.Outcome:
		to.SetInt(int64(max(0, slices.Index(outcomes[:], v)))) // an unknown name is UNKNOWN
		return
	case json.RawMessage:
		to.SetString(valid(string(v)))
		return
	case fmt.Stringer:
		to.SetString(v.String())
		return
	}
	switch from.Kind() {
	case reflect.String:
		text := valid(from.String())
		if rule == "people" {
			text = exchange.Clip(text)
		}
		to.SetString(text)
	case reflect.Bool:
		to.SetBool(from.Bool())
	case reflect.Float64:
		to.SetFloat(from.Float())
	case reflect.Int, reflect.Int64:
		to.SetInt(from.Int())
	case reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			put(from.Index(i), to.Index(i), rule)
		}
	case reflect.Struct:
		to.Set(reflect.New(to.Type().Elem()))
		write(from, to.Elem())
	}
}

// noun reads the noun that a message is about; no message is one without content.
func noun[N, P any](r *reader, p *P) (n N) {
	if p == nil {
		p = new(P)
	}
	r.read(reflect.ValueOf(p).Elem(), reflect.ValueOf(&n).Elem())
	return n
}

// nouns reads a list, with the index in the path of its faults.
func nouns[N, P any](r *reader, name string, list []*P) []N {
	out := make([]N, len(list))
	for i, p := range list {
		r.within(at(name, i), func() { out[i] = noun[N](r, p) })
	}
	return out
}

func (r *reader) read(message, noun reflect.Value) {
	for _, t := range pairFields(noun.Type(), message.Type()) {
		r.get(t.name, message.Field(t.message), noun.Field(t.noun), t.rule)
	}
}

// get reads one field.
func (r *reader) get(name string, from, to reflect.Value, rule string) {
	switch v := to.Addr().Interface().(type) {
	case *decimal.Decimal:
		*v = r.decimal(name, from.String(), rule)
		return
	case *market.Symbol:
		*v = r.symbol(name, from.String())
		return
	case *market.Time:
		if *v = market.Time(from.Int()); *v < 0 {
			r.wrong(name, "%d is before 1970", from.Int())
		}
		return
	case *time.Duration:
		*v = time.Duration(from.Int()) * time.Millisecond
		return
	case *exchange.Secret:
		*v = exchange.NewSecret(from.String())
		return
	case *exchange.Outcome:
		*v = exchange.Unknown
		if o := from.Int(); o < 0 || o >= int64(len(outcomes)) {
			r.wrong(name, "%d is not known", o)
		} else {
			*v = outcomes[o]
		}
		return
	case *json.RawMessage:
		if text := from.String(); text != "" {
			*v = json.RawMessage(text)
		}
		return
	case encoding.TextUnmarshaler:
		if v.UnmarshalText([]byte(from.String())) != nil {
			r.wrong(name, unknownWord, from.String())
		}
		return
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(r.text(name, from.String(), rule))
	case reflect.Bool:
		to.SetBool(from.Bool())
	case reflect.Float64:
		if x := from.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
			r.wrong(name, "%v is not a finite number", x)
		}
		to.SetFloat(from.Float())
	case reflect.Int, reflect.Int64:
		if from.Int() < 0 {
			r.wrong(name, "%d is negative", from.Int())
		}
		to.SetInt(from.Int())
	case reflect.Slice:
		r.list(name, from, to, rule)
	case reflect.Struct:
		if from.IsNil() {
			from = reflect.New(from.Type().Elem())
		}
		r.within(name, func() { r.read(from.Elem(), to) })
	}
}

// list reads a list of texts.
func (r *reader) list(name string, from, to reflect.Value, rule string) {
	n := from.Len()
	if rule == "few" && n > maxNames {
		r.wrong(name, "%d names, at most %d are allowed", n, maxNames)
		n = 0
	}
	if rule == "few" && n == 0 {
		return // an empty one is nil
	}
	if !strings.Contains(rule, "|") {
		rule = "name"
	}
	to.Set(reflect.MakeSlice(to.Type(), n, n))
	for i := range n {
		r.get(at(name, i), from.Index(i), to.Index(i), rule)
	}
}

// text reads a text by its rule.
func (r *reader) text(name, s, rule string) string {
	switch {
	case rule == "people":
		return exchange.Clip(s)
	case rule == "name" && s == "":
		r.wrong(name, "is missing")
	case rule == "long":
		if len(s) > maxDocument {
			r.wrong(name, "is too long")
		}
	case strings.Contains(rule, "|"):
		if !slices.Contains(strings.Split(rule, "|"), s) {
			r.wrong(name, unknownWord, s)
			return ""
		}
	case len(s) > maxText:
		r.wrong(name, "a text of %d bytes, at most %d are allowed", len(s), maxText)
	}
	return s
}
