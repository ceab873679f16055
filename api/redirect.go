package api

import (
	"net/http"

	"github.com/assay-run/assay/api/web"
)

// Redirects lead people to the dashboard. No other path is ever redirected.
func Redirects() []web.Route {
	toUI := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/ui")
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	return []web.Route{
		{Method: http.MethodGet, Path: "/", Handler: toUI},
		{Method: http.MethodGet, Path: "/ui/", Handler: toUI},
	}
}
