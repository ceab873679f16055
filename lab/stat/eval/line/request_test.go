package line_test

import (
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/stat/eval/line"
)

func TestParse(t *testing.T) {
	req, bad := line.Parse([]byte(`{"inputs":{"b":[1, 2],"a":0},"fn":"caf\u00e9","id":{"x": 1}}`))
	if bad != nil || req.Function != "café" || string(req.ID) != `{"x": 1}` {
		t.Fatalf("%+v %v", req, bad)
	}
	if names := strings.Join(req.Inputs.Names(), " "); names != "b a" {
		t.Error(names)
	}
	if !req.Inputs.Has("a") || req.Inputs.Has("c") || string(req.Inputs.Raw("b")) != "[1, 2]" {
		t.Errorf("%+v", req.Inputs)
	}
	if req, bad := line.Parse([]byte("{\"fn\":\"x\",\"inputs\":{}}\r\n")); bad != nil || req.ID != nil {
		t.Errorf("%+v %v", req, bad)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		text    string
		code    line.Code
		pointer string
		id      string
	}{
		{``, line.InvalidJSON, "", ""},
		{`   `, line.InvalidJSON, "", ""},
		{`{`, line.InvalidJSON, "", ""},
		{`[1]`, line.InvalidJSON, "", ""},
		{`"x"`, line.InvalidJSON, "", ""},
		{`{"fn":"x","inputs":{}} {}`, line.InvalidJSON, "", ""},
		{`{"fn":"x","inputs":{}}x`, line.InvalidJSON, "", ""},
		{`{"fn":"x","fn":"y","inputs":{}}`, line.InvalidJSON, "/fn", ""},
		{`{"fn":"x","inputs":{"a":1,"a":1}}`, line.InvalidJSON, "/inputs/a", ""},
		{`{"fn":"x","inputs":{"a":{"b":1,"b":2}}}`, line.InvalidJSON, "/inputs/a/b", ""},
		{`{"fn":"x","inputs":{"a":NaN}}`, line.InvalidJSON, "/inputs/a", ""},
		{`{"fn":"x","inputs":{"a":[1,]}}`, line.InvalidJSON, "", ""},
		{`{"fn":"x","inputs":{"a":01}}`, line.InvalidJSON, "", ""},
		{"{\"fn\":\"\xff\",\"inputs\":{}}", line.InvalidJSON, "/fn", ""},
		{`{"id":1,"inputs":{}}`, line.MissingInput, "/fn", "1"},
		{`{"id":"q","fn":"x"}`, line.MissingInput, "/inputs", `"q"`},
		{`{"id":[1],"fn":7,"inputs":{}}`, line.InvalidArgument, "/fn", "[1]"},
		{`{"fn":"x","inputs":[]}`, line.InvalidArgument, "/inputs", ""},
		{`{"fn":"x","inputs":null}`, line.InvalidArgument, "/inputs", ""},
		{`{"fn":"x","inputs":{},"a/b":1}`, line.UnknownInput, "/a~1b", ""},
		{strings.Repeat(`[`, 20000), line.InvalidJSON, "", ""},
	} {
		req, bad := line.Parse([]byte(c.text))
		if bad == nil || bad.Code != c.code || bad.Message == "" || c.pointer != "" && bad.Pointer != c.pointer {
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
