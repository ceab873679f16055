package design

import (
	"encoding/json"
	"maps"
	"slices"
)

// searched is what the schema of a parameter says to a search. Numbers stay text, so that
// they reach a space as they were written.
type searched struct {
	Type       string      `json:"type"`
	AboveLow   json.Number `json:"exclusiveMinimum"`
	BelowUpper json.Number `json:"exclusiveMaximum"`
	Search     *struct {
		Low     json.Number       `json:"low"`
		High    json.Number       `json:"high"`
		Step    json.Number       `json:"step"`
		Log     bool              `json:"log"`
		Choices []json.RawMessage `json:"choices"`
	} `json:"x-search"`
}

// SpaceOf is the space that a strategy's own schema offers: each parameter with x-search. A
// number whose end is an exclusive bound is left out, because the end itself would be tried.
func SpaceOf(schema json.RawMessage) (Space, error) {
	var known struct {
		Properties map[string]searched `json:"properties"`
	}
	if err := json.Unmarshal(schema, &known); err != nil {
		return Space{}, err
	}
	object := map[string]map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(known.Properties)) {
		p := known.Properties[name]
		if p.Search == nil {
			continue
		}
		if len(p.Search.Choices) > 0 {
			object[name] = map[string]any{"type": Choice, "values": p.Search.Choices}
			continue
		}
		bounded := p.Search.Low != "" && p.Search.High != ""
		if !bounded || p.Search.Low == p.AboveLow || p.Search.High == p.BelowUpper {
			continue
		}
		one := map[string]any{"type": Float, "low": p.Search.Low, "high": p.Search.High}
		if p.Search.Step != "" {
			one["step"] = p.Search.Step
		}
		if p.Type == "integer" {
			one["type"] = Int
		} else if p.Search.Log {
			one["log"] = true
		}
		object[name] = one
	}
	text, err := json.Marshal(object)
	if err != nil {
		return Space{}, err
	}
	return DecodeSpace(text)
}
