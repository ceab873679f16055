package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/request"
)

// ran is what one command line has come to.
type ran struct {
	exit     int
	out, err string
}

// program is a small tree of commands: a group with one that works, panics, fails or
// panics while it prints.
func program(a *App) []*cobra.Command {
	act := &cobra.Command{Use: "act <how> [more...]", Short: "Act", Long: "Act acts.",
		Example: Examples("lab do act well    # as it should"), Args: cobra.MinimumNArgs(1)}
	a.Bind(act, &struct {
		Count  int           `flag:"count" usage:"how often" default:"1"`
		Colour string        `flag:"colour" usage:"which colour" default:"red" values:"red,green,blue"`
		Loud   bool          `flag:"loud" usage:"with noise"`
		Wait   time.Duration `flag:"wait" usage:"before it acts"`
	}{})
	a.Arguments(act, func([]string) []string { return []string{"well", "badly\tnot well", "wildly"} })
	a.Action(act, func(_ context.Context, args []string) (Outcome, error) {
		switch args[0] {
		case "panic":
			defer a.Progress("act").End()
			panic("first line\nsecond line")
		case "nil":
			var none *App
			_ = none.JSON
		case "print":
			return Outcome{Result: broken{}, Print: func(w io.Writer) {
				io.WriteString(w, "begun\n")
				panic("no ink")
			}}, nil
		case "fail":
			return Outcome{}, errors.New("disk full")
		}
		return Outcome{Result: map[string]string{"acted": args[0]}, Print: func(w io.Writer) {
			io.WriteString(w, args[0]+"\n")
		}}, nil
	})
	one := a.Action(&cobra.Command{Use: "one <first> <second>", Short: "One", Long: "One.",
		Example: Examples("lab do one a b"), Args: cobra.ExactArgs(2)},
		func(context.Context, []string) (Outcome, error) { return Outcome{}, nil })
	bare := a.Action(&cobra.Command{Use: "bare", Short: "Bare", Long: "Bare.",
		Example: Examples("lab do bare"), Args: cobra.NoArgs},
		func(context.Context, []string) (Outcome, error) { return Outcome{}, nil })
	return []*cobra.Command{a.Group("do", "Do something", "", act, one, bare)}
}

type broken struct{}

func (broken) MarshalJSON() ([]byte, error) { panic("no ink") }

