package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/proc/sandbox"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestEveryKindOfFile(t *testing.T) {
	o := testOptions(t)
	o.ProbeTimeout = 3 * time.Second
	want := map[string]string{
		"good": "", "good_too": "", "twin": CodeDuplicateName, "hang": proc.CodeStartTimeout,
		"hang-later":  proc.CodeStartTimeout,
		"crash-later": proc.CodeStartCrashed, "crash": proc.CodeStartCrashed, "killed": proc.CodeStartCrashed,
		"silent": proc.CodeWrongHandshake,
		"chatty": proc.CodeWrongHandshake, "flood": proc.CodeWrongHandshake,
		"elsewhere": proc.CodeWrongHandshake,
		"no-cert":   proc.CodeWrongHandshake, "netrpc": proc.CodeWrongProtocol,
		"cookie": proc.CodeWrongHandshake, "protocol": proc.CodeWrongProtocol,
		"bad-name": CodeBadName, "bad-mode": CodeBadSpec, "bad-frame": CodeBadSpec,
		"bad-schema":  CodeBadSchema,
		"file-schema": CodeBadSchema, "bad-defaults": CodeBadSchema, "old-sdk": proc.CodeWrongProtocol,
		"text": proc.CodeNotExecutable, "script": proc.CodeNotExecutable, "garbage": proc.CodeNotExecutable,
		"empty": proc.CodeNotExecutable,
	}
	for name := range roles() {
		if _, listed := want[name]; listed || name == "other-name" {
			install(t, o.Dir, name)
		}
	}
	writeFile(t, o.Dir, "text", "just words\n", 0o755)
	writeFile(t, o.Dir, "script", "#!/bin/sh\nexit 0\n", 0o755)
	writeFile(t, o.Dir, "garbage", "\x7fELF"+strings.Repeat("\xee", 5000), 0o755)
	writeFile(t, o.Dir, "empty", "", 0o755)
	writeFile(t, o.Dir, "notes.txt", "no program\n", 0o644)
	writeFile(t, o.Dir, ".hidden", "just words\n", 0o755)
	if err := os.Mkdir(filepath.Join(o.Dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("good", filepath.Join(o.Dir, "link")); err != nil {
		t.Fatal(err)
	}

	c := open(t, o)
	got := map[string]string{}
	var names []string
	for _, s := range c.Strategies() {
		names = append(names, s.Name)
		got[s.Name] = ""
		if s.Error != nil {
			got[s.Name] = s.Error.Code
			t.Logf("%s: %s: %s", s.Name, s.Error.Code, s.Error.Message)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for i := 1; i < len(names); i++ {
		if names[i-1] > names[i] {
			t.Errorf("%s is listed before %s", names[i-1], names[i])
		}
	}
	crash, err := c.Lookup("crash")
	var unavailable *UnavailableError
	if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "first / boom") {
		t.Errorf("crash: %v, %v: want its last lines", crash, err)
	}
	noProcessLeft(t)
}

func TestReasonsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Reasons() {
		if seen[r.Code] || r.Meaning == "" || r.Code != strings.ToUpper(r.Code) {
			t.Errorf("bad reason %+v", r)
		}
		seen[r.Code] = true
	}
}

func TestStrategyJSON(t *testing.T) {
	o := testOptions(t)
	o.Sandbox = sandbox.Off // what a machine grants is not the same everywhere
	install(t, o.Dir, "good")
	writeFile(t, o.Dir, "broken", "just words\n", 0o755)
	list := open(t, o).Strategies()
	for i := range list {
		list[i].SHA256 = strings.Repeat("0", len(list[i].SHA256))
	}
	got, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "strategies.json", append(got, '\n'))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update rewrites it):\n%s", path, got)
	}
}

