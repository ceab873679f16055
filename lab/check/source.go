package check

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// tests runs what the author has written.
func (s *Subject) tests(ctx context.Context) (string, error) {
	switch {
	case s.project == nil:
		return "", errNeeds
	case s.NoTest:
		return "", &note{Skipped, "--no-test"}
	case s.project.Config.Plugin.Path != "":
		return "", &note{Skipped, "the program is not built here"}
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", ".")
	cmd.Dir = s.project.Dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go test failed:\n%s", tail(out.String(), 30))
	}
	if strings.Contains(out.String(), "[no test files]") {
		return "", &note{Warned, "there are no tests"}
	}
	return "go test passes", nil
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// suspects are calls whose answer a candle does not determine.
var suspects = map[string]map[string]string{
	"time":         {"Now": "reads the clock", "Since": "reads the clock", "Until": "reads the clock"},
	"os":           {"Getenv": "reads the environment", "LookupEnv": "reads the environment", "Environ": "reads the environment"},
	"math/rand":    {"": "is a random source that no seed of a run reaches"},
	"math/rand/v2": {"": "is a random source that no seed of a run reaches"},
	"net":          {"": "talks to the network"},
	"net/http":     {"": "talks to the network"},
}

// source looks for what makes runs differ. It only warns: a use may be harmless.
func (s *Subject) source(context.Context) (string, error) {
	if s.project == nil {
		return "", errNeeds
	}
	files, err := filepath.Glob(filepath.Join(s.project.Dir, "*.go"))
	if err != nil {
		return "", err
	}
	var found []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		found = append(found, lint(filepath.Base(path), text)...)
	}
	if len(found) > 0 {
		return "", &note{Warned, strings.Join(found, "; ")}
	}
	return fmt.Sprintf("%d files", len(files)), nil
}

// lint names the suspects of one file by line.
func lint(name string, text []byte) []string {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil // the build has said it better
	}
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
			found = append(found, fmt.Sprintf("%s: %s.%s %s", set.Position(sel.Pos()), x.Name, sel.Sel.Name, why))
		}
		return true
	})
	return found
}

// seeded says that a name of a random package makes or is a source of one's own.
func seeded(path, name string) bool {
	return strings.HasPrefix(path, "math/rand") && (strings.HasPrefix(name, "New") || name == "Rand" || name == "Source" || name == "PCG" || name == "ChaCha8")
}
