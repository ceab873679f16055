package lab

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/lab/cli"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/project/scaffold"
)

func (a *app) sdkCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "update <slug>",
		Short: "Put the SDK of this lab into the folder of a strategy",
		Long: "Update replaces the folder sdk of a strategy by the SDK that this lab brings along, has its\n" +
			"go.mod take it from there, and says whether the rules of the simulator are others. Your own\n" +
			"files stay as they are.",
		Example: cli.Examples(
			"lab sdk update my_first",
			"lab sdk update my_first --json",
		),
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&dir, "dir", "", "folder of the strategy (default: looked up by slug)")
	a.Arguments(c, a.Slugs)
	a.Folder(c, "dir")
	a.Action(c, func(_ context.Context, args []string) (cli.Outcome, error) { return a.sdkUpdate(args[0], dir) })
	g := a.Group("sdk", "The SDK inside the folder of a strategy: update it", c)
	g.Long = "A strategy of its own module carries the source of the SDK that it is built with in its folder sdk."
	return g
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

func (a *app) sdkUpdate(slug, dir string) (cli.Outcome, error) {
	p, err := a.project(slug, dir)
	if err != nil {
		return cli.Outcome{}, err
	}
	change, err := scaffold.Update(p.Dir)
	if errors.Is(err, project.ErrNoModule) {
		return cli.Outcome{}, cli.Usage("<slug>", "%s: %v", p.Dir, err)
	}
	if err != nil {
		return cli.Outcome{}, err
	}
	u := sdkUpdated{
		Slug: slug, Path: p.Dir, After: change.After.SHA256, SimAfter: change.After.SimID, Edited: change.Edited,
	}
	if change.Before != nil {
		u.Before, u.SimBefore = change.Before.SHA256, change.Before.SimID
	}
	return cli.Outcome{Result: u, Print: func(w io.Writer) { printSDK(w, u) }}, nil
}

func printSDK(w io.Writer, u sdkUpdated) {
	switch {
	case u.Edited:
		fmt.Fprintf(w, "sdk is %s again, without the edits that were in it\n", cli.Short(u.After))
	case u.Before == "":
		fmt.Fprintf(w, "sdk is %s, inside the folder now: commit it\n", cli.Short(u.After))
	case u.Before == u.After:
		fmt.Fprintf(w, "sdk is %s already\n", cli.Short(u.After))
	default:
		fmt.Fprintf(w, "sdk was %s and is %s\n", cli.Short(u.Before), cli.Short(u.After))
	}
	switch u.SimBefore {
	case "":
		fmt.Fprintf(w, "simulator %s\n", u.SimAfter)
	case u.SimAfter:
		fmt.Fprintf(w, "simulator %s as before: fills follow the same rules\n", u.SimAfter)
	default:
		fmt.Fprintf(w, "simulator %s, before %s: the rules of fills are others, and runs may have other results\n",
			u.SimAfter, u.SimBefore)
	}
	fmt.Fprintf(w, "next: lab validate %s\n", u.Slug)
}
