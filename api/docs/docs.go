// Package docs is the documentation that the service shows about itself: the API
// reference at /docs, made from the OpenAPI document, and plain pages about error codes,
// stream events, deprecations and licences.
//
// Every page is made once, when it is first asked for, from what it documents: the OpenAPI
// document, problem.Table, the failed-run codes in assets/reasons.json, the events of the
// stream, the deprecation registry and the lists under licenses, which scripts/licenses.sh
// writes.
//
// The guides below /docs/guide are the Markdown files of the folder docs, rendered by goldmark.
//
// Nothing on any page is loaded from another host. /docs runs a script, with which its requests can
// be tried, and /docs/guide one that searches.
package docs

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"

	v1 "github.com/assay-run/assay/api/v1"
	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/base/edge"
)

//go:embed assets licenses
var files embed.FS

// policy is the Content-Security-Policy of every page and asset below /docs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Options are what the pages show.
type Options struct {
	// OpenAPI is the document of the reference, that of the service if nil.
	OpenAPI []byte
	// Errors are the codes of refused requests, problem.Table if nil.
	Errors []problem.Entry
	// Reasons are the codes of failed runs, those of this package if nil.
	Reasons []Reason
	// Events are the messages of the status stream, in the order of the page:
	// stream.Events. Nil leaves the tables out.
	Events []stream.EventDoc
	// Deprecations is the registry; nil is an empty one.
	Deprecations view.Deprecations
	// Parts are vendored parts of other packages, such as those of the dashboard.
	Parts []Part
}

// New returns every page and asset. An error means that an embedded list is broken.
func New(o Options) ([]edge.Route, error) {
	if o.OpenAPI == nil {
		o.OpenAPI = v1.OpenAPI()
	} else if !json.Valid(o.OpenAPI) {
		return nil, errors.New("docs: openapi: the document is not JSON")
	}
	if o.Errors == nil {
		o.Errors = problem.Table()
	}
	if o.Reasons == nil {
		o.Reasons = Reasons()
	}
	routes, err := pagesOf(o)
	if err != nil {
		return nil, err
	}
	get := func(path string, h http.Handler) {
		routes = append(routes, edge.Route{Method: http.MethodGet, Path: path, Handler: h})
	}
	for _, a := range []struct{ path, file, contentType string }{
		{"/docs/init.js", "assets/init.js", "text/javascript; charset=utf-8"},
		{"/docs/search.js", "assets/search.js", "text/javascript; charset=utf-8"},
		{"/docs/style.css", "assets/style.css", "text/css; charset=utf-8"},
	} {
		data, err := files.ReadFile(a.file)
		if err != nil {
			return nil, err
		}
		get(a.path, edge.NewAsset(data, header(a.contentType)))
	}
	return routes, nil
}

func header(contentType string) http.Header {
	return http.Header{"Content-Type": {contentType}, "Content-Security-Policy": {policy}}
}

// layout is what the page around a template shows; Content is for the page's own template.
type layout struct {
	Path, Title string
	Content     any
}

// page is the template of a page, where it is, and what it shows once somebody asks for it.
type page struct {
	path, file string
	show       func() layout
}

// pagesOf returns every page; what the service brings along for them is read when it is asked for,
// but for the lists, whose mistakes are errors here.
func pagesOf(o Options) ([]edge.Route, error) {
	licenses, err := licensesView(o.Parts)
	if err != nil {
		return nil, err
	}
	names, err := guideNames()
	if err != nil {
		return nil, err
	}
	all := sync.OnceValue(func() []guide { return must(readGuides(names)) })
	fixed := func(path, file, title string, content func() any) page {
		return page{path, file, func() layout { return layout{path, title, content()} }}
	}
	pages := []page{
		fixed("/docs", "reference.html", "API reference",
			func() any { return must(referenceView(o.OpenAPI)) }),
		fixed("/docs/errors", "errors.html", "Errors", func() any { return errorsView(o) }),
		fixed("/docs/events", "events.html", "Stream events", func() any { return eventsView(o.Events) }),
		fixed("/docs/deprecations", "deprecations.html", "Deprecations",
			func() any { return o.Deprecations }),
		fixed("/docs/licenses", "licenses.html", "Licences", func() any { return licenses }),
		fixed(guidePath, "guides.html", "Guides", func() any { return all() }),
	}
	for i, name := range names {
		path := guidePath + "/" + name.page
		pages = append(pages, page{path, "guide.html", func() layout {
			g := all()[i]
			return layout{path, g.Title, g}
		}})
	}
	index := func() []byte { return must(guideIndex(all())) }
	out := []edge.Route{{Method: http.MethodGet, Path: guidePath + ".json",
		Handler: edge.NewMadeAsset(index, header("application/json"))}}
	for _, p := range pages {
		html := func() []byte { return must(render(p.file, p.show())) }
		out = append(out, edge.Route{Method: http.MethodGet, Path: p.path,
			Handler: edge.NewMadeAsset(html, header("text/html; charset=utf-8"))})
	}
	return out, nil
}

// must returns v, which is made of what is part of the program: a mistake is one of the program.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func render(file string, v layout) ([]byte, error) {
	t, err := template.ParseFS(files, "assets/layout.html", "assets/"+file)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if err = t.Execute(&buf, v); err != nil {
		return nil, fmt.Errorf("docs: %s: %w", file, err)
	}
	return buf.Bytes(), nil
}