func lab(t interface{ Helper() }, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	env := IO{Out: &out, Err: &errs, Getenv: func(string) string {
		return ""
	}, Build: Build{Version: "1.2.3"}}
	exit := Run(context.Background(), args, env, program)
	return ran{exit, out.String(), errs.String()}
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args, text, flag string
	}{
		{"do act", `<how> is missing: write lab do act <how> [more...], for example: lab do act well; see lab do act --help`, "<how>"},
		{"do one a", `<second> is missing: write lab do one <first> <second>`, "<second>"},
		{"do one a b c", `"c" is too much: write lab do one <first> <second>`, "c"},
		{"do bare x", `"x" is too much: lab do bare takes no arguments`, "x"},
		{"od", `unknown command "od" for "lab": did you mean lab do?`, "od"},
		{"do atc", `unknown command "atc" for "lab do": did you mean lab do act?`, "atc"},
		{"act", `did you mean lab do act?`, "act"},
		{"do quite_other", `there are act, bare, one`, "quite_other"},
		{"help nothing", `unknown command "nothing"`, "nothing"},
		{"do act x --coulour red", `unknown flag: --coulour: did you mean --colour?`, "--coulour"},
		{"do act x --nothing-like-it", `unknown flag: --nothing-like-it; see lab do act --help`,
			"--nothing-like-it"},
		{"do act x -z", `unknown shorthand flag: 'z'`, "-z"},
		{"do act x --colour rde", `"rde" is not one of red, green, blue: did you mean red?`, "--colour"},
		{"do act x --count many", `--count takes a whole number such as 10, not "many"`, "--count"},
		{"do act x --loud=maybe", `--loud takes true or false, not "maybe"`, "--loud"},
		{"do act x --wait soon", `--wait takes a duration such as 30s or 2m, not "soon"`, "--wait"},
		{"do act x --colour", `--colour lacks its value, one of red, green, blue: which colour`, "--colour"},
		{"do act x --sandbox maybe", `"maybe" is not one of auto, off, require`, "--sandbox"},
		{"do act x --log-level", `--log-level lacks its value, one of trace, debug`, "--log-level"},
		{"do act x --plugin-timeout -1s", `--plugin-timeout must be above zero`, "--plugin-timeout"},
	} {
		args := strings.Fields(c.args)
		plain := lab(t, args...)
		if plain.exit != 2 || plain.out != "" || !strings.Contains(plain.err, "USAGE: ") ||
			!strings.Contains(plain.err, c.text) || strings.Count(plain.err, "\n") != 1 {
			t.Errorf("lab %s: exit %d\n%s%s", c.args, plain.exit, plain.out, plain.err)
		}
		object := lab(t, append(args, "--json")...)
		var e envelope
		if err := json.Unmarshal([]byte(object.out), &e); strings.HasSuffix(c.text, "which colour") ||
			strings.Contains(c.text, "lacks") {
			continue // the flag takes --json for its value
		} else if err != nil || object.exit != 2 || object.err != "" || e.OK || e.ExitCode != 2 ||
			e.Error.Code != request.CodeUsage || e.Error.Details["flag"] != c.flag {
			t.Errorf("lab %s --json: exit %d, %v\n%s%s", c.args, object.exit, err, object.out, object.err)
		}
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	for how, what := range map[string]string{"panic": "first line second line",
		"nil": "runtime error: invalid memory address or nil pointer dereference", "print": "no ink"} {
		r := lab(t, "do", "act", how)
		want := "lab do act: INTERNAL: panic: " + what + "; this is a fault of lab 1.2.3, not of yours: run it again with --log-level debug and report what it prints at https://"
		if r.exit != 4 || !strings.HasPrefix(r.err, want) || strings.Count(r.err, "\n") != 1 ||
			strings.Contains(r.err, "goroutine") {
			t.Errorf("%s: exit %d\n%s", how, r.exit, r.err)
		}
		r = lab(t, "do", "act", how, "--json")
		var e envelope
		if err := json.Unmarshal([]byte(r.out), &e); err != nil || r.exit != 4 || e.Command != "do act" ||
			e.Error == nil || e.Error.Code != request.CodeInternal || e.Error.Details["panic"] != what {
			t.Errorf("%s: exit %d, %v\n%s%s", how, r.exit, err, r.out, r.err)
		}
		if r = lab(t, "do", "act", how, "--log-level", "debug"); r.exit != 4 ||
			!strings.Contains(r.err, "cli_test.go:") {
			t.Errorf("%s: no stack in\n%s", how, r.err)
		}
	}
	if r := lab(t, "do", "act", "fail"); r.exit != 4 || r.err != "lab do act: INTERNAL: disk full\n" {
		t.Errorf("%+v", r)
	}
}

func TestHelpIsOneObjectToo(t *testing.T) {
	for args, want := range map[string]string{
		"": "Turn a strategy", "do": "lab do act well", "do act --help": "Act acts.",
		"help do act": "--colour string", "--help": "lab init strategy",
	} {
		plain := lab(t, strings.Fields(args)...)
		object := lab(t, append(strings.Fields(args), "--json")...)
		var e struct {
			OK     bool
			Result struct{ Help string }
		}
		if err := json.Unmarshal([]byte(object.out), &e); err != nil || !e.OK || object.exit != 0 ||
			plain.exit != 0 || e.Result.Help != plain.out {
			t.Errorf("lab %s: %v\n%s\n%s", args, err, plain.out, object.out)
		}
		if args != "" && !strings.Contains(plain.out, want) {
			t.Errorf("lab %s: no %q in\n%s", args, want, plain.out)
		}
	}
	if r := lab(t, "do", "--help"); !strings.Contains(r.out,
		"Do something. Its commands are act, bare, one.") {
		t.Errorf("%s", r.out)
	}
}

func TestOneObjectWhateverHappens(t *testing.T) {
	words := []string{"do", "act", "one", "bare", "well", "panic", "print", "fail", "--count", "--colour",
		"--loud", "--help", "help", "-h", "--quiet", "3", "red", "--", "-x", ""}
	rapid.Check(t, func(t *rapid.T) {
		args := append([]string{"--json"}, rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "args")...)
		r := lab(t, args...)
		var e envelope
		d := json.NewDecoder(strings.NewReader(r.out))
		if err := d.Decode(&e); err != nil {
			t.Fatalf("lab %q: %v: %q", args, err, r.out)
		}
		if _, err := d.Token(); err != io.EOF || e.ExitCode != r.exit || e.OK != (r.exit == 0) ||
			e.OK != (e.Error == nil) {
			t.Fatalf("lab %q: exit %d: %s", args, r.exit, r.out)
		}
	})
}

