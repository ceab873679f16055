package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/project/scaffold"
	"github.com/assay-run/assay/lab/python"
	"github.com/assay-run/assay/lab/request"
)

// initOptions are the flags of lab init strategy.
type initOptions struct {
	Python  bool `flag:"python" usage:"in Python, in ./<slug>, with an environment in .venv"`
	Signals bool `flag:"signals" usage:"with --python: whole columns at once, with pandas"`
	NoVenv  bool `flag:"no-venv" usage:"with --python: make no environment"`
}

func initCommand(a *App) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "strategy <slug>",
		Short: "Make the folder of a new strategy",
		Long: "Inside a checkout the folder is strategies/<slug>; elsewhere it is ./<slug>, a Go module " +
			"of its own\n" +
			"with the source of the SDK in it. It builds and its tests pass. Nothing is overwritten.",
		Example: Examples(
			"lab init strategy my_first",
			"lab init strategy my_first --json",
			"lab init strategy my_python --python",
			"lab init strategy my_columns --python --signals",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c) // a new name is nothing that could be offered
	a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		if o.Signals && !o.Python {
			return Outcome{}, Usage("--signals", "is for strategies in Python: add --python")
		}
		if o.Python {
			return initPython(ctx, a, args[0], o)
		}
		return initStrategy(a, args[0])
	})
	return a.Group("init", "Make something new: a strategy",
		"Init makes what a person then writes in: so far the folder of a strategy.",
		c)
}

// made is the result of lab init strategy.
type made struct {
	Slug       string   `json:"slug"`
	Path       string   `json:"path"`
	StandAlone bool     `json:"stand_alone"`
	Files      []string `json:"files"`
	Next       []string `json:"next"`
}

func initStrategy(a *App, slug string) (Outcome, error) {
	working, err := os.Getwd()
	if err != nil {
		return Outcome{}, err
	}
	n, err := scaffold.Create(slug, working)
	if err != nil {
		return Outcome{}, err
	}
	m := made{Slug: slug, Path: n.Dir, StandAlone: n.Alone, Files: n.Files, Next: []string{
		"go test " + shown(working, n.Dir), "lab validate " + slug, "lab run " + slug,
	}}
	if n.Alone {
		m.Next[0] = "(cd " + slug + " && go test .)"
	}
	return Outcome{Result: m, Print: func(w io.Writer) { printMade(w, m) }}, nil
}

// initPython makes the folder of a strategy in Python, and its environment. Where that cannot
// be made, say without a package index, the commands that make it are the next ones.
func initPython(ctx context.Context, a *App, slug string, o initOptions) (Outcome, error) {
	working, err := os.Getwd()
	if err != nil {
		return Outcome{}, err
	}
	create, more := scaffold.CreatePython, []string{"pytest"}
	if o.Signals {
		create, more = scaffold.CreateSignals, []string{"pytest", "pandas"}
	}
	n, err := create(slug, working)
	if err != nil {
		return Outcome{}, err
	}
	m := made{Slug: slug, Path: n.Dir, StandAlone: true, Files: n.Files}
	m.Next, err = environment(ctx, a, n, o.NoVenv, more)
	return Outcome{Result: m, Print: func(w io.Writer) { printMade(w, m) }}, err
}

// environment makes .venv in a folder unless it is left out, and lists the next commands.
func environment(ctx context.Context, a *App, n *scaffold.New, none bool, more []string) ([]string, error) {
	var next []string
	var err error
	slug := filepath.Base(n.Dir)
	if !none {
		a.say("making .venv with the SDK and %s", strings.Join(more, ", "))
		err = python.MakeEnvironment(ctx, n.Dir, scaffold.PythonSDK, more...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			a.say("there is no .venv: %v", err)
		}
	}
	if none || err != nil {
		next = append(next, "(cd "+slug+" && python3 -m venv .venv && .venv/bin/pip install ./sdk "+
			strings.Join(more, " ")+")")
	}
	return append(next, "(cd "+slug+" && .venv/bin/pytest)", "lab validate "+slug, "lab run "+slug), nil
}

