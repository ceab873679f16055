package hint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/assay-run/assay/host/base/digest"
)

// Violation is one thing wrong with a JSON value.
type Violation struct {
	Pointer string `json:"pointer"` // RFC 6901; of a missing field, where it should be
	Message string `json:"message"` // never the value, which may be long or secret
	Rule    string `json:"rule"`    // the schema's keyword
}

// MaxViolations is how many are reported at most.
const MaxViolations = 100

// Violations lists what a schema does not allow, ordered. The words for a field that the schema does
// not know come from unknown; nil: "is not a known field".
func Violations(e *jsonschema.ValidationError, unknown func(name string) string) []Violation {
	if unknown == nil {
		unknown = func(string) string { return "is not a known field" }
	}
	return Sorted(appendViolations(nil, e, unknown))
}

// Sorted orders violations by pointer and rule and cuts the list to MaxViolations.
func Sorted(list []Violation) []Violation {
	slices.SortStableFunc(list, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Rule, b.Rule))
	})
	list = slices.Compact(list)
	return list[:min(len(list), MaxViolations)]
}

// appendViolations takes the leaves: what stands above them only reports that something below is wrong.
func appendViolations(list []Violation, e *jsonschema.ValidationError,
	unknown func(string) string) []Violation {
	at := ""
	for _, token := range e.InstanceLocation {
		at += "/" + digest.PointerStep(token)
	}
	add := func(pointer, text string) {
		rule := "schema"
		if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
			rule = path[0]
		}
		list = append(list, Violation{Pointer: pointer, Message: text, Rule: rule})
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			add(at+"/"+digest.PointerStep(name), "is missing")
		}
		return list
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(at+"/"+digest.PointerStep(name), unknown(name))
		}
		return list
	case *kind.AnyOf, *kind.OneOf:
		add(at, "fits none, or more than one, of the allowed forms")
		return list
	}
	if len(e.Causes) == 0 {
		add(at, inWords(e.ErrorKind))
	}
	for _, cause := range e.Causes {
		list = appendViolations(list, cause, unknown)
	}
	return list
}

// inWords returns what is wrong, without the value.
func inWords(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ") + ", not " + k.Got
	case *kind.Pattern:
		return Form(k.Want)
	case *kind.Format:
		return "is not a time: write 2024-01-31T12:00:00Z, 2024-01-31T12:00:00 (UTC) or 2024-01-31"
	case *kind.MaxItems:
		return fmt.Sprintf("has too many items, at most %d are allowed", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items, at least %d are needed", k.Got, k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.MinLength:
		return "must have at least " + characters(k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %s, at most %d are allowed", characters(k.Got), k.Want)
	case *kind.Enum:
		list := make([]string, len(k.Want))
		for i, v := range k.Want {
			if list[i] = "null"; v != nil {
				list[i] = fmt.Sprint(v)
			}
		}
		return "must be one of " + strings.Join(list, ", ")
	case *kind.Const:
		return fmt.Sprintf("must be %v", k.Want)
	case *kind.ExclusiveMinimum:
		return "must be greater than " + number(k.Want.Float64())
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want.Float64())
	case *kind.Minimum:
		return "must be at least " + number(k.Want.Float64())
	case *kind.Maximum:
		return "must be at most " + number(k.Want.Float64())
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want.Float64())
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}

// number writes a bound without the groups of digits that the library's own words have.
func number(f float64, _ bool) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return fmt.Sprintf("%d characters", n)
}
