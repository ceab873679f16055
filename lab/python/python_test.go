package python_test

//ring:no-detector what is tested runs in other processes

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/proc/bundle"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/lab/python"
)

const project = "../../plugin-sdk/python"

// shared is where bundles are built, so that the interpreter is copied once.
var shared string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "bundles-")
	if err != nil {
		panic(err)
	}
	shared = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func interpreter(t testing.TB) string {
	t.Helper()
	return hosttest.PythonOrSkip(t, filepath.Join(project, "requirements.txt"))
}

// TestPackage runs the checks of the Python package: style, types, its own tests.
func TestPackage(t *testing.T) {
	ring.Slow(t, "mypy reads the standard library's types")
	program, lab := interpreter(t), filepath.Join(t.TempDir(), "lab")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", lab,
		"github.com/assay-run/assay/cmd/lab").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{
		{"ruff", "check", "--no-cache", "."}, {"ruff", "format", "--check", "--no-cache", "src", "tests"},
		{"mypy", "--cache-dir", t.TempDir()}, {"pytest", "-p", "no:cacheprovider"},
	} {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"-B", "-m"}, args...)...)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "PYTHONPATH=src", "ASSAY_LAB="+lab)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

const strategy = `from assay import AllCash, Buy, Close, Param, Strategy


class Twin(Strategy):
    """Buys and sells in turn."""

    every: int = Param(2, ge=1)

    def on_candle(self, v):
        if v.index % self.every:
            return None
        return Buy(AllCash) if v.flat else Close()
`

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func build(t *testing.T, files map[string]string, entry string) (dir, id string, err error) {
	t.Helper()
	source := t.TempDir()
	write(t, source, files)
	return python.Build(t.Context(), python.Options{
		Dir: source, Name: "twin", Entry: entry, Out: shared, Interpreter: interpreter(t),
	})
}

// open lists what a host finds in a folder.
func open(t *testing.T, dir string) []catalog.Strategy {
	t.Helper()
	c, err := catalog.Open(t.Context(), catalog.Options{Dir: dir, StateDir: t.TempDir(), Sandbox: sandbox.Auto})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.Strategies()
}

func TestBundle(t *testing.T) {
	ring.Slow(t, "it copies an interpreter and starts it")
	dir, id, err := build(t, map[string]string{
		"strategy.py": strategy, "test_strategy.py": "", ".hidden": "", "lab.json": "{}", "table.csv": "1\n",
	}, "strategy:Twin")
	if err != nil {
		t.Fatal(err)
	}
	m, text, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if digest.SHA256Hex(text) != id {
		t.Error("the identity is not the hash of the manifest")
	}
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Path)
	}
	if got := strings.Join(names, " "); got != "strategy.py table.csv" {
		t.Errorf("files %q", got)
	}
	list := open(t, shared)
	if len(list) != 1 || list[0].Status != catalog.Available {
		t.Fatalf("%+v", list)
	}
	s := list[0]
	if s.Name != "twin" || s.Language != "python" || s.SHA256 != id ||
		s.Description != "Buys and sells in turn." || string(s.DefaultParams) != `{"every":2}` {
		t.Errorf("%+v", s)
	}
	// The same sources make the same bundle.
	_, again, err := build(t, map[string]string{"strategy.py": strategy, "table.csv": "1\n"}, "strategy:Twin")
	if err != nil || again != id {
		t.Errorf("a second build is %s, not %s (%v)", again, id, err)
	}
}

// TestChangedBytesAreRefused changes one byte of each kind of file of a bundle.
func TestChangedBytesAreRefused(t *testing.T) {
	ring.Slow(t, "it copies an interpreter")
	dir, _, err := build(t, map[string]string{"strategy.py": strategy}, "strategy:Twin")
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(shared, bundle.LayersFolder, m.Layers[0].SHA256)
	sdk := filepath.Join(shared, bundle.LayersFolder, m.Layers[1].SHA256)
	module, err := filepath.Glob(filepath.Join(home, "lib", "python3*", "random.py"))
	if err != nil || len(module) != 1 {
		t.Fatal(module, err)
	}
	for _, path := range []string{
		filepath.Join(dir, "strategy.py"), filepath.Join(dir, bundle.ManifestFile),
		filepath.Join(home, m.Interpreter), module[0], filepath.Join(sdk, "assay", "serve.py"),
		filepath.Join(sdk, bundle.ListFile),
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := append([]byte{}, whole...)
			changed[len(changed)/2] ^= 1
			replace(t, path, changed)
			defer replace(t, path, whole)
			list := open(t, shared)
			if len(list) != 1 || list[0].Error == nil || list[0].Error.Code != "BAD_BUNDLE" {
				t.Fatalf("%+v", list)
			}
			t.Log(list[0].Error.Message)
		})
	}
	t.Run("whole", func(t *testing.T) {
		if list := open(t, shared); list[0].Error != nil {
			t.Error(list[0].Error)
		}
	})
}

func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	info, err := os.Stat(path)
	if err := errors.Join(err, os.Remove(path), os.WriteFile(path, content, info.Mode().Perm())); err != nil {
		t.Fatal(err)
	}
}

// TestRefusals has the message for each way in which a strategy cannot be built.
func TestRefusals(t *testing.T) {
	ring.Slow(t, "it copies an interpreter")
	for _, c := range []struct{ name, source, entry, toml, want string }{
		{"syntax", "class Twin(:\n", "strategy:Twin", "", "SyntaxError: .* at strategy.py:1"},
		{"exception", "1 / 0\n", "strategy:Twin", "", "ZeroDivisionError: division by zero at strategy.py:1"},
		{"missing module", "import nothing_like_it\n", "strategy:Twin", "", "No module named 'nothing_like_it'"},
		{"no class", "x = 1\n", "strategy:Twin", "", "strategy has no class Twin that extends assay.Strategy"},
		{"no module", strategy, "other:Twin", "", "No module named 'other'"},
		{"distribution", strategy, "strategy:Twin", "[project]\ndependencies=[\"nothing-like-it>=1\"]\n",
			"not installed for .*: nothing-like-it>=1. Install with: "},
		{"toml", strategy, "strategy:Twin", "[project\n", "pyproject.toml: "},
		{"bad default", strings.Replace(strategy, "Param(2", "Param(0", 1), "strategy:Twin", "",
			"Twin.every: the default 0 must be at least 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"strategy.py": c.source}
			if c.toml != "" {
				files["pyproject.toml"] = c.toml
			}
			_, _, err := build(t, files, c.entry)
			var refused *python.Error
			if !errors.As(err, &refused) || !matches(c.want, err.Error()) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSuspects(t *testing.T) {
	interpreter(t)
	dir := t.TempDir()
	write(t, dir, map[string]string{"strategy.py": "import time\nfrom datetime import datetime\n" +
		"x = datetime.now()\nfor y in {1, 2}:\n    pass\nimport numpy as np\nz = np.random.rand()\n" +
		"w = z.view().base\n",
		"test_strategy.py": "import time\n", "fine.py": "import math\n"})
	files, found, err := python.Suspects(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"strategy.py:1: time reads the clock",
		"strategy.py:3: datetime.now reads the clock: use v.time",
		"strategy.py:4: a set has another order each time: sort it first",
		"strategy.py:7: np.random.rand is a random source that no seed of a run reaches: use v.rand",
		"strategy.py:8: .base of an array or a frame may show rows of later candles",
	}
	if files != 2 || strings.Join(found, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d files\n%s", files, strings.Join(found, "\n"))
	}
}

func matches(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }
