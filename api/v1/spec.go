package v1

import (
	_ "embed"
	"net/http"

	"github.com/assay-run/assay/api/v1/deprecation"
	"github.com/assay-run/assay/api/v1/schema"
	"github.com/assay-run/assay/host/base/edge"
)

//go:embed openapi.json
var openAPI []byte

//go:embed deprecations.json
var deprecations []byte

// OpenAPI is the document that describes this API.
func OpenAPI() []byte { return append([]byte(nil), openAPI...) }

// Deprecations is the registry of what is going away.
func Deprecations() (*deprecation.Registry, error) { return deprecation.Parse(deprecations) }

func documentRoutes() []edge.Route {
	asset := edge.NewAsset(openAPI, http.Header{"Content-Type": {"application/json"}})
	return []edge.Route{
		{Method: http.MethodGet, Path: "/openapi.json", Handler: asset},
		{Method: http.MethodGet, Path: Base + "/openapi.json", Handler: asset},
	}
}

// requestSchemas are the schemas that bodies are checked against.
type requestSchemas struct{ backtest, live, control, empty *schema.Schema }

func compileRequests() (requestSchemas, error) {
	var s requestSchemas
	doc, err := schema.Parse(openAPI)
	if err != nil {
		return s, err
	}
	for name, into := range map[string]**schema.Schema{"BacktestRequest": &s.backtest, "LiveRequest": &s.live, "ControlRequest": &s.control, "Empty": &s.empty} {
		if *into, err = doc.Compile("/components/schemas/" + name); err != nil {
			return s, err
		}
	}
	return s, nil
}
