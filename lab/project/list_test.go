package project

import (
	"os"
	"path/filepath"
	"testing"
)

func TestListIsWhatCanBeAskedFor(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := func(slug, title string) string {
		return `{"schema":"lab/v1","slug":"` + slug + `","title":"` + title +
			`","exchange":"sample","symbols":["BTC/USDT"],"timeframe":"1h"}`
	}
	write("go.mod", "module "+Module+"\n")
	write("strategies/one/lab.json", config("one", "First"))
	write("strategies/broken/lab.json", "{")
	write("strategies/empty/README.md", "no lab.json")
	write("strategies/Bad Name/lab.json", "{")
	write("work/lab.json", config("own", "Of the folder"))
	write("work/two/lab.json", config("two", "Second"))
	write("work/same/lab.json", config("one", "Again"))
	write("work/.hidden/lab.json", config("hidden", "Hidden"))
	at := func(elem ...string) string { return filepath.Join(root, filepath.Join(elem...), FileName) }
	want := []Name{{"broken", "", at("strategies", "broken")}, {"one", "First", at("strategies", "one")},
		{"own", "Of the folder", at("work")}, {"two", "Second", at("work", "two")}}
	got := List(filepath.Join(root, "work"))
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
	if list := List(filepath.Join(root, "nowhere", "at", "all")); len(list) != 2 { // those of the checkout
		t.Errorf("%v", list)
	}
	if list := List(t.TempDir()); len(list) != 0 {
		t.Errorf("%v", list)
	}
}
