package e2e_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// configuration is what run.mjs is told.
type configuration struct {
	Bin        string   `json:"bin"`        // folder of the programs and strategies
	Strategies []string `json:"strategies"` // the bundled ones
	Chromium   string   `json:"chromium"`
	Temp       string   `json:"temp"`     // for states and folders of strategies
	Failures   string   `json:"failures"` // for pictures of what failed
	Unit       string   `json:"unit"`     // the bundle of unit tests
	Only       string   `json:"only"`
	// Screenshots is the folder for all of them, empty for a few.
	Screenshots string `json:"screenshots"`
	Images      string `json:"images"` // the README's pictures, which are taken together with all
	Soak        int    `json:"soak"`   // minutes
	// State is a state directory whose registry has Many runs.
	State string `json:"state"`
	Many  int    `json:"many"`
}

// programs are built once for all tests of this package.
var programs struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "4") // a browser waits more than it computes
	code := m.Run()
	if programs.dir != "" {
		os.RemoveAll(programs.dir)
	}
	os.Exit(code)
}

// prepare finds the browser and builds what the tests need, or skips the test and says
// what is missing.
func prepare(t *testing.T) configuration {
	t.Helper()
	ring.Slow(t, "it starts a browser many times")
	ring.Alone(t, "its jobs have a low priority, and its budgets are those of a free machine")
	c := configuration{Only: os.Getenv("ASSAY_E2E_ONLY")}
	c.Chromium = chromium(t, append([]string{shell}, withWindows()...)...)
	needsNode(t)
	programs.once.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "assay-e2e-"); programs.err == nil {
			programs.err = buildAll(programs.dir)
		}
	})
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	c.Bin, c.Unit = programs.dir, filepath.Join(programs.dir, "unit.js")
	c.Failures = filepath.Join(os.TempDir(), "assay-e2e-failures")
	if c.Screenshots = os.Getenv("ASSAY_SCREENSHOTS"); c.Screenshots != "" {
		c.Failures = filepath.Join(c.Screenshots, "failures")
	}
	images, err := filepath.Abs("../../../docs/images")
	if err != nil {
		t.Fatal(err)
	}
	c.Images = images
	for _, name := range bundled() {
		c.Strategies = append(c.Strategies, filepath.Base(name))
	}
	return c
}

// told is done when the reason of the skips has been printed.
var told sync.Once

// skip ends the test because something is missing, as a failure where it must not be.
func skip(t *testing.T, missing string) {
	t.Helper()
	line := "SKIP browser tests of the dashboard: " + missing
	if os.Getenv("ASSAY_E2E") == "required" {
		t.Fatal(line)
	}
	told.Do(func() { fmt.Println(line) })
	t.Skip(missing)
}

// shell is Chromium without windows: it lays out and draws the same, and opens a page in a sixth of
// the processor's time.
const shell = "chromium-headless-shell"

// withWindows are the names of browsers for people.
func withWindows() []string { return []string{"chromium", "chromium-browser", "google-chrome"} }

// chromium returns the first of some browsers on the PATH, or that of CHROMIUM.
func chromium(t *testing.T, names ...string) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("CHROMIUM: %v", err)
		}
		return path
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	skip(t, "need Chromium (apt-get install chromium, or set CHROMIUM=/path/to/chromium)")
	return ""
}

func needsNode(t *testing.T) {
	t.Helper()
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		skip(t, "need Node 20 or newer (apt-get install nodejs npm)")
	}
	if major, err := strconv.Atoi(strings.Split(strings.TrimPrefix(string(out), "v"), ".")[0]); err != nil ||
		major < 20 {
		skip(t, fmt.Sprintf("need Node 20 or newer, this is %s",
			strings.TrimSpace(string(out))))
	}
	for _, name := range []string{"playwright-core", "axe-core"} {
		if _, err := os.Stat(filepath.Join("..", "node_modules", name)); err != nil {
			skip(t, "need "+name+" (npm ci in api/ui)")
		}
	}
}

// bundled returns the packages of the strategies that make build builds.
func bundled() []string {
	names := []string{"sma_cross", "buy_hold", "rsi_bracket", "limit_entry", "breakout"}
	for i, name := range names {
		names[i] = "strategies/" + name
	}
	return names
}

// buildAll lays the programs out as make build does and bundles the unit tests.
func buildAll(dir string) error {
	folder := filepath.Join(dir, "strategies")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	if err := hosttest.Build(dir, "v1", "cmd/assay", "cmd/lab", "cmd/governance", "cmd/testdata/misbehave",
		"api/ui/e2e/testdata/widgets"); err != nil {
		return err
	}
	if err := hosttest.Build(folder, "v1", bundled()...); err != nil {
		return err
	}
	if ring.At() >= ring.Prove || os.Getenv("ASSAY_E2E_ONLY") != "" { // only then a suite asks an exchange
		venue := filepath.Join(dir, "venue")
		connectors := filepath.Join(venue, "connectors")
		if err := os.MkdirAll(connectors, 0o755); err != nil {
			return err
		}
		err := errors.Join(hosttest.Build(venue, "v1", "cmd/tools/testvenue"),
			hosttest.Build(connectors, "v1", "cmd/connectors/binance"))
		if err != nil {
			return err
		}
	}
	cmd := exec.Command("go", "run", ".", "-tests", filepath.Join(dir, "unit.js"))
	cmd.Dir = filepath.Join("..", "tool")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the unit tests of the dashboard: %w\n%s", err, out)
	}
	return nil
}
