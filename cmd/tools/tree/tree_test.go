// Package tree_test holds the tests of the whole tree: who may import whom, how
// large files and functions may grow, and what the simulator must be free of.
package tree_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/assay-run/assay"

// allowed maps a folder to the folders of this module that it may import; the longest
// matching prefix counts. A folder may always import what lies below itself, and every folder
// but those of the SDK and the strategies may import host/base, whose packages know no
// domain. No arrow points up or sideways, and no program links host/hosttest.
var allowed = []struct {
	folder  string
	imports []string
}{
	{"plugin-sdk/market", nil},
	{"plugin-sdk/indicator", []string{"plugin-sdk/market"}},
	{"plugin-sdk/sample", []string{"plugin-sdk/market"}},
	{"plugin-sdk/candlefile", []string{"plugin-sdk/market"}},
	{"plugin-sdk/strategypb", nil},
	{"plugin-sdk/sim", []string{"plugin-sdk/market"}},
	{"plugin-sdk/sim/simtest", []string{"plugin-sdk/market", "plugin-sdk/sim="}},
	{"plugin-sdk/wire", []string{"plugin-sdk=", "plugin-sdk/market", "plugin-sdk/strategypb"}},
	{"plugin-sdk/internal", []string{"plugin-sdk=", "plugin-sdk/market", "plugin-sdk/sim", "plugin-sdk/wire",
		"plugin-sdk/strategypb", "plugin-sdk/candlefile", "plugin-sdk/internal"}},
	{"plugin-sdk/internal/step", []string{"plugin-sdk/market"}},
	{"plugin-sdk/internal/params", []string{"plugin-sdk="}},
	{"plugin-sdk/serve", []string{"plugin-sdk"}},
	{"plugin-sdk/sdktest", []string{"plugin-sdk"}},
	{"plugin-sdk", []string{"plugin-sdk/market", "plugin-sdk/internal/step"}},
	{"strategies", []string{"plugin-sdk"}},

	{"host", []string{"host", "plugin-sdk"}},
	{"host/base", nil},
	{"host/alarm", []string{"plugin-sdk/market"}},
	{"host/metric", []string{"plugin-sdk/market", "plugin-sdk/sim="}},
	{"host/proc", nil},
	{"host/catalog", []string{"host/proc", "plugin-sdk"}},
	{"host/candle", []string{"plugin-sdk"}},
	{"host/exchange", []string{"plugin-sdk/market"}},
	{"host/exchange/sim", []string{"host/exchange", "host/candle", "plugin-sdk"}},
	{"host/exchange/wire", []string{"host/exchange", "host/proc", "plugin-sdk/market"}},
	{"host/artifact", []string{"host/proc/sandbox", "host/metric", "plugin-sdk"}},
	{"host/registry", []string{"host/artifact", "plugin-sdk"}},
	{"host/library", []string{"host/artifact", "host/metric", "host/registry", "plugin-sdk/market"}},
	{"host/job", []string{"host/proc=", "plugin-sdk/market"}},
	{"host/upload", nil},
	{"host/deploy", []string{"host/runner=", "plugin-sdk/market"}},
	{"host/trade/journal", []string{"host/exchange", "host/trade/order=", "plugin-sdk/market"}},
	{"host/trade/order", []string{"host/exchange=", "plugin-sdk/market", "plugin-sdk/sim="}},
	{"host/trade/order/oms",
		[]string{"host/exchange=", "host/trade/admission", "host/trade/order=", "plugin-sdk/market",
			"plugin-sdk/sim="}},
	{"host/trade/admission",
		[]string{"host/exchange=", "host/trade/order=", "host/trade/risk", "plugin-sdk/market"}},
	{"host/trade/risk", []string{"host/exchange=", "host/trade/order=", "plugin-sdk/market"}},
	{"host/trade/feed", []string{"host/exchange=", "plugin-sdk/market", "plugin-sdk/sim"}},
	{"host/trade/engine",
		[]string{"host/alarm", "host/deploy=", "host/exchange=", "host/runner=", "host/trade",
			"plugin-sdk/market", "plugin-sdk/sim"}},
	{"host/hosttest", []string{"host", "plugin-sdk"}},

	{"governance", []string{"governance"}},
	{"governance/promotion", []string{"governance/bundle", "host/deploy="}},
	{"governance/bundle", []string{"plugin-sdk/market"}},
	{"governance/ledger", []string{"governance/bundle"}},
	{"governance/client", []string{"governance/bundle", "governance/ledger", "host/deploy="}},
	{"governance/shadow", []string{"governance/bundle", "governance/client=", "governance/promotion=", "host", "plugin-sdk/market"}},
	{"governance/store", []string{"governance/bundle", "governance/ledger", "governance/promotion"}},

	{"api", []string{"api", "docs", "host", "plugin-sdk", "governance/client"}},
	{"docs", nil},
	{"api/ui", []string{"api/docs="}},
	{"api/ui/tool", nil},

	{"lab", []string{"lab", "host", "plugin-sdk", "governance/bundle", "governance/ledger",
		"governance/client"}},
	{"lab/columnar", []string{"host/candle/importer", "plugin-sdk/market"}},
	{"lab/search/design", []string{"lab/stat/random"}},
	{"lab/stat", []string{"lab/split", "lab/search/design", "host/metric", "plugin-sdk/market"}},
	{"lab/stat/random", nil},
	{"lab/falsify/judge", []string{"lab/stat", "host/artifact", "host/metric", "plugin-sdk/market",
		"plugin-sdk/sim="}},
	{"lab/falsify/replay", []string{"lab/stat", "host/candle", "plugin-sdk"}},

	{"cmd", []string{"api", "lab", "governance", "host", "plugin-sdk", "cmd"}},
}

