// Command tool builds the dashboard: it bundles src and third_party into dist. It is
// a module of its own, so that the bundler stays out of what authors import.
//
//	go run . [-o folder]           the dashboard: index.html, app-<hash>.js, pages-<hash>.js,
//	                               charts-<hash>.js, app-<hash>.css, pages-<hash>.css,
//	                               icon-<hash>.svg
//	go run . -gen [-o file]        src/gen/contract.ts, from openapi.json
//	go run . -tests file           the unit tests of the pure modules, as one script
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	root := flag.String("root", "..", "the folder api/ui")
	out := flag.String("o", "", "where the result goes (default: its place in the tree)")
	gen := flag.Bool("gen", false, "write contract.ts instead")
	tests := flag.String("tests", "", "bundle the unit tests into this file instead")
	flag.Parse()
	var err error
	switch {
	case *gen:
		err = writeContract(*root, cmp.Or(*out, filepath.Join(*root, "src", "gen", "contract.ts")))
	case *tests != "":
		err = buildTests(*root, *tests)
	default:
		err = build(*root, cmp.Or(*out, filepath.Join(*root, "dist")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// output is one file of the dashboard.
type output struct {
	name     string
	contents []byte
}

// build writes the dashboard into out and removes what an earlier build left there.
func build(root, out string) error {
	if err := verify(filepath.Join(root, "third_party")); err != nil {
		return err
	}
	list, err := bundle(root)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(root, "src", "index.html"))
	if err != nil {
		return err
	}
	files, err := assemble(page, list)
	if err != nil {
		return err
	}
	return place(out, files)
}

// assemble names the files of the bundle after their contents, so that a browser may keep
// them forever. A name goes into the files that load it, which are named after that:
// app.js loads charts.js, pages.js app.js, and the page names all but charts.js.
func assemble(page []byte, list []output) ([]output, error) {
	var files []output
	names := map[string]string{}
	for _, b := range list {
		var err error
		switch b.name {
		case "charts.js":
		case "app.js":
			b.contents, err = rename(b, `"`+charts+`"`, names["charts.js"])
		case "pages.js":
			b.contents, err = rename(b, `"./`+shared+`"`, names["app.js"])
		}
		if err != nil {
			return nil, err
		}
		if names[b.name] = `"./` + hashed(b) + `"`; b.name != "charts.js" {
			if page, err = rename(output{"index.html", page}, `"/ui/`+b.name+`"`,
				`"/ui/`+hashed(b)+`"`); err != nil {
				return nil, err
			}
		}
		files = append(files, output{hashed(b), b.contents})
	}
	return append(files, output{"index.html", page}), nil
}

// rename replaces a name that occurs exactly once.
func rename(in output, from, to string) ([]byte, error) {
	if n := bytes.Count(in.contents, []byte(from)); n != 1 {
		return nil, fmt.Errorf("%s names %s %d times, want once", in.name, from, n)
	}
	return bytes.Replace(in.contents, []byte(from), []byte(to), 1), nil
}

// hashed returns the name with the start of the contents' SHA-256 before the extension.
func hashed(f output) string {
	sum := sha256.Sum256(f.contents)
	ext := filepath.Ext(f.name)
	return strings.TrimSuffix(f.name, ext) + "-" + hex.EncodeToString(sum[:])[:10] + ext
}

// built matches the names that this program gives.
var built = regexp.MustCompile(`^[a-z]+-[0-9a-f]{10}\.(js|css|svg)$`)

// place writes the files and then removes stale ones. Whatever else lies in the folder
// stays: a mistyped folder costs nothing.
func place(out string, files []output) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	fresh := map[string]bool{}
	for _, f := range files {
		fresh[f.name] = true
		if err := os.WriteFile(filepath.Join(out, f.name), f.contents, 0o644); err != nil {
			return err
		}
	}
	old, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	for _, e := range old {
		if built.MatchString(e.Name()) && !fresh[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(out, e.Name())))
		}
	}
	return err
}

// buildTests bundles src/unit.ts, which imports every unit test.
func buildTests(root, to string) error {
	script, err := bundleTests(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, script, 0o644)
}

// vendored maps what the sources import to the files of third_party.
var vendored = map[string]string{
	"preact":               "preact/preact.mjs",
	"preact/hooks":         "preact/hooks.mjs",
	"preact/jsx-runtime":   "preact/jsxRuntime.mjs",
	"@preact/signals":      "preact-signals/signals.mjs",
	"@preact/signals-core": "preact-signals/signals-core.mjs",
	"lightweight-charts":   "lightweight-charts/lightweight-charts.production.mjs",
	"fancy-canvas":         "fancy-canvas/index.mjs",
}

// options are the same for everything that is built; build.mjs repeats them for npm's
// esbuild. The settings are given here, not taken from the tsconfig.json that lies
// nearest.
func options(root string) (api.BuildOptions, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return api.BuildOptions{}, err
	}
	alias := make(map[string]string, len(vendored))
	for name, file := range vendored {
		alias[name] = "./third_party/" + file
	}
	return api.BuildOptions{
		AbsWorkingDir: root, Bundle: true, Format: api.FormatESModule, Target: api.ES2022,
		Platform: api.PlatformBrowser,
		Alias:    alias, JSX: api.JSXAutomatic, JSXImportSource: "preact", Charset: api.CharsetUTF8,
		TsconfigRaw:   "{}",
		LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent, Metafile: true,
		Define: map[string]string{"process.env.NODE_ENV": `"production"`},
	}, nil
}

