// Package pagetest checks pages of package page: what they are made of, and that texts from
// outside stay text. It is small because it is one check, which the tests of several packages
// share; it imports the HTML parser of golang.org/x/net, which no program links for it.
package pagetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/assay-run/assay/lab/page"
)

// Hostile is a text that tries to be more than text wherever it is put: in an element, in an
// attribute of either quote, in a style, in a comment and in an address.
const Hostile = `"'><x-evil onclick="x()" style='a'>` + "`" + `</style></title></textarea>` +
	`<!--<script>alert(1)</script>` +
	`--><img src=x onerror=x()> javascript:alert(1) {{.}} &lt;x-evil&gt; url(http://evil.test/)` +
	"\x1b[2J\u202e"

// elements and attributes are what pages have.
var elements = strings.Fields(
	"html head meta title style body header nav main section article figure figcaption " +
		"h1 h2 h3 p ul li dl dt dd div span strong em a table caption thead tbody tr th td svg path line " +
		"text rect circle code pre br details summary",
)

var attributes = strings.Fields("lang charset name content http-equiv class href role tabindex scope id " +
	"aria-label aria-hidden viewbox d x y x1 x2 y1 y2 cx cy r dy width height text-anchor")

// Check parses a page and reports what should not be in it, and that it has one main landmark,
// one h1, and no scroll area that the keyboard does not reach.
func Check(t *testing.T, text []byte) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	policy := ""
	for n := range root.Descendants() {
		switch n.Type {
		case html.CommentNode:
			t.Errorf("a comment: %.60q", n.Data)
		case html.ElementNode:
			count[n.Data]++
			if !slices.Contains(elements, n.Data) {
				t.Errorf("an element %s", n.Data)
			}
			attr := map[string]string{}
			for _, a := range n.Attr {
				attr[a.Key] = a.Val
				if !slices.Contains(attributes, strings.ToLower(a.Key)) {
					t.Errorf("%s has an attribute %s=%.60q", n.Data, a.Key, a.Val)
				}
			}
			if href, is := attr["href"]; is && (strings.Contains(href, ":") || strings.HasPrefix(href, "/")) {
				t.Errorf("a link to %.60q", href)
			}
			if strings.Contains(attr["class"], "scroll") && attr["tabindex"] != "0" {
				t.Errorf("a scroll area %q that the keyboard does not reach", attr["aria-label"])
			}
			if attr["http-equiv"] == "Content-Security-Policy" {
				policy = attr["content"]
			}
			if n.Data == "style" && strings.Contains(n.FirstChild.Data, "evil") {
				t.Error("the style has a text from outside")
			}
		}
	}
	for _, one := range []string{"main", "h1", "title", "style"} {
		if count[one] != 1 {
			t.Errorf("%d elements %s, want 1", count[one], one)
		}
	}
	if policy != page.Policy {
		t.Errorf("the policy is %q", policy)
	}
}