// statusGroup is the codes of one HTTP status.
type statusGroup struct {
	Status  int
	Text    string
	Entries []problem.Entry
}

type errorsPage struct {
	Groups  []statusGroup
	Reasons []Reason
}

func errorsView(o Options) errorsPage {
	v := errorsPage{Reasons: o.Reasons}
	for _, e := range o.Errors {
		at := slices.IndexFunc(v.Groups, func(g statusGroup) bool { return g.Status == e.Status })
		if at < 0 {
			at = len(v.Groups)
			v.Groups = append(v.Groups, statusGroup{Status: e.Status, Text: http.StatusText(e.Status)})
		}
		v.Groups[at].Entries = append(v.Groups[at].Entries, e)
	}
	slices.SortStableFunc(v.Groups, func(a, b statusGroup) int { return a.Status - b.Status })
	return v
}

type eventsPage struct {
	Plain, Server, Client []stream.EventDoc
}

func eventsView(events []stream.EventDoc) eventsPage {
	var v eventsPage
	for _, e := range events {
		switch {
		case e.Direction == stream.FromClient:
			v.Client = append(v.Client, e)
		case e.Clients == "plain":
			v.Plain = append(v.Plain, e)
		default:
			v.Server = append(v.Server, e)
		}
	}
	return v
}

type licensesPage struct {
	Groups []licenseGroup
	Texts  []licenseText
}

func licensesView(extra []Part) (licensesPage, error) {
	modules, err := GoModules()
	if err != nil {
		return licensesPage{}, err
	}
	v := licensesPage{Groups: []licenseGroup{
		group("go", "Go",
			"Assay itself, the Go library and the modules linked into its programs. The source of each "+
				"module, "+
				"those under MPL-2.0 included, is published unmodified under its name.", modules),
	}}
	if len(extra) > 0 {
		v.Groups = append(v.Groups,
			group("parts", "Further parts",
				"Libraries inside the script of the dashboard, and data that the service brings along.",
				extra))
	}
	v.Texts = numberTexts(v.Groups)
	return v, nil
}

// Part is a piece of software of others inside the program.
type Part struct {
	Name, Version string
	// License is an SPDX identifier.
	License string
	// Texts are the licence texts and notices.
	Texts []string
}

// GoModules are this program, the Go library and every Go module linked with it.
func GoModules() ([]Part, error) { return readParts(files, "licenses/go.tsv") }

// readParts reads a list: name, version, licence and the names of texts.
func readParts(from fs.FS, path string) ([]Part, error) {
	data, err := fs.ReadFile(from, path)
	if err != nil {
		return nil, err
	}
	var parts []Part
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		cell := strings.Split(line, "\t")
		if len(cell) != 4 || cell[0] == "" || cell[2] == "" || strings.TrimSpace(cell[3]) == "" {
			return nil, fmt.Errorf("docs: %s:%d: want name, version, licence and texts", path, i+1)
		}
		p := Part{Name: cell[0], Version: cell[1], License: cell[2]}
		for _, name := range strings.Fields(cell[3]) {
			text, err := fs.ReadFile(from, "licenses/texts/"+name+".txt")
			if err != nil {
				return nil, fmt.Errorf("docs: %s:%d: %w", path, i+1, err)
			}
			p.Texts = append(p.Texts, string(text))
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// licenseGroup is a table of the page; licenseRow refers to texts by number.
type licenseGroup struct {
	ID, Title, Note string
	Rows            []licenseRow
}

type licenseRow struct {
	Part
	Refs []int
}

type licenseText struct {
	Number int
	Text   string
	Of     []string
}

// numberTexts gives every different text one number, counted from 1.
func numberTexts(groups []licenseGroup) []licenseText {
	var texts []licenseText
	for g := range groups {
		for r := range groups[g].Rows {
			row := &groups[g].Rows[r]
			for _, text := range row.Texts {
				at := slices.IndexFunc(texts, func(t licenseText) bool { return t.Text == text })
				if at < 0 {
					at = len(texts)
					texts = append(texts, licenseText{Number: at + 1, Text: text})
				}
				texts[at].Of = append(texts[at].Of, row.Name)
				row.Refs = append(row.Refs, at+1)
			}
		}
	}
	return texts
}

func group(id, title, note string, parts []Part) licenseGroup {
	g := licenseGroup{ID: id, Title: title, Note: note}
	for _, p := range parts {
		g.Rows = append(g.Rows, licenseRow{Part: p})
	}
	return g
}

// Reason is why a run failed: error_details.code, what it means and what to do.
type Reason struct {
	Code    string   `json:"code"`
	Meaning string   `json:"meaning"`
	Advice  string   `json:"advice"`
	Data    []string `json:"data"`  // members of error_details.data
	Kinds   []Kind   `json:"kinds"` // values of error_details.data.reason, if it is one of a few
}

// Kind is one value of error_details.data.reason.
type Kind struct {
	Value   string `json:"value"`
	Meaning string `json:"meaning"`
}

// Anchor returns the fragment of the code on /docs/errors. It differs from that of a
// refused request with the same code.
func (r Reason) Anchor() string {
	return "run-" + strings.ToLower(strings.ReplaceAll(r.Code, "_", "-"))
}

// Reasons are the codes of failed runs, as assets/reasons.json lists them.
func Reasons() []Reason {
	var list []Reason
	text, err := files.ReadFile("assets/reasons.json")
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return must(list, err) // the text is tested
}
