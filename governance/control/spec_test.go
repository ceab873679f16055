package control

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestSpecHasEveryRoute: the OpenAPI document has the routes of the edge and no others, with
// the parameters of their paths.
func TestSpecHasEveryRoute(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Parameters  []struct {
				Ref string `json:"$ref"`
			}
			Responses map[string]any
		}
		Components struct{ Parameters map[string]any }
	}
	if err := json.Unmarshal(spec, &doc); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, r := range New(Options{}).routes(nil) {
		want = append(want, r.Method+" "+r.Path)
		op, ok := doc.Paths[r.Path][map[string]string{"GET": "get", "POST": "post"}[r.Method]]
		if !ok {
			continue // told below
		}
		var named []string
		for _, p := range op.Parameters {
			if p.Ref != "" {
				named = append(named, "{"+p.Ref[len("#/components/parameters/"):]+"}")
			}
		}
		var segments []string
		for _, s := range strings.Split(r.Path[1:], "/") {
			if s[0] == '{' {
				segments = append(segments, s)
			}
		}
		if !slices.Equal(named, segments) || op.OperationID == "" || op.Responses["200"] == nil ||
			op.Responses["default"] == nil {
			t.Errorf("%s has the parameters %v in the document: %+v", r.Path, named, op)
		}
	}
	for path, methods := range doc.Paths {
		for method := range maps.Keys(methods) {
			got = append(got, map[string]string{"get": "GET", "post": "POST"}[method]+" "+path)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the document has %q\nthe edge %q", got, want)
	}
}
