package docs_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// TestGoBlocksCompile type-checks every Go block of the documentation. A block whose
// first line is // folder/file.go is a file of the program in that folder; one
// that begins with package is a program by itself. Everything else is a fragment:
// declarations, or statements of an OnCandle with the View v.
func TestGoBlocksCompile(t *testing.T) {
	programs := map[string][]source{}
	for _, doc := range documents(t) {
		for _, b := range blocks(t, doc, "go") {
			name, text := doc+" line "+strconv.Itoa(b.line), b.text
			group := name
			if m := regexp.MustCompile(`^// ([a-z0-9_/]+)/[a-z0-9_]+\.go\n`).FindStringSubmatch(
				text); m != nil {
				group = doc + " " + m[1]
			} else if !strings.HasPrefix(text, "package ") {
				text = fragment(t, name, text)
			}
			programs[group] = append(programs[group], source{name, text})
		}
	}
	if len(programs) == 0 {
		t.Fatal("no Go blocks")
	}
	check(t, programs)
}

type source struct{ name, text string }

// knownPackages are what a fragment may use without saying so.
func knownPackages() map[string]string {
	const sdk = "github.com/assay-run/assay/plugin-sdk"
	return map[string]string{
		"sdk": sdk, "indicator": sdk + "/indicator", "market": sdk + "/market", "sdktest": sdk + "/sdktest",
		"serve": sdk + "/serve", "errors": "errors", "math": "math", "testing": "testing", "time": "time",
	}
}

// fragment makes a file of declarations or statements.
func fragment(t *testing.T, name, text string) string {
	t.Helper()
	body := text
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text,
		parser.SkipObjectResolution); err != nil {
		body = "func _(v sdk.View) (sdk.Intents, error) {\n" + text + "}\n"
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, 0)
	if err != nil {
		t.Fatalf("%s: neither declarations nor statements: %v", name, err)
	}
	used := map[string]bool{}
	for _, id := range file.Unresolved {
		used[id.Name] = true
	}
	var head strings.Builder
	head.WriteString("package p\n")
	for short, path := range knownPackages() {
		if used[short] {
			fmt.Fprintf(&head, "import %s %q\n", short, path)
		}
	}
	return head.String() + body
}

func check(t *testing.T, programs map[string][]source) {
	t.Helper()
	fset := token.NewFileSet()
	parsed, wanted := map[string][]*ast.File{}, map[string]bool{}
	for group, files := range programs {
		for _, f := range files {
			file, err := parser.ParseFile(fset, f.name, f.text, parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%v", err)
				continue
			}
			parsed[group] = append(parsed[group], file)
			for _, spec := range file.Imports {
				path, _ := strconv.Unquote(spec.Path.Value)
				wanted[path] = true
			}
		}
	}
	config := types.Config{Importer: compiled(t, fset, wanted), Error: func(err error) { t.Error(err) }}
	for group, files := range parsed {
		_, _ = config.Check(group, fset, files, nil) // every error has been reported
	}
}

// compiled imports what the go command has in its cache, or compiles it.
func compiled(t *testing.T, fset *token.FileSet, paths map[string]bool) types.Importer {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command on the PATH")
	}
	args := []string{"list", "-deps", "-export", "-json=ImportPath,Export"}
	for path := range paths {
		args = append(args, path)
	}
	sort.Strings(args[4:])
	command := exec.Command("go", args...)
	command.Dir = ".."
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	exports := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s was not compiled", path)
		}
		return os.Open(exports[path])
	})
}
