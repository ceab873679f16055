package schema

import (
	"bytes"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

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

// Root is the document as a tree; it must not be changed.
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
