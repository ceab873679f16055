package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
)

// IO is what the commands know of the world outside.
type IO struct {
	Out, Err io.Writer
	Getenv   func(string) string
	// Terminal says that Err is one, where a line can be redrawn.
	Terminal bool
	Build    Build
}

// App is one invocation: the common flags and where output goes.
type App struct {
	IO            IO
	StateDir      string
	JSON          bool
	Quiet         bool
	NoColor       bool
	LogLevel      string
	Sandbox       string
	PluginTimeout time.Duration
	Logger        hclog.Logger
	answer        *answer // of the command that ran
	noted         []Warning
}

// Note keeps a warning that belongs to no command, such as one of the registry: it is
// shown with the outcome of whichever ran.
func (a *App) Note(w Warning) {
	if !slices.Contains(a.noted, w) {
		a.noted = append(a.noted, w)
	}
}

// answer is what a command came back with.
type answer struct {
	outcome Outcome
	err     error
}

// Run makes the program from its commands, runs the command line and returns the exit
// code.
func Run(ctx context.Context, args []string, env IO, commands func(*App) []*cobra.Command) int {
	a := &App{IO: env, Logger: hclog.NewNullLogger()}
	root := a.root()
	root.AddCommand(commands(a)...)
	root.SetArgs(args)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		// Cobra refused before a command ran: flags may not have been read to the end.
		a.JSON = a.JSON || slices.Contains(args, "--json")
		a.answer = &answer{err: Usage(flagOf(err), "%s; see %s --help", err, cmd.CommandPath())}
	}
	if a.answer == nil {
		return exitDone // help
	}
	return a.print(strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "lab"), " "))
}

func (a *App) root() *cobra.Command {
	c := &cobra.Command{
		Use:           "lab",
		Short:         "Turn a strategy into evidence",
		Long:          "lab evaluates trading strategies, compares runs with the uncertainty in view, and repeats failures.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := c.PersistentFlags()
	f.StringVar(&a.StateDir, "state-dir", "", "folder of everything that is stored (SERVICE_STATE_DIR, default .assay)")
	f.BoolVar(&a.JSON, "json", false, "print exactly one JSON object")
	f.BoolVar(&a.Quiet, "quiet", false, "no progress on stderr")
	f.BoolVar(&a.NoColor, "no-color", false, "no colours (NO_COLOR)")
	f.StringVar(&a.LogLevel, "log-level", "", "trace, debug, info, warn or error (SERVICE_LOG_LEVEL, default warn)")
	f.StringVar(&a.Sandbox, "sandbox", "auto", "run plugins in a sandbox: auto, off or require")
	f.DurationVar(&a.PluginTimeout, "plugin-timeout", 30*time.Second, "how long a plugin may take for one answer")
	return c
}

// Group is a command that only holds others.
func (a *App) Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(commands...)
	return c
}

// Action gives a command its work. run returns what to print, an error, or both when
// a failure has a table to show.
func (a *App) Action(c *cobra.Command, run func(ctx context.Context, args []string) (Outcome, error)) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a.answer = &answer{}
		if a.answer.err = a.configure(); a.answer.err == nil {
			a.answer.outcome, a.answer.err = run(cmd.Context(), args)
		}
		return nil
	}
	return c
}

// configure fills the common options that were not given from the environment and
// checks them all.
func (a *App) configure() error {
	a.StateDir = FirstOf(a.StateDir, a.IO.Getenv("SERVICE_STATE_DIR"), ".assay")
	a.LogLevel = FirstOf(a.LogLevel, a.IO.Getenv("SERVICE_LOG_LEVEL"), "warn")
	a.NoColor = a.NoColor || a.IO.Getenv("NO_COLOR") != ""
	if !slices.Contains([]string{"trace", "debug", "info", "warn", "error"}, a.LogLevel) {
		return Usage("--log-level", "%q is not one of trace, debug, info, warn, error", a.LogLevel)
	}
	if !slices.Contains([]string{"auto", "off", "require"}, a.Sandbox) {
		return Usage("--sandbox", "%q is not one of auto, off, require", a.Sandbox)
	}
	if a.PluginTimeout <= 0 {
		return Usage("--plugin-timeout", "must be above zero, for example 30s")
	}
	a.Logger = hclog.New(&hclog.LoggerOptions{Name: "lab", Level: hclog.LevelFromString(a.LogLevel), Output: a.IO.Err})
	a.Logger.Debug("configured", "state_dir", a.StateDir, "sandbox", a.Sandbox, "plugin_timeout", a.PluginTimeout)
	return nil
}

// FirstOf is the first value that is not empty.
func FirstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// flagOf finds the flag that cobra complains about, for the details of the error.
func flagOf(err error) string {
	for _, word := range strings.FieldsFunc(err.Error(), func(r rune) bool { return strings.ContainsRune(" ,:\"", r) }) {
		if strings.HasPrefix(word, "--") {
			return word
		}
	}
	return ""
}

// Examples indents the lines of an example for the help text.
func Examples(lines ...string) string {
	return fmt.Sprintf("  %s", strings.Join(lines, "\n  "))
}