// charts is the chart library. It is most of the weight and needed only when there is
// a run, so it is a script of its own that app.js imports then. It is bundled apart:
// were the two split by the bundler, their common helper would be a third script.
const charts = "./charts.ts"

// shared is what the bundler calls the script of everything that src/main.tsx reaches.
// src/pages/index.tsx imports it, so that nothing of it is left in main's own script: that
// is dropped, and the shared one is app.js. pages.js has the pages beside the runner; the
// document names it, since two scripts cannot be named after each other's contents.
const shared = "chunk.js"

// bundled is every file of the bundle, each after what it names.
var bundled = []string{"charts.js", "app.js", "pages.js", "app.css", "pages.css", "icon.svg"}

// bundle makes the files of the list. app.js imports charts.js by the name of its source,
// pages.js app.js by the name that the bundler gave it.
func bundle(root string) ([]output, error) {
	library, err := bundleEntries(root, nil, []string{"src/chart/charts.ts", libraries},
		api.EntryPoint{InputPath: "src/chart/charts.ts", OutputPath: "charts"})
	if err != nil {
		return nil, err
	}
	page, err := bundleEntries(root, []string{charts}, tree,
		api.EntryPoint{InputPath: "src/main.tsx", OutputPath: "app"},
		api.EntryPoint{InputPath: "src/pages/index.tsx", OutputPath: "pages"},
		api.EntryPoint{InputPath: "src/app.css", OutputPath: "app"},
		api.EntryPoint{InputPath: "src/pages/pages.css", OutputPath: "pages"},
		api.EntryPoint{InputPath: "src/icon.svg", OutputPath: "icon"},
	)
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	for _, f := range append(library, page...) {
		found[filepath.Base(f.Path)] = f.Contents
	}
	if stub := string(found["app.js"]); found[shared] == nil || stub != "import\""+"./"+shared+"\";\n" {
		return nil, errors.New("src/pages/index.tsx has to import src/main.tsx, " +
			"and nothing else may be split")
	}
	found["app.js"] = found[shared]
	delete(found, shared)
	var out []output
	for _, name := range bundled {
		if contents, ok := found[name]; ok {
			out = append(out, output{name, contents})
		}
	}
	if len(out) != len(bundled) || len(found) != len(bundled) {
		return nil, fmt.Errorf("the bundle has %d files, want %s", len(found), strings.Join(bundled, ", "))
	}
	return out, nil
}

func bundleEntries(root string, external, allowed []string,
	entries ...api.EntryPoint) ([]api.OutputFile, error) {
	o, err := options(root)
	if err != nil {
		return nil, err
	}
	o.EntryPointsAdvanced, o.External, o.Outdir = entries, external, "dist"
	o.Loader = map[string]api.Loader{".svg": api.LoaderCopy}
	o.Splitting, o.ChunkNames = len(entries) > 1, strings.TrimSuffix(shared, ".js")
	o.MinifyWhitespace, o.MinifyIdentifiers, o.MinifySyntax = true, true, true
	return run(o, allowed)
}

func bundleTests(root string) ([]byte, error) {
	o, err := options(root)
	if err != nil {
		return nil, err
	}
	o.EntryPoints, o.Outfile, o.Format = []string{"src/unit.ts"}, "unit.js", api.FormatIIFE
	files, err := run(o, tree)
	if err != nil {
		return nil, err
	}
	return files[0].Contents, nil
}

// run bundles; a warning is an error.
func run(o api.BuildOptions, allowed []string) ([]api.OutputFile, error) {
	result := api.Build(o)
	if complaints := append(result.Errors, result.Warnings...); len(complaints) > 0 {
		text := api.FormatMessages(complaints, api.FormatMessagesOptions{})
		return nil, errors.New(strings.TrimSpace(strings.Join(text, "")))
	}
	return result.OutputFiles, checkInputs(result.Metafile, allowed)
}

// Where the files of a bundle may be.
const libraries = "third_party/"

var tree = []string{"src/", libraries}

// checkInputs refuses a bundle with files from elsewhere: a package that happens to be
// installed in node_modules would come in unseen.
func checkInputs(metafile string, allowed []string) error {
	var m struct {
		Inputs map[string]struct{} `json:"inputs"`
	}
	if err := json.Unmarshal([]byte(metafile), &m); err != nil {
		return err
	}
	var foreign []string
	for path := range m.Inputs {
		if !slices.ContainsFunc(allowed, func(prefix string) bool {
			return strings.HasPrefix(path, prefix)
		}) {
			foreign = append(foreign, path)
		}
	}
	if len(foreign) > 0 {
		sort.Strings(foreign)
		return fmt.Errorf("a script of %s may not have %s", strings.Join(allowed, " and "),
			strings.Join(foreign, ", "))
	}
	return nil
}
