package docs_test

import (
	"bufio"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-run/assay/api/docs"
	"github.com/assay-run/assay/api/v1/apitest"
)

// required reads the versions of go.mod.
func required(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("../../go.mod")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs go.mod of the repository, which is not two folders up: run it in a checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		cell := strings.Fields(strings.TrimPrefix(strings.TrimSpace(s.Text()), "require "))
		if len(cell) >= 2 && strings.HasPrefix(cell[1], "v") {
			out[cell[0]] = cell[1]
		}
	}
	return out
}

func TestGoModules(t *testing.T) {
	list, err := docs.GoModules()
	if err != nil {
		t.Fatal(err)
	}
	versions := required(t)
	listed := map[string]bool{}
	for _, p := range list {
		listed[p.Name] = true
		if strings.Contains(p.Name, "/") && versions[p.Name] != p.Version {
			t.Errorf("%s is %s in go.mod and %s in the list: run scripts/licenses.sh", p.Name,
				versions[p.Name], p.Version)
		}
		checkPart(t, p)
	}
	for _, name := range []string{"Assay", "Go standard library and runtime",
		"github.com/hashicorp/go-plugin", "google.golang.org/grpc", "modernc.org/sqlite"} {
		if !listed[name] {
			t.Errorf("%s is not in the list", name)
		}
	}
	for path, file := range imported(t) {
		if !slices.ContainsFunc(list, func(p docs.Part) bool {
			return path == p.Name || strings.HasPrefix(path, p.Name+"/")
		}) {
			t.Errorf("%s imports %s, whose licence is not in the list: run scripts/licenses.sh", file, path)
		}
	}
}

// imported are the packages of others that the programs import directly, each with
// a file that does. What only tests, authors' tests and tools use is left out.
func imported(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		skipped := strings.Fields("internal tool sdktest apitest testdata node_modules bin docs")
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "../.." &&
			(slices.Contains(skipped, d.Name()) || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if host, _, _ := strings.Cut(name, "/"); strings.Contains(host, ".") &&
				!strings.HasPrefix(name, "github.com/assay-run/assay") {
				out[name] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 5 {
		t.Errorf("only %d imports of others found", len(out))
	}
	return out
}

func checkPart(t *testing.T, p docs.Part) {
	t.Helper()
	proof := map[string]string{
		"MIT": "Permission is hereby granted, free of charge", "MPL-2.0": "Mozilla Public License",
		"Apache-2.0":   "Apache License",
		"BSD-2-Clause": "Redistribution", "BSD-3-Clause": "Neither the name",
		"ISC": "Permission to use, copy, modify",
	}[p.License]
	text := strings.Join(strings.Fields(strings.Join(p.Texts, "\n")), " ")
	if proof == "" || !strings.Contains(text, proof) && !strings.Contains(text, "may be used to endorse") {
		t.Errorf("%s states %s, which its text does not bear out: %.200s", p.Name, p.License, text)
	}
}

func TestEveryTextIsUsed(t *testing.T) {
	files, err := filepath.Glob("licenses/texts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no texts: %v", err)
	}
	var lists strings.Builder
	for _, name := range []string{"go.tsv"} {
		data, err := os.ReadFile("licenses/" + name)
		if err != nil {
			t.Fatal(err)
		}
		lists.Write(data)
	}
	for _, f := range files {
		if !strings.Contains(lists.String(), strings.TrimSuffix(filepath.Base(f), ".txt")) {
			t.Errorf("%s belongs to no part: run scripts/licenses.sh", f)
		}
	}
}

func TestLicensesPage(t *testing.T) {
	part := docs.Part{Name: "lightweight-charts", Version: "5.2.1", License: "Apache-2.0",
		Texts: []string{"Apache License <here>", "NOTICE of the charts"}}
	page := apitest.Get(t, serve(t, docs.Options{Parts: []docs.Part{part}})+"/docs/licenses")
	for _, want := range []string{
		"<th scope=\"row\">lightweight-charts</th><td>5.2.1</td><td>Apache-2.0</td>",
		"Apache License &lt;here&gt;", "NOTICE of the charts",
		"github.com/hashicorp/go-plugin", "Mozilla Public License", "SQLite"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if n := len(regexp.MustCompile(`<h3 id="text-\d+">`).FindAllString(page, -1)); n < 30 {
		t.Errorf("%d texts", n)
	}
}
