package lab

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

// app is one invocation: the common flags and where output goes.
type app struct {
	io            IO
	stateDir      string
	json          bool
	quiet         bool
	noColor       bool
	logLevel      string
	sandbox       string
	pluginTimeout time.Duration
	logger        hclog.Logger
	answer        *answer // of the command that ran
}

// answer is what a command came back with.
type answer struct {
	outcome outcome
	err     error
}

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, env IO) int {
	a := &app{io: env, logger: hclog.NewNullLogger()}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		// Cobra refused before a command ran: flags may not have been read to the end.
		a.json = a.json || slices.Contains(args, "--json")
		a.answer = &answer{err: usage(flagOf(err), "%s", err)}
	}
	if a.answer == nil {
		return exitDone // help
	}
	return a.print(strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "lab"), " "))
}

func (a *app) root() *cobra.Command {
	c := &cobra.Command{
		Use:           "lab",
		Short:         "Turn a strategy into evidence",
		Long:          "lab evaluates trading strategies, searches their parameters, tries to falsify what it finds\nand packs what is left for review.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.CompletionOptions.HiddenDefaultCmd = false
	f := c.PersistentFlags()
	f.StringVar(&a.stateDir, "state-dir", "", "folder of everything that is stored (SERVICE_STATE_DIR, default .assay)")
	f.BoolVar(&a.json, "json", false, "print exactly one JSON object")
	f.BoolVar(&a.quiet, "quiet", false, "no progress on stderr")
	f.BoolVar(&a.noColor, "no-color", false, "no colours (NO_COLOR)")
	f.StringVar(&a.logLevel, "log-level", "", "trace, debug, info, warn or error (SERVICE_LOG_LEVEL, default warn)")
	f.StringVar(&a.sandbox, "sandbox", "auto", "run plugins in a sandbox: auto, off or require")
	f.DurationVar(&a.pluginTimeout, "plugin-timeout", 30*time.Second, "how long a plugin may take for one answer")
	c.AddCommand(a.initCommand(), a.validateCommand(), a.runCommand(), a.compareCommand(), a.replayCommand(), a.runsCommand(), a.dataCommand(), a.statsCommand())
	return c
}

// group is a command that only holds others.
func (a *app) group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(commands...)
	return c
}

// action gives a command its work. run returns what to print, an error, or both when
// a failure has a table to show.
func (a *app) action(c *cobra.Command, run func(ctx context.Context, args []string) (outcome, error)) *cobra.Command {
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
func (a *app) configure() error {
	a.stateDir = firstOf(a.stateDir, a.io.Getenv("SERVICE_STATE_DIR"), ".assay")
	a.logLevel = firstOf(a.logLevel, a.io.Getenv("SERVICE_LOG_LEVEL"), "warn")
	a.noColor = a.noColor || a.io.Getenv("NO_COLOR") != ""
	if !slices.Contains([]string{"trace", "debug", "info", "warn", "error"}, a.logLevel) {
		return usage("--log-level", "%q is not one of trace, debug, info, warn, error", a.logLevel)
	}
	if !slices.Contains([]string{"auto", "off", "require"}, a.sandbox) {
		return usage("--sandbox", "%q is not one of auto, off, require", a.sandbox)
	}
	if a.pluginTimeout <= 0 {
		return usage("--plugin-timeout", "must be above zero, for example 30s")
	}
	a.logger = hclog.New(&hclog.LoggerOptions{Name: "lab", Level: hclog.LevelFromString(a.logLevel), Output: a.io.Err})
	a.logger.Debug("configured", "state_dir", a.stateDir, "sandbox", a.sandbox, "plugin_timeout", a.pluginTimeout)
	return nil
}

func firstOf(values ...string) string {
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

// examples indents the lines of an example for the help text.
func examples(lines ...string) string {
	return fmt.Sprintf("  %s", strings.Join(lines, "\n  "))
}
