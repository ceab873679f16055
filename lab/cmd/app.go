// Package cmd is the command line of lab, which turns a strategy into evidence. A file has a
// command, or a group of them, with its options, its run function and what it prints.
//
// A command hands its work to [App.Action] and returns an [Outcome] or an error; it neither
// prints nor exits. Results go to stdout, progress and logs to stderr. errors.go is the one
// table of error codes and exit codes and prints tables or one JSON object, args.go
// refuses what the command line has wrong and completes it in a shell. A panic of a command
// is an error like any other.
//
// Only cmd/lab imports this package.
package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/cli"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/gc"
	"github.com/assay-run/assay/lab/request"
)

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, env IO) int {
	return Run(ctx, args, env, commands)
}

// Commands is the tree of commands, for those who describe it; nothing of it is run.
func Commands(env IO) *cobra.Command { return TreeOf(env, commands) }

func commands(a *App) []*cobra.Command {
	return []*cobra.Command{
		initCommand(a), adoptCommand(a), importResultsCommand(a), sdkCommand(a), buildCommand(a),
		validateCommand(a), runCommand(a),
		familyCommand(a), compareCommand(a), falsifyCommand(a), candidateCommand(a), promoteCommand(a),
		replayCommand(a), runsCommand(a), exportCommand(a), reportCommand(a), trialsCommand(a),
		dataCommand(a), statsCommand(a), gcCommand(a), queueCommand(a), workerCommand(a), workersCommand(a),
	}
}

// IO is what the commands know of the world outside.
type IO struct {
	Out, Err io.Writer
	Getenv   func(string) string
	// Terminal reports that Err is one, where a line can be redrawn.
	Terminal bool
	Build    Build
}

// App is one invocation: the common flags and where output goes.
type App struct {
	IO            IO
	StateDir      string
	Database      string // of the registry, "" for its file
	JSON          bool
	Quiet         bool
	NoColor       bool
	LogLevel      string
	Sandbox       string
	PluginTimeout time.Duration
	Logger        hclog.Logger

	answer  *answer        // of the command that ran
	running *cobra.Command // the command that runs
	noted   []Warning
	bound   map[*cobra.Command]*cli.Flags
	screen  *screen
	now     func() time.Time
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
	a, root := assemble(env, commands)
	root.SetArgs(args)
	cmd, err := a.execute(ctx, root)
	if err != nil {
		// Cobra refused before a command ran: flags may not have been read to the end.
		a.JSON = a.JSON || slices.Contains(args, "--json")
		var own *Error
		if !errors.As(err, &own) {
			own = Usage(flagOf(err), "%s; see %s --help", err, cmd.CommandPath())
		}
		a.answer = &answer{err: own}
	}
	if a.answer == nil {
		return exitDone // help
	}
	return a.show(strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "lab"), " "))
}

// TreeOf is the tree of commands as Run makes it, for those who look at it without
// running anything.
func TreeOf(env IO, commands func(*App) []*cobra.Command) *cobra.Command {
	_, root := assemble(env, commands)
	return root
}

func assemble(env IO, commands func(*App) []*cobra.Command) (*App, *cobra.Command) {
	a := &App{IO: env, Logger: hclog.NewNullLogger(), bound: map[*cobra.Command]*cli.Flags{},
		screen: &screen{w: env.Err}, now: time.Now}
	a.IO.Out, a.IO.Err = cli.NewWriter(env.Out), cli.NewWriter(a.screen)
	root := a.root()
	root.AddCommand(commands(a)...)
	root.AddCommand(a.completionCommand())
	root.SetHelpCommand(a.helpCommand())
	root.InitDefaultHelpCmd()
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { a.help(c) })
	root.SetOut(a.IO.Out)
	root.SetErr(a.IO.Err)
	describe(root)
	guard(root)
	return a, root
}

