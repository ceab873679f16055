package design

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/assay-run/assay/host/base/digest"
)

// Kind says what values a parameter takes.
type Kind string

// The kinds.
const (
	Int    Kind = "int"
	Float  Kind = "float"
	Choice Kind = "choice"
	Bool   Kind = "bool"
)

// Parameter is one dimension of a space, made by decoding.
type Parameter struct {
	Name string
	Kind Kind
	// Low and High are the inclusive ends of an int or a float. Step is the distance
	// between values from Low up: at least 1 for an int, 0 for a float without steps.
	Low, High, Step float64
	// Log spreads a float evenly over its logarithm.
	Log bool
	// Values are those of a choice, as canonical JSON.
	Values []json.RawMessage

	// steps are the values of a parameter that has finitely many.
	steps lattice
}

// Space is the parameters of a search, sorted by name. The zero value has none.
type Space struct{ parameters []Parameter }

// Parameters are the dimensions in the order of the coordinates of a point.
func (s Space) Parameters() []Parameter { return slices.Clone(s.parameters) }

// Len is the number of dimensions.
func (s Space) Len() int { return len(s.parameters) }

// Find is the parameter of a name.
func (s Space) Find(name string) (Parameter, bool) {
	if i := s.index(name); i >= 0 {
		return s.parameters[i], true
	}
	return Parameter{}, false
}

func (s Space) index(name string) int {
	return slices.IndexFunc(s.parameters, func(p Parameter) bool { return p.Name == name })
}

// parameterJSON is how a parameter is written. Pointers tell 0 from absent.
type parameterJSON struct {
	Type   Kind              `json:"type"`
	Low    *float64          `json:"low,omitempty"`
	High   *float64          `json:"high,omitempty"`
	Log    bool              `json:"log,omitempty"`
	Step   *float64          `json:"step,omitempty"`
	Values []json.RawMessage `json:"values,omitempty"`
}

// MarshalJSON is the space with every default filled in: equal spaces have equal bytes.
func (s Space) MarshalJSON() ([]byte, error) {
	object := make(map[string]parameterJSON, len(s.parameters))
	for _, p := range s.parameters {
		out := parameterJSON{Type: p.Kind, Log: p.Log, Values: p.Values}
		if p.Kind == Int || p.Kind == Float {
			out.Low, out.High = &p.Low, &p.High
		}
		if p.Step != 0 {
			out.Step = &p.Step
		}
		object[p.Name] = out
	}
	return digest.JCS(object)
}

// UnmarshalJSON is DecodeSpace.
func (s *Space) UnmarshalJSON(text []byte) (err error) {
	*s, err = DecodeSpace(text)
	return err
}

// The most that a space may have: more is refused before it costs anything.
const (
	mostParameters = 1000
	mostSpaceBytes = 4 << 20
)

// DecodeSpace reads a space strictly: an object of name to {"type","low",...}. The error
// joins a *FieldError for everything that is wrong.
func DecodeSpace(text []byte) (Space, error) {
	if len(text) > mostSpaceBytes {
		return Space{}, bad("", "has %d bytes, more than %d", len(text), mostSpaceBytes)
	}
	text, err := canonical(text)
	if err != nil {
		return Space{}, err
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil || object == nil {
		return Space{}, bad("", "must be an object of parameters")
	}
	if len(object) > mostParameters {
		return Space{}, bad("", "has %d parameters, more than %d", len(object), mostParameters)
	}
	var s Space
	var faults faultList
	for _, name := range slices.Sorted(maps.Keys(object)) {
		r := reader{at: "/" + Escape(name), faults: &faults}
		if name == "" {
			faults.add(r.at, "a parameter has a name")
		}
		s.parameters = append(s.parameters, r.parameter(name, object[name]))
	}
	if err := faults.err(); err != nil {
		return Space{}, err
	}
	return s, nil
}

// Merge is params with those of point in place of equal names, as canonical JSON.
// Neither may be anything but an object.
func Merge(params, point json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, text := range []json.RawMessage{params, point} {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, err
		}
	}
	return digest.JCS(all)
}
