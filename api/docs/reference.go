package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The API reference at /docs is made from the OpenAPI document. Only what the page shows of the
// document is read here.
type (
	apiDocument struct {
		Info struct {
			Description string `json:"description"`
		} `json:"info"`
		Tags []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"tags"`
		Paths      map[string]map[string]apiOperation `json:"paths"`
		Components struct {
			Schemas    map[string]*apiSchema   `json:"schemas"`
			Parameters map[string]apiParameter `json:"parameters"`
			Responses  map[string]apiResponse  `json:"responses"`
		} `json:"components"`
	}
	apiOperation struct {
		ID          string                 `json:"operationId"`
		Tags        []string               `json:"tags"`
		Summary     string                 `json:"summary"`
		Description string                 `json:"description"`
		Parameters  []apiParameter         `json:"parameters"`
		Body        *apiResponse           `json:"requestBody"`
		Responses   map[string]apiResponse `json:"responses"`
		Codes       []string               `json:"x-error-codes"`
		Deprecated  bool                   `json:"deprecated"`
	}
	apiParameter struct {
		Ref         string     `json:"$ref"`
		Name        string     `json:"name"`
		In          string     `json:"in"`
		Required    bool       `json:"required"`
		Description string     `json:"description"`
		Schema      *apiSchema `json:"schema"`
	}
	apiResponse struct {
		Ref         string `json:"$ref"`
		Description string `json:"description"`
		Required    bool   `json:"required"`
		Content     map[string]struct {
			Schema  *apiSchema      `json:"schema"`
			Example json.RawMessage `json:"example"`
		} `json:"content"`
	}
	apiSchema struct {
		Ref         string                `json:"$ref"`
		Type        any                   `json:"type"`
		Description string                `json:"description"`
		Properties  map[string]*apiSchema `json:"properties"`
		Required    []string              `json:"required"`
		Items       *apiSchema            `json:"items"`
		AnyOf       []*apiSchema          `json:"anyOf"`
		Enum        []any                 `json:"enum"`
		Default     any                   `json:"default"`
		More        json.RawMessage       `json:"additionalProperties"`
	}
)

// referencePage is what the template shows.
type referencePage struct {
	Intro   string
	Groups  []operationGroup
	Schemas []schemaView
}

type operationGroup struct {
	Name, Text string
	Operations []operationView
}

type operationView struct {
	ID, Method, Path, Summary, Text string
	Deprecated                      bool
	Parameters, Fields              []fieldView
	// Body is the schema of the body with an example; Tries reports whether it can be tried.
	Body    *typeView
	Example string
	HasBody bool
	Tries   bool
	Answers []answerView
	Codes   []codeView
}

// typeView is a type in words, with the schema that it refers to.
type typeView struct{ Text, Ref string }

type fieldView struct {
	Name, In, Text string
	Type           typeView
	Required       bool
}

type answerView struct {
	Status, Text string
	Type         *typeView
}

type codeView struct{ Code, Anchor string }

type schemaView struct {
	Name, Text string
	Type       typeView
	Fields     []fieldView
}

const schemaRef = "#/components/schemas/"

// methods in the order in which a path shows them.
var methods = []string{"get", "post", "put", "delete"}

func referenceView(text []byte) (*referencePage, error) {
	var d apiDocument
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("docs: openapi: %w", err)
	}
	p := &referencePage{Intro: d.Info.Description}
	for _, tag := range d.Tags {
		g := operationGroup{Name: tag.Name, Text: tag.Description}
		for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
			for _, method := range methods {
				if o, is := d.Paths[path][method]; is && slices.Contains(o.Tags, tag.Name) {
					g.Operations = append(g.Operations, d.operation(method, path, o))
				}
			}
		}
		p.Groups = append(p.Groups, g)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		p.Schemas = append(p.Schemas, schemaView{Name: name, Text: s.Description, Type: typeOf(s),
			Fields: fieldsOf(s, "", 0)})
	}
	return p, nil
}

func (d *apiDocument) operation(method, path string, o apiOperation) operationView {
	v := operationView{
		ID:         o.ID,
		Method:     strings.ToUpper(method),
		Path:       path,
		Summary:    o.Summary,
		Text:       o.Description,
		Deprecated: o.Deprecated,
		Tries:      o.Responses["101"].Description == "",
	}
	for _, p := range o.Parameters {
		if name, is := strings.CutPrefix(p.Ref, "#/components/parameters/"); is {
			p = d.Components.Parameters[name]
		}
		v.Parameters = append(v.Parameters, fieldView{Name: p.Name, In: p.In, Text: p.Description,
			Required: p.Required, Type: typeOf(p.Schema)})
	}
	if o.Body != nil {
		c, isJSON := o.Body.Content["application/json"]
		v.HasBody = isJSON
		v.Tries = v.Tries && isJSON // the page sends no files
		if c.Schema != nil {
			t := typeOf(c.Schema)
			v.Body = &t
		}
		v.Example = "{}"
		if len(c.Example) > 0 {
			v.Example = indented(c.Example)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		r := o.Responses[status]
		if name, is := strings.CutPrefix(r.Ref, "#/components/responses/"); is {
			r = d.Components.Responses[name]
		}
		a := answerView{Status: status, Text: r.Description}
		if c := r.Content["application/json"]; c.Schema != nil {
			t := typeOf(c.Schema)
			a.Type = &t
		}
		v.Answers = append(v.Answers, a)
	}
	for _, code := range o.Codes {
		v.Codes = append(v.Codes, codeView{code, strings.ToLower(strings.ReplaceAll(code, "_", "-"))})
	}
	return v
}

func indented(text json.RawMessage) string {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return string(text)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(text)
	}
	return string(out)
}

// typeOf is a schema in words.
func typeOf(s *apiSchema) typeView {
	switch {
	case s == nil:
		return typeView{Text: "any"}
	case s.Ref != "":
		name := strings.TrimPrefix(s.Ref, schemaRef)
		return typeView{Text: name, Ref: name}
	case len(s.AnyOf) > 0:
		t := typeOf(s.AnyOf[0])
		t.Text += " or null"
		return t
	case s.Items != nil:
		t := typeOf(s.Items)
		t.Text = "array of " + t.Text
		return t
	}
	t := typeView{Text: "any"}
	switch kind := s.Type.(type) {
	case string:
		t.Text = kind
	case []any:
		var words []string
		for _, k := range kind {
			words = append(words, fmt.Sprint(k))
		}
		t.Text = strings.Join(words, " or ")
	}
	if len(s.Enum) > 0 {
		var words []string
		for _, e := range s.Enum {
			text, err := json.Marshal(e)
			if err != nil {
				continue
			}
			words = append(words, string(text))
		}
		t.Text += ", one of " + strings.Join(words, ", ")
	}
	if s.Default != nil {
		if text, err := json.Marshal(s.Default); err == nil {
			t.Text += ", default " + string(text)
		}
	}
	return t
}

// deepest is how many levels of objects without a name are shown in place.
const deepest = 3

// fieldsOf are the fields of an object by name; those of an object within it follow it.
func fieldsOf(s *apiSchema, prefix string, depth int) []fieldView {
	if s == nil || depth > deepest {
		return nil
	}
	var out []fieldView
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		out = append(out, fieldView{Name: prefix + name, Text: p.Description, Type: typeOf(p),
			Required: slices.Contains(s.Required, name)})
		out = append(out, fieldsOf(p, prefix+name+".", depth+1)...)
		out = append(out, fieldsOf(p.Items, prefix+name+"[].", depth+1)...)
	}
	return out
}
