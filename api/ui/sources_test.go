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
