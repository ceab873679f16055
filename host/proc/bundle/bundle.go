// Package bundle describes strategies that are not one file: a folder NAME.strategy with the
// author's files, and folders of libraries, the layers, which several of them share.
//
// The manifest, plugin.json, lists the SHA-256 of all that is executed: the author's files,
// each layer by the hash of its own list, and the libraries of the system that the
// interpreter loads. It is canonical JSON, so its hash is the identity of the strategy, as that
// of its file is of a program. [Open] checks a folder, [Manifest.Install] copies it to where it
// is executed from, and [Manifest.Verify] checks the copy.
//
// It imports host/base. Package proc starts what was installed; lab/python makes bundles.
package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
)

// Names of files and folders.
const (
	Suffix       = ".strategy"   // of a bundle's folder
	ManifestFile = "plugin.json" // in it
	LayersFolder = ".layers"     // beside bundles: a folder for each layer, named by its hash
	ListFile     = "layer.json"  // in a layer
)

// The schemas of manifest and list.
const (
	ManifestSchema = "assay.bundle/v1"
	LayerSchema    = "assay.layer/v1"
)

// RuntimePython is the runtime of strategies in Python.
const RuntimePython = "python"

// maxDocument bounds a manifest or list, in bytes; maxFiles the files of one.
const (
	maxDocument = 8 << 20
	maxFiles    = 50_000
	maxDepth    = 8
)

// File is one file by its path in a folder, with slashes, or by an absolute path of the system.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Manifest is plugin.json.
type Manifest struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Runtime string `json:"runtime"`
	// Entry is module:Class.
	Entry string `json:"entry"`
	// Interpreter is the program's path in the first layer.
	Interpreter string  `json:"interpreter"`
	Files       []File  `json:"files"`
	Layers      []Layer `json:"layers"`
	// System are libraries of the machine that the interpreter loads: libc and its kin.
	System []File `json:"system"`
}

// Layer names a folder of files that several bundles share.
type Layer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // of its list
}

// List is layer.json.
type List struct {
	Schema string `json:"schema"`
	Files  []File `json:"files"`
}

// Error is what is wrong with a bundle. Field is the path in the document, or the file.
type Error struct{ Field, Message string }

// Error names the field.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

func wrong(field, format string, args ...any) error {
	return &Error{field, fmt.Sprintf(format, args...)}
}

// IsFolder reports whether a path names the folder of a bundle.
func IsFolder(name string) bool { return strings.HasSuffix(name, Suffix) }

// IsManifest reports whether a file's first bytes are those of a manifest.
func IsManifest(head []byte) bool { return bytes.HasPrefix(head, []byte("{")) }

// Parse reads a manifest. Its text must be canonical, because its hash is the identity.
func Parse(text []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := decode(ManifestFile, text, m); err != nil {
		return nil, err
	}
	return m, m.check()
}

func decode(name string, text []byte, into any) error {
	if len(text) > maxDocument {
		return wrong(name, "has more than %d bytes", maxDocument)
	}
	if _, err := digest.Strict(text, maxDepth); err != nil {
		return wrong(name, "%v", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return wrong(name, "%v", err)
	}
	canonical, err := digest.JCS(into)
	if err != nil {
		return wrong(name, "%v", err)
	}
	if !bytes.Equal(canonical, bytes.TrimSuffix(text, []byte("\n"))) {
		return wrong(name, "is not canonical JSON with every member: build the bundle again with lab build")
	}
	return nil
}

func (m *Manifest) check() error {
	switch {
	case m.Schema != ManifestSchema:
		return wrong("schema", "is %.40q, must be %s", m.Schema, ManifestSchema)
	case m.Runtime != RuntimePython:
		return wrong("runtime", "is %.40q, must be %s", m.Runtime, RuntimePython)
	case m.Name == "" || strings.ContainsAny(m.Name, "/\\\x00"):
		return wrong("name", "is no name")
	case m.Entry == "" || strings.HasPrefix(m.Entry, "-") || strings.ContainsRune(m.Entry, 0):
		return wrong("entry", "must be module:Class")
	case len(m.Layers) == 0:
		return wrong("layers", "is empty: the first one has the interpreter")
	case !local(m.Interpreter):
		return wrong("interpreter", "must be a path in the first layer")
	}
	for i, l := range m.Layers {
		if !digest.IsSHA256(l.SHA256) {
			return wrong(fmt.Sprintf("layers[%d].sha256", i), "is not a SHA-256 in lower-case hex")
		}
	}
	for i, f := range m.System {
		if !filepath.IsAbs(f.Path) || !digest.IsSHA256(f.SHA256) {
			return wrong(fmt.Sprintf("system[%d]", i), "must have an absolute path and a SHA-256")
		}
	}
	return checkFiles("files", m.Files)
}

func checkFiles(field string, files []File) error {
	if len(files) > maxFiles {
		return wrong(field, "has more than %d files", maxFiles)
	}
	for i, f := range files {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case !local(f.Path):
			return wrong(at+".path", "%.80q must be a path inside the folder", f.Path)
		case !digest.IsSHA256(f.SHA256):
			return wrong(at+".sha256", "is not a SHA-256 in lower-case hex")
		case f.Size < 0:
			return wrong(at+".size", "is negative")
		case i > 0 && files[i-1].Path >= f.Path:
			return wrong(at+".path", "%.80q is not in order", f.Path)
		}
	}
	return nil
}

