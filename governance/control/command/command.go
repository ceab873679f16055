// Package command is the command line of the control plane: serve, what people sign
// (approve, reject, suspend, retire, incident), and what works on files (verify, rebuild,
// keys).
//
// A command reads options, asks the plane for what its statement must name, signs it with
// its user's key, and posts it as an attestation: there is no other way in
// something. Exit codes: 0 done, 1 refused, 2 usage, 3 unreachable.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/governance/witness"
	"github.com/assay-run/assay/host/base/cli"
	"github.com/assay-run/assay/host/base/edge"
	"github.com/assay-run/assay/host/base/file"
)

// The exit codes.
const (
	ExitDone        = 0
	ExitRefused     = 1
	ExitUsage       = 2
	ExitUnreachable = 3
	exitSignals     = 130
)

// World is what the program sees of its surroundings.
type World struct {
	Env      func(string) (string, bool)
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	Version  string
}

// getenv returns a variable, "" where it is not set.
func (w World) getenv(name string) string {
	value, _ := w.Env(name)
	return value
}

// usageError is a command line that is refused; refusal reports that the answer is no;
// unreachable that there was none.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

type refusal struct{ message string }

func (e *refusal) Error() string { return e.message }

func refusef(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

type unreachable struct{ cause error }

func (e *unreachable) Error() string {
	return fmt.Sprintf(
		"the control plane does not answer (is governance serve running there? --control-url or "+
			"SERVICE_CONTROL_URL says where): %v", e.cause)
}

// Run runs a command line and returns its exit code.
func Run(ctx context.Context, args []string, w World) int {
	w.Out, w.Err = cli.NewWriter(w.Out), cli.NewWriter(w.Err)
	ran := false
	root := &cobra.Command{
		Use: "governance", Short: "Records candidate bundles and decides how far each may go",
		Long: "Records candidate bundles in a log that cannot be rewritten unnoticed, and decides how far " +
			"each may go.\n" +
			"Anyone may stop, two must agree to start.\n\n" +
			"Exit codes: 0 done, 1 refused, 2 usage or configuration, 3 the control plane or its database " +
			"does not answer.",
		Example: "  governance serve\n  governance keys new rita\n  governance keys trust --pub rita.pub " +
			"--principal rita@example.com --role risk\n" +
			"  governance approve cr-... --stage canary --role risk --key rita.key",
		Version: w.Version, SilenceErrors: true, SilenceUsage: true,
		PersistentPreRun: func(*cobra.Command, []string) { ran = true },
	}
	root.SetArgs(args)
	root.SetIn(w.In)
	root.SetOut(w.Out)
	root.SetErr(w.Err)
	root.AddCommand(serveCommand(w), approveCommand(w), rejectCommand(w), suspendCommand(w), retireCommand(w),
		incidentCommand(w), hostedCommand(w), shadowCommand(w), witnessCommand(w), verifyCommand(w),
		rebuildCommand(w), migrateCommand(w), keysCommand(w), portfolioCommand(w))
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitDone
	}
	fmt.Fprintf(w.Err, "governance: %v\n", err)
	if !ran {
		fmt.Fprintln(w.Err, "governance: --help says what each command takes")
	}
	var usage *usageError
	var config *store.ConfigError
	var bind *edge.BindError
	var other *witness.ConfigError
	var away *unreachable
	var database *store.UnavailableError
	switch {
	case !ran, errors.As(err, &usage), errors.As(err, &config), errors.As(err, &bind),
		errors.As(err, &other):
		return ExitUsage
	case errors.As(err, &away), errors.As(err, &database):
		return ExitUnreachable
	}
	return ExitRefused
}

// bind declares the flags of a command as the tagged fields of its options. Before the command runs, what
// no flag gives is taken from its variable, and values that are none are refused.
func bind(cmd *cobra.Command, w World, options any) *cli.Flags {
	set := cli.BindFlags(cmd, options)
	for _, f := range set.All {
		values := f.Values
		if f.Complete != "" {
			values = strings.Split(f.Complete, ",")
		}
		if len(values) > 0 {
			// The only error is a flag that is not there.
			_ = cmd.RegisterFlagCompletionFunc(f.Name,
				cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	cmd.PreRunE = func(*cobra.Command, []string) error {
		set.ReadEnv(w.Env)
		if f, _, _ := set.Refused(); f != nil {
			last := len(f.Values) - 1
			return usagef("--%s: %s or %s", f.Name, strings.Join(f.Values[:last], ", "), f.Values[last])
		}
		return nil
	}
	return set
}

// stateOption is the flag of all commands that work on the files of a plane.
type stateOption struct {
	StateDir string `flag:"state-dir" env:"SERVICE_GOVERNANCE_STATE_DIR" default:".assay/governance" usage:"folder of the log, the keys, policy.json and trust.json; the default is looked for in the folders above, too"`
	Database string `flag:"database" env:"SERVICE_GOVERNANCE_DATABASE" usage:"postgres://user@host:5432/name: the log is in this database, which planes may share (default the file in the state folder)"`
}

// dir is the folder of the plane: the one that is named, else the nearest.
func (o *stateOption) dir(set *cli.Flags) string {
	if set.Source("state-dir") == "" {
		return filepath.Join(file.FindState("."), "governance")
	}
	return o.StateDir
}

// place is where the plane keeps its log.
func (o *stateOption) place(set *cli.Flags) store.Place {
	return store.Place{Dir: o.dir(set), Database: o.Database}
}

// jsonOption is the flag of commands that print JSON.
type jsonOption struct {
	JSON bool `flag:"json" usage:"print JSON"`
}

// printJSON writes one value for programs.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
