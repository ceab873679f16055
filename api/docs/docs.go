// Package docs is the documentation that the service shows about itself: the API
// reference at /docs, made in the browser from /openapi.json, and plain pages about
// error codes, stream events, deprecations and licences.
//
// The reference is Scalar, vendored as scalar.js.gz and described by
// third_party.json; assets/init.js starts it. The plain pages are made once, when
// the service starts, from the tables they document: problem.Table, the failed-run
// codes in assets/reasons.json, the events of the stream, the deprecation registry and the
// lists under licenses. Those lists and the vendored file are written by
// scripts/licenses.sh and scripts/scalar.sh.
//
// Nothing on any page is loaded from another host, and only /docs runs a script.
package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
)

//go:embed assets licenses scalar.js.gz third_party.json
var files embed.FS

// policy is the Content-Security-Policy of every page and asset below /docs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Options are what the pages show.
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
	Deprecations *view.Deprecations
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

// packed is a file that is kept compressed. A client that takes gzip gets the
// stored bytes; for any other they are unpacked on the way.
type packed struct {
	zipped []byte
	size   int64
	tag    string
	header http.Header
}

func newPacked(zipped []byte, header http.Header) (*packed, error) {
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, fmt.Errorf("docs: unpack: %w", err)
	}
	sum := sha256.New()
	size, err := io.Copy(sum, z)
	if err != nil {
		return nil, fmt.Errorf("docs: unpack: %w", err)
	}
	return &packed{zipped: zipped, size: size, tag: hex.EncodeToString(sum.Sum(nil)[:16]), header: header}, nil
}

// ServeHTTP implements http.Handler.
func (p *packed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for k, v := range p.header {
		h[k] = v
	}
	zip := edge.AcceptsGzip(r.Header)
	tag, size := p.tag, p.size
	if zip {
		tag, size = tag+"-gzip", int64(len(p.zipped))
	}
	h.Set("ETag", `"`+tag+`"`)
	h.Set("Cache-Control", "no-cache")
	if edge.MatchesTag(r.Header, p.tag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if zip {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	w.WriteHeader(http.StatusOK)
	switch {
	case r.Method == http.MethodHead:
	case zip:
		_, _ = w.Write(p.zipped) // the client is gone
	default:
		z, err := gzip.NewReader(bytes.NewReader(p.zipped))
		if err == nil { // newPacked has read it once
			_, _ = io.Copy(w, z)
		}
	}
}
