// Package python builds the bundle of a strategy in Python: the author's files, and layers for
// the interpreter with its standard library, for the SDK and for each distribution that the
// strategy needs. Nothing of the machine's Python is used when the bundle runs.
//
// [Build] asks the interpreter of the strategy's environment (.venv, or python3 on the PATH)
// what there is, by a script of this package, and copies it. A layer is made once for the same
// content. Package bundle of the host has the form. [Match] plays the simulator for the author's tests.
package python

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/proc/bundle"
	"github.com/assay-run/assay/plugin-sdk/python"
)

//go:embed probe.py
var probeScript string

//go:embed loaded.py
var loadedScript string

// Error is why a bundle cannot be built, for its author.
type Error struct{ Message string }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func failf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Options say what is built.
type Options struct {
	Dir   string // the author's folder
	Name  string // of the strategy
	Entry string // module:Class
	Out   string // the folder in which NAME.strategy and .layers are made
	// Interpreter is a Python; "" is that of .venv in the folder, or python3 on the PATH.
	Interpreter string
}

// probed is what the script answers.
type probed struct {
	Version        string         `json:"version"`
	Implementation string         `json:"implementation"`
	Executable     string         `json:"executable"`
	Stdlib         string         `json:"stdlib"`
	DynLoad        string         `json:"dynload"`
	LibDir         string         `json:"libdir"`
	LibPython      string         `json:"libpython"`
	Short          string         `json:"short"`
	Missing        []string       `json:"missing"`
	Distributions  []distribution `json:"distributions"`
	Homes          []string       `json:"homes"` // folders of which layers are made
}

type distribution struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Base    string   `json:"base"`
	Files   []string `json:"files"`
}

// SDKFolder is where lab init puts the SDK as a Python project, for the author's environment.
// Bundles have that of lab.
const SDKFolder = "sdk"

// sdkRequires is what the SDK itself needs.
var sdkRequires = []string{"protobuf"}

// Build makes the bundle and returns its folder and identity.
func Build(ctx context.Context, o Options) (dir, id string, err error) {
	interpreter, err := find(o)
	if err != nil {
		return "", "", err
	}
	requires, err := requirements(o.Dir)
	if err != nil {
		return "", "", err
	}
	layers := filepath.Join(o.Out, bundle.LayersFolder)
	if err := os.MkdirAll(layers, 0o755); err != nil {
		return "", "", err
	}
	sdk, err := sdkLayer(layers)
	if err != nil {
		return "", "", err
	}
	found, err := probe(ctx, interpreter, o, requires)
	if err != nil {
		return "", "", err
	}
	paths := []string{o.Dir, filepath.Join(layers, sdk.SHA256)}
	libraries, err := loaded(ctx, interpreter, o, paths, append(found.Homes, layers))
	if err != nil {
		return "", "", err
	}
	m := &bundle.Manifest{
		Schema: bundle.ManifestSchema, Name: o.Name, Runtime: bundle.RuntimePython, Entry: o.Entry,
		Interpreter: "bin/" + found.Short, System: []bundle.File{},
	}
	home, err := interpreterLayer(ctx, layers, found)
	if err != nil {
		return "", "", err
	}
	m.Layers = []bundle.Layer{home, sdk}
	for _, d := range found.Distributions {
		l, err := distributionLayer(ctx, layers, found, d)
		if err != nil {
			return "", "", err
		}
		m.Layers = append(m.Layers, l)
	}
	if m.System, err = system(libraries); err != nil {
		return "", "", err
	}
	return write(o, m)
}

// find returns the interpreter.
func find(o Options) (string, error) {
	if o.Interpreter != "" {
		path, err := exec.LookPath(o.Interpreter)
		if err != nil {
			return "", failf("%s cannot be run: name another interpreter by --python", o.Interpreter)
		}
		return path, nil
	}
	own := filepath.Join(o.Dir, ".venv", "bin", "python")
	if _, err := os.Stat(own); err == nil {
		return own, nil
	}
	for _, name := range []string{"python3", "python"} {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}
	return "", failf("there is no Python: install Python 3.11 or newer, or make .venv in %s", o.Dir)
}

// requirements reads the dependencies of pyproject.toml, if there is one.
func requirements(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "pyproject.toml"))
	if errors.Is(err, fs.ErrNotExist) {
		return sdkRequires, nil
	}
	if err != nil {
		return nil, err
	}
	var document struct {
		Project struct {
			Dependencies []string `toml:"dependencies"`
		} `toml:"project"`
	}
	if err := toml.Unmarshal(text, &document); err != nil {
		return nil, failf("pyproject.toml: %v", err)
	}
	return slices.Concat(sdkRequires, document.Project.Dependencies), nil
}

