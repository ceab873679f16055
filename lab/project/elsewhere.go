package project

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
)

// Elsewhere is the sources of a program as they would run on another day and on a machine of
// another name: each use of time.Now and of os.Hostname is another function. The kernel has no
// clock of its own for a process, and Go reads it without a call that could be caught, so that a
// program without sources, and the modules that it imports, keep the day that it is.
type Elsewhere struct {
	// Days is by how many days the clock is ahead.
	Days int `json:"days"`
	// Uses are the places that are changed, in the order of files and offsets.
	Uses []Use `json:"uses"`
}

// Use is a place in the sources that asks for the clock or the name of the machine.
type Use struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Offset int    `json:"offset"`
	// Text is what stands there, such as time.Now, Name the function, such as Now.
	Text string `json:"text"`
	Name string `json:"name"`
}

// asked are the functions that tell a program where and when it runs, by package.
var asked = map[string]string{"time": "Now", "os": "Hostname"}

// FindUses are the places below a folder that ask for the clock or the name of the machine.
func FindUses(dir string) ([]Use, error) {
	files, err := sources(dir)
	if err != nil {
		return nil, err
	}
	var out []Use
	for _, file := range files {
		set := token.NewFileSet()
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		parsed, err := parser.ParseFile(set, file, text, 0)
		if err != nil {
			return nil, err
		}
		names := map[string]string{} // of packages in this file, to the function that is looked for
		for _, i := range parsed.Imports {
			path, _ := strconv.Unquote(i.Path.Value) // the parser has read it
			name := path
			if i.Name != nil {
				name = i.Name.Name
			}
			if asked[path] != "" {
				names[name] = asked[path]
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			if ok && x.Obj == nil && names[x.Name] == s.Sel.Name {
				from, to := set.PositionFor(s.Pos(), false), set.PositionFor(s.End(), false)
				out = append(out,
					Use{file, from.Line, from.Offset, string(text[from.Offset:to.Offset]), s.Sel.Name})
			}
			return true
		})
	}
	return out, nil
}

// DigestUses is the hash of places.
func DigestUses(list []Use) (string, error) { return digest.Of(list) }

// moved is what a use becomes. Both are functions of the same type as what they replace.
func (e Elsewhere) moved(u Use) string {
	qualifier, _, _ := strings.Cut(u.Text, ".")
	if u.Name == "Hostname" {
		return `(func() (string, error) { return "elsewhere", nil })`
	}
	return fmt.Sprintf("(func() %[1]s.Time { return %[1]s.Now().Add(%[2]d * 24 * %[1]s.Hour) })",
		strings.TrimSpace(qualifier), e.Days)
}

// BuildElsewhere makes the program in a folder of its own, under the name of the strategy. The error is
// a *BuildError where the changed sources are no program.
func (s *Sources) BuildElsewhere(ctx context.Context, e Elsewhere, folder, slug string) (Built, error) {
	replace := map[string]string{}
	for i := 0; i < len(e.Uses); {
		file := e.Uses[i].File
		path := filepath.Join(s.Dir, filepath.FromSlash(file))
		text, err := os.ReadFile(path)
		if err != nil {
			return Built{}, err
		}
		var out []byte
		at, hosts := 0, false
		for ; i < len(e.Uses) && e.Uses[i].File == file; i++ {
			u := e.Uses[i]
			end := u.Offset + len(u.Text)
			if u.Offset < at || end > len(text) || string(text[u.Offset:end]) != u.Text {
				return Built{}, fmt.Errorf("%s has changed while it was falsified", path)
			}
			out = slices.Concat(out, text[at:u.Offset], []byte(e.moved(u)))
			at, hosts = end, hosts || u.Name == "Hostname"
		}
		out = append(out, text[at:]...)
		if hosts { // package os stays in use
			qualifier, _, _ := strings.Cut(e.qualifierOf(file), ".")
			out = append(out, "\nvar _ = "+qualifier+".Hostname\n"...)
		}
		changed := filepath.Join(folder, fmt.Sprintf("changed_%d.go", len(replace)))
		if err := os.WriteFile(changed, out, 0o600); err != nil {
			return Built{}, err
		}
		replace[path] = changed
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return Built{}, err
	}
	return s.compileWith(ctx, overlay, folder, slug)
}

// qualifierOf is how a file names the function Hostname.
func (e Elsewhere) qualifierOf(file string) string {
	i := slices.IndexFunc(e.Uses, func(u Use) bool { return u.File == file && u.Name == "Hostname" })
	return e.Uses[i].Text
}
