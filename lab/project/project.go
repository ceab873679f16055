// Package project is a strategy's folder: where it is, what its lab.json has, how its plugin
// is built, and the variants of its source with other number literals.
//
// Building runs the Go tool with the same switches everywhere, so that two clones of one
// checkout give the same bytes wherever they lie.
package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assay-run/assay/host/base/hint"
)

// Module is the module of the checkout that strategies may live in.
const Module = "github.com/assay-run/assay"

var slugPattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// SlugError refuses a name.
type SlugError struct{ Slug string }

// Error reports what a slug looks like.
func (e *SlugError) Error() string {
	return fmt.Sprintf(
		"%q is no slug: begin with a small letter, then small letters, digits, _ and -, at most 63 in all",
		e.Slug)
}

// CheckSlug reports whether a name can be a strategy's; the error is a *SlugError.
func CheckSlug(slug string) error {
	if !slugPattern.MatchString(slug) {
		return &SlugError{slug}
	}
	return nil
}

// SameName reports whether two names are one: - and _ count as equal.
func SameName(a, b string) bool {
	return strings.ReplaceAll(a, "-", "_") == strings.ReplaceAll(b, "-", "_")
}

// NotFoundError reports where a strategy was looked for.
type NotFoundError struct {
	Slug    string
	Tried   []string
	Missing string // the file that is missing in a folder that was named
}

// Error reports what to do.
func (e *NotFoundError) Error() string {
	if e.Missing != "" {
		return fmt.Sprintf("there is no strategy %q: %s does not exist", e.Slug, e.Missing)
	}
	return fmt.Sprintf("there is no strategy %q: neither %s exists; make one with: lab init strategy %s",
		e.Slug, strings.Join(e.Tried, " nor "), e.Slug)
}

// Project is a strategy's folder.
type Project struct {
	Slug string
	// Dir is absolute.
	Dir    string
	Config *Config
	// Raw is the bytes of lab.json.
	Raw []byte
}

// Find looks a strategy up: in dir if it is given, else in the working directory's
// own lab.json, in strategies/ of the checkout around it, and in a folder of that name
// in it. The error is a *SlugError, *NotFoundError or *ConfigError.
func Find(slug, dir, working string) (*Project, error) {
	if err := CheckSlug(slug); err != nil {
		return nil, err
	}
	if dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(working, dir)
		}
		p, err := open(slug, dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &NotFoundError{Slug: slug, Missing: filepath.Join(dir, FileName)}
		}
		return p, err
	}
	missing := &NotFoundError{Slug: slug}
	for _, place := range places(slug, working) {
		p, err := open(slug, place.dir)
		var other *ConfigError
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case place.own && err == nil && p.Config.Slug != slug:
		case place.own && errors.As(err, &other) && !mentions(place.dir, slug):
		default:
			return p, err
		}
		missing.Tried = append(missing.Tried, filepath.Join(place.dir, FileName))
	}
	return nil, missing
}

// Name is a strategy that can be asked for, and where its lab.json is.
type Name struct{ Slug, Title, File string }

// List is the strategies around a folder: its own, those of the checkout that it lies
// in, and those of the folders in it, sorted. One whose lab.json is broken has the name
// of its folder and no title.
func List(working string) []Name {
	files := []string{filepath.Join(working, FileName)}
	if root := Checkout(working); root != "" {
		files = append(files, inFolders(filepath.Join(root, "strategies"))...)
	}
	files = append(files, inFolders(working)...)
	var list []Name
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		n := Name{Slug: filepath.Base(filepath.Dir(file)), File: file}
		if c, err := Parse(file, text); err == nil {
			n.Slug, n.Title = c.Slug, c.Title
		}
		known := slices.ContainsFunc(list, func(have Name) bool { return have.Slug == n.Slug })
		if CheckSlug(n.Slug) == nil && !known {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b Name) int { return strings.Compare(a.Slug, b.Slug) })
	return list
}

// inFolders is where the lab.json of each folder in a folder would be.
func inFolders(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(dir, e.Name(), FileName))
		}
	}
	return files
}

type place struct {
	dir string
	own bool // counts only if its lab.json has the slug
}

func places(slug, working string) []place {
	list := []place{{working, true}}
	if root := Checkout(working); root != "" {
		list = append(list, place{filepath.Join(root, "strategies", slug), false})
	}
	return append(list, place{filepath.Join(working, slug), false})
}

// mentions reports whether a broken lab.json is meant for the slug.
func mentions(dir, slug string) bool {
	text, err := os.ReadFile(filepath.Join(dir, FileName))
	return err == nil && strings.Contains(string(text), `"`+slug+`"`)
}

func open(slug, dir string) (*Project, error) {
	file := filepath.Join(dir, FileName)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	config, err := Parse(file, text)
	if err != nil {
		return nil, err
	}
	return &Project{Slug: slug, Dir: dir, Config: config, Raw: text}, nil
}

// Checkout is the root of the checkout around a folder, "" outside one.
func Checkout(dir string) string {
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && declares(string(text), Module) && !HoldsSDK(dir) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// declares reports whether the text of a go.mod is that of a module.
func declares(text, module string) bool {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.Trim(strings.TrimSpace(name), `"`) == module
		}
	}
	return false
}

// notJSON is the fault of a text that cannot be parsed, at the place where the parser gave up.
func notJSON(text []byte, err error) Fault {
	f := Fault{Message: "is not JSON: " + err.Error()}
	var bad *jsontext.SyntacticError
	if !errors.As(err, &bad) {
		return f
	}
	offset := int(bad.ByteOffset)
	f.Line, f.Column = hint.Position(text, offset)
	f.Pointer = string(bad.JSONPointer)
	before, after := bytes.TrimSpace(text[:min(offset, len(text))]),
		bytes.TrimSpace(text[min(offset, len(text)):])
	switch {
	case len(after) == 0:
		f.Message = "is not JSON: the text ends too early"
	case bytes.HasSuffix(before, []byte(",")) && (after[0] == '}' || after[0] == ']'):
		f.Message = "is not JSON: there is a comma before this " + string(after[:1])
	case errors.Is(err, jsontext.ErrDuplicateName):
		f.Message = "is there twice"
	case bad.Err != nil:
		f.Message = "is not JSON: " + bad.Err.Error()
	}
	return f
}

// locate finds a member or item of a text that is JSON, or the nearest that encloses it: line and column,
// from 1.
func locate(text []byte, pointer string) (line, column int) {
	best, offset := -1, 0
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		t, err := d.ReadToken()
		if err != nil {
			break
		}
		kind := t.Kind()
		if kind == '}' || kind == ']' {
			continue
		}
		here := string(d.StackPointer())
		if (pointer == here || strings.HasPrefix(pointer, here+"/")) && len(here) > best {
			best, offset = len(here), int(d.InputOffset())-1
		}
	}
	if best < 0 {
		return 0, 0
	}
	return hint.Position(text, start(text, offset))
}

// start goes back from the last byte of a token to its first, as far as one line goes.
func start(text []byte, last int) int {
	if last < 0 || last >= len(text) {
		return 0
	}
	switch text[last] {
	case '{', '[':
		return last
	case '"':
		for i := last - 1; i >= 0; i-- {
			if text[i] == '"' && (i == 0 || text[i-1] != '\\') {
				return i
			}
		}
	}
	for i := last; i > 0; i-- {
		if strings.IndexByte(" \t\r\n:,[{", text[i-1]) >= 0 {
			return i
		}
	}
	return 0
}