func (a *App) root() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Turn a strategy into evidence",
		Long: "lab evaluates trading strategies, compares runs with the uncertainty in view, and repeats " +
			"failures.",
		Example: Examples(
			"lab init strategy my_first",
			"lab validate my_first",
			"lab run my_first",
			"lab run my_first --set period=400",
			"lab compare my_first",
		),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := c.PersistentFlags()
	f.StringVar(&a.StateDir, "state-dir", "",
		"folder of everything that is stored (SERVICE_STATE_DIR, default .assay here or in a folder above)")
	f.StringVar(&a.Database, "database", "", "postgres://user@host:5432/name: the registry of runs is in "+
		"this database, which a team shares ("+postgres.Variable+", default the file in the state folder)")
	f.BoolVar(&a.JSON, "json", false, "print exactly one JSON object")
	f.BoolVar(&a.Quiet, "quiet", false, "no progress on stderr")
	f.BoolVar(&a.NoColor, "no-color", false, "no colours (NO_COLOR)")
	f.StringVar(&a.LogLevel, "log-level", "",
		"trace, debug, info, warn or error (SERVICE_LOG_LEVEL, default warn)")
	f.StringVar(&a.Sandbox, "sandbox", "auto", "run plugins in a sandbox: auto, off or require")
	f.DurationVar(&a.PluginTimeout, "plugin-timeout", 30*time.Second,
		"how long a plugin may take for one answer")
	a.offer(c, "log-level", logLevels)
	a.offer(c, "sandbox", sandboxLevels)
	a.Folder(c, "state-dir")
	c.CompletionOptions.DisableDefaultCmd = true // there is one of our own
	return c
}

// Group is a command that only holds others. Its examples are the first of each of
// theirs; long is "" where their names say enough.
func (a *App) Group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, RunE: func(cmd *cobra.Command, _ []string) error {
		return cmd.Help()
	}}
	c.AddCommand(commands...)
	return c
}

// Action gives a command its work. run returns what to print, an error, or both when
// a failure has a table to show.
func (a *App) Action(c *cobra.Command,
	run func(ctx context.Context, args []string) (Outcome, error)) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a.answer, a.running = &answer{}, cmd
		if a.answer.err = a.configure(cmd); a.answer.err == nil {
			defer a.tellNewState()()
			a.answer.outcome, a.answer.err = run(cmd.Context(), args)
		}
		return nil
	}
	return c
}

// The levels of the common options.
var (
	logLevels     = []string{"trace", "debug", "info", "warn", "error"}
	sandboxLevels = []string{"auto", "off", "require"}
)

// configure fills the common options that were not given from the environment and
// checks them all, and then the values of the command's own flags that were declared.
func (a *App) configure(c *cobra.Command) error {
	a.StateDir = a.FindStateDir()
	a.Database = findDatabase(a)
	if a.Database != "" {
		if _, err := postgres.ParseConfig(a.Database); err != nil {
			return Usage("--database", "--database: %v", err)
		}
	}
	a.LogLevel = FirstOf(a.LogLevel, a.IO.Getenv("SERVICE_LOG_LEVEL"), "warn")
	a.NoColor = a.NoColor || a.IO.Getenv("NO_COLOR") != ""
	if err := oneOf("--log-level", a.LogLevel, logLevels); err != nil {
		return err
	}
	if err := oneOf("--sandbox", a.Sandbox, sandboxLevels); err != nil {
		return err
	}
	if a.PluginTimeout <= 0 {
		return Usage("--plugin-timeout", "--plugin-timeout must be above zero, for example 30s")
	}
	a.Logger = hclog.New(&hclog.LoggerOptions{Name: "lab", Level: hclog.LevelFromString(a.LogLevel),
		Output: a.IO.Err})
	if err := a.refuseFlags(c); err != nil {
		return err
	}
	a.Logger.Debug("configured", "state_dir", a.StateDir, "sandbox", a.Sandbox, "plugin_timeout",
		a.PluginTimeout)
	return nil
}

