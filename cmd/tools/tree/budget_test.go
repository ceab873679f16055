package tree_test

import (
	"bufio"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The budgets of docs/architecture.md.
const (
	maxFileLines     = 600
	maxFunctionLines = 80
	maxMethods       = 40
	maxFields        = 20
	maxColumns       = 110
	minPackageLines  = 150
)

// excess is how much of a budget each place takes that is above it: a kind and a name.
type excess map[string]int

func TestBudgets(t *testing.T) {
	fset, files := tree(t)
	found := excess{}
	for _, f := range files {
		if f.test {
			continue
		}
		if f.size > maxFileLines {
			found["file "+f.path] = f.size
		}
		for _, d := range f.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				if n := fset.Position(fn.End()).Line - fset.Position(
					fn.Pos()).Line + 1; n > maxFunctionLines {
					found["function "+f.path+" "+fn.Name.Name] = n
				}
			}
		}
		found.add("wide", f.dir, wideLines(t, fset, f))
		found.add("citation", f.dir, danglingCitations(f))
	}
	countTypes(files, found)
	countPackages(files, found)
	countLiterals(files, found)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		t.Errorf("%s: %d is above the budget (docs/architecture.md)", name, found[name])
	}
}

func (e excess) add(kind, place string, n int) {
	if n > 0 {
		e[kind+" "+place] += n
	}
}

// wideLines counts the lines of a file that are wider than the budget: a tab takes four
// columns, and struct tags and links may be as long as they are.
func wideLines(t *testing.T, fset *token.FileSet, f source) int {
	t.Helper()
	in, err := os.Open(filepath.Join("../../..", filepath.FromSlash(f.path)))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	tags := map[int]bool{}
	ast.Inspect(f.file, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			tags[fset.Position(field.Tag.Pos()).Line] = true
		}
		return true
	})
	n, at := 0, 0
	for s := bufio.NewScanner(in); s.Scan(); {
		line := strings.ReplaceAll(s.Text(), "\t", "    ")
		if at++; len([]rune(line)) > maxColumns && !strings.Contains(line, "://") && !tags[at] {
			n++
		}
	}
	return n
}

// citations are of texts that are not in the repository: sections and rules by a number
// without the name of a page, and pages that docs does not have.
var (
	citations = regexp.MustCompile(`\bsections? [0-9]|\b[AB][0-9]{1,2} (says|wants)|\bthe pages? (say|want)`)
	pages     = regexp.MustCompile(`[\w./-]+\.md\b`)
	standards = regexp.MustCompile(`RFC|FIPS|paper|specification of|POSIX|docs/|C2SP|Go's|book|\bet al`)
)

func danglingCitations(f source) int {
	n := 0
	for _, group := range f.file.Comments {
		for _, line := range group.List {
			if citations.MatchString(line.Text) && !standards.MatchString(group.Text()) {
				n++
			}
			for _, page := range pages.FindAllString(line.Text, -1) {
				if !pageExists(page, f.dir) {
					n++
				}
			}
		}
	}
	return n
}

func pageExists(page, dir string) bool {
	for _, folder := range []string{"", "docs", "docs/adr", dir} {
		if _, err := os.Stat(filepath.Join("../../..", folder, filepath.FromSlash(page))); err == nil {
			return true
		}
	}
	return false
}

// typeSize is what a type has of its own, and the types of its package that it embeds.
type typeSize struct {
	methods  int
	fields   int
	record   bool // every field has a tag: a contract fixes it
	embedded []string
}

// countTypes counts methods, with those of embedded types of the same package, and the
// fields of types that have methods. Methods that only marshal do not count.
func countTypes(files []source, found excess) {
	types := map[string]*typeSize{} // by package and name
	at := func(name string) *typeSize {
		if types[name] == nil {
			types[name] = &typeSize{}
		}
		return types[name]
	}
	for _, f := range files {
		if f.test {
			continue
		}
		for _, d := range f.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && !isMarshalling(d.Name.Name) {
					at(f.dir+"."+typeName(d.Recv.List[0].Type)).methods++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						at(f.dir+"."+s.Name.Name).read(f.dir, s)
					}
				}
			}
		}
	}
	for name, size := range types {
		if n := methodsOf(types, name, map[string]bool{}); n > maxMethods {
			found["methods "+name] = n
		}
		if size.methods > 0 && size.fields > maxFields && !size.record {
			found["fields "+name] = size.fields
		}
	}
}

