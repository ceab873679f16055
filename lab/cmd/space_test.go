package cmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/lab/cmd"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
)

const paramsSchema = `{"type":"object","additionalProperties":false,"properties":{
	"fast":{"type":"integer","minimum":1,"maximum":500},"risk":{"type":"number","exclusiveMinimum":0,"maximum":0.5},
	"mode":{"type":"string","enum":["close","typical"]},"short":{"type":"boolean"},"a/b":{"type":"integer","multipleOf":4}}}`

// plainValidator knows the schema alone; that of the catalogue gives defaults besides.
type plainValidator struct{ schema *jsonschema.Schema }

func (v plainValidator) ValidateParams(text json.RawMessage) (json.RawMessage, []catalog.FieldError) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = v.schema.Validate(value)
	}
	if err != nil {
		return nil, []catalog.FieldError{{Message: err.Error()}}
	}
	return text, nil
}

func validator(t *testing.T) cmd.Validator {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(paramsSchema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return plainValidator{compiled}
}

func TestSpaceFitsTheSchema(t *testing.T) {
	v := validator(t)
	for space, want := range map[string]string{
		`"fast":{"type":"int","low":1,"high":500}`:                       "",
		`"fast":{"type":"int","low":0,"high":500}`:                       "/family/space/fast/low",
		`"fast":{"type":"int","low":1,"high":501}`:                       "/family/space/fast/high",
		`"fast":{"type":"int","low":1,"high":505,"step":10}`:             "/family/space/fast/high", // 501
		`"fast":{"type":"int","low":1,"high":509,"step":499}`:            "",                        // 1, 500
		`"fast":{"type":"float","low":1,"high":500}`:                     "/family/space/fast/type",
		`"fast":{"type":"float","low":1,"high":500,"step":1}`:            "",
		`"fast":{"type":"bool"}`:                                         "/family/space/fast/type",
		`"fast":{"type":"choice","values":[1,2]}`:                        "",
		`"fast":{"type":"choice","values":[1,2,"3"]}`:                    "/family/space/fast/values/2",
		`"risk":{"type":"float","low":0,"high":0.5}`:                     "/family/space/risk/low",
		`"risk":{"type":"float","low":0.001,"high":0.5,"log":true}`:      "",
		`"mode":{"type":"choice","values":["close","open"]}`:             "/family/space/mode/values/1",
		`"short":{"type":"bool"}`:                                        "",
		`"slow":{"type":"int","low":1,"high":2}`:                         "/family/space/slow",
		`"a/b":{"type":"int","low":4,"high":8,"step":2}`:                 "/family/space/a~1b/type", // 6
		`"a/b":{"type":"int","low":4,"high":40,"step":2}`:                "/family/space/a~1b/type", // 18
		`"a/b":{"type":"int","low":4,"high":40,"step":4}`:                "",
		`"short":{"type":"bool"},"slow":{"type":"int","low":1,"high":2}`: "/family/space/slow",
	} {
		family, err := project.ParseFamily([]byte(`{"space":{` + space + `}}`))
		if err != nil {
			t.Fatal(space, err)
		}
		err = cmd.CheckSpace(family, v, json.RawMessage(paramsSchema))
		var refused *request.Error
		switch {
		case want == "" && err == nil:
		case !errors.As(err, &refused) || refused.Code != "LAB_JSON_INVALID" ||
			refused.Details["pointer"] != want:
			t.Errorf("%s: %v, want %q", space, err, want)
		}
	}
}
