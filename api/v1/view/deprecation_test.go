package view

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const entry = `{"id":"2026-09-old","kind":"endpoint","method":"GET","path":"/api/v1/old","field":null,"announced_at":"2026-09-01T00:00:00Z",
 "deprecated_at":"2027-01-01T00:00:00Z","sunset_at":"2027-06-30T23:59:59Z","replacement":{"method":"GET","path":"/api/v1/status"},"message":"Use /status."}`

func TestHeaders(t *testing.T) {
	r, err := ParseDeprecations([]byte("[" + entry + "]"))
	if err != nil {
		t.Fatal(err)
	}
	e := r.Endpoint("GET", "/api/v1/old")
	if e == nil || r.Endpoint("POST", "/api/v1/old") != nil {
		t.Fatal("the endpoint is not found by method and path")
	}
	h := http.Header{}
	e.SetHeaders(h)
	for name, want := range map[string]string{
		"Deprecation": "@1798761600", "Sunset": "Wed, 30 Jun 2027 23:59:59 GMT",
		"Link": `</docs/deprecations#2026-09-old>; rel="deprecation", </api/v1/status>; rel="successor-version"`,
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if e.NoticeDays != 302 || e.Documentation != "/docs/deprecations#2026-09-old" {
		t.Errorf("%+v", e)
	}
	if e.Gone(time.Date(2027, 6, 30, 23, 59, 58, 0, time.UTC)) ||
		!e.Gone(time.Date(2027, 6, 30, 23, 59, 59, 0, time.UTC)) {
		t.Error("sunset")
	}
}

func TestRefusals(t *testing.T) {
	for change, want := range map[string]string{
		`"2027-06-30T23:59:59Z"=>"2026-11-29T23:59:59Z"`: "90 days",
		`"2027-01-01T00:00:00Z"=>"2027-07-01T00:00:00Z"`: "before deprecated_at",
		`"endpoint"=>"page"`:                             "kind",
		`"field":null=>"field":"/x"`:                     "field belongs",
		`"2026-09-old"=>""`:                              "id is missing",
		`"GET","path":"/api/v1/old"=>"","path":""`:       "method and path",
		`"message"=>"note"`:                              "unknown field",
		`"2026-09-01T00:00:00Z"=>null`:                   "required",
	} {
		from, to, _ := strings.Cut(change, "=>")
		if _, err := ParseDeprecations([]byte("[" + strings.Replace(entry, from, to, 1) + "]")); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
	if _, err := ParseDeprecations([]byte("[" + entry + "," + entry + "]")); err == nil ||
		!strings.Contains(err.Error(), "twice") {
		t.Errorf("twice: %v", err)
	}
	if r, err := ParseDeprecations([]byte("[]")); err != nil || r == nil || len(r) != 0 {
		t.Errorf("%v %v", r, err)
	}
}
