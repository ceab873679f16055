package docs

import (
	"embed"
	"net/http"

	"github.com/assay-run/assay/api/v1/deprecation"
	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/host/base/edge"
)

//go:embed assets licenses scalar.js.gz third_party.json
var files embed.FS

// policy is the Content-Security-Policy of every page and asset below /docs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Options are what the pages tell about.
type Options struct {
	// Spec is the OpenAPI document. If set it is served as /openapi.json and
	// /api/v1/openapi.json; leave it nil where other routes serve it.
	Spec []byte
	// Errors are the codes of refused requests, problem.Table if nil.
	Errors []problem.Entry
	// Reasons are the codes of failed runs, those of this package if nil.
	Reasons []Reason
	// Events are the messages of the status stream, in the order of the page:
	// stream.Events. Nil leaves the tables out.
	Events []stream.EventDoc
	// Deprecations is the registry; nil is an empty one.
	Deprecations *deprecation.Registry
	// Parts are vendored parts of other packages, such as those of the dashboard.
	Parts []Part
}

// Docs is the set of pages and assets.
type Docs struct {
	routes []edge.Route
}

// New makes every page. An error means that an embedded list is broken.
func New(o Options) (*Docs, error) {
	if o.Errors == nil {
		o.Errors = problem.Table()
	}
	if o.Reasons == nil {
		o.Reasons = Reasons()
	}
	d := &Docs{}
	pages, err := renderPages(o)
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		d.get(p.path, edge.NewAsset(p.html, header("text/html; charset=utf-8")))
	}
	for _, a := range []struct{ path, file, contentType string }{
		{"/docs/init.js", "assets/init.js", "text/javascript; charset=utf-8"},
		{"/docs/style.css", "assets/style.css", "text/css; charset=utf-8"},
	} {
		data, err := files.ReadFile(a.file)
		if err != nil {
			return nil, err
		}
		d.get(a.path, edge.NewAsset(data, header(a.contentType)))
	}
	bundle, err := files.ReadFile("scalar.js.gz")
	if err != nil {
		return nil, err
	}
	scalar, err := newPacked(bundle, header("text/javascript; charset=utf-8"))
	if err != nil {
		return nil, err
	}
	d.get("/docs/scalar.js", scalar)
	if o.Spec != nil {
		spec := edge.NewAsset(o.Spec, http.Header{"Content-Type": {"application/json"}})
		d.get("/openapi.json", spec)
		d.get("/api/v1/openapi.json", spec)
	}
	return d, nil
}

// Routes are the pages and assets with their paths.
func (d *Docs) Routes() []edge.Route { return append([]edge.Route(nil), d.routes...) }

func (d *Docs) get(path string, h http.Handler) {
	d.routes = append(d.routes, edge.Route{Method: http.MethodGet, Path: path, Handler: h})
}

func header(contentType string) http.Header {
	return http.Header{"Content-Type": {contentType}, "Content-Security-Policy": {policy}}
}
