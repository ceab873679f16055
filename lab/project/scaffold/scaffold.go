package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/assay-run/assay/lab/project"
)

//go:embed templates
var templates embed.FS

// ExistsError says that something is in the way.
type ExistsError struct{ Path string }

// Error names it.
func (e *ExistsError) Error() string {
	return e.Path + " exists already: choose another slug or remove it; nothing was written"
}

// New is a folder that was made.
type New struct {
	Dir string
	// Alone says that it is a module of its own.
	Alone bool
	// Files are its files, sorted; the folder of the SDK stands for all that is in it.
	Files []string
}

// values of the templates.
type values struct {
	Slug, Title string
	Alone       bool
	Go          string
	Requires    []requirement
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
	for _, name := range names {
		t, err := template.ParseFS(templates, "templates/"+strings.TrimPrefix(name, ".")+".tmpl")
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, v); err != nil {
			return nil, err
		}
		files[name] = b.Bytes()
	}
	return files, nil
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
