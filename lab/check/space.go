package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/hint"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/lab/design"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/project"
)

// Validator knows what parameters a strategy takes.
type Validator interface {
	// ValidateParams gives the parameters with every default, or what is wrong with them.
	ValidateParams(json.RawMessage) (json.RawMessage, []catalog.FieldError)
}

// Space holds the space of a family against the JSON Schema of the parameters: every
// name is one of them, and each end of a range, a value between and every choice would be
// accepted. The error is an *evaluate.Error, LAB_JSON_INVALID.
func Space(family *project.Family, v Validator, schema json.RawMessage) error {
	var known struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &known); err != nil {
		return err
	}
	for _, p := range family.Space.Parameters() {
		place := "/family/space/" + design.Escape(p.Name)
		if known.Properties[p.Name] == nil {
			return bad(place, "is not a parameter of this strategy: %s", hint.Names(p.Name, slices.Sorted(maps.Keys(known.Properties))))
		}
		for _, probe := range probes(p) {
			params, err := digest.JCS(map[string]any{p.Name: probe.value})
			if err != nil {
				return err
			}
			if _, faults := v.ValidateParams(params); len(faults) > 0 {
				return bad(place+probe.at, "%s", faults[0].Message)
			}
		}
	}
	return nil
}

// probe is a value of a parameter, and the place that is to blame if it is refused.
type probe struct {
	at    string
	value any
}

// between is where a value lies that is neither round nor near an end.
const between = 0.381966

func probes(p design.Parameter) []probe {
	switch p.Kind {
	case design.Choice:
		var list []probe
		for i, v := range p.Values {
			list = append(list, probe{fmt.Sprintf("/values/%d", i), v})
		}
		return list
	case design.Bool:
		return []probe{{"/type", true}, {"/type", false}}
	}
	return []probe{{"/low", p.Low}, {"/high", p.At(1 - 0x1p-53)}, {"/type", p.At(between)}}
}

func bad(pointer, format string, args ...any) error {
	return &evaluate.Error{Code: "LAB_JSON_INVALID", Message: pointer + " " + fmt.Sprintf(format, args...), Details: map[string]any{"pointer": pointer}}
}
