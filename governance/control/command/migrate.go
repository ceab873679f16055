package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/ledger"
	"github.com/assay-run/assay/governance/store"
	"github.com/assay-run/assay/host/base/cli"
	"github.com/assay-run/assay/host/base/postgres"
)

type migrateOptions struct {
	From     string `flag:"from" usage:"where the log is: a state folder, or postgres://user@host:5432/name"`
	To       string `flag:"to" usage:"where it is to be: a state folder without a log, or an empty database"`
	StateDir string `flag:"state-dir" env:"SERVICE_GOVERNANCE_STATE_DIR" usage:"folder of the keys and checkpoints.log, between two databases"`
	passphraseOption
	jsonOption
}

func migrateCommand(w World) *cobra.Command {
	o := &migrateOptions{}
	var set *cli.Flags
	cmd := &cobra.Command{
		Use: "migrate", Short: "Copy the log to another database; no plane may be running",
		Args: cobra.NoArgs,
		Long: "Copies the log from the file of a state folder to a database of PostgreSQL, back, or " +
			"between two.\nEverything is checked before and behind: the copy has the same entries, hashes " +
			"and checkpoints. Keys, witness\nstate and checkpoints.log stay in the state folder, and the " +
			"source is left as it is: start no plane on it again.",
		Example: "  governance migrate --from /var/lib/governance " +
			"--to postgres://governance@db.example.com/plane\n" +
			"  governance migrate --from postgres://governance@db.example.com/plane --to /var/lib/governance",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, from, to, err := o.places(set)
			if err != nil {
				return err
			}
			done, err := store.Migrate(cmd.Context(), dir, from, to, o.unlock(w))
			if err != nil {
				return err
			}
			if o.JSON {
				return printJSON(w.Out, map[string]any{"log_origin": done.Origin, "log_size": done.Size,
					"root": ledger.Hex(done.Root)})
			}
			fmt.Fprintf(w.Out, "%s: %d entries, root %s\n", done.Origin, done.Size, ledger.Hex(done.Root))
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	set = bind(cmd, w, o)
	return cmd
}

// places are the state folder, and the databases, "" for the file in the folder.
func (o *migrateOptions) places(set *cli.Flags) (dir, from, to string, err error) {
	if o.From == "" || o.To == "" {
		return "", "", "", usagef(
			"--from and --to: name for each a state folder or postgres://user@host:5432/name")
	}
	for _, f := range []struct {
		flag, value string
		database    *string
	}{{"from", o.From, &from}, {"to", o.To, &to}} {
		switch {
		case postgres.IsAddress(f.value):
			if _, err := postgres.ParseConfig(f.value); err != nil {
				return "", "", "", usagef("--%s: %v", f.flag, err)
			}
			*f.database = f.value
		case dir != "":
			return "", "", "", usagef("--from, --to: copy the folder of a log from one place to another")
		default:
			dir = f.value
		}
	}
	switch {
	case dir == "" && o.StateDir == "":
		return "", "", "", usagef("--state-dir: name the folder with the keys and checkpoints.log")
	case dir == "":
		dir = o.StateDir
	case o.StateDir != "" && set.Source("state-dir") == "--state-dir" && o.StateDir != dir:
		return "", "", "", usagef("--state-dir: keys and log are in one folder, which --from or --to names")
	}
	return dir, from, to, nil
}
