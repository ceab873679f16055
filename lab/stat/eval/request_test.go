package eval

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	req, bad := parse([]byte(`{"inputs":{"b":[1, 2],"a":0},"fn":"caf\u00e9","id":{"x": 1}}`))
	if bad != nil || req.Function != "café" || string(req.ID) != `{"x": 1}` {
		t.Fatalf("%+v %v", req, bad)
	}
	if in := req.Inputs; len(in) != 2 || in[0].name != "b" || in[1].name != "a" || in.find("c") != nil ||
		string(in.find("b")) != "[1, 2]" {
		t.Errorf("%+v", req.Inputs)
	}
	if req, bad := parse([]byte("{\"fn\":\"x\",\"inputs\":{}}\r\n")); bad != nil || req.ID != nil {
		t.Errorf("%+v %v", req, bad)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		text    string
		code    Code
		pointer string
		id      string
	}{
		{``, InvalidJSON, "", ""},
		{`   `, InvalidJSON, "", ""},
		{`{`, InvalidJSON, "", ""},
		{`[1]`, InvalidJSON, "", ""},
		{`"x"`, InvalidJSON, "", ""},
		{`{"fn":"x","inputs":{}} {}`, InvalidJSON, "", ""},
		{`{"fn":"x","inputs":{}}x`, InvalidJSON, "", ""},
		{`{"fn":"x","fn":"y","inputs":{}}`, InvalidJSON, "/fn", ""},
		{`{"fn":"x","inputs":{"a":1,"a":1}}`, InvalidJSON, "/inputs/a", ""},
		{`{"fn":"x","inputs":{"a":{"b":1,"b":2}}}`, InvalidJSON, "/inputs/a/b", ""},
		{`{"fn":"x","inputs":{"a":NaN}}`, InvalidJSON, "/inputs/a", ""},
		{`{"fn":"x","inputs":{"a":[1,]}}`, InvalidJSON, "", ""},
		{`{"fn":"x","inputs":{"a":01}}`, InvalidJSON, "", ""},
		{"{\"fn\":\"\xff\",\"inputs\":{}}", InvalidJSON, "/fn", ""},
		{`{"id":1,"inputs":{}}`, MissingInput, "/fn", "1"},
		{`{"id":"q","fn":"x"}`, MissingInput, "/inputs", `"q"`},
		{`{"id":[1],"fn":7,"inputs":{}}`, InvalidArgument, "/fn", "[1]"},
		{`{"fn":"x","inputs":[]}`, InvalidArgument, "/inputs", ""},
		{`{"fn":"x","inputs":null}`, InvalidArgument, "/inputs", ""},
		{`{"fn":"x","inputs":{},"a/b":1}`, UnknownInput, "/a~1b", ""},
		{strings.Repeat(`[`, 20000), InvalidJSON, "", ""},
	} {
		req, bad := parse([]byte(c.text))
		if bad == nil || bad.Code != c.code || bad.Message == "" || c.pointer != "" &&
			bad.Pointer != c.pointer {
			t.Errorf("%.60s: %+v", c.text, bad)
			continue
		}
		if id := ""; req != nil {
			if id = string(req.ID); id != c.id {
				t.Errorf("%s: id %s", c.text, id)
			}
		} else if c.id != "" {
			t.Errorf("%s: the id is lost", c.text)
		}
	}
}
