package schema

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

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

// object is a copy whose values are shortened. Of keys that the schema does not know
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
