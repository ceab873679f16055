package cmd

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/python"
)

// suspects are calls whose answer a candle does not determine.
var suspects = map[string]map[string]string{
	"time": {"Now": "reads the clock", "Since": "reads the clock", "Until": "reads the clock"},
	"os": {"Getenv": "reads the environment", "LookupEnv": "reads the environment",
		"Environ": "reads the environment"},
	"math/rand":    {"": "is a random source that no seed of a run reaches"},
	"math/rand/v2": {"": "is a random source that no seed of a run reaches"},
	"net":          {"": "talks to the network"},
	"net/http":     {"": "talks to the network"},
}

// source looks for what makes runs differ. It only warns: a use may be harmless.
func (s *CheckSubject) source(ctx context.Context) (string, error) {
	files, found, err := suspectsOf(ctx, s.project)
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return "", &note{Warned, strings.Join(found, "; ")}
	}
	return fmt.Sprintf("%d files", files), nil
}

// suspectsOf is Suspects for a strategy in any language.
func suspectsOf(ctx context.Context, p *project.Project) (files int, found []string, err error) {
	if p.Config.Plugin.Python != "" {
		return python.Suspects(ctx, p.Dir)
	}
	return Suspects(p.Dir)
}

// Suspects names by file and line what makes runs of the program in a folder differ, and
// counts its files: what a candle does not determine, and ranges over maps, whose order is
// another one each time. A file that does not parse has none: the build reports it better.
func Suspects(dir string) (files int, found []string, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return 0, nil, err
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, nil, err
		}
		file, err := parser.ParseFile(set, filepath.Base(path), text, parser.SkipObjectResolution)
		if err == nil {
			parsed = append(parsed, file)
		}
	}
	ranges := mapRanges(set, parsed)
	for _, file := range parsed {
		found = append(found, lint(set, file)...)
		found = append(found, ranges[file]...)
	}
	return files, found, nil
}

// mapRanges are the loops over maps whose order may matter. Only types that the package
// itself declares are known: nothing is imported.
func mapRanges(set *token.FileSet, files []*ast.File) map[*ast.File][]string {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	lenient := types.Config{Importer: noImports{}, Error: func(error) {}}
	_, _ = lenient.Check("main", set, files, info) // what is imported has no types, which is an error
	found := map[*ast.File][]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			loop, ok := n.(*ast.RangeStmt)
			if !ok || info.Types[loop.X].Type == nil || gathers(loop.Body) {
				return true
			}
			if _, isMap := info.Types[loop.X].Type.Underlying().(*types.Map); isMap {
				found[file] = append(found[file], set.Position(loop.Pos()).String()+
					": range over a map has another order each time: sort its keys first")
			}
			return true
		})
	}
	return found
}

// noImports knows no package.
type noImports struct{}

// Import implements types.Importer.
func (noImports) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not looked at", path)
}

// gathers reports whether a loop only collects what is sorted later or clears a map: each
// of its statements appends or deletes.
func gathers(body *ast.BlockStmt) bool {
	for _, s := range body.List {
		var call ast.Expr
		switch s := s.(type) {
		case *ast.AssignStmt:
			if len(s.Rhs) == 1 {
				call = s.Rhs[0]
			}
		case *ast.ExprStmt:
			call = s.X
		}
		c, ok := call.(*ast.CallExpr)
		if !ok {
			return false
		}
		if name, ok := c.Fun.(*ast.Ident); !ok || name.Name != "append" && name.Name != "delete" {
			return false
		}
	}
	return true
}

// lint names the suspects of one file by line.
func lint(set *token.FileSet, file *ast.File) []string {
	imported := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil || suspects[path] == nil {
			continue
		}
		local := path[strings.LastIndex(path, "/")+1:]
		if local == "v2" {
			local = "rand"
		}
		if spec.Name != nil {
			local = spec.Name.Name
		}
		imported[local] = path
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || imported[x.Name] == "" {
			return true
		}
		path := imported[x.Name]
		why, listed := suspects[path][sel.Sel.Name]
		if !listed {
			why, listed = suspects[path][""]
		}
		if listed && !seeded(path, sel.Sel.Name) {
			found = append(found,
				fmt.Sprintf("%s: %s.%s %s", set.Position(sel.Pos()), x.Name, sel.Sel.Name, why))
		}
		return true
	})
	return found
}

// seeded reports that a name of a random package makes or is a source of one's own.
func seeded(path, name string) bool {
	return strings.HasPrefix(path, "math/rand") &&
		(strings.HasPrefix(name, "New") || name == "Rand" || name == "Source" || name == "PCG" ||
			name == "ChaCha8")
}
