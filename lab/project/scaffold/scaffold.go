package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
	// Files are its files, sorted.
	Files []string
}

// values of the templates.
type values struct {
	Slug, Title string
	Alone       bool
	Go, SDK     string
	Requires    []string
}

// Create makes the folder of a strategy: in the checkout around the working directory,
// else in the working directory as a module of its own. The error is a
// *project.SlugError, an *ExistsError or of the file system.
func Create(slug, working, stateDir string) (*New, error) {
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
	files, err := n.render(slug, stateDir)
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
func (n *New) render(slug, stateDir string) (map[string][]byte, error) {
	v := values{Slug: slug, Title: title(slug), Alone: n.Alone}
	names := []string{"main.go", "strategy.go", "strategy_test.go", "lab.json", "README.md"}
	files := map[string][]byte{"lab.schema.json": project.Schema}
	if n.Alone {
		sdk, err := Extract(stateDir)
		if err != nil {
			return nil, err
		}
		var sums []byte
		if v.Go, v.Requires, sums, err = modFile(); err != nil {
			return nil, err
		}
		v.SDK = replacement(n.Dir, sdk)
		files["go.sum"] = sums
		names = append(names, "go.mod", ".gitignore")
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

// replacement is the path of the SDK in go.mod: relative when both lie below one
// folder that is not the root.
func replacement(dir, sdk string) string {
	rel, err := filepath.Rel(dir, sdk)
	if err != nil || strings.Count(filepath.ToSlash(rel), "../") >= strings.Count(filepath.ToSlash(dir), "/") {
		return quote(filepath.ToSlash(sdk))
	}
	if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	return quote(rel)
}

// quote is a path as go.mod takes it.
func quote(path string) string {
	if strings.ContainsAny(path, " \t\"'`(),") {
		return fmt.Sprintf("%q", path)
	}
	return path
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
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(temp, name), text, 0o644); err != nil {
			return err
		}
		n.Files = append(n.Files, name)
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

var replaceLine = regexp.MustCompile(`(?m)^replace ` + regexp.QuoteMeta(project.Module) + ` => .*$`)

// Repair gives a stand-alone module its SDK back: it unpacks it again, and where
// go.mod points elsewhere it is put right. It says whether go.mod was changed. Modules
// that do not use the unpacked SDK are left alone.
func Repair(dir, stateDir string) (bool, error) {
	path := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	old := replaceLine.Find(text)
	if old == nil || !bytes.Contains(old, []byte("/sdk/")) {
		return false, nil
	}
	sdk, err := Extract(stateDir)
	if err != nil {
		return false, err
	}
	want := []byte("replace " + project.Module + " => " + replacement(dir, sdk))
	if bytes.Equal(bytes.TrimSpace(old), want) {
		return false, nil
	}
	return true, os.WriteFile(path, bytes.Replace(text, old, want, 1), 0o644)
}
