package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	guides "github.com/assay-run/assay/docs"
)

// guide is one page of the guides.
type guide struct {
	Name, Title string
	HTML        template.HTML
	Sections    []guideSection
}

// guideSection is a heading with the beginning of its text, as the search knows it.
type guideSection struct {
	Page  string `json:"page"`
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
	level int
}

// Contents are the sections that the page lists at its head.
func (g guide) Contents() []guideSection {
	return slices.DeleteFunc(slices.Clone(g.Sections), func(s guideSection) bool { return s.level != 2 })
}

// guidePath is where the guides begin.
const guidePath = "/docs/guide"

// guideName is a file of a guide and the last part of its address.
type guideName struct{ file, page string }

// guideNames lists the guides, which are part of the program.
func guideNames() ([]guideName, error) {
	files, err := fs.Glob(guides.Guides, "*.md")
	var out []guideName
	for _, file := range files {
		out = append(out, guideName{file, strings.ToLower(strings.TrimSuffix(file, ".md"))})
	}
	return out, err
}

// readGuides renders the guides.
func readGuides(names []guideName) ([]guide, error) {
	var out []guide
	for _, name := range names {
		source, err := guides.Guides.ReadFile(name.file)
		if err != nil {
			return nil, err
		}
		g, err := renderGuide(name.page, source)
		if err != nil {
			return nil, fmt.Errorf("docs: %s: %w", name.file, err)
		}
		out = append(out, g)
	}
	return out, nil
}

func renderGuide(name string, source []byte) (guide, error) {
	g := guide{Name: name, Title: name}
	md := goldmark.New(goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	ids := parser.WithIDs(&headingIDs{seen: map[string]int{}})
	root := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(ids)))
	var unlink []*ast.Link
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			to, known := guideLink(string(n.Destination))
			n.Destination = []byte(to)
			if !known {
				unlink = append(unlink, n)
			}
		case *ast.Heading:
			if n.Level == 1 {
				g.Title = plain(n, source)
			}
			if id, has := n.AttributeString("id"); has {
				g.Sections = append(g.Sections, guideSection{Page: name, ID: string(id.([]byte)),
					Title: plain(n, source), Text: beginning(n, source), level: n.Level})
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return g, err
	}
	for _, n := range unlink { // it leads to a file of the source, which the service has not
		for c := n.FirstChild(); c != nil; c = n.FirstChild() {
			n.Parent().InsertBefore(n.Parent(), n, c)
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
	var b bytes.Buffer
	err = md.Renderer().Render(&b, source, root)
	// The guides are part of the program, and the renderer leaves raw HTML out. Wide tables and
	// code scroll by keyboard.
	html := strings.NewReplacer(
		"<table>", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`,
		"</table>", "</table></div>", "<pre>", `<pre tabindex="0" role="group" aria-label="Code">`,
	).Replace(b.String())
	g.HTML = template.HTML(html)
	return g, err
}

// guideLink is where a link of a guide leads on the service; known is false for what is not there.
func guideLink(to string) (path string, known bool) {
	file, fragment, has := strings.Cut(to, "#")
	if has {
		fragment = "#" + fragment
	}
	switch {
	case file == "":
		return to, true
	case strings.HasSuffix(file, ".md") && !strings.Contains(file, "/"):
		return guidePath + "/" + strings.ToLower(strings.TrimSuffix(file, ".md")) + fragment, true
	}
	return to, false
}

// plain is the text of a node without marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, is := n.(*ast.Text); is && entering {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// mostText is how many bytes of a section the search knows.
const mostText = 600

// beginning is the text between a heading and the next, cut.
func beginning(n ast.Node, source []byte) string {
	var b strings.Builder
	c := n.NextSibling()
	for ; c != nil && c.Kind() != ast.KindHeading && b.Len() < mostText; c = c.NextSibling() {
		b.WriteString(plain(c, source))
		b.WriteByte(' ')
	}
	return strings.ToValidUTF8(b.String()[:min(b.Len(), mostText)], "")
}

// headingIDs are those that links within the guides use: lower case, hyphens for spaces, no
// punctuation, a number where one is there already.
type headingIDs struct{ seen map[string]int }

var marks = regexp.MustCompile("[*`]|\\[|\\]\\([^)]*\\)")

// Generate implements parser.IDs.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(marks.ReplaceAllString(strings.TrimSpace(string(value)), "")) {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	id := b.String()
	n := h.seen[id]
	h.seen[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (h *headingIDs) Put(value []byte) { h.seen[string(value)]++ }

// guideIndex is what the search looks through.
func guideIndex(list []guide) ([]byte, error) {
	var all []guideSection
	for _, g := range list {
		all = append(all, g.Sections...)
	}
	return json.Marshal(all)
}
