package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

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
		AbsWorkingDir: root, Bundle: true, Format: api.FormatESModule, Target: api.ES2022, Platform: api.PlatformBrowser,
		Alias: alias, JSX: api.JSXAutomatic, JSXImportSource: "preact", Charset: api.CharsetUTF8, TsconfigRaw: "{}",
		LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent, Metafile: true,
		Define: map[string]string{"process.env.NODE_ENV": `"production"`},
	}, nil
}

// charts is the chart library. It is most of the weight and needed only when there is
// a run, so it is a script of its own that app.js imports then. It is bundled apart:
// were the two split by the bundler, their common helper would be a third script.
const charts = "./charts.ts"

// bundle makes charts.js, app.js, app.css and icon.svg, in this order. app.js imports
// the first by the name of its source.
func bundle(root string) ([]output, error) {
	library, err := bundleEntries(root, nil, []string{"src/chart/charts.ts", libraries}, api.EntryPoint{InputPath: "src/chart/charts.ts", OutputPath: "charts"})
	if err != nil {
		return nil, err
	}
	page, err := bundleEntries(root, []string{charts}, tree,
		api.EntryPoint{InputPath: "src/main.tsx", OutputPath: "app"},
		api.EntryPoint{InputPath: "src/app.css", OutputPath: "app"},
		api.EntryPoint{InputPath: "src/icon.svg", OutputPath: "icon"},
	)
	if err != nil {
		return nil, err
	}
	var out []output
	for _, name := range []string{"charts.js", "app.js", "app.css", "icon.svg"} {
		for _, f := range append(library, page...) {
			if filepath.Base(f.Path) == name {
				out = append(out, output{name, f.Contents})
			}
		}
	}
	if len(out) != 4 || len(library)+len(page) != 4 {
		return nil, fmt.Errorf("the bundle has %d files, want charts.js, app.js, app.css and icon.svg", len(library)+len(page))
	}
	return out, nil
}

func bundleEntries(root string, external, allowed []string, entries ...api.EntryPoint) ([]api.OutputFile, error) {
	o, err := options(root)
	if err != nil {
		return nil, err
	}
	o.EntryPointsAdvanced, o.External, o.Outdir = entries, external, "dist"
	o.Loader = map[string]api.Loader{".svg": api.LoaderCopy}
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
		if !slices.ContainsFunc(allowed, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			foreign = append(foreign, path)
		}
	}
	if len(foreign) > 0 {
		sort.Strings(foreign)
		return fmt.Errorf("a script of %s may not have %s", strings.Join(allowed, " and "), strings.Join(foreign, ", "))
	}
	return nil
}
