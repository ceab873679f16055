// Package lab is the command line that turns a strategy into evidence. Each command
// is one file, named after it, with its options, its run function and what it prints;
// a new one is added by copying a neighbour and naming it in its parent.
//
// What all commands share is in root.go (common flags), output.go (tables on stdout,
// or one JSON object) and errors.go, the one place that knows exit codes. Results go
// to stdout, progress and logs to stderr. A command returns an outcome or an error;
// it neither prints nor exits by itself.
//
// Work is done by the packages below: the candle store, the registry, the simulator
// behind the host. Nothing imports this package but the main of cmd/lab.
package lab

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/lab/cli"
	"github.com/assay-run/assay/lab/data"
)

// IO is what the commands know of the world outside.
type IO = cli.IO

// Build says what this program is.
type Build = cli.Build

// app is one invocation; each command is a method in a file of its own.
type app struct{ *cli.App }

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, env IO) int { return cli.Run(ctx, args, env, commands) }

// Commands is the tree of commands, for those who describe it; nothing of it is run.
func Commands(env IO) *cobra.Command { return cli.Commands(env, commands) }

func commands(shared *cli.App) []*cobra.Command {
	a := &app{shared}
	return []*cobra.Command{
		a.initCommand(), a.sdkCommand(), a.validateCommand(), a.runCommand(), a.familyCommand(), a.compareCommand(),
		a.falsifyCommand(), a.candidateCommand(), a.replayCommand(), a.runsCommand(), data.Command(shared), a.statsCommand(),
	}
}
