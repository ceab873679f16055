// Package schema checks JSON values against the schemas inside the OpenAPI
// document and reports every violation with an RFC 6901 pointer. The document is
// the only description of a body: requests are validated with it at run time,
// answers in the tests.
//
// It builds on santhosh-tekuri/jsonschema and imports plugin-sdk/market for times.
package schema

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// documentURL names the document inside the compiler. Nothing is loaded from it.
const documentURL = "assay:///openapi.json"

// Document is a parsed OpenAPI document whose schemas can be compiled.
type Document struct {
	root     map[string]any
	compiler *jsonschema.Compiler
}

// Parse reads an OpenAPI document.
func Parse(text []byte) (*Document, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("openapi: the document is not an object")
	}
	return FromTree(root)
}

// FromTree takes a document that has been parsed already.
func FromTree(root map[string]any) (*Document, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.RegisterFormat(&jsonschema.Format{Name: "assay-time", Validate: validTime})
	c.AssertFormat()
	c.UseRegexpEngine(compilePattern)
	if err := c.AddResource(documentURL, root); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return &Document{root: root, compiler: c}, nil
}

// Root returns the document as a tree; it must not be changed.
func (d *Document) Root() map[string]any { return d.root }

// Compile prepares the schema at a JSON pointer of the document, such as
// /components/schemas/Status.
func (d *Document) Compile(pointer string) (*Schema, error) {
	s, err := d.compiler.Compile(documentURL + "#" + pointer)
	if err != nil {
		return nil, fmt.Errorf("openapi: schema %s: %w", pointer, err)
	}
	return &Schema{compiled: s}, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: the document may refer only to itself", url)
}

func validTime(v any) error {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	_, err := market.ParseTime(s)
	return err
}

// blanks is what \s stands for in ECMA-262, inside a class. Go's \s knows ASCII only.
const blanks = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// pattern is a regular expression with the blanks of ECMA-262, which JSON Schema
// refers to. It shows itself as it was written.
type pattern struct {
	*regexp.Regexp
	written string
}

// String implements fmt.Stringer.
func (p pattern) String() string { return p.written }

func compilePattern(written string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(withBlanks(written))
	if err != nil {
		return nil, err
	}
	return pattern{re, written}, nil
}

// withBlanks writes \s, and outside of classes \S, as classes of their own.
func withBlanks(p string) string {
	var out strings.Builder
	class := false
	for i := 0; i < len(p); i++ {
		switch {
		case p[i] == '\\' && i+1 < len(p):
			i++
			switch {
			case p[i] == 's' && class:
				out.WriteString(blanks)
			case p[i] == 's':
				out.WriteString("[" + blanks + "]")
			case p[i] == 'S' && !class:
				out.WriteString("[^" + blanks + "]")
			default:
				out.WriteString(p[i-1 : i+1])
			}
			continue
		case p[i] == '[':
			class = true
		case p[i] == ']':
			class = false
		}
		out.WriteByte(p[i])
	}
	return out.String()
}

// MaxViolations is how many are reported at most.
const MaxViolations = 100

// Violation is one thing wrong with a value.
type Violation struct {
	Pointer string `json:"pointer"` // RFC 6901; of a missing field, where it should be
	Message string `json:"message"`
	Rule    string `json:"rule"`
}

// Schema is a compiled schema.
type Schema struct{ compiled *jsonschema.Schema }

// Validate returns every violation of a value as digest.Parse returns it, by
// pointer, at most MaxViolations.
func (s *Schema) Validate(v any) []Violation {
	cut := shortener{lengths: map[string]int{}}
	err := s.compiled.Validate(cut.value(v, s.compiled, ""))
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return []Violation{{Message: "cannot be checked", Rule: "schema"}}
	}
	c := collector{printer: message.NewPrinter(language.English), lengths: cut.lengths}
	c.walk(failed)
	return Sorted(c.found)
}

// Sorted orders violations by pointer and cuts the list to MaxViolations.
func Sorted(list []Violation) []Violation {
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].Pointer != list[j].Pointer {
			return list[i].Pointer < list[j].Pointer
		}
		return list[i].Rule < list[j].Rule
	})
	return list[:min(len(list), MaxViolations)]
}

type collector struct {
	printer *message.Printer
	lengths map[string]int
	found   []Violation
}

