// Package twins_test holds the strategies of this folder, which other engines run, beside the bundled
// ones: it compiles them, and counts the lines of both for the table in the page of the strategies.
// `make prove` runs those for backtesting.py, in the tests of lab/cmd.
package twins_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goLines counts the lines of code of a Go file, and how many of them describe: function spec and the
// parameters. Blank lines, comments, imports and the package clause do not count.
func goLines(t *testing.T, path string) (all, describing int) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution) // without comments
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	count := func(n ast.Node) (code int) {
		for _, line := range lines[set.Position(n.Pos()).Line-1 : set.Position(n.End()).Line] {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				code++
			}
		}
		return code
	}
	for _, d := range file.Decls {
		general, isGeneral := d.(*ast.GenDecl)
		if isGeneral && general.Tok == token.IMPORT {
			continue
		}
		n := count(d)
		all += n
		function, isFunction := d.(*ast.FuncDecl)
		isParams := false
		if isGeneral && general.Tok == token.TYPE {
			isParams = general.Specs[0].(*ast.TypeSpec).Name.Name == "params"
		}
		if isParams || isFunction && function.Name.Name == "spec" {
			describing += n
		}
	}
	return all, describing
}

// pythonLines counts the lines of code of a Python file: without blank lines, comments, imports and the
// sentence at its beginning.
func pythonLines(t *testing.T, path string) (code int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !regexp.MustCompile(`^(#|import |from |""".*"""$)`).MatchString(line) {
			code++
		}
	}
	return code
}

// TestLineCounts: the table of ../README.md has every twin, and the lines of code that there are.
func TestLineCounts(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	twins, err := filepath.Glob("*/*.py")
	if err != nil || len(twins) != 6 {
		t.Fatalf("%d twins: %v", len(twins), err)
	}
	engines := map[string]string{"backtesting": "backtesting.py", "freqtrade": "freqtrade"}
	for _, twin := range twins {
		engine, name := engines[filepath.Dir(twin)], strings.TrimSuffix(filepath.Base(twin), ".py")
		all, describing := goLines(t, filepath.Join("..", name, "strategy.go"))
		row := fmt.Sprintf("| [%s](%s/README.md) | %d | %d | [%s](twins/%s) | %d |\n", name, name, all,
			all-describing, engine, twin, pythonLines(t, twin))
		if !strings.Contains(string(page), row) {
			t.Errorf("strategies/README.md lacks the row\n%s", row)
		}
	}
}

// TestTwinsCompile compiles them as Python does, without the engines that they are for.
func TestTwinsCompile(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs Python")
	}
	twins, _ := filepath.Glob("*/*.py")
	command := exec.Command(python, append([]string{"-c",
		"import sys\nfor f in sys.argv[1:]: compile(open(f).read(), f, 'exec')"}, twins...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