// probe asks the interpreter what the strategy needs.
func probe(ctx context.Context, interpreter string, o Options, requires []string) (*probed, error) {
	p := &probed{}
	if err := ask(ctx, interpreter, o.Dir, probeScript, map[string]any{"requires": requires}, p); err != nil {
		return nil, err
	}
	var major, minor int
	if _, err := fmt.Sscanf(p.Version, "%d.%d", &major, &minor); err != nil || major != 3 || minor < 11 {
		return nil, failf("%s is Python %s: 3.11 or newer is needed", interpreter, p.Version)
	}
	switch {
	case p.Implementation != "cpython":
		return nil, failf("%s is %s: CPython is needed", interpreter, p.Implementation)
	case len(p.Missing) > 0:
		return nil, failf("not installed for %s: %s. Install with: %s -m pip install %s", interpreter,
			strings.Join(p.Missing, ", "), interpreter, strings.Join(p.Missing, " "))
	}
	return p, nil
}

// loaded imports the strategy and lists the libraries of the system that are loaded then.
func loaded(ctx context.Context, interpreter string, o Options, paths, homes []string) ([]string, error) {
	var answer struct {
		Error     string   `json:"error"`
		Libraries []string `json:"libraries"`
	}
	request := map[string]any{"paths": paths, "entry": o.Entry, "homes": homes}
	if err := ask(ctx, interpreter, o.Dir, loadedScript, request, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, failf("the strategy cannot be imported: %s", answer.Error)
	}
	return answer.Libraries, nil
}

// ask runs a script with a request and reads its answer.
func ask(ctx context.Context, interpreter, dir, script string, request, answer any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, interpreter, "-B", "-c", script, string(text))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0", "PYTHONNOUSERSITE=1", "PYTHONPATH=")
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		lines := strings.Split(strings.TrimSpace(complaint.String()), "\n")
		return failf("%s cannot be run as Python 3.11 or newer: %s. Name another interpreter by --python, "+
			"or make .venv again", interpreter, cmp.Or(lines[len(lines)-1], err.Error()))
	}
	if err := json.Unmarshal(lastLine(out.Bytes()), answer); err != nil {
		return failf("%s answers with %.80q: it is no Python 3.11 or newer. Make .venv again, or remove it",
			interpreter, out.String())
	}
	return nil
}

// lastLine skips what the author's module prints when it is imported.
func lastLine(out []byte) []byte {
	out = bytes.TrimSpace(out)
	return out[bytes.LastIndexByte(out, '\n')+1:]
}

// system hashes the machine's libraries that were loaded.
func system(libraries []string) ([]bundle.File, error) {
	files := []bundle.File{}
	for _, name := range libraries {
		sum, err := digest.File(name)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		files = append(files, bundle.File{Path: name, SHA256: sum, Size: info.Size()})
	}
	return files, nil
}

// write makes the bundle's folder in the place of an older one.
func write(o Options, m *bundle.Manifest) (dir, id string, err error) {
	m.Files, err = bundle.Scan(o.Dir, isSource)
	if err != nil {
		return "", "", err
	}
	text, err := bundle.Encode(m)
	if err != nil {
		return "", "", err
	}
	if _, err := bundle.Parse(text); err != nil {
		return "", "", err
	}
	temp, err := os.MkdirTemp(o.Out, file.TempPrefix)
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(temp)
	for _, f := range m.Files {
		if err := copyTo(filepath.Join(o.Dir, filepath.FromSlash(f.Path)), temp, f.Path); err != nil {
			return "", "", err
		}
	}
	if err := os.WriteFile(filepath.Join(temp, bundle.ManifestFile), text, 0o644); err != nil {
		return "", "", err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return "", "", err
	}
	dir = filepath.Join(o.Out, o.Name+bundle.Suffix)
	old := temp + ".old"
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	defer os.RemoveAll(old)
	return dir, digest.SHA256Hex(text), os.Rename(temp, dir)
}

// isSource reports whether a file of the author's folder is part of the strategy: tests, hidden
// files, caches and what is about the project are not.
func isSource(rel string, d fs.DirEntry) bool {
	name := path.Base(rel)
	if strings.HasPrefix(name, ".") || name == "__pycache__" {
		return false
	}
	if d.IsDir() {
		return name != "tests" && name != "testdata" && rel != SDKFolder &&
			!strings.HasSuffix(name, bundle.Suffix)
	}
	switch {
	case strings.HasPrefix(name, "test_") || name == "conftest.py":
		return false
	case slices.Contains([]string{"pyproject.toml", "lab.json", "lab.schema.json", "README.md"}, rel):
		return false
	}
	return true
}

// SourceFiles lists the files of the author's folder that are part of the strategy.
func SourceFiles(dir string) ([]bundle.File, error) { return bundle.Scan(dir, isSource) }

func copyTo(from, dir, rel string) error {
	target := filepath.Join(dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// sdkLayer is the SDK that this program brings along.
func sdkLayer(layers string) (bundle.Layer, error) {
	return layer(layers, "assay-sdk", Version, func(temp string) error {
		sources, err := fs.Sub(python.Sources, "src")
		if err != nil {
			return err
		}
		if err := os.CopyFS(temp, sources); err != nil {
			return err
		}
		typing := filepath.Join(temp, "assay", "strategy_pb2.pyi") // for editors only
		return os.Remove(typing)
	})
}