// FindStateDir is the folder of everything that is stored: the flag's, that of the
// environment, or the nearest .assay from the working directory upwards.
func (a *App) FindStateDir() string { return FirstOf(a.StateDir, a.UnnamedStateDir()) }

// findDatabase is where the registry is, by the flag or the environment; "" is its file.
func findDatabase(a *App) string { return FirstOf(a.Database, a.IO.Getenv(postgres.Variable)) }

// UnnamedStateDir is the folder that is used where no flag names one.
func (a *App) UnnamedStateDir() string {
	return FirstOf(a.IO.Getenv("SERVICE_STATE_DIR"), file.FindState("."))
}

// tellNewState notes whether the state directory exists. The function that it returns shows
// which one the command has made since, because a person in another folder than yesterday
// misses the runs of the one before.
func (a *App) tellNewState() func() {
	if _, err := os.Stat(a.StateDir); err == nil || a.Quiet {
		return func() {}
	}
	return func() {
		dir, err := filepath.Abs(a.StateDir)
		if _, made := os.Stat(a.StateDir); err == nil && made == nil {
			fmt.Fprintf(a.IO.Err, "new state directory %s\n", dir)
		}
	}
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
	for _, word := range strings.FieldsFunc(err.Error(), func(r rune) bool {
		return strings.ContainsRune(" ,:\"", r)
	}) {
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

// Build reports what this program is; cmd/lab sets it.
type Build struct{ Version, Commit string }

// WithHost opens everything that evaluations need, and closes it after use.
func (a *App) WithHost(ctx context.Context, use func(*request.Host) error) (err error) {
	stateDir, err := filepath.Abs(a.StateDir)
	if err != nil {
		return err
	}
	engine, err := a.engine()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return Usage("--state-dir", "%v: choose another folder with --state-dir", err)
	}
	playing, err := gc.Share(stateDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, playing.Release()) }()
	candles, err := candle.Open(ctx, stateDir)
	if err != nil {
		return fmt.Errorf("candle store: %w", err)
	}
	defer func() { err = errors.Join(err, candles.Close()) }()
	store := artifact.NewStore(filepath.Join(stateDir, "runs"))
	runs, err := registry.OpenAt(ctx, a.Database, store, a.Logger.Named("registry"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runs.Close()) }()
	for _, w := range runs.Warnings() {
		a.Note(Warning(w))
	}
	return use(&request.Host{
		StateDir: stateDir, Candles: candles, Artifacts: store, Registry: runs, Engine: engine,
		Sandbox: sandbox.Mode(a.Sandbox), StepLimit: a.PluginTimeout, Logger: a.Logger,
		Reattach: a.IO.Getenv(catalog.ReattachEnv),
	})
}

// engine is this program as requests name it.
func (a *App) engine() (artifact.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return artifact.Engine{}, err
	}
	sum, err := digest.File(self)
	return artifact.Engine{Name: "lab", Version: a.IO.Build.Version, Commit: a.IO.Build.Commit, SHA256: sum},
		err
}

// How a command that plays small runs collects garbage, and up to how many
// candles of all its workers together: several times what they keep is then little.
const (
	lazyPercent = 400
	lazyCandles = 1_000_000
)

// Employ gives a command that plays runs over so many candles as many processors as
// it has workers, 0 being all of them, and lets garbage grow where what is kept is small.
// So a single worker leaves the other processors alone, for which a plugin, too, has but
// one. GOMAXPROCS, GOGC and GOMEMLIMIT win. The function that it returns undoes it.
func (a *App) Employ(workers, candles int) (undo func()) {
	procs, percent := 0, -1
	if workers > 0 && workers < runtime.GOMAXPROCS(0) && a.IO.Getenv("GOMAXPROCS") == "" {
		procs = runtime.GOMAXPROCS(workers)
	}
	busy := workers
	if busy == 0 {
		busy = runtime.NumCPU()
	}
	if candles <= lazyCandles/busy && a.IO.Getenv("GOGC") == "" && a.IO.Getenv("GOMEMLIMIT") == "" {
		percent = debug.SetGCPercent(lazyPercent)
	}
	return func() {
		if procs > 0 {
			runtime.GOMAXPROCS(procs)
		}
		if percent >= 0 {
			debug.SetGCPercent(percent)
		}
	}
}

