package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/hosttest/ring"
)

const (
	module = "github.com/assay-run/assay"
	// noDetector is the directive in a package's tests that leaves it without the race
	// detector: what it tests are other processes, which the detector does not see.
	noDetector = "//ring:no-detector "
	// runsBeside is the directive in a package's tests that lets them run beside the others: they
	// wait more than they compute.
	runsBeside = "//ring:beside "
	// programs is where a ring leaves those of tests, and those that tests build.
	programs = "bin/tests"
)

// pkg is a package of the module and what its files say.
type pkg struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	EmbedFiles                         []string
	Deps, TestImports, XTestImports    []string

	concurrent bool     // starts goroutines, or holds locks that goroutines of its tests share
	detectable bool     // the race detector can see what it does
	beside     bool     // its tests wait more than they compute
	sized      []string // names of the tests that size themselves by the ring
	grown      []string // names of those that do more in make prove than in make test
	alone      []string // names of those that nothing may run beside
}

// load lists the packages of the module and reads their files.
func load(ctx context.Context) ([]*pkg, error) {
	text, err := output(ctx, "go", "list", "-json", "./...")
	if err != nil {
		return nil, err
	}
	var all []*pkg
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if err := p.read(); err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		all = append(all, &p)
	}
}

func (p *pkg) read() error {
	fset, locks := token.NewFileSet(), false
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			return err
		}
		p.concurrent = p.concurrent || startsGoroutines(f)
		locks = locks || holdsLocks(f)
	}
	p.detectable = true
	functions := map[string]*function{}
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		p.concurrent = p.concurrent || locks && (startsGoroutines(f) || servesConnections(f))
		p.detectable = p.detectable && !hasDirective(f, noDetector)
		p.beside = p.beside || hasDirective(f, runsBeside)
		readFunctions(f, functions)
	}
	p.alone = testsCalling(functions, calls("Alone"))
	p.sized = slices.DeleteFunc(testsCalling(functions, calls("Size", "Proof", "Long", "At")),
		func(name string) bool { return slices.Contains(p.alone, name) })
	// Those that the detector leaves out are among them: it counts no figures of theirs.
	grown := testsCalling(functions, func(f *function) bool {
		return f.grows || calls("Proof", "Prove", "Test", "Undetected")(f)
	})
	for _, name := range p.sized {
		if slices.Contains(grown, name) {
			p.grown = append(p.grown, name)
		}
	}
	return nil
}

// holdsLocks reports whether a file imports sync.
func holdsLocks(f *ast.File) bool {
	return importsOneOf(f, "sync", "sync/atomic")
}

func importsOneOf(f *ast.File, paths ...string) bool {
	return slices.ContainsFunc(f.Imports, func(spec *ast.ImportSpec) bool {
		path, _ := strconv.Unquote(spec.Path.Value)
		return slices.Contains(paths, path)
	})
}

// servesConnections reports whether a file imports what starts a goroutine for each connection.
func servesConnections(f *ast.File) bool {
	return importsOneOf(f, "net/http", "net/http/httptest", "google.golang.org/grpc")
}

// startsGoroutines reports whether a file starts a goroutine or runs tests side by side.
func startsGoroutines(f *ast.File) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Go" || s.Sel.Name == "Parallel") {
				found = true
			}
		}
		return !found
	})
	return found
}

// hasDirective reports whether a file has a comment line that begins with a directive.
func hasDirective(f *ast.File, directive string) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, directive) {
				return true
			}
		}
	}
	return false
}

// function is a top-level function of a package's tests: the functions of its package that it
// calls, the names of package ring in it, and whether it asks for a size that make prove has
// larger than make test.
type function struct {
	calls, ring []string
	grows       bool
}

// calls returns a function that reports whether some of the names of package ring are in another.
func calls(names ...string) func(*function) bool {
	return func(f *function) bool {
		return slices.ContainsFunc(f.ring, func(called string) bool { return slices.Contains(names, called) })
	}
}

// isRing reports whether an expression is a name of package ring.
func isRing(n ast.Node, name string) bool {
	s, ok := n.(*ast.SelectorExpr)
	if !ok || name != "" && s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "ring"
}

// readFunctions adds the functions of a test file.
func readFunctions(f *ast.File, functions map[string]*function) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || fn.Body == nil {
			continue
		}
		read := &function{}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if isRing(n, "") {
					read.ring = append(read.ring, n.Sel.Name)
				}
			case *ast.CallExpr:
				if x, ok := n.Fun.(*ast.Ident); ok {
					read.calls = append(read.calls, x.Name)
				}
				if isRing(n.Fun, "Size") && len(n.Args) == 3 {
					read.grows = read.grows || types.ExprString(n.Args[0]) != types.ExprString(n.Args[1])
				}
			}
			return true
		})
		functions[fn.Name.Name] = read
	}
}