// isKit reports whether a package holds kits, what tests and tools share: no program that a user runs links
// one.
func isKit(dir string) bool { return within(dir, "host/hosttest") }

func mayImportKits(dir string) bool { return isKit(dir) || within(dir, "cmd/tools") }

type source struct {
	path string // slash separated, from the root of the module
	dir  string
	test bool
	file *ast.File
	size int // lines
	code int // lines that are neither empty nor a comment
}

func TestArrowsPointOneWay(t *testing.T) {
	_, files := tree(t)
	for _, f := range files {
		if f.test {
			continue
		}
		for _, spec := range f.file.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			if target == module || strings.HasPrefix(target, module+"/") {
				checkArrow(t, f, strings.TrimPrefix(strings.TrimPrefix(target, module), "/"))
			}
		}
	}
}

func checkArrow(t *testing.T, f source, target string) {
	t.Helper()
	best := -1
	for i, rule := range allowed {
		if within(f.dir, rule.folder) && (best < 0 || len(rule.folder) > len(allowed[best].folder)) {
			best = i
		}
	}
	if best < 0 {
		t.Errorf("%s: the folder is in no rule of this test", f.path)
		return
	}
	rule := allowed[best]
	if within(target, rule.folder) && rule.folder != "plugin-sdk" && rule.folder != "strategies" {
		return
	}
	if isKit(target) && !mayImportKits(f.dir) {
		t.Errorf("%s may not import %s: it is for tests", f.path, target)
	}
	if within(target, "host/base") && !within(f.dir, "plugin-sdk") && !within(f.dir, "strategies") &&
		!within(f.dir, "host/base") {
		return
	}
	for _, ok := range rule.imports {
		if exact, is := strings.CutSuffix(ok, "="); (is && target == exact) || (!is && within(target, ok)) {
			return
		}
	}
	t.Errorf("%s may not import %s: %s may import %v", f.path, target, rule.folder, rule.imports)
}

func within(dir, folder string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }

func TestTheSDKIsSmall(t *testing.T) {
	_, files := tree(t)
	for _, f := range files {
		if f.test || !within(f.dir, "strategies") {
			continue
		}
		for _, spec := range f.file.Imports {
			if target, _ := strconv.Unquote(spec.Path.Value); strings.Contains(target, "/internal/") {
				t.Errorf("%s imports %s", f.path, target)
			}
		}
	}
}