func printMade(w io.Writer, m made) {
	fmt.Fprintf(w, "made %s\n", m.Path)
	for _, f := range m.Files {
		fmt.Fprintf(w, "  %s\n", f)
	}
	fmt.Fprintln(w, "next:")
	for _, line := range m.Next {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// shown is a folder as the Go tool takes it from the working directory.
func shown(working, dir string) string {
	rel, err := filepath.Rel(working, dir)
	if err != nil {
		return dir
	}
	if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	return rel
}

func sdkCommand(a *App) *cobra.Command {
	var o folderOption
	c := &cobra.Command{
		Use:   "update <slug>",
		Short: "Put the SDK of this lab into the folder of a strategy",
		Long: "Update replaces the folder sdk of a strategy by the SDK that this lab brings along, has " +
			"its\n" +
			"go.mod take it from there, and says whether the rules of the simulator are others. Your own\n" +
			"files stay as they are.",
		Example: Examples(
			"lab sdk update my_first",
			"lab sdk update my_first --json",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.Slugs)
	a.Action(c, func(_ context.Context, args []string) (Outcome, error) {
		return sdkUpdate(a, args[0], o.Dir)
	})
	return a.Group("sdk", "The SDK inside the folder of a strategy: update it, match for its tests",
		"A strategy of its own module carries the source of the SDK that it is built with in its folder sdk.",
		c, matchCommand(a))
}

// sdkUpdated is the result of lab sdk update; what was not there before is empty.
type sdkUpdated struct {
	Slug      string `json:"slug"`
	Path      string `json:"path"`
	Before    string `json:"sdk_sha256_before"`
	After     string `json:"sdk_sha256"`
	SimBefore string `json:"sim_id_before"`
	SimAfter  string `json:"sim_id"`
	Edited    bool   `json:"edited"`
}

func sdkUpdate(a *App, slug, dir string) (Outcome, error) {
	p, err := findProject(a, slug, dir)
	if err != nil {
		return Outcome{}, err
	}
	change, err := scaffold.Update(p.Dir)
	if errors.Is(err, project.ErrNoModule) {
		return Outcome{}, Usage("<slug>", "%s: %v", p.Dir, err)
	}
	if err != nil {
		return Outcome{}, err
	}
	u := sdkUpdated{
		Slug: slug, Path: p.Dir, After: change.After.SHA256, SimAfter: change.After.SimID,
		Edited: change.Edited,
	}
	if change.Before != nil {
		u.Before, u.SimBefore = change.Before.SHA256, change.Before.SimID
	}
	return Outcome{Result: u, Print: func(w io.Writer) { printSDK(w, u) }}, nil
}

func printSDK(w io.Writer, u sdkUpdated) {
	switch {
	case u.Edited:
		fmt.Fprintf(w, "sdk is %s again, without the edits that were in it\n", Short(u.After))
	case u.Before == "":
		fmt.Fprintf(w, "sdk is %s, inside the folder now: commit it\n", Short(u.After))
	case u.Before == u.After:
		fmt.Fprintf(w, "sdk is %s already\n", Short(u.After))
	default:
		fmt.Fprintf(w, "sdk was %s and is %s\n", Short(u.Before), Short(u.After))
	}
	switch u.SimBefore {
	case "":
		fmt.Fprintf(w, "simulator %s\n", u.SimAfter)
	case u.SimAfter:
		fmt.Fprintf(w, "simulator %s as before: fills follow the same rules\n", u.SimAfter)
	default:
		fmt.Fprintf(w,
			"simulator %s, before %s: the rules of fills are others, and runs may have other results\n",
			u.SimAfter, u.SimBefore)
	}
	fmt.Fprintf(w, "next: lab validate %s\n", u.Slug)
}

// validateOptions are the flags of lab validate.
type validateOptions struct {
	folderOption
	NoTest      bool          `flag:"no-test" usage:"skip the author's tests"`
	TestTimeout time.Duration `flag:"test-timeout" usage:"how long the tests may run"`
}

func validateCommand(a *App) *cobra.Command {
	o := validateOptions{TestTimeout: TestTimeout}
	c := &cobra.Command{
		Use:   "validate <slug>",
		Short: "Check everything that needs no full run",
		Long: "Validate reads lab.json, builds the plugin, asks it to describe itself, checks parameters, " +
			"data and\n" +
			"splits, runs the author's tests, plays 2,000 candles twice and looks for what makes runs " +
			"differ.\n" +
			"It goes on after a failure.",
		Example: Examples(
			"lab validate sma_cross",
			"lab validate sma_cross --no-test --json",
		),
	}
	a.Bind(c, &o)
	a.Arguments(c, a.Slugs)
	return a.Action(c, func(ctx context.Context, args []string) (Outcome, error) {
		if o.TestTimeout <= 0 {
			return Outcome{}, Usage("--test-timeout",
				"--test-timeout must be above zero, for example 2m")
		}
		return validateStrategy(ctx, a, args[0], o)
	})
}

func validateStrategy(ctx context.Context, a *App, slug string, o validateOptions) (Outcome, error) {
	p, err := findProject(a, slug, o.Dir)
	if err != nil {
		if e := Classify(err); e.Code != request.CodeLabJSON && e.Code != request.CodeNameMismatch {
			return Outcome{}, err // there is nothing to check
		}
	}
	if err == nil {
		sayFirstBuild(a, p)
	}
	working, err := os.Getwd()
	if err != nil {
		return Outcome{}, err
	}
	var list []CheckOutcome
	err = a.WithHost(ctx, func(h *request.Host) error {
		s := &CheckSubject{
			Slug: slug, Dir: o.Dir, Working: working, Host: h, NoTest: o.NoTest, TestTimeout: o.TestTimeout,
		}
		var err error
		list, err = RunChecks(ctx, s, func(o CheckOutcome) {
			if !a.JSON {
				fmt.Fprintln(a.IO.Out, checkLine(o))
			}
		})
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Result: map[string]any{"checks": list}, Print: func(io.Writer) {}}
	failed := 0
	for i, o := range list {
		switch o.Status {
		case Failed:
			failed++
			// The code of what went wrong, also where only the text of the error is known.
			if list[i].Code == "" {
				list[i].Code = request.CodeCheckFailed
			}
		case Warned:
			if !a.JSON { // its line says so
				continue
			}
			out.Warnings = append(out.Warnings, Warning{Code: strings.ToUpper(o.ID), Message: o.Message})
		}
	}
	if failed > 0 {
		return out, request.Errorf(request.CodeCheckFailed, "%d of %d checks failed", failed, len(list)).
			With("checks", list)
	}
	return out, nil
}

// checkLine is one line for people.
func checkLine(o CheckOutcome) string {
	return fmt.Sprintf("%-8s %-12s %s", o.Status, o.ID,
		strings.ReplaceAll(o.Message, "\n", "\n                      "))
}
