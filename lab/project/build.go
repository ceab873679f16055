package project

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/proc/bundle"
	"github.com/assay-run/assay/lab/python"
	"github.com/assay-run/assay/lab/stat/random"
)

// Built is a plugin ready to run.
type Built struct {
	Path string
	// SHA256 is of its bytes, SourceSHA256 of what it was built from: the sorted paths
	// and hashes of the folder's files, tests left out. It is empty for a program that
	// was not built here.
	SHA256, SourceSHA256 string
	// SDKSHA256 is of the SDK inside the folder, "" where it is elsewhere; SDKEdited reports
	// that it is not what its VERSION has.
	SDKSHA256 string
	SDKEdited bool
}

// BuildError reports that there is no plugin: the Go tool refused, and Output is what it
// printed, or Problem reports what is wrong with a finished program.
type BuildError struct{ Output, Problem string }

func (e *BuildError) Error() string {
	if e.Problem != "" {
		return e.Problem
	}
	lines := strings.SplitN(strings.TrimSpace(e.Output), "\n", 12)
	return "go build failed:\n" + strings.Join(lines[:min(len(lines), 11)], "\n")
}

// ErrNoGo reports that there is no Go tool.
var ErrNoGo = errors.New("the go command is not on the PATH: install Go from https://go.dev/dl, or name a finished program in lab.json: \"plugin\": {\"path\": \"bin/x\"}")

// flags of every build: nothing of the machine or the folder gets into the bytes.
var (
	buildFlags = []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w"}
	buildEnv   = []string{"CGO_ENABLED=0", "GOAMD64=v1"}
)

// BuildEnv is the environment of every build and test, so that what one has compiled the
// other need not.
func BuildEnv() []string { return append(os.Environ(), buildEnv...) }

// IsFirstBuild reports whether nothing of the strategy was built in a state directory
// before, so that the SDK may have to be compiled, too.
func (p *Project) IsFirstBuild(stateDir string) bool {
	name := p.Slug
	if p.Config.Plugin.Python != "" {
		name += bundle.Suffix
	}
	_, err := os.Stat(filepath.Join(stateDir, "build", name))
	return p.Config.Plugin.Path == "" && errors.Is(err, fs.ErrNotExist)
}

// Build makes the plugin in <state_dir>/build/<slug>, or finds the program that
// lab.json names. The error is ErrNoGo, a *BuildError or of the file system.
func (p *Project) Build(ctx context.Context, stateDir string) (Built, error) {
	if p.Config.Plugin.Path != "" {
		return Finished(filepath.Join(p.Dir, filepath.FromSlash(p.Config.Plugin.Path)))
	}
	stateDir, err := filepath.Abs(stateDir)
	if err != nil {
		return Built{}, err
	}
	folder := filepath.Join(stateDir, "build")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Built{}, err
	}
	if p.Config.Plugin.Python != "" {
		built, list, err := p.bundle(ctx, folder, "")
		if err != nil {
			return Built{}, err
		}
		return built, keepSources(stateDir, p.Dir, list, built.SourceSHA256)
	}
	sdk, edited, err := sdkOf(p.Slug, p.Dir)
	if err != nil {
		return Built{}, err
	}
	// Beside its place first: another lab may be starting the program that is there.
	temp, err := os.MkdirTemp(folder, ".tmp-")
	if err != nil {
		return Built{}, err
	}
	defer os.RemoveAll(temp)
	made := filepath.Join(temp, p.Slug)
	if err := Compile(ctx, p.Dir, made); err != nil {
		return Built{}, err
	}
	list, err := sourceFiles(p.Dir)
	if err != nil {
		return Built{}, err
	}
	source, err := hashList(list)
	if err != nil {
		return Built{}, err
	}
	if err := keepSources(stateDir, p.Dir, list, source); err != nil {
		return Built{}, err
	}
	path := filepath.Join(folder, p.Slug)
	if err := os.Rename(made, path); err != nil {
		return Built{}, err
	}
	built, err := Finished(path)
	built.SourceSHA256, built.SDKSHA256, built.SDKEdited = source, sdk, edited
	return built, err
}

// Bundle makes the bundle of a strategy in Python in a folder, with an interpreter, "" for the
// one of its environment. The error is a *BuildError if it cannot be made.
func (p *Project) Bundle(ctx context.Context, folder, interpreter string) (Built, error) {
	built, _, err := p.bundle(ctx, folder, interpreter)
	return built, err
}