func complete(t *testing.T, args ...string) []string {
	t.Helper()
	r := lab(t, append([]string{"__complete"}, args...)...)
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	if r.exit != 0 || !strings.HasPrefix(lines[len(lines)-1], ":") {
		t.Fatalf("lab __complete %q: %+v", args, r)
	}
	return lines[:len(lines)-1]
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"do act ", "well|badly\tnot well|wildly"},
		{"do act w", "well|wildly"},
		{"do act well ", "badly\tnot well|wildly"},
		{"do act well --colour ", "red|green|blue"},
		{"do act well --colour g", "green"},
		{"do act --sandbox ", "auto|off|require"},
		{"do act --log-level d", "debug"},
		{"do b", "bare\tBare"},
		{"completion ",
			"bash\tWrite the completion script for bash|fish\tWrite the completion script for " +
				"fish|powershell\tWrite the completion script for powershell|zsh\tWrite the completion " +
				"script for zsh"},
		{"help do ", "act\tAct|bare\tBare|one\tOne"},
	} {
		if got := strings.Join(complete(t, strings.Split(c.args, " ")...), "|"); got != c.want {
			t.Errorf("lab %s: %q, want %q", c.args, got, c.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		r := lab(t, "completion", shell)
		var e struct {
			Result struct{ Shell, Script string }
		}
		if err := json.Unmarshal([]byte(lab(t, "completion", shell, "--json").out), &e); err != nil ||
			r.exit != 0 || e.Result.Script != r.out || e.Result.Shell != shell ||
			!strings.Contains(r.out, "__complete") {
			t.Errorf("%s: %v, exit %d, %d bytes", shell, err, r.exit, len(r.out))
		}
	}
}

// A key is pressed where nothing is stored: nothing is stored after it.
func TestCompletionMakesNothing(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	a := &App{StateDir: state, IO: IO{Getenv: func(string) string { return "" }}}
	if got := len(a.Runs(nil)) + len(a.RunsOf([]string{"x"})) + len(a.Families(nil)) + len(
		a.capsules()); got != 0 {
		t.Errorf("%d values", got)
	}
	if got := a.Splits([]string{"x"}); len(got) != 5 || got[1] != "train" {
		t.Errorf("%q", got)
	}
	if err := os.MkdirAll(filepath.Join(state, "runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if a.Runs(nil) != nil {
		t.Error("runs where there is no registry")
	}
	if files, _ := filepath.Glob(filepath.Join(state, "runs", "*")); len(files) != 0 {
		t.Errorf("made %q", files)
	}
}

func TestEveryCodeHasItsExit(t *testing.T) {
	for exit, codes := range map[int]string{
		1: "BUILD_FAILED CHECK_FAILED RUN_FAILED FALSIFIED NONDETERMINISM ARTIFACT_MISMATCH " +
			"NOT_REPRODUCED FAMILY_ABORTED INGEST_REFUSED CHALLENGE_NOT_ANSWERED",
		2: "USAGE SLUG_INVALID STRATEGY_NOT_FOUND STRATEGY_EXISTS LAB_JSON_INVALID PARAMS_INVALID " +
			"GO_TOOL_MISSING NAME_MISMATCH DATA_UNAVAILABLE NOT_CARRIED_OVER " +
			"UNSUPPORTED_TIMEFRAME UNSUPPORTED_SYMBOL " +
			"RESULTS_UNREADABLE RESULTS_TOO_LARGE RESULTS_UNCLEAR " +
			"DATA_PIN_MISMATCH DATA_TOO_SHORT PLAN_NOT_FOUND PLAN_HASH_MISMATCH PLAN_INPUTS_CHANGED " +
			"HYPOTHESIS_REQUIRED PLAN_SPACE_TOO_TIGHT " +
			"PLAN_TOO_LARGE RUN_NOT_FOUND RUN_NOT_PACKABLE RUN_COMPACT INPUTS_MISSING COLUMNS_REQUIRED " +
			"HOLDOUT_BACKWARDS HOLDOUT_UNSEEN HOLDOUT_BEYOND",
		3: "INCONCLUSIVE INCOMPARABLE INTERRUPTED CONTROL_UNREACHABLE",
		4: "RUN_ID_COLLISION INTERNAL",
	} {
		for code := range strings.FieldsSeq(codes) {
			if got := exitOf(code); got != exit {
				t.Errorf("%s: exit %d, want %d", code, got, exit)
			}
		}
	}
}
