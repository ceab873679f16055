package project

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/lab/stat/random"
)

const (
	// MostVariants is how many variants there are at most; of more, so many are drawn.
	MostVariants = 24
	// tableNumbers is how many numbers a composite literal has at most that is no table.
	tableNumbers = 16
	// largest is beyond every number that a float64 holds exactly.
	largest = 1 << 53
)

// Variant is one number of one file replaced by another.
type Variant struct {
	// File is below the folder, with slashes. Line and Column are those of the number,
	// Offset is its place in the file.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Offset int    `json:"offset"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// ID names the variant: "strategy.go:38:14 20 to 22".
func (v Variant) ID() string {
	return fmt.Sprintf("%s:%d:%d %s to %s", v.File, v.Line, v.Column, v.From, v.To)
}

// Digest is the hash of a list of variants.
func Digest(list []Variant) (string, error) { return digest.Of(list) }

// Around is the neighbourhood of the sources in a folder: each number but 0 and 1 moved by 5,
// 10 and 20 %, a whole number by 1 at least. Tests, hidden folders, modules below, generated
// files and tables of numbers are left out. Of more than MostVariants so many are drawn.
// Stream: literals.
func Around(dir string, seed uint64) ([]Variant, error) {
	files, err := sources(dir)
	if err != nil {
		return nil, err
	}
	var all []Variant
	for _, file := range files {
		list, err := inFile(dir, file)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if len(all) <= MostVariants {
		return all, nil
	}
	drawn := random.New(seed, random.Literals, 0).Perm(len(all))[:MostVariants]
	slices.Sort(drawn)
	out := make([]Variant, MostVariants)
	for i, k := range drawn {
		out[i] = all[k]
	}
	return out, nil
}

// sources are the Go files of a folder that are no tests, in lexical order.
func sources(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			_, module := os.Stat(filepath.Join(path, "go.mod"))
			if strings.HasPrefix(name, ".") || name == "testdata" || name == "vendor" || module == nil {
				return filepath.SkipDir
			}
			return nil
		}
		hidden := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
		if d.Type().IsRegular() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") &&
			!hidden {
			rel, err := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	return files, err
}

// inFile are the variants of one file, none of one that is generated.
func inFile(dir, file string) ([]Variant, error) {
	set := token.NewFileSet()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(parsed) {
		return nil, nil
	}
	var list []Variant
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			return numbers(n) <= tableNumbers
		case *ast.BasicLit:
			at := set.PositionFor(n.Pos(), false)
			for _, to := range neighbours(n) {
				list = append(list, Variant{file, at.Line, at.Column, at.Offset, n.Value, to})
			}
		}
		return true
	})
	return list, nil
}

// numbers counts those in a composite literal, also in what it contains.
func numbers(of *ast.CompositeLit) (count int) {
	ast.Inspect(of, func(n ast.Node) bool {
		if b, ok := n.(*ast.BasicLit); ok && (b.Kind == token.INT || b.Kind == token.FLOAT) {
			count++
		}
		return true
	})
	return count
}

// neighbours are what a number becomes, each once; none for 0, 1 and what is no number.
func neighbours(n *ast.BasicLit) []string {
	if n.Kind != token.INT && n.Kind != token.FLOAT {
		return nil
	}
	x, _ := constant.Float64Val(constant.ToFloat(constant.MakeFromLiteral(n.Value, n.Kind, 0)))
	if x == 0 || x == 1 || !(x < largest) {
		return nil
	}
	var out []string
	for _, percent := range []float64{-20, -10, -5, 5, 10, 20} {
		text := ""
		if n.Kind == token.INT {
			step := max(1, math.Round(x*math.Abs(percent)/100))
			text = strconv.FormatFloat(x+math.Copysign(step, percent), 'f', 0, 64)
		} else if text = strconv.FormatFloat(x*(100+percent)/100, 'g', 6, 64); !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// Sources are the folder that a strategy's program was built from.
type Sources struct{ Dir string }

// Build makes the program of a variant in a folder of its own, under the name of the
// strategy. The error is a *project.BuildError where the variant is no program.
func (s *Sources) Build(ctx context.Context, v Variant, folder, slug string) (Built, error) {
	path := filepath.Join(s.Dir, filepath.FromSlash(v.File))
	text, err := os.ReadFile(path)
	if err != nil {
		return Built{}, err
	}
	end := v.Offset + len(v.From)
	if end > len(text) || string(text[v.Offset:end]) != v.From {
		return Built{}, fmt.Errorf("%s has changed while it was falsified", path)
	}
	changed := filepath.Join(folder, "changed.go")
	if err := os.WriteFile(changed, slices.Concat(text[:v.Offset], []byte(v.To), text[end:]), 0o600); err != nil {
		return Built{}, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return Built{}, err
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return Built{}, err
	}
	made := filepath.Join(folder, slug)
	if err := Compile(ctx, s.Dir, made, "-overlay", file); err != nil {
		return Built{}, err
	}
	return Finished(made)
}