// RunsDir is the folder of all runs.
func (a *App) RunsDir() string { return filepath.Join(a.StateDir, "runs") }

// completionCommand writes the scripts by which shells ask this program what could
// come next.
func (a *App) completionCommand() *cobra.Command {
	shells := []struct {
		name, load string
		script     func(*cobra.Command, io.Writer) error
	}{
		{"bash", "source <(lab completion bash)", func(c *cobra.Command, w io.Writer) error {
			return c.GenBashCompletionV2(w, true)
		}},
		{"zsh", "lab completion zsh > \"${fpath[1]}/_lab\"", (*cobra.Command).GenZshCompletion},
		{"fish", "lab completion fish > ~/.config/fish/completions/lab.fish",
			func(c *cobra.Command, w io.Writer) error {
				return c.GenFishCompletion(w, true)
			}},
		{"powershell", "lab completion powershell | Out-String | Invoke-Expression",
			(*cobra.Command).GenPowerShellCompletionWithDesc},
	}
	var commands []*cobra.Command
	for _, s := range shells {
		c := &cobra.Command{
			Use: s.name, Short: "Write the completion script for " + s.name,
			Long: "The script lets " + s.name +
				" complete commands, flags, strategies, runs, splits, metrics and formats. It asks\n" +
				"this program at each key, which then reads the registry and writes nothing.",
			Example: Examples(s.load),
		}
		commands = append(commands, a.Action(c, func(context.Context, []string) (Outcome, error) {
			var b bytes.Buffer
			err := s.script(c.Root(), &b)
			text := b.String()
			return Outcome{Result: map[string]string{"shell": s.name, "script": text},
				Print: func(w io.Writer) {
					fmt.Fprint(w, text)
				}}, err
		}))
	}
	return a.Group("completion", "Write a completion script for a shell", "", commands...)
}

// describe fills in what a command that only holds others leaves out: the
// first example of each of them, and their names.
func describe(c *cobra.Command) {
	var names, examples []string
	for _, sub := range c.Commands() {
		describe(sub)
		if sub.Hidden {
			continue
		}
		names = append(names, sub.Name())
		if example := firstExample(sub); example != "" {
			examples = append(examples, example)
		}
	}
	if c.Example == "" && len(examples) > 0 {
		c.Example = Examples(examples...)
	}
	if c.Long == "" && len(names) > 0 {
		c.Long = c.Short + ". Its commands are " + strings.Join(names, ", ") + "."
	}
}

// help prints the description of a command; with --json as one object like all else.
func (a *App) help(c *cobra.Command) {
	text := strings.TrimSpace(FirstOf(c.Long, c.Short)) + "\n\n" + c.UsageString()
	if a.JSON {
		a.answer = &answer{outcome: Outcome{Result: map[string]string{"help": text}}}
		return
	}
	fmt.Fprint(a.IO.Out, text) // a closed stdout is nothing to report to
}

func (a *App) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command...]",
		Short: "Explain a command",
		Long: "Help prints what a command does, its examples and its flags, as --help after the " +
			"command does.",
		Example: Examples("lab help run", "lab help runs verify"),
		ValidArgsFunction: func(c *cobra.Command, args []string,
			_ string) ([]string, cobra.ShellCompDirective) {
			at, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var list []string
			for _, sub := range at.Commands() {
				if sub.IsAvailableCommand() {
					list = append(list, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			at := c.Root()
			for _, word := range args {
				next := child(at, word)
				if next == nil {
					return unknownCommand(at, word)
				}
				at = next
			}
			a.help(at)
			return nil
		},
	}
}

func child(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name {
			return sub
		}
	}
	return nil
}
