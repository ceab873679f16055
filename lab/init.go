package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/lab/cli"
	"github.com/assay-run/assay/lab/project/scaffold"
)

func (a *app) initCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "strategy <slug>",
		Short: "Make the folder of a new strategy",
		Long: "Inside a checkout the folder is strategies/<slug>; elsewhere it is ./<slug>, a Go module of its own\n" +
			"with the source of the SDK in it. It builds and its tests pass. Nothing is overwritten.",
		Example: cli.Examples(
			"lab init strategy my_first",
			"lab init strategy my_first --json",
		),
		Args: cobra.ExactArgs(1),
	}
	a.Arguments(c) // a new name is nothing that could be offered
	a.Action(c, func(_ context.Context, args []string) (cli.Outcome, error) { return a.initStrategy(args[0]) })
	g := a.Group("init", "Make something new: a strategy", c)
	g.Long = "Init makes what a person then writes in: so far the folder of a strategy."
	return g
}

// made is the result of lab init strategy.
type made struct {
	Slug       string   `json:"slug"`
	Path       string   `json:"path"`
	StandAlone bool     `json:"stand_alone"`
	Files      []string `json:"files"`
	Next       []string `json:"next"`
}

func (a *app) initStrategy(slug string) (cli.Outcome, error) {
	working, err := os.Getwd()
	if err != nil {
		return cli.Outcome{}, err
	}
	n, err := scaffold.Create(slug, working)
	if err != nil {
		return cli.Outcome{}, err
	}
	m := made{Slug: slug, Path: n.Dir, StandAlone: n.Alone, Files: n.Files, Next: []string{
		"go test " + shown(working, n.Dir), "lab validate " + slug, "lab run " + slug,
	}}
	if n.Alone {
		m.Next[0] = "(cd " + slug + " && go test .)"
	}
	return cli.Outcome{Result: m, Print: func(w io.Writer) { printMade(w, m) }}, nil
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