func (s *typeSize) read(dir string, spec *ast.TypeSpec) {
	str, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	s.record = true
	for _, field := range str.Fields.List {
		s.fields += max(1, len(field.Names))
		s.record = s.record && field.Tag != nil
		if len(field.Names) == 0 {
			if name := typeName(field.Type); name != "" {
				s.embedded = append(s.embedded, dir+"."+name)
			}
		}
	}
}

func methodsOf(types map[string]*typeSize, name string, seen map[string]bool) int {
	size := types[name]
	if size == nil || seen[name] {
		return 0
	}
	seen[name] = true
	n := size.methods
	for _, e := range size.embedded {
		n += methodsOf(types, e, seen)
	}
	return n
}

// typeName returns the name of a type of the same package behind pointers and type
// parameters, "" of any other.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func isMarshalling(method string) bool {
	return strings.HasPrefix(method, "Marshal") || strings.HasPrefix(method, "Unmarshal") ||
		method == "String" || method == "Error"
}

// smallBecause is how the comment of a small package gives its reason.
var smallBecause = regexp.MustCompile(`(?i)\bof its own\b|\bown package\b|\bsmall because\b`)

// oneFolderEach holds the falsification tests: each is whole in a package, however small.
const oneFolderEach = "lab/falsify/tests"

// countPackages finds the packages of the product with fewer lines of code than the budget
// wants whose comment gives no reason.
func countPackages(files []source, found excess) {
	lines, reasons := map[string]int{}, map[string]bool{}
	for _, f := range files {
		if f.test {
			continue
		}
		if isKit(f.dir) || len(f.file.Decls) == 0 {
			continue
		}
		lines[f.dir] += f.code
		reasons[f.dir] = reasons[f.dir] || f.file.Name.Name == "main" ||
			filepath.Dir(f.dir) == oneFolderEach || smallBecause.MatchString(f.file.Doc.Text())
	}
	for dir, n := range lines {
		if n < minPackageLines && !reasons[dir] {
			found["small "+dir] = minPackageLines - n
		}
	}
}

// code is what an error code looks like.
var code = regexp.MustCompile(`^[A-Z]{2,}[A-Z0-9]*(_[A-Z0-9]+)+$`)

// otherWords look like error codes and are none, or are codes only in one of two packages.
var otherWords = map[string]string{
	"LOT_SIZE":     "a filter of Binance's rules, which the simulated venue answers with too",
	"MIN_NOTIONAL": "a filter of Binance's rules, which the simulated venue answers with too",
	"NOT_FOUND":    "what a venue answers to a query, and a code of the HTTP edge",
	"RISK_KILL":    "governance reads it in a stored row and may not import the host's trading",
	"INVALID_JSON": "lab stats eval reads lines, the API reads bodies: two contracts, neither imports the " +
		"other",
}

// countLiterals counts string literals that are error codes outside the package that owns
// them: the one that declares it as a constant, or the first that has it.
func countLiterals(files []source, found excess) {
	type use struct{ declared, literal int }
	uses := map[string]map[string]*use{} // code, package
	for _, f := range files {
		if f.test || isKit(f.dir) || within(f.dir, "cmd/tools") {
			continue
		}
		constants := map[*ast.BasicLit]bool{}
		ast.Inspect(f.file, func(n ast.Node) bool {
			if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
				ast.Inspect(d, func(n ast.Node) bool {
					if lit, ok := n.(*ast.BasicLit); ok {
						constants[lit] = true
					}
					return true
				})
			}
			return true
		})
		ast.Inspect(f.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !code.MatchString(text) || strings.HasPrefix(text, "ASSAY_") ||
				strings.HasPrefix(text, "SERVICE_") || otherWords[text] != "" {
				return true
			}
			if uses[text] == nil {
				uses[text] = map[string]*use{}
			}
			if uses[text][f.dir] == nil {
				uses[text][f.dir] = &use{}
			}
			if constants[lit] {
				uses[text][f.dir].declared++
			} else {
				uses[text][f.dir].literal++
			}
			return true
		})
	}
	for _, places := range uses {
		owner := ""
		for _, dir := range slices.Sorted(maps.Keys(places)) {
			if owner == "" || places[owner].declared == 0 && places[dir].declared > 0 {
				owner = dir
			}
		}
		for dir, u := range places {
			if dir != owner {
				found.add("literal", dir, u.declared+u.literal)
			}
		}
	}
}