// TestOnlyTheLabReadsColumns keeps the Arrow library, which is larger than everything
// else together, out of the other programs and of what authors link.
func TestOnlyTheLabReadsColumns(t *testing.T) {
	_, files := tree(t)
	imports := map[string][]string{}
	arrow := map[string]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		for _, spec := range f.file.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			if strings.HasPrefix(target, "github.com/apache/arrow-go/") {
				arrow[f.dir] = f.path
			}
			if own, is := strings.CutPrefix(target, module+"/"); is {
				imports[f.dir] = append(imports[f.dir], own)
			}
		}
	}
	if _, ok := arrow["lab/columnar"]; !ok || len(arrow) != 1 {
		t.Errorf("%v import the Arrow library, only lab/columnar may", arrow)
	}
	if !slices.Contains(linked("cmd/lab", imports), "lab/columnar") {
		t.Error("cmd/lab does not link lab/columnar: does this test look in the right places?")
	}
	for dir := range imports {
		program := within(dir, "cmd") && dir != "cmd/lab" || within(dir, "strategies")
		if !program && !within(dir, "host") && !within(dir, "api") && !within(dir, "plugin-sdk") {
			continue
		}
		for _, part := range linked(dir, imports) {
			if path, ok := arrow[part]; ok {
				t.Errorf("%s links the Arrow library through %s", dir, path)
			}
		}
	}
}

// linked returns a package with all that it imports of this module, near and far.
func linked(dir string, imports map[string][]string) []string {
	all := []string{dir}
	for i := 0; i < len(all); i++ {
		for _, next := range imports[all[i]] {
			if !slices.Contains(all, next) {
				all = append(all, next)
			}
		}
	}
	return all
}

func TestTheSimulatorIsPure(t *testing.T) {
	fset, files := tree(t)
	var pkg []*ast.File
	for _, f := range files {
		if f.dir != "plugin-sdk/sim" || f.test {
			continue
		}
		pkg = append(pkg, f.file)
		for _, spec := range f.file.Imports {
			switch target, _ := strconv.Unquote(spec.Path.Value); {
			case strings.Contains(target, "grpc"), strings.Contains(target, "go-plugin"), target == "time",
				target == "math/rand",
				target == "math/rand/v2", target == "os", target == "net", target == "sync":
				t.Errorf("%s imports %s", f.path, target)
			}
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a goroutine", fset.Position(g.Pos()))
			}
			return true
		})
	}
	if len(pkg) == 0 {
		t.Fatal("plugin-sdk/sim has no files")
	}
	noMapIteration(t, fset, pkg)
}

// noMapIteration checks types without the imported packages: maps that the
// simulator could range over are its own.
func noMapIteration(t *testing.T, fset *token.FileSet, pkg []*ast.File) {
	t.Helper()
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	cfg := types.Config{Importer: nothing{}, Error: func(error) {}}
	_, _ = cfg.Check("sim", fset, pkg, &info) // errors of missing imports are expected
	for _, f := range pkg {
		ast.Inspect(f, func(n ast.Node) bool {
			r, ok := n.(*ast.RangeStmt)
			if !ok {
				return true
			}
			if typ := info.Types[r.X].Type; typ != nil {
				if _, isMap := typ.Underlying().(*types.Map); isMap {
					t.Errorf("%s: ranges over a map", fset.Position(r.Pos()))
				}
			}
			return true
		})
	}
}

type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not loaded", path)
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	_, files := tree(t)
	documented := map[string]bool{}
	for _, f := range files {
		if !f.test {
			documented[f.dir] = documented[f.dir] || f.file.Doc != nil
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// tree parses every Go file of the module but generated ones.
func tree(t *testing.T) (*token.FileSet, []source) {
	t.Helper()
	root := "../../.."
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("this test runs in the folder cmd/tools/tree of the module: %v", err)
	}
	fset := token.NewFileSet()
	var files []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if name := d.Name(); name == "bin" || name == "node_modules" || name == "testdata" ||
				(strings.HasPrefix(name, ".") && rel != ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		f, lines, code, err := parse(fset, path)
		if err != nil || f == nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		files = append(files,
			source{path: rel, dir: dir, test: strings.HasSuffix(rel, "_test.go"), file: f, size: lines,
				code: code})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fset, files
}

func parse(fset *token.FileSet, path string) (f *ast.File, lines, code int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, 0, err
	}
	f, err = parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil || ast.IsGenerated(f) {
		return nil, 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		lines++
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			code++
		}
	}
	return f, lines, code, nil
}
