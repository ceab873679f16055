package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"path"

	"github.com/assay-run/assay/api/docs"
)

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
			text, err := files.ReadFile(name)
			if err != nil {
				return nil, err
			}
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
	v := licensesPage{Style: "/ui/licenses-" + hex.EncodeToString(sum[:])[:10] + ".css", Attribution: attribution, Parts: u.parts}
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
