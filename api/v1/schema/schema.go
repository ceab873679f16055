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
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// documentURL names the document inside the compiler. Nothing is loaded from it.
const documentURL = "assay:///openapi.json"

// Document is a parsed OpenAPI document whose schemas can be compiled.
type Document struct{ compiler *jsonschema.Compiler }

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
	return &Document{c}, nil
}

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

// Violation is one thing wrong with a value.
type Violation = hint.Violation

// Schema is a compiled schema.
type Schema struct{ compiled *jsonschema.Schema }

// Validate returns every violation of a value as digest.Parse returns it, by
// pointer, at most hint.MaxViolations.
func (s *Schema) Validate(v any) []Violation {
	err := s.compiled.Validate(shortened(v, s.compiled))
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return []Violation{{Message: "cannot be checked", Rule: "schema"}}
	}
	return hint.Violations(failed, nil)
}

// Join appends a token to an RFC 6901 pointer.
func Join(pointer, token string) string {
	return pointer + "/" + digest.PointerStep(token)
}

// maxItems bounds how many elements of an array are looked at: a body of a
// megabyte can hold half a million bad ones.
const maxItems = 1000

// shortened cuts what is long and wrong, so that it is refused as quickly as what is short and wrong.
func shortened(v any, c *jsonschema.Schema) any {
	for c.Ref != nil {
		c = c.Ref
	}
	switch v := v.(type) {
	case []any:
		return v[:min(len(v), maxItems)]
	case map[string]any:
		if len(c.Properties) > 0 {
			return shortObject(v, c)
		}
	}
	return v
}

// shortObject returns a copy whose values are shortened. Of keys that the schema does not know
// and does not allow those stay that would be reported.
func shortObject(v map[string]any, c *jsonschema.Schema) any {
	const most = hint.MaxViolations
	out := make(map[string]any, len(c.Properties))
	for name, sub := range c.Properties {
		if e, ok := v[name]; ok {
			out[name] = shortened(e, sub)
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
		full := len(first) == most
		if full && name > first[most-1][1:] && !strings.ContainsAny(name, "~/") {
			continue // the usual case without making a pointer
		}
		pointer := Join("", name)
		if full && pointer > first[most-1] {
			continue
		}
		i, _ := slices.BinarySearch(first, pointer)
		first = slices.Insert(first, i, pointer)
		names[pointer] = name
		if len(first) > most {
			delete(names, first[most])
			first = first[:most]
		}
	}
	for _, name := range names {
		out[name] = nil
	}
	return out
}