// testsCalling returns the names of the tests that are wanted, or call a function of their package
// that is, near or far.
func testsCalling(functions map[string]*function, wanted func(*function) bool) []string {
	calling := map[string]bool{}
	for name, f := range functions {
		calling[name] = wanted(f)
	}
	for changed := true; changed; {
		changed = false
		for name, f := range functions {
			if !calling[name] && slices.ContainsFunc(f.calls, func(callee string) bool {
				return calling[callee]
			}) {
				calling[name], changed = true, true
			}
		}
	}
	var tests []string
	for name, calls := range calling {
		if calls && strings.HasPrefix(name, "Test") && name != "TestMain" {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests
}

func (p *pkg) hasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// linked is where go test leaves the programs of tests that make prove runs again: it links a program
// only if what goes into it has changed. Names have no folder, so that of two equal ones one stays there.
func linked(p *pkg) []string {
	folder := "computing"
	if p.beside {
		folder = "waiting"
	}
	return []string{"-o", filepath.Join(programs, folder) + string(filepath.Separator)}
}

// testParts is `make test`: each package once.
func testParts(all []*pkg) []part {
	plain := part{args: []string{"-shuffle=on"}}
	parts := map[bool]*part{true: {beside: true}, false: {args: plain.args}} // of packages with proofs
	names := map[string]bool{}
	all = slices.Clone(all) // those that take longest first
	slices.SortStableFunc(all, func(a, b *pkg) int { return len(b.sized) - len(a.sized) })
	for _, p := range all {
		name := fmt.Sprint(path.Base(p.ImportPath), p.beside)
		switch proves := len(p.sized)+len(p.alone) > 0 && !names[name]; {
		case !p.hasTests():
		case proves || p.beside:
			to := parts[p.beside]
			if len(to.packages) == 0 {
				to.args = slices.Concat(to.args, linked(p))
			}
			to.packages, names[name] = append(to.packages, p.ImportPath), true
		default:
			plain.packages = append(plain.packages, p.ImportPath)
		}
	}
	return []part{*parts[true], *parts[false], plain}
}

// provingParts is `make prove` and `make soak`: the packages whose goroutines share memory with
// the race detector if it is to be had, and the tests that size themselves by the ring, package
// by package. What the detector watches counts its figures: make prove does not repeat it at the
// same size.
func provingParts(all []*pkg, race bool, at ring.Ring) []part {
	// The detector needs cgo; what the tests build does not. SQLite is C that was translated: it
	// has locks of its own, and is three times as slow when the detector watches it.
	detected := part{
		args: []string{"-race", "-gcflags=modernc.org/...=-race=false", "-exec", "env CGO_ENABLED=0",
			"-p", "2", "-shuffle=on"},
		// At the scale of make test. Under the detector a program sleeps for a second before it ends, to
		// watch the goroutines that are left: tests wait for theirs, so that less is enough.
		env: []string{"CGO_ENABLED=1", ring.Variable + "=", "GORACE=atexit_sleep_ms=20"},
	}
	var parts []part
	for _, p := range all {
		tests := p.sized
		if race && p.hasTests() && p.concurrent && p.detectable && !p.beside {
			detected.packages = append(detected.packages, p.ImportPath)
			if at == ring.Prove {
				tests = p.grown
			}
		}
		if len(tests) > 0 {
			parts = append(parts, part{packages: []string{p.ImportPath},
				args: slices.Concat(linked(p), runOf(tests)), beside: p.beside, proofs: len(tests)})
		}
		if len(p.alone) > 0 {
			parts = append(parts, part{packages: []string{p.ImportPath},
				args: slices.Concat(linked(p), runOf(p.alone)), alone: true, proofs: len(p.alone)})
		}
	}
	// Those with most proofs take longest: begun last, one of them would end in one lane only.
	slices.SortStableFunc(parts, func(a, b part) int { return b.proofs - a.proofs })
	return slices.Insert(parts, 0, detected)
}

func runOf(tests []string) []string { return []string{"-run", "^(" + strings.Join(tests, "|") + ")$"} }

// affected returns the packages with tests that hold one of the changed files or import a
// package that does, near or far.
func affected(all []*pkg, files []string) []string {
	changed := map[string]bool{}
	for _, p := range all {
		for _, file := range files {
			if filepath.Dir(file) == p.Dir || strings.HasPrefix(file, filepath.Join(p.Dir, "testdata")+"/") {
				changed[p.ImportPath] = true
			}
			for _, name := range p.EmbedFiles {
				changed[p.ImportPath] = changed[p.ImportPath] || file == filepath.Join(p.Dir, name)
			}
		}
	}
	var list []string
	for _, p := range all {
		imports := func(path string) bool { return changed[path] }
		if p.hasTests() && (changed[p.ImportPath] || slices.ContainsFunc(p.Deps, imports) ||
			slices.ContainsFunc(p.TestImports, imports) || slices.ContainsFunc(p.XTestImports, imports)) {
			list = append(list, p.ImportPath)
		}
	}
	return list
}

// goFiles are those of files that gofmt reads.
func goFiles(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !strings.HasSuffix(f, ".go") })
}

func splitLines(text string) []string {
	var list []string
	for line := range bytes.Lines([]byte(text)) {
		list = append(list, strings.TrimRight(string(line), "\n"))
	}
	return list
}
