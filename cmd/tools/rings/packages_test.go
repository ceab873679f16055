package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
)

func parsed(t *testing.T, text string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTestsAreSelectedByTheirCalls(t *testing.T) {
	functions := map[string]*function{}
	readFunctions(parsed(t, `package x
func TestMain(m *testing.M) { helper() }
func TestPlain(t *testing.T) { ring.Slow(t, "why"); ring.Count(t, "a", 1, 1) }
func TestSized(t *testing.T) { t.Run("a", func(t *testing.T) { _ = ring.Size(1, 2, 3) }) }
func TestFar(t *testing.T)   { near(t) }
func near(t *testing.T)      { helper() }
func TestProof(t *testing.T) { ring.Proof(t, "why") }
`), functions)
	readFunctions(parsed(t, `package x
func helper() { if ring.At() > ring.Test { println() } }
`), functions)
	if got := testsCalling(functions, calls("Size", "Proof", "At")); !slices.Equal(got,
		[]string{"TestFar", "TestProof", "TestSized"}) {
		t.Errorf("%q", got)
	}
}

// TestProveRepeatsNothingAtTheSameSize reads tests that do more in make prove, and others.
func TestProveRepeatsNothingAtTheSameSize(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x_test.go"), []byte(`package x
func TestEqual(t *testing.T)   { ring.Count(t, "a", n, ring.Size(some(1), some(1), 20)) }
func TestSoaked(t *testing.T)  { if ring.At() < ring.Soak { t.Skip("later") } }
func TestLong(t *testing.T)    { ring.Long(t, "why") }
func TestGrows(t *testing.T)   { _, _ = ring.Size(1, 1, 2), ring.Size(1, 2, 2) }
func TestHelped(t *testing.T)  { _ = ring.Size(1, 1, 2); helper() }
func TestUnseen(t *testing.T)  { ring.Undetected(t, "why"); _ = ring.Size(1, 1, 2) }
func TestAt(t *testing.T)      { _ = ring.At() >= ring.Prove }
func helper()                  { _ = ring.At() > ring.Test }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := pkg{ImportPath: "x", Dir: dir, TestGoFiles: []string{"x_test.go"}}
	if err := p.read(); err != nil {
		t.Fatal(err)
	}
	grown := []string{"TestAt", "TestGrows", "TestHelped", "TestUnseen"}
	sized := append([]string{"TestEqual", "TestLong", "TestSoaked"}, grown...)
	slices.Sort(sized)
	if !slices.Equal(p.grown, grown) || !slices.Equal(p.sized, sized) {
		t.Errorf("%q of %q", p.grown, p.sized)
	}
	p.concurrent = true
	for _, c := range []struct {
		race bool
		at   ring.Ring
		want []string
	}{{true, ring.Prove, grown}, {false, ring.Prove, sized}, {true, ring.Soak, sized}} {
		parts := provingParts([]*pkg{&p}, c.race, c.at)
		if got := parts[len(parts)-1].args; !slices.Equal(got[2:], runOf(c.want)) {
			t.Errorf("race %t, ring %d: %q", c.race, c.at, got)
		}
	}
}

func TestDirectives(t *testing.T) {
	f := parsed(t, "package x\n\n//ring:beside it waits\n\n// ring:no-detector is mentioned only\n")
	if !hasDirective(f, runsBeside) || hasDirective(f, noDetector) {
		t.Error("the directives of a file are read wrongly")
	}
	for text, want := range map[string]struct{ goroutines, serves, locks bool }{
		"func f() { go g() }":                   {true, false, false},
		"func f() { w.Go(g) }":                  {true, false, false},
		"func f(t *testing.T) { t.Parallel() }": {true, false, false},
		"import \"net/http/httptest\"":          {false, true, false},
		"import \"sync\"\nvar mu sync.Mutex":    {false, false, true},
		"import \"sync/atomic\"":                {false, false, true},
		"func f() { goes() }":                   {false, false, false},
	} {
		f := parsed(t, "package x\n"+text)
		got := want
		got.goroutines, got.serves, got.locks = startsGoroutines(f), servesConnections(f), holdsLocks(f)
		if got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestLocksAreWatchedWhereTestsShareThem reads packages of files.
func TestLocksAreWatchedWhereTestsShareThem(t *testing.T) {
	const locks, test = "package x\nimport \"sync\"\n", "package x\n"
	for _, c := range []struct {
		source, test string
		want         bool
	}{
		{locks, test, false},
		{locks, test + "func f() { go g() }", true},
		{locks, test + "import \"net/http\"", true},
		{test, test + "func f() { go g() }", false},
		{test + "import \"net/http\"", test, false},
		{test + "func f() { go g() }", test, true},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"x.go": c.source, "x_test.go": c.test} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := pkg{Dir: dir, GoFiles: []string{"x.go"}, TestGoFiles: []string{"x_test.go"}}
		if err := p.read(); err != nil || p.concurrent != c.want {
			t.Errorf("%+v: %v, %t", c, err, p.concurrent)
		}
	}
}

// TestPartsHaveEveryPackageOnce checks that make test leaves nothing out and repeats nothing,
// and that make prove detects races wherever there can be some.
func TestPartsHaveEveryPackageOnce(t *testing.T) {
	all := []*pkg{
		{ImportPath: "a", TestGoFiles: []string{"a_test.go"}, detectable: true},
		{ImportPath: "b", TestGoFiles: []string{"b_test.go"}, detectable: true, concurrent: true},
		{ImportPath: "c", XTestGoFiles: []string{"c_test.go"}, concurrent: true, beside: true},
		{ImportPath: "d", XTestGoFiles: []string{"d_test.go"}, concurrent: true},
		{ImportPath: "x/e", TestGoFiles: []string{"e_test.go"}, sized: []string{"TestE"}},
		{ImportPath: "y/e", TestGoFiles: []string{"e_test.go"}, sized: []string{"TestE"}},
		{ImportPath: "none", concurrent: true, detectable: true},
	}
	var got []string
	for _, p := range testParts(all) {
		got = append(got, p.packages...)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b", "c", "d", "x/e", "y/e"}) {
		t.Errorf("%q", got)
	}
	if kept := testParts(all)[1]; !slices.Equal(kept.packages, []string{"x/e"}) || kept.args[1] != "-o" {
		t.Errorf("make prove finds the programs of %q, made with %q", kept.packages, kept.args)
	}
	for _, race := range []bool{true, false, false} {
		if got := provingParts(all, race, ring.Prove)[0].packages; slices.Equal(got, []string{"b"}) != race {
			t.Errorf("race %t: the detector runs %q", race, got)
		}
	}
}

// TestPartsOfProofs checks what make prove runs beside the rest and what it keeps for its end.
func TestPartsOfProofs(t *testing.T) {
	all := []*pkg{
		{ImportPath: "b", sized: []string{"TestD"}},
		{ImportPath: "a", sized: []string{"TestA", "TestB"}, alone: []string{"TestC"}, beside: true},
	}
	waiting, computing := "bin/tests/waiting/", "bin/tests/computing/"
	two := []string{"-o", waiting, "-run", "^(TestA|TestB)$"}
	want := []part{ // those with most proofs first
		{packages: []string{"a"}, args: two, beside: true, proofs: 2},
		{packages: []string{"b"}, args: []string{"-o", computing, "-run", "^(TestD)$"}, proofs: 1},
		{packages: []string{"a"}, args: []string{"-o", waiting, "-run", "^(TestC)$"}, alone: true, proofs: 1},
	}
	if got := provingParts(all, false, ring.Prove)[1:]; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
