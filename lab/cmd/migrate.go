package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/host/base/postgres"
	"github.com/assay-run/assay/host/registry"
)

// codeRegistryUnreachable is of a registry in a database that does not answer.
const codeRegistryUnreachable = "REGISTRY_UNREACHABLE"

func runsMigrateCommand(a *App) *cobra.Command {
	var o struct {
		From string `flag:"from" usage:"where the registry is: a state folder, or postgres://user@host:5432/name"`
		To   string `flag:"to" usage:"where it is to be: a state folder without a registry, or an empty database"`
	}
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Copy the registry to a database that a team shares, or back",
		Long: "Migrate copies every row of the registry and compares the copy with the source. The source " +
			"is left as it is:\nend the service and move it away, or two registries go on counting apart. " +
			"The files of the runs stay in\ntheir state folder.",
		Example: Examples(
			"lab runs migrate --from .assay --to postgres://assay@db.example.com/runs",
			"lab runs migrate --from postgres://assay@db.example.com/runs --to /var/lib/assay",
		),
	}
	a.Bind(c, &o)
	return a.Action(c, func(ctx context.Context, _ []string) (Outcome, error) {
		from, err := registryPlace("--from", o.From)
		if err != nil {
			return Outcome{}, err
		}
		to, err := registryPlace("--to", o.To)
		if err != nil {
			return Outcome{}, err
		}
		done, err := registry.Migrate(ctx, from, to)
		var full *registry.NotEmptyError
		if errors.As(err, &full) {
			return Outcome{}, Usage("--to", "--to: %v", err)
		}
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{
			Result: map[string]any{"runs": done.Runs, "rows": done.Rows, "sha256": done.SHA256},
			Print: func(w io.Writer) {
				fmt.Fprintf(w, "%d runs, %d rows, SHA-256 %s\n", done.Runs, done.Rows, done.SHA256)
			},
		}, nil
	})
}

// registryPlace is where a registry is, as package registry names it.
func registryPlace(flag, value string) (string, error) {
	switch {
	case value == "":
		return "", Usage(flag, "%s: name a state folder or postgres://user@host:5432/name", flag)
	case !postgres.IsAddress(value):
		return filepath.Join(value, "runs"), nil
	}
	if _, err := postgres.ParseConfig(value); err != nil {
		return "", Usage(flag, "%s: %v", flag, err)
	}
	return value, nil
}
