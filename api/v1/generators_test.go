package v1

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestGeneratorsDigestTheDocument holds the rules without which public generators write clients
// that do not compile, or lose digits.
func TestGeneratorsDigestTheDocument(t *testing.T) {
	var walk func(v any, at string)
	walk = func(v any, at string) {
		switch v := v.(type) {
		case []any:
			for i, x := range v {
				walk(x, fmt.Sprintf("%s/%d", at, i))
			}
		case map[string]any:
			if !strings.Contains(at, "/example") { // values, not schemas
				digestible(t, v, at)
			}
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k], at+"/"+k)
			}
		}
	}
	walk(document(t), "")
}

func digestible(t *testing.T, s map[string]any, at string) {
	t.Helper()
	kinds, several := s["type"].([]any)
	kind, _ := s["type"].(string)
	nullable := several && slices.Contains(kinds, any("null"))
	if nullable && len(kinds) == 2 {
		kind = fmt.Sprint(kinds[0])
	}
	if several && !nullable {
		t.Errorf("%s: a type of %v: only null may stand beside another", at, kinds)
	}
	format, _ := s["format"].(string)
	if kind == "number" && format != "double" {
		t.Errorf("%s: a number without format double loses digits", at)
	}
	if kind == "integer" && format != "int64" {
		t.Errorf("%s: an integer without format int64 may overflow", at)
	}
	parent := at[:max(0, strings.LastIndex(at, "/"))]
	if nullable && kind == "object" && parent == "/components/schemas" {
		t.Errorf("%s: write anyOf [its reference, null] where it may be null, not in the schema itself", at)
	}
	if d, is := s["default"]; is && kind == "object" {
		t.Errorf("%s: an object with the default %v", at, d)
	}
	for _, word := range []string{"oneOf", "not", "if", "patternProperties", "prefixItems",
		"unevaluatedProperties", "dependentSchemas", "propertyNames"} {
		if _, is := s[word]; is && !strings.HasSuffix(at, "/properties") {
			t.Errorf("%s: %s, which generators do not know", at, word)
		}
	}
	for _, word := range []string{"anyOf", "allOf"} {
		list, is := s[word].([]any)
		if !is || strings.HasSuffix(at, "/properties") {
			continue
		}
		first, _ := list[0].(map[string]any)
		second, _ := list[len(list)-1].(map[string]any)
		if word == "allOf" || len(list) != 2 || first["$ref"] == nil || second["type"] != "null" {
			t.Errorf("%s: %s, but of a reference and null", at, word)
		}
	}
}