// bundle is Bundle, with the files that the bundle was made of.
func (p *Project) bundle(ctx context.Context, folder, interpreter string) (Built, []fileHash, error) {
	dir, id, err := python.Build(ctx, python.Options{
		Dir: p.Dir, Name: p.Slug, Entry: p.Config.Plugin.Python, Out: folder, Interpreter: interpreter,
	})
	if wrong, ok := errors.AsType[*python.Error](err); ok {
		return Built{}, nil, &BuildError{Problem: wrong.Message}
	}
	if err != nil {
		return Built{}, nil, err
	}
	files, err := python.SourceFiles(p.Dir)
	if err != nil {
		return Built{}, nil, err
	}
	list := make([]fileHash, len(files))
	for i, f := range files {
		list[i] = fileHash{f.Path, f.SHA256}
	}
	source, err := hashList(list)
	built := Built{Path: filepath.Join(dir, bundle.ManifestFile), SHA256: id, SourceSHA256: source}
	return built, list, err
}

// Compile builds the program of a folder, with further switches. The error is ErrNoGo, a
// *BuildError or that of the context.
func Compile(ctx context.Context, dir, to string, switches ...string) error {
	tool, err := exec.LookPath("go")
	if err != nil {
		return ErrNoGo
	}
	cmd := exec.CommandContext(ctx, tool, slices.Concat([]string{"build"}, buildFlags, switches,
		[]string{"-o", to, "."})...)
	cmd.Dir, cmd.Env = dir, BuildEnv()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &BuildError{Output: cmp.Or(strings.TrimSpace(output.String()), err.Error())}
	}
	return nil
}

// Finished is a program that is there already. The error is a *BuildError if it is not.
func Finished(path string) (Built, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Built{}, &BuildError{Problem: fmt.Sprintf("the plugin %s cannot be read: %v", path, err)}
	case bundle.IsFolder(path):
		return Finished(filepath.Join(path, bundle.ManifestFile))
	case filepath.Base(path) == bundle.ManifestFile && bundle.IsFolder(filepath.Dir(path)):
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return Built{}, &BuildError{Problem: fmt.Sprintf("%s is not an executable file", path)}
	}
	sum, err := digest.File(path)
	return Built{Path: path, SHA256: sum}, err
}

// SourceHash is the hash of the sorted (path, sha256) of the folder's files that are
// not tests. Hidden files and folders, testdata and the SDK do not count.
func SourceHash(dir string) (string, error) {
	list, err := sourceFiles(dir)
	if err != nil {
		return "", err
	}
	return hashList(list)
}

// sourceFiles are the files that SourceHash counts.
func sourceFiles(dir string) ([]fileHash, error) {
	return hashFolder(dir, func(rel string, d fs.DirEntry) bool {
		if d.IsDir() {
			return d.Name() != "testdata" && (rel != SDKFolder || !HoldsSDK(filepath.Join(dir, rel)))
		}
		return !strings.HasSuffix(rel, "_test.go")
	})
}

// SDKFolder is the folder of a strategy's module that has the source of the SDK, and
// VersionFile the file in it that reports which one it is.
const (
	SDKFolder   = "sdk"
	VersionFile = "VERSION"
)

// ErrNoModule reports that a strategy is part of a larger module, whose SDK it uses.
var ErrNoModule = errors.New("the strategy has no go.mod of its own: it uses the SDK of the module around it")

// SDK is the VERSION of the SDK in a folder.
type SDK struct {
	// Version is sdk.Version, SimID the semantics that it plays by.
	Version, SimID string
	// SHA256 is that of the files beside it, see HashFiles.
	SHA256 string
}

// Encode is the content of VERSION: a line per value.
func (s SDK) Encode() []byte {
	return fmt.Appendf(nil, "sdk %s\nsim %s\nsha256 %s\n", s.Version, s.SimID, s.SHA256)
}

// DecodeSDK reads the content of VERSION.
func DecodeSDK(text []byte) (SDK, error) {
	var s SDK
	values := map[string]*string{"sdk": &s.Version, "sim": &s.SimID, "sha256": &s.SHA256}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if to := values[key]; to != nil && *to == "" {
			*to = value
		}
	}
	if s.Version == "" || s.SimID == "" || len(s.SHA256) != 64 {
		return SDK{}, errors.New("it does not say sdk, sim and sha256")
	}
	return s, nil
}