func TestDescriptionsAreKeptByHash(t *testing.T) {
	o := testOptions(t)
	install(t, o.Dir, "good")
	first := open(t, o).Strategies()

	o.ProbeTimeout = time.Nanosecond // nothing can be probed any more
	if second := open(t, o).Strategies(); !sameJSON(t, first, second) {
		t.Errorf("the second start listed %+v", second)
	}
	lock := filepath.Join(o.StateDir, "plugins.lock.json")
	for _, content := range []string{"{", `{"format":99}`,
		`{"format":1,"plugins":{"` + first[0].SHA256 + `":{"protocol_version":9}}}`} {
		if err := os.WriteFile(lock, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := open(t, o).Strategies()[0]; s.Status != Unavailable {
			t.Errorf("with the lock file %s the plugin was not probed", content)
		}
		again := o
		again.ProbeTimeout = 0
		if s := open(t, again).Strategies()[0]; s.Status != Available {
			t.Errorf("with the lock file %s: %+v", content, s.Error)
		}
		if s := open(t, o).Strategies()[0]; s.Status != Available {
			t.Errorf("the lock file %s was not renewed", content)
		}
	}
}

func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if err := errors.Join(errX, errY); err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x, y)
}

func TestNoFolder(t *testing.T) {
	var log bytes.Buffer
	o := testOptions(t)
	o.Dir = filepath.Join(o.Dir, "absent")
	o.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
	c := open(t, o)
	if list := c.Strategies(); list == nil || len(list) != 0 {
		t.Errorf("got %v, want an empty list", list)
	}
	if !strings.Contains(log.String(), "WARN") {
		t.Errorf("no warning in %s", log.String())
	}
	var missing *NotFoundError
	if _, err := c.Lookup("good"); !errors.As(err, &missing) || missing.Available == nil {
		t.Errorf("got %v", err)
	}
	file := writeFile(t, t.TempDir(), "file", "", 0o600)
	if _, err := Open(t.Context(), Options{Dir: file, StateDir: o.StateDir}); err == nil {
		t.Error("a file as the folder must be an error")
	}
	if _, err := Open(t.Context(), Options{Dir: o.Dir, StateDir: o.StateDir, Sandbox: "maybe"}); err == nil {
		t.Error("an unknown sandbox mode must be an error")
	}
}

func TestLookup(t *testing.T) {
	o := testOptions(t)
	install(t, o.Dir, "good", "other-name")
	c := open(t, o)
	if s := lookup(t, c, "good_too"); s.File != "other-name" || s.Debug {
		t.Errorf("got %+v", s)
	}
	_, err := c.Lookup("other-name")
	var missing *NotFoundError
	if !errors.As(err, &missing) || !reflect.DeepEqual(missing.Available, []string{"good", "good_too"}) {
		t.Errorf("got %v", err)
	}
	s := lookup(t, c, "good")
	if !s.SupportsMode("paper") || s.SupportsMode("live") || !s.SupportsTimeframe("1h") ||
		s.SupportsTimeframe("1m") {
		t.Errorf("modes %v, timeframes %v", s.Modes, s.Timeframes)
	}
}

func TestCopies(t *testing.T) {
	o := testOptions(t)
	install(t, o.Dir, "good")
	c := open(t, o)
	s := lookup(t, c, "good")
	copied := filepath.Join(o.StateDir, "plugins", s.SHA256)
	for path, want := range map[string]os.FileMode{copied: 0o555, filepath.Dir(copied): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %o", path, info.Mode().Perm(), err, want)
		}
	}

	// What happens to the folder later changes nothing.
	installAs(t, o.Dir, "good", "changed")
	start(t, c, "good", LaunchOptions{}).Kill("seen")
	if err := os.RemoveAll(o.Dir); err != nil {
		t.Fatal(err)
	}
	start(t, c, "good", LaunchOptions{}).Kill("seen")

	// A changed copy is not executed, and replaced by the next start.
	if err := os.Chmod(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	installAs(t, filepath.Dir(copied), s.SHA256, "tampered")
	_, err := c.Launch(t.Context(), s, LaunchOptions{})
	var failed *LaunchError
	if !errors.As(err, &failed) || failed.Code != proc.CodeUnreadable || failed.Strategy != "good" {
		t.Errorf("a changed copy: %v", err)
	}
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	install(t, o.Dir, "good")
	c = open(t, o)
	if again := lookup(t, c, "good"); again.SHA256 != s.SHA256 {
		t.Errorf("got %s, want %s", again.SHA256, s.SHA256)
	}
	start(t, c, "good", LaunchOptions{}).Kill("seen")
}

func TestOpenIsCancelled(t *testing.T) {
	o := testOptions(t)
	install(t, o.Dir, "hang")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(cause) })
	begin := time.Now()
	if _, err := Open(ctx, o); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
	noProcessLeft(t)
}
