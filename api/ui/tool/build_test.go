package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyTree copies what a build reads into a folder of its own.
func copyTree(t *testing.T, to string) string {
	t.Helper()
	for _, name := range []string{"src", "third_party"} {
		if err := os.CopyFS(filepath.Join(to, name), os.DirFS(filepath.Join("..", name))); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// read returns every file of a folder by name.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSameBytesWhateverTheFolder builds copies: one in a deep folder, one in a short
// one beside a tsconfig.json and a package that must not matter.
func TestSameBytesWhateverTheFolder(t *testing.T) {
	first := copyTree(t, filepath.Join(t.TempDir(), "a", "rather", "deep folder", "ui"))
	second := copyTree(t, t.TempDir())
	write(t, filepath.Join(second, "tsconfig.json"),
		`{"compilerOptions":{"jsx":"react","jsxFactory":"other","target":"ES5"}}`)
	write(t, filepath.Join(second, "node_modules", "preact", "index.js"),
		`export const h = "another preact";`)
	var results []map[string]string
	for _, root := range []string{first, second} {
		out := filepath.Join(root, "dist")
		if err := build(root, out); err != nil {
			t.Fatal(err)
		}
		results = append(results, read(t, out))
	}
	if len(results[0]) != 7 || len(results[1]) != 7 {
		t.Fatalf("%d and %d files, want 7", len(results[0]), len(results[1]))
	}
	for name, text := range results[0] {
		if results[1][name] != text {
			t.Errorf("%s differs", name)
		}
		if strings.Contains(text, first) {
			t.Errorf("%s names the folder it was built in", name)
		}
		want := 1
		if strings.HasPrefix(name, "app-") && strings.HasSuffix(name, ".js") {
			want = 2 // the document and the script of the pages
		}
		if n := loaders(results[0], name); name != "index.html" && n != want {
			t.Errorf("%d files load %s, want %d", n, name, want)
		}
	}
}

// loaders counts the files that load one.
func loaders(files map[string]string, name string) int {
	n := 0
	for _, text := range files {
		n += strings.Count(text, `"/ui/`+name+`"`) + strings.Count(text, `import("./`+name+`")`) +
			strings.Count(text, `from"./`+name+`"`) +
			strings.Count(text, `import"./`+name+`"`)
	}
	return n
}

// small returns a tree of one component with the real libraries.
func small(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "third_party"), os.DirFS("../third_party")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"other.ts":        `export const other = 1`,
		"chart/charts.ts": `export { createChart } from "lightweight-charts"`,
		"library.ts":      `export const library = () => import("./charts.ts")`,
		"main.tsx":        `import { render } from "preact"; import { library } from "./library.ts"; library(); render(<p>Assay</p>, document.body);`, "app.css": `p { color: red }`, "icon.svg": `<svg/>`,
		"pages/pages.css": `b { color: red }`,
		"pages/index.tsx": `import "../main.tsx"; import { h } from "preact"; export const page = h("p", null);`,
		"index.html": `<link href="/ui/icon.svg"><link href="/ui/app.css"><meta content="/ui/pages.js"><meta content="/ui/pages.css">` +
			`<script src="/ui/app.js"></script>`,
	} {
		write(t, filepath.Join(root, "src", name), text)
	}
	if err := build(root, filepath.Join(root, "good")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		file, text, want string
	}{
		"syntax":             {"src/main.tsx", `const = 1`, "Expected identifier"},
		"missing file":       {"src/main.tsx", `import "./nowhere.ts"`, "Could not resolve"},
		"warning":            {"src/main.tsx", `console.log(typeof window === "nmuber")`, "nmuber"},
		"warning in a style": {"src/app.css", `a { colr: red }`, "colr"},
		"installed package": {"src/main.tsx", `import x from "stowaway"; console.log(x)`,
			"a script of src/ and third_party/ may not have node_modules/stowaway/index.js"},
		"page without style": {"src/index.html",
			`<link href="/ui/icon.svg"><meta content="/ui/pages.js"><meta content="/ui/pages.css"><script src="/ui/app.js"></script>`,
			`"/ui/app.css" 0 times`},
		"page with two icons": {"src/index.html", `"/ui/app.js" "/ui/pages.js" "/ui/pages.css" "/ui/app.css" "/ui/icon.svg" "/ui/icon.svg"`,
			`"/ui/icon.svg" 2 times`},
		"no chart library": {"src/library.ts", `export const library = () => 1`,
			`app.js names "./charts.ts" 0 times`},
		"pages without main": {"src/pages/index.tsx", `export const page = 1`,
			"src/pages/index.tsx has to import src/main.tsx"},
		"shared with charts": {"src/chart/charts.ts", `export * from "../other.ts"`,
			"a script of src/chart/charts.ts and third_party/ may not have src/other.ts"},
		"changed library": {"third_party/preact/preact.mjs", `export {}`,
			"third_party/preact/preact.mjs is not the file of SHA256SUMS"},
	} {
		t.Run(name, func(t *testing.T) {
			root := small(t)
			write(t, filepath.Join(root, "node_modules", "stowaway", "index.js"), `export default 1`)
			write(t, filepath.Join(root, c.file), c.text)
			out := filepath.Join(root, "dist")
			if err := build(root, out); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written all the same")
			}
		})
	}
}

func TestStaleFilesGo(t *testing.T) {
	out := t.TempDir()
	for _, name := range []string{"app-0123456789.js", "icon-abcdef0123.svg", "notes.txt", "app.js"} {
		write(t, filepath.Join(out, name), "old")
	}
	if err := place(out,
		[]output{{"app-aaaaaaaaaa.js", []byte("new")}, {"index.html", []byte("page")}}); err != nil {
		t.Fatal(err)
	}
	got := read(t, out)
	if len(got) != 4 || got["app-aaaaaaaaaa.js"] != "new" || got["index.html"] != "page" ||
		got["notes.txt"] != "old" || got["app.js"] != "old" {
		t.Errorf("%v", got)
	}
}

func TestHashed(t *testing.T) {
	if got := hashed(output{"app.js", []byte("abc")}); got != "app-ba7816bf8f.js" {
		t.Error(got)
	}
	if !built.MatchString(hashed(output{"icon.svg", nil})) {
		t.Error("its own names are not recognised")
	}
}

func TestUnitTestsAreBundled(t *testing.T) {
	to := filepath.Join(t.TempDir(), "new", "unit.js")
	if err := buildTests("..", to); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(to)
	if err != nil || !bytes.Contains(script, []byte("unitTests")) {
		t.Errorf("%v, %d bytes", err, len(script))
	}
}
