package field

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/digest"
)

// Reader keeps the first refusal of a document. Its zero value is ready.
type Reader struct {
	// As, where set, is the code of every refusal: what is wrong inside a signed
	// statement is told by one code.
	As Code
	// Lax passes over unknown members, takes null for an absent one, and bounds no text.
	Lax bool
	err *Error
}

// Err returns the first refusal, nil if there is none.
func (r *Reader) Err() *Error { return r.err }

// Failed reports whether anything was refused.
func (r *Reader) Failed() bool { return r.err != nil }

// Fail refuses, unless something was refused before.
func (r *Reader) Fail(code Code, pointer, format string, args ...any) {
	if r.err != nil {
		return
	}
	if r.As != "" {
		code = r.As
	}
	r.err = Refuse(code, pointer, format, args...)
}

// Stop keeps a refusal that was made elsewhere, unless there is one already.
func (r *Reader) Stop(err *Error) {
	if r.err == nil {
		r.err = err
	}
}

// Object is an object of the document, whose members are known by name.
type Object struct {
	r       *Reader
	at      string
	members map[string]any
}

// Names splits a list of member names; it keeps the lists of a document readable.
func Names(list string) []string { return strings.Fields(list) }

// Object takes v for an object at a pointer which has all members of need, perhaps some
// of may, and no others.
func (r *Reader) Object(v any, at string, need, may []string) Object {
	o := r.Free(v, at)
	for _, name := range o.Members() {
		if !r.Lax && !slices.Contains(need, name) && !slices.Contains(may, name) {
			r.Fail(UnknownField, o.At(name), "this field is not part of the contract")
		}
	}
	for _, name := range need {
		if !o.Has(name) {
			r.Fail(MissingField, o.At(name), "this field is required")
		}
	}
	return o
}

// Free takes v for an object with any members.
func (r *Reader) Free(v any, at string) Object {
	members, ok := v.(map[string]any)
	if !ok {
		r.Fail(InvalidField, at, "must be an object")
	}
	return Object{r: r, at: at, members: members}
}

// At returns the pointer of a member.
func (o Object) At(name string) string { return o.at + "/" + digest.PointerStep(name) }

// Pointer returns the pointer of the object itself.
func (o Object) Pointer() string { return o.at }

// Has reports whether the member is there.
func (o Object) Has(name string) bool {
	v, ok := o.members[name]
	return ok && (v != nil || !o.r.Lax)
}

// Members are the names of all members, sorted.
func (o Object) Members() []string { return slices.Sorted(maps.Keys(o.members)) }

// Raw returns the member as it is, nil where it is absent.
func (o Object) Raw(name string) any { return o.members[name] }

// Fail refuses a member.
func (o Object) Fail(code Code, name, format string, args ...any) {
	o.r.Fail(code, o.At(name), format, args...)
}

// FailAt refuses what is at a pointer below the object, which begins without a slash.
func (o Object) FailAt(code Code, below, format string, args ...any) {
	o.r.Fail(code, o.at+"/"+below, format, args...)
}

// get returns the member, and false where it is absent or something was refused before: an
// absent member that is needed was refused when the object was opened.
func (o Object) get(name string) (any, bool) {
	return o.members[name], o.Has(name) && o.r.err == nil
}

// str returns a member of type string, "" where it is absent.
func (o Object) str(name string) (string, bool) {
	v, ok := o.get(name)
	if !ok {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		o.Fail(InvalidField, name, "must be a string")
	}
	return s, ok
}

// Text returns a string of at most 4 KiB.
func (o Object) Text(name string) string {
	s, _ := o.str(name)
	o.short(name, s)
	return s
}

func (o Object) short(name, s string) {
	if len(s) > MaxText && !o.r.Lax {
		o.Fail(InvalidField, name, "is longer than %d bytes", MaxText)
	}
}

// forms are the forms that a text can have, with the code of one that has another.
var forms = map[string]struct {
	code Code
	ok   func(string) bool
	what string
}{
	"id": {InvalidIdentifier, IsIdentifier,
		"an identifier: lower-case letters, digits, '.', '_', '-', at most 128"},
	"revision": {InvalidIdentifier, IsRevision, "a revision: cr- and 64 hexadecimal digits"},
	"sha256":   {InvalidDigest, IsSHA256, "a SHA-256 in 64 lower-case hexadecimal digits"},
	"digest":   {InvalidDigest, IsDigest, "sha256: and 64 lower-case hexadecimal digits"},
	"decimal": {InvalidDecimal, IsDecimal,
		"a plain decimal of at most 18 digits before and behind the point"},
}