// local reports whether a path with slashes stays inside its folder and has one spelling.
func local(p string) bool {
	return fs.ValidPath(p) && p != "." && path.Clean(p) == p && !strings.ContainsAny(p, "\\\x00")
}

// Encode writes a manifest or list as the text whose hash names it.
func Encode(v any) ([]byte, error) { return digest.JCS(v) }

// Scan lists the files of a folder that keep reports true for, in order of their paths. A
// symbolic link and whatever else is no regular file is an error.
func Scan(dir string, keep func(path string, d fs.DirEntry) bool) ([]File, error) {
	var files []File
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !keep(rel, d) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		if !d.Type().IsRegular() {
			return wrong(rel, "is no regular file")
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum, err := digest.File(name)
		files = append(files, File{rel, sum, info.Size()})
		return err
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

// Open reads the manifest of a bundle's folder. Its text is what is hashed.
func Open(dir string) (m *Manifest, text []byte, err error) {
	text, err = readBounded(filepath.Join(dir, ManifestFile))
	if err != nil {
		return nil, nil, err
	}
	m, err = Parse(text)
	return m, text, err
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxDocument+1))
}

// Place is where a bundle is executed from: Root holds a folder for each bundle and layer,
// named by its hash.
type Place struct{ Root string }

// PlaceIn is that of a folder of programs, in which the manifest of each bundle is a file named by its hash.
func PlaceIn(programs string) Place { return Place{filepath.Join(programs, "bundles")} }

func (p Place) dir(sum string) string { return filepath.Join(p.Root, sum) }

// Files is the folder of the author's files of the bundle with this identity.
func (p Place) Files(id string) string { return p.dir(id) }

// Layer is the folder of a layer's files.
func (p Place) Layer(l Layer) string { return p.dir(l.SHA256) }

// Install copies a bundle and its layers to a place, and checks every file on the way. What is
// there already is checked, not copied; a bundle whose own files have changed since is refused all the same,
// for whoever has changed them expects to see that.
func (m *Manifest) Install(from, id string, to Place) error {
	_, err := os.Stat(to.Files(id))
	known := err == nil
	err = m.install(from, filepath.Join(filepath.Dir(from), LayersFolder), id, to)
	if err != nil || !known {
		return err
	}
	for _, f := range m.Files {
		if err := compare(filepath.Join(from, filepath.FromSlash(f.Path)), f); err != nil {
			return err
		}
	}
	return nil
}

// Copy copies a bundle that is installed at one place to another one, and checks it as Install does.
func (m *Manifest) Copy(id string, from, to Place) error {
	return m.install(from.Files(id), from.Root, id, to)
}

func (m *Manifest) install(from, layers, id string, to Place) error {
	if err := os.MkdirAll(to.Root, 0o700); err != nil {
		return err
	}
	for i, l := range m.Layers {
		source := filepath.Join(layers, l.SHA256)
		list, text, err := readList(source, l)
		if err != nil {
			return under(fmt.Sprintf("layers[%d] (%s %s)", i, l.Name, l.Version), err)
		}
		if err := install(source, to.Layer(l), list.Files, text); err != nil {
			return under(fmt.Sprintf("layers[%d] (%s %s)", i, l.Name, l.Version), err)
		}
	}
	return install(from, to.Files(id), m.Files, nil)
}

