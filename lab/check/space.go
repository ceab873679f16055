package check

import (
	"encoding/json"
	"fmt"
	"sort"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/lab/evaluate"
)

// checkSpace holds the space of a family against the schema of the parameters: every
// name is one of them and every end of a range would be accepted. It says how many
// parameters there are.
func checkSpace(family json.RawMessage, s *catalog.Strategy) (int, error) {
	if len(family) == 0 {
		return 0, nil
	}
	var f struct {
		Space map[string]json.RawMessage `json:"space"`
	}
	if err := json.Unmarshal(family, &f); err != nil {
		return 0, bad("/family/space", "%v", err)
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(s.ParamsSchema, &schema); err != nil {
		return 0, err
	}
	names := make([]string, 0, len(f.Space))
	for name := range f.Space {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if schema.Properties[name] == nil {
			return 0, bad("/family/space/"+name, "is no parameter of the strategy")
		}
		if err := checkDimension(name, f.Space[name], s); err != nil {
			return 0, err
		}
	}
	return len(names), nil
}

func bad(pointer, format string, args ...any) error {
	return &evaluate.Error{Code: "LAB_JSON_INVALID", Message: pointer + " " + fmt.Sprintf(format, args...), Details: map[string]any{"pointer": pointer}}
}

// checkDimension tries the ends of a range, or every choice, on the schema.
func checkDimension(name string, text json.RawMessage, s *catalog.Strategy) error {
	pointer := "/family/space/" + name
	var d struct {
		Type   string            `json:"type"`
		Low    json.RawMessage   `json:"low"`
		High   json.RawMessage   `json:"high"`
		Values []json.RawMessage `json:"values"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return bad(pointer, "%v", err)
	}
	tried := map[string]json.RawMessage{}
	switch d.Type {
	case "int", "float":
		tried["/low"], tried["/high"] = d.Low, d.High
	case "choice":
		if len(d.Values) == 0 {
			return bad(pointer+"/values", "must name at least one value")
		}
		for i, v := range d.Values {
			tried[fmt.Sprintf("/values/%d", i)] = v
		}
	case "bool":
		tried["/type"] = json.RawMessage("true")
	default:
		return bad(pointer+"/type", "must be int, float, choice or bool")
	}
	places := make([]string, 0, len(tried))
	for place := range tried {
		places = append(places, place)
	}
	sort.Strings(places)
	for _, place := range places {
		value := tried[place]
		if len(value) == 0 {
			return bad(pointer+place, "is missing")
		}
		params, err := json.Marshal(map[string]json.RawMessage{name: value})
		if err != nil {
			return bad(pointer+place, "%v", err)
		}
		if _, faults := s.ValidateParams(params); len(faults) > 0 {
			return bad(pointer+place, "%s", faults[0].Message)
		}
	}
	return nil
}
