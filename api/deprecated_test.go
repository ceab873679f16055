package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
)

func TestDeprecatedRoutes(t *testing.T) {
	registry, err := view.ParseDeprecations([]byte(`[
	 {"id":"a","kind":"endpoint","method":"GET","path":"/old","field":null,"announced_at":"2020-01-01","deprecated_at":"2020-02-01","sunset_at":"2999-01-01","replacement":{"method":"GET","path":"/new"},"message":"Use /new."},
	 {"id":"b","kind":"endpoint","method":"POST","path":"/api/v1/gone","field":null,"announced_at":"2020-01-01","deprecated_at":"2020-02-01","sunset_at":"2021-01-01","replacement":null,"message":"It is gone."}]`))
	if err != nil {
		t.Fatal(err)
	}
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	s := apitest.Start(t, apitest.Options{Deprecations: registry, Routes: []edge.Route{
		{Method: "GET", Path: "/old", Handler: ok}, {Method: "POST", Path: "/api/v1/gone", Handler: ok},
	}})
	old := s.Do(t, "GET", "/old", "")
	if old.StatusCode != 200 || !strings.HasPrefix(old.Header.Get("Deprecation"), "@") ||
		old.Header.Get(
			"Link") != `</docs/deprecations#a>; rel="deprecation", </new>; rel="successor-version"` {
		t.Errorf("old: %d %v", old.StatusCode, old.Header)
	}
	gone := s.Do(t, "POST", "/api/v1/gone", "")
	if gone.StatusCode != 410 || gone.Code() != "ENDPOINT_REMOVED" || gone.Header.Get("Sunset") == "" ||
		!strings.Contains(string(gone.Body), "It is gone.") {
		t.Errorf("gone: %d %s", gone.StatusCode, gone.Body)
	}
	refused := s.Do(t, "POST", "/api/v1/gone", "", "Sec-Fetch-Site: cross-site")
	if refused.StatusCode != 403 || refused.Header.Get("Deprecation") == "" {
		t.Errorf("an error without the headers: %d", refused.StatusCode)
	}
	if list := s.Do(t, "GET", "/api/v1/meta", "").JSON(t)["deprecations"].([]any); len(list) != 2 {
		t.Errorf("%v", list)
	}
}
