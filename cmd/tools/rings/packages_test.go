package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
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
func TestFast(t *testing.T)  { ring.Undetected(t, "why") }
`), functions)
	readFunctions(parsed(t, `package x
func helper() { if ring.At() > ring.Test { println() } }
`), functions)
	if got := testsCalling(functions, "Size", "Proof", "At"); !slices.Equal(got,
		[]string{"TestFar", "TestProof", "TestSized"}) {
		t.Errorf("%q", got)
	}
	if got := testsCalling(functions, "Undetected"); !slices.Equal(got, []string{"TestFast"}) {
		t.Errorf("%q", got)
	}
}

func TestDirectives(t *testing.T) {
	f := parsed(t, "package x\n\n//ring:beside it waits\n\n// ring:no-detector is mentioned only\n")
	if !hasDirective(f, runsBeside) || hasDirective(f, noDetector) {
		t.Error("the directives of a file are read wrongly")
	}
	for text, want := range map[string]bool{
		"func f() { go g() }":                true,
		"func f() { w.Go(g) }":               true,
		"import \"sync\"\nvar mu sync.Mutex": true,
		"func f() { goes() }":                false,
	} {
		if got := isConcurrent(parsed(t, "package x\n"+text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestPartsHaveEveryPackageOnce checks that make test leaves nothing out, and that it repeats
// only what the race detector rules out.
func TestPartsHaveEveryPackageOnce(t *testing.T) {
	all := []*pkg{
		{ImportPath: "a", TestGoFiles: []string{"a_test.go"}, detectable: true},
		{ImportPath: "b", TestGoFiles: []string{"b_test.go"}, detectable: true, concurrent: true,
			undetected: []string{"TestFast"}},
		{ImportPath: "c", XTestGoFiles: []string{"c_test.go"}, concurrent: true, beside: true},
		{ImportPath: "d", XTestGoFiles: []string{"d_test.go"}, concurrent: true},
		{ImportPath: "e", TestGoFiles: []string{"e_test.go"}, detectable: true, concurrent: true,
			later: true},
		{ImportPath: "none", concurrent: true, detectable: true},
	}
	for _, race := range []bool{true, false} {
		var got []string
		for _, p := range testParts(all, race) {
			got = append(got, p.packages...)
		}
		slices.Sort(got)
		want := []string{"a", "b", "c", "d", "e"}
		if race {
			want = []string{"a", "b", "b", "c", "d", "e"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("race %t: %q", race, got)
		}
		later := provingParts(all, race)
		if got := later[len(later)-1].packages; slices.Equal(got, []string{"e"}) != race {
			t.Errorf("race %t: the detector of make prove runs %q", race, got)
		}
	}
}
