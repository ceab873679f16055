package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/host/proc"
)

// FieldError is one thing wrong with parameters; Rule is the schema's keyword, or json.
type FieldError = hint.Violation

const (
	maxParams      = 1000 // given at a time: more are refused before they cost anything
	maxSchemaBytes = 256 << 10
	maxExact       = 1 << 53 // below it a float64 holds every whole number
)

// params is a compiled schema with the defaults that fit it.
type params struct {
	schema        *jsonschema.Schema
	raw, defaults json.RawMessage
}

// compileParams checks what a plugin declares of its parameters.
func compileParams(schema, defaults string) (*params, *proc.Fault) {
	schema = cmp.Or(schema, `{"type":"object","properties":{},"additionalProperties":false}`)
	defaults = cmp.Or(defaults, "{}")
	if len(schema)+len(defaults) > maxSchemaBytes {
		return nil, proc.Faultf(CodeBadSchema, "params_schema and default_params have %d bytes, more than %d",
			len(schema)+len(defaults), maxSchemaBytes)
	}
	compiled, raw, err := compileSchema(schema)
	if err != nil {
		return nil, proc.Faultf(CodeBadSchema, "params_schema: %v", err)
	}
	p := &params{schema: compiled, raw: raw}
	canonical, bad := validate(compiled, nil, json.RawMessage(defaults))
	if len(bad) > 0 {
		return nil, proc.Faultf(CodeBadSchema, "default_params%s: %s", bad[0].Pointer, bad[0].Message)
	}
	p.defaults = canonical
	return p, nil
}

// schemaURL names a schema inside the compiler. Nothing is ever loaded from it.
const schemaURL = "assay:///params_schema.json"

// noLoader keeps a schema from reading files or the network through $ref.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: a schema may refer only to itself", url)
}

func compileSchema(text string) (*jsonschema.Schema, json.RawMessage, error) {
	raw := jsontext.Value(text)
	if err := raw.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
		return nil, nil, err
	}
	if raw.Kind() != '{' {
		return nil, nil, errors.New("not a JSON object")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, nil, err
	}
	s, err := c.Compile(schemaURL)
	var broken *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if errors.As(err, &broken) && errors.As(broken.Err, &invalid) {
		first := hint.Violations(invalid, nil)[0]
		return nil, nil, fmt.Errorf("at %q: %s", first.Pointer, first.Message)
	}
	if err != nil {
		return nil, nil, err
	}
	return s, json.RawMessage(raw), nil
}

// ValidateParams checks a run's parameters against the strategy's schema and
// returns them as canonical JSON with every default filled in. Absent ones (nil,
// empty, null) mean all defaults. All faults are reported at once, at most 100.
func (s *Strategy) ValidateParams(raw json.RawMessage) (json.RawMessage, []FieldError) {
	if s.schema == nil {
		return nil, []FieldError{{Message: "the strategy is unavailable", Rule: "json"}}
	}
	return validate(s.schema, s.DefaultParams, raw)
}

func validate(schema *jsonschema.Schema, defaults, raw json.RawMessage) (json.RawMessage, []FieldError) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if bad := checkText(raw); bad != nil {
		return nil, bad
	}
	merged, err := fillDefaults(defaults, raw)
	if err != nil {
		return nil, []FieldError{{Message: err.Error(), Rule: "json"}}
	}
	if err := merged.Canonicalize(); err != nil {
		return nil, []FieldError{{Message: err.Error(), Rule: "json"}}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(merged))
	if err != nil {
		return nil, []FieldError{{Message: err.Error(), Rule: "json"}}
	}
	var invalid *jsonschema.ValidationError
	switch err := schema.Validate(value); {
	case errors.As(err, &invalid):
		return nil, hint.Violations(invalid, func(name string) string {
			return "is not a parameter of this strategy: " +
				hint.Names(name, slices.Sorted(maps.Keys(schema.Properties)))
		})
	case err != nil:
		return nil, []FieldError{{Message: err.Error(), Rule: "json"}}
	}
	return json.RawMessage(merged), nil
}

// checkText refuses what canonical JSON would change silently: duplicate keys,
// broken text and numbers that a float64 does not hold.
func checkText(raw json.RawMessage) []FieldError {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if d.PeekKind() != '{' {
		return []FieldError{{Message: "parameters are a JSON object", Rule: "type"}}
	}
	var bad []FieldError
	for {
		t, err := d.ReadToken()
		if err != nil {
			return append(bad,
				FieldError{Pointer: string(d.StackPointer()), Message: err.Error(), Rule: "json"})
		}
		if t.Kind() == '0' && len(bad) < hint.MaxViolations {
			if why := lossy(t.String()); why != "" {
				bad = append(bad, FieldError{Pointer: string(d.StackPointer()), Message: why, Rule: "number"})
			}
		}
		if d.StackDepth() == 0 {
			break
		}
		if _, n := d.StackIndex(1); n > 2*maxParams {
			return []FieldError{{Message: fmt.Sprintf("there are more than %d parameters", maxParams),
				Rule: "maxProperties"}}
		}
	}
	if rest := bytes.TrimSpace(raw[d.InputOffset():]); len(rest) > 0 {
		bad = append(bad, FieldError{Message: "there is text after the object", Rule: "json"})
	}
	return bad
}

// lossy explains why a number would not survive, "" if it does.
func lossy(number string) string {
	f, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || math.IsInf(f, 0):
		return "the number is too large"
	case math.Abs(f) >= maxExact && !strings.ContainsAny(number, ".eE"):
		return "whole numbers from 2^53 on lose digits"
	}
	return ""
}

// fillDefaults adds the defaults of parameters that are not given.
func fillDefaults(defaults, raw json.RawMessage) (jsontext.Value, error) {
	if len(defaults) == 0 {
		return jsontext.Value(raw).Clone(), nil
	}
	var base, given map[string]json.RawMessage
	if err := json.Unmarshal(defaults, &base); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, err
	}
	maps.Copy(base, given)
	merged, err := json.Marshal(base)
	return jsontext.Value(merged), err
}
