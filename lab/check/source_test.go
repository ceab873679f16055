package check

//ring:no-detector what is tested runs in other processes

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSuspects(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"a.go": `package main

import (
	"slices"
	"time"

	"example.com/elsewhere"
)

type book struct{ prices map[string]float64 }

func total(b book, other elsewhere.Map, list []int) (sum float64) {
	for _, p := range b.prices {
		sum += p
	}
	var keys []string
	for k := range b.prices {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for range list {
	}
	for range other {
	}
	for k := range b.prices {
		delete(b.prices, k)
	}
	return sum + float64(time.Now().Unix())
}
`,
		"a_test.go": "package main\n\nimport \"time\"\n\nvar _ = time.Now()\n",
		"broken.go": "package main\n\nfunc {",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n, found, err := Suspects(dir)
	want := []string{
		"a.go:28:23: time.Now reads the clock",
		"a.go:13:2: range over a map has another order each time: sort its keys first",
	}
	if err != nil || n != 2 || !slices.Equal(found, want) {
		t.Errorf("%d files, %q, want %q: %v", n, found, want, err)
	}
}