// Form returns a text of a form that [Reader.Struct] lists.
func (o Object) Form(form, name string) string {
	switch form {
	case "":
		return o.Text(name)
	case "time":
		s, _ := o.Time(name)
		return s
	case "filled":
		s := o.Text(name)
		if o.Has(name) && strings.TrimSpace(s) == "" {
			o.Fail(InvalidField, name, "must not be blank")
		}
		return s
	}
	s, is := o.str(name)
	f, ok := forms[form]
	switch {
	case !ok && form != "free":
		panic("field: there is no form " + form) // a mistake of the program
	case ok && is && !f.ok(s):
		o.Fail(f.code, name, "is not %s", f.what)
	}
	return s
}

// OneOf returns one of the given strings, else refused with code.
func (o Object) OneOf(name string, code Code, values ...string) string {
	s, ok := o.str(name)
	if ok && !slices.Contains(values, s) {
		o.Fail(code, name, "must be one of %s", strings.Join(values, ", "))
	}
	return s
}

// Schema refuses a schema that this version does not read, of whatever type.
func (o Object) Schema(name, want string) {
	if v, ok := o.get(name); ok && v != any(want) {
		o.Fail(UnsupportedSchema, name, "must be %s", want)
	}
}

// Time returns a point in time as it is written; its value is zero where it is absent.
func (o Object) Time(name string) (string, time.Time) {
	s, ok := o.str(name)
	if !ok {
		return s, time.Time{}
	}
	t, ok := ParseTime(s)
	if !ok {
		o.Fail(InvalidTimestamp, name, "is not a time in RFC 3339 with Z")
	}
	return s, t
}

// Number returns a number of at least min.
func (o Object) Number(name string, min float64) float64 {
	v, ok := o.get(name)
	if !ok {
		return 0
	}
	x, ok := v.(float64)
	if !ok {
		o.Fail(InvalidField, name, "must be a number")
	} else if x < min {
		o.Fail(InvalidField, name, "must be at least %v", min)
	}
	return x
}

// Integer returns a whole number from min to max.
func (o Object) Integer(name string, min, max int64) int64 {
	x := o.Number(name, float64(min))
	if x != math.Trunc(x) {
		o.Fail(InvalidField, name, "must be a whole number")
	} else if x > float64(max) {
		o.Fail(InvalidField, name, "must be at most %d", max)
	}
	if o.r.err != nil {
		return 0
	}
	return int64(x)
}

// Bool is true or false, nil where it is absent.
func (o Object) Bool(name string) *bool {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	b, ok := v.(bool)
	if !ok {
		o.Fail(InvalidField, name, "must be true or false")
	}
	return &b
}

// Child opens a member that is an object.
func (o Object) Child(name string, need, may []string) Object {
	v, ok := o.get(name)
	if !ok {
		return Object{r: o.r, at: o.At(name)}
	}
	return o.r.Object(v, o.At(name), need, may)
}

// Open opens a member that is an object with any members.
func (o Object) Open(name string) Object {
	v, ok := o.get(name)
	if !ok {
		return Object{r: o.r, at: o.At(name)}
	}
	return o.r.Free(v, o.At(name))
}

// Each goes through a member that is a list of at most max values (0: any number),
// until something is refused. It returns how many there are.
func (o Object) Each(name string, max int, do func(i int, v any, at string)) int {
	v, ok := o.get(name)
	if !ok {
		return 0
	}
	list, ok := v.([]any)
	if !ok {
		o.Fail(InvalidField, name, "must be a list")
	}
	if max > 0 && len(list) > max {
		o.Fail(TooManyItems, name, "has more than %d items", max)
	}
	for i, v := range list {
		if o.r.err != nil {
			break
		}
		do(i, v, o.At(name)+"/"+strconv.Itoa(i))
	}
	return len(list)
}

// Texts returns a list of strings; check returns what is wrong with one, "" if nothing is. It is
// nil where it is absent, and empty where it is empty.
func (o Object) Texts(name string, max int, check func(string) string) []string {
	if !o.Has(name) {
		return nil
	}
	out := []string{}
	o.Each(name, max, func(_ int, v any, at string) {
		s, ok := v.(string)
		switch {
		case !ok:
			o.r.Fail(InvalidField, at, "must be a string")
		case len(s) > MaxText && !o.r.Lax:
			o.r.Fail(InvalidField, at, "is longer than %d bytes", MaxText)
		case check != nil && check(s) != "":
			o.r.Fail(InvalidField, at, "%s", check(s))
		}
		out = append(out, s)
	})
	return out
}

// Series returns a list of numbers, nil where it is absent.
func (o Object) Series(name string, max int) []float64 {
	if !o.Has(name) {
		return nil
	}
	out := []float64{}
	o.Each(name, max, func(_ int, v any, at string) {
		x, ok := v.(float64)
		if !ok {
			o.r.Fail(InvalidField, at, "must be a number")
		}
		out = append(out, x)
	})
	return out
}

// Numbers returns an object whose members are all numbers.
func (o Object) Numbers(name string) map[string]float64 {
	m := o.Open(name)
	out := make(map[string]float64, len(m.members))
	for _, key := range m.Members() {
		out[key] = m.Number(key, math.Inf(-1))
	}
	return out
}
