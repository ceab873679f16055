// Package scaffold makes the folder of a new strategy: lab init.
//
// Inside a checkout the folder is strategies/<slug>. Elsewhere it is a Go module of its
// own and whole: the SDK that it builds with lies in it as sources. They come out of this
// program: sdk.zip has those of plugin-sdk as a module, made by cmd/tools/sdkzip; Update puts
// the ones of a newer program in their place. All files of a folder appear at once or none
// does, and nothing that exists is ever overwritten.
package scaffold

import (
	"archive/zip"
	"bytes"
	"embed"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/python"
	sources "github.com/assay-run/assay/plugin-sdk/python"
)

//go:embed templates python signals adopt
var templates embed.FS

// PythonSDK is the folder of a strategy in Python with the SDK as a project, which pip installs.
const PythonSDK = python.SDKFolder

// ExistsError reports that something is in the way.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string {
	return e.Path + " exists already: choose another slug or remove it; nothing was written"
}

// New is a folder that was made.
type New struct {
	Dir string
	// Alone reports that it is a module of its own.
	Alone bool
	// Files are its files, sorted; the folder of the SDK stands for all that is in it.
	Files []string
}

// values of the templates.
type values struct {
	Slug, Title string
	Class       string // of a strategy in Python
	Alone       bool
	Go          string
	Requires    []requirement
	Adopted
}

// Adopted is what the folder of a strategy for another engine has of its own.
type Adopted struct {
	Engine    string // its name
	Module    string // of the SDK, that stands for it
	File      string // the strategy's own, as it is named in the folder
	Timeframe string
	Differs   []string // what is not the same here
	Exclusive bool
	Needs     []string // distributions
	Cash      string
	Execution string // JSON
}

// Create makes the folder of a strategy: in the checkout around the working directory,
// else in the working directory as a module of its own. The error is a
// *project.SlugError, an *ExistsError or of the file system.
func Create(slug, working string) (*New, error) {
	if err := project.CheckSlug(slug); err != nil {
		return nil, err
	}
	n := &New{Dir: filepath.Join(working, slug), Alone: true}
	if root := project.Checkout(working); root != "" {
		n.Dir, n.Alone = filepath.Join(root, "strategies", slug), false
	}
	if err := free(n.Dir); err != nil {
		return nil, err
	}
	files, err := n.render(slug)
	if err != nil {
		return nil, err
	}
	return n, n.write(files)
}

// free refuses a name that is taken, also one that only differs in - and _.
func free(dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return &ExistsError{dir}
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if project.SameName(e.Name(), filepath.Base(dir)) {
			return &ExistsError{filepath.Join(filepath.Dir(dir), e.Name())}
		}
	}
	return nil
}

// render makes the content of every file.
func (n *New) render(slug string) (map[string][]byte, error) {
	v := values{Slug: slug, Title: title(slug), Alone: n.Alone}
	names := []string{"main.go", "strategy.go", "strategy_test.go", "lab.json", "README.md"}
	files := map[string][]byte{"lab.schema.json": project.Schema}
	if n.Alone {
		sdk, err := sdkFiles()
		if err != nil {
			return nil, err
		}
		if v.Go, v.Requires, err = modFile(sdk["go.mod"]); err != nil {
			return nil, err
		}
		for name, text := range sdk {
			files[project.SDKFolder+"/"+name] = text
		}
		files["go.sum"] = sdk["go.sum"]
		names = append(names, "go.mod", ".gitignore", ".gitattributes")
	}
	return files, fill(files, "templates", names, v)
}

// fill adds files that are made from the templates of a folder.
func fill(files map[string][]byte, folder string, names []string, v values) error {
	for _, name := range names {
		t, err := template.ParseFS(templates, folder+"/"+strings.TrimPrefix(name, ".")+".tmpl")
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, v); err != nil {
			return err
		}
		files[name] = b.Bytes()
	}
	return nil
}

// CreatePython makes the folder of a strategy in Python below the working directory, with the
// SDK as a project in it. Its errors are those of Create.
func CreatePython(slug, working string) (*New, error) {
	return createPython(slug, working, "python", values{Class: class(slug)}, nil)
}

// CreateSignals is CreatePython for a strategy of signals, which needs pandas.
func CreateSignals(slug, working string) (*New, error) {
	if err := project.CheckSlug(slug); err != nil {
		return nil, err
	}
	v, own := values{Slug: slug, Title: title(slug), Class: class(slug)}, map[string][]byte{}
	names := []string{"strategy.py", "test_strategy.py", "pyproject.toml"}
	if err := fill(own, "signals", names, v); err != nil {
		return nil, err
	}
	return createPython(slug, working, "python", v, own)
}

// Adopt makes the folder of a strategy for another engine as CreatePython does: class is its name,
// and own are its files.
func Adopt(slug, working, class string, a Adopted, own map[string][]byte) (*New, error) {
	return createPython(slug, working, "adopt", values{Class: class, Adopted: a}, own)
}

