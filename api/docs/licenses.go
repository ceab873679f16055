package docs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Part is a piece of software of others inside the program.
type Part struct {
	Name, Version string
	// License is an SPDX identifier.
	License string
	// Texts are the licence texts and notices.
	Texts []string
}

// ThirdParty describes the vendored API reference, as third_party.json has it.
type ThirdParty struct {
	Name          string `json:"name"`
	Version       string `json:"version"`
	License       string `json:"license"`
	File          string `json:"file"`
	SHA256        string `json:"sha256"`
	ContentSHA256 string `json:"content_sha256"`
	Source        string `json:"source"`
	Integrity     string `json:"integrity"`
	LicenseFile   string `json:"license_file"`
}

// Vendored is the description of the vendored API reference.
func Vendored() (ThirdParty, error) {
	var t ThirdParty
	data, err := files.ReadFile("third_party.json")
	if err != nil {
		return t, err
	}
	err = json.Unmarshal(data, &t)
	return t, err
}

// GoModules are this program, the Go library and every Go module linked with it.
func GoModules() ([]Part, error) { return readParts(files, "licenses/go.tsv") }

// Packages are the npm packages inside the vendored API reference.
func Packages() ([]Part, error) { return readParts(files, "licenses/npm.tsv") }

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
