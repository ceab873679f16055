package cmd_test

//ring:no-detector what is tested runs in other processes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-run/assay/host/exchange/binance"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// TestMain makes this binary the lab command of the scripts.
func TestMain(m *testing.M) {
	serveVenueConnector()
	testscript.Main(m, map[string]func(){
		"lab": func() {
			os.Exit(checkedMain(os.Args[1:]))
		},
		"governance": governanceMain,
		"binance":    func() { wire.Serve(binance.New()) },
	})
}

// TestScripts runs testdata/*.txtar; exit codes are compared with the command exits.
func TestScripts(t *testing.T) { runScripts(t, "testdata") }

// TestProofs runs testdata/prove/*.txtar.
func TestProofs(t *testing.T) {
	ring.Proof(t, "each of these scripts plays hundreds of backtests, or kills what plays them")
	runScripts(t, "testdata/prove")
}

func runScripts(t *testing.T, dir string) {
	runScriptsWith(t, dir, func(*testscript.Env) error { return nil })
}

// runScriptsWith is runScripts with more to set up.
func runScriptsWith(t *testing.T, dir string, more func(*testscript.Env) error) {
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			if err := goTool(env); err != nil {
				return err
			}
			return more(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"await":      await,
			"damage":     damage,
			"aged":       aged,
			"plugin":     plugin,
			"same":       same,
			"running":    running,
			"field":      field,
			"json":       readJSON,
			"jsonschema": jsonSchema,
			"project":    installProject,
			"candles":    makeCandles,
			"between":    between,
			"firstdiff":  firstDiff,
			"plane":      startPlane,
			"clock":      setClock,
			"pass":       passDays,
			"arrive":     arrive,
			"keys":       makeKeys,
			"fetch":      fetchPath,
			"venue":      startVenue,
			"forge":      forgeBundle,
			"cheat":      judgeCheat,
			"killedrun":  writeKilledRun,
		},
	})
}

// goTool lets scripts build with the modules and the cache of the machine, and never
// from the network.
func goTool(env *testscript.Env) error {
	env.Values[venueKey{}] = new(*testvenue.Venue)
	out, err := exec.Command("go", "env", "-json", "GOMODCACHE", "GOCACHE", "GOPATH").Output()
	if err != nil {
		return nil // without the tool its scripts say so
	}
	var have map[string]string
	if err := json.Unmarshal(out, &have); err != nil {
		return err
	}
	for name, value := range have {
		env.Setenv(name, value)
	}
	// Where the lab of the scripts is, for one that must not find the Go tool.
	env.Setenv("LABDIR", filepath.SplitList(os.Getenv("PATH"))[0])
	env.Setenv("GOPROXY", "off")
	env.Setenv("GOFLAGS", "-trimpath") // as the lab builds, so that a script's go test compiles nothing anew
	env.Setenv("CGO_ENABLED", "0")
	return nil
}

// running wants that a process executes one of the files of a folder.
func running(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: running folder")
	}
	var files []os.FileInfo
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		info, err := e.Info()
		ts.Check(err)
		files = append(files, info)
	}
	links, _ := filepath.Glob("/proc/[0-9]*/exe") // the pattern is good
	found := slices.ContainsFunc(links, func(link string) bool {
		info, err := os.Stat(link)
		return err == nil && slices.ContainsFunc(files, func(f os.FileInfo) bool {
			return os.SameFile(f, info)
		})
	})
	if found == neg {
		ts.Fatalf("whether a process executes a file of %s: %t", args[0], found)
	}
}

// exits runs lab and wants an exit code: exits 2 data list --nonsense.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARGS...")
	}
	err := ts.Exec("lab", args[1:]...)
	got := "0"
	if coder, ok := err.(interface{ ExitCode() int }); ok {
		got = string(rune('0' + coder.ExitCode()))
	}
	if got != args[0] {
		ts.Fatalf("lab %v: exit code %s, want %s (%v)", args[1:], got, args[0], err)
	}
}

// damage changes one byte in the middle of the file that a pattern names.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage PATTERN")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("%s names %d files", args[0], len(files))
	}
	b, err := os.ReadFile(files[0])
	ts.Check(err)
	b[len(b)/2] ^= 1
	ts.Check(os.Remove(files[0]))
	ts.Check(os.WriteFile(files[0], b, 0o400))
}

// aged makes every file of the state directory two hours old.
func aged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: aged")
	}
	before := time.Now().Add(-2 * time.Hour)
	ts.Check(filepath.WalkDir(ts.MkAbs(".assay"), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, before, before))
	}))
}

// plugin installs one of the roles: plugin crosser dir/bin/crosser.
func plugin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: plugin ROLE FILE")
	}
	to := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(to), 0o755))
	ts.Check(installPlugin(args[0], to))
}

// same wants two folders to have the same files with the same content, but for those
// whose names follow.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: same DIR DIR [but...]")
	}
	a, b := content(ts, args[0], args[2:]), content(ts, args[1], args[2:])
	if equal := maps.Equal(a, b); equal == neg {
		ts.Fatalf("%s (%d files) and %s (%d files): equal is %v", args[0], len(a), args[1], len(b), equal)
	}
}

func content(ts *testscript.TestScript, dir string, but []string) map[string]string {
	root := ts.MkAbs(dir)
	files := map[string]string{}
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains(but, d.Name()) {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		files[rel] = string(text)
		return err
	}))
	return files
}

// field sets a variable of the script from the JSON on stdout of the last command:
// field RUN result.run_id.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: field NAME PATH")
	}
	ts.Setenv(args[0], fmt.Sprint(valueAt(ts, "stdout", args[1])))
}

// readJSON wants values in a JSON file, which a pattern may name; a path that ends
// in len is a length: json FILE PATH=VALUE...
func readJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: json FILE PATH=VALUE...")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("%s names %d files", args[0], len(files))
	}
	for _, arg := range args[1:] {
		path, want, _ := strings.Cut(arg, "=")
		value := valueAt(ts, files[0], path)
		got, ok := value.(string)
		if !ok {
			text, err := json.Marshal(value)
			ts.Check(err)
			got = string(text)
		}
		if got != want {
			ts.Fatalf("%s: %s is %s, want %s", args[0], path, got, want)
		}
	}
}

// valueAt goes down a JSON file by keys and indices.
func valueAt(ts *testscript.TestScript, file, path string) any {
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &value))
	for _, key := range strings.Split(path, ".") {
		list, isList := value.([]any)
		object, isObject := value.(map[string]any)
		index, err := strconv.Atoi(key)
		switch {
		case isObject:
			value = object[key]
		case isList && key == "len":
			value = len(list)
		case isList && err == nil && index < len(list):
			value = list[index]
		default:
			ts.Fatalf("no %s in %s", path, file)
		}
	}
	return value
}
