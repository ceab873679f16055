// Package ui serves the dashboard: one document at /ui, /api/v1/ui and the addresses of its
// pages, its scripts, style sheet and icon, and a page with the licences of the libraries
// inside the script.
//
// The page is a client of the API like any other; nothing here computes anything. It
// is written in TypeScript under src and bundled with the libraries of third_party
// into dist by the program in tool, a module of its own. The chart library is a script
// of its own there, which the page fetches when there is a run to draw, and so are the pages
// beside the runner. dist is
// committed, so building the service needs neither Node nor the bundler;
// scripts/check-dashboard.sh rebuilds and compares. Nothing is loaded from another host.
//
// It has api/docs' type of a library's entry, so that /docs/licenses lists the same parts.
package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"

	"github.com/assay-run/assay/api/docs"
	"github.com/assay-run/assay/host/base/edge"
)

//go:embed dist assets third_party/*/LICENSE third_party/*/NOTICE
var files embed.FS

// policy is the Content-Security-Policy of the pages and of everything they load.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

const (
	forever    = "public, max-age=31536000, immutable"
	revalidate = "no-cache"
)

// types are the kinds of file that the bundle may have.
var types = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".html": "text/html; charset=utf-8",
}

// hashed matches a name that changes with the contents.
var hashed = regexp.MustCompile(`^[a-z]+-[0-9a-f]{10}\.(js|css|svg)$`)

// references are the addresses below /ui/ in a page, neighbours the scripts that a script names: those
// that it fetches later stand behind import( or from. A pattern that begins with fixed text is
// found fast.
var (
	references = regexp.MustCompile(`(?:href|src|content)="(/ui/[^"]*)"`)
	neighbours = regexp.MustCompile(`"\./([^"]*)"`)
)

// places are the addresses of the document, the same as in src/state/address.ts. The page
// itself says of an id that there is no such thing.
var places = []string{
	"/ui", "/api/v1/ui", "/ui/runs", "/ui/runs/{run_id}", "/ui/compare", "/ui/families",
	"/ui/families/{plan_id}", "/ui/falsifications/{run_id}", "/ui/data", "/ui/governance",
	"/ui/live",
}

// UI is the dashboard.
type UI struct {
	routes []edge.Route
	parts  []docs.Part
}

// New prepares every file. An error means that what is embedded does not fit together. The
// attribution is where the bundled candles come from and under which licences.
func New(attribution string) (*UI, error) {
	u := &UI{}
	names, err := fs.Glob(files, "dist/*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, _ := files.ReadFile(name) // it was listed
		switch base := path.Base(name); {
		case base == "index.html":
			page := asset(data, base, revalidate)
			for _, place := range places {
				u.get(place, page)
			}
		case hashed.MatchString(base):
			u.get("/ui/"+base, asset(data, base, forever))
		default:
			return nil, fmt.Errorf("ui: dist has %s, which make ui does not write", base)
		}
	}
	if u.parts, err = libraries(); err != nil {
		return nil, err
	}
	if err := u.addLicenses(attribution); err != nil {
		return nil, err
	}
	return u, u.check()
}

// Routes are the pages and files with their paths.
func (u *UI) Routes() []edge.Route { return append([]edge.Route(nil), u.routes...) }

// Parts are the libraries inside the script, for the list of all licences.
func (u *UI) Parts() []docs.Part { return append([]docs.Part(nil), u.parts...) }

func (u *UI) get(path string, h http.Handler) {
	u.routes = append(u.routes, edge.Route{Method: http.MethodGet, Path: path, Handler: h})
}

func asset(data []byte, name, cache string) *edge.Asset {
	return edge.NewAsset(data, http.Header{
		"Content-Type": {types[path.Ext(name)]}, "Content-Security-Policy": {policy},
		"Cache-Control": {cache},
	})
}

// check holds the page and its script against the files: a page whose script is missing
// would be blank.
func (u *UI) check() error {
	served := map[string]bool{}
	for _, r := range u.routes {
		served[r.Path] = true
	}
	page, err := files.ReadFile("dist/index.html")
	if err != nil {
		return fmt.Errorf("ui: run make ui: %w", err)
	}
	for _, m := range references.FindAllSubmatch(page, -1) {
		address := string(m[1])
		if !served[address] {
			return fmt.Errorf("ui: index.html refers to %s, which is not in dist: run make ui", address)
		}
		text, err := files.ReadFile("dist/" + path.Base(address))
		if err != nil {
			return err
		}
		for _, m := range neighbours.FindAllSubmatchIndex(text, -1) {
			name, before := text[m[2]:m[3]], text[:m[0]]
			imported := bytes.HasSuffix(before, []byte("import(")) || bytes.HasSuffix(before, []byte("from"))
			if imported && !served["/ui/"+string(name)] {
				return fmt.Errorf("ui: %s imports %s, which is not in dist: run make ui", address, name)
			}
		}
	}
	return nil
}

// libraries are the packages inside the script, as third_party has them.
func libraries() ([]docs.Part, error) {
	var parts []docs.Part
	for _, l := range []struct{ name, version, license, folder string }{
		{"preact", "11.2.0", "MIT", "preact"},
		{"@preact/signals", "2.11.4", "MIT", "preact-signals"},
		{"@preact/signals-core", "1.14.5", "MIT", "preact-signals"},
		{"lightweight-charts", "5.2.1", "Apache-2.0", "lightweight-charts"},
		{"fancy-canvas", "2.1.0", "MIT", "fancy-canvas"},
	} {
		p := docs.Part{Name: l.name, Version: l.version, License: l.license}
		texts, err := fs.Glob(files, "third_party/"+l.folder+"/*")
		if err != nil {
			return nil, err
		}
		for _, name := range texts { // LICENSE before NOTICE
			text, _ := files.ReadFile(name) // it was listed
			p.Texts = append(p.Texts, string(text))
		}
		if len(p.Texts) == 0 {
			return nil, fmt.Errorf("ui: %s has no licence in third_party/%s", l.name, l.folder)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// licensesPage is what licenses.html shows.
type licensesPage struct {
	Style, Icon, Attribution string
	Parts                    []docs.Part
}

// addLicenses makes the page of licences and its style sheet.
func (u *UI) addLicenses(attribution string) error {
	style, err := files.ReadFile("assets/licenses.css")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(style)
	v := licensesPage{Style: "/ui/licenses-" + hex.EncodeToString(sum[:])[:10] + ".css",
		Attribution: attribution, Parts: u.parts}
	u.get(v.Style, asset(style, v.Style, forever))
	for _, r := range u.routes {
		if path.Ext(r.Path) == ".svg" {
			v.Icon = r.Path
		}
	}
	t, err := template.ParseFS(files, "assets/licenses.html")
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := t.Execute(&page, v); err != nil {
		return err
	}
	u.get("/ui/licenses", asset(page.Bytes(), "licenses.html", revalidate))
	return nil
}