func under(field string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{field + ": " + e.Field, e.Message}
	}
	return fmt.Errorf("%s: %w", field, err)
}

func readList(dir string, l Layer) (*List, []byte, error) {
	text, err := readBounded(filepath.Join(dir, ListFile))
	if err != nil {
		return nil, nil, err
	}
	if got := digest.SHA256Hex(text); got != l.SHA256 {
		return nil, nil, wrong(ListFile, "has the SHA-256 %s, not that of the manifest", got)
	}
	list, err := parseList(text)
	return list, text, err
}

// parseList reads a layer's list.
func parseList(text []byte) (*List, error) {
	list := &List{}
	if err := decode(ListFile, text, list); err != nil {
		return nil, err
	}
	if list.Schema != LayerSchema {
		return nil, wrong("schema", "is %.40q, must be %s", list.Schema, LayerSchema)
	}
	return list, checkFiles("files", list.Files)
}

// install copies files into a folder that appears whole or not at all.
func install(from, to string, files []File, list []byte) error {
	if _, err := os.Stat(to); err == nil {
		return verify(to, files)
	}
	temp, err := os.MkdirTemp(filepath.Dir(to), file.TempPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for _, f := range files {
		if err := copyFile(from, temp, f); err != nil {
			return err
		}
	}
	if list != nil {
		if err := os.WriteFile(filepath.Join(temp, ListFile), list, 0o444); err != nil {
			return err
		}
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	err = os.Rename(temp, to)
	if _, exists := os.Stat(to); err != nil && exists == nil {
		return verify(to, files) // another process was first
	}
	return err
}

func copyFile(from, to string, f File) error {
	in, err := os.Open(filepath.Join(from, filepath.FromSlash(f.Path)))
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, wrong(f.Path, "is no regular file"))
	}
	return writeFile(io.LimitReader(in, f.Size+1), to, f)
}

// writeFile makes a file of a folder from all that a reader has.
func writeFile(from io.Reader, to string, f File) error {
	target := filepath.Join(to, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	// Executable: an interpreter and its libraries are among them, and no file is ever run by name.
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o555)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return compare(target, f)
}

func compare(name string, f File) error {
	sum, err := digest.File(name)
	if err == nil && sum != f.SHA256 {
		err = wrong(f.Path, "has the SHA-256 %s, not %s: it was changed", sum, f.SHA256)
	}
	return err
}

// Verify checks every file that is installed, and the libraries of the system.
func (m *Manifest) Verify(id string, at Place) error {
	for i, l := range m.Layers {
		list, _, err := readList(at.Layer(l), l)
		if err == nil {
			err = verify(at.Layer(l), list.Files)
		}
		if err != nil {
			return under(fmt.Sprintf("layers[%d] (%s %s)", i, l.Name, l.Version), err)
		}
	}
	if err := verify(at.Files(id), m.Files); err != nil {
		return err
	}
	return m.VerifySystem()
}

// VerifySystem checks that the machine's libraries are those that the bundle was built with.
func (m *Manifest) VerifySystem() error {
	for i, f := range m.System {
		sum, err := digest.File(f.Path)
		if err != nil {
			return under(fmt.Sprintf("system[%d]", i), err)
		}
		if sum != f.SHA256 {
			return wrong(fmt.Sprintf("system[%d]", i),
				"%s is not the library that the bundle was built with: build it again with lab build", f.Path)
		}
	}
	return nil
}

// verify checks that a folder has the files, and no other one that could be imported.
func verify(dir string, files []File) error {
	found, err := Scan(dir, func(rel string, _ fs.DirEntry) bool { return rel != ListFile })
	if err != nil {
		return err
	}
	for i := range max(len(files), len(found)) {
		switch {
		case i >= len(found) || i < len(files) && found[i].Path > files[i].Path:
			return wrong(files[i].Path, "is missing")
		case i >= len(files) || found[i].Path < files[i].Path:
			return wrong(found[i].Path, "is not in the list")
		case found[i].SHA256 != files[i].SHA256:
			return wrong(files[i].Path, "was changed: its SHA-256 is %s, not %s", found[i].SHA256,
				files[i].SHA256)
		}
	}
	return nil
}
