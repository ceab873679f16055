package ui_test

import (
	"encoding/json"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/ui"
	"github.com/assay-run/assay/api/v1/apitest"
)

func TestLicensesPage(t *testing.T) {
	page := apitest.Get(t, serve(t)+"/ui/licenses")
	for _, want := range []string{
		`<html lang="en">`, `<a href="https://www.tradingview.com/" rel="noreferrer noopener">Charts: TradingView Lightweight Charts</a>`,
		`<a href="/docs/licenses">`, `<a href="/ui">`, html.EscapeString(attribution),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
	if strings.Contains(page, "<Somebody>") {
		t.Error("a text is not escaped")
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("two elements have the id %s", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !ids[m[1]] {
			t.Errorf("the link #%s leads nowhere", m[1])
		}
	}
	plain := html.UnescapeString(page)
	for _, file := range []string{"preact/LICENSE", "preact-signals/LICENSE", "lightweight-charts/LICENSE",
		"lightweight-charts/NOTICE", "fancy-canvas/LICENSE"} {
		text, err := os.ReadFile("third_party/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plain, string(text)) {
			t.Errorf("%s is not on the page", file)
		}
	}
}

// TestPartsAreThoseOfTheBundle holds the list against package.json, the versions that
// the vendored files are compared with, and the table in third_party/README.md.
func TestPartsAreThoseOfTheBundle(t *testing.T) {
	u, err := ui.New("")
	if err != nil {
		t.Fatal(err)
	}
	var wanted struct {
		DevDependencies map[string]string `json:"devDependencies"`
	}
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &wanted); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("third_party/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Parts()) != 5 {
		t.Errorf("%d parts", len(u.Parts()))
	}
	for _, p := range u.Parts() {
		if p.Version == "" || wanted.DevDependencies[p.Name] != p.Version {
			t.Errorf("%s is %s here and %q in package.json", p.Name, p.Version,
				wanted.DevDependencies[p.Name])
		}
		if !strings.Contains(string(readme), p.Name+" "+p.Version) ||
			!strings.Contains(string(readme), p.License) {
			t.Errorf("third_party/README.md lacks %s %s, %s", p.Name, p.Version, p.License)
		}
	}
}