// HashFiles is the hash of the sorted (path, sha256) of files by slash separated path,
// VERSION left out.
func HashFiles(files map[string][]byte) (string, error) {
	list := []fileHash{}
	for name, text := range files {
		if name != VersionFile {
			list = append(list, fileHash{name, digest.SHA256Hex(text)})
		}
	}
	return hashList(list)
}

// fileHash is one file in the hash of a folder.
type fileHash struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

func hashList(list []fileHash) (string, error) {
	slices.SortFunc(list, func(a, b fileHash) int { return strings.Compare(a.Path, b.Path) })
	return digest.Of(list)
}

// ReadSDK reads the SDK in a folder: its VERSION, and the hash that its files
// have. The two differ where it was edited. The error is fs.ErrNotExist where
// there is none.
func ReadSDK(dir string) (stated SDK, sha256 string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, VersionFile))
	if err != nil {
		return SDK{}, "", err
	}
	if stated, err = DecodeSDK(text); err != nil {
		return SDK{}, "", fmt.Errorf("%s: %w", filepath.Join(dir, VersionFile), err)
	}
	list, err := hashFolder(dir, func(rel string, _ fs.DirEntry) bool { return rel != VersionFile })
	if err != nil {
		return SDK{}, "", err
	}
	sha256, err = hashList(list)
	return stated, sha256, err
}

// hashFolder hashes the plain files of a folder that are wanted; of a folder in it that is
// not wanted none is. Hidden ones never count.
func hashFolder(dir string, wanted func(rel string, d fs.DirEntry) bool) ([]fileHash, error) {
	list := []fileHash{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case strings.HasPrefix(d.Name(), "."), !wanted(rel, d):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		sum, err := digest.File(path)
		list = append(list, fileHash{rel, sum})
		return err
	})
	return list, err
}

// ReplacedSDK is the folder that the go.mod in a folder takes the SDK from, as it is
// written there; "" for none, as in a checkout.
func ReplacedSDK(dir string) (string, error) {
	path := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	mod, err := modfile.Parse(path, text, nil)
	if err != nil {
		return "", &BuildError{Problem: err.Error()}
	}
	for _, r := range mod.Replace {
		if r.Old.Path == Module && r.New.Version == "" {
			return r.New.Path, nil
		}
	}
	return "", nil
}

// sdkOf is the SDK that a program in a folder is built with: the hash of its files, and
// whether they were edited. Both are zero where the folder does not hold it. The
// error is a *BuildError where there is none at all.
func sdkOf(slug, dir string) (sha256 string, edited bool, err error) {
	from, err := ReplacedSDK(dir)
	if err != nil || from == "" {
		return "", false, err
	}
	full := filepath.FromSlash(from)
	if !filepath.IsAbs(full) {
		full = filepath.Join(dir, full)
	}
	if _, err := os.Stat(filepath.Join(full, "go.mod")); err != nil {
		return "", false, &BuildError{Problem: fmt.Sprintf(
			"go.mod takes the SDK from %s, where it is not: run lab sdk update %s, which puts it into the "+
				"folder",
			from, slug)}
	}
	if filepath.Clean(full) != filepath.Join(dir, SDKFolder) {
		return "", false, nil
	}
	stated, sha256, err := ReadSDK(full)
	if err != nil {
		return "", false, &BuildError{
			Problem: fmt.Sprintf("the SDK in %s cannot be used: %v: run lab sdk update %s", full, err, slug),
		}
	}
	return sha256, stated.SHA256 != sha256, nil
}

// HoldsSDK reports whether a folder is the SDK of a strategy and not a checkout.
func HoldsSDK(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, VersionFile))
	text, unread := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && unread == nil && declares(string(text), Module)
}

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

// Around is the neighbourhood of the sources in a folder: each number but 0 and 1 moved by 5, 10
// and 20 %, a whole number by 1 at least. Tests, hidden folders, modules below, generated files and
// tables of numbers are left out. Of more than MostVariants so many are drawn. Stream: literals.
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
		} else if text = strconv.FormatFloat(x*(100+percent)/100, 'g', 6, 64); !strings.ContainsAny(text,
			".e") {
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
	if err := os.WriteFile(changed, slices.Concat(text[:v.Offset], []byte(v.To), text[end:]),
		0o600); err != nil {
		return Built{}, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return Built{}, err
	}
	return s.compileWith(ctx, overlay, folder, slug)
}

// compileWith makes the program with some of its files replaced.
func (s *Sources) compileWith(ctx context.Context, overlay []byte, folder, slug string) (Built, error) {
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
