package bundle

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/digest"
)

var sum = strings.Repeat("a", 64)

func whole() *Manifest {
	return &Manifest{
		Schema: ManifestSchema, Name: "x", Runtime: RuntimePython, Entry: "strategy:X", Interpreter: "bin/python3",
		Files:  []File{{"a.py", sum, 1}, {"b/c.py", sum, 2}},
		Layers: []Layer{{"python", "3.11", sum}}, System: []File{{"/lib/libc.so", sum, 3}},
	}
}

func TestParse(t *testing.T) {
	text, err := Encode(whole())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(text); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		change     func(*Manifest)
	}{
		{"schema", "schema: is", func(m *Manifest) { m.Schema = "assay.bundle/v2" }},
		{"runtime", "runtime: is", func(m *Manifest) { m.Runtime = "ruby" }},
		{"name", "name: is no name", func(m *Manifest) { m.Name = "../x" }},
		{"entry", "entry: must be module:Class", func(m *Manifest) { m.Entry = "-c" }},
		{"no layer", "layers: is empty", func(m *Manifest) { m.Layers = []Layer{} }},
		{"layer", "layers[0].sha256: is not a SHA-256", func(m *Manifest) { m.Layers[0].SHA256 = "../../etc" }},
		{"interpreter", "interpreter: must be a path", func(m *Manifest) { m.Interpreter = "/bin/sh" }},
		{"upwards", "files[0].path: \"../a.py\" must be a path inside", func(m *Manifest) { m.Files[0].Path = "../a.py" }},
		{"absolute", "files[0].path: \"/a.py\" must be", func(m *Manifest) { m.Files[0].Path = "/a.py" }},
		{"twice", "files[1].path: \"a.py\" is not in order", func(m *Manifest) { m.Files[1].Path = "a.py" }},
		{"system", "system[0]: must have an absolute path", func(m *Manifest) { m.System[0].Path = "libc.so" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := whole()
			c.change(m)
			text, err := Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	for name, text := range map[string]string{
		"unknown member": strings.Replace(string(text), `{`, `{"a":1,`, 1),
		"spaces":         strings.Replace(string(text), `,`, `, `, 1),
		"missing member": `{"schema":"assay.bundle/v1"}`,
		"twice":          strings.Replace(string(text), `"name":"x"`, `"name":"x","name":"x"`, 1),
		"no JSON":        "#!/bin/sh",
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	text, err := Encode(whole())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Encode(m)
		if err != nil || digest.SHA256Hex(again) != digest.SHA256Hex([]byte(strings.TrimSuffix(string(text), "\n"))) {
			t.Errorf("%q is read as %q (%v)", text, again, err)
		}
	})
}

// made makes a bundle with one layer in a folder.
func made(t *testing.T) (dir, id string, m *Manifest) {
	t.Helper()
	out := t.TempDir()
	layer := filepath.Join(out, "making")
	put(t, filepath.Join(layer, "bin", "python3"), "interpreter")
	files, err := Scan(layer, func(string, fs.DirEntry) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	list, err := Encode(List{LayerSchema, files})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(layer, ListFile), string(list))
	m = whole()
	m.Layers[0].SHA256, m.System = digest.SHA256Hex(list), []File{}
	if err := os.MkdirAll(filepath.Join(out, LayersFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(layer, filepath.Join(out, LayersFolder, m.Layers[0].SHA256)); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(out, "x"+Suffix)
	put(t, filepath.Join(dir, "a.py"), "a")
	put(t, filepath.Join(dir, "b", "c.py"), "c")
	if m.Files, err = Scan(dir, func(string, fs.DirEntry) bool { return true }); err != nil {
		t.Fatal(err)
	}
	text, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return dir, digest.SHA256Hex(text), m
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(path, 0o644)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestInstalledFilesAreVerified(t *testing.T) {
	dir, id, m := made(t)
	place := Place{filepath.Join(t.TempDir(), "bundles")}
	for range 2 {
		if err := m.Install(dir, id, place); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Verify(id, place); err != nil {
		t.Fatal(err)
	}
	copied := Place{filepath.Join(t.TempDir(), "bundles")}
	if err := m.Copy(id, place, copied); err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(id, copied); err != nil {
		t.Error(err)
	}
	own := filepath.Join(place.Files(id), "a.py")
	added := filepath.Join(place.Files(id), "b", "random.py")
	put(t, own, "A")
	wants(t, m.Verify(id, place), "a.py: was changed")
	wants(t, m.Copy(id, place, Place{filepath.Join(t.TempDir(), "more")}), "a.py: has the SHA-256")
	put(t, own, "a")
	put(t, added, "")
	wants(t, m.Verify(id, place), "b/random.py: is not in the list")
	if err := os.Remove(added); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", added); err != nil {
		t.Fatal(err)
	}
	wants(t, m.Verify(id, place), "b/random.py: is no regular file")
	if err := os.Remove(added); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(place.Layer(m.Layers[0]), "bin", "python3"), "other")
	wants(t, m.Verify(id, place), "layers[0] (python 3.11): bin/python3: was changed")

	// What is executed is the copy, which is as it was: whoever changes the bundle is told so.
	put(t, filepath.Join(dir, "a.py"), "A")
	wants(t, m.Install(dir, id, copied), "a.py: has the SHA-256")
}

func TestWhatIsInstalledIsWhatIsListed(t *testing.T) {
	dir, id, m := made(t)
	put(t, filepath.Join(dir, "a.py"), "A")
	place := Place{filepath.Join(t.TempDir(), "bundles")}
	wants(t, m.Install(dir, id, place), "a.py: has the SHA-256")
	if _, err := os.Stat(place.Files(id)); err == nil {
		t.Error("a bundle that was refused is there")
	}
	if err := os.Remove(filepath.Join(dir, "a.py")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "b", "c.py"), filepath.Join(dir, "a.py")); err != nil {
		t.Fatal(err)
	}
	if m.Install(dir, id, place) == nil {
		t.Error("a link to another file is installed")
	}
}

func TestOtherLibrariesOfTheSystem(t *testing.T) {
	_, _, m := made(t)
	path := filepath.Join(t.TempDir(), "libc.so")
	put(t, path, "1")
	one, err := digest.File(path)
	if err != nil {
		t.Fatal(err)
	}
	m.System = []File{{path, one, 1}}
	if err := m.VerifySystem(); err != nil {
		t.Fatal(err)
	}
	put(t, path, "2")
	wants(t, m.VerifySystem(), "system[0]: "+path+" is not the library that the bundle was built with")
}

func wants(t *testing.T, err error, prefix string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), prefix) {
		t.Errorf("%v, want %s", err, prefix)
	}
}