func (c *collector) walk(e *jsonschema.ValidationError) {
	at := ""
	for _, token := range e.InstanceLocation {
		at = Join(at, token)
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			c.add(Join(at, name), "is missing", "required")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			c.add(Join(at, name), "is not a known field", "additionalProperties")
		}
	case *kind.AnyOf, *kind.OneOf:
		c.leaf(at, e.ErrorKind)
	default:
		if len(e.Causes) == 0 {
			c.leaf(at, e.ErrorKind)
		}
		for _, cause := range e.Causes {
			c.walk(cause)
		}
	}
}

func (c *collector) leaf(at string, k jsonschema.ErrorKind) {
	rule := "schema"
	if path := k.KeywordPath(); len(path) > 0 {
		rule = path[0]
	}
	c.add(at, c.text(at, k), rule)
}

func (c *collector) add(pointer, text, rule string) {
	c.found = append(c.found, Violation{Pointer: pointer, Message: text, Rule: rule})
}

// text words a violation without repeating the value: it may be long.
func (c *collector) text(at string, k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Pattern:
		return hint.Form(k.Want)
	case *kind.Format:
		return "is not a time: write 2024-01-31T12:00:00Z, 2024-01-31T12:00:00 (UTC) or 2024-01-31"
	case *kind.MaxItems:
		got := k.Got
		if n, ok := c.lengths[at]; ok {
			got = n
		}
		return fmt.Sprintf("has %d items, at most %d are allowed", got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items, at least %d are needed", k.Got, k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %s", characters(k.Want))
	case *kind.MaxLength:
		return fmt.Sprintf("has %s, at most %d are allowed", characters(k.Got), k.Want)
	case *kind.Enum:
		return "must be one of " + words(k.Want)
	case *kind.ExclusiveMinimum:
		want, _ := k.Want.Float64()
		return "must be greater than " + strconv.FormatFloat(want, 'g', -1, 64)
	case *kind.Minimum:
		want, _ := k.Want.Float64()
		return "must be at least " + strconv.FormatFloat(want, 'g', -1, 64)
	case *kind.Maximum:
		want, _ := k.Want.Float64()
		return "must be at most " + strconv.FormatFloat(want, 'g', -1, 64)
	}
	return k.LocalizedString(c.printer)
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return fmt.Sprintf("%d characters", n)
}

// words lists the values of an enum.
func words(values []any) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = "null"
		if v != nil {
			list[i] = fmt.Sprint(v)
		}
	}
	return strings.Join(list, ", ")
}

// Join appends a token to an RFC 6901 pointer.
func Join(pointer, token string) string {
	return pointer + "/" + digest.PointerStep(token)
}

// maxItems bounds how many elements of an array are looked at: a body of a
// megabyte can hold half a million bad ones.
const maxItems = 1000

// shortener cuts what is long and wrong, so that it is refused as quickly as what is
// short and wrong. It remembers the lengths of arrays by pointer.
type shortener struct{ lengths map[string]int }

func (s *shortener) value(v any, c *jsonschema.Schema, at string) any {
	for c.Ref != nil {
		c = c.Ref
	}
	switch v := v.(type) {
	case []any:
		if len(v) > maxItems {
			s.lengths[at] = len(v)
			return v[:maxItems]
		}
	case map[string]any:
		if len(c.Properties) > 0 {
			return s.object(v, c, at)
		}
	}
	return v
}

// object returns a copy whose values are shortened. Of keys that the schema does not know
// and does not allow those stay that would be reported.
func (s *shortener) object(v map[string]any, c *jsonschema.Schema, at string) any {
	out := make(map[string]any, len(c.Properties))
	for name, sub := range c.Properties {
		if e, ok := v[name]; ok {
			out[name] = s.value(e, sub, Join(at, name))
		}
	}
	closed := c.AdditionalProperties == false
	var first []string // the first unknown keys by pointer
	names := map[string]string{}
	for name, e := range v {
		if _, known := c.Properties[name]; known {
			continue
		}
		if !closed {
			out[name] = e
			continue
		}
		full := len(first) == MaxViolations
		if full && name > first[MaxViolations-1][1:] && !strings.ContainsAny(name, "~/") {
			continue // the usual case without making a pointer
		}
		pointer := Join("", name)
		if full && pointer > first[MaxViolations-1] {
			continue
		}
		i, _ := slices.BinarySearch(first, pointer)
		first = slices.Insert(first, i, pointer)
		names[pointer] = name
		if len(first) > MaxViolations {
			delete(names, first[MaxViolations])
			first = first[:MaxViolations]
		}
	}
	for _, name := range names {
		out[name] = nil
	}
	return out
}
