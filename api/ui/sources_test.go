package ui_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/ui"
)

const maxLines = 600

// sources are the files that people write for the dashboard.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, root := range []string{"src", "e2e", "tool", "assets"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if slices.Contains([]string{"gen", "testdata", "screenshots"}, d.Name()) {
					return filepath.SkipDir
				}
				return nil
			}
			if slices.Contains([]string{".ts", ".tsx", ".css", ".mjs", ".html"}, filepath.Ext(path)) {
				text, err := os.ReadFile(path)
				out[filepath.ToSlash(path)] = string(text)
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(out) < 20 {
		t.Fatalf("only %d sources", len(out))
	}
	return out
}

func TestSourcesAreShort(t *testing.T) {
	for path, text := range sources(t) {
		if n := strings.Count(text, "\n"); n > maxLines {
			t.Errorf("%s has %d lines, at most %d", path, n, maxLines)
		}
	}
}

// sinks turn text into markup or code, or keep something in an unexpected place. The
// policy of the page stops the first kind; the second has no policy.
var sinks = regexp.MustCompile(
	`[iI]nnerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|createPolicy|` +
		`sessionStorage|indexedDB|document\.cookie|sendBeacon|serviceWorker`)

func TestSourcesUseNoSinks(t *testing.T) {
	for path, text := range sources(t) {
		if !strings.HasPrefix(path, "src/") {
			continue
		}
		if found := sinks.FindString(text); found != "" {
			t.Errorf("%s uses %s", path, found)
		}
	}
}

// TestNoForeignHosts allows namespaces, which are never fetched, and the attribution of
// the chart library. Its own logo, which would add a tracking query, is switched off.
func TestNoForeignHosts(t *testing.T) {
	known := []string{
		"http://www.w3.org/1998/Math/MathML", "http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink",
		"https://www.tradingview.com/", "https://www.tradingview.com/?utm_medium=lwc-link&utm_campaign=lwc-chart",
	}
	address := regexp.MustCompile("(?:https?|wss?|ftp)://[^\"'`\\s)<$]*")
	for name, text := range dist(t) {
		for _, found := range address.FindAllString(string(text), -1) {
			if !slices.Contains(known, found) {
				t.Errorf("%s names %s", name, found)
			}
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(sources(t))), func(s string) bool {
		return strings.Contains(s, "attributionLogo: false")
	}) {
		t.Error("the logo of the chart library is on")
	}
}

var (
	placeRow = regexp.MustCompile(`(?m)^  \w+: "(/ui[^"]*)",$`)
	placeID  = regexp.MustCompile(`\{\w+\}`)
)

// TestTablesAreWhole: the service serves the document under each address that the page knows, and every
// unit test is one of those that run.
func TestTablesAreWhole(t *testing.T) {
	files := sources(t)
	rows := placeRow.FindAllStringSubmatch(files["src/state/address.ts"], -1)
	if len(rows) < 10 {
		t.Fatalf("src/state/address.ts has %d rows", len(rows))
	}
	dashboard, err := ui.New("")
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, r := range dashboard.Routes() {
		served[placeID.ReplaceAllString(r.Path, "{id}")] = true
	}
	for _, row := range rows {
		if !served[row[1]] {
			t.Errorf("ui.go does not serve %s of src/state/address.ts", row[1])
		}
	}
	for path := range files {
		name, inside := strings.CutPrefix(path, "src/")
		if inside && strings.HasSuffix(path, ".test.ts") &&
			!strings.Contains(files["src/unit.ts"], `"./`+name+`"`) {
			t.Errorf("src/unit.ts does not import ./%s, which runs nowhere", name)
		}
	}
}
