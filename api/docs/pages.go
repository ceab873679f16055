package docs

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"slices"

	"github.com/assay-run/assay/api/v1/problem"
	"github.com/assay-run/assay/api/v1/stream"
)

type page struct {
	path string
	html []byte
}

// layout is what the page around a template shows; Content is for the page's own template.
type layout struct {
	Path, Title string
	Content     any
}

// renderPages makes every page from the tables that it documents.
func renderPages(o Options) ([]page, error) {
	licenses, err := licensesView(o.Parts)
	if err != nil {
		return nil, err
	}
	var out []page
	for _, p := range []struct {
		file string
		layout
	}{
		{"reference.html", layout{"/docs", "API reference", nil}},
		{"errors.html", layout{"/docs/errors", "Errors", errorsView(o)}},
		{"events.html", layout{"/docs/events", "Stream events", eventsView(o.Events)}},
		{"deprecations.html", layout{"/docs/deprecations", "Deprecations", o.Deprecations.Entries()}},
		{"licenses.html", layout{"/docs/licenses", "Licences", licenses}},
	} {
		html, err := render(p.file, p.layout)
		if err != nil {
			return nil, fmt.Errorf("docs: %s: %w", p.file, err)
		}
		out = append(out, page{p.Path, html})
	}
	return out, nil
}

func render(file string, v layout) ([]byte, error) {
	t, err := template.ParseFS(files, "assets/layout.html", "assets/"+file)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if err := t.Execute(&buf, v); err != nil {
		return nil, err
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
	packages, err := Packages()
	if err != nil {
		return licensesPage{}, err
	}
	vendored, err := Vendored()
	if err != nil {
		return licensesPage{}, err
	}
	v := licensesPage{Groups: []licenseGroup{
		group("go", "Go", "Assay itself, the Go library and the modules linked into its programs. The source of each module, "+
			"those under MPL-2.0 included, is published unmodified under its name.", modules),
		group("npm", "API reference", fmt.Sprintf("The page /docs runs %s %s, one file of %s, and the npm packages inside it.",
			vendored.Name, vendored.Version, vendored.Source), packages),
	}}
	if len(extra) > 0 {
		v.Groups = append(v.Groups, group("parts", "Further parts", "Libraries inside the script of the dashboard, and data that the service brings along.", extra))
	}
	v.Texts = numberTexts(v.Groups)
	return v, nil
}
