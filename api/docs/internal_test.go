package docs

import (
	"strings"
	"testing"
	"testing/fstest"
)

func list(text string) fstest.MapFS {
	return fstest.MapFS{
		"licenses/go.tsv":       {Data: []byte(text)},
		"licenses/texts/aa.txt": {Data: []byte("text a")},
		"licenses/texts/bb.txt": {Data: []byte("text b")},
	}
}

func TestReadParts(t *testing.T) {
	parts, err := readParts(list("a\tv1\tMIT\taa\nb\t\tApache-2.0\tbb aa\n"), "licenses/go.tsv")
	if err != nil || len(parts) != 2 || parts[1].Texts[0] != "text b" || parts[1].Texts[1] != "text a" {
		t.Fatalf("%+v %v", parts, err)
	}
	for text, want := range map[string]string{
		"":                              "go.tsv:1",
		"a\tv1\tMIT\n":                  "go.tsv:1",
		"a\tv1\tMIT\taa\na\tv1\t\taa\n": "go.tsv:2",
		"a\tv1\tMIT\tcc\n":              "cc.txt",
		"a\tv1\tMIT\t\n":                "go.tsv:1",
	} {
		if _, err := readParts(list(text), "licenses/go.tsv"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := readParts(fstest.MapFS{}, "licenses/go.tsv"); err == nil {
		t.Error("a missing list is no error")
	}
}

func FuzzReadParts(f *testing.F) {
	f.Add("a\tv1\tMIT\taa\nb\t\tApache-2.0\tbb aa\n")
	f.Add("\t\t\t")
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := readParts(list(text), "licenses/go.tsv")
		if err != nil {
			return
		}
		for _, p := range parts {
			if p.Name == "" || p.License == "" || len(p.Texts) == 0 {
				t.Errorf("an empty part in %q: %+v", text, p)
			}
		}
	})
}

func TestEqualTextsShareANumber(t *testing.T) {
	groups := []licenseGroup{
		group("x", "", "",
			[]Part{{Name: "a", Texts: []string{"one", "two"}}, {Name: "b", Texts: []string{"two"}}}),
		group("y", "", "", []Part{{Name: "c", Texts: []string{"one"}}}),
	}
	texts := numberTexts(groups)
	if len(texts) != 2 || strings.Join(texts[0].Of, " ") != "a c" ||
		strings.Join(texts[1].Of, " ") != "a b" || groups[1].Rows[0].Refs[0] != 1 {
		t.Errorf("%+v %+v", texts, groups)
	}
}
