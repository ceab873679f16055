package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/proc/bundle"
)

// installed makes a bundle of one module and one layer, and adds it to a store.
func installed(t *testing.T) (s Store, sum string) {
	t.Helper()
	out := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	scan := func(name string) []bundle.File {
		files, err := bundle.Scan(filepath.Join(out, name), func(string, fs.DirEntry) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	encode := func(v any) string {
		text, err := bundle.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	put("layer/bin/python3", "interpreter")
	list := encode(bundle.List{Schema: bundle.LayerSchema, Files: scan("layer")})
	layer := bundle.Layer{Name: "python", Version: "3.11", SHA256: digest.SHA256Hex([]byte(list))}
	place := filepath.Join(bundle.LayersFolder, layer.SHA256)
	put(filepath.Join(place, "bin", "python3"), "interpreter")
	put(filepath.Join(place, bundle.ListFile), list)
	put("x.strategy/x.py", "x = 1")
	put("x.strategy/plugin.json", encode(&bundle.Manifest{
		Schema: bundle.ManifestSchema, Name: "x", Runtime: bundle.RuntimePython, Entry: "x:X",
		Interpreter: "bin/python3", Files: scan("x.strategy"), Layers: []bundle.Layer{layer},
		System: []bundle.File{},
	}))
	s, err := OpenStore(filepath.Join(t.TempDir(), "plugins"))
	if err != nil {
		t.Fatal(err)
	}
	p, fault := s.Add(filepath.Join(out, "x.strategy"))
	if fault != nil {
		t.Fatal(fault)
	}
	return s, p.SHA256
}

// TestBundlesAreHashedAgainWhenTouched changes what is executed after it was checked, in the life of one
// host, and puts its times back as a program may.
func TestBundlesAreHashedAgainWhenTouched(t *testing.T) {
	s, sum := installed(t)
	own := filepath.Join(s.place().Files(sum), "x.py")
	old := time.Now().Add(-time.Hour)
	check := func(want string) {
		t.Helper()
		_, err := s.openBundle(sum)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Fatalf("%v, want %q", err, want)
		}
	}
	check("")
	time.Sleep(settled + 100*time.Millisecond)
	check("")
	if _, known := s.known.bundles[sum]; !known {
		if m, err := s.openBundle(sum); err != nil {
			t.Fatal(err)
		} else if _, ok := s.traced(m, sum); ok {
			t.Error("a bundle that nobody touches is hashed at every start")
		}
	}
	if err := os.Chmod(own, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("x = 2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(own, old, old); err != nil {
		t.Fatal(err)
	}
	check("x.py: was changed")
	if err := os.WriteFile(own, []byte("x = 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("")
	added := filepath.Join(filepath.Dir(own), "random.py")
	if err := os.WriteFile(added, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	check("random.py: is not in the list")
}
