// Package docs_test holds the documentation against the program: examples compile,
// scenarios are those of the simulator, lists are complete and links lead somewhere.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// documents are all pages, as paths from this folder.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../*.md", "*.md", "adr/*.md", "../strategies/*.md", "../strategies/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type block struct {
	line int // of its first line
	text string
}

// blocks are the fenced blocks of a language.
func blocks(t *testing.T, doc, language string) []block {
	t.Helper()
	var all []block
	var open *block
	kind := ""
	for i, line := range strings.Split(read(t, doc), "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open, kind = &block{line: i + 2}, fence
		case isFence:
			if kind == language {
				all = append(all, *open)
			}
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Errorf("%s line %d: the block is not closed", doc, open.line)
	}
	return all
}

func TestScenariosAreThoseOfTheSimulator(t *testing.T) {
	files, err := filepath.Glob("../plugin-sdk/sim/simtest/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	scripts := ""
	for _, f := range files {
		scripts += "\n" + read(t, f) + "\n"
	}
	n := 0
	for _, doc := range documents(t) {
		for _, b := range blocks(t, doc, "scenario") {
			n++
			// A blank line behind it: a scenario is quoted whole or not at all.
			if !strings.HasPrefix(b.text, "scenario ") || !strings.Contains(scripts, "\n"+b.text+"\n") {
				t.Errorf("%s line %d: this is not a whole scenario of plugin-sdk/sim/simtest", doc, b.line)
			}
		}
	}
	if n == 0 {
		t.Error("no scenarios")
	}
}

// firstCells are the first cells of table rows that are code.
func firstCells(text string) map[string]bool {
	cells := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(text, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			cells[name[1]] = true
		}
	}
	return cells
}

func TestEveryMetricIsDefined(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "execution-semantics.md"), "\n## metrics-v1\n")
	defined := firstCells(section)
	for _, m := range metric.All() {
		if !defined[m.Key] {
			t.Errorf("execution-semantics.md does not define %s", m.Key)
		}
		delete(defined, m.Key)
	}
	for key := range defined {
		t.Errorf("execution-semantics.md defines %s, which is no metric", key)
	}
}

func TestEveryExecutionOptionIsDescribed(t *testing.T) {
	described := firstCells(read(t, "execution-semantics.md"))
	options, err := sim.Options{}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"([a-z_]+)":`).FindAllStringSubmatch(string(options), -1) {
		if !described[m[1]] {
			t.Errorf("execution-semantics.md does not describe %s", m[1])
		}
	}
}

func TestEveryReasonOfAnUnavailableStrategyIsExplained(t *testing.T) {
	explained := firstCells(read(t, "operators.md"))
	for _, r := range catalog.Reasons() {
		if !explained[r.Code] {
			t.Errorf("operators.md does not explain %s", r.Code)
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(read(t, doc), -1) {
			target := m[1]
			if strings.Contains(target, "://") {
				continue
			}
			path, anchor, _ := strings.Cut(target, "#")
			if path == "" {
				path = filepath.Base(doc)
			}
			path = filepath.Join(filepath.Dir(doc), path)
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: %s leads nowhere", doc, target)
			} else if anchor != "" && !anchors(read(t, path))[anchor] {
				t.Errorf("%s: %s has no such heading", doc, target)
			}
		}
	}
}

// anchors are the names that headings get on a page.
func anchors(text string) map[string]bool {
	all, dropped := map[string]bool{}, regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		name := dropped.ReplaceAllString(strings.ToLower(h[1]), "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}

// code are the words of a page that are set as code.
func code(text string) []string {
	var words []string
	for _, m := range regexp.MustCompile("`([A-Za-z0-9_./]+)`").FindAllStringSubmatch(text, -1) {
		words = append(words, m[1])
	}
	return words
}

func TestNamedFilesAndFoldersExist(t *testing.T) {
	inTree := regexp.MustCompile(`^(api|cmd|docs|host|internal|lab|plugin-sdk|strategies)/[a-z0-9_/.-]+$`)
	for _, doc := range documents(t) {
		for _, path := range code(read(t, doc)) {
			if inTree.MatchString(path) {
				if _, err := os.Stat(filepath.Join("..", path)); err != nil {
					t.Errorf("%s: %s is not there", doc, path)
				}
			}
		}
	}
}

// TestNamedFunctionsExist looks for what the architecture and the recipes call by name: Engine.Accept is
// a method or a field, sim.Run is declared in its package, tryOpen is an identifier.
func TestNamedFunctionsExist(t *testing.T) {
	known := map[string]bool{}
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }
	method := regexp.MustCompile(`(?m)^func \(\w* ?\*?(\w+)[^)]*\) (\w+)`)
	declared := regexp.MustCompile(`(?m)^(?:func|type|var|const) (\w+)`)
	member := regexp.MustCompile(`(?m)^\t(\w+)[ ,(]`)
	inPackage := regexp.MustCompile(`(?m)^package (\w+)`)
	bodies := regexp.MustCompile(`(?ms)^type (\w+) (?:struct|interface) \{$.*?^\}`)
	for _, top := range []string{"api", "cmd", "host", "lab", "plugin-sdk"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			text := read(t, path)
			for _, word := range strings.FieldsFunc(text, between) {
				known[word] = true
			}
			for _, m := range method.FindAllStringSubmatch(text, -1) {
				known[m[1]+"."+m[2]] = true
			}
			in := inPackage.FindStringSubmatch(text)[1]
			for _, m := range declared.FindAllStringSubmatch(text, -1) {
				known[in+"."+m[1]] = true
			}
			for _, body := range bodies.FindAllStringSubmatch(text, -1) {
				for _, m := range member.FindAllStringSubmatch(body[0], -1) {
					known[body[1]+"."+m[1]] = true
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	name := regexp.MustCompile(`^([a-zA-Z0-9]+\.)+([a-zA-Z]+)$|^([a-z]+[A-Z][a-zA-Z]+)$`)
	extension := regexp.MustCompile(`\.(go|md|csv|json|jsonl|txt|txtar|ts|tsx|sqlite3)$`)
	for _, doc := range []string{"architecture.md", "../CONTRIBUTING.md"} {
		for _, word := range code(read(t, doc)) {
			if !name.MatchString(word) || extension.MatchString(word) {
				continue
			}
			parts := strings.Split(word, ".")
			if last := strings.Join(parts[max(0, len(parts)-2):], "."); !known[last] {
				t.Errorf("%s names %s, but the code has no %s", doc, word, last)
			}
		}
	}
}