func createPython(slug, working, folder string, v values, own map[string][]byte) (*New, error) {
	if err := project.CheckSlug(slug); err != nil {
		return nil, err
	}
	n := &New{Dir: filepath.Join(working, slug), Alone: true}
	if err := free(n.Dir); err != nil {
		return nil, err
	}
	files := map[string][]byte{"lab.schema.json": project.Schema}
	err := fs.WalkDir(sources.Sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[PythonSDK+"/"+name], err = sources.Sources.ReadFile(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	v.Slug, v.Title = slug, title(slug)
	names := []string{"strategy.py", "test_strategy.py", "pyproject.toml", "lab.json", "README.md"}
	err = errors.Join(fill(files, folder, names, v), fill(files, "python", []string{".gitignore"}, v))
	if err != nil {
		return nil, err
	}
	maps.Copy(files, own)
	return n, n.write(files)
}

// class makes the name of a class of a slug: my_first is MyFirst.
func class(slug string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(slug, func(r rune) bool { return r == '_' || r == '-' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// title makes words of a slug: my_first-try is My first try.
func title(slug string) string {
	text := strings.NewReplacer("_", " ", "-", " ").Replace(slug)
	return strings.ToUpper(text[:1]) + text[1:]
}

// write puts all files in place at once.
func (n *New) write(files map[string][]byte) error {
	parent := filepath.Dir(n.Dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(parent, ".lab-init-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := writeFiles(temp, files); err != nil {
		return err
	}
	for name := range files {
		if folder, _, below := strings.Cut(name, "/"); below {
			name = folder + "/"
		}
		if !slices.Contains(n.Files, name) {
			n.Files = append(n.Files, name)
		}
	}
	slices.Sort(n.Files)
	if err := os.Rename(temp, n.Dir); err != nil {
		if _, taken := os.Lstat(n.Dir); taken == nil {
			return &ExistsError{n.Dir}
		}
		return err
	}
	return nil
}

//go:embed sdk.zip
var sdkZip []byte

// maxSDK bounds a file of the SDK; each is far below it.
const maxSDK = 16 << 20

// sdkFiles are the files of the SDK that this program brings along, by slash separated
// path.
func sdkFiles() (map[string][]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(sdkZip), int64(len(sdkZip)))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		if !fs.ValidPath(f.Name) {
			return nil, fmt.Errorf("sdk.zip has the path %q", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(r, maxSDK))
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		files[f.Name] = text
	}
	return files, nil
}

// Own is what the SDK that this program brings along has as its VERSION.
func Own() (project.SDK, error) {
	files, err := sdkFiles()
	if err != nil {
		return project.SDK{}, err
	}
	return project.DecodeSDK(files[project.VersionFile])
}

// writeFiles writes files below a folder.
func writeFiles(dir string, files map[string][]byte) error {
	for name, text := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644))
		if err != nil {
			return err
		}
	}
	return nil
}

// requirement is a module that the SDK needs.
type requirement struct{ Path, Version string }

// modFile is the go.mod of the SDK: its go version and what it requires.
func modFile(text []byte) (goVersion string, requires []requirement, err error) {
	mod, err := modfile.Parse("sdk/go.mod", text, nil)
	if err != nil {
		return "", nil, err
	}
	for _, r := range mod.Require {
		requires = append(requires, requirement{r.Mod.Path, r.Mod.Version})
	}
	slices.SortFunc(requires, func(a, b requirement) int { return strings.Compare(a.Path, b.Path) })
	return mod.Go.Version, requires, nil
}

// Change is the SDK of a folder before an update and after it.
type Change struct {
	// Before is nil where the folder held none.
	Before *project.SDK
	After  project.SDK
	// Edited reports that the one before was not what its VERSION had.
	Edited bool
}

// Update puts the SDK of this program into the folder of a strategy, whatever is there, and
// has its go.mod take it from there. The error is project.ErrNoModule where the folder is no
// module of its own.
func Update(dir string) (*Change, error) {
	files, err := sdkFiles()
	if err != nil {
		return nil, err
	}
	c := &Change{}
	if c.After, err = project.DecodeSDK(files[project.VersionFile]); err != nil {
		return nil, err
	}
	to := filepath.Join(dir, project.SDKFolder)
	stated, sum, err := project.ReadSDK(to)
	if err == nil {
		c.Before, c.Edited = &stated, stated.SHA256 != sum
	} else if taken, _ := os.ReadDir(to); len(taken) > 0 && !project.HoldsSDK(to) {
		return nil, &ExistsError{to}
	}
	mod, sums, err := renewed(dir, files)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(dir, ".sdk-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	fresh, old := filepath.Join(temp, "new"), filepath.Join(temp, "old")
	if err := writeFiles(fresh, files); err != nil {
		return nil, err
	}
	if err := os.Rename(to, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.Rename(fresh, to); err != nil {
		return nil, err
	}
	err = file.Write(filepath.Join(dir, "go.sum"), sums, 0o644)
	return c, errors.Join(err, file.Write(filepath.Join(dir, "go.mod"), mod, 0o644))
}

// renewed are go.mod and go.sum of a folder for the SDK's files: at least the versions that
// it requires.
func renewed(dir string, files map[string][]byte) (mod, sums []byte, err error) {
	path := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, project.ErrNoModule
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := modfile.Parse(path, text, nil)
	if err != nil {
		return nil, nil, &project.BuildError{Problem: err.Error()}
	}
	goVersion, requires, err := modFile(files["go.mod"])
	if err != nil {
		return nil, nil, err
	}
	have := map[string]string{}
	for _, r := range f.Require {
		have[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range requires {
		switch version, known := have[r.Path]; {
		case !known:
			f.AddNewRequire(r.Path, r.Version, true)
		case semver.Compare(version, r.Version) < 0:
			err = errors.Join(err, f.AddRequire(r.Path, r.Version))
		}
	}
	if f.Go == nil || semver.Compare("v"+f.Go.Version, "v"+goVersion) < 0 {
		err = errors.Join(err, f.AddGoStmt(goVersion))
	}
	err = errors.Join(err, f.AddReplace(project.Module, "", "./"+project.SDKFolder, ""))
	if err != nil {
		return nil, nil, err
	}
	f.Cleanup()
	if mod, err = f.Format(); err != nil {
		return nil, nil, err
	}
	known, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	lines := slices.Collect(strings.Lines(string(known) + string(files["go.sum"])))
	slices.Sort(lines)
	return mod, []byte(strings.Join(slices.Compact(lines), "")), nil
}
